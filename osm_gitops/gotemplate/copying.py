"""Sprig's ``deepCopy``."""

from __future__ import annotations

from typing import Any

from osm_gitops.gocompat.fault import GoError
from osm_gitops.gotemplate.bounds import ITEM_BYTES, LIST_BYTES, MEMBER_BYTES, budget
from osm_gitops.gotemplate.faults import Refused
from osm_gitops.gotemplate.values import IP, Nil, OwnMap, Pointer, Struct, members


def deep_copy(value: Any) -> Any:
    """The same value with maps, lists and pointers of its own. Raises GoError for nil."""
    if value is None:
        raise GoError("there is nothing to copy: the value is nil")
    return _copied(value)


def _copied(value: Any) -> Any:
    if isinstance(value, dict):
        return _copy_map(value)
    if isinstance(value, list):
        return _copy_list(value)
    if isinstance(value, Pointer):
        return _copy_pointer(value)
    return value


def _member(value: Any) -> Any:
    """A nil pointer in a map or list loses its type, as in Go."""
    return None if isinstance(value, Pointer) and value.elem is None else _copied(value)


def _copy_map(value: dict[Any, Any]) -> dict[Any, Any]:
    _count(value, MEMBER_BYTES)
    copied = {} if isinstance(value, OwnMap) else type(value)()
    for key, each in value.items():
        copied[key] = _member(each)
    return copied


def _copy_list(value: list[Any]) -> list[Any]:
    if isinstance(value, (IP, Nil)):
        return value
    _count(value, ITEM_BYTES)
    return type(value)(_member(each) for each in members(value))


def _count(value: dict[Any, Any] | list[Any], element: int) -> None:
    spent = budget()
    spent.step(1 + len(value))
    spent.make(LIST_BYTES + element * len(value))


def _copy_pointer(value: Pointer) -> Pointer:
    elem = value.elem
    if isinstance(elem, Struct) and not all(name[0].isupper() for name in elem.field_names()):
        raise Refused(f"deepCopy of a {value.go_type} is refused: Go loses its hidden fields")
    copied = object.__new__(type(value))
    Pointer.__init__(copied, _copied(elem), value.elem_type)
    return copied
