"""JSON whose every piece knows where it comes from, and JSON 6902 on it, within limits.

The places are kept beside the values, in a tree of the same shape: a leaf is the :class:`Spot` of a scalar, maps and
lists have one of their own. A patch changes both alike. Limits count the profile written out, before it is made: text
that is in it twice counts twice, whatever Python shares of it. etcd takes objects of 1.5 MiB, so no profile that a
cluster can hold comes near these limits.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final

from jsonpatch import JsonPatch, JsonPatchException, JsonPatchTestFailed, JsonPointer, JsonPointerException

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


MOST_PROFILE: Final = 8 << 20
"""The largest size of a patched profile, as :func:`size_of` counts it."""
MOST_WRITTEN: Final = 16 << 20
"""How much all patches together may write into one profile, what later ones replace included."""
MOST_DEPTH: Final = 100

_VALUE: Final = 256  # what a list, a map or a scalar takes in memory, with where it comes from
_OPERATION: Final = 4096  # what it costs to apply a patch or an operation that writes nothing


class PatchLimitError(Exception):
    """Patches would make a profile larger than it may be; the message is what is said of the patch."""


@dataclass(slots=True)
class PatchBudget:
    """What patches have written into one profile so far."""

    written: int = 0

    def write(self, value: Json) -> None:
        """Count a value that is going to be written. Raises PatchLimitError."""
        self.written += _OPERATION + size_of(value, MOST_WRITTEN)
        if self.written > MOST_WRITTEN:
            raise PatchLimitError(f"all patches together write more than {MOST_WRITTEN >> 20} MiB into this profile")


def check_size(body: Json) -> None:
    """Check the size of a profile. Raises PatchLimitError."""
    if size_of(body, MOST_PROFILE) > MOST_PROFILE:
        raise PatchLimitError(f"the profile is larger than {MOST_PROFILE >> 20} MiB")


def size_of(value: Json, most: int) -> int:
    """The size of JSON: the characters of its texts and keys, and 256 for each value; counting ends beyond ``most``."""
    size = 0
    waiting = [value]
    while waiting and size <= most:
        each = waiting.pop()
        size += _VALUE
        if isinstance(each, str):
            size += len(each)
        elif isinstance(each, Mapping):
            size += sum(map(len, each))
            waiting += each.values()
        elif isinstance(each, list):
            waiting += each
    return size


def depth_of(value: Json) -> int:
    """How deep lists and maps are nested in JSON; 0 for a scalar."""
    depth = 0
    level = [value]
    while level := [each for each in level if isinstance(each, Mapping | list)]:
        depth += 1
        level = [inner for each in level for inner in (each.values() if isinstance(each, Mapping) else each)]
    return depth


_NOTHING: Final = object()
_LONGEST_SHOWN: Final = 200


class WrongOperation(Exception):
    """An operation that cannot be done; a sentence without values."""


def charge(value: Json, operation: Mapping[str, Json], budget: PatchBudget) -> None:
    """Count what an operation writes before it does.

    Raises PatchLimitError, and WrongOperation where it would nest deeper than YAML may.
    """
    doing = operation["op"]
    if doing in {"remove", "test"}:
        budget.write(None)
        return
    try:
        depth = len(JsonPointer(operation["path"]).parts)
        written = JsonPointer(operation["from"]).resolve(value) if doing in {"move", "copy"} else operation["value"]
    except (JsonPointerException, TypeError, KeyError, ValueError):
        raise WrongOperation(_sentence(operation)) from None
    budget.write(written)
    if depth + depth_of(written) > MOST_DEPTH:
        raise WrongOperation(f"{doing} would nest lists and mappings more than {MOST_DEPTH} deep")


def operate(value: Json, places: Places, operation: Mapping[str, Json], spot: Spot) -> Places | None:
    """Do one operation of JSON Patch in place. Raises WrongOperation, and then nothing is changed.

    ``spot`` is where the operation stands; what it adds has its places there. Returns the places of what it replaced
    by something else, or removed.
    """
    try:
        replaced = _replaced(value, places, operation)
        JsonPatch([dict(operation)]).apply(value, in_place=True)
        if operation["op"] != "test":
            JsonPatch([_of_places(operation, spot)]).apply(places, in_place=True)
        return replaced
    except JsonPatchTestFailed:
        raise WrongOperation(f"what stands at {_shown(operation['path'])} is not what the patch tests for") from None
    except (JsonPatchException, JsonPointerException):
        raise WrongOperation(_sentence(operation)) from None
    except (TypeError, KeyError, ValueError):
        raise WrongOperation(f"{operation['op']} does not fit what stands at {_shown(operation['path'])}") from None


def _replaced(value: Json, places: Places, operation: Mapping[str, Json]) -> Places | None:
    """The places of what the operation takes away; in a list ``add`` and ``copy`` take nothing away."""
    doing, pointer = operation["op"], JsonPointer(operation["path"])
    if doing in {"test", "move"} or not pointer.parts:
        return None
    holder, key = JsonPointer.from_parts(pointer.parts[:-1]), pointer.parts[-1]
    inside = holder.resolve(value, None)
    if isinstance(inside, list) and doing in {"replace", "remove"}:
        before, at = pointer.resolve(value, _NOTHING), pointer.resolve(places, None)
    elif isinstance(inside, dict) and key in inside:
        before, at = inside[key], holder.resolve(places)[key]
    else:
        return None
    unchanged = doing in {"add", "replace"} and before == operation["value"]
    return None if unchanged else at


def _of_places(operation: Mapping[str, Json], spot: Spot) -> dict[str, Json]:
    """The same operation on places."""
    if "value" not in operation:
        return dict(operation)
    value = Spot(spot.manifest, f"{spot.field}.value")
    return {**operation, "value": places_of(operation["value"], value)}


def _sentence(operation: Mapping[str, Json]) -> str:
    doing, path = operation["op"], _shown(operation["path"])
    if doing in {"move", "copy"}:
        return f"it cannot {doing} from {_shown(operation['from'])} to {path}: one of them leads nowhere"
    if doing in {"remove", "replace"}:
        return f"there is nothing at {path} to {doing}"
    return f"{path} leads nowhere: all but its last part must be there, and an index must fit the list"


def _shown(pointer: str) -> str:
    return pointer if len(pointer) <= _LONGEST_SHOWN else f"{pointer[:_LONGEST_SHOWN]}…"
