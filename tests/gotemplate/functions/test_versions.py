"""Sprig's semantic versions; the rules of constraints are tested with the library."""

from __future__ import annotations

import pytest

from osm_gitops.gocompat.fault import GoError
from osm_gitops.gotemplate.access import field
from osm_gitops.gotemplate.functions import versions
from osm_gitops.gotemplate.printing import to_text
from osm_gitops.gotemplate.values import Uint64, go_type


def test_a_version_prints_normalised_and_shows_its_parts() -> None:
    version = versions.semver("v1.2-rc.1+b")
    assert go_type(version) == "*semver.Version"
    assert to_text(version) == "1.2.0-rc.1+b"
    parts = [field(version, [name]) for name in ("Major", "Minor", "Patch", "Prerelease", "Metadata", "Original")]
    assert parts == [1, 2, 0, "rc.1", "b", "v1.2-rc.1+b"]
    assert type(parts[0]) is Uint64


@pytest.mark.parametrize(
    ("given", "major", "minor", "patch"),
    [("v1.2.3", "2.0.0", "1.3.0", "1.2.4"), ("1.2.3-rc.1+b", "2.0.0", "1.3.0", "1.2.3")],
)
def test_a_version_has_successors(given: str, major: str, minor: str, patch: str) -> None:
    version = versions.semver(given)
    following = [field(version, [name]) for name in ("IncMajor", "IncMinor", "IncPatch")]
    assert [to_text(each) for each in following] == [major, minor, patch]
    prefix = "v" if given.startswith("v") else ""
    assert field(following[0], ["Original"]) == f"{prefix}{major}"


def test_versions_are_compared_with_constraints() -> None:
    assert versions.compare(">= 1.29", "v1.34.2")
    assert not versions.compare("~1.33.0", "v1.33.4-eks-123")
    with pytest.raises(GoError, match="improper constraint"):
        versions.compare("", "1.2.3")
    with pytest.raises(GoError, match="invalid semantic version"):
        versions.compare("1", "x")
