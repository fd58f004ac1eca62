"""Sprig's lists."""

from __future__ import annotations

import pytest

from osm_gitops.gocompat.fault import GoError
from osm_gitops.gotemplate.functions import lists
from osm_gitops.gotemplate.values import (
    IP,
    Int32,
    IPList,
    Nil,
    Pointer,
    StringList,
    Unordered,
    UnorderedStrings,
    members,
    nil,
)
from tests.gotemplate.go_templates import disagreements, render


def test_lists_are_as_in_go() -> None:
    assert disagreements("lists") == []


def test_a_list_that_is_given_is_never_changed() -> None:
    given = IPList([IP("10.0.0.1"), IP("fd00::1")])
    before = list(given)
    for change in (lists.reverse, lists.rest, lists.initial, lists.uniq, lists.compact):
        change(given)
    lists.append(given, 1).append(2)
    lists.slice_list(given, 0, 1).append(3)
    assert list(given) == before


def test_nothing_left_is_nil_and_a_new_list_is_not() -> None:
    assert isinstance(lists.rest([]), Nil)
    assert isinstance(lists.concat([], []), Nil)
    assert not isinstance(lists.rest([1]), Nil)
    assert not isinstance(lists.make_list(), Nil)


def test_a_slice_keeps_its_type() -> None:
    assert type(lists.slice_list(StringList(["a", "b"]), 1)) is StringList
    assert lists.slice_list(IP("10.0.0.1"), 12, 16).String() == "10.0.0.1"
    with pytest.raises(GoError, match="outside of a list of 2"):
        lists.slice_list([1, 2], 1, 5)


def test_random_order_goes_on_in_lists_made_from_it() -> None:
    keys = UnorderedStrings(["b", "a"])
    for made in (lists.append(keys, "c"), lists.concat(["x"], keys), lists.reverse(keys), lists.uniq(keys)):
        assert isinstance(made, Unordered)
    assert lists.has("a", keys)
    assert sorted(members(lists.concat(keys, keys))) == ["a", "a", "b", "b"]
    assert lists.without(keys, "a") == ["b"]


def test_the_keys_of_two_dicts_can_be_joined_and_sorted() -> None:
    template = '{{ concat (keys (dict "b" 1 "a" 2)) (keys (dict "a" 1 "c" 2)) | uniq | sortAlpha | join "," }}'
    assert render(template) == "a,b,c"
    assert render('{{ first (keys (dict "a" 1 "b" 2)) }}') is None


@pytest.mark.parametrize(("size", "count"), [(0, 0), (0, 3), (-1, 1), (-2, 0), (-2, 5)])
def test_a_chunk_size_below_one_is_mostly_an_error(size: int, count: int) -> None:
    with pytest.raises(GoError):
        lists.chunk(size, [1] * count)


def test_nil_pointers_of_one_type_are_equal() -> None:
    assert lists.has(nil("int32"), [nil("int32")])
    assert not lists.has(nil("int32"), [nil("string")])
    assert not lists.has(nil("int32"), [Pointer(Int32(0), "int32")])
