"""time.Format and time.Parse: every expectation was given by Go 1.26 (more in templates/functions/vectors)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from osm_gitops.gocompat.fault import GoError
from osm_gitops.gocompat.times import NANOSECONDS, STRING_LAYOUT, Moment, Zone, format_time, parse_time

_MOMENT = Moment(951782405 * NANOSECONDS + 120_000_000, Zone("CET", 3600))


@pytest.mark.parametrize(
    ("layout", "text"),
    [
        ("2006-01-02T15:04:05Z07:00", "2000-02-29T01:00:05+01:00"),
        ("Mon Jan _2 3:04:05.000PM 06 MST", "Tue Feb 29 1:00:05.120AM 00 CET"),
        ("Monday January 2 002 __2 1 3 4 5 pm", "Tuesday February 29 060  60 2 1 0 5 am"),
        (".999999 ,000000000000 .0x .01", ".12 ,120000000 .1x .02"),
        ("_2006 Janet Monk 20061", "_2000 Janet Monk 20002"),
        ("-07 -0700 -07:00:00 -070000 Z07 Z0700", "+01 +0100 +01:00:00 +010000 +01 +0100"),
    ],
)
def test_a_time_is_formatted_by_the_reference_time(layout: str, text: str) -> None:
    assert format_time(_MOMENT, layout) == text


def test_odd_years_and_offsets_are_written_as_go_does() -> None:
    assert format_time(Moment(-62198755200 * NANOSECONDS), "2006 06") == "-0001 01"
    assert format_time(Moment(10**12 * NANOSECONDS), "2006") == "33658"
    assert format_time(Moment(0, Zone("", -30)), "-0700 MST -07:00:00") == "+0000 +0000 +00:00:-30"
    assert format_time(Moment(0), "Z07:00 MST") == "Z UTC"


@pytest.mark.parametrize(
    ("layout", "text", "shown"),
    [
        ("2006-01-02", "2024-02-29", "2024-02-29 00:00:00 +0000 UTC"),
        ("2006-01-02T15:04:05Z07:00", "2024-02-29T10:00:00.25+02:00", "2024-02-29 10:00:00.25 +0200 +0200"),
        ("02 Jan 06 15:04 MST", "29 fEB 68 10:00 CET", "2068-02-29 10:00:00 +0000 CET"),
        ("3:04PM", "12:30AM", "0000-01-01 00:30:00 +0000 UTC"),
        ("2006-002", "2023-365", "2023-12-31 00:00:00 +0000 UTC"),
        ("2006 MST", "2023 GMT-3", "2022-12-31 21:00:00 -0300 GMT-3"),
        ("Mon _2 2006", "Sun  3   2023", "2023-01-03 00:00:00 +0000 UTC"),
    ],
)
def test_a_time_is_read_by_the_reference_time(layout: str, text: str, shown: str) -> None:
    assert format_time(parse_time(layout, text), STRING_LAYOUT) == shown


@pytest.mark.parametrize(
    ("layout", "text", "fault"),
    [
        ("2006-01-02", "2024-13-01", "month out of range"),
        ("2006-01-02", "2023-02-29", "day out of range"),
        ("2006-01-02", "2023-02-01x", 'extra text: "x"'),
        ("2006-01-02", "2023/02/01", 'cannot parse "/02/01" as "-"'),
        ("15:04", "24:00", "hour out of range"),
        ("2006-002", "2023-366", "day-of-year out of range"),
        ("2006-01-002", "2023-02-001", "day-of-year does not match month"),
        ("MST", "AB", "cannot parse"),
        ("pm", "PM", "cannot parse"),
        ("-07:00", "+25:00", "time zone offset hour out of range"),
    ],
)
def test_a_text_that_is_no_such_time_is_refused(layout: str, text: str, fault: str) -> None:
    with pytest.raises(GoError) as refused:
        parse_time(layout, text)
    assert str(refused.value).startswith("parsing time ")
    assert fault in str(refused.value)


@given(st.integers(min_value=-62135596800, max_value=253402300799), st.integers(min_value=0, max_value=999_999_999))
def test_a_time_survives_writing_and_reading(seconds: int, nanosecond: int) -> None:
    moment = Moment(seconds * NANOSECONDS + nanosecond)
    layout = "2006-01-02T15:04:05.999999999Z07:00"
    assert parse_time(layout, format_time(moment, layout)) == moment
