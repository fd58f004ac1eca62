"""Sentences for people."""

from __future__ import annotations

import pytest

from osm_gitops.errors import some


@pytest.mark.parametrize(
    ("names", "told"), [([], ""), (["a"], "a"), (["a", "b"], "a, b"), (["a", "b", "c", "d"], "a, b and 2 more")]
)
def test_of_many_names_the_first_are_told_and_how_many_more_there_are(names: list[str], told: str) -> None:
    assert some(names, 2) == told
