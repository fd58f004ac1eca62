"""Go values as Python holds them.

Truth, printing, comparison and argument passing differ by Go type (osm-behaviour.md, "Template language"),
so a value has its Go type if the Python type is ambiguous:

=======================  ========================================== Go                       Python
=======================  ========================================== string                   ``str`` (invalid UTF-8
bytes as surrogate escapes) a named string type      a subclass of :class:`NamedString` int                      ``int``
int64, int32, …          :class:`Int64`, :class:`Int32`, … float64                  ``float`` bool
``bool`` map[string]interface {}  ``dict`` another map type         a subclass of :class:`GoMap` []interface {}
``list`` another slice type       a subclass of :class:`GoList` a struct                 a frozen dataclass below
:class:`Struct` a pointer                :class:`Pointer` (``elem`` is ``None`` for nil) nil in an interface
``None`` no value (a missing key) :data:`NO_VALUE` =======================  ==========================================

Python's truth of every one of these is Go's template truth. A nil map or slice is an empty one that is also a
:class:`Nil`. Bytes of strings that are not UTF-8 are surrogate escapes; where bytes count (``len``, ``index``), encode
with ``to_bytes``.

Types with methods list them in ``methods``; a method is a Python method without arguments. A type with ``String`` (and
a pointer to a struct with it) prints as Go's ``fmt.Stringer``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final, NoReturn

from osm_gitops.gocompat.duration import format_duration
from osm_gitops.gocompat.net import format_ip, ip_bytes
from osm_gitops.gotemplate.faults import Refused

NO_METHODS: Final[frozenset[str]] = frozenset()


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
    methods: ClassVar[frozenset[str]] = NO_METHODS


class SizedInt(int):
    """A Go integer type other than ``int``."""

    __slots__ = ()
    go_type: ClassVar[str] = "int"
    methods: ClassVar[frozenset[str]] = NO_METHODS


class Int64(SizedInt):
    __slots__ = ()
    go_type = "int64"


class Int32(SizedInt):
    __slots__ = ()
    go_type = "int32"


class Uint64(SizedInt):
    __slots__ = ()
    go_type = "uint64"


class Uint8(SizedInt):
    __slots__ = ()
    go_type = "uint8"


class Duration(SizedInt):
    """``time.Duration``: nanoseconds."""

    __slots__ = ()
    go_type = "time.Duration"
    methods = frozenset({"String", "Hours", "Minutes", "Seconds", "Milliseconds", "Microseconds", "Nanoseconds", "Abs"})

    def String(self) -> str:
        return format_duration(self)

    def Hours(self) -> float:
        return _split_units(self, 3_600 * _SECOND)

    def Minutes(self) -> float:
        return _split_units(self, 60 * _SECOND)

    def Seconds(self) -> float:
        return _split_units(self, _SECOND)

    def Milliseconds(self) -> Int64:
        return Int64(_quotient(self, 1_000_000))

    def Microseconds(self) -> Int64:
        return Int64(_quotient(self, 1_000))

    def Nanoseconds(self) -> Int64:
        return Int64(self)

    def Abs(self) -> Duration:
        return Duration(min(abs(self), (1 << 63) - 1))


_SECOND: Final = 1_000_000_000


def _quotient(number: int, divisor: int) -> int:
    """Division that truncates toward zero, as Go's."""
    return -(-number // divisor) if number < 0 else number // divisor


def _split_units(number: int, unit: int) -> float:
    """Whole units and the rest apart, as Go adds them, so that the last digit agrees."""
    whole = _quotient(number, unit)
    return float(whole) + float(number - whole * unit) / unit


class Nil:
    """Marks the nil map or slice of a type: empty, and ``null`` in JSON."""

    __slots__ = ()


class NilDict(dict[str, Any], Nil):
    """The nil ``map[string]interface {}``."""

    __slots__ = ()


class OwnMap(dict[str, Any]):
    """A user's own values at ``path``, a ``map[string]interface {}``: all templates share it, so none may change it."""

    __slots__ = ("path",)

    def __init__(self, values: Mapping[str, Any], path: tuple[str, ...] = ()) -> None:
        super().__init__(values)
        self.path = path

    def __setitem__(self, key: str, value: Any) -> NoReturn:
        raise Refused(OWN_VALUES)

    def pop(self, *_: Any) -> NoReturn:
        raise Refused(OWN_VALUES)


OWN_VALUES: Final = "Values are the same for all templates and cannot be changed; change a copy (`deepCopy`)"


class GoMap(dict[Any, Any]):
    """A Go map whose type is not ``map[string]interface {}``."""

    __slots__ = ()
    go_type: ClassVar[str] = "map[string]interface {}"
    elem_type: ClassVar[str] = "interface {}"


class StringMap(GoMap):
    __slots__ = ()
    go_type = "map[string]string"
    elem_type = "string"


class NilStringMap(StringMap, Nil):
    __slots__ = ()


class BoolMap(GoMap):
    __slots__ = ()
    go_type = "map[string]bool"
    elem_type = "bool"


class AnyKeyMap(GoMap):
    """``map[interface {}]interface {}``: YAML's type of a map with keys that are not strings."""

    __slots__ = ()
    go_type = "map[interface {}]interface {}"


class NilList(list[Any], Nil):
    """The nil ``[]interface {}``."""

    __slots__ = ()


class GoList(list[Any]):
    """A Go slice whose type is not ``[]interface {}``."""

    __slots__ = ()
    go_type: ClassVar[str] = "[]interface {}"
    methods: ClassVar[frozenset[str]] = NO_METHODS


class StringList(GoList):
    __slots__ = ()
    go_type = "[]string"


class NilStringList(StringList, Nil):
    __slots__ = ()


class IntList(GoList):
    __slots__ = ()
    go_type = "[]int"


class ListList(GoList):
    __slots__ = ()
    go_type = "[][]interface {}"


class MapList(GoList):
    __slots__ = ()
    go_type = "[]map[string]interface {}"


class IPList(GoList):
    __slots__ = ()
    go_type = "[]net.IP"


class IP(GoList):
    """``net.IP``: 16 bytes made from any spelling that Go reads (raises GoError for others), or a part of them."""

    __slots__ = ("text",)
    go_type = "net.IP"
    methods = frozenset({"String"})

    def __init__(self, address: str | bytes) -> None:
        packed = ip_bytes(address) if isinstance(address, str) else address
        super().__init__(map(Uint8, packed))
        self.text = format_ip(packed)

    def String(self) -> str:
        return self.text


RANDOM_ORDER: Final = "the order of `keys` and `values` is random in Go; put `sortAlpha` directly after them"


class Unordered(list[Any]):
    """Two or more keys or values of a map: in Go their order is random.

    Whatever needs the order is refused by name; :func:`members` gives the elements to what does not (``sortAlpha``,
    ``has``, ``len``).
    """

    __slots__ = ()

    __hash__ = None

    def __iter__(self) -> NoReturn:
        raise Refused(RANDOM_ORDER)

    def __reversed__(self) -> NoReturn:
        raise Refused(RANDOM_ORDER)

    def __getitem__(self, _: object) -> NoReturn:
        raise Refused(RANDOM_ORDER)

    def __add__(self, _: object) -> NoReturn:
        raise Refused(RANDOM_ORDER)

    def __radd__(self, _: object) -> NoReturn:
        raise Refused(RANDOM_ORDER)

    def __eq__(self, _: object) -> NoReturn:
        raise Refused(RANDOM_ORDER)


class UnorderedStrings(Unordered, StringList):
    __slots__ = ()


def members(items: list[Any]) -> Iterator[Any]:
    """The elements of a slice for an operation that does not depend on their order."""
    return list.__iter__(items)


class Struct:
    """Base of Go structs: frozen dataclasses with Go's field names, in order.

    ``methods`` names the attributes that Go would call (no arguments) instead of read. A struct is always true.
    """

    __slots__ = ()
    go_type: ClassVar[str] = "struct {}"
    methods: ClassVar[frozenset[str]] = NO_METHODS
    __match_args__: ClassVar[tuple[str, ...]] = ()

    def field_names(self) -> tuple[str, ...]:
        """Names in Go's order; those that start small are not exported."""
        return self.__match_args__  # dataclasses keep their field names there


class Pointer:
    """A Go pointer; false only when nil, whatever it points to.

    Methods that work on a nil pointer too sit on a subclass.
    """

    __slots__ = ("elem", "elem_type")
    methods: ClassVar[frozenset[str]] = NO_METHODS

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


_PLAIN_TYPES: Final[dict[type, tuple[str, str]]] = {
    str: ("string", "string"),
    bool: ("bool", "bool"),
    int: ("int", "int"),
    float: ("float64", "float64"),
    complex: ("complex128", "complex128"),
    dict: ("map[string]interface {}", "map"),
    NilDict: ("map[string]interface {}", "map"),
    OwnMap: ("map[string]interface {}", "map"),
    list: ("[]interface {}", "slice"),
    NilList: ("[]interface {}", "slice"),
    Unordered: ("[]interface {}", "slice"),
    type(None): ("<nil>", "invalid"),
    NoValue: ("<nil>", "invalid"),
}
_KINDS: Final[tuple[tuple[type, str], ...]] = (
    (NamedString, "string"),
    (Duration, "int64"),
    (GoMap, "map"),
    (GoList, "slice"),
    (Struct, "struct"),
    (Pointer, "ptr"),
)


def go_type(value: Any) -> str:
    """The Go type of ``value`` as ``%T`` prints it; ``<nil>`` for nil and no value."""
    plain = _PLAIN_TYPES.get(type(value))
    return plain[0] if plain else str(value.go_type)


def kind(value: Any) -> str:
    """Go's ``reflect.Kind`` of ``value`` as it prints; ``invalid`` for nil and no value."""
    plain = _PLAIN_TYPES.get(type(value))
    if plain:
        return plain[1]
    for base, name in _KINDS:
        if isinstance(value, base):
            return name
    return str(value.go_type)


def is_nil(value: Any) -> bool:
    """Whether ``value`` is nil: no value, or the nil of a pointer, map or slice type."""
    return value is None or value is NO_VALUE or isinstance(value, Nil) or (isinstance(value, Pointer) and not value)


def nil(elem_type: str) -> Pointer:
    """A nil pointer to ``elem_type``."""
    return Pointer(None, elem_type)


def pointed_to(value: Any) -> Any:
    """What a pointer points to, ``None`` for nil; other values as they are."""
    while isinstance(value, Pointer):
        value = value.elem
    return value


def wrap_int64(number: int) -> int:
    """``number`` in 64 bits, the overflow lost."""
    return (int(number) + (1 << 63)) % (1 << 64) - (1 << 63)


_TimeDuration = Duration  # MetaDuration has a field of the name


@dataclass(frozen=True)
class MetaDuration(Struct):
    """``metav1.Duration``, which prints in a form that no kubelet reads (osm-behaviour.md, "Printing").

    Its methods are those of the ``time.Duration`` inside, but for ``String``.
    """

    go_type = "v1.Duration"
    methods = frozenset({"String"}) | (Duration.methods - {"String"})
    Duration: _TimeDuration

    def String(self) -> str:
        return f"&Duration{{Duration:{self.Duration.String()},}}"

    def __getattr__(self, name: str) -> Any:
        """The methods of the embedded ``time.Duration``."""
        if name in Duration.methods:
            return getattr(self.Duration, name)
        raise AttributeError(name)


class DurationPointer(Pointer):
    """``*metav1.Duration``: ``String`` works on nil too."""

    __slots__ = ()
    methods = frozenset({"String"})

    def __init__(self, nanoseconds: int | None) -> None:
        super().__init__(None if nanoseconds is None else MetaDuration(Duration(nanoseconds)), MetaDuration.go_type)

    def String(self) -> str:
        return "nil" if self.elem is None else str(self.elem.String())
