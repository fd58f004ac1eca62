"""Line ends moved so that control tags can stand on lines of their own.

Go templates are usually written ``{{- if x }}⏎text{{- end }}⏎``: the line end before the
tag is trimmed away and the one behind it is printed. Printing it before the tag instead,
and the next one at the end of the body, gives the same bytes and is how Jinja2 is written.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from osm_gitops.templates.nodes import Action, Body, Break, Comment, Continue, Control, If, Node, Range, Text, With


def settle(body: Body) -> Body:
    """The same template with line ends moved to the front of what prints none itself, where that is exact."""
    settled: list[Node] = []  # from the last node to the first: a line end may move over several
    for node in map(_settled_inside, reversed(body)):
        if not settled or not _starts_line(settled[-1]) or not _movable(node):
            settled.append(node)
            continue
        settled[-1] = _without_line_end(settled[-1])
        settled.append(_moved(node) if isinstance(node, If | With | Range) else node)
        settled.append(Text(node.line, "\n"))
    return _with_texts_joined(reversed(settled))


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


def _starts_line(node: Node | None) -> bool:
    return isinstance(node, Text) and node.text.startswith("\n")


def _movable(node: Node) -> bool:
    """Whether the line end behind ``node`` may as well stand before it."""
    match node:
        case Comment():
            return True
        case Action():
            return bool(node.pipe.variables)
        case If() | With() | Range():
            return _rotatable(node)
    return False


def _rotatable(node: Control) -> bool:
    """Whether every way through the structure that prints anything begins with a line end."""
    if isinstance(node, Range) and leaves_early(node.body):
        return False
    if not _body_starts_line(node.body):
        return False
    chained = _chained(node)
    if chained:
        return _rotatable(chained)
    return not node.orelse or _body_starts_line(node.orelse)


def _body_starts_line(body: Body) -> bool:
    return bool(body) and _starts_line(body[0])


def _chained(node: Control) -> If | With | None:
    """The second half of ``else if`` and ``else with``."""
    match node.orelse:
        case (If() | With() as only,):
            return only
    return None


def _moved(node: Control) -> Control:
    chained = _chained(node)
    orelse: Body = (_moved(chained),) if chained else _rotated(node.orelse)
    return replace(node, body=_rotated(node.body), orelse=orelse)


def _rotated(body: Body) -> Body:
    """The body with its first line end at its end."""
    if not body:
        return body
    return _with_texts_joined([_without_line_end(body[0]), *body[1:], Text(body[-1].line, "\n")])


def _without_line_end(node: Node) -> Node:
    return replace(node, text=node.text[1:]) if isinstance(node, Text) else node


def _with_texts_joined(nodes: Iterable[Node]) -> Body:
    joined: list[Node] = []
    for node in nodes:
        last = joined[-1] if joined else None
        if isinstance(node, Text) and isinstance(last, Text):
            joined[-1] = replace(last, text=last.text + node.text)
        elif not isinstance(node, Text) or node.text:
            joined.append(node)
    return tuple(joined)
