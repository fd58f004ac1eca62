"""``gopkg.in/yaml.v3`` for plain data: what a plain scalar means (to yaml.v2, too), and ``Marshal`` (osm-behaviour.md,
"YAML layout")."""

from __future__ import annotations

import math
import re
from typing import Any, Final

from osm_gitops.gocompat.basetext import encode_base64
from osm_gitops.gocompat.fault import GoError
from osm_gitops.gocompat.gojson import Fields
from osm_gitops.gocompat.numbers import format_float
from osm_gitops.gocompat.text import has_invalid, to_bytes
from osm_gitops.gocompat.times import Moment, format_time, parse_time
from osm_gitops.gocompat.yamlemit import Emitter, Scalar, Shape, sorted_members

STRING: Final = "!!str"
INTEGER: Final = "!!int"
FLOAT: Final = "!!float"
BOOL: Final = "!!bool"
NULL: Final = "!!null"
TIMESTAMP: Final = "!!timestamp"

_WORDS: Final[dict[str, tuple[str, Any]]] = {
    **dict.fromkeys(("true", "True", "TRUE"), (BOOL, True)),
    **dict.fromkeys(("false", "False", "FALSE"), (BOOL, False)),
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), (NULL, None)),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), (FLOAT, math.nan)),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), (FLOAT, math.inf)),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), (FLOAT, -math.inf)),
}
OLD_BOOLS: Final[dict[str, bool]] = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "off", "Off", "OFF"), False),
}
"""YAML 1.1's other booleans: booleans to yaml.v2, strings that it still quotes to yaml.v3."""

_INTEGER: Final = re.compile(
    r"(?P<sign>[+-]?)(?:0[xX](?P<hex>[0-9a-fA-F]+)|0[bB](?P<binary>[01]+)|0[oO]?(?P<octal>[0-7]+)|(?P<decimal>0|[1-9][0-9]*))"
)
_SIGN_INSIDE: Final = re.compile(r"0(?:b(?P<binary>[+-][01]+)|o(?P<octal>[+-][0-7]+))")
_FLOAT: Final = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_SEXAGESIMAL: Final = re.compile(r"[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?")
_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?P<mark>[Tt ]|\Z)")
# By what comes behind the date, so that a scalar is tried once.
_TIME_LAYOUTS: Final = {
    "T": "2006-1-2T15:4:5.999999999Z07:00",
    "t": "2006-1-2t15:4:5.999999999Z07:00",
    " ": "2006-1-2 15:4:5.999999999",
    "": "2006-1-2",
}
_LONGEST_INTEGER: Final = 64  # 64 bits in base 2
_SHORT_INTEGER: Final = 19  # fewer decimal digits are always within 64 bits
_BASES: Final = {"hex": 16, "binary": 2, "octal": 8, "decimal": 10}


def resolve(text: str, *, old: bool = False) -> tuple[str, Any]:
    """Tag and value of the plain scalar ``text``; ``old`` reads it as yaml.v2, else as yaml.v3.

    Integers beyond 64 bits become floats, numbers beyond float64 stay strings.
    """
    word = _WORDS.get(text)
    if word:
        return word
    if old and text in OLD_BOOLS:
        return BOOL, OLD_BOOLS[text]
    first = text[0]
    if first == ".":
        number = _float(text)
        return (STRING, text) if number is None else (FLOAT, number)
    if first not in "+-0123456789":
        return STRING, text
    if first in "123456789" and text.isascii() and text.isdigit() and len(text) < _SHORT_INTEGER:
        return INTEGER, int(text)
    time = _timestamp(text)
    return (TIMESTAMP, time) if time else _number(text, old=old)


def looks_sexagesimal(text: str) -> bool:
    """Whether YAML 1.1 would read a number in base 60 (``12:30:45``), which go-yaml quotes."""
    return _SEXAGESIMAL.fullmatch(text) is not None


def base64_lines(text: str) -> str:
    """The bytes of ``text`` as a ``!!binary`` scalar: one line, or lines of 70 characters each with its line break."""
    encoded = encode_base64(to_bytes(text))
    if len(encoded) < 70:
        return encoded
    return "".join(f"{encoded[start : start + 70]}\n" for start in range(0, len(encoded), 70))


def _number(text: str, *, old: bool) -> tuple[str, Any]:
    plain = text.replace("_", "")
    integer = _integer(plain)
    if integer is not None:
        return INTEGER, integer
    number = _float(plain)
    if number is not None:
        return FLOAT, number
    inside = _SIGN_INSIDE.fullmatch(plain)
    if inside and (inside["binary"] or not old) and len(plain) <= _LONGEST_INTEGER + len("0b+"):
        value = int(inside["binary"], 2) if inside["binary"] else int(inside["octal"], 8)
        if -(1 << 63) <= value < 1 << 63:
            return INTEGER, value
    return STRING, text


def _integer(plain: str) -> int | None:
    match = _INTEGER.fullmatch(plain)
    if not match or not match.lastgroup:
        return None
    digits = match[match.lastgroup].lstrip("0") or "0"
    if len(digits) > _LONGEST_INTEGER:
        return None
    magnitude = int(digits, _BASES[match.lastgroup])
    if match["sign"] == "-":
        return -magnitude if magnitude <= 1 << 63 else None
    return magnitude if magnitude < (1 << 63 if match["sign"] else 1 << 64) else None


def _float(plain: str) -> float | None:
    if not _FLOAT.fullmatch(plain):
        return None
    number = float(plain)
    return number if math.isfinite(number) else None


def _timestamp(text: str) -> Moment | None:
    """The time in ``text``, if it has one of the four formats of go-yaml."""
    match = _DATE.match(text)
    if not match:
        return None
    try:
        return parse_time(_TIME_LAYOUTS[match["mark"]], text)
    except GoError:
        return None


_RFC3339: Final = "2006-01-02T15:04:05.999999999Z07:00"
_SPECIAL_FLOATS: Final = {"+Inf": ".inf", "-Inf": "-.inf", "NaN": ".nan"}


def encode(value: Any) -> str:
    """The document, with its final line break.

    ``dict`` is a map (its keys are strings, numbers, booleans or None), :class:`~osm_gitops.gocompat.gojson.Fields`
    a struct, ``list`` a slice, :class:`~osm_gitops.gocompat.times.Moment` a ``time.Time``.
    """
    return Emitter(_shape).document(value)


def _shape(value: Any) -> Shape:
    if isinstance(value, Fields):
        return Shape(members=value.items())
    if isinstance(value, dict):
        return Shape(members=sorted_members(value, old=False))
    if isinstance(value, list):
        return Shape(items=value)
    if isinstance(value, str):
        return Shape(_string(value))
    return Shape(Scalar(_plain(value)))


def _plain(value: Any) -> str:
    """A value that is neither a string nor a collection."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        text = format_float(value)
        return _SPECIAL_FLOATS.get(text, text)
    return format_time(value, _RFC3339) if isinstance(value, Moment) else str(value)


def _string(text: str) -> Scalar:
    tag = ""
    plain = True
    if has_invalid(text):
        text, tag = base64_lines(text), "!!binary"
    else:
        plain = resolve(text)[0] == STRING and text not in OLD_BOOLS and not looks_sexagesimal(text)
    return Scalar(text, "literal" if "\n" in text else "plain" if plain else "double", tag)
