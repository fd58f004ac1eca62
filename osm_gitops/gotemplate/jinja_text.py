"""Pieces of a translated template to Jinja2 source text, byte for byte (design.md, "One engine").

The environment cuts the line end after a block tag (``trim_blocks``) and the blanks before one that stands alone on its
line (``lstrip_blocks``). A tag says ``{%+`` or ``+%}`` where cutting would cost a byte.

What the source's trim markers take away is written again, so that both texts have the same lines: as far as the
environment cuts it anyway, else behind a trim marker of Jinja2's own. Those take every white space of Unicode, Go's
only four characters, so they stand only where the text has none beside them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from itertools import groupby, zip_longest

# What Jinja2 would read as an opening delimiter, and carriage returns, which it normalises.
_MISREAD = re.compile(r"(?:\{[{%#]|\{(?=\r)|\r)+")
_MISREAD_BEFORE_TAG = re.compile(r"(?:\{[{%#]|\{(?=\r|\Z)|\r)+")
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}


class Form(Enum):
    """How a piece is written; the value is its opening and closing."""

    TEXT = ("", "")
    GAP = (" ", " ")  # white space that is not printed
    BLOCK = ("{%", "%}")
    PRINT = ("{{", "}}")
    COMMENT = ("{#", "#}")


_PLAIN = frozenset((Form.TEXT, Form.GAP))
_CUTTING = frozenset((Form.BLOCK, Form.COMMENT))


@dataclass(frozen=True, slots=True)
class Piece:
    """Literal text, or the content of a tag with its line in the Go source.

    ``line`` is 0 for a tag that cannot fail.
    """

    form: Form
    value: str
    line: int = 0


@dataclass(frozen=True, slots=True)
class JinjaText:
    """Jinja2 source text; ``lines`` maps its lines to lines of the Go source."""

    text: str
    lines: dict[int, int]


def quoted(text: str) -> str:
    """A string literal of Jinja2."""
    return '"' + "".join(_escaped(char) for char in text) + '"'


def _escaped(char: str) -> str:
    if char in _ESCAPES:
        return _ESCAPES[char]
    if char.isprintable():
        return char
    code = ord(char)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def write(pieces: Iterable[Piece]) -> JinjaText:
    """Join the pieces so that rendering gives exactly their literal text and their values."""
    writer = _Writer()
    joined = _joined(pieces)
    for piece, *following in zip_longest(joined, joined[1:], joined[2:]):
        if piece.form is Form.TEXT:
            writer.literal(piece.value, before_tag=following[0] is not None)
        elif piece.form is not Form.GAP:
            writer.tag(piece, *following)
        elif following[0] is not None and following[0].form is not Form.TEXT:
            writer.gap(piece.value, following[0])
    return JinjaText("".join(writer.parts), writer.lines)


def _joined(pieces: Iterable[Piece]) -> list[Piece]:
    """The pieces with neighbouring texts in one, and gaps only beside of tags."""
    runs = list(_runs(pieces))
    forms = [Form.TEXT, *(piece.form for piece in runs), Form.TEXT]
    needless = (Form.TEXT, Form.GAP, Form.TEXT)
    return list(_runs(each for at, each in enumerate(runs) if tuple(forms[at : at + 3]) != needless))


def _runs(pieces: Iterable[Piece]) -> Iterator[Piece]:
    for form, run in groupby(pieces, key=lambda piece: piece.form):
        if form not in _PLAIN:
            yield from run
        elif value := "".join(piece.value for piece in run):
            yield Piece(form, value)


class _Writer:
    """The text so far.

    ``before`` is the form of the tag directly before, without gaps; ``indent`` are blanks that the environment cuts
    before the next tag, ``dash`` says that it needs a trim marker instead.
    """

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.lines: dict[int, int] = {}
        self.before: Form | None = None
        self.indent = ""
        self.dash = False
        self._line = 1
        self._end = ""  # the last character of the last line so far
        self._blank = True  # whether there are blanks only in that line

    def put(self, text: str) -> None:
        self.parts.append(text)
        count = text.count("\n")
        if count:
            self._line += count
            self._end, self._blank = "", True
            text = text[text.rindex("\n") + 1 :]
        if text:
            self._end = text[-1]
            self._blank = self._blank and text.isspace()

    def literal(self, text: str, *, before_tag: bool) -> None:
        pattern = _MISREAD_BEFORE_TAG if before_tag else _MISREAD
        self.put(pattern.sub(lambda match: "{{ " + quoted(match[0]) + " }}", text))
        self.before = None

    def tag(self, piece: Piece, following: Piece | None, behind: Piece | None) -> None:
        """A tag; where its line already belongs to another line of the source, it begins a new one inside."""
        opening, closing = piece.form.value
        start = f"{self.indent}{opening}{self._opening_mark(piece)} "
        known = self.lines.get(self._line)
        if piece.line and known is not None and known != piece.line:
            start = start.rstrip() + "\n   "
        self.put(start)
        if piece.line:
            self.lines[self._line] = piece.line
        mark, gap = _closing(piece, following, behind)
        self.put(f"{piece.value} {mark}{closing}{gap}")
        self.before, self.indent, self.dash = piece.form, "", False

    def _opening_mark(self, piece: Piece) -> str:
        if self.dash:
            return "-"
        guarded = piece.form is not Form.PRINT and not self.indent and self._end and self._blank
        return "+" if guarded else ""

    def gap(self, gap: str, following: Piece) -> None:
        """A gap before a tag."""
        if self.before in _CUTTING and gap.startswith("\n"):
            self.put("\n")
            gap = gap[1:]
        elif not self._end:  # the text before has printed its line end
            gap = gap[gap.rfind("\n") + 1 :]
        if not self._end and "\n" not in gap and following.form in _CUTTING:
            self.indent = gap
        elif gap and (self.before is not None or self._end.strip()):
            self.put(gap)
            self.dash = True


def _closing(piece: Piece, following: Piece | None, behind: Piece | None) -> tuple[str, str]:
    """The mark before a tag's closing, and the gap between it and text or the end."""
    gap = ""
    if following is not None and following.form is Form.GAP:
        gap, following = following.value, behind
    if following is not None and following.form is not Form.TEXT:
        return "", ""
    text = "" if following is None else following.value
    if gap == "\n" and piece.form in _CUTTING:
        return "", gap
    if gap and not text[:1].isspace():
        return "-", gap
    return "+" if text.startswith("\n") and piece.form in _CUTTING else "", ""
