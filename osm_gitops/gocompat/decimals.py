"""``shopspring/decimal`` 1.4.0, as far as sprig's float arithmetic goes: exact but for division."""

from __future__ import annotations

import math
from dataclasses import dataclass

from osm_gitops.gocompat.fault import GoError

_DIVISION_PLACES = 16


@dataclass(frozen=True, slots=True)
class Decimal:
    """``coefficient`` times ten to the power of ``exponent``."""

    coefficient: int
    exponent: int

    def __add__(self, other: Decimal) -> Decimal:
        lowest = min(self.exponent, other.exponent)
        return Decimal(self._scaled(lowest) + other._scaled(lowest), lowest)

    def __sub__(self, other: Decimal) -> Decimal:
        return self + Decimal(-other.coefficient, other.exponent)

    def __mul__(self, other: Decimal) -> Decimal:
        return Decimal(self.coefficient * other.coefficient, self.exponent + other.exponent)

    def __truediv__(self, other: Decimal) -> Decimal:
        """Rounded to 16 decimal places, half away from zero. Raises GoError for a zero divisor."""
        if other.coefficient == 0:
            raise GoError("decimal division by 0")
        shift = self.exponent - other.exponent + _DIVISION_PLACES
        dividend = abs(self.coefficient) * 10 ** max(shift, 0)
        divisor = abs(other.coefficient) * 10 ** max(-shift, 0)
        quotient, rest = divmod(dividend, divisor)
        rounded = quotient + (2 * rest >= divisor)
        negative = (self.coefficient < 0) != (other.coefficient < 0)
        return Decimal(-rounded if negative else rounded, -_DIVISION_PLACES)

    def __float__(self) -> float:
        """The nearest float; infinite beyond the largest."""
        try:
            if self.exponent >= 0:
                return float(self.coefficient * 10**self.exponent)
            return float(self.coefficient / 10**-self.exponent)
        except OverflowError:
            return -math.inf if self.coefficient < 0 else math.inf

    def _scaled(self, exponent: int) -> int:
        return int(self.coefficient * 10 ** (self.exponent - exponent))


def from_float(number: float) -> Decimal:
    """The shortest decimal that reads back as ``number``. Raises GoError for infinities and NaN."""
    if not math.isfinite(number):
        raise GoError(f"cannot create a decimal from {number}")
    mantissa, _, exponent = repr(number).partition("e")
    whole, _, fraction = mantissa.partition(".")
    return Decimal(int(whole + fraction), int(exponent or "0") - len(fraction))
