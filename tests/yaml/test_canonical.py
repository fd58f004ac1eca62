"""The fast reader of canonical YAML: what it reads is what the reader of all YAML reads."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from osm_gitops.errors import InputError
from osm_gitops.yaml import kubernetes
from osm_gitops.yaml.canonical import SharedEntries, read_canonical
from osm_gitops.yaml.emit import dump
from osm_gitops.yaml.kubernetes import load_documents

_TEXTS = st.one_of(
    st.sampled_from(
        [
            "",
            "y",
            "null",
            "True",
            "a: b",
            "a #b",
            "a",
            "x\ny\n",
            " x\n",
            "x\n\n",
            "x\n  \ny",
            "\tx\n",
            "1",
            "- a",
            "|",
            "é",
            # Long ones are looked at in another way.
            "a+/=" * 30,
            "-" + "a" * 120,
            "a: b" * 30,
            "a:b" * 40,
            "a #" * 40,
            "a b" * 40,
            "a\tb" * 40,
            "a" + "é" * 120,
        ]
    ),
    st.text("ab:# -|\n\t\"'\\{}[]&*!%@`,?<>=~.09", max_size=12),
    st.text(max_size=6),
)
_VALUES: st.SearchStrategy[Any] = st.recursive(
    st.one_of(_TEXTS, st.booleans(), st.none(), st.integers(-(1 << 70), 1 << 70), st.floats(allow_nan=False)).filter(
        lambda value: value not in {float("inf"), float("-inf")}
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(_TEXTS, inner, max_size=4)),
    max_leaves=20,
)
_CONFIG = {
    "apiVersion": "v1",
    "data": {"a.b/c": "IyEvYmluL3No", "n": 3, "on": True, "none": None, "empty": {}, "list": []},
    "files": [
        {"path": "/etc/x", "content": {"inline": "#!/bin/sh\n\n  set -e\n"}},
        "x",
        ["y", "z\n"],
        {"a": {"b": "c"}},
    ],
    "quoted": 'a "b": \\ c\n\td',
    "kept": "a\n\n\n",
    "stripped": " a\nb",
}


def _general(text: str, monkeypatch: pytest.MonkeyPatch) -> tuple[list[Any], list[dict[str, int]]] | None:
    with monkeypatch.context() as patched:
        patched.setattr(kubernetes, "read_canonical", lambda *_: None)
        return _read(text)


def _read(text: str) -> tuple[list[Any], list[dict[str, int]]] | None:
    try:
        found = load_documents(text, "a.yaml")
    except InputError:
        return None
    entries = [each for document in found for each in (document, *document.items)]
    return [repr((each.value, each.line)) for each in entries], [dict(each.lines) for each in entries]


def test_what_is_written_is_read_fast() -> None:
    text = "# a comment\n#\n" + dump(_CONFIG)
    assert read_canonical(text) == (_CONFIG, text.index("apiVersion"))
    (document,) = load_documents(text, "a.yaml")
    assert document.line == 3
    assert document.lines["files[1]"] == text[: text.index("- x\n")].count("\n") + 1


@given(value=st.dictionaries(_TEXTS, _VALUES, max_size=4))
def test_what_is_written_is_read_alike(value: dict[str, Any]) -> None:
    text = dump(value)
    with pytest.MonkeyPatch.context() as patch:
        assert _general(text, patch) == _read(text)


_BETWEEN = st.sampled_from(
    ["", "# a comment\n", "#\n\n", "\n", "---\n", "--- # comment\n", "...\n", "--- {}\n", " ---\n"]
)


@given(
    values=st.lists(st.tuples(_BETWEEN, st.dictionaries(_TEXTS, _VALUES, max_size=3)), max_size=4),
    start=st.sampled_from(["", "---\n"]),
    end=st.sampled_from(["", "---\n", "\n", "# end\n", "- a\n"]),
)
@example(values=[("# a\n", {"a": "x\n\n\n"}), ("", {"b": "\n---\n"}), ("# b\n", {"c": 1})], start="", end="")
@example(values=[("# a\n---\n", {"a": 1}), ("", {"b": 1})], start="", end="")
@example(values=[("", {"a": 1}), ("# b\n", {"b": [{"x": 1}]})], start="---\n", end="")
def test_many_documents_are_read_alike(values: list[tuple[str, dict[str, Any]]], start: str, end: str) -> None:
    text = start + "---\n".join(between + dump(value) for between, value in values) + end
    with pytest.MonkeyPatch.context() as patch:
        assert _general(text, patch) == _read(text)


def test_many_documents_are_read_fast(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kubernetes, "_Reader", None)
    for text in ("---\na: 1\n---\n# c\nb: |+\n  x\n\n---\nc: 2\n", "# c\n---\na: 1\n---\nb: 2\n"):
        assert load_documents(text, "a.yaml")[0].value == {"a": 1}


@given(
    first=st.lists(_VALUES, max_size=4),
    second=st.lists(_VALUES, max_size=4),
    depths=st.tuples(st.integers(0, 2), st.integers(0, 2)),
)
@example(first=[{"a": "x\n", "b": ""}], second=[{"a": "x\n", "b": "", "c": 1}, {"a": "x\n", "b": ""}], depths=(0, 1))
@example(first=[{"a": "x\n\n"}], second=[{"a": "x\n"}, {"a": "x\n\n"}], depths=(1, 1))
def test_shared_entries_are_read_alike(first: list[Any], second: list[Any], depths: tuple[int, int]) -> None:
    shared = SharedEntries()
    for entries, depth in ((first, depths[0]), (second, depths[1]), ([*second, *first], 0), (first, 0)):
        value: dict[str, Any] = {"a": entries}
        for _ in range(depth):
            value = {"a": [value, "b"]}
        text = dump(value)
        assert repr(read_canonical(text, shared)) == repr(read_canonical(text))


def test_an_entry_is_read_once() -> None:
    shared = SharedEntries()
    texts = [dump({"name": name, "files": [{"path": "/etc/x", "content": "x\ny\n"}]}) for name in ("a", "b")]
    (first, second) = (read_canonical(text, shared) for text in texts)
    assert first is not None
    assert second is not None
    assert first[0]["files"][0] is second[0]["files"][0]


_ODD = (
    " ",
    "  ",
    "\n",
    "-",
    "- ",
    ":",
    ": ",
    "#",
    " #",
    '"',
    "'",
    "|",
    "|2",
    "|-",
    "|+",
    "\t",
    "---\n",
    "...\n",
    "&a ",
    "*a",
)
_MORE = (
    "!!str ",
    "%",
    "{",
    "}",
    "[",
    "]",
    ",",
    "?",
    "<<: ",
    "\r",
    "\x85",
    "\u2028",
    "\ufeff",
    "\x00",
    "\\",
    "1",
    "0x1",
    "~",
    "é",
)


@given(
    value=st.one_of(st.just(_CONFIG), st.dictionaries(_TEXTS, _VALUES, min_size=1, max_size=4)),
    edits=st.lists(
        st.tuples(st.integers(0, 400), st.integers(0, 4), st.sampled_from([*_ODD, *_MORE, ""])), min_size=1, max_size=3
    ),
)
@example(value={"a": "b"}, edits=[(4, 0, "\n  c")])
@example(value={"a": "b\n"}, edits=[(8, 0, "\n   \n")])
@example(value={"items": [{"a": 1}]}, edits=[(0, 0, "")])
@example(value={"items": {"a": 1}}, edits=[(0, 0, "")])
@example(value={"a" * 1030: 1}, edits=[(0, 2, "")])
def test_what_others_wrote_is_read_alike(value: dict[str, Any], edits: list[tuple[int, int, str]]) -> None:
    text = dump(value)
    for place, length, new in edits:
        at = place % (len(text) + 1)
        text = text[:at] + new + text[at + length :]
    with pytest.MonkeyPatch.context() as patch:
        assert _general(text, patch) == _read(text)


@pytest.mark.parametrize("opening", ["a:\n", "- ", "a: {", "[", "? "])
def test_depth_ends_with_a_problem(opening: str) -> None:
    steps = ("  " * level + opening for level in range(5_000)) if opening == "a:\n" else [opening] * 5_000
    assert _read("".join(steps) + "\n") is None
