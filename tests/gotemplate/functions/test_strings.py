"""Sprig's strings and regular expressions."""

from __future__ import annotations

import pytest

from osm_gitops.gocompat.fault import GoError
from osm_gitops.gotemplate.bounds import Bounds, Spending
from osm_gitops.gotemplate.faults import BoundExceeded, Refused
from osm_gitops.gotemplate.functions import strings
from osm_gitops.gotemplate.values import NilStringList, StringList, Unordered, UnorderedStrings
from tests.gotemplate.functions.go_vectors import disagreements, vectors

_TABLE = {function.name: function for function in strings.FUNCTIONS}


@pytest.mark.parametrize("family", ["strings", "regexes"])
def test_the_functions_do_what_sprig_does(family: str) -> None:
    assert disagreements(family, strings.FUNCTIONS) == []


def test_every_function_is_compared_with_sprig() -> None:
    assert {name for name, _, _ in (*vectors("strings"), *vectors("regexes"))} == set(_TABLE)


def test_bytes_that_are_no_utf8_are_cut_and_joined_as_bytes() -> None:
    first, second = strings.trunc(1, "é"), strings.trunc(-1, "é")
    assert (first, second) == ("\udcc3", "\udca9")
    assert strings.join("", [first, second]) == "é"
    assert strings.contains(second, "é")
    assert strings.replace(second, "\udca8", "é") == "è"


def test_a_list_of_strings_is_sorted_where_it_is() -> None:
    names = StringList(["b", "é", "Z", "\U0001f600", "\uff5e"])
    assert strings.sort_alpha(names) is names
    assert names == ["Z", "b", "é", "\uff5e", "\U0001f600"]


def test_keys_and_values_of_a_map_can_be_sorted() -> None:
    assert strings.sort_alpha(UnorderedStrings(["b", "a"])) == ["a", "b"]
    assert strings.sort_alpha(Unordered(["b", None, 1])) == ["1", "b"]


@pytest.mark.parametrize("bounds", [(0, 9), (3, 2), (-1, 9), (-1, -1)])
def test_a_part_beyond_the_text_is_an_error(bounds: tuple[int, int]) -> None:
    start, end = bounds
    if (start, end) == (0, 9):
        assert strings.substring(start, end, "abc") == "abc"
        return
    with pytest.raises(GoError, match="out of range"):
        strings.substring(start, end, "abc")


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("repeat", (1 << 40, "x")),
        ("indent", (1 << 40, "x")),
        ("nindent", (600, "\n\n")),
        ("replace", ("", "x" * 500, "abc")),
        ("replace", ("a", "x" * 500, "aaa")),
        ("wrapWith", (1, "x" * 500, "abcd")),
        ("join", ("x" * 500, ["a", "b", "c"])),
        ("cat", ("x" * 500, "x" * 500, "x")),
    ],
)
def test_a_text_that_would_grow_too_large_is_refused_before_it_is_made(name: str, args: tuple[object, ...]) -> None:
    with Spending(Bounds(output_bytes=1000)), pytest.raises(BoundExceeded, match="1000 bytes"):
        _TABLE[name].call(*args)


def test_a_text_of_many_parts_counts_as_a_loop() -> None:
    with Spending(Bounds(loop_steps=10)), pytest.raises(BoundExceeded, match="loop steps"):
        strings.split_list("", "x" * 11)


def test_negative_counts_are_errors() -> None:
    for wrong in (strings.repeat, strings.indent, strings.nindent):
        with pytest.raises(GoError, match="negative"):
            wrong(-1, "x")


def test_a_bad_pattern_matches_nothing_and_stops_all_else() -> None:
    assert strings.regex_match("[", "[") is False
    with pytest.raises(GoError, match="missing"):
        strings.regex_must_match("[", "[")


def test_a_pattern_that_re2_understands_differently_is_refused_even_by_match() -> None:
    with pytest.raises(Refused, match=r"\\p\{Cn\}"):
        strings.regex_match(r"\p{Cn}", "x")


def test_no_match_is_a_nil_list() -> None:
    assert type(strings.regex_find_all("z", "a", -1)) is NilStringList
    assert type(strings.regex_split("z", "a", 0)) is NilStringList


def test_replacing_is_bounded_in_size_and_steps() -> None:
    with Spending(Bounds(output_bytes=1000)), pytest.raises(BoundExceeded, match="bytes"):
        strings.regex_replace_all("", "x" * 100, "y" * 50)
    for call in (strings.regex_find_all, strings.regex_split):
        with Spending(Bounds(loop_steps=50)), pytest.raises(BoundExceeded, match="loop steps"):
            call("x", "x" * 100, -1)


def test_a_long_expression_on_a_long_text_is_refused_because_it_would_take_minutes() -> None:
    long = "a" * 200_000
    for call in (strings.regex_match, strings.regex_find):
        with pytest.raises(BoundExceeded, match="loop steps"):
            call(long, long)
    assert strings.regex_match("a{500}b?", long)
