"""yaml.v3's Marshal."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from osm_gitops.gocompat import yaml3
from osm_gitops.gocompat.gojson import Fields
from osm_gitops.gocompat.times import parse_time
from osm_gitops.gocompat.yaml3_reader import load_v3
from tests.gocompat.vector_data import differences


def test_it_writes_what_go_writes() -> None:
    assert differences("yaml3", yaml3.encode) == []


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"a": [1, [2, 3]], "b": {"c": {}}, "d": []}, "a:\n    - 1\n    - - 2\n      - 3\nb:\n    c: {}\nd: []\n"),
        ([{"a": {"b": 1}}], "- a:\n    b: 1\n"),
        ({"k": "\na"}, "k: |4-\n    a\n"),
        ({"k": "a\n\n"}, "k: |+\n    a\n\n"),
        ({"k": "a \nb"}, 'k: "a \\nb"\n'),
        ({"a\nb": 1}, "? |-\n    a\n    b\n: 1\n"),
        ("\ufeffa", '"\\uFEFF\\x61"\n'),
        ("\udcff", "!!binary /w==\n"),
        ("word " * 40, "'" + "word " * 40 + "'\n"),
        ([1e21, -0.0, 1.0, float("inf"), float("nan")], "- 1e+21\n- -0\n- 1\n- .inf\n- .nan\n"),
        (Fields(z=1, a=None), "z: 1\na: null\n"),
        (parse_time("2006-01-02", "2026-02-03"), "2026-02-03T00:00:00Z\n"),
        ({None: "c", "x": "b", 2: "a", False: "d"}, "false: d\n2: a\nnull: c\nx: b\n"),
    ],
)
def test_the_layout_of_single_values(value: Any, text: str) -> None:
    assert yaml3.encode(value) == text


def test_keys_are_in_natural_order() -> None:
    keys = ["ab", "a-b", "a.b", "10", "9", "B", "b", "_x", "a10", "a9", "a09", ""]
    written = yaml3.encode(dict.fromkeys(keys, 0)).replace('"', "").replace(": 0", "").splitlines()
    assert written == ["", "_x", "9", "10", "B", "a-b", "a.b", "a9", "a09", "a10", "ab", "b"]


_SCALARS = st.text(st.characters(codec="utf-8")) | st.integers(-(2**63), 2**63 - 1) | st.booleans() | st.none()


@given(st.recursive(_SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text("abc:-# 1"), inner)))
def test_the_order_of_insertion_does_not_matter(value: Any) -> None:
    assert yaml3.encode(value) == yaml3.encode(_reversed(value))


@given(st.text("ab1 :-#'\"{}[],&*!|>%@?~=.\n\\", max_size=12).filter(lambda text: not text.startswith("\n")))
def test_a_yaml_reader_reads_the_same_text(text: str) -> None:
    assert load_v3(yaml3.encode({"k": text})).value == {"k": text}


def _reversed(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _reversed(value[key]) for key in reversed(value)}
    return [_reversed(item) for item in value] if isinstance(value, list) else value
