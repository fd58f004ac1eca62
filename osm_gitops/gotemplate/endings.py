"""Templates that end in exactly one line end.

Where a file names a template, OSM prints a line end and the template's text without the
white space behind it. A text that always ends in one line end, or is empty, can be included
line by line instead, which is how Jinja2 is written.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from osm_gitops.gotemplate.newlines import leaves_early
from osm_gitops.gotemplate.nodes import Action, Body, Comment, Gap, If, Node, Range, Text, With

_BLANK: Final = " \t\r\n"
_LINE_END: Final = Text(0, "\n")  # no line of the source


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
