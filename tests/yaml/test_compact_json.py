"""Values of ours as compact JSON: what is written is read again, and Python's own reader reads the same."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from osm_gitops.yaml.compact_json import dump_json, load_json

_TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
_NUMBERS = st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False, allow_infinity=False)
_VALUES = st.recursive(
    st.none() | st.booleans() | _NUMBERS | _TEXTS, lambda inner: st.lists(inner) | st.dictionaries(_TEXTS, inner)
)


@given(_VALUES)
def test_a_value_comes_back(value: Any) -> None:
    text = dump_json(value)
    assert repr(load_json(text)) == repr(json.loads(text)) == repr(value)


def test_keys_keep_their_order_or_are_sorted() -> None:
    assert dump_json({"b": 1, "a": {"d": 1, "c": 2}}) == b'{"b":1,"a":{"d":1,"c":2}}'
    assert dump_json({"b": 1, "a": {"d": 1, "c": 2}}, sort_keys=True) == b'{"a":{"c":2,"d":1},"b":1}'


@pytest.mark.parametrize("number", [2**64, -(2**63) - 1, 10**30])
def test_an_integer_of_more_than_64_bits_is_written_as_it_is(number: int) -> None:
    assert dump_json({"b": "é", "a": number}, sort_keys=True) == f'{{"a":{number},"b":"é"}}'.encode()
    assert load_json(dump_json([number])) == [float(number)]


@pytest.mark.parametrize("value", ["\ud800", {1: 2}, {1}])
def test_what_would_not_come_back_is_refused(value: Any) -> None:
    with pytest.raises(TypeError):
        dump_json({"value": value})
