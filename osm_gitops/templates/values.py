"""Go values as Python holds them.

Truth, printing, comparison and argument passing differ by Go type (contract §6.4),
so a value carries its type wherever plain Python does not tell it:

=======================  ==========================================
Go                       Python
=======================  ==========================================
string                   ``str`` (invalid UTF-8 bytes as surrogate escapes)
a named string type      a subclass of :class:`NamedString`
int                      ``int``
int64, int32, …          :class:`Int64`, :class:`Int32`, …
float64                  ``float``
bool                     ``bool``
map[string]interface {}  ``dict``
another map type         a subclass of :class:`GoMap`
[]interface {}           ``list``
another slice type       a subclass of :class:`GoList`
a struct                 a frozen dataclass below :class:`Struct`
a pointer                :class:`Pointer` (``elem`` is ``None`` for nil)
nil in an interface      ``None``
no value (a missing key) :data:`NO_VALUE`
=======================  ==========================================

Python's truth of every one of these is Go's template truth.
"""

from __future__ import annotations

from typing import Any, ClassVar, Final


class NoValue:
    """The zero ``reflect.Value``: what a missing map key or an empty ``first`` gives."""

    __slots__ = ()

    def __bool__(self) -> bool:
        return False

    def __repr__(self) -> str:
        return "NO_VALUE"


NO_VALUE: Final = NoValue()


class NamedString(str):
    """A value of a Go type ``type T string``: no argument for a parameter of type string."""

    __slots__ = ()
    go_type: ClassVar[str] = "string"


class SizedInt(int):
    """A Go integer type other than ``int``."""

    __slots__ = ()
    go_type: ClassVar[str] = "int"


class Int64(SizedInt):
    __slots__ = ()
    go_type = "int64"


class Int32(SizedInt):
    __slots__ = ()
    go_type = "int32"


class Uint64(SizedInt):
    __slots__ = ()
    go_type = "uint64"


class Uint32(SizedInt):
    __slots__ = ()
    go_type = "uint32"


class Uint8(SizedInt):
    __slots__ = ()
    go_type = "uint8"


class Duration(SizedInt):
    """``time.Duration``: nanoseconds."""

    __slots__ = ()
    go_type = "time.Duration"


class GoMap(dict[str, Any]):
    """A Go map whose type is not ``map[string]interface {}``; keys are strings."""

    __slots__ = ()
    go_type: ClassVar[str] = "map[string]interface {}"
    elem_type: ClassVar[str] = "interface {}"


class StringMap(GoMap):
    __slots__ = ()
    go_type = "map[string]string"
    elem_type = "string"


class BoolMap(GoMap):
    __slots__ = ()
    go_type = "map[string]bool"
    elem_type = "bool"


class GoList(list[Any]):
    """A Go slice whose type is not ``[]interface {}``."""

    __slots__ = ()
    go_type: ClassVar[str] = "[]interface {}"


class StringList(GoList):
    __slots__ = ()
    go_type = "[]string"


class Struct:
    """Base of Go structs: frozen dataclasses whose attributes bear Go's field names, in order.

    ``methods`` names the attributes that Go would call (no arguments) instead of read.
    A struct is always true.
    """

    __slots__ = ()
    go_type: ClassVar[str] = "struct {}"
    methods: ClassVar[frozenset[str]] = frozenset()


class Pointer:
    """A Go pointer; false only when nil, whatever it points to."""

    __slots__ = ("elem", "elem_type")

    def __init__(self, elem: Any, elem_type: str) -> None:
        self.elem = elem
        self.elem_type = elem_type

    def __bool__(self) -> bool:
        return self.elem is not None

    def __repr__(self) -> str:
        return f"Pointer({self.elem!r}, {self.elem_type!r})"

    @property
    def go_type(self) -> str:
        return f"*{self.elem_type}"


def nil(elem_type: str) -> Pointer:
    """A nil pointer to ``elem_type``."""
    return Pointer(None, elem_type)
