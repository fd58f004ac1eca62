"""``reflect.DeepEqual`` and sprig's idea of an empty value."""

from __future__ import annotations

from typing import Any

from osm_gitops.gotemplate.bounds import budget
from osm_gitops.gotemplate.compare import eq
from osm_gitops.gotemplate.values import Pointer, Struct, go_type, is_nil


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
