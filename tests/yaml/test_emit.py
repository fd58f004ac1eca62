"""The canonical YAML: one text per value, and the same value back in every reader."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from osm_gitops.gocompat.yaml3_reader import load_v3
from osm_gitops.yaml.emit import PLAIN, dump
from osm_gitops.yaml.kubernetes import load_documents


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"b": 1, "a": {"d": None, "c": True}}, "a:\n  c: true\n  d: null\nb: 1\n"),
        ({"a": ["x", {"c": 1, "b": [2]}, [3, []], {}]}, "a:\n- x\n- b:\n  - 2\n  c: 1\n- - 3\n  - []\n- {}\n"),
        ({"é": 1, "Z": 2, "a": 3, "\U0001f600": 4}, 'Z: 2\na: 3\n"é": 1\n"\U0001f600": 4\n'),
        ({"yes": "yes", "1": "1", "": ""}, '"": ""\n"1": "1"\n"yes": "yes"\n'),
        ({"a": "v1.11.2+prod", "b": "a/b:c d#e", "c": "k8c.io/x"}, "a: v1.11.2+prod\nb: a/b:c d#e\nc: k8c.io/x\n"),
        ({"a": "x: y", "b": "x #y", "c": "x:", "d": "x "}, 'a: "x: y"\nb: "x #y"\nc: "x:"\nd: "x "\n'),
        ({"a": "12:30", "b": "2020-01-01", "c": "0644"}, 'a: "12:30"\nb: "2020-01-01"\nc: "0644"\n'),
        ({"a": "one\ntwo\n"}, "a: |\n  one\n  two\n"),
        ({"a": "one\n\n\ntwo"}, "a: |-\n  one\n\n\n  two\n"),
        ({"a": "one\n\n\n"}, "a: |+\n  one\n\n\n"),
        ({"a": "one  \n  \n\ttwo\n"}, "a: |\n  one  \n    \n  \ttwo\n"),
        ({"a": " one\ntwo\n"}, "a: |2\n   one\n  two\n"),
        ({"a": "\n\tone\n"}, "a: |2\n\n  \tone\n"),
        ({"a": ["one\ntwo\n", [" x\ny"]]}, "a:\n- |\n  one\n  two\n- - |2-\n     x\n    y\n"),
        ({"a": "one\r\ntwo\n"}, 'a: "one\\r\\ntwo\\n"\n'),
        ({"a": "  \none\n"}, 'a: "  \\none\\n"\n'),
        ({"a": "\n"}, 'a: "\\n"\n'),
        ({"a": 'tab\t"q"\\ \x00\x85\u2028\ufeff'}, 'a: "tab\\t\\"q\\"\\\\ \\x00\\x85\\u2028\\ufeff"\n'),
        ({"a": 1.5, "b": 1e30, "c": -0.0, "d": 10**20}, "a: 1.5\nb: 1.0e+30\nc: -0.0\nd: 100000000000000000000\n"),
        ({"a": 1e-7, "b": -2.5e-10}, "a: 1.0e-7\nb: -2.5e-10\n"),
        ([], "[]\n"),
        ("a\nb\n", "|\n  a\n  b\n"),
        (None, "null\n"),
    ],
)  # fmt: skip
def test_a_value_has_one_text(value: Any, text: str) -> None:
    assert dump(value) == text
    assert load_documents(text, "a.yaml") == [] if value is None else load_documents(text, "a.yaml")[0].value == value


def test_long_keys_are_written_out() -> None:
    key = "k" * 2000
    text = dump({key: {"a": 1}, "x": {key: [1]}})
    assert load_documents(text, "a.yaml")[0].value == yaml.safe_load(text) == {key: {"a": 1}, "x": {key: [1]}}


def test_what_is_no_json_is_refused() -> None:
    with pytest.raises(TypeError):
        dump({"a": object()})
    with pytest.raises(ValueError, match="not UTF-8"):
        dump({"a": "\udcff"})
    with pytest.raises(ValueError, match="unsupported value"):
        dump({"a": float("inf")})


def test_a_long_text_with_colons_costs_no_more_than_its_length() -> None:
    text = "a b" * 50_000 + ": "
    assert dump({"a": text}) == f'a: "{text}"\n'


@given(
    st.text("aZ_/09=+", min_size=65, max_size=80),
    st.sampled_from([*map(chr, range(0x80)), "é", ""]),
    st.sampled_from([0, 1, 40, -1]),
)
def test_a_long_text_is_plain_by_the_same_rule_as_a_short_one(text: str, char: str, at: int) -> None:
    text = text[:at] + char + text[at:] if at >= 0 else text + char
    assert (dump(text) == f"{text}\n") == (PLAIN.fullmatch(text) is not None)


TEXTS = st.text() | st.lists(
    st.sampled_from([*"ab \n\t:#-?'\"|>{}[]&*!%@`~=\\1.0ey\r", "yes", "null", "\x85", "\u2028", "---\n", "...", "é"])
).map("".join)
# Whole floats beyond 53 bits come back as the integer with the digits that Go prints, which is another number.
FLOATS = st.floats(allow_nan=False, allow_infinity=False).filter(lambda x: abs(x) < 2**53 or abs(x) >= 1e21)
NUMBERS = st.integers(-(2**63), 2**64 - 1) | FLOATS
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=20,
)


@given(VALUES)
@example({"a": "x\n \n\n"})
@example({"a": "0 0\n"})
def test_every_reader_gets_the_value_back(value: Any) -> None:
    text = dump({"k": value})
    assert text.endswith("\n")
    assert load_documents(text, "a.yaml")[0].value == {"k": value}
    assert yaml.load(text, yaml.CSafeLoader) == {"k": value}
    assert yaml.safe_load(text) == {"k": value}
    assert load_v3(text).value == {"k": value}
    assert dump(load_documents(text, "a.yaml")[0].value) == dump({"k": _whole(value)})


def _whole(value: Any) -> Any:
    """Numbers as JSON text knows them: 2.0 is 2."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e21 and str(value) != "-0.0":
        return load_documents(f"k: {value!r}", "a")[0].value["k"]
    if isinstance(value, list):
        return [_whole(item) for item in value]
    return {key: _whole(item) for key, item in value.items()} if isinstance(value, dict) else value
