"""``eq ne lt le gt ge``."""

from __future__ import annotations

import pytest

from osm_gitops.gocompat.fault import GoError
from osm_gitops.gotemplate.compare import eq, gt, le, lt, ne
from osm_gitops.gotemplate.values import Int32, NamedString, NilList, Pointer, Uint8, nil
from tests.gotemplate.go_templates import disagreements


def test_everything_compares_as_in_go() -> None:
    assert disagreements("compare") == []


def test_one_match_among_several_is_enough() -> None:
    assert eq(1, 2, 3, 1)
    assert not eq("a", "b", "c")


def test_a_named_string_equals_a_plain_one() -> None:
    assert eq(NamedString("aws"), "aws")
    assert lt(NamedString("aws"), "azure")


def test_signed_and_unsigned_numbers_compare_by_value() -> None:
    assert eq(Int32(7), Uint8(7))
    assert lt(-1, Uint8(0))


def test_pointers_compare_by_identity_and_with_nil() -> None:
    one, other = Pointer(Int32(1), "int32"), Pointer(Int32(1), "int32")
    assert eq(one, one)
    assert not eq(one, other)
    assert eq(nil("string"), None)
    assert eq(NilList(), None)
    assert not eq([], None)


def test_nan_is_neither_less_nor_equal_but_greater() -> None:
    nan = float("nan")
    assert ne(nan, nan)
    assert not le(nan, nan)
    assert gt(nan, nan)


def test_strings_compare_by_their_bytes() -> None:
    assert lt("\uffff", "\U00010000")
    assert eq("é", "\udcc3\udca9")
    assert eq("\udcc3\udca9", "é")


@pytest.mark.parametrize(("first", "second"), [(1, 1.0), (1, "1"), (Pointer("a", "string"), "a"), ([], []), ({}, {})])
def test_types_that_do_not_compare_are_an_error(first: object, second: object) -> None:
    with pytest.raises(GoError):
        eq(first, second)
