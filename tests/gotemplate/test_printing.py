"""``print``, ``printf`` and what an action writes."""

from __future__ import annotations

from typing import Any

import pytest

from osm_gitops.gotemplate.bounds import Bounds, Spending
from osm_gitops.gotemplate.faults import BoundExceeded, Refused
from osm_gitops.gotemplate.printing import sprint, sprintf, sprintln, to_string, to_text
from osm_gitops.gotemplate.values import (
    IP,
    NO_VALUE,
    AnyKeyMap,
    Duration,
    DurationPointer,
    Int32,
    IPList,
    Pointer,
    StringMap,
    UnorderedStrings,
    nil,
)
from tests.gotemplate.go_templates import disagreements

_HOUR = 3_600 * 10**9


def test_everything_prints_as_in_go() -> None:
    assert disagreements("printing") == []


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (nil("string"), "<nil>"),
        (Pointer("http://p:1", "string"), "http://p:1"),
        (Pointer(StringMap({"b": "2", "a": "1"}), "map[string]string"), "map[a:1 b:2]"),
        (DurationPointer(None), "nil"),
        (DurationPointer(_HOUR), "&Duration{Duration:1h0m0s,}"),
        (Duration(_HOUR), "1h0m0s"),
        (NO_VALUE, "<no value>"),
        (None, "<no value>"),
        (IPList([IP("10.0.0.1"), IP("fd00::1")]), "[10.0.0.1 fd00::1]"),
        ([1, "a", None], "[1 a <nil>]"),
        (1e6, "1e+06"),
        (1234567.5, "1.2345675e+06"),
        (-0.0, "-0"),
        (True, "true"),
    ],
)
def test_an_action_writes(value: Any, text: str) -> None:
    assert to_text(value) == text


def test_print_puts_blanks_between_operands_that_are_no_strings() -> None:
    assert sprint([1, 2, "a", 3, None, True]) == "1 2a3 <nil> true"
    assert sprintln([1, "a"]) == "1 a\n"


@pytest.mark.parametrize(
    "value", [Pointer("x", "string"), Pointer(Int32(1), "int32"), [Pointer(StringMap(), "map[string]string")]]
)
def test_an_address_is_refused_and_named(value: Any) -> None:
    with pytest.raises(Refused, match="memory address"):
        sprint([value])
    with pytest.raises(Refused, match="memory address"):
        to_string(value)


def test_a_pointer_to_a_map_prints_with_an_ampersand_when_it_is_an_operand() -> None:
    assert sprint([Pointer(StringMap({"a": "1"}), "map[string]string")]) == "&map[a:1]"


def test_keys_in_random_order_are_refused_wherever_they_stand() -> None:
    for value in (UnorderedStrings(["a", "b"]), [UnorderedStrings(["a", "b"])]):
        with pytest.raises(Refused, match="sortAlpha"):
            to_text(value)


def test_a_map_with_keys_of_several_types_is_refused() -> None:
    assert to_text(AnyKeyMap({10: "b", 9: "a"})) == "map[9:a 10:b]"
    with pytest.raises(Refused, match="several types"):
        to_text(AnyKeyMap({1: "a", "b": 2}))


def test_a_value_that_contains_itself_is_no_crash() -> None:
    circle: dict[str, Any] = {}
    circle["self"] = circle
    with pytest.raises(BoundExceeded):
        to_text(circle)


def test_widths_and_repeated_printing_are_bounded() -> None:
    with Spending(Bounds(output_bytes=1000)):
        assert len(sprintf("%1000d", [1])) == 1000
        with pytest.raises(BoundExceeded, match="max-output-bytes"):
            sprintf("%600d%600d", [1, 2])
