"""Move line ends of Go templates, so that Jinja2 tags are on separate lines.

Go templates are usually written ``{{- if x }}⏎text{{- end }}⏎``: the line end before the tag is trimmed away and the
one behind it is printed. Printing it before the tag instead, and the next one at the end of the body, gives the same
bytes and is how Jinja2 is written. The old place of a line end gets a gap, for readability.

Where a file names a template, OSM prints a line end and the template's text without the white space behind it. A text
that always ends in one line end, or is empty, can be included line by line instead (:func:`line_ended`)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from osm_gitops.gotemplate.nodes import (
    Action,
    Body,
    Break,
    Comment,
    Continue,
    Gap,
    If,
    Include,
    Node,
    Range,
    Text,
    With,
)

_LINE_END: Final = Text(0, "\n")  # not from this line of the source
_FORMER_LINE_END: Final = Gap("\n")


def settle(body: Body) -> Body:
    """The same template with line ends moved to the front of what prints none itself, where that is exact."""
    settled: list[Node] = []
    for node in body:
        inside = _settled_inside(node)
        if isinstance(inside, Text) and inside.text.startswith("\n") and settled and _movable(settled[-1]):
            _put_line_end(settled)
            settled += _without_line_end(inside)
        else:
            settled.append(inside)
    return _with_texts_joined(settled)


def leaves_early(body: Body) -> bool:
    """Whether a ``break`` or ``continue`` for the loop around ``body`` is in it."""
    for node in body:
        match node:
            case Break() | Continue():
                return True
            case If() | With() if leaves_early(node.body) or leaves_early(node.orelse):
                return True
            case Range() if leaves_early(node.orelse):
                return True
    return False


def _settled_inside(node: Node) -> Node:
    if isinstance(node, If | With | Range):
        return replace(node, body=settle(node.body), orelse=settle(node.orelse))
    return node


def _put_line_end(nodes: list[Node]) -> None:
    """Put a line end behind the nodes, or before those at their end that may as well follow it."""
    first = len(nodes)
    while first and _movable(nodes[first - 1]):
        first -= 1
    nodes[first:] = [_LINE_END, *map(_moved, nodes[first:])]


def _movable(node: Node) -> bool:
    """Whether the line end after ``node`` may be moved before it."""
    match node:
        case Comment() | Gap() | Include():
            return True
        case Action():
            return bool(node.pipe.variables)
        case Range() if leaves_early(node.body):
            return False
        case If() | With() | Range():
            return _turnable(node.body) and _turnable(node.orelse)
    return False


def _turnable(body: Body) -> bool:
    """Whether each line end of the body, or after it, is first or follows another one."""
    for node in body:
        if isinstance(node, Text):
            return node.text.startswith("\n")
        if not _movable(node):
            return False
    return True


def _moved(node: Node) -> Node:
    if isinstance(node, If | With | Range):
        return replace(node, body=_turned(node.body), orelse=_turned(node.orelse))
    return replace(node, moved=True) if isinstance(node, Include) else node


def _turned(body: Body) -> Body:
    """The body with its first line end at its end."""
    for position, node in enumerate(body):
        if isinstance(node, Text):
            before = map(_moved, body[:position])
            kept = [*_without_line_end(node), *body[position + 1 :]]
            _put_line_end(kept)
            return _with_texts_joined([*before, *kept])
    return tuple(map(_moved, body))


def _without_line_end(text: Text) -> tuple[Node, ...]:
    rest = replace(text, text=text.text[1:])
    return (_FORMER_LINE_END, rest) if text.line else (rest,)


def _with_texts_joined(nodes: Iterable[Node]) -> Body:
    joined: list[Node] = []
    for node in nodes:
        last = joined[-1] if joined else None
        if isinstance(node, Text) and isinstance(last, Text):
            joined[-1] = replace(last, text=last.text + node.text)
        elif not isinstance(node, Text) or node.text:
            joined.append(node)
    return tuple(joined)


_BLANK: Final = " \t\r\n"


@dataclass(frozen=True, slots=True)
class _Stripped:
    """A body without the white space that it may print last.

    ``firm``: it always prints something else than white space, and that last. ``cut``: there was some.
    """

    body: Body
    firm: bool
    cut: bool


def line_ended(body: Body) -> Body | None:
    """A body that prints the same text with one line end in place of the white space behind it.

    Nothing where the text is empty. ``None`` where the end of the text depends on the data.
    """
    stripped = _stripped(body)
    if stripped is None:
        return None
    if stripped.firm:
        return (*stripped.body, _LINE_END)
    return _ended_inside(stripped.body)


def _ended_inside(body: Body) -> Body | None:
    """The body of one condition, with line ends inside of it; ``None`` where there are several."""
    ended: list[Node] = []
    for node in body:
        if not isinstance(node, If | With):
            if not _is_silent(node):
                return None
            ended.append(node)
            continue
        inside, orelse = line_ended(node.body), line_ended(node.orelse)
        if inside is None or orelse is None:
            return None
        ended.append(replace(node, body=inside, orelse=orelse))
    return tuple(ended) if sum(isinstance(node, If | With) for node in ended) <= 1 else None


def _stripped(body: Body) -> _Stripped | None:
    """``None`` where the white space behind the text depends on the data."""
    kept: list[Node] = []
    firm = cut = tight = False  # tight: what follows may print, so nothing may be cut here
    for node in reversed(body):
        if firm or _is_silent(node):
            kept.append(node)
            continue
        end = _stripped_node(node)
        if end is None or (tight and end.cut):
            return None
        kept += reversed(end.body)
        firm, cut = end.firm, cut or end.cut
        tight = tight or not isinstance(node, Text)
    return _Stripped(tuple(reversed(kept)), firm, cut)


def _stripped_node(node: Node) -> _Stripped | None:
    match node:
        case Text():
            text = node.text.rstrip(_BLANK)
            left: Body = (replace(node, text=text),) if text else ()
            return _Stripped(left, bool(text), text != node.text)
        case If() | With():
            body, orelse = _stripped(node.body), _stripped(node.orelse)
            if body is None or orelse is None:
                return None
            both = replace(node, body=body.body, orelse=orelse.body)
            return _Stripped((both,), body.firm and orelse.firm, body.cut or orelse.cut)
        case Range():
            parts = _stripped(node.body), _stripped(node.orelse)
            if leaves_early(node.body) or any(part is None or part.cut for part in parts):
                return None
            return _Stripped((node,), firm=False, cut=False)
    return None


def _is_silent(node: Node) -> bool:
    """Whether a node prints nothing, whatever the data."""
    return isinstance(node, Comment | Gap) or (isinstance(node, Action) and bool(node.pipe.variables))
