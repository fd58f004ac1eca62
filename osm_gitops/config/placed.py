"""JSON whose every piece knows where it comes from, for messages about what was put together of several files.

The places are kept beside the values, in a tree of the same shape: a leaf is the :class:`Spot` of a scalar, maps and
lists have one of their own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, ClassVar, Final

from osm_gitops.model.objects import Json, Origin
from osm_gitops.model.overlay import Spot

LONGEST_PATH: Final = 300
"""Longer paths are cut: no message needs more, and keys of a megabyte in each other would make paths without end."""
_CUT: Final = ".…"
_MOST_PATHS: Final = 32 << 20
_ENTRY: Final = 64

Places = Any
"""A :class:`Spot`, a :class:`PlacedMap` or a :class:`PlacedList`."""


class PlacedMap(dict[str, Places]):
    """The places of a map's entries; ``spot`` is the map's own."""

    IS_DATA: ClassVar = True  # for answers of workers
    spot: Spot


class PlacedList(list[Places]):
    """The places of a list's entries; ``spot`` is the list's own."""

    IS_DATA: ClassVar = True
    spot: Spot


def places_of(value: Json, spot: Spot) -> Places:
    """The places of a value that stands at ``spot`` as a whole."""
    if isinstance(value, Mapping):
        found = PlacedMap((key, places_of(each, _inside(spot, f".{key}"))) for key, each in value.items())
    elif isinstance(value, list):
        entries = (places_of(each, _inside(spot, f"[{at}]")) for at, each in enumerate(value))
        listed = PlacedList(entries)
        listed.spot = spot
        return listed
    else:
        return spot
    found.spot = spot
    return found


def _inside(spot: Spot, step: str) -> Spot:
    return replace(spot, field=inside(spot.field, step).removeprefix("."))


def inside(path: str, step: str) -> str:
    """The path of an entry (``[0]``) or a key (``.key``) below ``path``; one that is cut stands for all below it."""
    if path.endswith(_CUT):
        return path
    return f"{path}{step}" if len(path) + len(step) <= LONGEST_PATH else f"{path}{_CUT}"


def spot_of(places: Places) -> Spot:
    """Where a piece itself stands."""
    found: Spot = places if isinstance(places, Spot) else places.spot
    return found


def spots_within(places: Places) -> Iterator[Spot]:
    """Where a piece stands, and everything in it."""
    yield spot_of(places)
    inner = places.values() if isinstance(places, PlacedMap) else places if isinstance(places, PlacedList) else ()
    for each in inner:
        yield from spots_within(each)


class PlacedFields(Mapping[str, Origin]):
    """Field path → place, for the manifest that ``places`` belong to; made when it is first asked.

    ``PATH|`` is the first line of a text that is written line by line. What follows 32 MiB of paths has no place.
    """

    IS_DATA: ClassVar = True

    def __init__(self, places: Places) -> None:
        self._places = places
        self._found: dict[str, Origin] | None = None

    def __getitem__(self, field: str) -> Origin:
        return self._all()[field]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def _all(self) -> dict[str, Origin]:
        if self._found is None:
            self._found = {}
            left = _MOST_PATHS
            for path, origin in _origins(self._places, ""):
                left -= len(path) + _ENTRY
                if left < 0:
                    break
                self._found[path] = origin
        return self._found


def _origins(places: Places, field: str) -> Iterator[tuple[str, Origin]]:
    spot = spot_of(places)
    for mark in ("", "|"):
        origin = spot.manifest.place_of(f"{spot.field}{mark}")
        if origin is not None and field:
            yield f"{field}{mark}", origin
    if isinstance(places, PlacedMap):
        for key, each in places.items():
            yield from _origins(each, inside(field, f".{key}").removeprefix("."))
    elif isinstance(places, PlacedList):
        for index, each in enumerate(places):
            yield from _origins(each, inside(field, f"[{index}]"))
