"""Durations for people, and times as Kubernetes writes them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

_UNITS: Final = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))
_LONG: Final = 3 * 86_400  # days are used from here on: 36 h is easier to read than 1 d 12 h


def spoken(length: timedelta) -> str:
    """The two largest units, rounded down: ``4 h``, ``1 h 30 min``, ``12 d 3 h``, ``0 s``."""
    rest = max(0, int(length.total_seconds()))
    units = _UNITS if rest >= _LONG else _UNITS[1:]
    for place, (name, size) in enumerate(units):
        if rest >= size:
            smaller, small_size = units[min(place + 1, len(units) - 1)]
            more = rest % size // small_size
            return f"{rest // size} {name} {more} {smaller}" if more else f"{rest // size} {name}"
    return "0 s"


def rfc3339(moment: datetime) -> str:
    """A time in UTC, to the second: ``2026-01-02T03:04:05Z``."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def rfc3339_micro(moment: datetime) -> str:
    """A time in UTC, to the microsecond: ``2026-01-02T03:04:05.000006Z``."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
