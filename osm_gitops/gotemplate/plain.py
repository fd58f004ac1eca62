"""Go values as the plain data that the encoders of JSON, YAML and TOML take."""

from __future__ import annotations

import re
from dataclasses import fields
from typing import Any, Final, cast

from osm_gitops.gocompat.fault import GoError
from osm_gitops.gocompat.fields import Fields
from osm_gitops.gocompat.text import normalise
from osm_gitops.gotemplate.bounds import budget
from osm_gitops.gotemplate.durations import MetaDuration
from osm_gitops.gotemplate.faults import BoundExceeded, Refused
from osm_gitops.gotemplate.functions.dates import Time
from osm_gitops.gotemplate.printing import to_string
from osm_gitops.gotemplate.values import IP, NO_VALUE, AnyKeyMap, Duration, Nil, Pointer, Struct

_DEEPEST: Final = 100
_CHARS: Final = 6
"""Binary logarithm of the characters that take a step to write."""
_LEADING_CAPITALS: Final = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]+")
_TEXTS: Final = frozenset({"semver.Version"})
"""Structs that write themselves as text."""
_COMPLETE: Final = frozenset({"providerconfig.NetworkConfig", "providerconfig.DNSConfig"})
"""Structs whose JSON is known to hold every field, also an empty one."""


class Plain:
    """One conversion. It counts what it makes, as a value that is used twice is written twice.

    ``indent`` is the least number of blanks per level in the text to come.
    """

    indent = 0

    def __init__(self) -> None:
        self.size = 0

    def convert(self, value: Any, depth: int = 0) -> Any:
        """Plain data for ``value``, whose type decides.

        Raises GoError where Go's encoder has an error, Refused for what has no text that is
        known, BoundExceeded for too much.
        """
        self.count(value, depth)
        if value is None or value is NO_VALUE:
            return None
        if isinstance(value, str):
            return normalise(value)
        if isinstance(value, Duration):
            return self.duration(value)
        if isinstance(value, (bool, int, float)):
            return value
        if isinstance(value, Pointer):
            return self.convert(value.elem, depth)
        if isinstance(value, Nil):
            return self.nil(value)
        return self.compound(value, depth)

    def compound(self, value: Any, depth: int) -> Any:
        if isinstance(value, IP):
            return value.text
        if isinstance(value, Time):
            return value.moment
        if isinstance(value, Struct):
            return to_string(value) if value.go_type in _TEXTS else self.struct(value, depth)
        if isinstance(value, AnyKeyMap):
            self.check_keys(value)
        if isinstance(value, dict):
            return {self.convert(key, depth): self.convert(each, depth + 1) for key, each in value.items()}
        if isinstance(value, list):
            return [self.convert(each, depth + 1) for each in value]
        raise GoError("a complex number cannot be written")

    def count(self, value: Any, depth: int) -> None:
        """Add to the budget what writing ``value`` itself takes at least."""
        if depth > _DEEPEST:
            raise BoundExceeded(f"a value is nested more than {_DEEPEST} deep, or holds itself; make it flatter")
        lines = 1
        if isinstance(value, str):
            self.size += len(value)
            budget().step(len(value) >> _CHARS)
            lines += value.count("\n")
        self.size += 1 + depth * self.indent * lines
        spent = budget()
        spent.size(self.size)
        spent.step(2)

    def duration(self, value: Duration) -> Any:
        return value.String()

    def nil(self, value: Nil) -> Any:
        """The nil of a map or slice type."""
        del value

    def check_keys(self, value: AnyKeyMap) -> None:
        """Raise GoError if keys that are no strings cannot be written."""

    def struct(self, value: Struct, depth: int) -> Any:
        return Fields(
            (self.field_name(field.name), self.convert(getattr(value, field.name), depth + 1))
            for field in fields(cast("Any", value))
        )

    def field_name(self, name: str) -> str:
        return name


class JsonPlain(Plain):
    """For ``encoding/json``: durations are numbers, struct fields have the names of the Kubernetes API."""

    def duration(self, value: Duration) -> Any:
        return int(value)

    def check_keys(self, value: AnyKeyMap) -> None:
        raise GoError(f"json: unsupported type: {value.go_type}")

    def struct(self, value: Struct, depth: int) -> Any:
        if isinstance(value, MetaDuration):
            return value.Duration.String()
        plain = super().struct(value, depth)
        if value.go_type not in _COMPLETE and not all(plain.values()):
            raise Refused(
                f"the JSON of a {value.go_type} is not known where fields are empty; write its fields one by one"
            )
        return plain

    def field_name(self, name: str) -> str:
        """``RHSMOfflineToken`` → ``rhsmOfflineToken``."""
        return _LEADING_CAPITALS.sub(lambda match: match[0].lower(), name, count=1)


class PrettyJsonPlain(JsonPlain):
    indent = 2


class YamlPlain(Plain):
    """For yaml.v3: struct fields in lower case, a nil map or slice as an empty one."""

    indent = 2

    def nil(self, value: Nil) -> Any:
        return {} if isinstance(value, dict) else []

    def field_name(self, name: str) -> str:
        return name.lower()


class TomlPlain(Plain):
    """For BurntSushi/toml, which knows maps with text as keys only."""

    def check_keys(self, value: AnyKeyMap) -> None:
        raise Refused(f"toToml is given a {value.go_type}; in Go, an error text would be its result")
