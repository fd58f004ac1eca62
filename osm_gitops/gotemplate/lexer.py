"""Go template text to tokens, and the constants among them to values (osm-behaviour.md, "Template language").

White space is a token: it separates operands, and ``.a .b`` differs from ``.a.b``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from osm_gitops.gotemplate.bounds import TOKENS
from osm_gitops.gotemplate.faults import BoundExceeded, Refused, TemplateFault

_BLANK = " \t\r\n"
_KEYWORDS = frozenset(["block", "break", "continue", "define", "else", "end", "if", "nil", "range", "template", "with"])
_LITERALS = {"true": True, "false": True}
_AFTER_WORD = frozenset(" \t\r\n.,|:)(")
_NUMBER = re.compile(
    r"[+-]?(?:0[xX][0-9a-fA-F_]*(?:\.[0-9a-fA-F_]*)?(?:[pP][+-]?[0-9_]*)?"
    r"|0[oO][0-7_]*(?:\.[0-7_]*)?"
    r"|0[bB][01_]*(?:\.[01_]*)?"
    r"|[0-9_]*(?:\.[0-9_]*)?(?:[eE][+-]?[0-9_]*)?)i?"
)
_QUOTED = re.compile(r'"[^"\\\n]*+(?:\\[^\n][^"\\\n]*+)*+"')
_CHAR = re.compile(r"'[^'\\\n]*+(?:\\[^\n][^'\\\n]*+)*+'")
_SPACES = re.compile(r"[ \t\r\n]+")


class Kind(Enum):
    """What a token is; the value is how a message calls it."""

    TEXT = "text"
    GAP = "trimmed white space"
    COMMENT = "comment"
    OPEN = "{{"
    CLOSE = "}}"
    SPACE = "space"
    KEYWORD = "keyword"
    IDENTIFIER = "function"
    FIELD = "field"
    VARIABLE = "variable"
    DOT = "."
    BOOL = "boolean"
    NUMBER = "number"
    CHAR = "character constant"
    STRING = "string"
    PIPE = "|"
    DECLARE = ":="
    ASSIGN = "="
    LEFT_PAREN = "("
    RIGHT_PAREN = ")"
    OTHER = "character"
    END = "end of the template"


class Token(NamedTuple):
    kind: Kind
    value: str
    line: int


def tokenize(text: str, first_line: int = 1) -> list[Token]:
    """All tokens of a template, the last one of kind END.

    Raises TemplateFault with a line, BoundExceeded for too many.
    """
    tokens: list[Token] = []
    for token in _Lexer(text, first_line).run():
        if len(tokens) >= TOKENS:
            raise BoundExceeded(f"it has more than {TOKENS} words and signs in its actions; make it smaller")
        tokens.append(token)
    return tokens


class _Lexer:
    """A cursor over the text; every method leaves ``position`` behind what it read."""

    def __init__(self, text: str, first_line: int) -> None:
        self.text = text
        self.position = 0
        self._counted = 0
        self._line = first_line

    def line(self, position: int) -> int:
        """The line of ``position``, which never moves backwards by more than a token."""
        if position >= self._counted:
            self._line += self.text.count("\n", self._counted, position)
        else:
            self._line -= self.text.count("\n", position, self._counted)
        self._counted = position
        return self._line

    def fault(self, message: str, position: int) -> TemplateFault:
        return TemplateFault(message, line=self.line(position))

    def run(self) -> Iterator[Token]:
        trimmed = False
        while True:
            start = self.position
            opening = self.text.find("{{", start)
            end = len(self.text) if opening < 0 else opening
            yield from self._literal(start, end, trim_left=trimmed)
            if opening < 0:
                yield Token(Kind.END, "", self.line(len(self.text)))
                return
            self.position = opening + 2 + (2 if self._trims(opening) else 0)
            if self.text.startswith("/*", self.position):
                token, trimmed = self._comment()
                yield token
                continue
            yield Token(Kind.OPEN, "{{", self.line(opening))
            trimmed = False
            for token in self._action():
                yield token
                if token.kind is Kind.CLOSE:
                    trimmed = token.value == " -}}"

    def _trims(self, opening: int) -> bool:
        """Whether ``{{`` at ``opening`` carries a trim marker: a minus followed by a blank."""
        return self.text.startswith("-", opening + 2) and self.text[opening + 3 : opening + 4] in tuple(_BLANK)

    def _literal(self, start: int, end: int, *, trim_left: bool) -> Iterator[Token]:
        """The text between two actions, and as gaps what trim markers take from it."""
        text = self.text[start:end]
        first, last = 0, len(text)
        if trim_left:
            first = last - len(text.lstrip(_BLANK))
        if end < len(self.text) and self._trims(end):
            last = max(len(text.rstrip(_BLANK)), first)
        for kind, begin, stop in ((Kind.GAP, 0, first), (Kind.TEXT, first, last), (Kind.GAP, last, len(text))):
            if begin < stop:
                yield Token(kind, text[begin:stop], self.line(start + begin))

    def _closing(self) -> str:
        """The closing delimiter at the cursor: ``}}``, with a trim marker `` -}}``, or nothing."""
        text, position = self.text, self.position
        if text.startswith("}}", position):
            return "}}"
        if text[position : position + 1] in tuple(_BLANK) and text.startswith("-}}", position + 1):
            return " -}}"
        return ""

    def _comment(self) -> tuple[Token, bool]:
        start = self.position
        end = self.text.find("*/", start + 2)
        if end < 0:
            raise self.fault("unclosed comment", start)
        self.position = end + 2
        closing = self._closing()
        if not closing:
            raise self.fault("a comment must end directly before the closing }}", start)
        token = Token(Kind.COMMENT, self.text[start + 2 : end], self.line(start))
        self.position += len(closing)
        return token, closing == " -}}"

    def _action(self) -> Iterator[Token]:
        depth = 0
        while True:
            closing = self._closing()
            if closing:
                if depth:
                    raise self.fault("unclosed left paren", self.position)
                yield Token(Kind.CLOSE, closing, self.line(self.position))
                self.position += len(closing)
                return
            token = self._inside()
            if token.kind is Kind.LEFT_PAREN:
                depth += 1
            elif token.kind is Kind.RIGHT_PAREN:
                depth -= 1
                if depth < 0:
                    raise self.fault("unexpected right paren", self.position)
            yield token

    def _inside(self) -> Token:  # one alternative per first character, as the grammar has them
        text, start = self.text, self.position
        if start >= len(text):
            raise self.fault("unclosed action", start)
        char = text[start]
        if char in _BLANK:
            return self._spaces()
        if char == '"':
            return self._matched(Kind.STRING, _QUOTED, "unterminated quoted string")
        if char == "'":
            return self._matched(Kind.CHAR, _CHAR, "unterminated character constant")
        if char == "`":
            return self._raw()
        if char == "$":
            return self._word(Kind.VARIABLE)
        if char == "." and text[start + 1 : start + 2] not in tuple("0123456789"):
            return self._word(Kind.FIELD)
        if char in "+-.0123456789" and char.isascii():
            return self._number()
        if _is_alphanumeric(char):
            return self._word(Kind.IDENTIFIER)
        return self._punctuation(char)

    def _take(self, kind: Kind, end: int) -> Token:
        token = Token(kind, self.text[self.position : end], self.line(self.position))
        self.position = end
        return token

    def _spaces(self) -> Token:
        match = _SPACES.match(self.text, self.position)
        end = match.end() if match else self.position + 1
        if self.text.startswith("-}}", end):
            end -= 1  # the last blank belongs to the trim marker
        return self._take(Kind.SPACE, end)

    def _matched(self, kind: Kind, pattern: re.Pattern[str], message: str) -> Token:
        match = pattern.match(self.text, self.position)
        if match is None:
            raise self.fault(message, self.position)
        return self._take(kind, match.end())

    def _raw(self) -> Token:
        end = self.text.find("`", self.position + 1)
        if end < 0:
            raise self.fault("unterminated raw quoted string", self.position)
        return self._take(Kind.STRING, end + 1)

    def _word(self, kind: Kind) -> Token:
        end = self.position if kind is Kind.IDENTIFIER else self.position + 1
        while end < len(self.text) and _is_alphanumeric(self.text[end]):
            end += 1
        if end < len(self.text) and self.text[end] not in _AFTER_WORD and not self.text.startswith("}}", end):
            raise self.fault(f"bad character {self.text[end]!r} after {self.text[self.position : end]}", end)
        token = self._take(kind, end)
        if kind is Kind.FIELD and token.value == ".":
            return token._replace(kind=Kind.DOT)
        if kind is Kind.IDENTIFIER and token.value in _KEYWORDS:
            return token._replace(kind=Kind.KEYWORD)
        if kind is Kind.IDENTIFIER and token.value in _LITERALS:
            return token._replace(kind=Kind.BOOL)
        return token

    def _number(self) -> Token:
        start = self.position
        end = self._scan_number(start)
        if self.text[end : end + 1] in ("+", "-"):
            end = self._scan_number(end)  # 1+2i
            if self.text[end - 1] != "i":
                raise self.fault(f"bad number syntax: {self.text[start:end]}", start)
        return self._take(Kind.NUMBER, end)

    def _scan_number(self, start: int) -> int:
        match = _NUMBER.match(self.text, start)
        end = match.end() if match else start
        if end < len(self.text) and _is_alphanumeric(self.text[end]):
            raise self.fault(f"bad number syntax: {self.text[start : end + 1]}", start)
        return end

    def _punctuation(self, char: str) -> Token:
        if char == ":":
            if not self.text.startswith(":=", self.position):
                raise self.fault("expected :=", self.position)
            return self._take(Kind.DECLARE, self.position + 2)
        kind = {"=": Kind.ASSIGN, "|": Kind.PIPE, "(": Kind.LEFT_PAREN, ")": Kind.RIGHT_PAREN}.get(char, Kind.OTHER)
        if kind is Kind.OTHER and not "!" <= char <= "~":
            raise self.fault(f"unrecognized character in action: {char!r}", self.position)
        return self._take(kind, self.position + 1)


def _is_alphanumeric(char: str) -> bool:
    return char == "_" or char.isalpha() or char.isdecimal()


_SIMPLE = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "\\": "\\"}
_HEX_WIDTH = {"x": 2, "u": 4, "U": 8}
_HEX = re.compile(r"[0-9a-fA-F]+")
_OCTAL = re.compile(r"[0-7]{3}")

_INTEGER = re.compile(
    r"([+-]?)(?:0[xX]((?:_?[0-9a-fA-F])++)|0[bB]((?:_?[01])++)|0[oO]((?:_?[0-7])++)|0((?:_?[0-7])++)"
    r"|(0|[1-9](?:_?[0-9])*+))"
)
_DECIMAL_DIGITS = r"[0-9](?:_?[0-9])*+"
_DECIMAL = re.compile(
    rf"[+-]?(?:{_DECIMAL_DIGITS}\.?(?:{_DECIMAL_DIGITS})?|\.{_DECIMAL_DIGITS})(?:[eE][+-]?{_DECIMAL_DIGITS})?"
)
_HEXADECIMAL = re.compile(
    r"[+-]?0[xX](?:_?[0-9a-fA-F])*+\.?(?:[0-9a-fA-F](?:_?[0-9a-fA-F])*+)?[pP][+-]?[0-9](?:_?[0-9])*+"
)

_INT64 = range(-(1 << 63), 1 << 63)
_UINT64 = range(1 << 64)


@dataclass(frozen=True, slots=True)
class NumberValue:
    """A number constant: what it is as an integer, if it can be one, and as a float.

    ``floating`` says that it is a float64 where no parameter decides (``1.0``, ``1e3``).
    ``integer`` may lie outside of int64: a constant that only a uint64 could hold.
    """

    integer: int | None
    real: float
    floating: bool

    @property
    def int64(self) -> int | None:
        return self.integer if self.integer is not None and self.integer in _INT64 else None


def parse_number(text: str) -> NumberValue:
    """Read a number as the parser of Go templates does; raises TemplateFault."""
    if text.endswith("i"):
        raise Refused(f"the complex number {text} is not supported")
    integer = _INTEGER.fullmatch(text)
    if integer is not None:
        value = _integer(integer)
        if value in _INT64 or (value in _UINT64 and not text.startswith(("+", "-"))):
            return NumberValue(value, float(value), floating=False)
        raise TemplateFault(f"the integer {text} is too large")
    real = _real(text)
    if real is None or not any(mark in text for mark in ".eEpP"):
        raise TemplateFault(f"{text} is not a number")
    whole = int(real) if real.is_integer() and int(real) in _INT64 else None
    return NumberValue(whole, real, floating=True)


def _integer(match: re.Match[str]) -> int:
    sign, *digits = match.groups()
    for base, text in zip((16, 2, 8, 8, 10), digits, strict=True):
        if text is not None:
            value = _bounded(text.replace("_", ""), base)
            return -value if sign == "-" else value
    return 0


def _bounded(digits: str, base: int) -> int:
    """Python refuses to read very long numbers; Go finds them out of range."""
    significant = digits.lstrip("0")
    return int(significant or "0", base) if len(significant) <= 64 else 1 << 64


def _real(text: str) -> float | None:
    if _DECIMAL.fullmatch(text):
        value = float(text.replace("_", ""))
    elif _HEXADECIMAL.fullmatch(text):
        try:
            value = float.fromhex(text.replace("_", ""))
        except (OverflowError, ValueError):
            return None
    else:
        return None
    return value if abs(value) != float("inf") else None


def parse_char(text: str) -> NumberValue:
    """Read a character constant with its quotes: a number."""
    body = text[1:-1]
    value, end = _character(body, 0, "'") if body else ("", 1)
    if end != len(body) or body == "'":
        raise TemplateFault(f"malformed character constant: {text}")
    code = ord(value)
    if 0xDC80 <= code <= 0xDCFF:
        code = code - 0xDC00 if body.startswith("\\") else 0xFFFD
    return NumberValue(code, float(code), floating=False)


def parse_string(text: str) -> str:
    """Read a quoted or raw string with its quotes; bytes that are not UTF-8 become surrogate escapes."""
    body = text[1:-1]
    if text[0] == "`":
        return body.replace("\r", "")
    if "\\" not in body:
        return body
    parts: list[str] = []
    position = 0
    while position < len(body):
        part, position = _character(body, position, '"')
        parts.append(part)
    return _joined("".join(parts))


def _joined(text: str) -> str:
    """Bytes given one by one (``\\xc3\\xa9``) may form a character together."""
    try:
        return text.encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text


def _character(body: str, position: int, quote: str) -> tuple[str, int]:
    """One character or escape of ``body`` and where the next one begins."""
    char = body[position]
    if char != "\\":
        return char, position + 1
    kind = body[position + 1 : position + 2]
    if kind in _SIMPLE:
        return _SIMPLE[kind], position + 2
    if kind == quote:
        return quote, position + 2
    if kind in _HEX_WIDTH:
        width = _HEX_WIDTH[kind]
        digits = body[position + 2 : position + 2 + width]
        if len(digits) == width and _HEX.fullmatch(digits):
            return _scalar(int(digits, 16), is_byte=kind == "x"), position + 2 + width
    elif _OCTAL.match(body, position + 1):
        code = int(body[position + 1 : position + 4], 8)
        if code < 256:
            return _scalar(code, is_byte=True), position + 4
    raise TemplateFault(f"invalid escape in the literal {quote}{body}{quote}")


def _scalar(code: int, *, is_byte: bool) -> str:
    if is_byte:
        return chr(code) if code < 0x80 else chr(0xDC00 + code)
    if code > 0x10FFFF or 0xD800 <= code < 0xE000:
        raise TemplateFault(f"U+{code:X} is not a character")
    return chr(code)
