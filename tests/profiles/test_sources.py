"""The sources of the default profiles stay such that a person reads them in one go."""

from __future__ import annotations

import pytest

from osm_gitops.sources import builtin
from tests.profiles.rendering import read


@pytest.mark.parametrize("name", builtin.names(builtin.newest()))
def test_a_profile_is_no_longer_than_three_hundred_and_fifty_lines(name: str) -> None:
    source = builtin.FOLDER / builtin.newest() / f"{name}.yaml"
    assert len(source.read_text("utf-8").splitlines()) <= 350


def test_every_part_is_used_by_some_profile() -> None:
    parts = {path.name for path in (builtin.FOLDER / builtin.newest() / "parts").iterdir()}
    profiles = [read(name) for name in builtin.names(builtin.newest())]
    used = {
        name for profile in profiles for half in (profile.bootstrap, profile.provisioning) for name in half.templates
    }
    assert parts == used
