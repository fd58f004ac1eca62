"""Sprig's ``merge`` and ``mergeOverwrite``, which go by the rules of Go's mergo."""

from __future__ import annotations

from typing import Any

from osm_gitops.gocompat.fault import GoError
from osm_gitops.gotemplate.bounds import MEMBER_BYTES, budget
from osm_gitops.gotemplate.equality import empty
from osm_gitops.gotemplate.faults import Refused
from osm_gitops.gotemplate.values import OWN_VALUES, GoMap, Nil, OwnMap, Pointer, Struct, go_type, is_nil
from osm_gitops.gotemplate.weighing import compared


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
