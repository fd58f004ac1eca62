"""Fields, indexes, lengths and loops over Go values (osm-behaviour.md, "Template language")."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from osm_gitops.gocompat.fault import GoError
from osm_gitops.gocompat.text import byte_len, to_bytes
from osm_gitops.gotemplate.compare import sorted_keys
from osm_gitops.gotemplate.faults import TemplateFault
from osm_gitops.gotemplate.own_values import AbsentValue, absent_below
from osm_gitops.gotemplate.values import (
    NO_VALUE,
    AnyKeyMap,
    GoMap,
    OwnMap,
    Pointer,
    Struct,
    Uint8,
    go_type,
    is_nil,
    kind,
)

_ZEROS: Final[dict[str, Any]] = {"string": "", "bool": False, "int": 0}


def field(value: Any, names: Iterable[str]) -> Any:
    """``value.A.B``: struct fields and methods, keys of maps, through pointers.

    A missing key and every field of no value is NO_VALUE. Raises TemplateFault for an unknown field, a nil pointer, and
    a type that has no fields.
    """
    for name in names:
        value = value.get(name, NO_VALUE) if type(value) is dict else _field(value, name)
    return value


def index(value: Any, *indexes: Any) -> Any:
    """``index value 1 "k"``: elements of lists, bytes of strings, values of maps (the zero value for a missing key)."""
    if value is None:
        raise GoError("index of untyped nil")
    for each in indexes:
        value = _behind_pointers(value)
        if is_nil(value) and kind(value) in {"ptr", "invalid"}:
            raise GoError("index of nil pointer")
        value = _index(value, each)
    return value


def length(value: Any) -> int:
    """``len``: bytes of a string, elements of a list or map."""
    value = _behind_pointers(value)
    if isinstance(value, str):
        return byte_len(value)
    if isinstance(value, (list, dict)):
        return len(value)
    if isinstance(value, Pointer):
        raise GoError("len of nil pointer")
    raise GoError(f"len of type {go_type(value)}")


def iterate1(value: Any) -> Sequence[Any]:
    """What ``range`` binds to one variable: elements, values in the order of their keys, numbers from 0."""
    value = _behind_pointers(value)
    if isinstance(value, dict):
        return [value[key] for key in sorted_keys(value)]
    if isinstance(value, int) and not isinstance(value, bool):
        return _Counted(value)
    return _elements(value)


def iterate2(value: Any) -> Iterable[tuple[Any, Any]]:
    """What ``range`` binds to two variables: index or key, and element."""
    value = _behind_pointers(value)
    if isinstance(value, dict):
        return [(key, value[key]) for key in sorted_keys(value)]
    if isinstance(value, int) and not isinstance(value, bool):
        raise TemplateFault(f"range over the number {value} binds one variable, not two")
    return list(enumerate(_elements(value)))


class _Counted(Sequence[int]):
    """0 … number-1 as numbers of the same Go type, made one at a time."""

    def __init__(self, number: int) -> None:
        self._type = type(number)
        self._count = max(int(number), 0)

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, at: Any) -> Any:
        return self._type(range(self._count)[at])


def _behind_pointers(value: Any) -> Any:
    while isinstance(value, Pointer) and value.elem is not None:
        value = value.elem
    return value


def _field(receiver: Any, name: str) -> Any:
    if receiver is NO_VALUE:
        return NO_VALUE
    if isinstance(receiver, AbsentValue):
        return absent_below(receiver, name)
    if receiver is None:
        raise TemplateFault(f"nil pointer evaluating interface {{}}.{name}")
    if isinstance(receiver, Pointer):
        if name in receiver.methods:
            return _called(receiver, name)
        if receiver.elem is None:
            raise TemplateFault(f"nil pointer evaluating {receiver.go_type}.{name}; test it first with `if` or `with`")
        return _field(receiver.elem, name)
    if name in getattr(receiver, "methods", ()):
        return _called(receiver, name)
    if isinstance(receiver, dict):
        return receiver.get(name, absent_below(receiver, name) if isinstance(receiver, OwnMap) else NO_VALUE)
    if isinstance(receiver, Struct):
        if name[0].isupper() and name in receiver.field_names():
            return getattr(receiver, name)
        shown = ", ".join(each for each in receiver.field_names() if each[0].isupper())
        raise TemplateFault(f"there is no field {name} in a value of type {go_type(receiver)}; it has {shown}")
    raise TemplateFault(f"can't evaluate field {name} in type {go_type(receiver)}")


def _called(receiver: Any, name: str) -> Any:
    try:
        return getattr(receiver, name)()
    except GoError as error:
        raise TemplateFault(f"error calling {name}: {error}") from error


def _index(value: Any, at: Any) -> Any:
    if isinstance(value, dict):
        return _map_index(value, at)
    if isinstance(value, str):
        data = to_bytes(value)
        return Uint8(data[_position(at, len(data))])
    if isinstance(value, list):
        return value[_position(at, len(value))]
    raise GoError(f"can't index item of type {go_type(value)}")


def _position(at: Any, count: int) -> int:
    if at is None:
        raise GoError("cannot index slice/array with nil")
    if isinstance(at, bool) or not isinstance(at, int):
        raise GoError(f"cannot index slice/array with type {go_type(at)}")
    if not 0 <= at < count:
        raise GoError(f"index out of range: {int(at)}, the length is {count}")
    return int(at)


def _map_index(value: dict[Any, Any], key: Any) -> Any:
    if not isinstance(value, AnyKeyMap) and type(key) is not str:
        raise GoError(f"value has type {go_type(key)}; should be string")
    try:
        found = value.get(key, NO_VALUE)
    except TypeError:
        raise GoError(f"hash of unhashable type {go_type(key)}") from None
    if found is NO_VALUE:
        if isinstance(value, OwnMap):
            return absent_below(value, key)
        return _ZEROS.get(value.elem_type) if isinstance(value, GoMap) else None
    return found


def _elements(value: Any) -> list[Any]:
    if value is None or value is NO_VALUE or isinstance(value, AbsentValue):
        return []
    if not isinstance(value, list):
        what = "a nil pointer" if isinstance(value, Pointer) else f"a value of type {go_type(value)}"
        raise TemplateFault(f"range can't iterate over {what}")
    iter(value)  # refuses lists whose order is random
    return value
