"""YAML and JSON that is large in one way: keys, documents, depth, one line, aliases. Read in time and memory that grow
with the text, or refused in a few sentences."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from osm_gitops.yaml.kubernetes import load_documents
from osm_gitops.yaml.lines import MOST_PATHS, Lines
from tests.cli.scenes import file, profile
from tests.hostile.cases import cases
from tests.hostile.walled import walled, walled_cli

_MANY: Final = 100_000
_MOST_TOLD: Final = 10_000
"""Characters of all that is said of one input."""


def _pool(number: int) -> dict[str, Any]:
    labels = {f"label-{each}": "value" for each in range(30)}
    return {"kind": "ConfigMap", "metadata": {"name": f"p{number}", "labels": labels}, "data": {"a": "x" * 200}}


def _below_keys(length: int, depth: int, inner: str) -> str:
    return "{" + f"? {'k' * length}\n: {{" * depth + inner + "}" * (depth + 1)


def _surrogates(rest: str) -> str:
    """JSON that libyaml cannot read."""
    return '{"x": "\\ud83d\\ude00", ' + rest + "}"


_AND_FELL: Final[dict[str, Callable[[], str]]] = {
    "a key 100,000 times": lambda: "a:\n" + "  k: v\n" * _MANY,
    "a key 100,000 times in a line": lambda: "a: {" + "k: 1," * _MANY + "}",
    "1,000 objects in a line": lambda: json.dumps({"kind": "List", "items": [_pool(each) for each in range(1000)]}),
    "100,000 objects in a line": lambda: '{"items":[' + ",".join(['{"a":1}'] * _MANY) + "]}",
    "100,000 lists in a line": lambda: "items: [" + "[1]," * _MANY + "]",
    "100,000 texts in a line": lambda: "items: [" + "1, " * _MANY + "]",
    "100,000 JSON documents": lambda: _surrogates('"a": 1') * _MANY,
    "100,000 times of day": lambda: "".join(f"- 2001-01-01T00:00:00.{each}\n" for each in range(_MANY)),
    "many values below long keys": lambda: _below_keys(2000, 60, "a: [" + "1," * 50_000 + "]"),
}  # fmt: skip

_AND_HELD: Final[dict[str, Callable[[], str]]] = {
    "100,000 keys": lambda: "".join(f"k{each}: v\n" for each in range(_MANY)),
    "50,000 keys twice": lambda: "".join(f"k{each}: v\n" for each in range(_MANY // 2)) * 2,
    "100,000 keys in a line": lambda: "a: {" + ",".join(f"k{each}: 1" for each in range(_MANY)) + "}",
    "100,000 documents": lambda: "a: b\n---\n" * _MANY,
    "100,000 empty documents": lambda: "---\n" * _MANY,
    "300,000 comments": lambda: "# c\n" * 300_000 + "a: b",
    "comments between entries": lambda: "items:\n" + "- a: 1\n# -,\n\n" * _MANY,
    "3,000,000 numbers": lambda: "items: [{a: [" + "1," * 3_000_000 + "]}]",
    "100,000 entries": lambda: "items:\n" + "- a: 1\n" * _MANY,
    "pairs in a list": lambda: "a: [" + "a: b," * _MANY + "]",
    "merges": lambda: "b: &b {" + ",".join(f"k{each}: 1" for each in range(1000)) + "}\nx:\n" + "  <<: *b\n" * 5000,
    "a list of merges": lambda: "b: &b {a: 1}\nx:\n  <<: [" + "*b," * _MANY + "]",
    "aliases of a long text": lambda: "a: &a " + "x" * 1_000_000 + "\nb: [" + "*a," * _MANY + "]",
    "aliases as keys": lambda: "a: &a " + "x" * _MANY + "\nb:\n" + "  ? *a\n  : 1\n" * _MANY,
    "100,000 anchors": lambda: "".join(f"k{each}: &a{each} v\n" for each in range(_MANY)),
    "billion laughs": lambda: "0: &a0 [x]\n" + "".join(f"{n}: &a{n} [*a{n - 1},*a{n - 1}]\n" for n in range(1, 40)),
    "a megabyte of digits": lambda: "a: " + "9" * (1 << 20),
    "a megabyte of hexadecimal digits": lambda: "a: 0x" + "f" * (1 << 20),
    "a date and a megabyte": lambda: "a: 2001-01-01T00:00:00." + "1" * (1 << 20),
    "ten megabytes of text": lambda: "a: " + "x" * (10 << 20),
    "a text of 300,000 lines": lambda: 'a: "' + "  x\n" * 300_000 + '"',
    "4 MB of base64": lambda: "a: !!binary " + "QUFB" * 1_000_000,
    "100,000 brackets": lambda: "a: " + "[" * _MANY,
    "100,000 braces": lambda: "{a: " * _MANY,
    "100,000 dashes": lambda: "- " * _MANY,
    "100,000 questions": lambda: "? " * _MANY,
    "3,000 blocks in blocks": lambda: "\n".join(" " * each + "a:" for each in range(3000)),
    "deep JSON": lambda: _surrogates('"a": ' + "[" * _MANY + "]" * _MANY),
    "a key 100,000 times in JSON": lambda: _surrogates('"a": {' + ",".join(['"k": 1'] * _MANY) + "}"),
    "digits in JSON": lambda: _surrogates('"a": ' + "9" * 1_000_000),
    "20,000 tag prefixes": lambda: "".join(f"%TAG !t{each}! tag:x,{each}:\n" for each in range(20_000)) + "--- a",
    "100,000 tags": lambda: "".join(f"- !!int {each}\n" for each in range(_MANY)),
    "a tag of a megabyte": lambda: "a: !" + "x" * (1 << 20) + " b",
    "a key of a megabyte": lambda: "? " + "k" * (1 << 20) + "\n: v",
    "five million blanks": lambda: " " * 5_000_000,
    "five million lines": lambda: "\n" * 5_000_000 + "a: b",
    "a fault behind much": lambda: "a: b\n" * 100 + "x" * 1_000_000 + ": [\n" + "- a\n" * _MANY,
    "100,000 template actions": lambda: "a: {{ x }}\n" * _MANY,
    "100,000 quotes": lambda: '"' * _MANY,
    "100,000 zeros": lambda: "a: \0" * _MANY,
}  # fmt: skip


_QUICK: Final = ("a key 100,000 times", "1,000 objects in a line", "100,000 JSON documents")


def _read(text: str) -> tuple[int, int]:
    """How many documents, and lines of them and of their entries."""
    documents = load_documents(text, "a.yaml")
    parts = [part for document in documents for part in (document, *document.items)]
    return len(documents), sum(len(part.lines) for part in parts[:_MANY])


def _holds(text: str) -> None:
    outcome = walled(_read, text)
    assert outcome.faults == []
    assert len(outcome.err) < _MOST_TOLD


@pytest.mark.parametrize("kind", cases(_AND_FELL, _QUICK))
def test_a_document_that_took_all_is_read_or_refused(kind: str) -> None:
    _holds(_AND_FELL[kind]())


@pytest.mark.oracle
@pytest.mark.parametrize("kind", _AND_HELD)
def test_a_large_document_is_read_or_refused(kind: str) -> None:
    _holds(_AND_HELD[kind]())


def test_paths_beyond_what_they_are_worth_have_no_lines() -> None:
    lines = Lines("first: 1\n" + "".join(f"? {'k' * 1_000_000}{each}\n: v\n" for each in range(40)) + "last: 1\n", 0)
    assert "first" in lines
    assert "last" not in lines
    assert sum(map(len, lines)) < MOST_PATHS


def test_keys_of_a_manifest_that_stand_100_000_times_are_told_in_a_few_sentences(tmp_path: Path) -> None:
    head = "apiVersion: v1\nkind: Secret\nmetadata: {name: a, namespace: kube-system}\ndata:\n"
    (tmp_path / "a.yaml").write_text(head + "  k: v\n" * _MANY)
    outcome = walled_cli("validate", str(tmp_path))
    assert outcome.faults == []
    assert "duplicate keys that are not listed here: 99,979" in outcome.out
    assert len(outcome.out) < _MOST_TOLD


@pytest.mark.oracle
def test_a_profile_of_10_000_files_is_converted(tmp_path: Path) -> None:
    files = [file(f"/f{each}", "{{ .Token }}") for each in range(10_000)]
    (tmp_path / "a.yaml").write_text(json.dumps(profile(provisioningConfig={"files": files}), indent=1))
    outcome = walled_cli("osp", "convert", str(tmp_path / "a.yaml"))
    assert (outcome.code, outcome.faults) == (0, []), outcome.err[:1000]
    assert outcome.out.count("{{ Token }}") == 10_001
