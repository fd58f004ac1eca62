"""A cloud provider spec, whose config variables are looked up in Secrets and ConfigMaps (osm-behaviour.md, "Config
variables" and "Cloud-config").
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from osm_gitops.errors import Code, Problem
from osm_gitops.gocompat.fault import GoError
from osm_gitops.gocompat.gojson import encode
from osm_gitops.gocompat.numbers import parse_bool
from osm_gitops.gocompat.text import from_bytes
from osm_gitops.model.inputs import Facts
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
        problems.append(Problem(Code.WRONG_TYPE, f"must be a text, not {type_name(value)}", field=path))
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


T = TypeVar("T")


class _UnresolvedError(Exception):
    """A variable that refers to something that is not there, or is no boolean."""

    def __init__(self, what: str, fix: str) -> None:
        self.what = what
        self.fix = fix
        super().__init__(what)


@dataclass(slots=True)
class CloudSpec:
    """A decoded cloud provider spec.

    What is wrong is added to ``problems`` and reads as empty, so that all problems come
    out at once. ``values`` holds what the provider's readers read, ``kubelet`` the
    version as it was written.
    """

    values: Mapping[str, Any]
    facts: Facts
    kubelet: str
    problems: list[Problem] = field(default_factory=list)
    warnings: list[Problem] = field(default_factory=list)

    def variable(self, name: str) -> Variable:
        """The variable of a field, empty where absent; a dot in ``name`` leads into an object."""
        value: Any = self.values
        for part in name.split("."):
            value = (value or {}).get(part)
        return value if isinstance(value, Variable) else Variable()

    def text(self, name: str) -> str:
        """The text of a variable; one that cannot be resolved is a problem."""
        try:
            return self._text(self.variable(name))
        except _UnresolvedError as fault:
            self.problem(Code.CLOUD_SPEC_REFERENCE, fault.what, name, fault.fix)
            return ""

    def text_or_environment(self, name: str, environment: str) -> str:
        """The text of a variable, else an environment variable, else nothing: never a problem."""
        fallback = self.environment(environment)
        try:
            return self._text(self.variable(name)) or fallback
        except _UnresolvedError as fault:
            used = f"the environment variable {environment}" if fallback else "an empty text"
            self.warn(Code.CLOUD_SPEC_REFERENCE, f"{fault.what}; like OSM, {used} is used instead", name, fault.fix)
            return fallback

    def boolean(self, name: str) -> bool:
        """The value of a boolean variable, false where unset; one that cannot be resolved is a problem."""
        try:
            return self._boolean(self.variable(name)) or False
        except _UnresolvedError as fault:
            self.problem(Code.CLOUD_SPEC_REFERENCE, fault.what, name, fault.fix)
            return False

    def boolean_or_environment(self, name: str, environment: str) -> bool:
        """The value of a boolean variable, else that of an environment variable, else false."""
        try:
            found = self._boolean(self.variable(name))
        except _UnresolvedError as fault:
            self.warn(
                Code.CLOUD_SPEC_REFERENCE,
                f"{fault.what}; like OSM, the environment variable {environment} decides",
                name,
                fault.fix,
            )
            found = None
        if found is not None or environment not in self.facts.environment:
            return found or False
        try:
            return parse_bool(self.environment(environment))
        except GoError:
            what = f"the environment variable {environment} is neither true nor false"
            self.problems.append(
                Problem(Code.CLOUD_SPEC_VALUE, what, fix=f"Set {environment} to true or false, or unset it")
            )
            return False

    def environment(self, name: str) -> str:
        """An environment variable, or the empty text."""
        return self.facts.environment.get(name, "")

    def problem(self, code: Code, what: str, name: str, fix: str = "") -> None:
        """Note what is wrong with a field."""
        self.problems.append(Problem(code, what, field=self.variable(name).field, fix=fix))

    def warn(self, code: Code, what: str, name: str, fix: str = "") -> None:
        """Warn about the value of a field."""
        self.warnings.append(Problem(code, what, field=self.variable(name).field, fix=fix))

    def _text(self, variable: Variable) -> str:
        referred = self._referred(variable)
        if referred is not None:
            return referred
        if variable.was_null:
            what = "null becomes the text null, as in OSM"
            self.warnings.append(
                Problem(Code.CLOUD_SPEC_NULL, what, field=variable.field, fix="Remove the key to leave it empty")
            )
        return str(variable.value or "")

    def _boolean(self, variable: Variable) -> bool | None:
        referred = self._referred(variable)
        if referred is None:
            return None if variable.value is None else bool(variable.value)
        try:
            return parse_bool(referred)
        except GoError:
            raise _UnresolvedError("what it refers to is neither true nor false", "Store true or false") from None

    def _referred(self, variable: Variable) -> str | None:
        """The text that a variable refers to; ``None`` where it refers to nothing."""
        if variable.secret is not None:
            secret = self.facts.secret(variable.secret[:2])
            return from_bytes(_entry("Secret", variable.secret, None if secret is None else secret.data))
        if variable.config_map is not None:
            config_map = self.facts.config_map(variable.config_map[:2])
            data = None if config_map is None else config_map.data
            return _entry("ConfigMap", variable.config_map, data)
        return None


def _entry(kind: str, place: Place, data: Mapping[str, T] | None) -> T:
    namespace, name, key = place
    if data is None:
        what = f"{kind} {namespace}/{name} is not in the source"
        raise _UnresolvedError(what, f"Add {kind} {namespace}/{name} with the key {key}, or correct the reference")
    if key not in data:
        raise _UnresolvedError(f'{kind} {namespace}/{name} has no key "{key}"', "Add the key, or correct the reference")
    return data[key]


def quoted(text: str) -> str:
    """A text in double quotes, backslashes and quotes escaped; line breaks stay."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def flag(value: bool) -> str:
    return "true" if value else "false"
