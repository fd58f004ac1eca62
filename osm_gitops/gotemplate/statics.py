"""What the translator knows of values before they exist: Go types and their parts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from typing import TypeVar, get_type_hints

from osm_gitops.gotemplate.values import GoList, GoMap, NamedString, Pointer, SizedInt, Struct

T = TypeVar("T")

_PYTHON_TYPES = {str: "string", bool: "bool", int: "int", float: "float64"}


@dataclass(frozen=True, slots=True)
class Schema:
    """Types of the root's fields and of the fields of structs; ``texts`` are the types of kind string."""

    root: Mapping[str, str]
    structs: Mapping[str, Mapping[str, str]]
    texts: frozenset[str]

    def field(self, owner: str, name: str) -> str:
        """Go's type of a field of a struct or of a pointer to one; empty if not known."""
        return self.structs.get(owner.removeprefix("*"), {}).get(name, "")

    def is_struct(self, owner: str) -> bool:
        """Whether the fields of values of this type are known; methods have no type here."""
        return owner.removeprefix("*") in self.structs

    def element(self, owner: str) -> str:
        """Go's type of the elements of a slice or map, or of a pointer to one; empty if not known."""
        plain = owner.removeprefix("*")
        for prefix in ("[]", "map[string]"):
            if plain.startswith(prefix):
                return plain.removeprefix(prefix)
        return ""


def schema(root: Mapping[str, str]) -> Schema:
    """All that the classes of values say about the types that the root's fields have."""
    texts = {each.go_type for each in _subclasses(NamedString)}
    return Schema(root, _structs(), frozenset({"string", *texts}))


@cache
def _structs() -> Mapping[str, Mapping[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for struct in _subclasses(Struct):
        if is_dataclass(struct):
            hints = get_type_hints(struct)
            types = {each.name: _go_type(hints[each.name]) for each in fields(struct) if each.name[0].isupper()}
            found[struct.go_type] = {name: type_name for name, type_name in types.items() if type_name}
    return found


@cache
def method_names() -> frozenset[str]:
    """Names of the methods that any value may have."""
    owners = (*_subclasses(Struct), *_subclasses(NamedString), *_subclasses(Pointer))
    return frozenset(name for owner in owners for name in getattr(owner, "methods", ()))


def _go_type(annotation: object) -> str:
    if not isinstance(annotation, type):
        return ""
    if annotation in _PYTHON_TYPES:
        return _PYTHON_TYPES[annotation]
    if issubclass(annotation, NamedString | SizedInt | Struct | GoMap | GoList) and not issubclass(annotation, Pointer):
        return annotation.go_type
    return ""


def _subclasses(base: type[T]) -> Iterator[type[T]]:
    for each in base.__subclasses__():
        yield each
        yield from _subclasses(each)
