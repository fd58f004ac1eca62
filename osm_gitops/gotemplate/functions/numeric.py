"""Sprig's numbers: conversion, integer and decimal arithmetic, rounding, sequences (osm-behaviour.md, "Template
functions")."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable
from typing import Any, Final

from osm_gitops.gocompat.fault import GoError
from osm_gitops.gocompat.numbers import Decimal, RangeFault, decimal_of, parse_float, parse_int
from osm_gitops.gotemplate.bounds import budget
from osm_gitops.gotemplate.calls import GoFunction
from osm_gitops.gotemplate.printing import sprint
from osm_gitops.gotemplate.values import Int64, IntList, pointed_to, wrap_int64

_DECIMAL: Final = re.compile(r"([-+]?[0-9]*)(?:\.[0-9]*)?")
_SMALLEST: Final = -(1 << 63)


def to_int(value: Any) -> int:
    """``int``: a Go int of any value, 0 if it is not a number (osm-behaviour.md, "Template functions").

    Strings are read with base 0 (``0x10``, ``010``), decimals lose their fraction.
    """
    plain = pointed_to(value)
    if isinstance(plain, str):
        return _int_of_text(plain)
    if isinstance(plain, float):
        return int(plain) if -(2.0**63) <= plain < 2.0**63 else _SMALLEST
    return wrap_int64(plain) if isinstance(plain, int) else 0


def to_int64(value: Any) -> Int64:
    """``int64``."""
    return Int64(to_int(value))


def to_float(value: Any) -> float:
    """``float64`` of any value, 0 if it is not a number."""
    plain = pointed_to(value)
    if isinstance(plain, str):
        try:
            return parse_float(plain)
        except GoError:
            return 0.0
    return float(plain) if isinstance(plain, (int, float)) else 0.0


def atoi(text: str) -> int:
    """``atoi``: decimal digits only; 0 for garbage, the nearest int for what does not fit."""
    try:
        return parse_int(text)
    except RangeFault as fault:
        return int(fault.nearest)
    except GoError:
        return 0


def to_decimal(value: Any) -> Int64:
    """``toDecimal``: the octal number that the value prints as."""
    try:
        return Int64(parse_int(sprint((value,)), 8))
    except GoError:
        return Int64(0)


def add(*values: Any) -> Int64:
    return Int64(wrap_int64(sum(map(to_int, values))))


def add1(value: Any) -> Int64:
    return add(value, 1)


def subtract(left: Any, right: Any) -> Int64:
    return Int64(wrap_int64(to_int(left) - to_int(right)))


def multiply(value: Any, *others: Any) -> Int64:
    product = to_int(value)
    for other in others:
        product = wrap_int64(product * to_int(other))
    return Int64(product)


def divide(left: Any, right: Any) -> Int64:
    """``div``: toward zero."""
    return Int64(wrap_int64(_quotient(to_int(left), to_int(right))))


def modulo(left: Any, right: Any) -> Int64:
    """``mod``: the remainder has the sign of the dividend."""
    dividend, divisor = to_int(left), to_int(right)
    return Int64(dividend - _quotient(dividend, divisor) * divisor)


def largest(value: Any, *others: Any) -> Int64:
    return Int64(max(map(to_int, (value, *others))))


def smallest(value: Any, *others: Any) -> Int64:
    return Int64(min(map(to_int, (value, *others))))


def largest_float(value: Any, *others: Any) -> float:
    return _extreme(max, (value, *others), math.inf)


def smallest_float(value: Any, *others: Any) -> float:
    return _extreme(min, (value, *others), -math.inf)


def add_floats(*values: Any) -> float:
    return _decimal_sum(operator.add, 0.0, values)


def add1_float(value: Any) -> float:
    return _decimal_sum(operator.add, value, (1,))


def subtract_floats(value: Any, *others: Any) -> float:
    return _decimal_sum(operator.sub, value, others)


def multiply_floats(value: Any, *others: Any) -> float:
    return _decimal_sum(operator.mul, value, others)


def divide_floats(value: Any, *others: Any) -> float:
    return _decimal_sum(operator.truediv, value, others)


def ceil(value: Any) -> float:
    return _to_whole(math.ceil, to_float(value))


def floor(value: Any) -> float:
    return _to_whole(math.floor, to_float(value))


def round_float(value: Any, places: int, *options: float) -> float:
    """``round value places [from]``: up where the fraction is at least ``from`` (.5), else down.

    The fraction of a negative number is negative, so -2.5 becomes -3.
    """
    threshold = options[0] if options else 0.5
    power = _power_of_ten(places)
    scaled = power * to_float(value)
    up = math.isfinite(scaled) and math.modf(scaled)[0] >= threshold
    whole = _to_whole(math.ceil if up else math.floor, scaled)
    if power:
        return whole / power
    return math.nan if whole == 0 or math.isnan(whole) else math.copysign(math.inf, whole)


def seq(*params: int) -> str:
    """``seq [first [step]] last`` as the shell's command, the numbers joined by blanks."""
    if not 1 <= len(params) <= 3:
        return ""
    first, last = (1, params[0]) if len(params) == 1 else (params[0], params[-1])
    direction = -1 if last < first else 1
    step = params[1] if len(params) == 3 else direction
    if direction < 0 < step:
        return ""
    numbers = until_step(first, last + direction, step)
    longest = max(len(str(first)), len(str(last)))
    budget().size(len(numbers) * (longest + 1))
    return " ".join(map(str, numbers))


def until(count: int) -> IntList:
    return until_step(0, count, -1 if count < 0 else 1)


def until_step(start: int, stop: int, step: int) -> IntList:
    """``untilStep``: empty when the step leads away from ``stop``, or nowhere."""
    if step == 0:
        return IntList()
    numbers = range(start, stop, step)
    spent = budget()
    spent.size(_length(numbers))
    spent.step(_length(numbers))
    return IntList(numbers)


def _length(numbers: range) -> int:
    """``len`` for ranges beyond the largest index, too."""
    return 0 if not numbers else (numbers[-1] - numbers.start) // numbers.step + 1


def _int_of_text(text: str) -> int:
    number = _DECIMAL.fullmatch(text) if "." in text else None
    if number:
        text = number[1] if number[1].lstrip("+-") else "0"
    try:
        return parse_int(text, 0)
    except GoError:
        return 0


def _quotient(dividend: int, divisor: int) -> int:
    if divisor == 0:
        raise GoError("integer divide by zero")
    quotient = abs(dividend) // abs(divisor)
    return quotient if (dividend < 0) == (divisor < 0) else -quotient


def _extreme(choose: Callable[..., float], values: tuple[Any, ...], winner: float) -> float:
    """Go's ``math.Max`` and ``math.Min``: an infinity wins over NaN, NaN over the rest."""
    numbers = [to_float(value) for value in values]
    if winner in numbers:
        return winner
    if any(map(math.isnan, numbers)):
        return math.nan
    return choose(numbers, key=lambda number: (number, math.copysign(1, number)))


def _decimal_sum(operation: Callable[[Decimal, Decimal], Decimal], first: Any, others: tuple[Any, ...]) -> float:
    result = decimal_of(to_float(first))
    for other in others:
        result = operation(result, decimal_of(to_float(other)))
    return float(result)


def _to_whole(convert: Callable[[float], int], number: float) -> float:
    """``number`` rounded by ``convert``, keeping the sign of zero."""
    return math.copysign(float(convert(number)), number) if math.isfinite(number) else number


def _power_of_ten(exponent: int) -> float:
    """Go's ``math.Pow(10, exponent)``, whose last digit differs from C's."""
    if exponent in {0, 1}:
        return 10.0**exponent
    mantissa, power = 1.0, 0
    base, base_power = math.frexp(10.0)
    left = abs(exponent)
    while left:
        if abs(base_power) > 1 << 12:
            power += base_power
            break
        if left & 1:
            mantissa *= base
            power += base_power
        base *= base
        base_power <<= 1
        if base < 0.5:
            base += base
            base_power -= 1
        left >>= 1
    if exponent < 0:
        mantissa, power = 1 / mantissa, -power
    try:
        return math.ldexp(mantissa, power)
    except OverflowError:
        return math.inf


FUNCTIONS: Final = (
    GoFunction("int", "any", to_int, returns="int"),
    GoFunction("int64", "any", to_int64, returns="int64"),
    GoFunction("float64", "any", to_float, returns="float64"),
    GoFunction("atoi", "string", atoi, returns="int"),
    GoFunction("toDecimal", "any", to_decimal, returns="int64"),
    GoFunction("add", "any…", add, returns="int64"),
    GoFunction("add1", "any", add1, returns="int64"),
    GoFunction("sub", "any any", subtract, returns="int64"),
    GoFunction("mul", "any any…", multiply, returns="int64"),
    GoFunction("div", "any any", divide, returns="int64"),
    GoFunction("mod", "any any", modulo, returns="int64"),
    GoFunction("max", "any any…", largest, returns="int64"),
    GoFunction("biggest", "any any…", largest, returns="int64"),
    GoFunction("min", "any any…", smallest, returns="int64"),
    GoFunction("maxf", "any any…", largest_float, returns="float64"),
    GoFunction("minf", "any any…", smallest_float, returns="float64"),
    GoFunction("addf", "any…", add_floats, returns="float64"),
    GoFunction("add1f", "any", add1_float, returns="float64"),
    GoFunction("subf", "any any…", subtract_floats, returns="float64"),
    GoFunction("mulf", "any any…", multiply_floats, returns="float64"),
    GoFunction("divf", "any any…", divide_floats, returns="float64"),
    GoFunction("ceil", "any", ceil, returns="float64"),
    GoFunction("floor", "any", floor, returns="float64"),
    GoFunction("round", "any int float64…", round_float, returns="float64"),
    GoFunction("seq", "int…", seq, returns="string"),
    GoFunction("until", "int", until),
    GoFunction("untilStep", "int int int", until_step),
)
