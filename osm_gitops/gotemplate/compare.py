"""``eq ne lt le gt ge`` as in Go's text/template (osm-behaviour.md, "Template language")."""

from __future__ import annotations

from typing import Any, Final

from osm_gitops.gocompat.fault import GoError
from osm_gitops.gocompat.text import to_bytes
from osm_gitops.gotemplate.bounds import budget
from osm_gitops.gotemplate.values import NO_VALUE, Pointer, Struct, go_type, is_nil, kind

_SHORT: Final = 4_096
_SHAPES: Final = frozenset({"map", "slice", "struct", "ptr", "invalid"})


def eq(first: Any, *others: Any) -> bool:
    """Whether ``first`` equals any of the others; raises GoError for types that do not compare."""
    if not others:
        raise GoError("missing argument for comparison")
    return any(_equal(first, other) for other in others)


def ne(first: Any, second: Any) -> bool:
    return not eq(first, second)


def lt(first: Any, second: Any) -> bool:
    """Whether ``first`` is less; only numbers of one kind and strings have an order."""
    if type(first) is int and type(second) is int:
        return first < second
    basic = _basic(first), _basic(second)
    if "" in basic:
        raise GoError("invalid type for comparison")
    if basic[0] != basic[1]:
        if set(basic) != {"int", "uint"}:
            raise _incompatible(first, second)
    elif basic[0] in {"bool", "complex"}:
        raise GoError("invalid type for comparison")
    if basic[0] == "string":
        return to_bytes(first) < to_bytes(second)
    return bool(first < second)


def le(first: Any, second: Any) -> bool:
    return lt(first, second) or eq(first, second)


def gt(first: Any, second: Any) -> bool:
    return not le(first, second)


def ge(first: Any, second: Any) -> bool:
    return not lt(first, second)


def _basic(value: Any) -> str:
    """Go's basic kind: bool, int, uint, float, complex, string; empty for all other values."""
    name = kind(value)
    return "" if name in _SHAPES else name.rstrip("0123456789")


def _equal(first: Any, second: Any) -> bool:
    if type(first) is str and type(second) is str:
        if first is second:
            return True
        if first.isascii() and len(first) < _SHORT:
            return first == second
        budget().step(len(first) + len(second) >> 12)
        return first == second or (not first.isascii() and to_bytes(first) == to_bytes(second))
    basic = _basic(first), _basic(second)
    if basic == ("", ""):
        return _equal_shapes(first, second)
    if basic[0] == basic[1] or set(basic) == {"int", "uint"}:
        return str(first) == str(second) if basic[0] == "string" else bool(first == second)
    if _invalid(first) or _invalid(second):
        return False
    raise _incompatible(first, second)


def _equal_shapes(first: Any, second: Any) -> bool:
    """Values that are no numbers, strings or booleans: nil, pointers by identity, structs by their fields."""
    if kind(first) != kind(second) and not (_invalid(first) or _invalid(second)):
        raise GoError(f"non-comparable types {go_type(first)} and {go_type(second)}")
    if is_nil(first) or is_nil(second):
        return is_nil(first) and is_nil(second)
    if not _comparable(second):
        raise GoError(f"non-comparable type {go_type(second)}")
    if isinstance(second, Pointer):
        return first is second
    return go_type(first) == go_type(second) and all(
        _same(getattr(first, field), getattr(second, field)) for field in second.field_names()
    )


def _same(first: Any, second: Any) -> bool:
    """Go's ``==`` of two fields of one comparable type."""
    return first is second if isinstance(first, Pointer) else bool(first == second)


def _comparable(value: Any) -> bool:
    if isinstance(value, Struct):
        return all(_comparable(getattr(value, field)) for field in value.field_names())
    return kind(value) not in {"map", "slice"}


def _invalid(value: Any) -> bool:
    return value is None or value is NO_VALUE


def _incompatible(first: Any, second: Any) -> GoError:
    return GoError(f"incompatible types for comparison: {go_type(first)} and {go_type(second)}")
