"""Printing as Go does it: what an action writes, and ``print``, ``println``, ``printf`` (osm-behaviour.md,
"Printing")."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from osm_gitops.gocompat.gofmt import Flags
from osm_gitops.gocompat.text import is_digit
from osm_gitops.gotemplate.faults import BoundExceeded
from osm_gitops.gotemplate.printing_values import Printer
from osm_gitops.gotemplate.values import NO_VALUE, Pointer, go_type, kind

_FLAG_NAMES: Final = {"#": "sharp", "0": "zero", "+": "plus", "-": "minus", " ": "space"}
_LARGEST: Final = 1_000_000


def to_text(value: Any) -> str:
    """What ``{{ value }}`` writes: a pointer is followed, no value and nil are ``<no value>``."""
    plain = type(value)
    if plain is str:
        return str(value)
    if plain is int:
        return str(value)
    if plain is bool:
        return "true" if value else "false"
    return sprint((printable(value),))


def printable(value: Any) -> Any:
    """What a pipeline's value prints as: behind all pointers, a text for no value."""
    while isinstance(value, Pointer) and value.elem is not None:
        value = value.elem
    return "<no value>" if value is None or value is NO_VALUE else value


def to_string(value: Any) -> str:
    """Sprig's ``toString``: a string itself, ``String()`` where there is one, else ``%v``."""
    return value if type(value) is str else sprint((value,))


def sprint(args: Sequence[Any]) -> str:
    """``fmt.Sprint``: a blank between operands when neither is a string."""
    printer = Printer()
    before_is_string = True
    for value in args:
        is_string = kind(value) == "string"
        if not (is_string or before_is_string):
            printer.write(" ")
        _print(printer, value, "v")
        before_is_string = is_string
    return printer.text()


def sprintln(args: Sequence[Any]) -> str:
    """``fmt.Sprintln``: a blank between all operands, and a line end."""
    printer = Printer()
    for position, value in enumerate(args):
        if position:
            printer.write(" ")
        _print(printer, value, "v")
    printer.write("\n")
    return printer.text()


def sprintf(template: str, args: Sequence[Any]) -> str:
    """``fmt.Sprintf``."""
    return _Format(template, args).text()


def _print(printer: Printer, value: Any, verb: str) -> None:
    try:
        printer.argument(value, verb)
    except RecursionError:
        raise BoundExceeded("a value is nested too deeply to be printed; make it flatter") from None


class _Format:
    """One run of Sprintf: a place in the format and the operand that is next."""

    def __init__(self, template: str, args: Sequence[Any]) -> None:
        self._template = template
        self._args = args
        self._at = 0
        self._next = 0
        self._reordered = False
        self._good_index = True
        self._after_index = False
        self._printer = Printer()

    def text(self) -> str:
        template = self._template
        while self._at < len(template):
            percent = template.find("%", self._at)
            stop = len(template) if percent < 0 else percent
            self._printer.write(template[self._at : stop])
            self._at = stop + 1
            if percent >= 0:
                self._directive()
        if not self._reordered:
            self._extra()
        return self._printer.text()

    def _directive(self) -> None:
        self._good_index = True
        self._printer.flags = flags = Flags()
        while self._peek() in _FLAG_NAMES:
            setattr(flags, _FLAG_NAMES[self._peek()], True)
            self._at += 1
        self._index()
        self._width(flags)
        if self._peek() == "." and self._at + 1 < len(self._template):
            self._at += 1
            self._precision(flags)
        if not self._after_index:
            self._index()
        verb = self._peek()
        self._at += 1
        if verb:
            self._verb(verb, flags)
        else:
            self._printer.write("%!(NOVERB)")

    def _verb(self, verb: str, flags: Flags) -> None:
        if verb == "%":
            self._printer.write("%")
        elif not self._good_index:
            self._printer.write(f"%!{verb}(BADINDEX)")
        elif self._next >= len(self._args):
            self._printer.write(f"%!{verb}(MISSING)")
        else:
            if verb in "vw":
                flags.sharp_v, flags.plus_v = flags.sharp, flags.plus
                flags.sharp = flags.plus = False
            _print(self._printer, self._args[self._next], verb)
            self._next += 1

    def _width(self, flags: Flags) -> None:
        if self._peek() == "*":
            self._at += 1
            flags.width = self._number_operand()
            if flags.width is None:
                self._printer.write("%!(BADWIDTH)")
            elif flags.width < 0:
                flags.width, flags.minus, flags.zero = -flags.width, True, False
            self._after_index = False
            return
        flags.width = self._number()
        if self._after_index and flags.width is not None:
            self._good_index = False

    def _precision(self, flags: Flags) -> None:
        if self._after_index:
            self._good_index = False
        self._index()
        if self._peek() != "*":
            flags.precision = self._number() or 0
            return
        self._at += 1
        flags.precision = self._number_operand()
        if flags.precision is None or flags.precision < 0:
            flags.precision = None
            self._printer.write("%!(BADPREC)")
        self._after_index = False

    def _index(self) -> None:
        """An explicit operand number, ``[2]``."""
        self._after_index = False
        if self._peek() != "[":
            return
        self._reordered = True
        close = self._template.find("]", self._at)
        if close < 0 or self._at + 3 > len(self._template):
            self._good_index = False
            self._at += 1
            return
        number = self._template[self._at + 1 : close]
        self._at = close + 1
        is_number = number.isascii() and number.isdigit() and not _overflows(number)
        self._after_index = is_number
        if is_number and 1 <= int(number) <= len(self._args):
            self._next = int(number) - 1
        else:
            self._good_index = False

    def _number(self) -> int | None:
        """A width or precision in digits; one that is too large ends the format, as in Go."""
        start = self._at
        while is_digit(self._peek() or "x") and self._peek().isascii():
            self._at += 1
        digits = self._template[start : self._at]
        if not digits:
            return None
        if _overflows(digits):
            self._at = len(self._template)
            return None
        return int(digits)

    def _number_operand(self) -> int | None:
        """``*``: the next operand, if it is a small integer."""
        if self._next >= len(self._args):
            return None
        value = self._args[self._next]
        self._next += 1
        if isinstance(value, bool) or not isinstance(value, int) or not _small(int(value)):
            return None
        return int(value)

    def _extra(self) -> None:
        """Operands that no verb took."""
        rest = self._args[self._next :]
        if not rest:
            return
        self._printer.flags = Flags()
        self._printer.write("%!(EXTRA ")
        for position, value in enumerate(rest):
            if position:
                self._printer.write(", ")
            if value is not None:
                self._printer.write(f"{go_type(value)}=")
            _print(self._printer, value, "v")
        self._printer.write(")")

    def _peek(self) -> str:
        return self._template[self._at] if self._at < len(self._template) else ""


def _overflows(digits: str) -> bool:
    """Go stops reading digits once the number so far is too large, and so lets one more digit pass."""
    return len(digits) > 1 and int(digits[:-1]) > _LARGEST


def _small(number: int) -> bool:
    return -_LARGEST <= number <= _LARGEST
