"""Sprig's dict functions (osm-behaviour.md, "Template functions"); merging goes by the rules of Go's mergo.

They take ``map[string]interface {}`` only. Those that change a map change one that the template made: the data of a
MachineDeployment has other map types."""

from __future__ import annotations

from typing import Any, Final

from osm_gitops.gocompat.fault import GoError
from osm_gitops.gotemplate.bounds import ITEM_BYTES, LIST_BYTES, MEMBER_BYTES, budget, compared
from osm_gitops.gotemplate.calls import GoFunction
from osm_gitops.gotemplate.compare import empty
from osm_gitops.gotemplate.faults import Refused
from osm_gitops.gotemplate.printing import to_string
from osm_gitops.gotemplate.values import (
    IP,
    OWN_VALUES,
    GoMap,
    Nil,
    OwnMap,
    Pointer,
    StringList,
    Struct,
    Unordered,
    UnorderedStrings,
    go_type,
    is_nil,
    members,
)


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


def merge(target: dict[str, Any], *sources: dict[str, Any]) -> dict[str, Any]:
    """Give ``target`` what it lacks or has empty; it is changed, and nested maps too."""
    return _merged(target, sources, overwrite=False)


def merge_overwrite(target: dict[str, Any], *sources: dict[str, Any]) -> dict[str, Any]:
    """Give ``target`` everything that the sources have, empty values too; nested maps are merged."""
    return _merged(target, sources, overwrite=True)


def _merged(target: dict[str, Any], sources: tuple[dict[str, Any], ...], *, overwrite: bool) -> dict[str, Any]:
    for source in sources:
        if isinstance(target, Nil) and not isinstance(source, Nil):
            target = {}
        _merge_into(target, source, overwrite=overwrite)
    return target


def _merge_into(target: dict[str, Any], source: dict[Any, Any], *, overwrite: bool) -> None:
    spent = budget()
    spent.step(1 + len(source))
    spent.make(MEMBER_BYTES * len(source))
    for key, value in list(source.items()):
        old = target.get(key)
        if value is None:
            if overwrite:
                target[key] = None
            continue
        if isinstance(value, (dict, Pointer, Struct)):
            _merge_nested(old, value, overwrite=overwrite)
        keeps_map = isinstance(old, dict) and isinstance(value, dict)
        if not _replaceable(old) and (keeps_map or not overwrite):
            continue
        target[key] = value


def _merge_nested(target: Any, source: Any, *, overwrite: bool) -> None:
    """Merge a map into the map that is there already."""
    if type(target) is dict and isinstance(source, dict):
        _merge_into(target, source, overwrite=overwrite)
    elif isinstance(target, GoMap) and not is_nil(target) and isinstance(source, dict):
        _check_typed(target, source, overwrite=overwrite)
    elif isinstance(target, OwnMap):
        raise Refused(OWN_VALUES)
    elif isinstance(target, Pointer) and not is_nil(target):
        raise _refusal(target)


def _check_typed(target: GoMap, source: dict[Any, Any], *, overwrite: bool) -> None:
    """Make sure that nothing would be written to a typed map, which other templates may see too."""
    for key, value in source.items():
        old = target.get(key)
        if not overwrite and (value is None or not (_replaceable(old) or isinstance(value, list))):
            continue
        if target.elem_type != getattr(source, "elem_type", ""):
            raise GoError(f"a value of another type cannot become an element of a {go_type(target)}")
        compared(old, value)
        if key not in target or old != value:
            raise _refusal(target)


def _refusal(target: Any) -> Refused:
    return Refused(f"merge into a {go_type(target)} is refused: it could change the data of other templates")


def _replaceable(value: Any) -> bool:
    """mergo's idea of empty, which looks behind pointers."""
    return _replaceable(value.elem) if isinstance(value, Pointer) else empty(value)


def make_dict(*pairs: Any) -> dict[str, Any]:
    """``dict "k" 1 …``: keys as text; a last key without a value gets the empty string."""
    keys = [to_string(key) for key in pairs[::2]]
    values = [*pairs[1::2], ""] if len(pairs) % 2 else pairs[1::2]
    return dict(zip(keys, values, strict=True))


def get(mapping: dict[str, Any], key: str) -> Any:
    return mapping.get(key, "")


def set_key(mapping: dict[str, Any], key: str, value: Any) -> dict[str, Any]:
    """Raises GoError for the nil map."""
    if isinstance(mapping, Nil):
        raise GoError("assignment to entry in nil map")
    spent = budget()
    spent.size(len(mapping))
    spent.make(MEMBER_BYTES)
    mapping[key] = value
    return mapping


def unset(mapping: dict[str, Any], key: str) -> dict[str, Any]:
    mapping.pop(key, None)
    return mapping


def has_key(mapping: dict[str, Any], key: str) -> bool:
    return key in mapping


def pluck(key: str, *mappings: dict[str, Any]) -> list[Any]:
    return [mapping[key] for mapping in mappings if key in mapping]


def keys(*mappings: dict[str, Any]) -> list[Any]:
    """All keys; in Go their order is random, so that two or more are :class:`Unordered`."""
    found = [key for mapping in mappings for key in mapping]
    return UnorderedStrings(found) if len(found) > 1 else StringList(found)


def values(mapping: dict[str, Any]) -> list[Any]:
    """All values; their order is as random as that of ``keys``."""
    found = list(mapping.values())
    return Unordered(found) if len(found) > 1 else found


def pick(mapping: dict[str, Any], *wanted: str) -> dict[str, Any]:
    return {key: mapping[key] for key in wanted if key in mapping}


def omit(mapping: dict[str, Any], *unwanted: str) -> dict[str, Any]:
    return {key: value for key, value in mapping.items() if key not in unwanted}


def dig(*path: Any) -> Any:
    """``dig "k1" … default dict``: the value at the path, the default where a key is missing."""
    if len(path) < 3:
        raise GoError("dig needs at least three arguments: a key, a default and a dict")
    *wanted, default, step = path
    for key in wanted:
        if type(key) is not str:
            raise GoError("dig takes strings as keys")
    for key in wanted:
        if not isinstance(step, dict) or isinstance(step, GoMap):
            raise GoError(f"dig found no dict in which to look for {key!r}")
        if key not in step:
            return default
        step = step[key]
    return step


FUNCTIONS: Final = (
    GoFunction("dict", "any…", make_dict),
    GoFunction("get", "map string", get),
    GoFunction("set", "map string any", set_key, mutates=True),
    GoFunction("unset", "map string", unset, mutates=True),
    GoFunction("hasKey", "map string", has_key, returns="bool"),
    GoFunction("pluck", "string map…", pluck),
    GoFunction("keys", "map…", keys),
    GoFunction("values", "map", values),
    GoFunction("pick", "map string…", pick),
    GoFunction("omit", "map string…", omit),
    GoFunction("merge", "map map…", merge, mutates=True),
    GoFunction("mustMerge", "map map…", merge, mutates=True),
    GoFunction("mergeOverwrite", "map map…", merge_overwrite, mutates=True),
    GoFunction("mustMergeOverwrite", "map map…", merge_overwrite, mutates=True),
    GoFunction("dig", "any…", dig),
    GoFunction("deepCopy", "any", deep_copy),
    GoFunction("mustDeepCopy", "any", deep_copy),
)
