"""Which line of which template a rendered line came from.

An engine with a :class:`Tracer` writes a mark before the first character that a template prints on each line; whatever
carries the text on, macros, includes and OSM's second pass, carries the marks with it. Marks are single characters for
private use, which no other engine ever prints.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from jinja2 import nodes as jinja

from osm_gitops.gotemplate.nodes import Action, Body, Call, If, Node, Range, String, Text, With

Line = tuple[str, int]
"""A template's name (a file's path or a key of ``templates``) and a line of it, from 1 on."""

MARKED: Final = "_marked"
"""The filter that puts a mark before what is printed."""

_FIRST: Final = 0xF0000  # the supplementary planes for private use
_MOST: Final = 0x1FFFE
_BLANK: Final = " \t"
_OPENING: Final = "{{"  # a mark before it would come between a trim marker and what it trims


@dataclass(slots=True)
class Tracer:
    """The marks of one engine, and their lines."""

    lines: list[Line] = field(default_factory=list)
    _marks: dict[Line, str] = field(default_factory=dict)

    def mark(self, name: str, line: int) -> str:
        """The mark of a line; nothing when there are more lines than marks."""
        known = self._marks.get((name, line))
        if known is None:
            known = "" if len(self.lines) >= _MOST else chr(_FIRST + len(self.lines))
            self._marks[name, line] = known
            self.lines.append((name, line))
        return known

    def read(self, text: str) -> tuple[str, tuple[Line | None, ...]]:
        """The text without marks, and for each of its lines where it came from; ``None`` before the first mark."""
        plain, found = [], []
        last: Line | None = None
        for line in text.split("\n"):
            marks = [(at, char) for at, char in enumerate(line) if self._is_mark(char)]
            begin = last
            for number, (at, char) in enumerate(marks):
                last = self.lines[ord(char) - _FIRST]
                if not line[:at].translate(_no_marks(marks[:number])).strip():
                    begin = last
            plain.append(line.translate(_no_marks(marks)))
            found.append(begin)
        return "\n".join(plain), tuple(found)

    def _is_mark(self, char: str) -> bool:
        return _FIRST <= ord(char) < _FIRST + len(self.lines)

    # Go templates

    def go(self, name: str, body: Body) -> Body:
        """The body of a Go template with marks."""
        return tuple(self._go(name, body))

    def _go(self, name: str, body: Body) -> Iterator[Node]:
        starts = True  # whether the next text is probably the first on its line
        for node in body:
            match node:
                case Text():
                    text = self.text(name, node.line, node.text, starts=starts)
                    starts = _starts_behind(node.text, starts=starts)
                    yield replace(node, text=text)
                case If() | With() | Range():
                    yield replace(node, body=self.go(name, node.body), orelse=self.go(name, node.orelse))
                    starts = True
                case Action() | Call() if not (isinstance(node, Action) and node.pipe.variables):
                    if starts and not _prints_opening(node):
                        yield Text(node.line, self.mark(name, node.line))
                    yield node
                    starts = False
                case _:
                    yield node

    # Jinja2

    def native(self, name: str, tree: jinja.Template) -> None:
        """Write marks into the output of a Jinja2 template."""
        for output in tree.find_all(jinja.Output):
            output.nodes = list(self._native(name, output.nodes))

    def _native(self, name: str, children: Iterable[jinja.Expr]) -> Iterator[jinja.Expr]:
        starts = True
        for node in children:
            if isinstance(node, jinja.TemplateData):
                text = self.text(name, node.lineno, node.data, starts=starts)
                starts = _starts_behind(node.data, starts=starts)
                yield jinja.TemplateData(text, lineno=node.lineno)
                continue
            if starts:  # its text gets a mark, but not where it prints nothing, which macros are tested for
                mark = jinja.Const(self.mark(name, node.lineno))
                yield jinja.Filter(node, MARKED, [mark], [], None, None, lineno=node.lineno)
            else:
                yield node
            starts = False

    def text(self, name: str, line: int, text: str, *, starts: bool) -> str:
        """Literal text with marks; its first line gets one if it ``starts`` a line."""
        marked = []
        for number, each in enumerate(text.split("\n")):
            printed = each.lstrip(_BLANK)
            if printed and not printed.startswith(_OPENING) and (number or starts):
                blanks = each[: len(each) - len(printed)]
                marked.append(f"{blanks}{self.mark(name, line + number)}{printed}")
            else:
                marked.append(each)
        return "\n".join(marked)


def _starts_behind(text: str, *, starts: bool) -> bool:
    _, end, last = text.rpartition("\n")
    return not last.strip(_BLANK) and (bool(end) or starts)


def _prints_opening(node: Action | Call) -> bool:
    if not isinstance(node, Action):
        return False
    first = node.pipe.commands[0].first
    return isinstance(first, String) and first.value.startswith(_OPENING)


def _no_marks(marks: Sequence[tuple[int, str]]) -> dict[int, None]:
    return {ord(char): None for _, char in marks}
