"""Sprig's dicts."""

from __future__ import annotations

from typing import Any

import pytest

from osm_gitops.gocompat.fault import GoError
from osm_gitops.gotemplate.calls import call
from osm_gitops.gotemplate.faults import Refused, TemplateFault
from osm_gitops.gotemplate.functions import FUNCTIONS, dicts
from osm_gitops.gotemplate.functions.dicts import deep_copy, merge, merge_overwrite
from osm_gitops.gotemplate.values import (
    BoolMap,
    NilDict,
    NilStringMap,
    Pointer,
    StringList,
    StringMap,
    Unordered,
    UnorderedStrings,
)
from tests.gotemplate.go_templates import disagreements


def test_dicts_are_as_in_go() -> None:
    assert disagreements("dicts") == []


def test_merging_is_as_in_go() -> None:
    assert disagreements("merging") == []


@pytest.mark.parametrize("name", [function.name for function in dicts.FUNCTIONS if function.mutates])
@pytest.mark.parametrize(
    "shared",
    [BoolMap({"A": True}), StringMap({"a": "1"}), NilStringMap(), Pointer(StringMap({"a": "1"}), "map[string]string")],
)
def test_a_map_of_the_data_is_never_changed(name: str, shared: Any) -> None:
    others: dict[str, list[Any]] = {"set": ["k", 1], "unset": ["A"]}
    extra = others.get(name, [{"A": False, "a": "2"}])
    with pytest.raises(TemplateFault, match="wrong type"):
        call(FUNCTIONS[name], [shared, *extra])


@pytest.mark.parametrize("merging", [merge, merge_overwrite])
def test_a_map_of_the_data_within_a_dict_is_never_changed(merging: Any) -> None:
    gates = BoolMap({"A": False})
    reserved = Pointer(StringMap({"cpu": "1"}), "map[string]string")
    with pytest.raises(Refused, match=r"map\[string\]bool"):
        merging({"gates": gates}, {"gates": BoolMap({"A": True, "B": True})})
    with pytest.raises(Refused, match=r"map\[string\]string"):
        merging({"reserved": reserved}, {"reserved": Pointer(StringMap({"memory": "1"}), "map[string]string")})
    assert gates == {"A": False}
    assert reserved.elem == {"cpu": "1"}


def test_a_copy_shares_nothing_that_can_change() -> None:
    original = {"a": {"b": [1, {"c": 2}]}, "p": Pointer("x", "string")}
    copied = deep_copy(original)
    copied["a"]["b"][1]["c"] = 3
    copied["a"]["d"] = 4
    assert original["a"] == {"b": [1, {"c": 2}]}
    assert copied["p"] is not original["p"]
    assert copied["p"].elem == "x"


def test_set_changes_the_dict_and_refuses_nil() -> None:
    mapping: dict[str, Any] = {}
    assert dicts.set_key(mapping, "a", 1) is mapping
    assert mapping == {"a": 1}
    with pytest.raises(GoError, match="nil map"):
        dicts.set_key(NilDict(), "a", 1)


def test_the_order_of_keys_and_values_is_random_from_two_on() -> None:
    assert type(dicts.keys({"a": 1})) is StringList
    assert type(dicts.keys({"a": 1}, {"a": 2})) is UnorderedStrings
    assert dicts.values({"a": 1}) == [1]
    assert type(dicts.values({"a": 1, "b": 1})) is Unordered


def test_an_odd_key_has_an_empty_value() -> None:
    assert dicts.make_dict("a", 1, 2) == {"a": 1, "2": ""}


def test_dig_looks_into_no_map_of_another_type_even_if_it_is_nil() -> None:
    assert dicts.dig("a", 1, NilDict()) == 1
    with pytest.raises(GoError, match="no dict"):
        dicts.dig("a", 1, NilStringMap())


def test_a_nil_pointer_in_a_copied_dict_or_list_is_plain_nil() -> None:
    copied = deep_copy({"a": [Pointer(None, "string")]})
    assert copied == {"a": [None]}
    assert type(deep_copy(Pointer(None, "string"))) is Pointer
