"""Go's ``time.Time`` with ``Format``; the reading end is in :mod:`osm_gitops.gocompat.timeparse`.

A local time is UTC: the run must not depend on the machine (design.md, "Determinism").
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

MONTHS: Final = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
WEEKDAYS: Final = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
NANOSECONDS: Final = 1_000_000_000
_LONGEST_REMEMBERED: Final = 200
STRING_LAYOUT: Final = "2006-01-02 15:04:05.999999999 -0700 MST"

_CHUNK: Final = re.compile(
    r"January|Jan(?![a-z])|Monday|Mon(?![a-z])|MST|0[1-6]|002|15|1|2006|2|_2(?!006)|__2|[345]|PM|pm"
    r"|[-Z]07(?:0000|:00:00|00|:00)?|[.,](?:0+|9+)(?![0-9])"
)


@dataclass(frozen=True, slots=True)
class Zone:
    """An offset from UTC in seconds and its name, which may be missing."""

    name: str
    offset: int


UTC: Final = Zone("UTC", 0)


@dataclass(frozen=True, slots=True)
class Moment:
    """A point in time, in nanoseconds since 1970 UTC, and the zone that it is shown in."""

    nanoseconds: int
    zone: Zone = UTC

    def clock(self) -> Clock:
        """What calendar and clock say in the moment's zone."""
        seconds, nanosecond = divmod(self.nanoseconds, NANOSECONDS)
        days, second = divmod(seconds + self.zone.offset, 86_400)
        year, month, day = _civil(days)
        hour, minute = divmod(second // 60, 60)
        return Clock(
            year, month, day, hour, minute, second % 60, nanosecond,
            weekday=(days + 4) % 7, yearday=days - days_since_epoch(year, 1, 1) + 1, zone=self.zone,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Clock:
    """The parts of a time; ``weekday`` 0 is Sunday, ``yearday`` 1 the first of January."""

    year: int
    month: int
    day: int
    hour: int
    minute: int
    second: int
    nanosecond: int
    weekday: int
    yearday: int
    zone: Zone


def format_time(moment: Moment, layout: str) -> str:
    """``Time.Format``."""
    clock = moment.clock()
    return "".join(part if kind == "" else _WRITERS[kind](clock, part) for kind, part in chunks(layout))


def chunks(layout: str) -> tuple[tuple[str, str], ...]:
    """``layout`` cut up: ``("", literal text)`` and ``(kind, element)``, such as ``("zone", "-07:00")``."""
    return _remembered(layout) if len(layout) <= _LONGEST_REMEMBERED else _chunks(layout)


@lru_cache(maxsize=256)
def _remembered(layout: str) -> tuple[tuple[str, str], ...]:
    return _chunks(layout)


def _chunks(layout: str) -> tuple[tuple[str, str], ...]:
    found: list[tuple[str, str]] = []
    end = 0
    for match in _CHUNK.finditer(layout):
        if match.start() > end:
            found.append(("", layout[end : match.start()]))
        found.append((_kind(match[0]), match[0]))
        end = match.end()
    if end < len(layout):
        found.append(("", layout[end:]))
    return tuple(found)


def days_since_epoch(year: int, month: int, day: int) -> int:
    """Days from 1970-01-01 to a date of the Gregorian calendar."""
    shifted = year - (month <= 2)
    era, of_era = divmod(shifted, 400)
    of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    return era * 146_097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719_468


def _civil(days: int) -> tuple[int, int, int]:
    """Year, month and day of a count of days since 1970."""
    era, of_era = divmod(days + 719_468, 146_097)
    year_of_era = (of_era - of_era // 1_460 + of_era // 36_524 - of_era // 146_096) // 365
    of_year = of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    shifted = (5 * of_year + 2) // 153
    month = shifted + 3 if shifted < 10 else shifted - 9
    return year_of_era + era * 400 + (month <= 2), month, of_year - (153 * shifted + 2) // 5 + 1


def _kind(element: str) -> str:
    if element[0] in "-Z":
        return "zone"
    return "fraction" if element[0] in ".," else element


def _number(value: int, width: int) -> str:
    return f"{'-' if value < 0 else ''}{abs(value):0{width}d}"


def _twelve(clock: Clock) -> int:
    return clock.hour % 12 or 12


def _fraction(clock: Clock, element: str) -> str:
    digits = f"{clock.nanosecond:09d}"[: len(element) - 1].ljust(len(element) - 1, "0")
    if element[1] == "0":
        return element[0] + digits[:9]
    kept = digits[:9].rstrip("0")
    return element[0] + kept if clock.nanosecond and kept else ""


def _offset(clock: Clock, element: str) -> str:
    """``-07:00`` and its kin; those with a Z write it for UTC."""
    offset = clock.zone.offset
    if element[0] == "Z" and offset == 0:
        return "Z"
    minutes, seconds = divmod(abs(offset), 60)
    if -60 < offset < 0:
        seconds = -seconds  # so does Go, whose sign is that of the minutes
    colon = ":" if ":" in element else ""
    parts = [_number(number, 2) for number in (minutes // 60, minutes % 60, seconds)]
    wanted = (len(element.replace(":", "")) - 1) // 2
    return ("-" if offset <= -60 else "+") + colon.join(parts[:wanted])


def _zone_name(clock: Clock, _: str) -> str:
    return clock.zone.name or _offset(clock, "-0700")


_WRITERS: Final[dict[str, Callable[[Clock, str], str]]] = {
    "2006": lambda clock, _: _number(clock.year, 4),
    "06": lambda clock, _: f"{abs(clock.year) % 100:02d}",
    "January": lambda clock, _: MONTHS[clock.month - 1],
    "Jan": lambda clock, _: MONTHS[clock.month - 1][:3],
    "01": lambda clock, _: f"{clock.month:02d}",
    "1": lambda clock, _: str(clock.month),
    "Monday": lambda clock, _: WEEKDAYS[clock.weekday],
    "Mon": lambda clock, _: WEEKDAYS[clock.weekday][:3],
    "02": lambda clock, _: f"{clock.day:02d}",
    "_2": lambda clock, _: f"{clock.day:2d}",
    "2": lambda clock, _: str(clock.day),
    "002": lambda clock, _: f"{clock.yearday:03d}",
    "__2": lambda clock, _: f"{clock.yearday:3d}",
    "15": lambda clock, _: f"{clock.hour:02d}",
    "03": lambda clock, _: f"{_twelve(clock):02d}",
    "3": lambda clock, _: str(_twelve(clock)),
    "04": lambda clock, _: f"{clock.minute:02d}",
    "4": lambda clock, _: str(clock.minute),
    "05": lambda clock, _: f"{clock.second:02d}",
    "5": lambda clock, _: str(clock.second),
    "PM": lambda clock, _: "PM" if clock.hour >= 12 else "AM",
    "pm": lambda clock, _: "pm" if clock.hour >= 12 else "am",
    "MST": _zone_name,
    "zone": _offset,
    "fraction": _fraction,
}
