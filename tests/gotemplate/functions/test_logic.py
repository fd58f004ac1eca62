"""Defaults and decisions."""

from __future__ import annotations

import pytest

from osm_gitops.gocompat.fault import GoError
from osm_gitops.gotemplate.compare import deep_equal
from osm_gitops.gotemplate.functions import builtins
from osm_gitops.gotemplate.values import Int64, NilDict, NilList, Pointer, StringList
from tests.gotemplate.go_templates import disagreements


def test_logic_is_as_in_go() -> None:
    assert disagreements("logic") == []


def test_a_pointer_to_nothing_much_is_not_empty() -> None:
    empty_text = Pointer("", "string")
    assert builtins.default("d", empty_text) is empty_text
    assert builtins.default("d", None, "x") == "d"
    assert builtins.default("d") == "d"


def test_fail_fails_with_its_message() -> None:
    with pytest.raises(GoError, match="not like this"):
        builtins.fail("not like this")


def test_equality_goes_by_type_and_content() -> None:
    assert deep_equal([1, {"a": ["b"]}], [1, {"a": ["b"]}])
    assert not deep_equal(1, Int64(1))
    assert not deep_equal([True], [1])
    assert not deep_equal(StringList(["a"]), ["a"])
    assert not deep_equal(NilList(), [])
    assert not deep_equal(NilDict(), {})
    assert deep_equal(Pointer("a", "string"), Pointer("a", "string"))
    assert not deep_equal([float("nan")], [float("nan")])
