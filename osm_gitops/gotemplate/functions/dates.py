"""Sprig's dates, as far as they do not look at the clock (osm-behaviour.md, "Template functions").

A date is a time (from ``toDate``) or a number of seconds since 1970; for anything else sprig takes the present time,
which is refused by name. Local time is UTC.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Final

from osm_gitops.gocompat.duration import format_duration, parse_duration
from osm_gitops.gocompat.fault import GoError
from osm_gitops.gocompat.numbers import RangeFault, parse_int
from osm_gitops.gocompat.times import NANOSECONDS, STRING_LAYOUT, UTC, Moment, days_since_epoch, format_time, parse_time
from osm_gitops.gotemplate.bounds import budget
from osm_gitops.gotemplate.calls import GoFunction
from osm_gitops.gotemplate.faults import Refused
from osm_gitops.gotemplate.values import Int32, Int64, Struct, go_type, wrap_int64

_DAY: Final = "2006-01-02"
_YEAR_ONE: Final = Moment(days_since_epoch(1, 1, 1) * 86_400 * NANOSECONDS)
_UNITS: Final = (("y", 365 * 86_400), ("mo", 30 * 86_400), ("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1))
_BYTES_PER_STEP: Final = 1 << 12
"""Reading copies what is left of the text for every element of the layout; this much counts as a loop step."""


@dataclass(frozen=True)
class Time(Struct):
    """``time.Time``."""

    go_type: ClassVar[str] = "time.Time"
    methods: ClassVar[frozenset[str]] = frozenset(
        {"String", "Unix", "UnixMilli", "UnixMicro", "UnixNano", "Year", "Day", "Hour", "Minute", "Second"}
        | {"Nanosecond", "YearDay", "IsZero", "UTC", "Local"}
    )
    moment: Moment

    def String(self) -> str:
        return format_time(self.moment, STRING_LAYOUT)

    def Unix(self) -> Int64:
        return Int64(self.moment.nanoseconds // NANOSECONDS)

    def UnixMilli(self) -> Int64:
        return Int64(self.moment.nanoseconds // 1_000_000)

    def UnixMicro(self) -> Int64:
        return Int64(self.moment.nanoseconds // 1_000)

    def UnixNano(self) -> Int64:
        return Int64(wrap_int64(self.moment.nanoseconds))

    def Year(self) -> int:
        return self.moment.clock().year

    def Day(self) -> int:
        return self.moment.clock().day

    def Hour(self) -> int:
        return self.moment.clock().hour

    def Minute(self) -> int:
        return self.moment.clock().minute

    def Second(self) -> int:
        return self.moment.clock().second

    def Nanosecond(self) -> int:
        return self.moment.clock().nanosecond

    def YearDay(self) -> int:
        return self.moment.clock().yearday

    def IsZero(self) -> bool:
        return self.moment.nanoseconds == _YEAR_ONE.nanoseconds

    def UTC(self) -> Time:
        return Time(Moment(self.moment.nanoseconds))

    def Local(self) -> Time:
        return self.UTC()


def date(layout: str, value: Any) -> str:
    return date_in_zone(layout, value, "UTC")


def html_date(value: Any) -> str:
    return date(_DAY, value)


def html_date_in_zone(value: Any, zone: str) -> str:
    return date_in_zone(_DAY, value, zone)


def date_in_zone(layout: str, value: Any, zone: str) -> str:
    """``dateInZone layout value zone``. Raises Refused for a value that is not a date and for a named zone."""
    # UTC, and names that Go takes for UTC because they cannot be zones, are the same on every machine.
    if zone not in {"", "UTC", "Local"} and ".." not in zone and zone[0] not in "/\\":
        raise Refused(f"the time zone {zone} depends on the machine that renders; use UTC")
    if isinstance(value, Time):
        return format_time(Moment(value.moment.nanoseconds, UTC), layout)
    if type(value) not in {int, Int32, Int64}:
        raise Refused(
            f"a value of type {go_type(value)} is no date, so that the present time would be printed; "
            "give a time from `toDate` or a number of seconds"
        )
    return format_time(Moment(int(value) * NANOSECONDS), layout)


def date_modify(change: str, value: Any) -> Time:
    """``dateModify``: a bad duration changes nothing."""
    try:
        return must_date_modify(change, _time("dateModify", value))
    except GoError:
        return _time("dateModify", value)


def must_date_modify(change: str, value: Any) -> Time:
    moment = _time("mustDateModify", value).moment
    return Time(Moment(moment.nanoseconds + parse_duration(change), moment.zone))


def to_date(layout: str, text: str) -> Time:
    """``toDate``: the year 1 for what does not parse."""
    try:
        return must_to_date(layout, text)
    except GoError:
        return Time(_YEAR_ONE)


def must_to_date(layout: str, text: str) -> Time:
    budget().step(len(layout) * len(text) // _BYTES_PER_STEP)
    return Time(parse_time(layout, text))


def unix_epoch(value: Any) -> str:
    return str(_time("unixEpoch", value).Unix())


def duration(seconds: Any) -> str:
    """``duration``: of a text or an int64; 0 for any other type, int among them."""
    count = 0
    if type(seconds) is str:
        try:
            count = parse_int(seconds)
        except RangeFault as fault:
            count = int(fault.nearest)
        except GoError:
            count = 0
    elif type(seconds) is Int64:
        count = seconds
    return format_duration(wrap_int64(count * NANOSECONDS))


def duration_round(value: Any) -> str:
    """``durationRound``: the largest unit only; of a text or an int64 of nanoseconds, else 0."""
    nanoseconds = 0
    if isinstance(value, Time):
        raise Refused("`durationRound` of a time measures up to the present; give it a duration")
    if type(value) is str:
        try:
            nanoseconds = parse_duration(value)
        except GoError:
            nanoseconds = 0
    elif type(value) is Int64:
        nanoseconds = value
    amount = abs(nanoseconds)
    for unit, seconds in _UNITS:
        if amount > seconds * NANOSECONDS:
            return f"{amount // (seconds * NANOSECONDS)}{unit}"
    return "0s"


def _time(name: str, value: Any) -> Time:
    if isinstance(value, Time):
        return value
    raise GoError(f"wrong type for value given to {name}; expected time.Time; got {go_type(value)}")


FUNCTIONS: Final = (
    GoFunction("date", "string any", date, returns="string"),
    GoFunction("dateInZone", "string any string", date_in_zone, returns="string"),
    GoFunction("date_in_zone", "string any string", date_in_zone, returns="string"),
    GoFunction("dateModify", "string any", date_modify),
    GoFunction("date_modify", "string any", date_modify),
    GoFunction("mustDateModify", "string any", must_date_modify),
    GoFunction("must_date_modify", "string any", must_date_modify),
    GoFunction("htmlDate", "any", html_date, returns="string"),
    GoFunction("htmlDateInZone", "any string", html_date_in_zone, returns="string"),
    GoFunction("toDate", "string string", to_date),
    GoFunction("mustToDate", "string string", must_to_date),
    GoFunction("unixEpoch", "any", unix_epoch, returns="string"),
    GoFunction("duration", "any", duration, returns="string"),
    GoFunction("durationRound", "any", duration_round, returns="string"),
)
