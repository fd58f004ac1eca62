"""Sprig's defaults and decisions (osm-behaviour.md, "Template functions"); Python's truth is Go's."""

from __future__ import annotations

from typing import Any, Final

from osm_gitops.gocompat.fault import Stopped
from osm_gitops.gotemplate.equality import deep_equal, empty
from osm_gitops.gotemplate.functions.signature import GoFunction


def default(fallback: Any, *given: Any) -> Any:
    """``default fallback value``: only the first value counts."""
    return given[0] if given and not empty(given[0]) else fallback


def coalesce(*values: Any) -> Any:
    return next((value for value in values if not empty(value)), None)


def all_set(*values: Any) -> bool:
    return not any(map(empty, values))


def any_set(*values: Any) -> bool:
    return not all(map(empty, values))


def ternary(if_true: Any, if_false: Any, condition: bool) -> Any:
    return if_true if condition else if_false


def fail(message: str) -> str:
    raise Stopped(message)


def hello() -> str:
    return "Hello!"


FUNCTIONS: Final = (
    GoFunction("default", "any any…", default),
    GoFunction("empty", "any", empty, returns="bool"),
    GoFunction("coalesce", "any…", coalesce),
    GoFunction("all", "any…", all_set, returns="bool"),
    GoFunction("any", "any…", any_set, returns="bool"),
    GoFunction("ternary", "any any bool", ternary),
    GoFunction("fail", "string", fail, returns="string"),
    GoFunction("hello", "", hello, returns="string"),
    GoFunction("deepEqual", "any any", deep_equal, returns="bool"),
)
