"""Go's package ``strconv``, and ``shopspring/decimal`` 1.4.0 as far as sprig's float arithmetic goes: exact but for
division."""

from __future__ import annotations

import math
import re
import struct
from dataclasses import dataclass
from typing import Final

from osm_gitops.gocompat.fault import GoError
from osm_gitops.gocompat.text import is_print, normalise

_DIGITS: Final = "0123456789abcdefghijklmnopqrstuvwxyz"
_PREFIXES: Final = {"b": 2, "o": 8, "x": 16}
_DECIMAL: Final = re.compile(r"[+-]?(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][+-]?[0-9]++)?")
_HEX: Final = re.compile(r"[+-]?0[xX](?:[0-9a-fA-F]++(?:\.[0-9a-fA-F]*+)?|\.[0-9a-fA-F]++)[pP][+-]?[0-9]++")
_SPECIAL: Final = re.compile(r"[+-]?(?:inf|infinity)|nan", re.IGNORECASE | re.ASCII)
_ESCAPES: Final = {
    "\a": r"\a", "\b": r"\b", "\f": r"\f", "\n": r"\n", "\r": r"\r", "\t": r"\t", "\v": r"\v", "\\": r"\\", '"': r"\"",
}  # fmt: skip
_PLAIN: Final = re.compile(r"[ !#-\[\]-~]*")


class RangeFault(GoError):
    """The text is a number, but none that fits; ``nearest`` is the value that Go returns beside the error."""

    def __init__(self, message: str, nearest: float) -> None:
        super().__init__(message)
        self.nearest = nearest


def parse_int(text: str, base: int = 10, bits: int = 64) -> int:
    """``strconv.ParseInt``; base 0 reads prefixes (``0x``, ``0o``, ``0b``, ``0``) and underscores.

    Raises :class:`GoError` with Go's text: invalid syntax, or value out of range (a :class:`RangeFault`).
    """
    if base == 10 and bits >= 32 and len(text) < 10 and text.isascii() and text.isdecimal():
        return int(text)  # as nearly always
    digits = text[1:] if text[:1] in {"+", "-"} else text
    magnitude = _magnitude("ParseInt", digits, base, text)
    value = -magnitude if text.startswith("-") else magnitude
    limit = 1 << (bits - 1)
    if not -limit <= value < limit:
        raise _out_of_range("ParseInt", text, -limit if value < 0 else limit - 1)
    return value


def parse_uint(text: str, base: int = 10, bits: int = 64) -> int:
    """``strconv.ParseUint``: as :func:`parse_int`, without any sign."""
    value = _magnitude("ParseUint", text, base, text)
    if value >= 1 << bits:
        raise _out_of_range("ParseUint", text, (1 << bits) - 1)
    return value


def parse_float(text: str) -> float:
    """``strconv.ParseFloat`` with 64 bits: decimal, hexadecimal (``0x1p-2``), infinities, NaN."""
    plain = text.replace("_", "") if _underscores_fit(text) else text
    if _DECIMAL.fullmatch(plain):
        value = float(plain)
    elif _HEX.fullmatch(plain):
        value = _hex_float(plain)
    elif _SPECIAL.fullmatch(plain):
        return float(plain)
    else:
        raise _invalid("ParseFloat", text)
    if math.isinf(value):
        message = f"strconv.ParseFloat: parsing {quote(text)}: value out of range"
        raise RangeFault(message, value)
    return value


def parse_bool(text: str) -> bool:
    """``strconv.ParseBool``: ``1 t T TRUE true True 0 f F FALSE false False``."""
    if text in {"1", "t", "T", "TRUE", "true", "True"}:
        return True
    if text in {"0", "f", "F", "FALSE", "false", "False"}:
        return False
    raise _invalid("ParseBool", text)


def format_float(value: float, verb: str = "g", precision: int = -1, bits: int = 64) -> str:
    """``strconv.FormatFloat`` for the verbs e, E, f, g, G; precision -1 gives the shortest digits."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    if verb in "gG":
        text = _general(value, precision, bits)
    elif precision >= 0:
        text = f"{value:.{precision}{verb.lower()}}"
    else:
        sign, digits, exponent = _shortest(value, bits)
        text = sign + (_scientific(digits, exponent) if verb in "eE" else _positional(digits, exponent))
    return text.upper() if verb in "EG" else text


def quote(text: str) -> str:
    """``strconv.Quote``."""
    if _PLAIN.fullmatch(text):
        return f'"{text}"'
    return '"' + "".join(map(_escaped, normalise(text))) + '"'


def quote_to_ascii(text: str) -> str:
    """``strconv.QuoteToASCII``."""
    return '"' + "".join(char if _PLAIN.fullmatch(char) else _escaped_ascii(char) for char in normalise(text)) + '"'


_FIT_SURELY: Final = 20
"""Numbers with fewer digits fit into 64 bits."""


def _magnitude(function: str, digits: str, base: int, text: str) -> int:
    """The number that ``digits`` (no sign) is; Go stops at the first digit beyond 64 bits."""
    if base == 10 and len(digits) < _FIT_SURELY and digits.isascii() and digits.isdecimal():
        return int(digits)
    rest, radix = (digits, base) if base else _split_prefix(digits)
    if not digits or (base == 0 and not _underscores_fit(digits)):
        raise _invalid(function, text)
    value = 0
    for char in rest:
        if char == "_" and base == 0:
            continue
        digit = _DIGITS.find(char.lower()) if char.isascii() else -1
        if not 0 <= digit < radix:
            raise _invalid(function, text)
        value = value * radix + digit
        if value >= 1 << 64:
            raise _out_of_range(function, text, _extreme(function, text))
    return value


def _extreme(function: str, text: str) -> int:
    if function == "ParseUint":
        return (1 << 64) - 1
    return -(1 << 63) if text.startswith("-") else (1 << 63) - 1


def _split_prefix(digits: str) -> tuple[str, int]:
    if not digits.startswith("0"):
        return digits, 10
    radix = _PREFIXES.get(digits[1:2].lower())
    if radix and len(digits) >= 3:
        return digits[2:], radix
    return digits[1:], 8


def _underscores_fit(text: str) -> bool:
    """Whether each underscore is between digits, or between a base prefix and a digit."""
    if "_" not in text:
        return True
    rest = text[1:] if text[0] in "+-" else text
    prefixed = rest[:2].lower() in {"0b", "0o", "0x"}
    digits = "0123456789abcdefABCDEF" if rest[:2].lower() == "0x" else "0123456789"
    before = "0" if prefixed else ""
    for char in rest[2:] if prefixed else rest:
        if char == "_" and before not in {*digits}:
            return False
        if before == "_" and char not in digits:
            return False
        before = char
    return before != "_"


def _hex_float(text: str) -> float:
    try:
        return float.fromhex(text)
    except OverflowError:
        return -math.inf if text.startswith("-") else math.inf


def _invalid(function: str, text: str) -> GoError:
    return GoError(f"strconv.{function}: parsing {quote(text)}: invalid syntax")


def _out_of_range(function: str, text: str, nearest: int) -> RangeFault:
    return RangeFault(f"strconv.{function}: parsing {quote(text)}: value out of range", nearest)


def _shortest(value: float, bits: int) -> tuple[str, str, int]:
    """Sign, shortest digits that read back the same, and the exponent of the first digit."""
    text = repr(value) if bits == 64 else _repr32(value)
    sign = "-" if text.startswith("-") else ""
    mantissa, _, exponent = text.removeprefix("-").partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    if not digits:
        return sign, "0", 0
    leading = len(whole + fraction) - len(digits)
    first = len(whole) - 1 - leading + int(exponent or "0")
    return sign, digits.rstrip("0") or "0", first


def _repr32(value: float) -> str:
    """The shortest text that reads back as the same ``float32``."""
    target = struct.pack("f", value)
    for precision in range(9):
        text = f"{value:.{precision}e}"
        if struct.pack("f", float(text)) == target:
            return text
    return f"{value:.9e}"


def _scientific(digits: str, exponent: int) -> str:
    mantissa = digits[0] + (f".{digits[1:]}" if len(digits) > 1 else "")
    return f"{mantissa}e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"


def _positional(digits: str, exponent: int) -> str:
    if exponent < 0:
        return "0." + "0" * (-exponent - 1) + digits
    whole = digits[: exponent + 1].ljust(exponent + 1, "0")
    fraction = digits[exponent + 1 :]
    return f"{whole}.{fraction}" if fraction else whole


def _general(value: float, precision: int, bits: int) -> str:
    if precision >= 0:
        return f"{value:.{precision or 1}g}"
    sign, digits, exponent = _shortest(value, bits)
    if exponent < -4 or exponent >= 6:
        return sign + _scientific(digits, exponent)
    return sign + _positional(digits, exponent)


def _escaped(char: str) -> str:
    return char if char not in _ESCAPES and is_print(char) else _escaped_ascii(char)


def _escaped_ascii(char: str) -> str:
    code = ord(char)
    if char in _ESCAPES:
        return _ESCAPES[char]
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"
    if code < 0x20 or code == 0x7F:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


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


def decimal_of(number: float) -> Decimal:
    """The shortest decimal that reads back as ``number``. Raises GoError for infinities and NaN."""
    if not math.isfinite(number):
        raise GoError(f"cannot create a decimal from {number}")
    mantissa, _, exponent = repr(number).partition("e")
    whole, _, fraction = mantissa.partition(".")
    return Decimal(int(whole + fraction), int(exponent or "0") - len(fraction))
