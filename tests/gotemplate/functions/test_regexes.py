"""Sprig's regular expressions."""

from __future__ import annotations

import pytest

from osm_gitops.gocompat.fault import GoError
from osm_gitops.gotemplate.bounds import Bounds, spending
from osm_gitops.gotemplate.faults import BoundExceeded, Refused
from osm_gitops.gotemplate.functions import regexes
from osm_gitops.gotemplate.values import NilStringList
from tests.gotemplate.functions.go_vectors import disagreements, vectors


def test_the_functions_do_what_sprig_does() -> None:
    assert disagreements("regexes", regexes.FUNCTIONS) == []
    assert {name for name, _, _ in vectors("regexes")} == {function.name for function in regexes.FUNCTIONS}


def test_a_bad_pattern_matches_nothing_and_stops_all_else() -> None:
    assert regexes.match("[", "[") is False
    with pytest.raises(GoError, match="missing"):
        regexes.must_match("[", "[")


def test_a_pattern_that_re2_understands_differently_is_refused_even_by_match() -> None:
    with pytest.raises(Refused, match=r"\\p\{Cn\}"):
        regexes.match(r"\p{Cn}", "x")


def test_no_match_is_a_nil_list() -> None:
    assert type(regexes.find_all("z", "a", -1)) is NilStringList
    assert type(regexes.split("z", "a", 0)) is NilStringList


def test_replacing_is_bounded_in_size_and_steps() -> None:
    with spending(Bounds(output_bytes=1000)), pytest.raises(BoundExceeded, match="bytes"):
        regexes.replace_all("", "x" * 100, "y" * 50)
    for call in (regexes.find_all, regexes.split):
        with spending(Bounds(loop_steps=50)), pytest.raises(BoundExceeded, match="loop steps"):
            call("x", "x" * 100, -1)


def test_a_long_expression_on_a_long_text_is_refused_because_it_would_take_minutes() -> None:
    long = "a" * 200_000
    for call in (regexes.match, regexes.find):
        with pytest.raises(BoundExceeded, match="loop steps"):
            call(long, long)
    assert regexes.match("a{500}b?", long)
