"""Sprig's list functions; they never change the list they are given (osm-behaviour.md, "Template functions")."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, Final

from osm_gitops.gocompat.fault import GoError
from osm_gitops.gotemplate.bounds import ITEM_BYTES, LIST_BYTES, budget
from osm_gitops.gotemplate.calls import GoFunction
from osm_gitops.gotemplate.compare import deep_equal, empty
from osm_gitops.gotemplate.functions.numeric import to_int
from osm_gitops.gotemplate.values import IP, ListList, NilList, Unordered, kind, members


def make_list(*items: Any) -> list[Any]:
    return list(items)


def first(items: Any) -> Any:
    found = _list("first", items)
    return found[0] if found else None


def last(items: Any) -> Any:
    found = _list("last", items)
    return found[-1] if found else None


def rest(items: Any) -> list[Any]:
    found = _list("rest", items)
    return list(found[1:]) if found else NilList()


def initial(items: Any) -> list[Any]:
    found = _list("initial", items)
    return list(found[:-1]) if found else NilList()


def append(items: Any, item: Any) -> list[Any]:
    return _rebuilt([_list("push", items)], lambda elements: [*elements, item])


def prepend(items: Any, item: Any) -> list[Any]:
    return _rebuilt([_list("prepend", items)], lambda elements: [item, *elements])


def concat(*lists: Any) -> list[Any]:
    checked = [_list("concat", items) for items in lists]
    return _rebuilt(checked, list) if any(map(len, checked)) else NilList()


def reverse(items: Any) -> list[Any]:
    return _rebuilt([_list("reverse", items)], lambda elements: list(elements)[::-1])


def compact(items: Any) -> list[Any]:
    return _rebuilt([_list("compact", items)], lambda elements: [each for each in elements if not empty(each)])


def uniq(items: Any) -> list[Any]:
    return _rebuilt([_list("uniq", items)], _distinct)


def without(items: Any, *unwanted: Any) -> list[Any]:
    def kept(elements: list[Any]) -> list[Any]:
        budget().step(len(elements) * len(unwanted) >> 2)
        return [each for each in elements if not _among(each, unwanted)]

    return _rebuilt([_list("without", items)], kept)


def has(wanted: Any, items: Any) -> bool:
    return items is not None and _among(wanted, members(_list("has", items)))


def slice_list(items: Any, *bounds: Any) -> Any:
    """``slice list [start [end]]``, of the same type as the list; nil for an empty list."""
    found = _list("slice", items)
    if not found:
        return None
    start = to_int(bounds[0]) if bounds else 0
    end = to_int(bounds[1]) if len(bounds) > 1 else len(found)
    if not 0 <= start <= end <= len(found):
        raise GoError(f"slice bounds [{start}:{end}] are outside of a list of {len(found)} elements")
    part = found[start:end]
    if isinstance(found, IP):
        return IP(bytes(part))
    return part if type(found) is list else type(found)(part)


def chunk(size: int, items: Any) -> list[Any]:
    """``chunk size list``: lists of ``size`` elements, the last one with what is left."""
    found = _list("chunk", items)
    if size <= 0:
        return _chunk_backwards(size, found)
    spent = budget()
    spent.size(len(found))
    spent.make(ITEM_BYTES * len(found) + LIST_BYTES * (len(found) // size))
    return ListList(list(found[at : at + size]) for at in range(0, len(found), size))


def _chunk_backwards(size: int, found: list[Any]) -> list[Any]:
    """Sizes below 1, as Go's arithmetic has it: mostly an error, for some lengths nothing."""
    if len(found) == 1 and size < -1:
        return ListList([list(found)])
    if size < 0 < len(found) - 1 <= -size:
        return ListList()
    raise GoError(f"cannot chunk {len(found)} elements by {size}; the size must be above 0")


def _list(function: str, items: Any) -> list[Any]:
    """``items``, which must be a slice: GoError otherwise."""
    if not isinstance(items, list):
        what = "nil" if items is None else f"type {kind(items)}"
        raise GoError(f"cannot {function} {what}: it is no list")
    return items


def _rebuilt(lists: list[list[Any]], build: Callable[[list[Any]], list[Any]]) -> list[Any]:
    """A new list; its order is as random as that of the lists that it is made from."""
    budget().size(sum(map(len, lists)))
    elements = [each for items in lists for each in members(items)]
    built = build(elements)
    random = any(isinstance(items, Unordered) for items in lists) and len(built) > 1
    return Unordered(built) if random else built


def _distinct(elements: Iterable[Any]) -> list[Any]:
    kept: list[Any] = []
    plain: set[tuple[type, Any]] = set()
    shapes: list[Any] = []
    for each in elements:
        if isinstance(each, (str, int)):
            if (type(each), each) in plain:
                continue
            plain.add((type(each), each))
        else:
            budget().step(len(shapes) >> 2)
            if _among(each, shapes):
                continue
            shapes.append(each)
        kept.append(each)
    return kept


def _among(wanted: Any, items: Iterable[Any]) -> bool:
    return any(deep_equal(wanted, each) for each in items)


_BASE: Final = (
    GoFunction("append", "any any", append),
    GoFunction("push", "any any", append),
    GoFunction("prepend", "any any", prepend),
    GoFunction("first", "any", first),
    GoFunction("rest", "any", rest),
    GoFunction("last", "any", last),
    GoFunction("initial", "any", initial),
    GoFunction("reverse", "any", reverse),
    GoFunction("uniq", "any", uniq),
    GoFunction("without", "any any…", without),
    GoFunction("has", "any any", has, returns="bool"),
    GoFunction("slice", "any any…", slice_list),
    GoFunction("compact", "any", compact),
    GoFunction("chunk", "int any", chunk),
)
FUNCTIONS: Final = (
    GoFunction("list", "any…", make_list),
    GoFunction("tuple", "any…", make_list),
    GoFunction("concat", "any…", concat),
    *_BASE,
    *(replace(each, name=f"must{each.name[0].upper()}{each.name[1:]}") for each in _BASE),
)
