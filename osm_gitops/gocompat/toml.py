"""``github.com/BurntSushi/toml`` 1.6: its encoder's layout, and a decoder for the same documents (osm-behaviour.md,
"TOML layout", "containerd config.toml" and "Template functions").

Go values are plain data: ``dict`` a map, :class:`~osm_gitops.gocompat.gojson.Fields` a struct, ``list`` a slice,
``None`` anything that is nil.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import date, datetime, time
from typing import Any, Final

from osm_gitops.gocompat.fault import GoError
from osm_gitops.gocompat.gojson import Fields
from osm_gitops.gocompat.numbers import format_float
from osm_gitops.gocompat.text import has_invalid, to_bytes
from osm_gitops.gocompat.times import Moment, Zone, format_time, parse_time

_BARE: Final = re.compile(r"[A-Za-z0-9_-]+")
_RFC3339: Final = "2006-01-02T15:04:05.999999999Z07:00"
LOCAL_TIMES: Final = {
    "datetime-local": "2006-01-02T15:04:05.999999999",
    "date-local": "2006-01-02",
    "time-local": "15:04:05.999999999",
}
"""Names of the zones that times without a zone are read into, and how they are written."""
_ESCAPES: Final = {
    **{code: f"\\u{code:04x}" for code in (*range(0x20), 0x7F)},
    **{ord(char): "\\" + name for char, name in zip('\b\t\n\f\r"\\', 'btnfr"\\', strict=True)},
}


def key(text: str) -> str:
    """One part of a key: bare if only ``A–Z a–z 0–9 _ -``, otherwise quoted."""
    return text if _BARE.fullmatch(text) else string(text)


def string(text: str) -> str:
    """A basic string on one line; everything but quotes, backslashes and control characters stays raw."""
    return f'"{text.translate(_ESCAPES)}"'


def encode(value: Any, indent: str = "  ") -> str:
    """The document for ``value``; ``indent`` is written once per level of table nesting.

    A scalar or a list prints as itself, without a final newline. Raises GoError for a nil inside a list and for a list
    of tables at the top.
    """
    writer = _Writer(indent)
    writer.value((), value)
    return "".join(writer.parts)


class _Writer:
    """Output so far; its methods follow the paths a value can take through a document."""

    __slots__ = ("indent", "parts")

    def __init__(self, indent: str) -> None:
        self.indent = indent
        self.parts: list[str] = []

    def value(self, path: tuple[str, ...], value: Any) -> None:
        if isinstance(value, dict):
            self.table(path, value)
        elif isinstance(value, list) and _is_table_array(value):
            self.table_array(path, value)
        elif path:
            self.parts.append(f"{self.indentation(path)}{key(path[-1])} = {_inline(value)}\n")
        else:
            self.parts.append(_inline(value))

    def table(self, path: tuple[str, ...], table: Mapping[str, Any]) -> None:
        if len(path) == 1:
            self.blank_line()
        if path:
            self.parts.append(f"{self.indentation(path)}[{'.'.join(map(key, path))}]\n")
        self.members(path, table)

    def table_array(self, path: tuple[str, ...], tables: Iterable[Mapping[str, Any]]) -> None:
        if not path:
            raise GoError("toml: top-level values must be Go maps or structs")
        for table in tables:
            self.blank_line()
            self.parts.append(f"{self.indentation(path)}[[{'.'.join(map(key, path))}]]\n")
            self.members(path, table)

    def members(self, path: tuple[str, ...], table: Mapping[str, Any]) -> None:
        for name, value in _ordered(table):
            if value is not None:
                self.value((*path, name), value)

    def blank_line(self) -> None:
        if self.parts:
            self.parts.append("\n")

    def indentation(self, path: tuple[str, ...]) -> str:
        return self.indent * (len(path) - 1)


def _is_table_array(values: list[Any]) -> bool:
    """Whether all elements are tables; every element is looked at, as nil is an error anywhere."""
    tables = [_is_table(value) for value in values]
    if None in values:
        raise GoError("toml: cannot encode array with nil element")
    return bool(tables) and all(isinstance(value, dict) for value in values)


def _is_table(value: Any) -> bool:
    return isinstance(value, dict) or (isinstance(value, list) and _is_table_array(value))


def _ordered(table: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Members in the order they are written: plain values first, then tables; a map's sorted by bytes."""
    names = list(table) if isinstance(table, Fields) else sorted(table, key=to_bytes)
    plain: list[tuple[str, Any]] = []
    tables: list[tuple[str, Any]] = []
    for name in names:
        (tables if _is_table(table[name]) else plain).append((name, table[name]))
    return plain + tables


def _inline(value: Any) -> str:
    if isinstance(value, str):
        return string(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, float):
        return _float(value)
    if isinstance(value, list):
        return f"[{', '.join(map(_inline, value))}]"
    if isinstance(value, Moment):
        return format_time(value, LOCAL_TIMES.get(value.zone.name, _RFC3339))
    if isinstance(value, Fields):
        return _inline_struct(value)
    return _inline_map(value)


def _float(number: float) -> str:
    if math.isnan(number):
        return "nan"
    if math.isinf(number):
        return "inf" if number > 0 else "-inf"
    text = format_float(number)
    return text if "." in text or "e" in text else f"{text}.0"


def _inline_map(table: Mapping[str, Any]) -> str:
    """``{a = 1, b = 2}``; where the last member is nil, the comma before it stays, as in Go."""
    members = _ordered(table)
    last = len(members) - 1
    written = [
        f"{key(name)} = {_inline(value)}" + (", " if index < last else "")
        for index, (name, value) in enumerate(members)
        if value is not None
    ]
    return "{" + "".join(written) + "}"


def _inline_struct(struct: Fields) -> str:
    """Like a map's, but Go leaves the comma out after the last field of the *struct*, wherever it is written."""
    last = next(reversed(struct), None)
    written = [
        f"{key(name)} = {_inline(value)}" + ("" if name == last else ", ")
        for name, value in _ordered(struct)
        if value is not None
    ]
    return "{" + "".join(written) + "}"


MOST_PARTS: Final = 100
"""How many parts a dotted key may have: tomllib takes the square of their number in time and memory."""
_MOST_NESTED: Final = 100

_PART: Final = r"""(?:[A-Za-z0-9_-]++|"(?:[^"\\\n]|\\.)*+"|'[^'\n]*+')[ \t]*+"""
# The content of strings and comments is skipped. Nothing is read twice.
_TOKEN: Final = re.compile(
    rf"""(?P<long>{_PART}(?:\.[ \t]*+{_PART}){{{MOST_PARTS}}})
    |\"{{3}}(?:[^\\"]|\\.|"(?!""))*+(?:\"{{3}}|\Z)|'{{3}}(?:[^']|'(?!''))*+(?:'{{3}}|\Z)
    |"(?:[^"\\\n]|\\.)*+"|'[^'\n]*+'|\#[^\n]*+|[A-Za-z0-9_-]++|(?P<open>[\[{{])|(?P<close>[\]}}])""",
    re.VERBOSE | re.DOTALL,
)


class TomlError(ValueError):
    """Invalid TOML, or too deep nesting; the message is tomllib's, or ours."""


def read_toml(text: str, parse_float: Callable[[str], float] = float) -> dict[str, Any]:
    """The document as plain data; ``parse_float`` reads the spelling of a float. Raises TomlError."""
    _check_nesting(text)
    try:
        return tomllib.loads(text, parse_float=parse_float)
    except tomllib.TOMLDecodeError as error:
        raise TomlError(str(error)) from None
    except GoError:
        raise
    except ValueError:  # an integer of thousands of digits
        raise TomlError("a number has too many digits") from None


def _check_nesting(text: str) -> None:
    depth = 0
    for token in _TOKEN.finditer(text):
        if token["long"]:
            line = text.count("\n", 0, token.start()) + 1
            raise TomlError(f"a key has more than {MOST_PARTS} parts (at line {line}, column 1)")
        if token["open"]:
            depth += 1
            if depth > _MOST_NESTED:
                line = text.count("\n", 0, token.start()) + 1
                raise TomlError(f"values are nested more than {_MOST_NESTED} deep (at line {line}, column 1)")
        elif token["close"]:
            depth -= 1


_NANOSECONDS: Final = re.compile(r":[0-9]{2}\.[0-9]{7}")
_INT64: Final = 1 << 63


def decode(text: str) -> dict[str, Any]:
    """The document as plain data with :class:`~osm_gitops.gocompat.times.Moment` for times.

    Raises GoError, but not in Go's words, for what is no TOML 1.0; Go reads TOML 1.1.
    """
    if has_invalid(text):
        raise GoError("toml: the text is no UTF-8")
    if _NANOSECONDS.search(text):
        raise GoError("toml: a time with more than six digits behind the second")
    try:
        document = read_toml(text.removeprefix("\ufeff"), _decoded_float)
    except TomlError as error:
        raise GoError(f"no TOML 1.0 text: {error}") from None
    return {key: _decoded(value) for key, value in document.items()}


def _decoded_float(spelling: str) -> float:
    number = float(spelling)
    if math.isinf(number) and "inf" not in spelling:
        raise GoError(f"toml: {spelling} is out of range for float64")
    return number


def _decoded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _decoded(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_decoded(each) for each in value]
    if isinstance(value, int) and not -_INT64 <= value < _INT64:
        raise GoError(f"toml: {value} is out of range for int64")
    if isinstance(value, (date, time)):
        return _moment(value)
    return value


def _moment(value: date | time) -> Moment:
    """A local time is in a zone with a name for it; a time without a date is in the year 0."""
    if isinstance(value, time):
        return replace(parse_time("15:04:05", value.isoformat()), zone=Zone("time-local", 0))
    if not isinstance(value, datetime):
        return replace(parse_time("2006-01-02", value.isoformat()), zone=Zone("date-local", 0))
    if value.tzinfo:
        return parse_time("2006-01-02T15:04:05Z07:00", value.isoformat())
    return replace(parse_time("2006-01-02T15:04:05", value.isoformat()), zone=Zone("datetime-local", 0))
