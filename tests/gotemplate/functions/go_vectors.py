"""Calls of sprig 3.3.0 (Go 1.26) with their results, as Go gave them: ``vectors/<family>.jsonl``.

A line is ``[function, arguments, result]``. Go's types that JSON lacks are objects of one
key: ``{"int64": 3}``, ``{"float64": "1e+20"}``, ``{"[]string": […]}``, ``{"error": true}``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from osm_gitops.gocompat.fault import GoError
from osm_gitops.gocompat.numbers import format_float, parse_float
from osm_gitops.gotemplate import values
from osm_gitops.gotemplate.access import field
from osm_gitops.gotemplate.calls import GoFunction, call
from osm_gitops.gotemplate.faults import TemplateFault

_INTEGERS: dict[str, type[int]] = {
    "int64": values.Int64,
    "int32": values.Int32,
    "uint8": values.Uint8,
    "uint64": values.Uint64,
    "time.Duration": values.Duration,
}


def vectors(family: str) -> Iterator[tuple[str, list[Any], Any]]:
    text = (Path(__file__).parent / "vectors" / f"{family}.jsonl").read_text("utf-8")
    for line in text.splitlines():
        function, args, result = json.loads(line)
        yield function, args, result


def disagreements(family: str, functions: Iterable[GoFunction]) -> list[str]:
    """The vectors whose result is not ours."""
    table = {function.name: function for function in functions}
    return [
        f"{name} {args} gives {ours}, in Go {result}"
        for name, args, result in vectors(family)
        if (ours := _answer(table[name], args)) != result
    ]


def _answer(function: GoFunction, args: list[Any]) -> Any:
    try:
        return encoded(call(function, list(map(decoded, args))))
    except (GoError, TemplateFault):
        return {"error": True}


def decoded(given: Any) -> Any:
    """The Go value that an argument stands for."""
    if isinstance(given, list):
        return list(map(decoded, given))
    if not isinstance(given, dict):
        return given
    kind, content = next(iter(given.items()))
    if kind in _INTEGERS:
        return _INTEGERS[kind](content)
    if kind == "float64":
        return parse_float(content)
    if kind == "[]string":
        return values.StringList(content)
    if kind == "*string":
        return values.Pointer(content, "string")
    return {key: decoded(value) for key, value in content.items()}


def encoded(value: Any) -> Any:
    """How the vectors write a result."""
    if value is None or value is values.NO_VALUE:
        return None
    if isinstance(value, float):
        return {"float64": format_float(value)}
    if isinstance(value, values.Struct | values.Pointer):
        held = value.elem if isinstance(value, values.Pointer) else value
        return {values.go_type(value): str(field(held, ["String"]))}
    if isinstance(value, list):
        return {values.go_type(value): list(map(encoded, value))}
    if isinstance(value, dict):
        return {values.go_type(value): {key: encoded(item) for key, item in value.items()}}
    if type(value) in {str, bool, int}:
        return value
    return {values.go_type(value): int(value)}
