"""strconv: every expectation was given by Go 1.26."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from osm_gitops.gocompat.fault import GoError
from osm_gitops.gocompat.numbers import (
    RangeFault,
    format_float,
    parse_bool,
    parse_float,
    parse_int,
    parse_uint,
    quote,
    quote_to_ascii,
)


@pytest.mark.parametrize(
    ("text", "base", "value"),
    [
        ("0", 10, 0),
        ("+7", 10, 7),
        ("-5", 10, -5),
        ("007", 10, 7),
        ("-9223372036854775808", 10, -(1 << 63)),
        ("zz", 36, 1295),
        ("0x1F", 0, 31),
        ("0b11", 0, 3),
        ("0o17", 0, 15),
        ("017", 0, 15),
        ("1_000", 0, 1000),
        ("0x_1f", 0, 31),
        ("0_7", 0, 7),
        ("-0x10", 0, -16),
    ],
)
def test_an_integer_is_read_as_go_reads_it(text: str, base: int, value: int) -> None:
    assert parse_int(text, base) == value


@pytest.mark.parametrize("text", ["", "+", "-", "+-5", " 5", "5 ", "1_0", "abc", "٣", "1e3", "0x10", "1.0"])
def test_what_is_no_decimal_integer_is_refused_in_go_s_words(text: str) -> None:
    with pytest.raises(GoError) as refused:
        parse_int(text)
    assert str(refused.value) == f"strconv.ParseInt: parsing {quote(text)}: invalid syntax"


@pytest.mark.parametrize("text", ["08", "_1", "1_", "1__0", "0x", "0b2", "0_x1", "0x1_"])
def test_base_zero_refuses_misplaced_underscores_and_digits_beyond_the_base(text: str) -> None:
    with pytest.raises(GoError, match="invalid syntax"):
        parse_int(text, 0)


def test_a_number_beyond_its_bits_is_out_of_range_and_names_the_nearest() -> None:
    with pytest.raises(RangeFault) as refused:
        parse_int("2147483648", 10, 32)
    assert str(refused.value) == 'strconv.ParseInt: parsing "2147483648": value out of range'
    assert refused.value.nearest == 2147483647
    with pytest.raises(RangeFault) as refused:
        parse_int("-99999999999999999999x")
    assert refused.value.nearest == -(1 << 63)


def test_an_unsigned_integer_takes_no_sign() -> None:
    assert parse_uint("18446744073709551615") == (1 << 64) - 1
    with pytest.raises(GoError, match="invalid syntax"):
        parse_uint("+1")
    with pytest.raises(RangeFault, match="out of range"):
        parse_uint("18446744073709551616")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1.5", 1.5),
        (".5", 0.5),
        ("5.", 5.0),
        ("-1e3", -1000.0),
        ("1_000.5", 1000.5),
        ("0x1p-2", 0.25),
        ("0x_1.8p3", 12.0),
        ("Infinity", math.inf),
        ("-inf", -math.inf),
    ],
)
def test_a_float_is_read_as_go_reads_it(text: str, value: float) -> None:
    assert parse_float(text) == value


@pytest.mark.parametrize("text", ["", ".", "1e", "0x1", "infin", "+nan", " 1", "1_", "0b1", "1__0"])
def test_what_is_no_float_is_refused(text: str) -> None:
    with pytest.raises(GoError, match=r"strconv\.ParseFloat: parsing .*: invalid syntax"):
        parse_float(text)


def test_a_float_too_large_is_out_of_range() -> None:
    with pytest.raises(RangeFault, match="out of range") as refused:
        parse_float("-1e400")
    assert refused.value.nearest == -math.inf
    assert math.isnan(parse_float("NaN"))


def test_a_boolean_has_twelve_spellings() -> None:
    assert all(map(parse_bool, ["1", "t", "T", "TRUE", "true", "True"]))
    assert not any(map(parse_bool, ["0", "f", "F", "FALSE", "false", "False"]))
    with pytest.raises(GoError, match=r'strconv\.ParseBool: parsing "yes": invalid syntax'):
        parse_bool("yes")


@pytest.mark.parametrize(
    ("value", "verb", "precision", "text"),
    [
        (1.0, "g", -1, "1"),
        (100000.0, "g", -1, "100000"),
        (1e6, "g", -1, "1e+06"),
        (1234567.5, "g", -1, "1.2345675e+06"),
        (1e-4, "g", -1, "0.0001"),
        (1e-5, "g", -1, "1e-05"),
        (-0.0, "g", -1, "-0"),
        (5e-324, "g", -1, "5e-324"),
        (1e21, "f", -1, "1000000000000000000000"),
        (0.1, "f", -1, "0.1"),
        (2.5, "f", 0, "2"),
        (123.456, "e", -1, "1.23456e+02"),
        (1e-7, "E", 2, "1.00E-07"),
        (123.456, "g", 4, "123.5"),
        (math.inf, "f", 2, "+Inf"),
        (math.nan, "g", -1, "NaN"),
    ],
)
def test_a_float_is_written_as_go_writes_it(value: float, verb: str, precision: int, text: str) -> None:
    assert format_float(value, verb, precision) == text


def test_a_float32_gets_the_digits_that_it_needs() -> None:
    assert format_float(0.10000000149011612, "g", -1, 32) == "0.1"


@given(st.floats(allow_nan=False))
def test_the_shortest_text_of_a_float_reads_back(value: float) -> None:
    assert parse_float(format_float(value)) == value


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ("", '""'),
        ('a"b\\', r'"a\"b\\"'),
        ("\a\b\f\n\r\t\v\x00\x7f", r'"\a\b\f\n\r\t\v\x00\x7f"'),
        ("é😀", '"é😀"'),
        ("\udc80é\udcff", r'"\x80é\xff"'),
        ("\udcc3\udca9", '"é"'),
        ("\xa0\u2028\ufeff\U000e0001\ue000", r'"\u00a0\u2028\ufeff\U000e0001\ue000"'),
    ],
)
def test_a_text_is_quoted_as_a_go_literal(text: str, quoted: str) -> None:
    assert quote(text) == quoted


def test_a_text_can_be_quoted_in_ascii() -> None:
    assert quote_to_ascii('é😀\n"\udc80') == r'"\u00e9\U0001f600\n\"\x80"'
