"""Questions about Go types."""

from __future__ import annotations

from osm_gitops.gotemplate.functions.builtins import kind_is, type_is, type_is_like
from osm_gitops.gotemplate.values import IP, Duration, Pointer
from tests.gotemplate.go_templates import disagreements


def test_types_are_as_in_go() -> None:
    assert disagreements("types") == []


def test_a_type_is_like_the_one_that_it_points_to() -> None:
    pointer = Pointer("a", "string")
    assert type_is("*string", pointer)
    assert not type_is("string", pointer)
    assert type_is_like("string", pointer)


def test_kinds_are_those_behind_the_names() -> None:
    assert kind_is("slice", IP("::1"))
    assert kind_is("int64", Duration(1))
    assert kind_is("invalid", None)
