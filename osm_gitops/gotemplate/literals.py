"""Literals of Go templates: strings, characters and numbers (osm-behaviour.md, "Template language")."""

from __future__ import annotations

import re
from dataclasses import dataclass

from osm_gitops.gotemplate.faults import Refused, TemplateFault

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
    """Read a quoted or raw string with its quotes; bytes that are no UTF-8 become surrogate escapes."""
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
