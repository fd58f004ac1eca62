"""time.Duration: every expectation was given by Go 1.26."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from osm_gitops.gocompat.duration import format_duration, parse_duration
from osm_gitops.gocompat.fault import GoError


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [
        ("0", 0),
        ("2m", 120 * 10**9),
        ("1h30m", 5400 * 10**9),
        ("-1.5s", -1_500_000_000),
        ("+.5s", 500_000_000),
        ("1.s", 10**9),
        ("1µs1μs1us", 3_000),
        ("9223372036854775807ns", (1 << 63) - 1),
        ("-9223372036854775808ns", -(1 << 63)),
        ("0.33333333333333333333h", 1_200_000_000_000),
        ("00000000000000000000000000005s", 5 * 10**9),
    ],
)
def test_a_duration_is_read_as_go_reads_it(text: str, nanoseconds: int) -> None:
    assert parse_duration(text) == nanoseconds


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", 'time: invalid duration ""'),
        ("-", 'time: invalid duration "-"'),
        ("2", 'time: missing unit in duration "2"'),
        ("1.5.s", 'time: missing unit in duration "1.5.s"'),
        ("1d", 'time: unknown unit "d" in duration "1d"'),
        ("1 s", 'time: unknown unit " s" in duration "1 s"'),
        (".s", 'time: invalid duration ".s"'),
        ("1é", r'time: unknown unit "\xc3\xa9" in duration "1\xc3\xa9"'),
        ("9223372036854775808ns", 'time: invalid duration "9223372036854775808ns"'),
        ("99999999999999999999s", 'time: invalid duration "99999999999999999999s"'),
        ("3000000h", 'time: invalid duration "3000000h"'),
    ],
)
def test_a_bad_duration_is_refused_in_go_s_words(text: str, fault: str) -> None:
    with pytest.raises(GoError) as refused:
        parse_duration(text)
    assert str(refused.value) == fault


@pytest.mark.parametrize(
    ("nanoseconds", "text"),
    [
        (0, "0s"),
        (1, "1ns"),
        (1_500, "1.5µs"),
        (100_000_000, "100ms"),
        (1_500_000_000, "1.5s"),
        (120 * 10**9, "2m0s"),
        (5400 * 10**9, "1h30m0s"),
        (-(1 << 63), "-2562047h47m16.854775808s"),
    ],
)
def test_a_duration_is_written_as_go_writes_it(nanoseconds: int, text: str) -> None:
    assert format_duration(nanoseconds) == text


@given(st.integers(min_value=-(10**15), max_value=10**15))
def test_a_written_duration_reads_back(nanoseconds: int) -> None:
    assert parse_duration(format_duration(nanoseconds)) == nanoseconds
