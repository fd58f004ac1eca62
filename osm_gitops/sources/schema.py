"""Read one object field by field, as strictly as the API server, and collect its problems."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

from osm_gitops.errors import MOST_PROBLEMS, Code, Problem, did_you_mean, first_problems
from osm_gitops.model.objects import Json, Manifest

T = TypeVar("T")

_INT32: Final = range(-(1 << 31), 1 << 31)
_NOTHING: Final[Mapping[str, Json]] = {}


@dataclass(frozen=True, slots=True)
class Checked(Generic[T]):
    """The value of an object, or ``None`` if ``problems`` forbid its use."""

    value: T | None
    problems: tuple[Problem, ...] = ()
    warnings: tuple[Problem, ...] = ()


@dataclass(slots=True)
class Reading:
    """The state of reading one manifest. Each method reads one field of a mapping at ``path``.

    A null counts as an absent field, as in the API server. For strings it counts as an empty text with a warning, as in
    OSM.
    """

    manifest: Manifest
    problems: list[Problem] = field(default_factory=list)
    warnings: list[Problem] = field(default_factory=list)

    def result(self, value: T) -> Checked[T]:
        return Checked(None if self.problems else value, first_problems(self.problems), first_problems(self.warnings))

    def fault(self, code: Code, path: str, what: str, fix: str = "") -> None:
        self.problems.append(self._placed(code, path, what, fix))

    def warn(self, code: Code, path: str, what: str, fix: str = "") -> None:
        self.warnings.append(self._placed(code, path, what, fix))

    def string(self, parent: Mapping[str, Json], path: str, key: str, *, among: Collection[str] = ()) -> str:
        """A required string; empty if it is missing."""
        if key not in parent:
            self.fault(Code.MISSING_KEY, _at(path, key), "is missing")
            return ""
        value = self.text(parent[key], _at(path, key))
        if value is None:
            return ""
        if among and value not in among:
            self._not_among(_at(path, key), value, among)
        return value

    def optional_string(
        self, parent: Mapping[str, Json], path: str, key: str, *, among: Collection[str] = ()
    ) -> str | None:
        if parent.get(key) is None:
            return None
        return self.string(parent, path, key, among=among)

    def text(self, value: Json, path: str) -> str | None:
        """``value`` as a string; ``None`` if it has another type."""
        if isinstance(value, str):
            return value
        if value is None:
            self.warn(
                Code.API_SERVER_REFUSES,
                path,
                "null is read as the empty text; the API server drops or refuses it",
                'Write "" or a text',
            )
            return ""
        self._wrong_type(path, "a string", value)
        return None

    def boolean(self, parent: Mapping[str, Json], path: str, key: str) -> bool | None:
        value = parent.get(key)
        if value is None or isinstance(value, bool):
            return value
        self._wrong_type(_at(path, key), "true or false", value)
        return None

    def int32(self, parent: Mapping[str, Json], path: str, key: str, default: int) -> int:
        value = parent.get(key)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, int | float):
            self._wrong_type(_at(path, key), "a whole number", value)
        elif isinstance(value, float) or value not in _INT32:
            self.fault(Code.INVALID_VALUE, _at(path, key), "is not a whole number of 32 bits")
        else:
            return value
        return default

    def mapping(self, parent: Mapping[str, Json], path: str, key: str, *, required: bool = False) -> Mapping[str, Json]:
        """A mapping; empty if it is absent (a problem if ``required``) or has another type."""
        value = parent.get(key)
        if isinstance(value, dict):
            return value
        if value is not None:
            self._wrong_type(_at(path, key), "a mapping", value)
        elif required:
            self.fault(Code.MISSING_KEY, _at(path, key), "is missing")
        return _NOTHING

    def entries(
        self, parent: Mapping[str, Json], path: str, key: str, *, required: bool = False
    ) -> list[tuple[str, Mapping[str, Json]]]:
        """A list of mappings, each with its path."""
        found: list[tuple[str, Mapping[str, Json]]] = []
        for place, item in self.sequence(parent, path, key, required=required):
            if isinstance(item, dict):
                found.append((place, item))
            else:
                self._wrong_type(place, "a mapping", item)
        return found

    def strings(self, parent: Mapping[str, Json], path: str, key: str) -> tuple[str, ...]:
        return tuple(self.text(item, place) or "" for place, item in self.sequence(parent, path, key))

    def string_map(self, parent: Mapping[str, Json], path: str, key: str) -> dict[str, str]:
        at = _at(path, key)
        return {name: self.text(item, _at(at, name)) or "" for name, item in self.mapping(parent, path, key).items()}

    def sequence(
        self, parent: Mapping[str, Json], path: str, key: str, *, required: bool = False
    ) -> Sequence[tuple[str, Json]]:
        """A list, each entry with its path."""
        value = parent.get(key)
        at = _at(path, key)
        if isinstance(value, list):
            return [(f"{at}[{index}]", item) for index, item in enumerate(value)]
        if value is not None:
            self._wrong_type(at, "a list", value)
        elif required:
            self.fault(Code.MISSING_KEY, at, "is missing")
        return []

    def only(self, parent: Mapping[str, Json], path: str, known: Collection[str]) -> None:
        """Warn of fields that are not ``known``: the API server drops them."""
        for key in parent:
            if key in known:
                continue
            if len(self.warnings) > MOST_PROBLEMS:  # no more are listed, and the search for similar names takes time
                self.warn(Code.UNKNOWN_FIELD, _at(path, key), "is not a field of this kind; the API server drops it")
                continue
            fix = did_you_mean(key, known, f"Known fields: {', '.join(sorted(known))}")
            self.warn(Code.UNKNOWN_FIELD, _at(path, key), "is not a field of this kind; the API server drops it", fix)

    def _not_among(self, path: str, value: str, among: Collection[str]) -> None:
        fix = did_you_mean(value, among, f"It is one of: {', '.join(sorted(among))}")
        self.fault(
            Code.INVALID_VALUE,
            path,
            f'"{value}" is not a valid value' if len(value) < 64 else "is not a valid value",
            fix,
        )

    def _wrong_type(self, path: str, wanted: str, value: Json) -> None:
        fix = "Put it in quotes" if wanted == "a string" and isinstance(value, bool | int | float) else ""
        self.fault(Code.WRONG_TYPE, path, f"must be {wanted}, not {_type_name(value)}", fix)

    def _placed(self, code: Code, path: str, what: str, fix: str) -> Problem:
        return Problem(code, what, where=self.manifest.line_of(path), about=str(self.manifest.ref), field=path, fix=fix)


def _at(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


def _type_name(value: Json) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, int | float):
        return "a number"
    if isinstance(value, str):
        return "a string"
    return "a list" if isinstance(value, list) else "a mapping"
