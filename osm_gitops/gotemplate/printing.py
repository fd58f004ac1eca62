"""Printing as Go does it: what an action writes, and ``print``, ``println``, ``printf`` (osm-behaviour.md,
"Printing")."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from osm_gitops.gocompat import gofmt
from osm_gitops.gocompat.gofmt import Flags
from osm_gitops.gocompat.text import is_digit
from osm_gitops.gotemplate.bounds import budget
from osm_gitops.gotemplate.compare import sorted_keys
from osm_gitops.gotemplate.faults import BoundExceeded, Refused
from osm_gitops.gotemplate.values import (
    NO_VALUE,
    Int32,
    Int64,
    Nil,
    Pointer,
    Uint8,
    Uint64,
    go_type,
    is_nil,
    kind,
)

_TEXT_VERBS: Final = frozenset("vsxXq")
_FLOAT_PRECISIONS: Final = {"v": -1, "b": -1, "g": -1, "G": -1, "x": -1, "X": -1, "f": 6, "F": 6, "e": 6, "E": 6}
_FLOAT_VERBS: Final = {"v": "g", "F": "f"}
_INTEGER_BASES: Final = {"v": 10, "d": 10, "b": 2, "o": 8, "O": 8, "x": 16, "X": 16}
_CHARS: Final = 10
_ADDRESSED: Final = frozenset({"slice", "struct", "map"})


def stringer(value: Any) -> str | None:
    """What ``value.String()`` gives if its Go type has that method, else None."""
    if isinstance(value, Pointer):
        if "String" not in value.methods:
            return None if value.elem is None else stringer(value.elem)
    elif "String" not in getattr(value, "methods", ()):
        return None
    return str(value.String())


_ROUND: Final = 63
"""Pieces that are counted together; two are one step."""


class Printer:
    """Collects text; ``flags`` belong to the verb at hand."""

    __slots__ = ("_budget", "_erroring", "_parts", "flags", "size")

    def __init__(self) -> None:
        self.flags = Flags()
        self.size = 0
        self._parts: list[str] = []
        self._erroring = False
        self._budget = budget()

    def text(self) -> str:
        return "".join(self._parts)

    def write(self, text: str) -> None:
        self.size += len(text)
        self._budget.size(self.size)
        self._parts.append(text)
        if not len(self._parts) & _ROUND:
            self._budget.step(_ROUND >> 1)

    def argument(self, value: Any, verb: str) -> None:
        """Print one operand of a print function."""
        if value is None or value is NO_VALUE:
            if verb in "Tv":
                self.write(gofmt.pad(self.flags, "<nil>"))
            else:
                self.bad_verb(None, verb)
        elif verb == "T":
            self.write(gofmt.write_string(self.flags, go_type(value)))
        elif verb == "p":
            self._address(value, verb)
        else:
            self._value(value, verb, 0)

    def bad_verb(self, value: Any, verb: str) -> None:
        """``%!d(string=x)``: the verb does not fit the value."""
        self.write(f"%!{verb}(")
        if value is None:
            self.write("<nil>")
        else:
            self.write(f"{go_type(value)}=")
            self._erroring = True
            self._value(value, "v", 0)
            self._erroring = False
        self.write(")")

    def _value(self, value: Any, verb: str, depth: int) -> None:
        if self._methods(value, verb):
            return
        match kind(value):
            case "invalid":
                self.write("interface {}(nil)" if self.flags.sharp_v else "<nil>")
            case "bool":
                self._bool(value, verb)
            case "string":
                self._string(str(value), value, verb)
            case "float64":
                self._float(value, verb)
            case "complex128":
                self._complex(value, verb)
            case "map":
                self._map(value, verb, depth)
            case "slice":
                self._slice(value, verb, depth)
            case "struct":
                self._struct(value, verb, depth)
            case "ptr":
                self._pointer(value, verb, depth)
            case _:
                self._integer(value, verb)

    def _methods(self, value: Any, verb: str) -> bool:
        """Use the value's own ``String``, where the verb takes text."""
        if self._erroring or value is None or value is NO_VALUE:
            return False
        if verb == "w":
            self.bad_verb(value, verb)
            return True
        if verb not in _TEXT_VERBS or self.flags.sharp_v:
            return False
        text = stringer(value)
        if text is None:
            return False
        self._string(text, value, verb)
        return True

    def _bool(self, value: bool, verb: str) -> None:
        if verb in "tv":
            self.write(gofmt.write_bool(self.flags, value))
        else:
            self.bad_verb(value, verb)

    def _string(self, text: str, value: Any, verb: str) -> None:
        if not text.isascii():
            self._budget.step(len(text) >> _CHARS)  # finding its characters goes through all of it
        if verb == "q" or (verb == "v" and self.flags.sharp_v):
            self.write(gofmt.write_quoted(self.flags, text))
        elif verb in "sv":
            self.write(gofmt.write_string(self.flags, text))
        elif verb in "xX":
            self.write(gofmt.write_hex_string(self.flags, text, upper=verb == "X"))
        else:
            self.bad_verb(value, verb)

    def _integer(self, value: int, verb: str) -> None:
        number = int(value)
        if verb == "v" and self.flags.sharp_v and kind(value).startswith("uint"):
            self.write(gofmt.write_integer(replace(self.flags, sharp=True), number, 16))
        elif verb in _INTEGER_BASES:
            self.write(gofmt.write_integer(self.flags, number, _INTEGER_BASES[verb], verb=verb))
        elif verb == "c":
            self.write(gofmt.write_char(self.flags, number))
        elif verb == "q":
            self.write(gofmt.write_quoted_char(self.flags, number))
        elif verb == "U":
            self.write(gofmt.write_unicode(self.flags, number))
        else:
            self.bad_verb(value, verb)

    def _float(self, value: float, verb: str) -> None:
        precision = _FLOAT_PRECISIONS.get(verb)
        if precision is None:
            self.bad_verb(value, verb)
        else:
            self.write(gofmt.write_float(self.flags, value, _FLOAT_VERBS.get(verb, verb), precision))

    def _complex(self, value: complex, verb: str) -> None:
        if verb not in _FLOAT_PRECISIONS:
            self.bad_verb(value, verb)
            return
        plus = self.flags.plus
        self.write("(")
        self._float(value.real, verb)
        self.flags.plus = True
        self._float(value.imag, verb)
        self.flags.plus = plus
        self.write("i)")

    def _map(self, value: dict[Any, Any], verb: str, depth: int) -> None:
        if self._nil_of_type(value):
            return
        opening, between, closing = ("{", ", ", "}") if self.flags.sharp_v else ("[", " ", "]")
        self.write((go_type(value) if self.flags.sharp_v else "map") + opening)
        for position, key in enumerate(sorted_keys(value)):
            if position:
                self.write(between)
            self._value(key, verb, depth + 1)
            self.write(":")
            self._value(value[key], verb, depth + 1)
        self.write(closing)

    def _slice(self, value: list[Any], verb: str, depth: int) -> None:
        if self._nil_of_type(value):
            return
        opening, between, closing = ("{", ", ", "}") if self.flags.sharp_v else ("[", " ", "]")
        self.write((go_type(value) if self.flags.sharp_v else "") + opening)
        for position, item in enumerate(value):
            if position:
                self.write(between)
            self._value(item, verb, depth + 1)
        self.write(closing)

    def _struct(self, value: Any, verb: str, depth: int) -> None:
        self.write((go_type(value) if self.flags.sharp_v else "") + "{")
        for position, field in enumerate(value.field_names()):
            if position:
                self.write(", " if self.flags.sharp_v else " ")
            if self.flags.plus_v or self.flags.sharp_v:
                self.write(f"{field}:")
            self._value(getattr(value, field), verb, depth + 1)
        self.write("}")

    def _pointer(self, value: Pointer, verb: str, depth: int) -> None:
        if depth == 0 and value.elem is not None and kind(value.elem) in _ADDRESSED:
            self.write("&")
            self._value(value.elem, verb, 1)
        else:
            self._address(value, verb)

    def _address(self, value: Any, verb: str) -> None:
        """A pointer as such: nil, or an address that differs from run to run."""
        if kind(value) not in {"ptr", "map", "slice"}:
            self.bad_verb(value, verb)
        elif not is_nil(value):
            raise Refused(
                f"a value of type {go_type(value)} would be printed as its memory address, which is never the same; "
                "give the function what the pointer points to"
            )
        elif verb == "v":
            text = f"({go_type(value)})(nil)" if self.flags.sharp_v else gofmt.pad(self.flags, "<nil>")
            self.write(text)
        elif verb == "p":
            self.write(gofmt.write_integer(replace(self.flags, sharp=not self.flags.sharp), 0, 16))
        elif verb in "bodxX":
            self.write(gofmt.write_integer(self.flags, 0, _INTEGER_BASES[verb], verb=verb))
        else:
            self.bad_verb(value, verb)

    def _nil_of_type(self, value: Any) -> bool:
        """Write the nil map or slice where ``%#v`` names it."""
        if not (self.flags.sharp_v and isinstance(value, Nil)):
            return False
        self.write(f"{go_type(value)}(nil)")
        return True


_FLAG_NAMES: Final = {"#": "sharp", "0": "zero", "+": "plus", "-": "minus", " ": "space"}
_LARGEST: Final = 1_000_000
_PLAIN_INTEGERS: Final = frozenset({int, Int32, Int64, Uint8, Uint64})


def to_text(value: Any) -> str:
    """What ``{{ value }}`` writes: a pointer is followed, no value and nil are ``<no value>``."""
    value = printable(value)
    plain = type(value)
    if plain is str:
        return str(value)
    if plain in _PLAIN_INTEGERS:
        return str(int(value))
    if plain is bool:
        return "true" if value else "false"
    shown = stringer(value)
    return shown if shown is not None and shown.isascii() else sprint((value,))


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
        if isinstance(value, bool) or not isinstance(value, int) or not -_LARGEST <= int(value) <= _LARGEST:
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
