"""How arguments meet parameters."""

from __future__ import annotations

from typing import Any

import pytest

from osm_gitops.gocompat.fault import GoError
from osm_gitops.gotemplate.calls import GoFunction, call
from osm_gitops.gotemplate.faults import BoundExceeded, TemplateFault
from osm_gitops.gotemplate.values import (
    NO_VALUE,
    BoolMap,
    Int64,
    NamedString,
    Nil,
    Pointer,
    StringList,
    StringMap,
    nil,
)


def _echo(*args: Any) -> Any:
    return args


def _taking(params: str) -> GoFunction:
    return GoFunction("echo", params, _echo)


@pytest.mark.parametrize(
    ("params", "value"),
    [
        ("string", "a"),
        ("int", 1),
        ("int64", Int64(1)),
        ("float64", 1.0),
        ("bool", True),
        ("map", {}),
        ("any[]", [1]),
        ("string[]", StringList(["a"])),
        ("any", BoolMap()),
    ],
)
def test_a_value_of_the_right_type_is_handed_over_as_it_is(params: str, value: Any) -> None:
    (given,) = call(_taking(params), [value])
    assert given is value


@pytest.mark.parametrize(
    ("params", "value"),
    [
        ("string", NamedString("aws")),
        ("string", 1),
        ("string", None),
        ("string", NO_VALUE),
        ("int", Int64(1)),
        ("int", True),
        ("int", 1.0),
        ("map", BoolMap()),
        ("map", None),
        ("map", Pointer(StringMap(), "map[string]string")),
        ("any[]", StringList()),
    ],
)
def test_a_value_of_another_type_is_an_error(params: str, value: Any) -> None:
    with pytest.raises(TemplateFault, match=r"echo.*expected"):
        call(_taking(params), [value])


def test_a_pointer_is_followed_once_where_that_fits() -> None:
    assert call(_taking("string"), [Pointer("a", "string")]) == ("a",)
    pointer = Pointer("a", "string")
    assert call(_taking("any"), [pointer]) == (pointer,)
    with pytest.raises(TemplateFault, match="dereference of nil pointer of type string"):
        call(_taking("string"), [nil("string")])


def test_arguments_are_checked_again_after_others_have_fitted() -> None:
    function = _taking("string any…")
    assert call(function, ["a", 1, None]) == ("a", 1, None)
    assert call(function, ["a", NO_VALUE, 2]) == ("a", None, 2)
    assert call(function, [Pointer("b", "string"), 1, None]) == ("b", 1, None)
    with pytest.raises(TemplateFault, match="nil pointer"):
        call(function, [nil("string"), 1, None])


def test_no_value_becomes_the_nil_of_the_parameter() -> None:
    assert call(_taking("any"), [NO_VALUE]) == (None,)
    for params in ("map", "any[]", "string[]"):
        (given,) = call(_taking(params), [NO_VALUE])
        assert isinstance(given, Nil)


@pytest.mark.parametrize(
    ("params", "count"), [("string", 0), ("string", 2), ("string any…", 0), ("", 1), ("string string any…", 1)]
)
def test_a_wrong_number_of_arguments_is_an_error(params: str, count: int) -> None:
    with pytest.raises(TemplateFault, match="wrong number of args for echo"):
        call(_taking(params), ["a"] * count)


def test_a_variadic_function_checks_every_argument() -> None:
    assert call(_taking("int string…"), [1, "a", "b"]) == (1, "a", "b")
    with pytest.raises(TemplateFault, match="expected string; got int"):
        call(_taking("int string…"), [1, "a", 2])


def test_nothing_as_a_result_is_no_value() -> None:
    assert call(GoFunction("none", "", lambda: None), []) is NO_VALUE


def test_an_error_of_the_function_names_the_function() -> None:
    def failing() -> str:
        raise GoError("it cannot be")

    with pytest.raises(TemplateFault, match="error calling failing: it cannot be"):
        call(GoFunction("failing", "", failing), [])


def test_endless_nesting_is_no_crash() -> None:
    def endless(value: Any) -> Any:
        return endless([value])

    with pytest.raises(BoundExceeded, match="nested too deeply"):
        call(GoFunction("endless", "any", endless), [1])
