"""Comparison and order of Go values: ``eq ne lt le gt ge``, ``reflect.DeepEqual``, and the order of a map's keys
(osm-behaviour.md, "Template language")."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from osm_gitops.gocompat.fault import GoError
from osm_gitops.gocompat.text import in_byte_order, to_bytes
from osm_gitops.gotemplate.bounds import budget, text_bytes
from osm_gitops.gotemplate.faults import Refused
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
    """Values other than numbers, strings and booleans: nil, pointers by identity, structs by their fields."""
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


def empty(value: Any) -> bool:
    """Whether ``default`` would replace ``value``: false, zero, nothing in it, nil."""
    return not value


def deep_equal(first: Any, second: Any) -> bool:
    """Same Go type and same content, all the way down; a nil list or map differs from an empty one."""
    if go_type(first) != go_type(second):
        return False
    if first is None or second is None:
        return first is second
    if isinstance(first, Pointer):
        if is_nil(first) or is_nil(second):
            return is_nil(first) and is_nil(second)
        return first is second or deep_equal(first.elem, second.elem)
    if isinstance(first, dict):
        return is_nil(first) == is_nil(second) and _equal_maps(first, second)
    if isinstance(first, list):
        return is_nil(first) == is_nil(second) and _equal_lists(first, second)
    if isinstance(first, Struct):
        return all(deep_equal(getattr(first, name), getattr(second, name)) for name in first.field_names())
    return eq(first, second)


def _equal_lists(first: list[Any], second: list[Any]) -> bool:
    if first is second:
        return True
    if len(first) != len(second):
        return False
    budget().step(1 + len(first))
    return all(map(deep_equal, first, second))


def _equal_maps(first: dict[Any, Any], second: dict[Any, Any]) -> bool:
    if first is second:
        return True
    if len(first) != len(second):
        return False
    budget().step(1 + len(first))
    return all(key in second and deep_equal(value, second[key]) for key, value in first.items())


def sorted_texts(texts: list[str]) -> list[str]:
    """Texts by their bytes, with the steps that sorting takes; those of one text that a list holds often, too."""
    spent = budget()
    size, rounds = sum(map(len, texts)), len(texts).bit_length()
    spent.step((size >> 8) + ((len(texts) >> 2) + (size >> 12)) * rounds)
    if not all(map(str.isascii, texts)):
        spent.make(sum(map(text_bytes, texts)))
    return in_byte_order(texts)


def sorted_keys(mapping: Mapping[Any, Any]) -> list[Any]:
    """The keys in Go's order: strings by bytes, numbers by value.

    Raises Refused for keys of several types (YAML allows them): Go sorts those by the address of their type.
    """
    keys = list(mapping)
    if len(keys) < 2:
        return keys
    try:
        plain = all(map(str.isascii, keys))
    except TypeError:  # there are others than strings
        plain = False
    if plain:
        return sorted(keys)
    if all(isinstance(key, str) for key in keys):
        return sorted(keys, key=to_bytes)
    if len({go_type(key) for key in keys}) > 1:
        raise Refused("a map whose keys are of several types has no fixed order in Go; use strings as keys")
    return sorted(keys)
