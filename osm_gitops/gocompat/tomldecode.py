"""``BurntSushi/toml`` ``Unmarshal`` into a ``map[string]interface {}`` (osm-behaviour.md, "Template functions")."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from datetime import date, datetime, time
from typing import Any, Final

from osm_gitops.gocompat.fault import GoError
from osm_gitops.gocompat.text import has_invalid
from osm_gitops.gocompat.timefmt import Moment, Zone
from osm_gitops.gocompat.timeparse import parse_time
from osm_gitops.gocompat.tomltext import TomlError, read_toml

_NANOSECONDS: Final = re.compile(r":[0-9]{2}\.[0-9]{7}")
_INT64: Final = 1 << 63


def decode(text: str) -> dict[str, Any]:
    """The document as plain data with :class:`~osm_gitops.gocompat.timefmt.Moment` for times.

    Raises GoError, but not in Go's words, for what is no TOML 1.0; Go reads TOML 1.1.
    """
    if has_invalid(text):
        raise GoError("toml: the text is no UTF-8")
    if _NANOSECONDS.search(text):
        raise GoError("toml: a time with more than six digits behind the second")
    try:
        document = read_toml(text.removeprefix("\ufeff"), _float)
    except TomlError as error:
        raise GoError(f"no TOML 1.0 text: {error}") from None
    return {key: _value(value) for key, value in document.items()}


def _float(spelling: str) -> float:
    number = float(spelling)
    if math.isinf(number) and "inf" not in spelling:
        raise GoError(f"toml: {spelling} is out of range for float64")
    return number


def _value(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _value(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_value(each) for each in value]
    if isinstance(value, int) and not -_INT64 <= value < _INT64:
        raise GoError(f"toml: {value} is out of range for int64")
    if isinstance(value, (date, time)):
        return _moment(value)
    return value


def _moment(value: date | time) -> Moment:
    """A time without a zone is in one whose name says so; one without a date is in the year 0."""
    if isinstance(value, time):
        return replace(parse_time("15:04:05", value.isoformat()), zone=Zone("time-local", 0))
    if not isinstance(value, datetime):
        return replace(parse_time("2006-01-02", value.isoformat()), zone=Zone("date-local", 0))
    if value.tzinfo:
        return parse_time("2006-01-02T15:04:05Z07:00", value.isoformat())
    return replace(parse_time("2006-01-02T15:04:05", value.isoformat()), zone=Zone("datetime-local", 0))
