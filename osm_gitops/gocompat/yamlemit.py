"""What go-yaml's emitters share: where lines break, how a scalar is quoted, the order of keys.

yaml.v3's rules are here; :mod:`~osm_gitops.gocompat.yaml2` changes the few that yaml.v2 has
otherwise. Flow style is used for empty collections only.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cmp_to_key
from typing import Any, Final

from osm_gitops.gocompat.text import is_digit, is_letter, runes, to_bytes

_BREAKS: Final = "\r\n\x85\u2028\u2029"
_BREAK: Final = re.compile(f"[{_BREAKS}]")
_RUNS: Final = re.compile(" +|[^ ]+")
_PIECES: Final = re.compile(f"[{_BREAKS}]|[^{_BREAKS}]+")
_INDICATORS: Final = re.compile(
    r"""\A(?:---|\.\.\.|[#,\[\]{}&*!|>'"%@`]|[?-](?:[ \t]|\Z))|:(?:[ \t]|\Z)|(?<=[ \t\r\n\x85\u2028\u2029\0])\#"""
)
_UNPRINTABLE: Final = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufeff\ufffe\uffff\U00010000-\U0010ffff]")
_SPACE_BREAK: Final = re.compile(f" [{_BREAKS}]")
_BREAK_SPACE: Final = re.compile(f"[{_BREAKS}] ")
_ESCAPED: Final = re.compile(
    '[\x00-\x1f"\\\\\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff\U00010000-\U0010ffff]'
)
_SHORT_ESCAPES: Final = {
    "\0": "0", "\a": "a", "\b": "b", "\t": "t", "\n": "n", "\v": "v", "\f": "f", "\r": "r", "\x1b": "e",
    '"': '"', "\\": "\\", "\x85": "N", "\xa0": "_", "\u2028": "L", "\u2029": "P",
}  # fmt: skip
_QUOTES: Final = {"plain": "", "single": "'", "double": '"'}
_LONGEST_SIMPLE_KEY: Final = 128


@dataclass(frozen=True, slots=True)
class Scalar:
    """A scalar for the emitter, with its style (``plain``, ``double``, ``literal``) and tag."""

    text: str
    style: str = "plain"
    tag: str = ""

    @property
    def multiline(self) -> bool:
        return _BREAK.search(self.text) is not None

    @property
    def is_simple_key(self) -> bool:
        return not self.multiline and len(self.text.encode()) + len(self.tag) <= _LONGEST_SIMPLE_KEY


@dataclass(frozen=True, slots=True)
class Shape:
    """How a value looks to the emitter: its scalar, or its items, or its members (in order)."""

    scalar: Scalar | None = None
    items: Iterable[Any] | None = None
    members: Iterable[tuple[Any, Any]] | None = None


class Emitter:
    """Writes one document. ``shape`` returns the node of a value or key.

    ``whitespace`` and ``indention`` say whether the line so far ends in white space, or holds
    nothing else than indentation and indicators: they decide where a line break is needed.
    """

    step = 4
    width = 0
    tabs_are_plain_in_blocks = True

    def __init__(self, shape: Callable[[Any], Shape]) -> None:
        self.shape = shape
        self.parts: list[str] = []
        self.column = 0
        self.indent = -1
        self.whitespace = True
        self.indention = True

    def document(self, value: Any) -> str:
        self.node(value, within="document")
        self.begin_line()
        return "".join(self.parts)

    def node(self, value: Any, within: str) -> None:
        """``within`` is the place of the value: document, item, key, simple key or member."""
        shape = self.shape(value)
        if shape.scalar is not None:
            self.scalar(shape.scalar, within)
        elif shape.items is not None:
            self.sequence(shape.items, within)
        elif shape.members is not None:
            self.mapping(shape.members, within)

    def sequence(self, items: Iterable[Any], within: str) -> None:
        outer = self.indent
        empty = True
        for item in items:
            if empty:
                self.indent = self.sequence_indent(within)
                empty = False
            self.begin_line()
            self.indicator("-", starts=True)
            self.node(item, "item")
        self.indent = outer
        if empty:
            self.indicator("[]")

    def mapping(self, members: Iterable[tuple[Any, Any]], within: str) -> None:
        outer = self.indent
        empty = True
        for key, value in members:
            if empty:
                self.indent = self.deeper(within)
                empty = False
            self.begin_line()
            self.member(key, value)
        self.indent = outer
        if empty:
            self.indicator("{}")

    def member(self, key: Any, value: Any) -> None:
        scalar = self.shape(key).scalar
        if scalar is not None and scalar.is_simple_key:
            self.scalar(scalar, "simple key")
            self.indicator(":", spaced=False)
        else:
            self.indicator("?", starts=True)
            self.node(key, "key")
            self.begin_line()
            self.indicator(":", starts=True)
        self.node(value, "member")

    def deeper(self, within: str) -> int:
        """The indentation of a block inside the current one."""
        if self.indent < 0:
            return 0
        return self.indent + 2 if within == "item" else self.next_step()

    def next_step(self) -> int:
        return self.step * (self.indent // self.step + 1)

    def sequence_indent(self, within: str) -> int:
        return self.deeper(within)

    def scalar_indent(self, within: str) -> int:
        return self.step if self.indent < 0 else self.deeper(within)

    def scalar(self, scalar: Scalar, within: str) -> None:
        style = self.style(scalar, simple_key=within == "simple key")
        outer, self.indent = self.indent, self.scalar_indent(within)
        if scalar.tag:
            self.indicator(scalar.tag)
        if style == "literal":
            self.literal(scalar.text)
        else:
            self.flow_scalar(scalar.text, style, foldable=within != "simple key")
        self.indent = outer

    def style(self, scalar: Scalar, *, simple_key: bool) -> str:
        """The style that can carry the text: the wanted one if possible, else single, else double quotes."""
        text, style = scalar.text, scalar.style
        tabs = "\t" in text
        unprintable = _UNPRINTABLE.search(text.replace("\t", "") if self.tabs_are_plain_in_blocks else text) is not None
        space_break = _SPACE_BREAK.search(text) is not None
        if style == "plain":
            ends = text[:1] == " " or text[-1:] == " "
            if tabs or unprintable or ends or scalar.multiline or _INDICATORS.search(text):
                style = "single"
        if style == "single" and (tabs or unprintable or space_break or _BREAK_SPACE.search(text)):
            style = "double"
        if simple_key and scalar.multiline:
            return "double"
        if style == "literal" and (simple_key or unprintable or space_break or text[-1:] == " "):
            return "double"
        return style

    def flow_scalar(self, text: str, style: str, *, foldable: bool) -> None:
        quote = _QUOTES[style]
        self.indicator(quote)
        if style == "double":
            # A text that begins with a byte order mark is escaped throughout, as in Go.
            whole = text.startswith("\ufeff")
            escaped = "".join(map(_escape, text)) if whole else _ESCAPED.sub(lambda match: _escape(match[0]), text)
            self.words(escaped, style, foldable=foldable)
        elif style == "single":
            self.lines(text.replace("'", "''"), style, foldable=foldable)
        else:
            self.words(text, style, foldable=foldable)
        self.indicator(quote, spaced=False)

    def literal(self, text: str) -> None:
        self.indicator("|" + self.hints(text))
        self.begin_literal()
        self.lines(text, "literal")

    def begin_literal(self) -> None:
        """yaml.v3 leaves the line break to the text, and so loses one that the text begins with."""
        self.whitespace = True

    def hints(self, text: str) -> str:
        hint = str(self.step) if text[0] == " " or text[0] in _BREAKS else ""
        if text[-1] not in _BREAKS:
            return hint + "-"
        return hint + "+" if len(text) == 1 or text[-2] in _BREAKS else hint

    def lines(self, text: str, style: str, *, foldable: bool = False) -> None:
        """``text`` with its line breaks, every line behind the indentation."""
        at_line_start = style == "literal"
        for piece in _PIECES.findall(text):
            if piece in _BREAKS:
                self.line_break(piece)
                at_line_start = True
                continue
            if at_line_start:
                self.begin_line()
            self.words(piece, style, foldable=foldable)
            at_line_start = False

    def words(self, text: str, style: str, *, foldable: bool) -> None:
        """``text`` with its line folded at blanks behind column ``width``, if there is such a limit."""
        if not foldable or not self.width or self.column + len(text) <= self.width or " " not in text:
            self.write(text)
            return
        for run in _RUNS.finditer(text):
            blanks = run[0] if run[0][0] == " " else ""
            inside = 0 < run.start() < len(text) - 1
            if blanks and inside and self.column > self.width and (style == "double" or len(blanks) == 1):
                self.begin_line()
                self.write("\\" * (len(blanks) > 1) + blanks[1:])
            else:
                self.write(run[0])

    def write(self, text: str) -> None:
        self.parts.append(text)
        self.column += len(text)
        self.indention = False

    def line_break(self, text: str = "\n") -> None:
        self.parts.append(text)
        self.column = 0
        self.indention = True

    def begin_line(self) -> None:
        """Go to the indentation, on a new line unless nothing but indentation is on this one."""
        indent = max(self.indent, 0)
        if not self.indention or self.column > indent or (self.column == indent and not self.whitespace):
            self.line_break()
        if self.column < indent:
            self.parts.append(" " * (indent - self.column))
            self.column = indent
        self.whitespace = True

    def indicator(self, text: str, *, spaced: bool = True, starts: bool = False) -> None:
        """Write ``text``; ``starts`` if a block may begin behind it on the same line."""
        if spaced and not self.whitespace:
            self.parts.append(" ")
            self.column += 1
        self.parts.append(text)
        self.column += len(text)
        self.whitespace = False
        self.indention = self.indention and starts


def _escape(char: str) -> str:
    short = _SHORT_ESCAPES.get(char)
    if short:
        return "\\" + short
    code = ord(char)
    return f"\\x{code:02X}" if code < 0x100 else f"\\u{code:04X}" if code < 0x10000 else f"\\U{code:08X}"


_INT64: Final = 1 << 64
_LASTING: Final = 64
"""Digits that are left of a longer number in 64 bits, as 10**64 is a multiple of 2**64."""
_KINDS: Final = {bool: 1, int: 2, float: 14, type(None): 20}
_STRING_KIND: Final = 24
_STRUCT_KIND: Final = 25


def sorted_members(members: dict[Any, Any], *, old: bool) -> list[tuple[Any, Any]]:
    """The members of a map in order of their keys; ``old`` as yaml.v2, else as yaml.v3.

    Go's comparison is not transitive for some odd sets of keys, and Go's order is then random; here it always is the
    same.
    """

    def compare(first: tuple[Any, Any], second: tuple[Any, Any]) -> int:
        if _less(first[0], second[0], old=old):
            return -1
        return 1 if _less(second[0], first[0], old=old) else 0

    bytewise = sorted(members.items(), key=lambda member: to_bytes(str(member[0])))
    return sorted(bytewise, key=cmp_to_key(compare))


def _less(first: Any, second: Any, *, old: bool) -> bool:
    if isinstance(first, str) and isinstance(second, str):
        return _text_less(runes(first), runes(second), old=old)
    if _kind(first) in {1, 2, 14} and _kind(second) in {1, 2, 14} and first != second:
        return bool(first < second)
    return _kind(first) < _kind(second)


def _kind(key: Any) -> int:
    return _STRING_KIND if isinstance(key, str) else _KINDS.get(type(key), _STRUCT_KIND)


def _text_less(first: str, second: str, *, old: bool) -> bool:
    position = _common(first, second)
    if position == min(len(first), len(second)):
        return len(first) < len(second)
    a, b = first[position], second[position]
    letters = is_letter(a), is_letter(b)
    if all(letters):
        return a < b
    if any(letters):
        after_digit = position > 0 and is_digit(first[position - 1]) and not old
        return letters[0] if after_digit else letters[1]
    return _number_less(first, second, position)


def _common(first: str, second: str) -> int:
    """How many characters two texts have in common at their start."""
    low, high = 0, min(len(first), len(second))
    while low < high:
        middle = (low + high + 1) // 2
        if first[low:middle] == second[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _number_less(first: str, second: str, position: int) -> bool:
    """Compare keys that differ in characters other than letters: by runs of digits, then by character."""
    leading = 0
    if "0" in {first[position], second[position]} and _significant_digit_before(first, position):
        leading = 1
    number_a, end_a = _digits(first, position, leading)
    number_b, end_b = _digits(second, position, leading)
    if number_a != number_b:
        return number_a < number_b
    if end_a != end_b:
        return end_a < end_b
    return first[position] < second[position]


def _significant_digit_before(text: str, position: int) -> bool:
    """Whether the digits right before ``position`` hold one other than zero."""
    while position > 0 and is_digit(text[position - 1]):
        position -= 1
        if text[position] != "0":
            return True
    return False


def _digits(text: str, position: int, number: int) -> tuple[int, int]:
    """The int64 that the digits from ``position`` on append to ``number`` (it overflows as in Go), and their end."""
    start = position
    while position < len(text) and is_digit(text[position]):
        position += 1
    for digit in text[max(start, position - _LASTING) : position]:
        number = (number * 10 + ord(digit) - ord("0")) % _INT64
    return number - _INT64 if number >= _INT64 // 2 else number, position
