"""Fields, indexes, lengths and loops."""

from __future__ import annotations

import pytest

from osm_gitops.gocompat.fault import GoError
from osm_gitops.gotemplate.access import field, index, iterate1, iterate2, length
from osm_gitops.gotemplate.faults import Refused, TemplateFault
from osm_gitops.gotemplate.values import (
    IP,
    NO_VALUE,
    AnyKeyMap,
    BoolMap,
    DurationPointer,
    Int64,
    NamedString,
    Pointer,
    StringMap,
    Uint8,
    UnorderedStrings,
    nil,
)
from tests.gotemplate.go_templates import disagreements


def test_everything_is_reached_as_in_go() -> None:
    assert disagreements("access") == []


def test_a_chain_ends_in_no_value_where_a_key_is_missing() -> None:
    assert field({"a": {"b": 1}}, ["a", "b"]) == 1
    assert field({"a": 1}, ["z", "y", "x"]) is NO_VALUE
    assert field(Pointer(StringMap({"a": "1"}), "map[string]string"), ["a"]) == "1"


def test_a_field_of_a_nil_element_is_an_error() -> None:
    with pytest.raises(TemplateFault, match="nil pointer"):
        field({"a": None}, ["a", "b"])
    with pytest.raises(TemplateFault, match="nil pointer"):
        field(nil("map[string]string"), ["a"])


def test_an_unknown_field_names_those_that_exist() -> None:
    with pytest.raises(TemplateFault, match=r"no field Nope in a value of type v1\.Duration; it has Duration"):
        field(DurationPointer(1), ["Nope"])


def test_methods_are_called_on_values_pointers_and_nil() -> None:
    ninety_minutes = DurationPointer(5_400 * 10**9)
    assert field(ninety_minutes, ["Duration", "Hours"]) == 1.5
    assert field(ninety_minutes, ["Minutes"]) == 90.0
    assert field(DurationPointer(None), ["String"]) == "nil"
    assert field(IP("::1"), ["String"]) == "::1"


def test_an_index_gives_bytes_elements_and_zero_values() -> None:
    assert index("é", 1) == 0xA9
    assert type(index("abc", 0)) is Uint8
    assert index(BoolMap(), "x") is False
    assert index(StringMap(), "x") == ""
    assert index({}, "x") is None
    assert index(AnyKeyMap({1: "a"}), 1) == "a"
    assert index([[1, 2]], 0, 1) == 2


@pytest.mark.parametrize(
    ("value", "at"),
    [
        ([1], 1),
        ([1], -1),
        ([1], "0"),
        ([1], True),
        ({}, 1),
        ({}, NamedString("a")),
        (1, 0),
        (None, 0),
        (AnyKeyMap(), []),
    ],
)
def test_an_index_that_does_not_fit_is_an_error(value: object, at: object) -> None:
    with pytest.raises(GoError):
        index(value, at)


def test_a_length_counts_bytes() -> None:
    assert length("é😀") == 6
    assert length(Pointer(StringMap({"a": "1"}), "map[string]string")) == 1
    with pytest.raises(GoError, match="nil pointer"):
        length(nil("string"))


def test_loops_go_by_sorted_keys_and_count_in_their_own_type() -> None:
    assert list(iterate1({"é": 1, "b": 2, "B": 3})) == [3, 2, 1]
    assert list(iterate2({"b": 2, "a": 1})) == [("a", 1), ("b", 2)]
    assert [type(each) for each in iterate1(Int64(2))] == [Int64, Int64]
    assert len(iterate1(10**12)) == 10**12
    assert list(iterate1(-3)) == []
    assert list(iterate2(["x"])) == [(0, "x")]


@pytest.mark.parametrize("value", ["abc", True, 1.5, nil("string")])
def test_what_is_no_collection_cannot_be_looped_over(value: object) -> None:
    with pytest.raises(TemplateFault, match="can't iterate"):
        iterate1(value)


def test_a_loop_over_unsorted_keys_is_refused() -> None:
    with pytest.raises(Refused, match="sortAlpha"):
        iterate1(UnorderedStrings(["a", "b"]))
