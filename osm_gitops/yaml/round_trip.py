"""Edit texts in a YAML or JSON file of a user: comments, layout and all other bytes are kept.

ruamel.yaml reads a document and writes it twice, without and with the edits, in the indentation of the file. The
differences of the two are merged into the original, so the layout of ruamel.yaml does not show. JSON, which has no
comments, is written twice by Python. The result is read again and compared.

Import this module only for edits: ruamel.yaml reads 25 times slower than libyaml.
"""

from __future__ import annotations

import codecs
import copy
import io
import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import yaml
from ruamel.yaml import YAML
from ruamel.yaml.anchor import Anchor
from ruamel.yaml.emitter import Emitter
from ruamel.yaml.error import CommentMark, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode
from ruamel.yaml.tokens import CommentToken

from osm_gitops.errors import Code, InputError, input_error
from osm_gitops.yaml.emit import fits_block
from osm_gitops.yaml.jsontext import json_documents
from osm_gitops.yaml.kubernetes import MAX_DEPTH, Document, Json, load_documents
from osm_gitops.yaml.merge import keeps_lines, merge_texts
from osm_gitops.yaml.syntax import decode_text

Path = tuple[str | int, ...]

_MERGE: Final = "tag:yaml.org,2002:merge"
_TEXT: Final = "tag:yaml.org,2002:str"
_MAPPING: Final = "tag:yaml.org,2002:map"
_NULL: Final = "tag:yaml.org,2002:null"
_NOT_IN_YAML: Final = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_JSON_INDENT: Final = re.compile(r"\s*[{\[][ \t\r]*\n([ \t]+)")
_SHARED: Final = "an alias or a merge key (<<) may share them"
_WRITE_OUT: Final = "Replace the alias by its value"
_UNREAD: Final = "ruamel.yaml, which keeps the layout, cannot read and write this document"
_LAYOUT: Final = "the layout of their lines cannot be kept"
_INDENT: Final = "Indent the lines around them by two spaces per level"
MOST_VALUES: Final = 250_000
"""Limit of values in an edited document: ruamel.yaml takes some kilobytes of memory for each."""
LARGEST: Final = 4 << 20
"""Limit of characters in an edited document."""
_STEP: Final = 2
_NAMED: Final = 3
"""Limit of fields that an error names; others are counted."""


@dataclass(frozen=True, slots=True)
class Edit:
    """A new text at a path of a document, counted from 0 as :func:`load_documents` returns them.

    If the path does not exist, it is added with missing mappings; keys and text must then be plain words.
    """

    document: int
    path: Path
    text: str


def edit_texts(text: str | bytes, name: str, edits: Sequence[Edit]) -> str:
    """The file with these texts. Raises InputError if it is invalid, or its layout cannot be kept."""
    plain = decode_text(text, name)
    documents = load_documents(plain, name)
    before = [document.value for document in documents]
    wanted = copy.deepcopy(before)
    edits = [edit for edit in edits if _put(wanted[edit.document], edit.path, edit.text)]
    if plain.lstrip().startswith("{") and json_documents(plain, name, MAX_DEPTH) is not None:
        changed = _edit_json(plain, before, wanted)
    else:
        changed = _edit_yaml(plain, name, edits, documents, wanted)
    if not _holds(changed, wanted):
        raise _not_replaced(name, edits, _LAYOUT, _INDENT)
    marked = text.startswith("\ufeff") if isinstance(text, str) else text.startswith(codecs.BOM_UTF8)
    return f"\ufeff{changed}" if marked else changed


def _put(value: Json, path: Path, text: str) -> bool:
    """Set the text at ``path``; returns whether that changes the value. New keys come first."""
    *parents, last = path
    for step in parents:
        if isinstance(value, dict) and value.get(step) is None:
            _set(value, step, {})
        value = value[step]
    if not isinstance(value, dict):
        value[last] = text
        return True
    if value.get(last, text) is None and not text:
        return False  # for Kubernetes, null is an empty text
    changes = last not in value or value[last] != text
    _set(value, last, text)
    return changes


def _set(mapping: dict[str | int, Json], key: str | int, value: Json) -> None:
    if key not in mapping:
        rest = dict(mapping)
        mapping.clear()
        mapping |= {key: None, **rest}
    mapping[key] = value


def _holds(text: str, wanted: Sequence[Json]) -> bool:
    try:
        return [document.value for document in load_documents(text, "")] == list(wanted)
    except InputError:
        return False


def _not_replaced(where: str, edits: Sequence[Edit], why: str, fix: str) -> InputError:
    shown = ["".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in edit.path) for edit in edits]
    named = ", ".join(each.removeprefix(".") for each in shown[:_NAMED])
    more = f" and {len(shown) - _NAMED} more" if len(shown) > _NAMED else ""
    what = f"texts in this file cannot be replaced in place: {why}"
    return input_error(Code.YAML_EDIT_FAILED, what, where=where, fix=f"{fix}, or edit by hand: {named}{more}")


# JSON


def _edit_json(text: str, before: Sequence[Json], after: Sequence[Json]) -> str:
    """If the lines of the original cannot be kept, the file is written again: only spaces are lost."""
    found = _JSON_INDENT.match(text)
    indent = found[1] if found else None
    texts = ["".join(f"{_json(value, indent)}\n" for value in values) for values in (before, after)]
    end = "\n" if text.endswith("\n") else ""
    merged = merge_texts(texts[0], texts[1], text.removesuffix("\n") + "\n")
    if not _holds(merged, after):
        merged = texts[1]
    return merged.removesuffix("\n") + end


def _json(value: Json, indent: str | None) -> str:
    """JSON that is also YAML: characters that are line breaks or invalid in YAML are escaped."""
    text = json.dumps(value, indent=indent, ensure_ascii=False)
    return _NOT_IN_YAML.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


# YAML


def _edit_yaml(text: str, name: str, edits: Sequence[Edit], before: Sequence[Document], wanted: Sequence[Json]) -> str:
    spans = {span.line: span for span in _spans(text)}
    for index in sorted({edit.document for edit in edits}, reverse=True):
        document = before[index]
        span = spans[document.line]
        own = [edit for edit in edits if edit.document == index]
        if span.values > MOST_VALUES or span.end - span.start > LARGEST:
            what = f"of a document with more than {MOST_VALUES:,} values or {LARGEST >> 20} MiB"
            raise _not_replaced(f"{name}:{span.line}", own, f"they are {what}", "Split the document")
        part = text[span.start : span.end]
        values = (document.value, wanted[index])
        try:
            edited = _edit_document(part, (name, span.line), own, values, unindented=False)
        except InputError:
            edited = _edit_document(part, (name, span.line), own, values, unindented=True)
        text = text[: span.start] + edited + text[span.end :]
    return text


@dataclass(frozen=True, slots=True)
class _Span:
    """The place of a document: the line of its value, its start and end in the text, and its number of values."""

    line: int
    start: int
    end: int
    values: int


def _spans(text: str) -> Iterator[_Span]:
    events: Iterator[Any] = yaml.parse(text, yaml.CSafeLoader)
    for event in events:
        if isinstance(event, yaml.DocumentStartEvent):
            root = next(events).start_mark
            margin = text[root.index - root.column : root.index]
            start = root.index - (0 if margin.strip() else root.column)
            values = 1
            while not isinstance(event := next(events), yaml.DocumentEndEvent):
                values += 1
            end: Any = event.start_mark
            yield _Span(root.line + 1, start, end.index, values)


def _edit_document(
    text: str, at: tuple[str, int], edits: Sequence[Edit], values: tuple[Json, Json], *, unindented: bool
) -> str:
    """The text of a document with its edits. ``at`` is its file and line, ``values`` its data before and after.

    ``unindented``: remove the indentation of comments for ruamel.yaml, since it may add them to a block before them.
    """
    name, line = at
    end = "\r\n" if "\r\n" in text else "\n"
    original = text if text.endswith("\n") else text + end
    plain = text.replace("\r\n", "\n")
    try:
        root = _composed(plain, unindented=unindented)
        indentation = _indentation(root)
        base = _written(root, indentation)
        root = _composed(plain, unindented=unindented)  # writing consumes comments
        known: dict[int, dict[str | int, Node]] = {}
        places = [_set_text(root, edit, known) for edit in edits]
        after = _written(root, indentation)
    except YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"{name}:{line + mark.line if mark else line}"
        raise _not_replaced(where, edits, _UNREAD, "Write this line in a simpler way") from None
    if not _holds(base, [values[0]]):
        raise _not_replaced(f"{name}:{line}", edits, _UNREAD, "Write unusual texts of this document in double quotes")
    if None in places or not _holds(after, [values[1]]):
        raise _not_replaced(name, edits, _SHARED, _WRITE_OUT)
    merged = merge_texts(base, after, original)
    changing = {number for place in places if place for number in place}
    # Without a line break at the end of the file, none is added unless the last text needs it.
    candidates = [merged.removesuffix(end), merged] if text != original else [merged]
    for each in candidates:
        if _holds(each, [values[1]]) and keeps_lines(each, text, changing) and _comments(each) == _comments(text):
            return each
    raise _not_replaced(f"{name}:{line}", edits, _LAYOUT, _INDENT)


class _Emitter(Emitter):
    """Writes indentation indicators only for blocks that need them: the library's are often wrong."""

    def determine_block_hints(self, text: str) -> tuple[str, int, str]:
        hints, indent, indicator = super().determine_block_hints(text)
        if not self.mapping_context or self.root_context:
            return hints, indent, indicator
        starts_blank = text.lstrip("\n").startswith((" ", "\t"))
        digit = str(self.indent - self.indents.values[-1][0]) if starts_blank else ""
        return digit + hints.lstrip("0123456789"), indent, indicator


def _yaml() -> YAML:
    made = YAML()
    made.Emitter = _Emitter
    made.width = 1 << 30
    return made


def _composed(text: str, *, unindented: bool) -> Node:
    """The document's nodes, without parts that the library cannot write: the merge keeps them from the original."""
    root: Node = _yaml().compose(text)
    for node in _nodes(root):
        if isinstance(node.anchor, str):  # the library would rename it
            named: Any = Anchor()
            named.value, named.always_dump = node.anchor, True
            node.anchor = named
        if unindented and isinstance(node, ScalarNode) and node.comment and node.comment[0]:
            token = node.comment[0]
            token.value = "\n".join(line.lstrip(" ") for line in token.value.split("\n"))
            if node.style in {"|", ">"}:
                token.start_mark = CommentMark(0)
        for entry in node.value if isinstance(node, SequenceNode) else ():
            if isinstance(entry, ScalarNode) and entry.style in {"|", ">"} and entry.comment:
                entry.comment = [entry.comment[0], None]  # a comment behind "- |" fails
    return root


def _comments(text: str) -> Counter[str]:
    """The comments of a text: between its tokens, and after the headers of blocks."""
    found = Counter[str]()
    done = 0
    for token in yaml.scan(text, yaml.CSafeLoader):
        start, end = token.start_mark.index, token.end_mark.index
        between = text[done:start].split("\n")
        if isinstance(token, yaml.ScalarToken) and token.style in {"|", ">"}:
            between.append(text[start:end].partition("\n")[0])
        found.update("#" + line.partition("#")[2].strip() for line in between if "#" in line)
        done = max(done, end)
    return found


def _nodes(root: Node) -> Iterator[Node]:
    """Each node once, despite aliases."""
    waiting, seen = [root], {id(root)}
    while waiting:
        node = waiting.pop()
        yield node
        for each in _children(node):
            if id(each) not in seen:
                seen.add(id(each))
                waiting.append(each)


def _children(node: Node) -> list[Node]:
    if isinstance(node, MappingNode):
        return [each for pair in node.value for each in pair]
    return list(node.value) if isinstance(node, SequenceNode) else []


def _written(root: Node, indentation: tuple[int, int, int]) -> str:
    for node in _nodes(root):
        if isinstance(node, ScalarNode) and node.style == ">":  # the library's fold marks may fail
            node.value, node.style, node.comment = node.value.replace("\a", ""), '"', None
    made = _yaml()
    made.indent(*indentation)
    out = io.StringIO()
    made.serialize(root, out)
    return out.getvalue()


def _indentation(root: Node) -> tuple[int, int, int]:
    """The most frequent indentation of mappings, of entries of lists and of their dashes."""
    mappings, entries = Counter[int](), Counter[tuple[int, int]]()
    for node in _nodes(root):
        for key, value in node.value if isinstance(node, MappingNode) else ():
            if getattr(value, "flow_style", True):
                continue
            step = value.start_mark.column - key.start_mark.column
            if isinstance(value, SequenceNode):
                first = value.value[0].start_mark
                beside_dash = first.line == value.start_mark.line and value.value[0].end_mark.index > first.index
                entries[first.column - key.start_mark.column if beside_dash else step + _STEP, step] += 1
            else:
                mappings[step] += 1
    ((mapping, _),) = mappings.most_common(1) or [(_STEP, 0)]
    ((sequence, _),) = entries.most_common(1) or [((_STEP, 0), 0)]
    return mapping, *sequence


# edits of nodes


def _set_text(root: Node, edit: Edit, known: dict[int, dict[str | int, Node]]) -> range | None:
    """Set the text; returns the lines that change, or ``None`` if its node is shared.

    ``known`` caches the content of nodes: many edits pass the same mappings and lists.
    """
    parent, node, in_flow = root, root, False
    for depth, step in enumerate(edit.path):
        in_flow = in_flow or bool(getattr(node, "flow_style", False))
        below = known.get(id(node)) or known.setdefault(id(node), _below(node))
        missing = [str(each) for each in edit.path[depth:]]
        if step not in below:
            known.pop(id(node))
            return _add(node, missing, edit.text, in_flow=in_flow) if isinstance(node, MappingNode) else None
        if depth + 1 < len(edit.path) and below[step].tag == _NULL:
            known.pop(id(node))
            return _fill(node, below[step], missing[1:], edit.text)
        parent, node = node, below[step]
    if not isinstance(node, ScalarNode):
        return None
    # The library writes wrong indentation indicators for entries of lists.
    takes_block = not in_flow and not (isinstance(parent, SequenceNode) and edit.text.lstrip("\n")[:1] in {" ", "\t"})
    _restyle(node, edit.text, takes_block=takes_block, in_flow=in_flow)
    return _lines(node)


def _lines(node: Node) -> range:
    """The lines of a node in the original; empty if an edit created it."""
    if node.start_mark is None:
        return range(0)
    return range(
        node.start_mark.line,
        node.end_mark.line + (node.end_mark.column > 0 or node.end_mark.line == node.start_mark.line),
    )


def _below(node: Node) -> dict[str | int, Node]:
    """The content of a node; of duplicate keys the one that counts."""
    if isinstance(node, SequenceNode):
        return dict(enumerate(node.value))
    found: dict[str | int, Node] = {}
    for key, value in node.value if isinstance(node, MappingNode) else ():
        if key.tag != _MERGE:
            found[str(key.value)] = value
            continue
        for each in reversed(value.value if isinstance(value, SequenceNode) else [value]):
            found |= _below(each)
    return found


def _restyle(node: ScalarNode, text: str, *, takes_block: bool, in_flow: bool) -> None:
    """Keep the style of the text if possible."""
    was_block = node.style in {"|", ">"}
    behind = _comment_of(node)
    if takes_block and fits_block(text) and (was_block or ("\n" in text and not behind.startswith("#"))):
        style = "|"
    elif '"' in text and "'" not in text and text.isprintable() and not in_flow:
        style = "'"
    else:
        style = '"'
    header = node.comment[1][0] if was_block and node.comment and node.comment[1] else ""
    following = behind if was_block else behind.partition("\n")[2]
    if style == "|":
        # A block ends with a line break, and with "keep" chomping includes blank lines after it.
        _set_comment(node, following.lstrip("\n") if text.endswith("\n\n") else following, header)
    elif was_block:
        _set_comment(node, f"{header.strip()}\n{following}" if header or following else "")
    node.value, node.style, node.tag = text, style, _TEXT


def _add(node: MappingNode, keys: Sequence[str], text: str, *, in_flow: bool) -> range:
    """Add a text and missing mappings: in front in flow style, else after the last entry on a single line."""
    style = node.value[0][0].style if in_flow and node.value else None
    new = _nested(keys, text, style, in_flow=in_flow)
    short = [] if in_flow else [at for at, pair in enumerate(node.value) if _is_on_one_line(*pair)]
    place = short[-1] + 1 if short else 0
    if short and (comment := _comment_of(before := node.value[short[-1]][1])):
        # Comments after the line of the entry belong to the next one.
        own, _, following = comment.partition("\n")
        _set_comment(before, f"{own}\n" if own else "", column=before.comment[0].start_mark.column)
        _set_comment(_innermost(new), f"\n{following}" if following else "")
    node.value[place:place] = new.value
    return _lines(node) if in_flow else range(0)


def _fill(parent: Node, empty: Node, keys: Sequence[str], text: str) -> range:
    """Replace a null by a mapping."""
    filled = _nested(keys, text, None, in_flow=True)
    filled.comment, filled.anchor = empty.comment, empty.anchor
    first = parent.start_mark.line
    if isinstance(parent, MappingNode):
        first = next(key.start_mark.line for key, value in parent.value if value is empty)
        parent.value = [(key, filled if value is empty else value) for key, value in parent.value]
    else:
        parent.value = [filled if value is empty else value for value in parent.value]
    return range(first, empty.end_mark.line + 1)


def _nested(keys: Sequence[str], text: str, style: str | None, *, in_flow: bool) -> MappingNode:
    key, *inner = keys
    value = _nested(inner, text, style, in_flow=in_flow) if inner else ScalarNode(_TEXT, text, style=style)
    return MappingNode(_MAPPING, [(ScalarNode(_TEXT, key, style=style), value)], flow_style=in_flow)


def _innermost(node: Node) -> Node:
    return _innermost(node.value[-1][1]) if isinstance(node, MappingNode) else node


def _is_on_one_line(key: Node, value: Node) -> bool:
    return (
        isinstance(value, ScalarNode)
        and value.style not in {"|", ">"}
        and (value.start_mark is None or key.start_mark.line == value.start_mark.line == value.end_mark.line)
    )


def _comment_of(node: Node) -> str:
    """The comment between a node and the next: whole lines after a block, else starting in the node's line."""
    token = node.comment[0] if node.comment else None
    if token is None:
        return ""
    text: str = token.value
    is_indented = getattr(node, "style", None) in {"|", ">"} and text.startswith("#")
    return " " * token.start_mark.column + text if is_indented else text


def _set_comment(node: Node, behind: str, header: str = "", column: int = 0) -> None:
    """Set the comment ``behind`` a node (from :func:`_comment_of`), and the ``header`` of a block. ``column`` is
    that of a comment in the same line."""
    text = behind.lstrip(" ")
    token = CommentToken(text, CommentMark(max(column, len(behind) - len(text)))) if text else None
    node.comment = [token, [header] if header else None] if token or header else None
