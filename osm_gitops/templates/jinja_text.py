"""Pieces of a translated template to Jinja2 source text, byte for byte (design §5).

The environment cuts the line end after a block tag (``trim_blocks``) and the blanks
before one that stands alone on its line (``lstrip_blocks``). So a tag at the start of
a line gets a line of its own, and any other tag says ``{%+`` or ``+%}`` where cutting
would cost a byte.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

_BLANK_LINE = re.compile(r"\s+")
# What Jinja2 would read as an opening delimiter, and carriage returns, which it normalises.
_MISREAD = re.compile(r"(?:\{[{%#]|\{(?=\r)|\r)+")
_MISREAD_BEFORE_TAG = re.compile(r"(?:\{[{%#]|\{(?=\r|\Z)|\r)+")
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}


class Form(Enum):
    """How a piece is written; the value is its opening and closing."""

    TEXT = ("", "")
    BLOCK = ("{%", "%}")
    PRINT = ("{{", "}}")
    COMMENT = ("{#", "#}")


@dataclass(frozen=True, slots=True)
class Piece:
    """Literal text, or what stands inside of a tag with the line of the Go source that it came from.

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
    for position, piece in enumerate(joined):
        following = joined[position + 1] if position + 1 < len(joined) else None
        if piece.form is Form.TEXT:
            writer.literal(piece.value, before_tag=following is not None)
        elif piece.form is Form.PRINT:
            writer.tag(piece, " ")
        else:
            writer.cutting_tag(piece, following)
    return JinjaText("".join(writer.parts), writer.lines)


def _joined(pieces: Iterable[Piece]) -> list[Piece]:
    """The pieces with neighbouring texts in one and empty ones gone."""
    joined: list[Piece] = []
    texts: list[str] = []
    for piece in pieces:
        if piece.form is Form.TEXT:
            texts.append(piece.value)
            continue
        _append_text(joined, texts)
        joined.append(piece)
    _append_text(joined, texts)
    return joined


def _append_text(joined: list[Piece], texts: list[str]) -> None:
    text = "".join(texts)
    texts.clear()
    if text:
        joined.append(Piece(Form.TEXT, text))


class _Writer:
    def __init__(self) -> None:
        self.parts: list[str] = []
        self.lines: dict[int, int] = {}
        self._line = 1
        self._last = ""  # the last line so far

    def put(self, text: str) -> None:
        self.parts.append(text)
        count = text.count("\n")
        self._line += count
        self._last = text[text.rindex("\n") + 1 :] if count else self._last + text

    def literal(self, text: str, *, before_tag: bool) -> None:
        pattern = _MISREAD_BEFORE_TAG if before_tag else _MISREAD
        self.put(pattern.sub(lambda match: "{{ " + quoted(match[0]) + " }}", text))

    def tag(self, piece: Piece, end: str) -> None:
        """A tag; where its line already belongs to another line of the source, it begins a new one inside."""
        opening, closing = piece.form.value
        start = f"{opening}{self._strip_guard(piece)} "
        known = self.lines.get(self._line)
        if piece.line and known is not None and known != piece.line:
            start = start.rstrip() + "\n   "
        self.put(start)
        if piece.line:
            self.lines[self._line] = piece.line
        self.put(f"{piece.value}{end}{closing}")

    def _strip_guard(self, piece: Piece) -> str:
        return "+" if piece.form is not Form.PRINT and _BLANK_LINE.fullmatch(self._last) else ""

    def cutting_tag(self, piece: Piece, following: Piece | None) -> None:
        """A block or comment: the line end behind it is cut, so one is added or kept."""
        if not self._last or piece.value == "endmacro":
            self.tag(piece, " ")
            self.put("\n")
        elif following is not None and following.form is Form.TEXT and following.value.startswith("\n"):
            self.tag(piece, " +")
        else:
            self.tag(piece, " ")
