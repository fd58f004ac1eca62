"""JSON objects read as Go's ``encoding/json`` fills a struct (osm-behaviour.md, "JSON decoding").

Keys match without regard to case; of keys that differ only in case the last one in byte order counts, because the API
server stores them sorted; ``null`` leaves a field as it was. Go stops at the first fault, here all of them are
collected.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from osm_gitops.errors import Code, Problem, did_you_mean
from osm_gitops.model.objects import Json

UNSET: Final = object()
"""The result of a reader for a value that does not change the field."""

Reader = Callable[[Json, str, list[Problem]], Any]
"""Reads a field; called with its value, its path and the list of problems."""

_KELVIN_AND_LONG_S = str.maketrans({"\u212a": "k", "\u017f": "s"})  # the two that Go folds into ASCII


def read_struct(
    value: Json, at: str, fields: Mapping[str, Reader], problems: list[Problem], *, strict: bool = False
) -> dict[str, Any]:
    """Read an object's known fields; the result has the fields that were set, by the names in ``fields``.

    ``at`` is the object's path for messages. With ``strict`` an unknown key is a problem. ``null`` reads as an object
    without keys.
    """
    found: dict[str, Any] = {}
    if value is None:
        return found
    if not isinstance(value, Mapping):
        problems.append(_wrong_type("an object", value, at))
        return found
    plain = all(map(str.isascii, value))
    for key in sorted(value) if plain else sorted(value, key=lambda key: key.encode("utf-8", "surrogatepass")):
        name = key if key in fields else _folded(key, fields)
        path = f"{at}.{key}"
        if name is not None:
            result = fields[name](value[key], path, problems)
            if result is not UNSET:
                found[name] = result
        elif strict:
            problems.append(
                Problem(Code.UNKNOWN_KEY, f'unknown field "{key}"', field=path, fix=did_you_mean(key, fields))
            )
    return found


def _folded(key: str, fields: Mapping[str, Reader]) -> str | None:
    """The field whose name differs from the key in case only."""
    folded = key.translate(_KELVIN_AND_LONG_S).lower()
    return next((name for name in fields if name.lower() == folded), None)


def struct(fields: Mapping[str, Reader], *, strict: bool = False) -> Reader:
    """A reader of an object that is a field itself."""

    def read(value: Json, path: str, problems: list[Problem]) -> Any:
        return UNSET if value is None else read_struct(value, path, fields, problems, strict=strict)

    return read


def string(value: Json, path: str, problems: list[Problem]) -> Any:
    return value if isinstance(value, str) else _typed(str, "a string", value, path, problems)


def boolean(value: Json, path: str, problems: list[Problem]) -> Any:
    return _typed(bool, "true or false", value, path, problems)


def optional(reader: Reader) -> Reader:
    """A pointer field: ``null`` makes it ``None`` again."""

    def read(value: Json, path: str, problems: list[Problem]) -> Any:
        return None if value is None else reader(value, path, problems)

    return read


def strings(value: Json, path: str, problems: list[Problem]) -> Any:
    """A list of strings as a tuple; ``null`` is empty, and so is a ``null`` inside it."""
    if value is None:
        return ()
    if not isinstance(value, list):
        problems.append(_wrong_type("a list of strings", value, path))
        return UNSET
    if all(isinstance(item, str) for item in value):
        return tuple(value)
    items = [string(item, f"{path}[{index}]", problems) for index, item in enumerate(value)]
    return tuple("" if item is UNSET else item for item in items)


def raw(value: Json, path: str, problems: list[Problem]) -> Any:  # noqa: ARG001 - a Reader's signature
    """A sub-document, verbatim."""
    return UNSET if value is None else value


def type_name(value: Json) -> str:
    """What a JSON value is, in words."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, str):
        return "a string"
    if isinstance(value, (int, float)):
        return "a number"
    return "a list" if isinstance(value, list) else "an object"


def _typed(kind: type, wanted: str, value: Json, path: str, problems: list[Problem]) -> Any:
    if value is None:
        return UNSET
    if isinstance(value, kind):
        return value
    problems.append(_wrong_type(wanted, value, path))
    return UNSET


def _wrong_type(wanted: str, value: Json, path: str) -> Problem:
    hint = "Put it in quotes" if wanted == "a string" and isinstance(value, (bool, int, float)) else ""
    if wanted == "true or false" and isinstance(value, str):
        hint = "Write it without quotes"
    return Problem(Code.WRONG_TYPE, f"must be {wanted}, not {type_name(value)}", field=path, fix=hint)
