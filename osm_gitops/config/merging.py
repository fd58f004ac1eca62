"""Merging a piece of a profile into one (design.md, "Overlays"): lists by key, ``$delete`` removes, new entries come
last."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from osm_gitops.config.placed import PlacedList, PlacedMap, Places, inside, places_of, spot_of
from osm_gitops.errors import Code, Problem
from osm_gitops.model.objects import Json
from osm_gitops.model.overlay import DELETE, Spot
from osm_gitops.render.resolve.json_fields import type_name

KEYS: Final[Mapping[str, str]] = {
    "files": "path",
    "units": "name",
    "dropIns": "name",
    "supportedContainerRuntimes": "name",
    "supportedCloudProviders": "name",
}
"""Lists whose entries are known by one of their fields; every other list is replaced as a whole."""

Replaced = Callable[[str, Places, Spot], None]
"""Told of every field that changes or goes: its path, the places of what stood there, and where its change stands."""


@dataclass(slots=True)
class Merge:
    """One piece on its way into a profile; what is wrong becomes ``problems``, and is left out."""

    replaced: Replaced
    problems: list[Problem] = field(default_factory=list)

    def mapping(
        self, value: dict[str, Json], places: PlacedMap, piece: Mapping[str, Json], new: PlacedMap, at: str
    ) -> None:
        """Merge a map into ``value``, whose pieces stand at ``places``; the piece's stand at ``new``."""
        for key, wanted in piece.items():
            path = inside(at, f".{key}" if at else key)
            if key.startswith("$"):
                self.fault(
                    Code.PATCH_INVALID,
                    new[key],
                    path,
                    f"{key} does not belong here",
                    f"{DELETE}: true removes an entry",
                )
            elif wanted is None:
                self.fault(Code.PATCH_INVALID, new[key], path, "is null", f"Write {{{DELETE}: true}} to remove it")
            elif _deletes(wanted):
                self.remove(value, places, key, wanted, new[key], path)
            elif key in KEYS and isinstance(wanted, list):
                self.entries(value, places, key, wanted, new, path)
            elif isinstance(wanted, Mapping) and isinstance(value.get(key), dict):
                self.mapping(value[key], places[key], wanted, new[key], path)
            else:
                self.set(value, places, key, wanted, new[key], path)

    def set(self, value: Any, places: Any, key: Any, wanted: Json, new: Places, path: str) -> None:
        """Put a value where another or none stands; what stands below it must not delete anything."""
        self.check_whole(wanted, new, path)
        present = key in value if isinstance(value, dict) else True
        if present and value[key] != wanted:
            self.replaced(path, places[key], spot_of(new))
        value[key], places[key] = copy.deepcopy(wanted), copy.deepcopy(new)

    def remove(self, value: dict[str, Json], places: PlacedMap, key: str, wanted: Json, new: Places, path: str) -> None:
        if not self.may_delete(wanted, new, path, ()):
            return
        if key not in value:
            self.fault(Code.PATCH_DOES_NOT_APPLY, new, path, "there is nothing here to delete")
            return
        self.replaced(path, places[key], spot_of(new))
        del value[key], places[key]

    def entries(
        self, value: dict[str, Json], places: PlacedMap, key: str, wanted: list[Json], new: PlacedMap, path: str
    ) -> None:
        """Merge a list by the key of its entries."""
        if value.get(key) is None:
            value[key], places[key] = [], PlacedList()
            places[key].spot = spot_of(new[key])
        name = KEYS[key]
        names = (each.get(name) for each in wanted if isinstance(each, Mapping))
        known = Counter(each for each in names if isinstance(each, str))
        entries = _Entries(value[key], places[key], name)
        for index, entry in enumerate(wanted):
            spot, at = new[key][index], inside(path, f"[{index}]")
            which = entry.get(name) if isinstance(entry, Mapping) else None
            if not isinstance(which, str):
                self.fault(Code.PATCH_INVALID, spot, at, f"must be an entry with {name}, by which it is known")
            elif known[which] > 1:
                self.fault(
                    Code.PATCH_INVALID, spot, at, f'{name} "{which}" stands twice in this patch', "Put both together"
                )
            else:
                self.entry(entries, entry, spot, inside(path, f"[{name}={which}]"))
        entries.close()

    def entry(self, entries: _Entries, entry: Mapping[str, Json], new: PlacedMap, path: str) -> None:
        key, which = entries.key, entry[entries.key]
        there = entries.there.get(which, [])
        if len(there) > 1:
            fix = "Change it by its index, with json6902"
            self.fault(
                Code.PATCH_DOES_NOT_APPLY, new, path, f'the profile has {len(there)} entries with {key} "{which}"', fix
            )
        elif DELETE in entry:
            if not self.may_delete(entry, new, path, (key,)):
                return
            if not there:
                self.fault(Code.PATCH_DOES_NOT_APPLY, new, path, f'there is no entry with {key} "{which}" to delete')
                return
            self.replaced(path, entries.places[there[0]], spot_of(new))
            entries.remove(which)
        elif there:
            self.mapping(entries.value[there[0]], entries.places[there[0]], entry, new, path)
        else:
            self.check_whole(entry, new, path)
            entries.value.append(copy.deepcopy(dict(entry)))
            entries.places.append(copy.deepcopy(new))

    def may_delete(self, entry: Mapping[str, Json], new: Places, path: str, beside: tuple[str, ...]) -> bool:
        if entry[DELETE] is not True:
            self.fault(Code.PATCH_INVALID, new, path, f"{DELETE} must be true, not {type_name(entry[DELETE])}")
        elif set(entry) - {DELETE, *beside}:
            self.fault(
                Code.PATCH_INVALID,
                new,
                path,
                f"{DELETE} stands beside fields that would be deleted too",
                "Leave one of them out",
            )
        else:
            return True
        return False

    def check_whole(self, value: Json, places: Places, path: str) -> None:
        """What is new as a whole has nothing to delete in it."""
        if isinstance(value, Mapping):
            for key, each in value.items():
                if key.startswith("$"):
                    self.fault(
                        Code.PATCH_DOES_NOT_APPLY,
                        places[key],
                        inside(path, f".{key}"),
                        "there is nothing here to delete",
                    )
                else:
                    self.check_whole(each, places[key], inside(path, f".{key}"))
        elif isinstance(value, list):
            for index, each in enumerate(value):
                self.check_whole(each, places[index], inside(path, f"[{index}]"))

    def fault(self, code: Code, places: Places, path: str, what: str, fix: str = "") -> None:
        self.problems.append(Problem(code, what, where=spot_of(places).where, field=path, fix=fix))


@dataclass(slots=True)
class _Entries:
    """A list whose entries are known by ``key``: where each of them is, found once for a whole patch.

    Places stay as they are until :meth:`close`, which takes removed entries away.
    """

    value: list[Json]
    places: PlacedList
    key: str
    there: dict[str, list[int]] = field(init=False)
    removed: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.there = {}
        for at, each in enumerate(self.value):
            which = each.get(self.key) if isinstance(each, dict) else None
            if isinstance(which, str):
                self.there.setdefault(which, []).append(at)

    def remove(self, which: str) -> None:
        self.removed.update(self.there.pop(which))

    def close(self) -> None:
        if self.removed:
            self.value[:] = [each for at, each in enumerate(self.value) if at not in self.removed]
            self.places[:] = [each for at, each in enumerate(self.places) if at not in self.removed]


def merge_piece(
    value: dict[str, Json], places: PlacedMap, piece: Mapping[str, Json], spot: Spot, replaced: Replaced
) -> list[Problem]:
    """Merge a piece of a profile that stands at ``spot`` into one, in place; what cannot be done is told."""
    merge = Merge(replaced)
    new = places_of(piece, spot)
    merge.mapping(value, places, piece, new, "")
    return merge.problems


def _deletes(value: Json) -> bool:
    return isinstance(value, Mapping) and DELETE in value
