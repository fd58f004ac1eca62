"""Config variables: values of a cloud provider spec that may lie in a Secret or ConfigMap (osm-behaviour.md, "Config
variables")."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from osm_gitops.errors import Code, Problem
from osm_gitops.gocompat.gojson import encode
from osm_gitops.model.objects import Json
from osm_gitops.render.resolve.json_fields import (
    UNSET,
    Reader,
    boolean,
    optional,
    read_struct,
    string,
    struct,
    type_name,
)

_REFERENCE: Final[Reader] = optional(
    struct(
        {
            **dict.fromkeys(("namespace", "name", "key"), string),
            # The rest of a core/v1 ObjectReference is accepted and means nothing.
            **dict.fromkeys(("kind", "uid", "apiVersion", "resourceVersion", "fieldPath"), string),
        }
    )
)
_REFERENCES: Final[Mapping[str, Reader]] = {"secretKeyRef": _REFERENCE, "configMapKeyRef": _REFERENCE}


Place = tuple[str, str, str]
"""Namespace, name and key of an entry of a Secret or ConfigMap."""


@dataclass(frozen=True, slots=True)
class Variable:
    """A value, or where it lies (``None`` unless namespace, name and key are all named).

    ``value`` is text for a string variable, a boolean or ``None`` for a boolean one.
    """

    value: str | bool | None = None
    secret: Place | None = None
    config_map: Place | None = None
    field: str = ""
    was_null: bool = False


def text_variable(value: Json, path: str, problems: list[Problem]) -> Any:
    """A ``ConfigVarString``: an object, or anything else taken as text (``null`` too: osm-behaviour.md, "Quirks", quirk
    17)."""
    if isinstance(value, Mapping):
        return _from_object(value, path, string, problems)
    if isinstance(value, str):
        return Variable(value, field=path)
    text = encode(value)
    if '"' in text or "\\" in text:
        problems.append(Problem(Code.UNCODED, f"must be a text, not {type_name(value)}", field=path))
        return UNSET
    return Variable(text, field=path, was_null=value is None)


def boolean_variable(value: Json, path: str, problems: list[Problem]) -> Any:
    """A ``ConfigVarBool``: an object, a boolean or ``null``."""
    if isinstance(value, Mapping):
        return _from_object(value, path, boolean, problems)
    found = boolean(value, path, problems)
    return Variable(None if found is UNSET else found, field=path)


def _from_object(value: Mapping[str, Json], path: str, kind: Reader, problems: list[Problem]) -> Variable:
    found = read_struct(value, path, {"value": kind, **_REFERENCES}, problems)
    return Variable(
        found.get("value"), _place(found.get("secretKeyRef")), _place(found.get("configMapKeyRef")), field=path
    )


def _place(reference: Mapping[str, str] | None) -> Place | None:
    namespace, name, key = ((reference or {}).get(part, "") for part in ("namespace", "name", "key"))
    return (namespace, name, key) if namespace and name and key else None
