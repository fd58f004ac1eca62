"""Sprig's dict functions (osm-behaviour.md, "Template functions").

They take ``map[string]interface {}`` only. Those that change a map change one that the
template made: the data of a MachineDeployment has other map types.
"""

from __future__ import annotations

from typing import Any, Final

from osm_gitops.gocompat.fault import GoError
from osm_gitops.gotemplate.bounds import MEMBER_BYTES, budget
from osm_gitops.gotemplate.copying import deep_copy
from osm_gitops.gotemplate.functions.merging import merge, merge_overwrite
from osm_gitops.gotemplate.functions.signature import GoFunction
from osm_gitops.gotemplate.printing import to_string
from osm_gitops.gotemplate.values import GoMap, Nil, StringList, Unordered, UnorderedStrings


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
