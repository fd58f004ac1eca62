"""YAML text as ``gopkg.in/yaml.v3`` reads it into Go maps and slices (osm-behaviour.md, "Template functions").

libyaml scans and parses, as its Go port does in yaml.v3. What the nodes mean is decided here, and what Go says about
text that is no YAML.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import yaml

from osm_gitops.gocompat.fault import GoError
from osm_gitops.gocompat.numbers import quote
from osm_gitops.gocompat.text import from_bytes, has_invalid
from osm_gitops.gocompat.yaml3 import FLOAT, INTEGER, STRING, resolve

_OWN_WORDS: Final = frozenset(
    {
        "found unexpected ':'",
        "did not find expected whitespace or line break",
        "did not find expected tag URI",
        "found unknown escape character",
        "did not find expected <document start>",
    }
)
_READ_AT_ONCE: Final = 500
_STALE_KEY: Final = "could not find expected ':'"


MAX_DEPTH: Final = 100
_SUSPICIOUS: Final = re.compile("[?!]")


class UnsupportedYaml(GoError):
    """Go gives up too, but its words are not known here; or Go reads what is refused here (exotic syntax, bounds)."""


def check_brackets(text: str) -> None:
    """Raise :class:`UnsupportedYaml` for what Go's scanner reads in its own way inside of ``[]`` and ``{}``.

    A question mark ends a plain text there, and a comma is a part of a tag.
    """
    if not _SUSPICIOUS.search(text) or ("[" not in text and "{" not in text):
        return
    try:
        for token, depth in _tokens(text):
            if depth and _is_odd(token, text):
                line = token.start_mark.line + 1
                raise UnsupportedYaml(
                    f"no YAML text: `?` or a tag between brackets in line {line}; put the text into quotes"
                )
    except yaml.YAMLError:
        return


def _tokens(text: str) -> Iterator[tuple[yaml.Token, int]]:
    """All tokens, each with the number of brackets around it; deep nesting would take libyaml hours."""
    depth = 0
    for token in yaml.scan(text, Loader=yaml.CSafeLoader):
        if isinstance(token, (yaml.FlowSequenceStartToken, yaml.FlowMappingStartToken)):
            depth += 1
            if depth > MAX_DEPTH:
                raise UnsupportedYaml(f"yaml: nested more than {MAX_DEPTH} deep")
        elif isinstance(token, (yaml.FlowSequenceEndToken, yaml.FlowMappingEndToken)):
            depth -= 1
        yield token, depth


def _is_odd(token: yaml.Token, text: str) -> bool:
    start, end = token.start_mark.index, token.end_mark.index
    if isinstance(token, yaml.ScalarToken):
        return token.plain and "?" in token.value
    if isinstance(token, yaml.KeyToken):
        return text[start : start + 1] == "?" and not text[start + 1 : start + 2].isspace()
    return isinstance(token, yaml.TagToken) and not text[end : end + 1].isspace()


def go_message(error: yaml.YAMLError, text: str) -> str:
    """The text of Go's error for the same document; empty where it is not known."""
    if isinstance(error, yaml.reader.ReaderError) and len(text.encode()) <= _READ_AT_ONCE:
        return f"yaml: {error.reason}"
    if not isinstance(error, yaml.MarkedYAMLError) or error.problem in _OWN_WORDS or "%YAML" in text:
        return ""
    in_scanner = isinstance(error, yaml.scanner.ScannerError)
    if error.problem == _STALE_KEY:
        rest = text[error.problem_mark.index :] if error.problem_mark else ""
    else:
        rest = "" if in_scanner else text
    if "?" in text or not scans(rest):
        return ""  # Go scans a little further than libyaml does, and may fail on what comes there
    marks = (mark.line for mark in (error.context_mark, error.problem_mark) if mark and mark.line)
    line = next(marks, 0)
    place = f"line {line + in_scanner}: " if line else ""
    return f"yaml: {place}{error.problem}"


def sentence(error: yaml.YAMLError) -> str:
    """What is wrong with the text, in one line."""
    if not isinstance(error, yaml.MarkedYAMLError):
        return str(error).splitlines()[0]
    place = f" in line {error.problem_mark.line + 1}" if error.problem_mark else ""
    return f"{error.problem}{place}"


def scans(text: str) -> bool:
    """Whether the whole text consists of tokens."""
    try:
        for _ in _tokens(text):
            pass
    except (yaml.YAMLError, UnsupportedYaml):
        return False
    return True


MAX_NODES: Final = 1_000_000
MAX_ERRORS: Final = 100_000
MAP: Final = "map[string]interface {}"
LIST: Final = "[]interface {}"
ANY: Final = "interface {}"

_MAP_TAG: Final = "!!map"
_LIST_TAG: Final = "!!seq"
_BINARY: Final = "!!binary"
_MERGE: Final = "!!merge"
_LONG: Final = "tag:yaml.org,2002:"
_RESOLVABLE: Final = frozenset({"!!str", "!!bool", "!!int", "!!float", "!!null", "!!timestamp"})
_LEFT_OUT: Final = object()
_MARK_IN_TEXT: Final = re.compile("[\r\n\x85\u2028\u2029]\ufeff")
_FEW_NODES: Final = 400_000
_MANY_NODES: Final = 4_000_000


class AnyKeys(dict[Any, Any]):
    """A map with keys that are not all strings: ``map[interface {}]interface {}``; ``kinds`` are their types."""

    def __init__(self) -> None:
        super().__init__()
        self.kinds: dict[Any, type] = {}


@dataclass(slots=True)
class Loaded:
    """A decoded document.

    ``present`` is false where the text holds none; ``errors`` are Go's complaints about parts that it left out of
    ``value``.
    """

    value: Any = None
    errors: list[str] = field(default_factory=list)
    present: bool = True

    @property
    def message(self) -> str:
        """Go's error text; empty if there is none."""
        return "yaml: unmarshal errors:\n  " + "\n  ".join(self.errors) if self.errors else ""


def load_v3(text: str, into: str = ANY) -> Loaded:
    """``yaml.Unmarshal`` of the first document into a Go value of type ``into``: MAP, LIST or ANY.

    Values are plain data, :class:`AnyKeys`, and :class:`~osm_gitops.gocompat.times.Moment`. Raises GoError with Go's
    text where the document cannot be parsed, and :class:`UnsupportedYaml` where Go's text is not known: some syntax
    errors, a tag that does not fit, aliases without end; also for documents nested deeper than :data:`MAX_DEPTH` or
    with more than :data:`MAX_NODES` values.
    """
    if has_invalid(text):
        raise UnsupportedYaml("yaml: the text is no UTF-8")
    if _MARK_IN_TEXT.search(text):
        raise UnsupportedYaml("yaml: a byte order mark (U+FEFF) at the start of a line")
    root = _compose(text)
    if root is None:
        return Loaded(present=False)
    decoder = _Decoder()
    value = decoder.decode(root, into)
    return Loaded(None if value is _LEFT_OUT else value, decoder.errors)


@dataclass(slots=True, eq=False)
class _Node:
    """A node of the document; ``content`` of a map has keys and values in turn."""

    kind: str
    tag: str
    line: int
    text: str = ""
    content: list[_Node] = field(default_factory=list)
    target: _Node | None = None

    @property
    def meant(self) -> _Node:
        return self.target or self


def _compose(text: str) -> _Node | None:
    """The nodes of the first document."""
    check_brackets(text)
    loader = yaml.CSafeLoader(text)
    try:
        return _compose_document(loader)
    except yaml.YAMLError as error:
        message = go_message(error, text)
        if message:
            raise GoError(message) from None
        raise UnsupportedYaml(f"no YAML text: {sentence(error)}") from None
    except UnsupportedYaml:
        raise
    except GoError as error:
        if scans(text):
            raise
        raise UnsupportedYaml(str(error)) from None  # Go may have failed on what it scans ahead
    finally:
        loader.dispose()


def _compose_document(loader: Any) -> _Node | None:
    loader.get_event()
    if loader.check_event(yaml.StreamEndEvent):
        return None
    if loader.get_event().version not in {None, (1, 1)}:
        raise GoError("yaml: found incompatible YAML document")
    root = _compose_node(loader)
    loader.get_event()
    _look_behind(loader)
    return root


def _look_behind(loader: Any) -> None:
    """Go reads one token after the first document, and fails if it is invalid.

    It passes over what is a token but starts no document; such a text is an error here.
    """
    if not loader.check_event(yaml.DocumentStartEvent):
        return
    loader.get_event()
    try:
        loader.check_event()
    except yaml.parser.ParserError:
        return


def _compose_node(loader: Any) -> _Node:
    anchors: dict[str, _Node] = {}
    top = _Node("document", "", 0)
    open_nodes = [top]
    while len(open_nodes) > 1 or not top.content:
        event = loader.get_event()
        if isinstance(event, yaml.CollectionEndEvent):
            open_nodes.pop()
            continue
        node = _alias(event, anchors) if isinstance(event, yaml.AliasEvent) else _new_node(event)
        open_nodes[-1].content.append(node)
        if node.kind != "alias" and event.anchor:
            anchors[event.anchor] = node
        if node.kind in {"map", "list"}:
            open_nodes.append(node)
            if len(open_nodes) > MAX_DEPTH:
                raise UnsupportedYaml(f"yaml: nested more than {MAX_DEPTH} deep")
    return top.content[0]


def _alias(event: Any, anchors: dict[str, _Node]) -> _Node:
    target = anchors.get(event.anchor)
    if target is None:
        raise GoError(f"yaml: unknown anchor '{event.anchor}' referenced")
    return _Node("alias", "", event.start_mark.line + 1, event.anchor, target=target)


def _new_node(event: Any) -> _Node:
    line = event.start_mark.line + 1
    tag = event.tag if event.tag and event.tag != "!" else ""
    if tag.startswith(_LONG):
        tag = "!!" + tag.removeprefix(_LONG)
    if isinstance(event, yaml.MappingStartEvent):
        return _Node("map", tag or _MAP_TAG, line)
    if isinstance(event, yaml.SequenceStartEvent):
        return _Node("list", tag or _LIST_TAG, line)
    if not tag:
        tag = STRING if event.style else _MERGE if event.value == "<<" else resolve(event.value)[0]
    return _Node("scalar", tag, line, event.value)


class _Decoder:
    """One Unmarshal: what it complained about, and how much aliases made of the document."""

    __slots__ = ("depth", "errors", "nodes", "nodes_of_aliases", "open_aliases", "size")

    def __init__(self) -> None:
        self.errors: list[str] = []
        self.size = 0
        self.open_aliases: set[int] = set()
        self.nodes = 0
        self.nodes_of_aliases = 0
        self.depth = 0

    def decode(self, node: _Node, into: str) -> Any:
        """The value of ``node`` as a Go value of type ``into``, or ``_LEFT_OUT``."""
        self.count()
        if node.target:
            return self.alias(node, node.target, into)
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise UnsupportedYaml(f"yaml: nested more than {MAX_DEPTH} deep")
        try:
            if node.kind == "map":
                return self.map(node, into)
            return self.list(node, into) if node.kind == "list" else self.scalar(node, into)
        finally:
            self.depth -= 1

    def count(self) -> None:
        self.nodes += 1
        if self.nodes > MAX_NODES:
            raise UnsupportedYaml(f"yaml: more than {MAX_NODES} values")
        if self.open_aliases:
            self.nodes_of_aliases += 1
            if self.nodes_of_aliases > 100 and self.nodes > 1000:
                beyond = min(max(self.nodes - _FEW_NODES, 0) / (_MANY_NODES - _FEW_NODES), 1)
                if self.nodes_of_aliases / self.nodes > 0.99 - 0.89 * beyond:
                    raise UnsupportedYaml("yaml: document contains excessive aliasing")

    def alias(self, node: _Node, target: _Node, into: str) -> Any:
        if id(node) in self.open_aliases:
            raise UnsupportedYaml(f"yaml: anchor '{node.text}' value contains itself")
        self.open_aliases.add(id(node))
        value = self.decode(target, into)
        self.open_aliases.discard(id(node))
        return value

    def scalar(self, node: _Node, into: str) -> Any:
        value = _scalar_value(node)
        if value is None:
            return _LEFT_OUT if into == "string" else None
        if into == ANY:
            return value
        if into == "string":
            return value if node.tag == _BINARY else node.text
        return self.complain(node, into)

    def list(self, node: _Node, into: str) -> Any:
        if into not in {LIST, ANY}:
            return self.complain(node, into)
        values = [self.decode(each, ANY) for each in node.content]
        return [value for value in values if value is not _LEFT_OUT]

    def map(self, node: _Node, into: str) -> Any:
        if self.complained_about_keys(node):
            return _LEFT_OUT
        if into not in {MAP, ANY}:
            return self.complain(node, into)
        strings = into == MAP or all(key.meant.tag in {STRING, _MERGE} for key in node.content[::2])
        result: dict[Any, Any] = {} if strings else AnyKeys()
        self.fill(result, node, None)
        return result

    def complain(self, node: _Node, into: str) -> Any:
        data = node.text[:11].encode()
        text = node.text if len(data) <= 10 else from_bytes(data[:7]) + "..."
        shown = "" if node.tag in {_MAP_TAG, _LIST_TAG} else f" `{text}`"
        self.complaints([f"line {node.line}: cannot unmarshal {node.tag}{shown} into {into}"])
        return _LEFT_OUT

    def complained_about_keys(self, node: _Node) -> bool:
        """Two keys are the same if they are spelled the same; so any two collections are, as keys."""
        before = len(self.errors)
        lines: dict[tuple[str, str], list[int]] = {}
        for key in node.content[::2]:
            lines.setdefault((key.kind, key.text), []).append(key.line)
        for (_, text), places in lines.items():
            if len(places) > 1:
                shown = quote(text)
                for position, first in enumerate(places):
                    self.complaints(
                        f"line {line}: mapping key {shown} already defined at line {first}"
                        for line in places[position + 1 :]
                    )
        return len(self.errors) > before

    def complaints(self, found: Iterable[str]) -> None:
        """Keep complaints; Go has one for every two keys that are the same."""
        for complaint in found:
            self.size += len(complaint)
            if self.size > MAX_ERRORS:
                raise UnsupportedYaml(
                    f"yaml: more than {MAX_ERRORS} bytes of errors, most of them about keys given twice"
                )
            self.errors.append(complaint)

    def fill(self, result: dict[Any, Any], node: _Node, merged: set[tuple[str, Any]] | None) -> None:
        """Add the members of ``node`` except those with keys in ``merged``, and note their keys there."""
        key_type = ANY if isinstance(result, AnyKeys) else "string"
        merge = None
        for key_node, value_node in zip(node.content[::2], node.content[1::2], strict=True):
            if key_node.kind == "scalar" and key_node.text == "<<" and key_node.tag == _MERGE:
                merge = value_node
                continue
            key = self.decode(key_node, key_type)
            if key is _LEFT_OUT:
                continue
            if merged is not None:
                if _typed(key) in merged:
                    continue
                merged.add(_typed(key))
            if isinstance(key, (dict, list)):
                raise UnsupportedYaml("yaml: invalid map key: a map or a list")
            value = self.decode(value_node, ANY)
            if value is not _LEFT_OUT:
                _put(result, key, value)
        if merge is not None:
            self.merge(result, node, merge, merged)

    def merge(self, result: dict[Any, Any], parent: _Node, merge: _Node, merged: set[tuple[str, Any]] | None) -> None:
        if merged is None:
            keys = [self.decode(key, ANY) for key in parent.content[::2]]
            merged = {_typed(key) for key in keys if not isinstance(key, (dict, list))}
        for source in merge.content if merge.kind == "list" else [merge]:
            if source.meant.kind != "map":
                raise UnsupportedYaml("yaml: map merge requires map or sequence of maps as the value")
            self.merge_one(result, source, merged)

    def merge_one(self, result: dict[Any, Any], source: _Node, merged: set[tuple[str, Any]]) -> None:
        self.count()
        if id(source) in self.open_aliases:
            raise UnsupportedYaml(f"yaml: anchor '{source.text}' value contains itself")
        if source.target:
            self.open_aliases.add(id(source))
            self.count()
        if not self.complained_about_keys(source.meant):
            self.fill(result, source.meant, merged)
        self.open_aliases.discard(id(source))


def _typed(key: Any) -> tuple[str, Any]:
    return type(key).__name__, key


def _put(result: dict[Any, Any], key: Any, value: Any) -> None:
    """Python takes 1, 1.0 and true for the same key, Go does not."""
    if isinstance(result, AnyKeys) and result.kinds.setdefault(key, type(key)) is not type(key):
        raise UnsupportedYaml("yaml: a map with the keys 1, 1.0 or true side by side")
    result[key] = value


def _scalar_value(node: _Node) -> Any:
    if node.tag == STRING:
        return node.text
    if node.tag == _BINARY:
        return _decode_binary(node.text)
    if node.tag not in _RESOLVABLE:
        return node.text
    tag, value = resolve(node.text)
    if tag == node.tag:
        return value
    if node.tag == FLOAT and tag == INTEGER and value < 1 << 63:
        return float(value)
    raise UnsupportedYaml(f"yaml: cannot decode {tag} `{node.text}` as a {node.tag}")


def _decode_binary(text: str) -> str:
    try:
        return from_bytes(base64.b64decode(text.replace("\r", "").replace("\n", ""), validate=True))
    except (binascii.Error, ValueError):
        raise UnsupportedYaml("yaml: !!binary value contains invalid base64 data") from None
