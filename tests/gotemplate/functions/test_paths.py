"""Sprig's paths."""

from __future__ import annotations

from osm_gitops.gotemplate.functions import paths
from tests.gotemplate.functions.go_vectors import disagreements, vectors


def test_the_functions_do_what_sprig_does() -> None:
    assert disagreements("paths", paths.FUNCTIONS) == []
    assert {name for name, _, _ in vectors("paths")} == {function.name for function in paths.FUNCTIONS}


def test_two_slashes_at_the_start_are_one() -> None:
    assert paths.clean("//a//b/../c/") == "/a/c"
    assert paths.directory("//x") == "/"
    assert (paths.base(""), paths.base("//"), paths.base("a/b/")) == (".", "/", "b")
    assert (paths.extension("a.tar.gz"), paths.extension("a.b/c"), paths.extension("a.")) == (".gz", "", ".")
