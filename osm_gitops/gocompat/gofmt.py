"""How Go's package ``fmt`` writes scalars: flags, width and precision of one verb.

Which verb fits which type is decided by the caller; here every function writes one kind of value (osm-behaviour.md,
"Printing").
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from osm_gitops.gocompat.numbers import format_float, quote, quote_to_ascii
from osm_gitops.gocompat.text import REPLACEMENT, is_print, normalise, to_bytes

_MAX_RUNE: Final = 0x10FFFF
_BASE_LETTERS: Final = {2: "b", 8: "o", 10: "d", 16: "x"}


@dataclass(slots=True)
class Flags:
    """The flags between ``%`` and the verb; ``width`` and ``precision`` are None when absent."""

    width: int | None = None
    precision: int | None = None
    minus: bool = False
    plus: bool = False
    sharp: bool = False
    space: bool = False
    zero: bool = False
    plus_v: bool = False
    sharp_v: bool = False


def pad(flags: Flags, text: str, *, zeros: bool = True) -> str:
    """``text`` at the wanted width in characters; filled with zeros if the flag says so and ``zeros`` allows it."""
    if not flags.width:
        return text
    missing = flags.width - len(normalise(text))
    if missing <= 0:
        return text
    if flags.minus:
        return text + " " * missing
    return ("0" if flags.zero and zeros else " ") * missing + text


def write_bool(flags: Flags, value: bool) -> str:
    return pad(flags, "true" if value else "false")


def write_string(flags: Flags, text: str) -> str:
    """``%s``: cut to the precision in characters, then padded."""
    return pad(flags, _cut(flags, text))


def write_quoted(flags: Flags, text: str) -> str:
    """``%q``: a Go string literal; ``#`` prefers backquotes, ``+`` is ASCII only."""
    text = _cut(flags, text)
    if flags.sharp and _can_backquote(text):
        return pad(flags, f"`{text}`")
    return pad(flags, quote_to_ascii(text) if flags.plus else quote(text))


def write_hex_string(flags: Flags, text: str, *, upper: bool) -> str:
    """``%x`` and ``%X`` of a string: its bytes, the precision counts bytes."""
    data = to_bytes(text)
    if flags.precision is not None:
        data = data[: flags.precision]
    prefix = ("0X" if upper else "0x") if flags.sharp else ""
    pairs = [f"{byte:02X}" if upper else f"{byte:02x}" for byte in data]
    if not pairs:
        return pad(flags, "")
    return pad(flags, prefix + (" " + prefix).join(pairs) if flags.space else prefix + "".join(pairs))


def write_integer(flags: Flags, value: int, base: int, *, verb: str = "d") -> str:
    """``%d %b %o %O %x %X`` by ``base`` and ``verb``."""
    if flags.precision == 0 and value == 0:
        return " " * (flags.width or 0)
    sign = "-" if value < 0 else "+" if flags.plus else " " if flags.space else ""
    digits = format(abs(value), _BASE_LETTERS[base])
    least = flags.precision or 0
    if flags.precision is None and flags.zero and not flags.minus and flags.width:
        least = flags.width - len(sign)
    digits = digits.rjust(least, "0")
    if flags.sharp and not (base == 8 and digits.startswith("0")):
        digits = {2: "0b", 8: "0", 10: "", 16: "0x"}[base] + digits
    if verb == "O":
        digits = "0o" + digits
    return pad(flags, sign + (digits.upper() if verb == "X" else digits), zeros=False)


def write_char(flags: Flags, code: int) -> str:
    """``%c``: the character; U+FFFD for invalid ones."""
    return pad(flags, _char(code))


def write_quoted_char(flags: Flags, code: int) -> str:
    """``%q`` of an integer: a Go character literal."""
    char = _char(code)
    if char == "'":
        literal = r"\'"
    elif char == '"':
        literal = '"'
    else:
        literal = (quote_to_ascii(char) if flags.plus else quote(char))[1:-1]
    return pad(flags, f"'{literal}'")


def write_unicode(flags: Flags, code: int) -> str:
    """``%U``: ``U+0078``, with ``#`` also ``U+0078 'x'``."""
    number = code & 0xFFFF_FFFF_FFFF_FFFF
    text = f"U+{number:0{max(4, flags.precision or 0)}X}"
    if flags.sharp and number <= _MAX_RUNE and not 0xD800 <= number <= 0xDFFF and is_print(chr(number)):
        text += f" '{chr(number)}'"
    return pad(flags, text, zeros=False)


def write_float(flags: Flags, value: float, verb: str, precision: int) -> str:
    """``%e %E %f %g %G %x %X %b``; ``precision`` is the verb's own default, -1 the shortest."""
    if flags.precision is not None:
        precision = flags.precision
    text = _digits(value, verb, precision)
    sign, text = (text[0], text[1:]) if text[0] in "+-" else ("+", text)
    if flags.space and sign == "+" and not flags.plus:
        sign = " "
    if text == "NaN" and not (flags.space or flags.plus):
        sign = ""
    if text in {"NaN", "Inf"}:
        return pad(flags, sign + text, zeros=False)
    if flags.sharp and verb != "b":
        text = _with_point(text, verb, precision)
    if not flags.plus and sign == "+":
        return pad(flags, text)
    if flags.zero and not flags.minus and flags.width:
        return sign + text.rjust(flags.width - 1, "0")
    return pad(flags, sign + text)


def _cut(flags: Flags, text: str) -> str:
    return text if flags.precision is None else normalise(text)[: flags.precision]


def _char(code: int) -> str:
    return chr(code) if 0 <= code <= _MAX_RUNE and not 0xD800 <= code <= 0xDFFF else REPLACEMENT


def _can_backquote(text: str) -> bool:
    """``strconv.CanBackquote``: printable on one line, no backquote, no invalid byte."""
    return all(
        char == "\t" or (char >= " " and char not in "`\x7f\ufeff" and not "\ud800" <= char <= "\udfff")
        for char in normalise(text)
    )


def _digits(value: float, verb: str, precision: int) -> str:
    if math.isfinite(value) and verb in "xXb":
        if verb != "b":
            return _hexadecimal(value, precision, upper=verb == "X")
        mantissa, exponent = _mantissa(value)
        return f"{'-' if math.copysign(1, value) < 0 else ''}{mantissa}p{exponent:+d}"
    return format_float(value, verb, precision)


def _mantissa(value: float) -> tuple[int, int]:
    """Integers m, e with abs(value) = m × 2^e and Go's choice of e (that of the 53-bit mantissa)."""
    if value == 0:
        return 0, -1074
    fraction, exponent = math.frexp(abs(value))
    exponent = max(exponent - 53, -1074)
    return int(math.ldexp(abs(value), -exponent)) if fraction else 0, exponent


def _hexadecimal(value: float, precision: int, *, upper: bool) -> str:
    """``-0x1.23p-02``: one binary digit before the point; rounded half to even."""
    mantissa, exponent = _mantissa(value)
    power = 0
    if mantissa:
        missing = 53 - mantissa.bit_length()
        mantissa <<= missing
        power = exponent - missing + 52
    if 0 <= precision < 13:
        drop = 4 * (13 - precision)
        half, rest = 1 << (drop - 1), mantissa & ((1 << drop) - 1)
        mantissa >>= drop
        if rest > half or (rest == half and mantissa & 1):
            mantissa += 1
        if mantissa >> (4 * precision) == 2:
            mantissa >>= 1
            power += 1
        mantissa <<= drop
    fraction = f"{mantissa & ((1 << 52) - 1):013x}"
    fraction = fraction.rstrip("0") if precision < 0 else fraction.ljust(precision, "0")[:precision]
    head = f"{'-' if math.copysign(1, value) < 0 else ''}0x{mantissa >> 52}"
    text = f"{head}{'.' + fraction if fraction else ''}p{'-' if power < 0 else '+'}{abs(power):02d}"
    return text.upper() if upper else text


def _with_point(text: str, verb: str, precision: int) -> str:
    """The ``#`` flag: always a decimal point, and ``%g`` keeps its trailing zeros."""
    marker = "pP" if verb in "xX" else "eEpP"
    split = next((at for at, char in enumerate(text) if char in marker), len(text))
    number, tail = text[:split], text[split:]
    wanted = (6 if precision == -1 else precision) if verb in "gGx" else 0
    significant = number.replace(".", "").lstrip("0")
    wanted -= len(significant)
    if "." not in number:
        if number == "0":
            wanted -= 1
        number += "."
    return number + "0" * max(wanted, 0) + tail
