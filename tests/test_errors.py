"""Sentences for people."""

from __future__ import annotations

import pytest

from osm_gitops.errors import closest, did_you_mean, some


@pytest.mark.parametrize(
    ("names", "told"), [([], ""), (["a"], "a"), (["a", "b"], "a, b"), (["a", "b", "c", "d"], "a, b and 2 more")]
)
def test_of_many_names_the_first_are_told_and_how_many_more_there_are(names: list[str], told: str) -> None:
    assert some(names, 2) == told


def test_the_closest_word_keeps_its_case() -> None:
    assert did_you_mean("/opt/bin/Stup", ["/opt/bin/Setup", "/etc/other"]) == "Did you mean /opt/bin/Setup?"
    assert did_you_mean("nothing", ["b", "a"]) == "Known are a, b"
    assert did_you_mean("nothing", ["b", "a"], "List them") == "List them"
    assert closest("KUBELET", ["kubelet", "kubectl"]) == "kubelet"
    assert closest("kubelet", ["kubectl"], 0.9) == ""
    assert closest("a" * 1000, ["a" * 999]) == ""
