"""Read YAML and JSON as Kubernetes does: yaml.v2's scalars, then JSON (osm-behaviour.md, "Kinds and shared types").

libyaml scans and parses. Its events are converted here in one pass, since a fleet has 10,000 documents. Lines are
computed in a second pass, only on demand.
"""

from __future__ import annotations

import copy
import re
from dataclasses import dataclass, field
from functools import lru_cache
from math import isinf, isnan
from sys import intern
from typing import Any, Final, NoReturn

import yaml
from yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)

from osm_gitops.errors import Code, InputError, Problem, input_error
from osm_gitops.gocompat.basetext import decode_base64
from osm_gitops.gocompat.numbers import format_float
from osm_gitops.gocompat.text import from_bytes, runes
from osm_gitops.gocompat.yaml3 import BOOL, FLOAT, INTEGER, NULL, OLD_BOOLS, TIMESTAMP, resolve
from osm_gitops.yaml.canonical import SharedEntries, read_canonical
from osm_gitops.yaml.jsontext import json_documents, whole
from osm_gitops.yaml.lines import Lines
from osm_gitops.yaml.syntax import TEMPLATE_HINT, decode_text, line_text, syntax_problem

Json = Any

MAX_DEPTH: Final = 100
MAX_REPEATED: Final = 200_000
"""Limit of values that the aliases of a document may repeat; 16 characters of text count as one value."""
MOST_DUPLICATES: Final = 20
"""Limit of duplicate keys that are reported; others are counted."""

_SHORT: Final = 48
_SEPARATOR: Final = "---\n"
_COMMENTS: Final = re.compile(r"(?:#[ -~]*\n)+")
_TOO_DEEP: Final = f"lists and mappings are nested more than {MAX_DEPTH} deep"
_MERGE: Final = "tag:yaml.org,2002:merge"
_BINARY: Final = "tag:yaml.org,2002:binary"
_FLOAT: Final = "tag:yaml.org,2002:float"
_TYPED_TAGS: Final[dict[str, frozenset[str]]] = {
    "tag:yaml.org,2002:int": frozenset({INTEGER}),
    _FLOAT: frozenset({INTEGER, FLOAT}),
    "tag:yaml.org,2002:bool": frozenset({BOOL}),
    "tag:yaml.org,2002:null": frozenset({NULL}),
    "tag:yaml.org,2002:timestamp": frozenset({TIMESTAMP}),
}
_NOT_TEXT: Final = frozenset("+-.0123456789~NntTfF") | {word[0] for word in OLD_BOOLS}
"""First characters of plain scalars that may not be texts."""


@dataclass(frozen=True, slots=True)
class Document:
    """One document, or one entry of its list ``items``.

    ``value`` is JSON, ``line`` (1-based) its first line. ``lines`` maps field paths (``spec.files[0].path``) to lines,
    computed on first use. ``items`` are the entries of a top-level list of that name, so that each object of a ``List``
    has its line.
    """

    value: Json
    line: int
    lines: Lines
    items: tuple[Document, ...] = ()


def load_documents(text: str | bytes, name: str, shared: SharedEntries | None = None) -> list[Document]:
    """Read all documents of a YAML or JSON text; empty ones are left out.

    ``name`` is the file in errors. With ``shared``, texts may have the same objects as entries of lists.
    Raises InputError with the duplicate keys (at most :data:`MOST_DUPLICATES`, and the number of others), or with the
    first other fault: invalid YAML or UTF-8, keys that are not scalars, infinite numbers, nesting deeper than
    :data:`MAX_DEPTH`, too many repeated values of aliases.
    """
    plain = decode_text(text, name)
    canonical = _canonical_documents(plain, shared)
    if canonical is not None:
        return canonical
    # A line end in YAML and a character in JSON, as which kubectl and sops read and write a text that begins like this.
    if "\x85" in plain and (documents := _json_documents(plain, name)) is not None:
        return documents
    try:
        return _Reader(plain, name).documents()
    except yaml.YAMLError as error:
        documents = _json_documents(plain, name)
        if documents is not None:
            return documents
        raise InputError([syntax_problem(error, plain, name)]) from None


def _json_documents(text: str, name: str) -> list[Document] | None:
    """The documents of a text that is JSON, without the lines of their fields; ``None`` for any other."""
    values = json_documents(text, name, MAX_DEPTH) if text.lstrip().startswith("{") else None
    return None if values is None else [Document(value, line, Lines("", 0)) for value, line in values]


def _canonical_documents(text: str, shared: SharedEntries | None) -> list[Document] | None:
    """All documents if each has the canonical form, in which no text can have a line ``---``. Comments may come before
    the first."""
    alone = _canonical_document(text, 0, shared)
    if alone is not None:
        return [alone]
    parts = text.removeprefix(_SEPARATOR).split("\n" + _SEPARATOR)
    if len(parts) == 1:
        return None
    found: list[Document] = []
    line = int(text.startswith(_SEPARATOR))  # lines before the part
    for number, part in enumerate(parts, start=1):
        whole_part = part if number == len(parts) else part + "\n"
        document = _canonical_document(whole_part, line, shared)
        if document is not None:
            found.append(document)
        elif number > 1 or not _COMMENTS.fullmatch(whole_part):
            return None
        line += whole_part.count("\n") + 1
    return found


def _canonical_document(text: str, line: int, shared: SharedEntries | None) -> Document | None:
    """The only document of a text, which begins after so many lines of its file."""
    canonical = read_canonical(text, shared)
    if canonical is None:
        return None
    value, start = canonical
    before = line + text.count("\n", 0, start)
    return Document(value, before + 1, Lines(text[start:], before))


def load_manifest(text: bytes, name: str, shared: SharedEntries | None = None) -> dict[str, Json]:
    """The mapping that is the only document of a text. Raises InputError as :func:`load_documents`, and for anything
    else."""
    documents = load_documents(text, name, shared)
    if len(documents) != 1 or not isinstance(documents[0].value, dict):
        raise input_error(Code.MANIFEST_UNREADABLE, "it is not a single manifest", where=name)
    return documents[0].value


@dataclass(frozen=True, slots=True)
class _Anchored:
    value: Json
    weight: int
    height: int = 0


_OPEN: Final = _Anchored(None, 0)


@dataclass(slots=True)
class _Reader:
    """Builds JSON from the events of one text."""

    text: str
    name: str
    anchors: dict[str, _Anchored] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    unnamed: int = 0
    items: list[Document] = field(default_factory=list)
    weight: int = 0
    repeated: int = 0
    deepest: int = 0
    next: Any = None

    def documents(self) -> list[Document]:
        self.next = yaml.CSafeLoader(self.text).get_event
        found: list[Document] = []
        while True:
            event = self.next()
            kind = event.__class__
            if kind is StreamEndEvent:
                break
            if kind is DocumentStartEvent:
                document = self.document()
                if document.value is not None:
                    found.append(document)
        if self.unnamed:
            self.problems.append(
                Problem(
                    Code.DUPLICATE_KEY, f"duplicate keys that are not listed here: {self.unnamed:,}", where=self.name
                )
            )
        if self.problems:
            raise InputError(self.problems)
        return found

    def document(self) -> Document:
        self.anchors, self.items = {}, []
        self.weight = self.repeated = self.deepest = 0
        root = self.next()
        value = self.node(root, 0)
        end = self.next()
        return self.part(value, root, end.start_mark.index, tuple(self.items))

    def part(self, value: Json, start: Any, end: int, items: tuple[Document, ...] = ()) -> Document:
        """A document or entry. Spaces replace the columns before it in block style, where columns have a meaning; in
        flow style they have none, and a line with many entries would need many spaces.
        """
        mark = start.start_mark
        text = self.text[mark.index : end]
        if getattr(start, "flow_style", True) is False:
            text = " " * mark.column + text
        return Document(value, mark.line + 1, Lines(text, mark.line), items)

    def node(self, event: Any, depth: int) -> Json:
        kind = event.__class__
        if kind is ScalarEvent:
            self.weight += 1 + (len(event.value) >> 4)
            value = self.scalar(event)
            if event.anchor:
                self.anchors[event.anchor] = _Anchored(value, 1 + (len(event.value) >> 4))
            return value
        if kind is AliasEvent:
            return self.alias(event, depth)
        return self.collection(event, depth)

    def collection(self, event: Any, depth: int) -> Json:
        if depth >= MAX_DEPTH:
            self.refuse(event, _TOO_DEEP, code=Code.YAML_TOO_COMPLEX)
        build = self.mapping if event.__class__ is MappingStartEvent else self.sequence
        self.weight += 1
        if not event.anchor:
            self.deepest = max(self.deepest, depth + 1)
            return build(depth + 1)
        weight, deepest = self.weight, self.deepest
        self.deepest = depth + 1
        self.anchors[event.anchor] = _OPEN
        value = build(depth + 1)
        self.anchors[event.anchor] = _Anchored(value, 1 + self.weight - weight, self.deepest - depth)
        self.deepest = max(self.deepest, deepest)
        return value

    def mapping(self, depth: int) -> dict[str, Json]:
        result: dict[str, Json] = {}
        seen: dict[str, int] = {}
        while True:
            event = self.next()
            if event.__class__ is MappingEndEvent:
                return result
            if event.__class__ is ScalarEvent and event.value == "<<" and (event.implicit[0] or event.tag == _MERGE):
                self.merge(result, self.next(), depth)
                continue
            key = self.key(event)
            if key in seen:
                self.duplicate(key, seen[key], event)
            seen[key] = event.start_mark.line
            following = self.next()
            if depth == 1 and key == "items" and following.__class__ is SequenceStartEvent:
                result[key] = self.listed(following)
            else:
                result[key] = self.node(following, depth)

    def sequence(self, depth: int) -> list[Json]:
        result: list[Json] = []
        while True:
            event = self.next()
            if event.__class__ is SequenceEndEvent:
                return result
            result.append(self.node(event, depth))

    def listed(self, start: Any) -> list[Json]:
        """The list ``items`` of a document, whose entries become documents."""
        before = self.weight
        self.deepest = max(self.deepest, 2)
        if start.anchor:
            self.anchors[start.anchor] = _OPEN
        values: list[Json] = []
        last: Any = None
        while True:
            event = self.next()
            index = event.start_mark.index
            closed = event.__class__ is SequenceEndEvent
            if last is not None:
                self.items.append(self.part(values[-1], last, index if closed else self.before_dash(last, index)))
            if closed:
                break
            last = event
            values.append(self.node(event, 2))
        if start.anchor:
            self.anchors[start.anchor] = _Anchored(values, self.weight - before, self.deepest - 1)
        return values

    def before_dash(self, entry: Any, index: int) -> int:
        """The end of an entry: before the dash (or comma) of the next one, at ``index``."""
        start: int = entry.start_mark.index
        return max(self.text.rfind("-", start, index), self.text.rfind(",", start, index), start)

    def merge(self, into: dict[str, Json], event: Any, depth: int) -> None:
        """yaml.v2's merge: it replaces earlier keys; of a list, the first mapping wins."""
        value = self.node(event, depth)
        sources = value if isinstance(value, list) else [value]
        for source in reversed(sources):
            if not isinstance(source, dict):
                self.refuse(event, "a merge key (<<) takes a mapping or a list of mappings")
            into.update(source)

    def alias(self, event: Any, depth: int) -> Json:
        anchored = self.anchors.get(event.anchor)
        if anchored is None:
            what = "a text that starts with * is an alias, and there is no anchor of this name before it"
            self.refuse(event, what, "Quote it")
        if anchored is _OPEN:
            self.refuse(event, "an alias is inside of its own anchor")
        if depth + anchored.height > MAX_DEPTH:
            self.refuse(event, _TOO_DEEP, code=Code.YAML_TOO_COMPLEX)
        self.deepest = max(self.deepest, depth + anchored.height)
        self.weight += anchored.weight
        self.repeated += anchored.weight
        if self.repeated > MAX_REPEATED:
            what = f"aliases repeat more than {MAX_REPEATED} values in this document"
            self.refuse(event, what, code=Code.YAML_TOO_COMPLEX)
        return copy.deepcopy(anchored.value) if isinstance(anchored.value, dict | list) else anchored.value

    def scalar(self, event: Any) -> Json:
        text: str = event.value
        if event.tag is None:
            if not event.implicit[0]:
                return text
            if text and text[0] not in _NOT_TEXT:
                return intern(text) if len(text) < _SHORT else text
            value = _plain(text)
        else:
            value = self.tagged(event, text)
        if value.__class__ is float:
            try:
                return whole(value)
            except ValueError:
                self.refuse(event, "JSON has no infinite numbers and no NaN", "Write a number, or quote it")
        return value

    def tagged(self, event: Any, text: str) -> Json:
        if event.tag == _BINARY:
            data = decode_base64(text)
            if data is None:
                self.refuse(event, "the value tagged !!binary is not base64")
            return runes(from_bytes(data))
        wanted = _TYPED_TAGS.get(event.tag)
        if wanted is None:
            return text
        tag, value = resolve(text, old=True)
        if tag not in wanted:
            self.refuse(event, f"the value does not fit its tag !!{event.tag.rpartition(':')[2]}")
        if tag == INTEGER and event.tag == _FLOAT:
            return float(value)
        return text if tag == TIMESTAMP else value

    def key(self, event: Any) -> str:
        if event.__class__ is ScalarEvent:
            text: str = event.value
            if event.tag is None and (not event.implicit[0] or (text and text[0] not in _NOT_TEXT)):
                value: Json = text
            else:
                value = self.tagged(event, text) if event.tag else _plain(text)
            if event.anchor:
                self.anchors[event.anchor] = _Anchored(value, 1)
        elif event.__class__ is AliasEvent:
            value = self.alias(event, 0)
        else:
            value = {}
        if isinstance(value, str):
            return intern(value)
        return _key_text(value) or self.no_key(event, value)

    def no_key(self, event: Any, value: Json) -> NoReturn:
        if isinstance(value, dict | list):
            templated = "{{" in line_text(self.text, event.start_mark.line)
            what = "a mapping or a list is used as a key"
            self.refuse(event, what, TEMPLATE_HINT if templated else "")
        self.refuse(event, "null and numbers beyond 64 bits cannot be keys", "Quote the key")

    def duplicate(self, key: str, first: int, event: Any) -> None:
        if len(self.problems) == MOST_DUPLICATES:
            self.unnamed += 1
            return
        line = event.start_mark.line + 1
        shown = f" {key}" if len(key) <= 200 and key.isprintable() else ""
        self.problems.append(
            Problem(
                Code.DUPLICATE_KEY,
                f"duplicate key{shown} in this mapping, in line {first + 1} and in line {line}",
                where=f"{self.name}:{line}",
                fix="Remove one of them",
            )
        )

    def refuse(self, event: Any, what: str, fix: str = "", *, code: Code = Code.YAML_VALUE) -> NoReturn:
        raise input_error(code, what, where=f"{self.name}:{event.start_mark.line + 1}", fix=fix)


@lru_cache(maxsize=4096)
def _plain(text: str) -> Json:
    try:
        tag, value = resolve(text, old=True)
    except ValueError:  # thousands of digits: beyond all numbers of Go
        return text
    return text if tag == TIMESTAMP else value


def _key_text(value: Json) -> str:
    """A scalar that is not a string as a JSON key; empty if the loader does not support it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value) if value < 1 << 63 else ""
    if isinstance(value, float):
        if isnan(value):
            return ".nan"
        if isinf(value):
            return ".inf" if value > 0 else "-.inf"
        return format_float(value, "g", -1, 32)
    return ""
