"""Go's ``encoding/json`` for plain data (osm-behaviour.md, "Annotations that are written" and "Cloud-config by
provider" and "Ignition user-data").

A string may hold invalid UTF-8 bytes as surrogate escapes. ``dict`` is a map (sorted by
the bytes of its keys), :class:`~osm_gitops.gocompat.fields.Fields` a struct (kept in order).
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping
from typing import Any, Final

from osm_gitops.gocompat import jsonsyntax
from osm_gitops.gocompat.fault import GoError
from osm_gitops.gocompat.fields import Fields
from osm_gitops.gocompat.numbers import format_float
from osm_gitops.gocompat.text import to_bytes
from osm_gitops.gocompat.timefmt import Moment, format_time

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
    plain = None if annotations is None else dict(annotations)
    return hashlib.sha256(canonical(plain)).hexdigest()


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
            return _time(value)
        inner = margin + self.indent
        if isinstance(value, list):
            return self.between("[", [self.text(item, inner) for item in value], "]", margin)
        colon = ": " if self.indent else ":"
        members = [self.string(name) + colon + self.text(item, inner) for name, item in _ordered(value)]
        return self.between("{", members, "}", margin)

    def between(self, opening: str, items: list[str], closing: str, margin: str) -> str:
        if not items:
            return opening + closing
        inner = margin + self.indent
        return f"{opening}{inner}{f',{inner}'.join(items)}{margin}{closing}"

    def string(self, text: str) -> str:
        escapes = self.escapes
        return '"' + self.escaped.sub(lambda match: escapes[match[0]], text) + '"'


def _ordered(members: dict[str, Any]) -> list[tuple[str, Any]]:
    if isinstance(members, Fields):
        return list(members.items())
    return sorted(members.items(), key=lambda member: to_bytes(member[0]))


def _time(moment: Moment) -> str:
    if abs(moment.zone.offset) >= 24 * 3600:
        raise GoError("Time.MarshalJSON: timezone hour outside of range [0,23]")
    return f'"{format_time(moment, "2006-01-02T15:04:05.999999999Z07:00")}"'


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

    jsonsyntax.check(text, MAX_DEPTH)
    value = _only_text(json.JSONDecoder(parse_int=number, parse_float=number).decode(text))
    if overflows:
        raise NumberRange(overflows[0], value)
    return value


def _only_text(value: Any) -> Any:
    """``value`` with U+FFFD for every byte that is no UTF-8 and every half of a surrogate pair."""
    if isinstance(value, str):
        return _SURROGATES.sub("\ufffd", value)
    if isinstance(value, list):
        return [_only_text(item) for item in value]
    if isinstance(value, dict):
        return {_only_text(name): _only_text(item) for name, item in value.items()}
    return value
