"""What sigs.k8s.io/yaml 1.6.0 makes of a text (osm-behaviour.md, "Kinds and shared types"); expectations were asked of
it."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from osm_gitops.errors import Code, InputError, Problem
from osm_gitops.yaml.kubernetes import MAX_DEPTH, load_documents
from tests.apiserver.after_osm import RECORDED
from tests.conformance_data import released_profiles
from tests.faults import Expected, placed


def value_of(text: str) -> Any:
    (document,) = load_documents(text, "a.yaml")
    return document.value


def refusal_of(text: str | bytes) -> tuple[Problem, ...]:
    with pytest.raises(InputError) as caught:
        load_documents(text, "a.yaml")
    return caught.value.problems


@pytest.mark.parametrize(
    ("scalar", "meaning"),
    [
        *((word, True) for word in ("y", "Y", "yes", "Yes", "YES", "on", "On", "ON", "true", "True", "TRUE")),
        *((word, False) for word in ("n", "N", "no", "No", "NO", "off", "Off", "OFF", "false", "False", "FALSE")),
        *((word, None) for word in ("~", "null", "Null", "NULL")),
        *((word, word) for word in ("yEs", "tRue", "nULL", "=", "<<", "inf", "nan", "0o", "0b2", "0x", ".", "+", "_1")),
        ("0644", 420),
        ("-0644", -420),
        ("00755", 493),
        ("08", 8),
        ("0o644", 420),
        ("0O644", 420),
        ("0x1F", 31),
        ("-0x1f", -31),
        ("0b11", 3),
        ("1_000", 1000),
        ("6_4_4", 644),
        ("0_7", 7),
        ("+1", 1),
        ("9223372036854775807", 9223372036854775807),
        ("18446744073709551615", 18446744073709551615),
        ("18446744073709551616", 18446744073709552000),
        ("123456789012345678901", 123456789012345680000),
        ("0x1FFFFFFFFFFFFFFFF", "0x1FFFFFFFFFFFFFFFF"),
        ("1.50", 1.5),
        ("1.0", 1),
        ("1e3", 1000),
        ("1_0.5", 10.5),
        (".5", 0.5),
        ("5.", 5),
        ("1e21", 1e21),
        ("1e-7", 1e-7),
        ("1e400", "1e400"),
        ("12:30", "12:30"),
        ("12:30:45", "12:30:45"),
        ("2020-01-01", "2020-01-01"),
        ("2001-12-14t21:59:43.10-05:00", "2001-12-14t21:59:43.10-05:00"),
        ("1.2.3", "1.2.3"),
        ('"0644"', "0644"),
        ("'yes'", "yes"),
        ("!!str 0644", "0644"),
        ("!!str yes", "yes"),
        ('!!int "3"', 3),
        ("!!float 3", 3),
        ('!!bool "yes"', True),
        ("!!null ''", None),
        ("!!timestamp 2020-01-01", "2020-01-01"),
        ("!!binary eA==", "x"),
        ("!!binary /w==", "\ufffd"),
        ("!foo 1", "1"),
        ("! 1", "1"),
        ("!!python/object:os.system x", "x"),
        ("", None),
    ],
)
def test_a_plain_scalar_means_what_it_means_to_kubernetes(scalar: str, meaning: Any) -> None:
    found = value_of(f"k: {scalar}\n")["k"]
    assert (found, type(found)) == (meaning, type(meaning))


def test_minus_zero_stays_a_float() -> None:
    assert math.copysign(1, value_of("k: -0.0")["k"]) == -1


@pytest.mark.parametrize("scalar", [".inf", "-.INF", ".nan", "!!float '.inf'"])
def test_numbers_that_json_cannot_hold_are_refused(scalar: str) -> None:
    assert Expected(Code.YAML_VALUE, "a.yaml:2") in refusal_of(f"a: 1\nk: {scalar}")


@pytest.mark.parametrize("scalar", ["!!int 3.5", "!!int x", "!!bool maybe", "!!null x", "!!timestamp x", "!!float yes"])
def test_a_tag_that_does_not_fit_is_refused(scalar: str) -> None:
    assert Expected(Code.YAML_VALUE, "!!") in refusal_of(f"k: {scalar}")


@pytest.mark.parametrize("scalar", ["'###'", "eA"])
def test_broken_base64_under_a_binary_tag_is_refused(scalar: str) -> None:
    assert Expected(Code.YAML_VALUE) in refusal_of(f"k: !!binary {scalar}")


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("1", "1"),
        ("1.5", "1.5"),
        ("1.0", "1"),
        ("1e30", "1e+30"),
        ("0.1", "0.1"),
        ("123456789.123", "1.2345679e+08"),
        ("0644", "420"),
        ("n", "false"),
        ("on", "true"),
        (".inf", ".inf"),
        ("-.inf", "-.inf"),
        (".nan", ".nan"),
        ("2020-01-01", "2020-01-01"),
        ("!!binary eA==", "x"),
        ("!!str 1", "1"),
        ("? |\n  x\n", "x\n"),
        ("'yes'", "yes"),
    ],
)
def test_a_key_becomes_the_string_that_the_loader_makes_of_it(key: str, text: str) -> None:
    assert value_of(f"{key}: a\n") == {text: "a"}


@pytest.mark.parametrize("key", ["~", "null", "18446744073709551615", "[a]", "{a: b}"])
def test_what_cannot_be_a_key_is_refused(key: str) -> None:
    assert placed(refusal_of(f"a: 1\n{key}: x\n")) == [(Code.YAML_VALUE, "a.yaml:2")]


def test_an_unquoted_template_action_is_explained() -> None:
    assert placed(refusal_of("a:\n  b: {{ .KubeVersion }}\n")) == [(Code.YAML_VALUE, "a.yaml:2")]


def test_merge_keys_follow_yaml_v2() -> None:
    assert value_of("<<: {a: 1}\na: 2\n") == {"a": 2}
    assert value_of("a: 2\n<<: {a: 1, b: 3}\n") == {"a": 1, "b": 3}
    assert value_of("p: &p {a: 1}\nq: &q {a: 2, b: 2}\nz:\n  <<: [*p, *q]\n")["z"] == {"a": 1, "b": 2}
    assert value_of("'<<': {a: 1}\n") == {"<<": {"a": 1}}
    assert Expected(Code.YAML_VALUE) in refusal_of("<<: [1]\n")


def test_anchors_are_copied_to_their_aliases() -> None:
    value = value_of("a: &x {b: [1]}\nc: *x\n&y d: *y\n")
    assert value == {"a": {"b": [1]}, "c": {"b": [1]}, "d": "d"}
    assert value["a"]["b"] is not value["c"]["b"]


@pytest.mark.parametrize(
    "text",
    [
        "a: *x",
        "a: &x [*x]",
        "a: &x {b: &x {c: *x}}",
    ],
)
def test_aliases_without_an_end_or_a_beginning_are_refused(text: str) -> None:
    assert Expected(Code.YAML_VALUE) in refusal_of(text)


def test_a_billion_laughs_are_refused() -> None:
    lines = ["a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 10)]
    assert Expected(Code.YAML_TOO_COMPLEX) in refusal_of("\n".join(lines))


@pytest.mark.parametrize("opening", ["[", "{a: ", "- "])
def test_deep_nesting_is_refused(opening: str) -> None:
    assert Expected(Code.YAML_TOO_COMPLEX, MAX_DEPTH) in refusal_of(opening * 100_000)


def test_aliases_do_not_nest_deeper_either() -> None:
    lines = [f"a0: &a0 {'[' * 60}{']' * 60}"]
    lines += [f"a{n}: &a{n} {'[' * 30}*a{n - 1}{']' * 30}" for n in range(1, 30)]
    assert value_of("\n".join(lines[:2]))
    assert Expected(Code.YAML_TOO_COMPLEX, "a.yaml:3") in refusal_of("\n".join(lines))


def test_all_duplicate_keys_are_named_with_both_lines() -> None:
    message = refusal_of("a: 1\nb:\n  c: 1\n  d: 2\n  c: 3\na: 4\n")
    assert Expected(Code.DUPLICATE_KEY, "a.yaml:5", "3", "5") in message
    assert Expected(Code.DUPLICATE_KEY, "a.yaml:6", "1", "6") in message


def test_keys_that_become_the_same_string_are_duplicates() -> None:
    assert Expected(Code.DUPLICATE_KEY, "1") in refusal_of('"1": a\n1: b\n')
    assert Expected(Code.DUPLICATE_KEY) in refusal_of("true: a\nyes: b\n")


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("a: 1\nb: c: d\n", 2, "a plain text contains a colon and a space"),
        ("a:\n\tb: 1\n", 2, "a tab indents this line"),
        ("a: 1\nb: @x\n", 2, "a plain text cannot start with @"),
        ("a: [1, 2\nb: 3\n", 2, "is not closed"),
        ('a: 1\nb: "x\n\n\n', 2, "never closed"),
        ("a: 1\n<<<<<<< HEAD\nb: 2\n", 2, "a key has no colon"),
        ("a: b\x07\n", 1, "the character U+0007 is not allowed in YAML"),
        ("a: 1\nb: x\x00\n", 2, "the character U+0000"),
        ('a: "\\q"\n', 1, "a backslash in double quotes"),
        ("a: 1\n  b: 2\n", 2, "a colon and a space"),
    ],
)
def test_a_syntax_error_is_a_sentence_with_its_line(text: str, line: int, what: str) -> None:
    (problem,) = refusal_of(text)
    assert (problem.where, what in problem.what) == (f"a.yaml:{line}", True)


def test_an_error_never_shows_the_text_around_it() -> None:
    for text in ("password: hunter2: x\n", "{hunter2: {a: b}: c}", "a: !!int hunter2"):
        assert not [problem for problem in refusal_of(text) if "hunter2" in str(problem)]


def test_other_encodings_are_refused() -> None:
    assert Expected(Code.TEXT_ENCODING, "UTF-16") in refusal_of("a: 1\n".encode("utf-16"))
    assert Expected(Code.TEXT_ENCODING, "a.yaml:2") in refusal_of(b"a: 1\nb: \xff\n")
    assert Expected(Code.TEXT_ENCODING, "a.yaml:2") in refusal_of("a: 1\nb: \ud800\n")


def test_a_byte_order_mark_and_windows_line_ends_are_nothing() -> None:
    (document,) = load_documents("\ufeffa: |\r\n  x\r\n  y\r\nb: 1\r\n".encode(), "a.yaml")
    assert document.value == {"a": "x\ny\n", "b": 1}
    assert document.lines["b"] == 4


def test_documents_that_are_empty_are_left_out() -> None:
    documents = load_documents("# only a comment\n---\n---\na: 1\n...\n---\n~\n---\n- b\n", "a.yaml")
    assert [(document.value, document.line) for document in documents] == [({"a": 1}, 4), (["b"], 9)]
    assert load_documents("", "a.yaml") == load_documents("# c\n", "a.yaml") == []


def test_lines_are_those_of_keys_and_entries() -> None:
    (_, document) = load_documents(
        "x: 1\n---\n# c\nspec:\n  files:\n  - path: /a\n    content:\n      b: 1\n  - c\n", "a"
    )
    assert dict(document.lines) == {
        "spec": 4,
        "spec.files": 5,
        "spec.files[0]": 6,
        "spec.files[0].path": 6,
        "spec.files[0].content": 7,
        "spec.files[0].content.b": 8,
        "spec.files[1]": 9,
    }


@pytest.mark.parametrize("text", ["items: []\n", "items: {}\n", "items:\n", "items: x\n", "a: {items: [1]}\n"])
def test_without_entries_there_are_no_items(text: str) -> None:
    (document,) = load_documents(text, "a.yaml")
    assert document.items == ()


@pytest.mark.parametrize(
    "text",
    [
        "kind: List\nitems:\n- a: 1\n  b: 2\n\n- a: 3\n  c:\n  - d: 4\nz: 1\n",
        "kind: List\nitems:\n  - a: 1\n    b: 2\n\n  - a: 3\n    c:\n      - d: 4\nz: 1\n",
        '{"kind": "List",\n "items": [\n {"a": 1,\n  "b": 2},\n\n {"a": 3,\n  "c":\n  [{"d": 4}]}], "z": 1}',
    ],
    ids=["flush", "indented", "json"],
)
def test_the_entries_of_a_list_know_their_lines(text: str) -> None:
    (document,) = load_documents(text, "a.yaml")
    first, second = document.items
    assert (first.line, first.value, first.lines["b"]) == (3, {"a": 1, "b": 2}, 4)
    assert (second.line, second.value, second.lines["c[0].d"]) == (6, {"a": 3, "c": [{"d": 4}]}, 8)


def test_json_keeps_what_yaml_cannot_say() -> None:
    key = "k" * 2000
    text = '\n{"a": "\\ud83d\\ude00 \\ud800 \\/", "n": 12345678901234567890123, "f": 1.0, "KEY": 1}\n{"b": 2}'
    text = text.replace("KEY", key)
    documents = load_documents(text, "a.json")
    assert [(document.value, document.line) for document in documents] == [
        ({"a": "\U0001f600 \ufffd /", "n": 12345678901234567890123, "f": 1, key: 1}, 2),
        ({"b": 2}, 3),
    ]
    assert Expected(Code.DUPLICATE_KEY) in refusal_of('{"a": "\\ud83d\\ude00", "b": 1, "b": 2}')


def test_what_osm_left_in_a_cluster_loads_as_json_does() -> None:
    text = RECORDED.read_text("utf-8")
    assert value_of(text) == json.loads(text)


@pytest.mark.conformance
def test_the_released_profiles_load_as_written() -> None:
    for path in released_profiles():
        text = path.read_text("utf-8")
        assert value_of(text) == yaml.safe_load(text), path


FRAGMENTS = [
    "a",
    "b: ",
    "- ",
    "\n",
    "\n  ",
    " ",
    "'",
    '"',
    "|",
    ">-\n",
    "{",
    "}",
    "[",
    "]",
    ",",
    "#",
    "&x ",
    "*x",
    "!!int ",
]
FRAGMENTS += [
    "<<: ",
    "? ",
    "\t",
    "0644",
    "yes",
    "---\n",
    "...\n",
    "%",
    "@",
    "\\",
    "\r\n",
    "\u2028",
    "{{ .X }}",
    ".inf",
    "~",
]


@given(st.one_of(st.binary(), st.text(), st.lists(st.sampled_from(FRAGMENTS)).map("".join)))
@example(b"\xff\xfe")
@example("a: " + "9" * 5000)
@example('{"a": ' * 5000)
@example("[" * 1200 + "\x00")
def test_any_text_is_read_or_refused(text: str | bytes) -> None:
    try:
        documents = load_documents(text, "a.yaml")
    except InputError as error:
        documents, places = [], {problem.where[:6] for problem in error.problems}
    else:
        places = {"a.yaml"}
    assert places == {"a.yaml"}
    for document in documents:
        json.dumps(document.value, allow_nan=False).encode()
        assert document.line >= 1
        assert all(line >= document.line for line in document.lines.values())


def test_the_character_next_line_is_a_line_end_in_yaml_and_stays_in_json() -> None:
    assert value_of('{"a": "x\x85y"}\n') == {"a": "x\x85y"}
    assert value_of('a: "x\x85y"\n') == {"a": "x y"}
    assert value_of('{a: "x\x85y"}\n') == {"a": "x y"}
