"""Go's ``encoding/json`` for plain data (osm-behaviour.md, "Annotations that are written" and "Cloud-config by
provider" and "Ignition user-data"), with its errors.

A string may hold invalid UTF-8 bytes as surrogate escapes. ``dict`` is a map (sorted by the bytes of its keys),
:class:`Fields` a struct (kept in order).
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping
from json.encoder import encode_basestring
from typing import Any, Final

from osm_gitops.gocompat.fault import GoError
from osm_gitops.gocompat.numbers import format_float, quote
from osm_gitops.gocompat.text import to_bytes
from osm_gitops.gocompat.times import Moment, format_time


class Fields(dict[str, Any]):
    """A Go struct handed to an encoder: names and values in the struct's own order, never sorted."""

    __slots__ = ()


MAX_DEPTH: Final = 100
_SURROGATES: Final = re.compile("[\ud800-\udfff]")
_ESCAPES: Final[dict[str, str]] = {
    **{chr(code): f"\\u{code:04x}" for code in (*range(0x20), 0x2028, 0x2029)},
    **{char: "\\" + name for char, name in zip('\b\t\n\f\r"\\', 'btnfr"\\', strict=True)},
    **{chr(code): "\\ufffd" for code in range(0xD800, 0xE000)},
}
_HTML_ESCAPES: Final[dict[str, str]] = {**_ESCAPES, "<": "\\u003c", ">": "\\u003e", "&": "\\u0026"}
_ESCAPED: Final = re.compile('[\x00-\x1f"\\\\\u2028\u2029\ud800-\udfff]')
_HTML_ESCAPED: Final = re.compile('[\x00-\x1f"\\\\<>&\u2028\u2029\ud800-\udfff]')


def encode(value: Any, *, escape_html: bool = True, indent: str = "") -> str:
    """``json.Marshal``; ``indent`` makes it ``json.MarshalIndent``, no ``escape_html`` SetEscapeHTML(false).

    Raises GoError for NaN and infinities.
    """
    return _Encoder(escape_html, indent).text(value, "\n" if indent else "")


def canonical(value: Any) -> bytes:
    """The UTF-8 bytes of :func:`encode` as Kubernetes and OSM hash and store them."""
    return encode(value).encode()


def annotations_hash(annotations: Mapping[str, str] | None) -> str:
    """The value of ``k8c.io/mdannotations-hash``: SHA-256 of a map's JSON, in hex (osm-behaviour.md, "Annotations that
    are written")."""
    if annotations is None:
        return hashlib.sha256(b"null").hexdigest()
    # Python's own encoder writes ASCII as Go does, but for what Go escapes for HTML, and is much faster than ours.
    members = [f"{encode_basestring(key)}:{encode_basestring(annotations[key])}" for key in sorted(annotations)]
    text = f"{{{','.join(members)}}}"
    if not text.isascii():
        return hashlib.sha256(canonical(dict(annotations))).hexdigest()
    for char in "<>&":
        if char in text:  # which is much faster to tell
            text = text.replace(char, _HTML_ESCAPES[char])
    return hashlib.sha256(text.encode()).hexdigest()


class _Encoder:
    __slots__ = ("escaped", "escapes", "indent")

    def __init__(self, escape_html: bool, indent: str) -> None:
        self.escapes = _HTML_ESCAPES if escape_html else _ESCAPES
        self.escaped = _HTML_ESCAPED if escape_html else _ESCAPED
        self.indent = indent

    def text(self, value: Any, margin: str) -> str:
        """``value``; ``margin`` is the line break and indentation of its surroundings, or nothing."""
        if value is None:
            return "null"
        if isinstance(value, str):
            return self.string(value)
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, int):
            return str(int(value))
        if isinstance(value, float):
            return _float(value)
        if isinstance(value, Moment):
            if abs(value.zone.offset) >= 24 * 3600:
                raise GoError("Time.MarshalJSON: timezone hour outside of range [0,23]")
            return f'"{format_time(value, "2006-01-02T15:04:05.999999999Z07:00")}"'
        inner = margin + self.indent
        if isinstance(value, list):
            return self.between("[", [self.text(item, inner) for item in value], "]", margin)
        colon = ": " if self.indent else ":"
        by_bytes = not isinstance(value, Fields)
        ordered = sorted(value.items(), key=lambda member: to_bytes(member[0])) if by_bytes else value.items()
        members = [self.string(name) + colon + self.text(item, inner) for name, item in ordered]
        return self.between("{", members, "}", margin)

    def between(self, opening: str, items: list[str], closing: str, margin: str) -> str:
        if not items:
            return opening + closing
        inner = margin + self.indent
        return f"{opening}{inner}{f',{inner}'.join(items)}{margin}{closing}"

    def string(self, text: str) -> str:
        if self.escaped.search(text) is None:
            return f'"{text}"'
        escapes = self.escapes
        return '"' + self.escaped.sub(lambda match: escapes[match[0]], text) + '"'


def _float(number: float) -> str:
    if not math.isfinite(number):
        shown = "NaN" if math.isnan(number) else ("+Inf" if number > 0 else "-Inf")
        raise GoError(f"json: unsupported value: {shown}")
    if number and not 1e-6 <= abs(number) < 1e21:
        return re.sub("e-0", "e-", format_float(number, "e"))
    return format_float(number, "f")


class NumberRange(GoError):
    """A number that no float64 holds; ``value`` is what Go decodes all the same, with nil in its place."""

    def __init__(self, spelling: str, value: Any) -> None:
        super().__init__(f"json: cannot unmarshal number {spelling} into Go value of type float64")
        self.value = value


def decode(text: str) -> Any:
    """``json.Unmarshal`` into an ``interface {}``: numbers are floats, of equal keys the last one wins.

    Raises GoError with Go's text for what is no JSON, :class:`NumberRange`, and ``NestedTooDeep`` for
    arrays and objects nested more than :data:`MAX_DEPTH` deep (Go's own limit is 10,000).
    """
    overflows: list[str] = []

    def number(spelling: str) -> float | None:
        value = float(spelling)
        if math.isfinite(value):
            return value
        overflows.append(spelling)
        return None

    check_syntax(text, MAX_DEPTH)
    value = _only_text(json.JSONDecoder(parse_int=number, parse_float=number).decode(text))
    if overflows:
        raise NumberRange(overflows[0], value)
    return value


def _only_text(value: Any) -> Any:
    """``value`` with U+FFFD for each byte that is not UTF-8 and each lone surrogate."""
    if isinstance(value, str):
        return _SURROGATES.sub("\ufffd", value)
    if isinstance(value, list):
        return [_only_text(item) for item in value]
    if isinstance(value, dict):
        return {_only_text(name): _only_text(item) for name, item in value.items()}
    return value


_BLANKS: Final = re.compile(r"[ \t\r\n]*")
_STRING: Final = re.compile(r'"[^"\\\x00-\x1f]*+(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*+)*+')
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_WORDS: Final = {"t": "true", "f": "false", "n": "null"}
_HEX: Final = frozenset("0123456789abcdefABCDEF")
_DIGITS: Final = frozenset("0123456789")
_NO_BLANK: Final = ("in string escape", "in \\u", "after decimal", "in exponent", "in numeric", "in literal")
_VALUE: Final = "looking for beginning of value"
_KEY: Final = "looking for beginning of object key string"


class NestedTooDeep(GoError):
    """More levels of arrays and objects than the caller can follow."""


def check_syntax(text: str, max_depth: int) -> None:
    """Raise GoError with Go's text at the first character that does not belong, NestedTooDeep beyond ``max_depth``."""
    _Checker(text, max_depth).run()


class _Checker:
    """A place in the text, and the brackets that are open there."""

    __slots__ = ("at", "max_depth", "open", "text")

    def __init__(self, text: str, max_depth: int) -> None:
        self.text = text
        self.max_depth = max_depth
        self.at = 0
        self.open: list[str] = []

    def run(self) -> None:
        self.value(self.next())
        while self.open:
            if self.open[-1] == "[":
                self.behind_element()
            else:
                self.behind_member()
        if self.next():
            raise self.invalid("after top-level value")

    def next(self) -> str:
        """The next character that is not white space; empty at the end."""
        blanks = _BLANKS.match(self.text, self.at)
        self.at = blanks.end() if blanks else self.at
        return self.text[self.at : self.at + 1]

    def behind_element(self) -> None:
        char = self.next()
        if char == "]":
            self.close()
        elif char == ",":
            self.at += 1
            self.value(self.next())
        else:
            raise self.invalid("after array element")

    def behind_member(self) -> None:
        char = self.next()
        if char == "}":
            self.close()
        elif char == ",":
            self.at += 1
            self.member(self.next())
        else:
            raise self.invalid("after object key:value pair")

    def member(self, char: str) -> None:
        if char != '"':
            raise self.invalid(_KEY)
        self.string()
        if self.next() != ":":
            raise self.invalid("after object key")
        self.at += 1
        self.value(self.next())

    def value(self, char: str) -> None:
        """A whole scalar, or the start of an array or object with its first value."""
        if char == '"':
            self.string()
        elif char == "-" or char in _DIGITS:
            self.number()
        elif char in _WORDS:
            self.word(_WORDS[char])
        elif char and char in "[{":
            self.collection(char)
        else:
            raise self.invalid(_VALUE)

    def collection(self, opening: str) -> None:
        self.open.append(opening)
        if len(self.open) > self.max_depth:
            raise NestedTooDeep(f"arrays and objects nested more than {self.max_depth} deep")
        self.at += 1
        char = self.next()
        if char == ("]" if opening == "[" else "}"):
            self.close()
        elif opening == "[":
            self.value(char)
        else:
            self.member(char)

    def close(self) -> None:
        self.open.pop()
        self.at += 1

    def string(self) -> None:
        match = _STRING.match(self.text, self.at)
        assert match
        self.at = match.end()
        char = self.text[self.at : self.at + 1]
        if char == "\\":
            self.escape()
        if char != '"':
            raise self.invalid("in string literal")
        self.at += 1

    def escape(self) -> None:
        """Point at what is wrong with the escape that begins here."""
        self.at += 1
        if self.text[self.at : self.at + 1] != "u":
            raise self.invalid("in string escape code")
        self.at += 1
        while self.text[self.at : self.at + 1] in _HEX:
            self.at += 1
        raise self.invalid("in \\u hexadecimal character escape")

    def number(self) -> None:
        match = _NUMBER.match(self.text, self.at)
        if not match:
            self.at += 1
            raise self.invalid("in numeric literal")
        self.at = match.end()
        char = self.text[self.at : self.at + 1]
        spelled = match[0]
        if char == "." and "." not in spelled and "e" not in spelled.lower():
            self.at += 1
            raise self.invalid("after decimal point in numeric literal")
        if char and char in "eE" and "e" not in spelled.lower():
            self.at += 1
            if self.text[self.at : self.at + 1] in {"+", "-"}:
                self.at += 1
            raise self.invalid("in exponent of numeric literal")

    def word(self, word: str) -> None:
        for expected in word:
            if self.text[self.at : self.at + 1] != expected:
                raise self.invalid(f"in literal {word} (expecting {_quoted(expected)})")
            self.at += 1

    def invalid(self, where: str) -> GoError:
        char = self.text[self.at : self.at + 1]
        if not char and not where.startswith(_NO_BLANK):
            return GoError("unexpected end of JSON input")
        char = char or " "  # Go tries a blank at the end, and complains of it where none may be
        first_byte = chr(to_bytes(char)[0])
        return GoError(f"invalid character {_quoted(first_byte)} {where}")


def _quoted(char: str) -> str:
    if char == "'":
        return r"'\''"
    return "'\"'" if char == '"' else f"'{quote(char)[1:-1]}'"
