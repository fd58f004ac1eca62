"""How much a value is when it is walked through, as comparing, sorting, hashing and printing do.

A list that holds another list twice is walked through twice there: what is shared counts every time. It is found
without doing so.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from osm_gitops.gotemplate.bounds import ITEM_BYTES, LIST_BYTES, MEMBER_BYTES, NUMBER_BYTES, budget, text_bytes
from osm_gitops.gotemplate.faults import BoundExceeded
from osm_gitops.gotemplate.values import IntList, Pointer, StringList, Struct, members

_DEEPEST: Final = 1_000
_CHARS: Final = 6
"""Binary logarithm of the characters that count as one element."""
_PER_STEP: Final = 3
_OPEN: Final = -1


def weigh(value: Any) -> int:
    """Elements of ``value`` all the way down, long texts as several. Raises BoundExceeded for what holds itself."""
    if isinstance(value, str):
        return len(value) >> _CHARS
    if isinstance(value, list | dict | tuple | Struct | Pointer):
        return _expanded(value, {}, 0)
    return 0


def compared(*values: Any) -> None:
    """Count steps for comparing, hashing or walking through values; call before Python does it."""
    weight = 0
    for value in values:
        weight += weigh(value)
    if weight >> _PER_STEP:
        budget().step(weight >> _PER_STEP)


def _expanded(value: Any, known: dict[int, int], depth: int) -> int:
    key = id(value)
    found = known.get(key)
    if found is not None:
        if found == _OPEN:
            raise BoundExceeded("a value holds itself, so it has no end; make it flatter")
        return found
    if depth > _DEEPEST:
        raise BoundExceeded(f"a value is nested more than {_DEEPEST} deep; make it flatter")
    known[key] = _OPEN
    total = 1
    for each in _parts(value):
        total += 1
        if isinstance(each, str):
            total += len(each) >> _CHARS
        elif isinstance(each, list | dict | tuple | Struct | Pointer):
            total += _expanded(each, known, depth + 1)
    known[key] = total
    return total


def _parts(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return (*value, *value.values())
    if isinstance(value, list):
        return members(value)
    if isinstance(value, Pointer):
        return (value.elem,)
    if isinstance(value, Struct):
        return [getattr(value, name) for name in value.field_names()]
    return value  # type: ignore[no-any-return]


def new_bytes(value: Any) -> int:
    """Memory of a new value itself; of a list of texts or numbers with its elements, which are as new."""
    if isinstance(value, str):
        return text_bytes(value)
    if isinstance(value, list):
        if isinstance(value, StringList):
            return LIST_BYTES + sum(map(text_bytes, members(value)))
        return LIST_BYTES + len(value) * (NUMBER_BYTES if isinstance(value, IntList) else ITEM_BYTES)
    if isinstance(value, dict):
        return LIST_BYTES + len(value) * MEMBER_BYTES
    if isinstance(value, tuple):
        return LIST_BYTES + len(value) * ITEM_BYTES
    return LIST_BYTES
