"""Go's ``time.Time``: ``Format`` and ``time.Parse``.

A local time is UTC: the run must not depend on the machine (design.md, "Determinism").
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from osm_gitops.gocompat.duration import quote_bytes
from osm_gitops.gocompat.fault import GoError
from osm_gitops.gocompat.text import from_bytes, to_bytes

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
    "MST": lambda clock, _: clock.zone.name or _offset(clock, "-0700"),
    "zone": _offset,
    "fraction": _fraction,
}


_DAYS: Final = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_OFFSETS: Final = {
    ":00": re.compile(r"(?P<sign>.)(?P<hour>..):(?P<minute>..)", re.DOTALL),
    "": re.compile(r"(?P<sign>.)(?P<hour>..)", re.DOTALL),
    ":00:00": re.compile(r"(?P<sign>.)(?P<hour>..):(?P<minute>..):(?P<second>..)", re.DOTALL),
    "0000": re.compile(r"(?P<sign>.)(?P<hour>..)(?P<minute>..)(?P<second>..)", re.DOTALL),
    "00": re.compile(r"(?P<sign>.)(?P<hour>..)(?P<minute>..)", re.DOTALL),
}
_ZONE_NAME: Final = re.compile(
    r"ChST|MeST|GMT(?:[+-](?:0*(?:2[0-3]|1[0-9]|[0-9]))(?![0-9]))?|[+-]0*(?:2[0-3]|1[0-9]|[0-9])(?![0-9])"
    r"|(?:[A-Z]{4}T|[A-Z]{3}T|WITA|[A-Z]{3}(?![A-Z]))(?![A-Z])"
)
_FRACTION: Final = re.compile(r"[.,][0-9]+")


def parse_time(layout: str, text: str) -> Moment:
    """``time.ParseInLocation`` with UTC as the location.

    Raises :class:`GoError` with Go's text: ``parsing time "x" as "2006": cannot parse …``.
    """
    return _Reader(layout, text).read()


class _Mismatch(Exception):
    """The text does not have this element."""


@dataclass(slots=True)
class _Reader:
    """One run of Parse; the parts of the time as far as they were found."""

    layout: str
    text: str
    rest: str = ""
    year: int = 0
    month: int = -1
    day: int = -1
    yearday: int = -1
    hour: int = 0
    minute: int = 0
    second: int = 0
    nanosecond: int = 0
    half: str = ""
    utc: bool = False
    offset: int | None = None
    zone_name: str = ""
    range_fault: str = ""

    def read(self) -> Moment:
        self.rest = _bytewise(self.text)
        elements = chunks(_bytewise(self.layout))
        for place, (kind, element) in enumerate(elements):
            before = self.rest
            following = next((after for after, _ in elements[place + 1 :] if after), "")
            try:
                self._element(kind, element, following)
            except _Mismatch:
                raise self._fault(element, self.rest if kind == "" else before) from None
            if self.range_fault:
                raise self._refusal(f": {self.range_fault} out of range")
        if self.rest:
            raise self._refusal(f": extra text: {_quoted(self.rest)}")
        return self._moment()

    def _element(self, kind: str, element: str, following: str) -> None:
        if kind == "":
            self._skip(element)
        elif kind == "zone":
            self._offset(element)
        elif kind == "fraction":
            self._fraction(element)
        elif kind in {"5", "05"}:
            self._second(kind, following)
        else:
            _READERS[kind](self)

    def _skip(self, literal: str) -> None:
        """Literal text; spaces in the layout match any number of spaces in the text."""
        for part in re.findall(r" +|[^ ]+", literal):
            if part[0] == " ":
                if self.rest and self.rest[0] != " ":
                    raise _Mismatch
                self.rest = self.rest.lstrip(" ")
                continue
            if not self.rest.startswith(part):
                raise _Mismatch
            self.rest = self.rest[len(part) :]

    def take(self, count: int) -> str:
        """The next ``count`` characters."""
        if len(self.rest) < count:
            raise _Mismatch
        taken, self.rest = self.rest[:count], self.rest[count:]
        return taken

    def number(self, *, fixed: bool) -> int:
        """One or two digits; two if ``fixed``."""
        return self._digits(2, 2 if fixed else 1)

    def _digits(self, most: int, least: int) -> int:
        match = re.match(f"[0-9]{{{least},{most}}}", self.rest)
        if match is None:
            raise _Mismatch
        self.rest = self.rest[match.end() :]
        return int(match[0])

    def ranged(self, name: str, limit: int, *, fixed: bool) -> int:
        """A number below ``limit``; ``name`` is what is out of range otherwise."""
        value = self.number(fixed=fixed)
        if value >= limit:
            self.range_fault = name
        return value

    def name_of(self, names: tuple[str, ...], length: int | None) -> int:
        """Which of ``names`` (their first letters, if ``length`` is given) comes next; case does not count."""
        for index, name in enumerate(names):
            wanted = name[:length]
            given = self.rest[: len(wanted)]
            if given.isascii() and given.lower() == wanted.lower():
                self.rest = self.rest[len(wanted) :]
                return index
        raise _Mismatch

    def short_year(self) -> None:
        year = _signed(self.take(2))
        self.year = year + (1900 if year >= 69 else 2000)

    def long_year(self) -> None:
        if not self.rest[:1].isdecimal():
            raise _Mismatch
        self.year = _signed(self.take(4))

    def number_of_month(self, *, fixed: bool) -> None:
        self.month = self.number(fixed=fixed)
        if not 1 <= self.month <= 12:
            self.range_fault = "month"

    def day_of_month(self, *, fixed: bool = False, padded: bool = False) -> None:
        self.rest = self.rest.removeprefix(" ") if padded else self.rest
        self.day = self.number(fixed=fixed)

    def day_of_year(self, *, padded: bool) -> None:
        for _ in range(2 if padded else 0):
            self.rest = self.rest.removeprefix(" ")
        self.yearday = self._digits(3, 1 if padded else 3)

    def time_zone(self) -> None:
        if self.rest.startswith("UTC"):
            self.utc, self.rest = True, self.rest[3:]
            return
        match = _ZONE_NAME.match(self.rest)
        if match is None or len(self.rest) < 3:
            raise _Mismatch
        self.zone_name, self.rest = match[0], self.rest[match.end() :]

    def half_of_day(self, afternoon: str, morning: str) -> None:
        self.half = self.take(2)
        if self.half not in {afternoon, morning}:
            raise _Mismatch

    def _second(self, kind: str, following: str) -> None:
        """Seconds, and a fraction that the layout does not mention."""
        self.second = self.ranged("second", 60, fixed=kind == "05")
        match = _FRACTION.match(self.rest)
        if match and not self.range_fault and following != "fraction":
            self._nanoseconds(match.end())

    def _fraction(self, element: str) -> None:
        if element[1] == "0":
            if len(self.rest) < len(element):
                raise _Mismatch
            self._nanoseconds(len(element))
        elif match := _FRACTION.match(self.rest):
            self._nanoseconds(match.end())

    def _nanoseconds(self, length: int) -> None:
        digits = self.take(length)
        if digits[0] not in ".,":
            raise _Mismatch
        value = _signed(digits[1:10])
        if value < 0:
            self.range_fault = "fractional second"
        self.nanosecond = value * 10 ** (9 - len(digits[1:10]))

    def _offset(self, element: str) -> None:
        if element[0] == "Z" and self.rest.startswith("Z"):
            self.utc, self.rest = True, self.rest[1:]
            return
        match = _OFFSETS[element[3:]].match(self.rest)
        if match is None:
            raise _Mismatch
        self.rest = self.rest[match.end() :]
        parts = match.groupdict("00")
        hour, minute, second = (_two_digits(parts.get(name, "00")) for name in ("hour", "minute", "second"))
        for value, limit, name in ((hour, 24, "hour"), (minute, 60, "minute"), (second, 60, "second")):
            if value > limit:
                self.range_fault = f"time zone offset {name}"
        if parts["sign"] not in {"+", "-"}:
            if not self.range_fault:
                raise _Mismatch
            return
        self.offset = (hour * 60 + minute) * 60 + second
        if parts["sign"] == "-":
            self.offset = -self.offset

    def _moment(self) -> Moment:
        if self.half.lower() == "pm" and self.hour < 12:
            self.hour += 12
        elif self.half.lower() == "am" and self.hour == 12:
            self.hour = 0
        if self.yearday >= 0:
            self._place_day_of_year()
        month, day = max(self.month, 1), 1 if self.day < 0 else self.day
        if not 1 <= day <= _days_in(month, self.year):
            raise self._refusal(": day out of range")
        seconds = days_since_epoch(self.year, month, day) * 86_400 + self.hour * 3_600 + self.minute * 60 + self.second
        zone, shift = self._zone()
        return Moment((seconds - shift) * NANOSECONDS + self.nanosecond, zone)

    def _zone(self) -> tuple[Zone, int]:
        """The zone to show, and how far the clock that was read is ahead of UTC."""
        if self.utc:
            return UTC, 0
        if self.offset is not None and self.offset != -1:
            if self.offset == 0 and self.zone_name in {"", "UTC"}:
                return UTC, 0
            return Zone(self.zone_name, self.offset), self.offset
        if not self.zone_name:
            return UTC, 0
        hours = int(self.zone_name[3:] or "0") if self.zone_name.startswith("GMT") else 0
        return Zone(self.zone_name, hours * 3_600), 0  # Go, too, leaves the time where it would be in UTC

    def _place_day_of_year(self) -> None:
        yearday = self.yearday
        leap = _is_leap(self.year)
        if not 1 <= yearday <= 365 + leap:
            raise self._refusal(": day-of-year out of range")
        month, day = 1, yearday
        while day > _days_in(month, self.year):
            day -= _days_in(month, self.year)
            month += 1
        if self.month >= 0 and self.month != month:
            raise self._refusal(": day-of-year does not match month")
        if self.day >= 0 and self.day != day:
            raise self._refusal(": day-of-year does not match day")
        self.month, self.day = month, day

    def _fault(self, element: str, rest: str) -> GoError:
        as_what = f" as {quote_bytes(self.layout)}: cannot parse {_quoted(rest)} as {_quoted(element)}"
        return self._refusal(as_what)

    def _refusal(self, reason: str) -> GoError:
        return GoError(f"parsing time {quote_bytes(self.text)}{reason}")


def _bytewise(text: str) -> str:
    """``text`` with one character for each of its bytes."""
    return to_bytes(text).decode("latin-1")


def _quoted(text: str) -> str:
    return quote_bytes(from_bytes(text.encode("latin-1")))


def _signed(text: str) -> int:
    match = re.fullmatch(r"([+-]?)([0-9]*)", text)
    if match is None:
        raise _Mismatch
    return int(match[1] + (match[2] or "0"))


def _two_digits(text: str) -> int:
    if re.fullmatch("[0-9]{2}", text) is None:
        raise _Mismatch
    return int(text)


def _is_leap(year: int) -> bool:
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def _days_in(month: int, year: int) -> int:
    return 29 if month == 2 and _is_leap(year) else _DAYS[month - 1]


def _set_month(reader: _Reader, length: int | None) -> None:
    reader.month = reader.name_of(MONTHS, length) + 1


def _set_hour(reader: _Reader, limit: int, *, fixed: bool = False) -> None:
    reader.hour = reader.ranged("hour", limit, fixed=fixed)


def _set_minute(reader: _Reader, *, fixed: bool) -> None:
    reader.minute = reader.ranged("minute", 60, fixed=fixed)


_READERS: Final[dict[str, Callable[[_Reader], object]]] = {
    "2006": _Reader.long_year,
    "06": _Reader.short_year,
    "January": lambda reader: _set_month(reader, None),
    "Jan": lambda reader: _set_month(reader, 3),
    "01": lambda reader: reader.number_of_month(fixed=True),
    "1": lambda reader: reader.number_of_month(fixed=False),
    "Monday": lambda reader: reader.name_of(WEEKDAYS, None),
    "Mon": lambda reader: reader.name_of(WEEKDAYS, 3),
    "02": lambda reader: reader.day_of_month(fixed=True),
    "_2": lambda reader: reader.day_of_month(padded=True),
    "2": lambda reader: reader.day_of_month(),
    "002": lambda reader: reader.day_of_year(padded=False),
    "__2": lambda reader: reader.day_of_year(padded=True),
    "15": lambda reader: _set_hour(reader, 24),
    "03": lambda reader: _set_hour(reader, 13, fixed=True),
    "3": lambda reader: _set_hour(reader, 13),
    "04": lambda reader: _set_minute(reader, fixed=True),
    "4": lambda reader: _set_minute(reader, fixed=False),
    "PM": lambda reader: reader.half_of_day("PM", "AM"),
    "pm": lambda reader: reader.half_of_day("pm", "am"),
    "MST": _Reader.time_zone,
}
