"""Checks of ``cloudProviderSpec``, which machine-controller decodes strictly: it makes no machine if it does not know a
key, or if a value has another type."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from osm_gitops.lint.rules.boot_file import closest_match, words
from osm_gitops.lint.rules.values import host_fault, port_fault, url_fault
from osm_gitops.lint.tables import read_table
from osm_gitops.model.finding import Rule, Severity
from osm_gitops.model.machine import PROVIDER_CONFIG_FIELD, ProviderConfig
from osm_gitops.model.objects import Json
from osm_gitops.render.resolve.json_fields import type_name

KEY: Final = Rule("cloud-spec-key", Severity.ERROR, "a key of cloudProviderSpec is misspelt, so no machine is made")
UNKNOWN: Final = Rule("cloud-spec-unknown-key", Severity.WARNING, "machine-controller probably does not know a key")
TYPE: Final = Rule("cloud-spec-type", Severity.ERROR, "a value of cloudProviderSpec has the wrong type")
VALUE: Final = Rule("cloud-spec-value", Severity.WARNING, "a value of cloudProviderSpec is probably wrong")
RULES: Final = (KEY, UNKNOWN, TYPE, VALUE)

_REFERENCES: Final = words("value secretKeyRef configMapKeyRef")


@dataclass(frozen=True, slots=True)
class FieldRemark:
    """A finding on a field of an object, ``field`` is its path from the root of the object."""

    rule: Rule
    field: str
    message: str
    fix: str = ""


@dataclass(frozen=True, slots=True)
class _Shape:
    """The keys of an object, with their kinds; ``inside`` are the objects in it, a list for ``NAME[]``."""

    kinds: Mapping[str, str]
    inside: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class _Provider:
    shapes: Mapping[str, _Shape]
    patterns: Mapping[str, re.Pattern[str]]
    positive: frozenset[str]
    urls: frozenset[str]
    hosts: frozenset[str]
    exclusive: tuple[tuple[str, ...], ...]


def _shape(table: Mapping[str, Any]) -> _Shape:
    keys = table["keys"]
    kinds = {name: kind for kind, names in keys.items() if kind != "inside" for name in names.split()}
    # The last part of a path is the key; the path names the shape.
    inside = {path.rpartition(".")[2]: path for path in keys.get("inside", "").split()}
    return _Shape(kinds, inside)


def _provider(table: Mapping[str, Any]) -> _Provider:
    return _Provider(
        shapes={"": _shape(table), **{path: _shape(inner) for path, inner in table.get("inside", {}).items()}},
        patterns={key: re.compile(pattern) for key, pattern in table.get("patterns", {}).items()},
        positive=words(table.get("positive", "")),
        urls=words(table.get("urls", "")),
        hosts=words(table.get("hosts", "")),
        exclusive=tuple(tuple(each.split()) for each in table.get("exclusive", ())),
    )


_PROVIDERS: Final = {name: _provider(table) for name, table in read_table("cloud_specs.toml").items()}


def cloud_spec_remarks(config: ProviderConfig, sealed: Collection[str]) -> Iterator[FieldRemark]:
    """What is wrong with ``cloudProviderSpec``; nothing is found for a provider without a table.

    ``sealed`` are texts that were encrypted, which are not looked at.
    """
    known, spec = _PROVIDERS.get(config.provider), config.provider_spec
    if known is None or spec is None:
        return
    check, at = _SpecCheck(known, config.provider, sealed), f"{PROVIDER_CONFIG_FIELD}.cloudProviderSpec"
    yield from check.members(spec, at, "")
    if isinstance(spec, Mapping):
        yield from check.together(spec, at)


class _SpecCheck:
    def __init__(self, provider: _Provider, name: str, sealed: Collection[str]) -> None:
        self.provider = provider
        self.name = name
        self.sealed = sealed

    def members(self, value: Json, at: str, path: str) -> Iterator[FieldRemark]:
        if not isinstance(value, Mapping):
            yield _wrong(at, "an object", value)
            return
        shape = self.provider.shapes[path]
        # Go matches keys in any case.
        names = {name.lower(): name for name in (*shape.kinds, *(each.removesuffix("[]") for each in shape.inside))}
        for key, member in value.items():
            name, where = names.get(str(key).lower()), f"{at}.{key}"
            if name is None:
                yield self.unknown(str(key), where, names.values())
            elif name in shape.kinds:
                yield from self.value(member, where, shape.kinds[name])
                yield from self.meaning(member, where, name) if not path else ()
            elif name in shape.inside:
                yield from self.members(member, where, shape.inside[name]) if member is not None else ()
            elif isinstance(member, list):
                for index, entry in enumerate(member):
                    yield from self.members(entry, f"{where}[{index}]", shape.inside[f"{name}[]"])
            elif member is not None:
                yield _wrong(where, "a list", member)

    def unknown(self, key: str, where: str, known: Collection[str]) -> FieldRemark:
        near = closest_match(key, known)
        message = f"machine-controller does not know the key {key} of provider {self.name}"
        if near:
            return FieldRemark(KEY, where, message, f"Write {near}")
        return FieldRemark(UNKNOWN, where, message, "Remove it, or suppress this if your machine-controller knows it")

    def value(self, value: Json, where: str, kind: str) -> Iterator[FieldRemark]:
        if value is None or kind == "any" or (isinstance(value, str) and value in self.sealed):
            return
        if kind in ("text", "flag") and isinstance(value, Mapping):
            for key in value:
                if key not in _REFERENCES:
                    near = closest_match(str(key), _REFERENCES)
                    fix = f"Write {near}" if near else "Write value, secretKeyRef or configMapKeyRef"
                    yield FieldRemark(KEY, f"{where}.{key}", f"a reference does not have a key {key}", fix)
        elif kind in ("strings", "texts"):
            if not isinstance(value, list):
                yield _wrong(where, "a list", value)
                return
            for index, entry in enumerate(value):
                yield from self.value(entry, f"{where}[{index}]", kind.removesuffix("s"))
        elif kind == "map":
            if not isinstance(value, Mapping):
                yield _wrong(where, "an object", value)
                return
            for key, entry in value.items():
                yield from self.value(entry, f"{where}.{key}", "string")
        elif not _KINDS[kind][1](value):
            yield _wrong(where, _KINDS[kind][0], value)

    def meaning(self, value: Json, where: str, name: str) -> Iterator[FieldRemark]:
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, Mapping):
                each = each.get("value")  # noqa: PLW2901 - the text of a variable
            if each is None or isinstance(each, bool | Mapping | list) or each == "" or self.is_unknown(str(each)):
                continue
            if fault := self.fault(name, each):
                yield FieldRemark(VALUE, where, f"{name} {fault}", "Correct it")

    def is_unknown(self, text: str) -> bool:
        """Whether a text was encrypted, or is a variable that Flux replaces."""
        return text in self.sealed or "${" in text

    def fault(self, name: str, value: str | float) -> str:
        provider, text = self.provider, str(value)
        if name in provider.positive and isinstance(value, int | float) and value <= 0:
            return "must be more than zero"
        if name in provider.urls:
            return url_fault(text, ("https", "http"))
        if name in provider.hosts:
            host, colon, port = text.partition(":")
            return "has a scheme" if "://" in text else host_fault(host) or (port_fault(port) if colon else "")
        pattern = provider.patterns.get(name)
        return "does not look like one" if pattern is not None and not pattern.fullmatch(text) else ""

    def together(self, spec: Mapping[str, Json], at: str) -> Iterator[FieldRemark]:
        given = {str(key).lower(): key for key, value in spec.items() if value not in (None, "", [], {}, 0)}
        for group in self.provider.exclusive:
            found = [name for name in group if name.lower() in given]
            if len(found) > 1:
                message = f"machine-controller refuses {' and '.join(found)} together"
                yield FieldRemark(VALUE, f"{at}.{given[found[1].lower()]}", message, "Keep one of them")
        region, zone = str(spec.get("region") or ""), str(spec.get("availabilityZone") or "")
        is_known = region and zone and not self.is_unknown(region) and not self.is_unknown(zone)
        if self.name == "aws" and is_known and "{" not in region + zone and not zone.startswith(region):
            message = f"the zone {zone} is not in the region {region}"
            yield FieldRemark(VALUE, f"{at}.availabilityZone", message, "Name a zone of the region")


def _is_integer(value: Json) -> bool:
    return (isinstance(value, int) and not isinstance(value, bool)) or (isinstance(value, float) and value.is_integer())


_KINDS: Final[Mapping[str, tuple[str, Callable[[Json], bool]]]] = {
    "text": ("a text, or a reference", lambda value: isinstance(value, str | int | float)),
    "flag": ("true or false, or a reference", lambda value: isinstance(value, bool)),
    "int": ("a whole number without quotes", _is_integer),
    "number": ("a number", lambda value: isinstance(value, int | float) and not isinstance(value, bool)),
    "boolean": ("true or false", lambda value: isinstance(value, bool)),
    "string": ("a text in quotes", lambda value: isinstance(value, str)),
}


def _wrong(where: str, wanted: str, value: Json) -> FieldRemark:
    name = re.split(r"[.\]]", where.rstrip("]"))[-1].partition("[")[0]
    return FieldRemark(TYPE, where, f"{name} must be {wanted}, not {type_name(value)}", "Correct it")
