"""Texts of a YAML or JSON file replaced in place: every other byte stays, comments and layout too.

A library that writes whole documents again would indent them its own way. So only the spans
of the values that change are written, and what came out is read again and compared.
"""

from __future__ import annotations

import codecs
import copy
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from osm_gitops.errors import Code, InputError, input_error
from osm_gitops.yaml.emit import fits_block, quoted
from osm_gitops.yaml.kubernetes import Document, Json, load_documents
from osm_gitops.yaml.syntax import decode_text

Path = tuple[str | int, ...]

_MERGE: Final = "tag:yaml.org,2002:merge"
_HEADER: Final = re.compile(r"[|>][-+0-9]*(.*)")
_PROPERTIES: Final = re.compile(r"(?:[&!]\S*\s+)*")
_NOT_IN_YAML: Final = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_STEP: Final = 2


@dataclass(frozen=True, slots=True)
class Edit:
    """A new text at a path of a document, counted from 0 as :func:`load_documents` returns them.

    Where nothing is at the path it is added to its mapping, together with mappings that are
    missing; keys and text must then be plain words.
    """

    document: int
    path: Path
    text: str


def edit_texts(text: str | bytes, name: str, edits: Sequence[Edit]) -> str:
    """The file with these texts. Raises InputError where it cannot be read, or not be written as it stands."""
    plain = decode_text(text, name)
    documents = load_documents(plain, name)
    wanted = [copy.deepcopy(document.value) for document in documents]
    edits = [edit for edit in edits if _put(wanted[edit.document], edit.path, edit.text)]
    changed = _in_place(plain, documents, edits)
    if changed is None and plain.lstrip().startswith("{"):
        changed = "".join(_json(value, indent=2) + "\n" for value in wanted)
    if changed is None or not _holds(changed, wanted):
        raise input_error(
            Code.UNCODED,
            "texts in this file cannot be replaced where they stand: an alias or a merge key (<<) may share them",
            where=name,
            fix="Write out what the alias stands for",
        )
    marked = text.startswith("\ufeff") if isinstance(text, str) else text.startswith(codecs.BOM_UTF8)
    return f"\ufeff{changed}" if marked else changed


def _json(value: Json, indent: int | None = None) -> str:
    """JSON that is YAML too: what YAML would take for a line break, or refuse, is escaped."""
    text = json.dumps(value, indent=indent, ensure_ascii=False)
    return _NOT_IN_YAML.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _put(value: Json, path: Path, text: str) -> bool:
    """Set the text at ``path``; whether that changes anything."""
    *parents, last = path
    for step in parents:
        if isinstance(value, dict) and value.get(step) is None:
            value[step] = {}
        value = value[step]
    if isinstance(value, dict) and value.get(last, text) is None and not text:
        return False  # Kubernetes takes nothing there for the empty text
    changes = not isinstance(value, dict) or value.get(last) != text
    value[last] = text
    return changes


def _holds(text: str, wanted: Sequence[Json]) -> bool:
    try:
        return [document.value for document in load_documents(text, "")] == list(wanted)
    except InputError:
        return False


def _in_place(text: str, documents: Sequence[Document], edits: Sequence[Edit]) -> str | None:
    """``None`` where libyaml cannot read the text, which then is JSON, or a value has no place of its own."""
    try:
        roots = {node.start_mark.line + 1: node for node in yaml.compose_all(text, yaml.CSafeLoader)}
    except yaml.YAMLError:
        return None
    writer = _Writer(text)
    for edit in edits:
        root = roots.get(documents[edit.document].line)
        if not isinstance(root, MappingNode) or not writer.edit(root, edit.path, edit.text):
            return None
    return writer.result()


@dataclass(frozen=True, slots=True)
class _Place:
    """A node with what its text depends on: the column of its key, and whether brackets are around it."""

    node: Node
    column: int
    in_flow: bool

    def below(self) -> dict[str | int, _Place]:
        """What is inside of it; of a key that stands several times the one that counts."""
        node, found = self.node, dict[str | int, _Place]()
        in_flow = self.in_flow or bool(getattr(node, "flow_style", False))
        if isinstance(node, SequenceNode):
            return {at: _Place(each, each.start_mark.column, in_flow) for at, each in enumerate(node.value)}
        for key, value in node.value if isinstance(node, MappingNode) else ():
            place = _Place(value, key.start_mark.column, in_flow)
            if key.tag != _MERGE:
                found[str(key.value)] = place
                continue
            merged = list(place.below().values()) if isinstance(value, SequenceNode) else [place]
            for each in reversed(merged):
                found |= each.below()
        return found


@dataclass(slots=True)
class _Writer:
    """Changes by the span of the text that they replace, and the texts that these mean."""

    text: str
    changes: dict[tuple[int, int], str] = field(default_factory=dict)
    texts: dict[tuple[int, int], str] = field(default_factory=dict)
    found: dict[tuple[int, int, bool], dict[str | int, _Place]] = field(default_factory=dict)
    line_end: str = ""

    def below(self, place: _Place) -> dict[str | int, _Place]:
        """What is inside of a place, looked for once: many edits go through the same mappings and lists."""
        key = (id(place.node), place.column, place.in_flow)
        if key not in self.found:
            self.found[key] = place.below()
        return self.found[key]

    def edit(self, root: Node, path: Path, text: str) -> bool:
        """Whether the text at ``path`` can be set: it has a place, and nothing else was set there."""
        place = _Place(root, 0, in_flow=False)
        for depth, step in enumerate(path):
            below = self.below(place)
            if step not in below:
                return self.add(place, [str(each) for each in path[depth:]], text)
            place = below[step]
        if not isinstance(place.node, ScalarNode):
            return False
        span = (place.node.start_mark.index, place.node.end_mark.index)
        if span not in self.changes:
            self.changes[span] = self.scalar(place, self.text[slice(*span)], text)
            self.texts[span] = text
        return self.texts.get(span) == text

    def insert(self, span: tuple[int, int], text: str) -> bool:
        return self.changes.setdefault(span, text) == text

    def result(self) -> str:
        parts: list[str] = []
        position = 0
        for (start, end), text in sorted(self.changes.items()):
            parts += (self.text[position:start], text)
            position = end
        parts.append(self.text[position:])
        return "".join(parts)

    # texts that are there

    def scalar(self, place: _Place, raw: str, text: str) -> str:
        """The text in the style of ``raw`` as far as it takes it; an anchor stays, a tag does not."""
        properties = _PROPERTIES.match(raw)
        before = raw[: properties.end()] if properties else ""
        raw = raw.removeprefix(before)
        anchor = "".join(f"{each} " for each in before.split() if each.startswith("&"))
        if place.in_flow:
            return anchor + _json(text)
        is_block = raw[:1] in ("|", ">")
        alone = is_block or ("\n" in text and self.ends_line(place.node.end_mark.index))
        end = self.newline() if is_block else ""
        if alone and fits_block(text):
            # The last line of a file may lack the line end that the block's own last line needs.
            end = end or ("" if self.text.find("\n", place.node.end_mark.index) >= 0 else self.newline())
            return anchor + self.block(place.column, raw if is_block else "|", text) + end
        if '"' in text and "'" not in text and text.isprintable():
            return f"{anchor}'{text}'{end}"
        return anchor + quoted(text) + end

    def ends_line(self, position: int) -> bool:
        end = self.text.find("\n", position)
        return not self.text[position : end if end >= 0 else len(self.text)].strip()

    def block(self, column: int, raw: str, text: str) -> str:
        """A literal block in the place of ``raw``, at the same indentation and with the same blank lines behind."""
        header, *lines = raw.split("\n")
        match = _HEADER.match(header)
        comment = match[1].rstrip() if match else ""
        margin = self.margin(column, header, lines)
        starts_blank = text.lstrip("\n").startswith((" ", "\t"))
        digit = str(margin - column) if starts_blank else ""
        chomping = "-" if not text.endswith("\n") else "+" if text.endswith("\n\n") else ""
        behind = 0
        if chomping != "+" and "+" not in header:
            behind = len(lines) - len("\n".join(lines).rstrip().split("\n")) - 1 if lines else 0
        body = [" " * margin + line if line else "" for line in text.removesuffix("\n").split("\n")]
        written = [f"|{digit}{chomping}{comment}", *body, *[""] * max(behind, 0)]
        return self.newline().join(written)

    def margin(self, column: int, header: str, lines: Sequence[str]) -> int:
        """The indentation of a block's lines."""
        digits = re.search(r"\d", header[:3])
        if digits:
            return column + int(digits[0])
        first = next((line for line in lines if line.strip()), "")
        return len(first) - len(first.lstrip(" ")) if first else column + _STEP

    def newline(self) -> str:
        if not self.line_end:
            self.line_end = "\r\n" if "\r\n" in self.text else "\n"
        return self.line_end

    # texts that are not there yet

    def add(self, place: _Place, keys: Sequence[str], text: str) -> bool:
        """Add a text, and the mappings around it that are missing, to the mapping at ``place``."""
        node = place.node
        if isinstance(node, ScalarNode) and node.tag.endswith(":null"):
            span = (node.start_mark.index, node.end_mark.index)
            blank = " " if self.text[span[0] - 1 : span[0]] == ":" else ""
            return self.insert(span, blank + _flow(keys, text, in_json=place.in_flow))
        if not isinstance(node, MappingNode):
            return False
        if place.in_flow or node.flow_style:
            return self.add_to_flow(node, keys, text)
        return self.add_to_block(node, keys, text)

    def add_to_flow(self, node: MappingNode, keys: Sequence[str], text: str) -> bool:
        start = node.start_mark.index + 1
        entry = _flow(keys, text, in_json=self.text[start:].lstrip().startswith('"'))[1:-1]
        if not node.value:
            return self.insert((start, start), entry)
        first = node.value[0][0].start_mark.index
        gap = self.text[start:first]
        return self.insert((first, first), f"{entry},{gap or ' '}")

    def add_to_block(self, node: MappingNode, keys: Sequence[str], text: str) -> bool:
        """On lines of its own, behind the last entry of a single line."""
        column = node.value[0][0].start_mark.column
        depth = enumerate(keys)
        lines = [f"{' ' * (column + _STEP * at)}{key}:" for at, key in depth]
        added = self.newline().join(lines) + f" {text}"
        short = [value for key, value in node.value if _is_on_one_line(key, value)]
        if not short:
            first = node.value[0][0].start_mark.index
            return self.insert((first, first), added.lstrip() + self.newline() + " " * column)
        end = short[-1].end_mark.index
        end += len(self.text[end:].partition("\n")[0].rstrip("\r"))
        return self.insert((end, end), self.newline() + added)


def _is_on_one_line(key: Node, value: Node) -> bool:
    return (
        isinstance(value, ScalarNode)
        and value.style not in ("|", ">")
        and (key.start_mark.line == value.start_mark.line == value.end_mark.line)
    )


def _flow(keys: Sequence[str], text: str, *, in_json: bool) -> str:
    *names, value = (json.dumps(each) if in_json else each for each in (*keys, text))
    return "".join(f"{{{name}: " for name in names) + value + "}" * len(names)
