"""Go's encoding/json."""

from __future__ import annotations

import hashlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from osm_gitops.gocompat import gojson
from osm_gitops.gocompat.fault import GoError
from osm_gitops.gocompat.gojson import Fields, NestedTooDeep
from tests.gocompat.vector_data import differences


def test_it_writes_what_go_writes() -> None:
    assert differences("json", gojson.encode) == []


@pytest.mark.parametrize(
    ("annotations", "digest"),
    [
        (None, "74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b"),
        ({}, "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"),
        (
            {"machinedeployment.clusters.k8s.io/revision": "1", "k8c.io/operating-system-profile": "osp-ubuntu"},
            "240e92a138b73a540fc8f38a171c511995e6c10890b9af15f92f5a8b84136765",
        ),
        (
            {
                "k8c.io/operating-system-profile": "osp-demo",
                "machinedeployment.clusters.k8s.io/revision": "1",
                "v1.kubelet-config.machine-controller.kubermatic.io/MaxPods": "110",
                "v1.kubelet-config.machine-controller.kubermatic.io/EvictionHard": "memory.available<30Mi",
            },
            "390e64183120f3905980b13561f071fa31ba99e92802a90ce0c11ef30e18f659",
        ),
    ],
)
def test_annotations_have_the_hash_that_osm_gives_them(annotations: dict[str, str] | None, digest: str) -> None:
    assert gojson.annotations_hash(annotations) == digest


@pytest.mark.parametrize("last", ["\x7f", "é", "\u2028", "\udcff"])
def test_annotations_of_any_characters_have_the_hash_of_their_json(last: str) -> None:
    texts = [*map(chr, range(0x7F)), last]
    annotations = {f"{text}/name": f"<{text}>" for text in texts}
    assert gojson.annotations_hash(annotations) == hashlib.sha256(gojson.canonical(annotations)).hexdigest()


def test_keys_are_sorted_by_bytes_and_text_is_escaped() -> None:
    value = {"b": "<&>\u2028", "a/b": "\x00\x7f\b", "a-b": 'é😀"\\', "B": "\udcff"}
    assert gojson.encode(value) == (
        r'{"B":"\ufffd","a-b":"é😀\"\\","a/b":"\u0000' + "\x7f" + r'\b","b":"\u003c\u0026\u003e\u2028"}'
    )


def test_html_stays_raw_on_demand_and_indentation_is_written_per_level() -> None:
    assert gojson.encode({"a": "<"}, escape_html=False) == '{"a":"<"}'
    assert gojson.encode({"a": [1, {}], "b": []}, indent="  ") == '{\n  "a": [\n    1,\n    {}\n  ],\n  "b": []\n}'


def test_the_fields_of_a_struct_keep_their_order() -> None:
    assert gojson.canonical(Fields(z=True, a=None)) == b'{"z":true,"a":null}'


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_a_number_without_digits_is_an_error(number: float) -> None:
    with pytest.raises(GoError, match="json: unsupported value"):
        gojson.encode([number])


@given(st.dictionaries(st.text(), st.integers() | st.text() | st.booleans() | st.none()))
def test_what_is_written_is_json_of_the_same_value(value: dict[str, object]) -> None:
    assert json.loads(gojson.encode(value)) == value


def test_numbers_are_read_as_floats_and_the_last_of_equal_keys_wins() -> None:
    value = gojson.decode(' {"a": 1, "a": -0, "b": [true, null, "\\ud83d\\ude00\\ud800x"]} ')
    assert repr(value) == "{'a': -0.0, 'b': [True, None, '😀\ufffdx']}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "unexpected end of JSON input"),
        ("{", "unexpected end of JSON input"),
        ("[1,]", "invalid character ']' looking for beginning of value"),
        ("{a:1}", "invalid character 'a' looking for beginning of object key string"),
        ('{"a" 1}', "invalid character '1' after object key"),
        ('{"a":1 "b"}', "invalid character '\"' after object key:value pair"),
        ("[1 2]", "invalid character '2' after array element"),
        ("1 x", "invalid character 'x' after top-level value"),
        ("01", "invalid character '1' after top-level value"),
        ("-", "invalid character ' ' in numeric literal"),
        ("1.", "invalid character ' ' after decimal point in numeric literal"),
        ("1e+", "invalid character ' ' in exponent of numeric literal"),
        ("nul", "invalid character ' ' in literal null (expecting 'l')"),
        ("trux", "invalid character 'x' in literal true (expecting 'e')"),
        ("'a'", "invalid character '\\'' looking for beginning of value"),
        ('"a\nb"', "invalid character '\\n' in string literal"),
        ('"\\x"', "invalid character 'x' in string escape code"),
        ('"\\u12g4"', "invalid character 'g' in \\u hexadecimal character escape"),
        ("NaN", "invalid character 'N' looking for beginning of value"),
        ("é", "invalid character 'Ã' looking for beginning of value"),
        ("1e400", "json: cannot unmarshal number 1e400 into Go value of type float64"),
    ],
)
def test_what_is_no_json_is_an_error_in_gos_words(text: str, message: str) -> None:
    with pytest.raises(GoError) as caught:
        gojson.decode(text)
    assert str(caught.value) == message


def test_a_number_out_of_range_leaves_a_hole_in_the_value() -> None:
    with pytest.raises(gojson.NumberRange) as caught:
        gojson.decode('{"a": 1e400, "b": 2}')
    assert caught.value.value == {"a": None, "b": 2.0}


def test_endless_nesting_is_an_error() -> None:
    with pytest.raises(NestedTooDeep):
        gojson.decode("[" * 100_000)
