"""Sprig's dates."""

from __future__ import annotations

import pytest

from osm_gitops.gocompat.fault import GoError
from osm_gitops.gotemplate.access import field
from osm_gitops.gotemplate.faults import Refused
from osm_gitops.gotemplate.functions import dates
from osm_gitops.gotemplate.printing import to_text
from osm_gitops.gotemplate.values import Int32, Int64, Uint64
from tests.gotemplate.functions.go_vectors import disagreements

_TIME = dates.to_date("2006-01-02 15:04:05 -0700", "2024-02-29 23:30:05 +0230")


def test_the_functions_do_what_sprig_does() -> None:
    assert disagreements("dates", dates.FUNCTIONS) == []


def test_a_time_prints_with_its_offset_and_is_formatted_in_utc() -> None:
    assert to_text(_TIME) == "2024-02-29 23:30:05 +0230 +0230"
    assert dates.date("2006-01-02 15:04 MST", _TIME) == "2024-02-29 21:00 UTC"
    assert dates.html_date(_TIME) == "2024-02-29"
    assert dates.unix_epoch(_TIME) == "1709240405"
    parts = ("Year", "Day", "Hour", "Minute", "Second", "Nanosecond", "YearDay", "Unix", "IsZero")
    assert [field(_TIME, [name]) for name in parts] == [2024, 29, 23, 30, 5, 0, 60, 1709240405, False]


def test_a_time_can_be_moved() -> None:
    assert to_text(dates.date_modify("-1h30m", _TIME)) == "2024-02-29 22:00:05 +0230 +0230"
    assert dates.date_modify("soon", _TIME) == _TIME
    with pytest.raises(GoError, match="invalid duration"):
        dates.must_date_modify("soon", _TIME)
    with pytest.raises(GoError, match=r"expected time\.Time; got string"):
        dates.date_modify("1h", "2024-02-29")


def test_what_does_not_parse_is_the_first_moment_of_the_year_one() -> None:
    zero = dates.to_date("2006", "x")
    assert to_text(zero) == "0001-01-01 00:00:00 +0000 UTC"
    assert field(zero, ["IsZero"]) is True
    with pytest.raises(GoError, match="cannot parse"):
        dates.must_to_date("2006", "x")


@pytest.mark.parametrize("value", [0, Int64(0), Int32(0)])
def test_seconds_are_a_date(value: int) -> None:
    assert dates.date("2006-01-02", value) == "1970-01-01"


@pytest.mark.parametrize("value", ["2024-01-01", 1.5, None, Uint64(1), True])
def test_what_is_no_date_is_refused_because_sprig_takes_the_present(value: object) -> None:
    with pytest.raises(Refused, match="present time"):
        dates.html_date(value)


def test_zones_of_the_machine_are_refused() -> None:
    assert dates.date_in_zone("MST", 0, "") == "UTC"
    assert dates.date_in_zone("MST", 0, "../x") == "UTC"
    with pytest.raises(Refused, match="Europe/Berlin"):
        dates.date_in_zone("MST", 0, "Europe/Berlin")
    with pytest.raises(Refused, match="present"):
        dates.duration_round(_TIME)
