"""YAML as yaml.v3 reads it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from osm_gitops.gocompat.fault import GoError
from osm_gitops.gocompat.times import STRING_LAYOUT, format_time
from osm_gitops.gocompat.yaml3_reader import ANY, LIST, MAP, AnyKeys, UnsupportedYaml, load_v3


@pytest.mark.parametrize(
    ("scalar", "value"),
    [
        ("yes", "yes"), ("on", "on"), ("y", "y"), ("True", True), ("~", None), ("", None), ("null", None),
        ("010", 8), ("0o17", 15), ("0x10", 16), ("0b11", 3), ("0b-11", -3), ("-0b11", -3), ("1_000", 1000), ("08", 8.0),
        ("+1", 1), ("18446744073709551615", 2**64 - 1), ("18446744073709551616", 2.0**64), ("1e400", "1e400"),
        ("1e3", 1000.0), (".5", 0.5), ("5.", 5.0), (".inf", float("inf")), ("-.INF", float("-inf")), (".", "."),
        ("0", 0), ("9", 9), ("1\u0662", "1\u0662"), ("1²", "1²"),
        ("999999999999999999", 10**18 - 1), ("1000000000000000000", 10**18),
        ("12:30:45", "12:30:45"), ("2020-13-01", "2020-13-01"), ("=", "="), ("<<", "<<"),
        ("!!str 1", "1"), ("!!float 1", 1.0), ("!!int '5'", 5), ("! 1", 1), ("!x 1", "1"), ("!!binary aGk=", "hi"),
        ("!!binary /w==", "\udcff"), ('"\\u00e9"', "é"), ("'1'", "1"), ("|\n  x\n  y\n", "x\ny\n"),
    ],
)  # fmt: skip
def test_a_scalar_has_the_value_that_go_gives_it(scalar: str, value: Any) -> None:
    read = load_v3(f"k: {scalar}", MAP).value["k"]
    assert (type(read), read) == (type(value), value)


@pytest.mark.parametrize(
    ("scalar", "printed"),
    [
        ("2020-01-01", "2020-01-01 00:00:00 +0000 UTC"),
        ("2020-1-2 3:4:5.5", "2020-01-02 03:04:05.5 +0000 UTC"),
        ("2020-01-01t00:00:00+01:00", "2020-01-01 00:00:00 +0100 +0100"),
    ],
)
def test_a_date_is_a_time(scalar: str, printed: str) -> None:
    assert format_time(load_v3(scalar).value, STRING_LAYOUT) == printed


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1: x", {"1": "x"}),
        ("2020-01-01: x", {"2020-01-01": "x"}),
        ("~: x", {}),
        ("a: &x [1]\nb: *x", {"a": [1], "b": [1]}),
        ("b: &x {a: 1, c: 2}\nd:\n  a: 3\n  <<: *x", {"b": {"a": 1, "c": 2}, "d": {"a": 3, "c": 2}}),
        ("<<: [{a: 1, b: 1}, {a: 2, c: 2}]", {"a": 1, "b": 1, "c": 2}),
        ("1: a\n<<: {1: b, 2: c}", {"1": "b", "2": "c"}),
        ("'<<': 1", {"<<": 1}),
        ("a: 1\n---\nb: 2", {"a": 1}),
        ("a: 1\n--- }", {"a": 1}),
    ],
)
def test_a_document_becomes_a_map(text: str, value: Any) -> None:
    loaded = load_v3(text, MAP)
    assert (loaded.value, loaded.message) == (value, "")


def test_an_alias_is_a_value_of_its_own() -> None:
    value = load_v3("a: &x [1]\nb: *x").value
    value["a"].append(2)
    assert value["b"] == [1]


def test_a_map_inside_with_other_keys_is_marked() -> None:
    value = load_v3("a: {1: x, b: y, ~: z}", MAP).value["a"]
    assert type(value) is AnyKeys
    assert value == {1: "x", "b": "y", None: "z"}


@pytest.mark.parametrize("text", ["", "# only a comment", "\n\n"])
def test_no_document_is_told_from_a_null_one(text: str) -> None:
    assert not load_v3(text).present
    assert load_v3("---").present


@pytest.mark.parametrize(
    ("text", "into", "value", "message"),
    [
        ("a: 1\na: 2", MAP, None, 'line 2: mapping key "a" already defined at line 1'),
        ("b: {a: 1, a: 2}\nc: 3", MAP, {"c": 3}, 'line 1: mapping key "a" already defined at line 1'),
        ("- 1", MAP, None, "line 1: cannot unmarshal !!seq into map[string]interface {}"),
        ("\na: 1", LIST, None, "line 2: cannot unmarshal !!map into []interface {}"),
        ("x", MAP, None, "line 1: cannot unmarshal !!str `x` into map[string]interface {}"),
        ("abcdefghijkl", MAP, None, "line 1: cannot unmarshal !!str `abcdefg...` into map[string]interface {}"),
        ("? [a]\n: 1\nb: 2", MAP, {"b": 2}, "line 1: cannot unmarshal !!seq into string"),
    ],
)
def test_what_does_not_fit_is_left_out_with_gos_words(text: str, into: str, value: Any, message: str) -> None:
    loaded = load_v3(text, into)
    assert (loaded.value, loaded.message) == (value, f"yaml: unmarshal errors:\n  {message}")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: [", "yaml: line 1: did not find expected node content"),
        ("\ta: 1", "yaml: found character that cannot start any token"),
        ("a: b: c", "yaml: mapping values are not allowed in this context"),
        ("a: 'x", "yaml: found unexpected end of stream"),
        ("a: 1\n}", "yaml: line 1: did not find expected key"),
        ("a: 1\nb", "yaml: line 2: could not find expected ':'"),
        ("a: *x", "yaml: unknown anchor 'x' referenced"),
        ("a: \x7f", "yaml: control characters are not allowed"),
        ("%YAML 1.2\n---\na: 1", "yaml: found incompatible YAML document"),
    ],
)
def test_what_is_no_yaml_is_an_error_in_gos_words(text: str, message: str) -> None:
    with pytest.raises(GoError) as caught:
        load_v3(text)
    assert not isinstance(caught.value, UnsupportedYaml)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    "text",
    [
        "a: *x\nb: @",
        "a: &x [*x]",
        "<<: 1",
        "a: !!int x",
        "a: !!binary z",
        "a: {[1]: 2}",
        "a: {1: x, true: y}",
        "a: \udcff",
        "a: [b?c]",
        "a: 1\n\ufeffb: 2",
        "[1] x",
    ],
)
def test_where_gos_words_are_not_known_the_error_says_so(text: str) -> None:
    with pytest.raises(UnsupportedYaml):
        load_v3(text, MAP)


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        "- " * 5_000,
        "a: &a [x, x, x, x, x, x, x, x, x]\n"
        + "".join(f"{b}: &{b} [{', '.join([f'*{a}'] * 9)}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True)),
    ],
)
def test_a_bomb_is_an_error(text: str) -> None:
    with pytest.raises(GoError):
        load_v3(text)


@given(st.text("ab1: -?#'\"{}[],&*!|>%@`<~=.\n\t\\x", max_size=20), st.sampled_from([MAP, LIST, ANY]))
def test_any_text_gives_a_value_or_an_error(text: str, into: str) -> None:
    try:
        loaded = load_v3(text, into)
    except GoError as error:
        assert str(error)  # noqa: PT017 - both outcomes are right
    else:
        assert into == ANY or loaded.value is None or isinstance(loaded.value, dict if into == MAP else list)
