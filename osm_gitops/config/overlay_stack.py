"""A stack of overlays (design.md, "Overlays"): their settings, values and lists of profiles together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import TypeVar

from osm_gitops.config.settings import RawSetting
from osm_gitops.errors import Problem
from osm_gitops.model.objects import Json
from osm_gitops.model.overlay import Overlay, Spot

T = TypeVar("T")

ValuePath = tuple[str, ...]
"""The keys that lead to a value; the empty path means all values."""


@dataclass(frozen=True, slots=True)
class PlacedValue:
    """A value of ``Values`` with its place; ``spot`` is in ``overlay``."""

    value: Json
    overlay: Overlay
    spot: Spot


@dataclass(frozen=True, slots=True)
class Stack:
    """The combination of overlays, of which later ones take precedence.

    ``values`` are by path; only empty maps are values. ``uses`` are the values that texts of overlays read.
    ``profiles`` are globs, or ``None`` if no overlay has a list; ``chosen_at`` is the place of the list. ``warnings``
    are settings and values that two overlays set differently.
    """

    overlays: tuple[Overlay, ...] = ()
    settings: tuple[RawSetting, ...] = ()
    values: Mapping[ValuePath, PlacedValue] = field(default_factory=dict)
    uses: frozenset[ValuePath] = frozenset()
    profiles: tuple[str, ...] | None = None
    chosen_at: str = ""
    warnings: tuple[Problem, ...] = ()

    def tree(self) -> dict[str, Json]:
        """``Values`` as templates read them."""
        return value_tree({path: given.value for path, given in self.values.items()})

    def gets(self, name: str) -> bool:
        """Whether the cluster gets the profile with this name."""
        return self.profiles is None or any(fnmatchcase(name, glob) for glob in self.profiles)


def value_tree(values: Mapping[ValuePath, Json]) -> dict[str, Json]:
    """Values by their paths as templates read them."""
    tree: dict[str, Json] = {}
    for path, value in values.items():
        inner = tree
        for key in path[:-1]:
            inner = inner.setdefault(key, {})
        inner[path[-1]] = value
    return tree


def without_used(values: Mapping[ValuePath, T], uses: Iterable[ValuePath]) -> dict[ValuePath, T]:
    """The values that ``uses`` do not read: a use reads what is at its path, above it and below it."""
    read = frozenset(uses)
    above = {use[:length] for use in read for length in range(len(use) + 1)}
    return {
        path: value
        for path, value in values.items()
        if path not in above and not any(path[:length] in read for length in range(len(path)))
    }
