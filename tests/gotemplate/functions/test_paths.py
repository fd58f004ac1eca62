"""Sprig's paths, URLs and semantic versions; the rules of version constraints are tested with the library."""

from __future__ import annotations

import pytest

from osm_gitops.gocompat.fault import GoError
from osm_gitops.gotemplate.access import field
from osm_gitops.gotemplate.functions import paths
from osm_gitops.gotemplate.printing import to_text
from osm_gitops.gotemplate.values import NamedString, Uint64, go_type
from tests.gotemplate.functions.go_vectors import disagreements, vectors


@pytest.mark.parametrize("family", ["paths", "urls"])
def test_the_functions_do_what_sprig_does(family: str) -> None:
    assert disagreements(family, paths.FUNCTIONS) == []


def test_every_function_is_compared_with_sprig() -> None:
    tested = {name for name, _, _ in (*vectors("paths"), *vectors("urls"))} | {"semver", "semverCompare"}
    assert tested == {function.name for function in paths.FUNCTIONS}


def test_two_slashes_at_the_start_are_one() -> None:
    assert paths.clean("//a//b/../c/") == "/a/c"
    assert paths.directory("//x") == "/"
    assert (paths.base(""), paths.base("//"), paths.base("a/b/")) == (".", "/", "b")
    assert (paths.extension("a.tar.gz"), paths.extension("a.b/c"), paths.extension("a.")) == (".gz", "", ".")


def test_a_url_is_put_together_from_what_it_was_taken_apart_into() -> None:
    text = "https://u:p%40@host:1/a%20b?q=1#f"
    assert paths.url_join(paths.url_parse(text)) == text
    assert paths.url_join({}) == ""
    assert paths.url_join({"scheme": NamedString("http"), "host": "h"}) == "http://h"


@pytest.mark.parametrize("value", [1, None, ["h"]])
def test_parts_of_a_url_must_be_strings(value: object) -> None:
    with pytest.raises(GoError, match="the key host of a URL must be a string"):
        paths.url_join({"host": value})


def test_a_version_prints_normalised_and_shows_its_parts() -> None:
    version = paths.semver("v1.2-rc.1+b")
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
    version = paths.semver(given)
    following = [field(version, [name]) for name in ("IncMajor", "IncMinor", "IncPatch")]
    assert [to_text(each) for each in following] == [major, minor, patch]
    prefix = "v" if given.startswith("v") else ""
    assert field(following[0], ["Original"]) == f"{prefix}{major}"


def test_versions_are_compared_with_constraints() -> None:
    assert paths.semver_compare(">= 1.29", "v1.34.2")
    assert not paths.semver_compare("~1.33.0", "v1.33.4-eks-123")
    with pytest.raises(GoError, match="improper constraint"):
        paths.semver_compare("", "1.2.3")
    with pytest.raises(GoError, match="invalid semantic version"):
        paths.semver_compare("1", "x")
