"""``time.ParseDuration`` and ``time.Duration.String``, in nanoseconds."""

from __future__ import annotations

import re
from typing import Final

from osm_gitops.gocompat.fault import GoError
from osm_gitops.gocompat.text import to_bytes

_UNITS: Final = {
    "ns": 1, "us": 1_000, "µs": 1_000, "μs": 1_000, "ms": 1_000_000,
    "s": 1_000_000_000, "m": 60_000_000_000, "h": 3_600_000_000_000,
}  # fmt: skip
_LIMIT: Final = 1 << 63
_ODD: Final = re.compile(r'[^\x20-\x7f]|["\\]')
_PART: Final = re.compile(r"([0-9]*)(?:\.([0-9]*))?([^0-9.]*)", re.DOTALL)


def parse_duration(text: str) -> int:
    """``time.ParseDuration``: ``1h30m``, ``-1.5s``, ``0``.

    Raises :class:`GoError` with Go's text: ``time: invalid duration ""``, ``time: missing unit in duration "2"``,
    ``time: unknown unit "d" in duration "1d"``.
    """
    negative = text.startswith("-")
    rest = text[1:] if text[:1] in {"+", "-"} else text
    if rest == "0":
        return 0
    if not rest:
        raise _invalid(text)
    total = position = 0
    while position < len(rest):
        match = _PART.match(rest, position)
        assert match
        total += _part(match, text)
        position = match.end()
        if total > _LIMIT:
            raise _invalid(text)
    if negative:
        return -total
    if total == _LIMIT:
        raise _invalid(text)
    return total


def format_duration(nanoseconds: int) -> str:
    """``Duration.String``: ``1h30m0s``, ``2m0s``, ``1.5s``, ``100ms``, ``0s``."""
    if nanoseconds == 0:
        return "0s"
    sign, amount = ("-", -nanoseconds) if nanoseconds < 0 else ("", nanoseconds)
    if amount < _UNITS["s"]:
        unit = "ns" if amount < 1_000 else "µs" if amount < 1_000_000 else "ms"
        return f"{sign}{_decimal(amount, _UNITS[unit])}{unit}"
    minutes, rest = divmod(amount, _UNITS["m"])
    hours, minutes_left = divmod(minutes, 60)
    text = f"{_decimal(rest, _UNITS['s'])}s"
    if minutes:
        text = f"{minutes_left}m{text}"
    if hours:
        text = f"{hours}h{text}"
    return sign + text


def quote_bytes(text: str) -> str:
    """Package ``time``'s own quotes: every byte beyond ASCII as ``\\xNN``."""
    return f'"{_ODD.sub(lambda match: _quoted_char(match[0]), text)}"'


def _quoted_char(char: str) -> str:
    if char < " " or not char.isascii():
        return "".join(f"\\x{byte:02x}" for byte in to_bytes(char))
    return f"\\{char}"


def _part(match: re.Match[str], text: str) -> int:
    """The nanoseconds of one number with its unit."""
    whole, fraction, unit = match.groups()
    significant = whole.lstrip("0") or "0"
    number = int(significant[:20])
    if number > _LIMIT or not (whole or fraction):
        raise _invalid(text)
    if not unit:
        raise GoError(f"time: missing unit in duration {quote_bytes(text)}")
    size = _UNITS.get(unit)
    if size is None:
        raise GoError(f"time: unknown unit {quote_bytes(unit)} in duration {quote_bytes(text)}")
    if number > _LIMIT // size:
        raise _invalid(text)
    total = number * size + _fraction(fraction or "", size)
    if total > _LIMIT:
        raise _invalid(text)
    return total


def _fraction(digits: str, size: int) -> int:
    """Go's own rounding: digits that overflow 63 bits are dropped, the product is a float."""
    value, scale = 0, 1.0
    for digit in digits:
        if value > (_LIMIT - 1) // 10 or value * 10 + int(digit) > _LIMIT:
            break
        value = value * 10 + int(digit)
        scale *= 10
    return int(float(value) * (float(size) / scale))


def _decimal(amount: int, size: int) -> str:
    whole, rest = divmod(amount, size)
    fraction = str(rest).zfill(len(str(size)) - 1).rstrip("0") if rest else ""
    return f"{whole}.{fraction}" if fraction else str(whole)


def _invalid(text: str) -> GoError:
    return GoError(f"time: invalid duration {quote_bytes(text)}")
