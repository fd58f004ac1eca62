"""JSON in which every value has its origin, and JSON Patch (RFC 6902) on it, within limits.

Origins are in a second tree of the same shape: a leaf is the :class:`Spot` of a scalar, and maps and lists have a
``spot``. A patch changes both trees. Limits count the profile as written, before a change is made: equal texts count
each time, even if Python shares them. etcd accepts objects of 1.5 MiB, far below these limits.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final

from jsonpatch import JsonPatch, JsonPatchException, JsonPatchTestFailed, JsonPointer, JsonPointerException

from osm_gitops.model.objects import Json, Origin
from osm_gitops.model.overlay import CopiedText, Spot

LONGEST_PATH: Final = 300
"""Longer paths are cut: messages need no more, and nested keys of a megabyte would make endless paths."""
_CUT: Final = ".…"
_MOST_PATHS: Final = 32 << 20
_ENTRY: Final = 64

Places = Any
"""A :class:`Spot`, a :class:`PlacedMap` or a :class:`PlacedList`."""


class PlacedMap(dict[str, Places]):
    """The places of a map's entries; ``spot`` is the place of the map."""

    IS_DATA: ClassVar = True  # for answers of workers
    spot: Spot


class PlacedList(list[Places]):
    """The places of a list's entries; ``spot`` is the place of the list."""

    IS_DATA: ClassVar = True
    spot: Spot


def places_of(value: Json, spot: Spot) -> Places:
    """The places of a value at ``spot``."""
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
    """The path of an entry (``[0]``) or a key (``.key``) below ``path``; all paths below a cut one are equal to it."""
    if path.endswith(_CUT):
        return path
    return f"{path}{step}" if len(path) + len(step) <= LONGEST_PATH else f"{path}{_CUT}"


def spot_of(places: Places) -> Spot:
    """The place of a value."""
    found: Spot = places if isinstance(places, Spot) else places.spot
    return found


def spots_within(places: Places) -> Iterator[Spot]:
    """The places of a value and of everything in it."""
    yield spot_of(places)
    inner = places.values() if isinstance(places, PlacedMap) else places if isinstance(places, PlacedList) else ()
    for each in inner:
        yield from spots_within(each)


class PlacedFields(Mapping[str, Origin]):
    """Field path → place, for the manifest of ``places``; computed at the first access.

    ``PATH|`` is the first line of a block text. After 32 MiB of paths, fields have no place.
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
    for mark, origin in (("", spot.manifest.place_of(spot.field)), ("|", spot.first_line)):
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
"""The most that all patches together may write into a profile, including what later ones replace."""
MOST_DEPTH: Final = 100

_VALUE: Final = 256  # memory of a list, a map or a scalar, with its place
_OPERATION: Final = 4096  # the cost of a patch or an operation that writes nothing


class PatchLimitError(Exception):
    """Patches would make a profile too large; the message says which limit."""


@dataclass(slots=True)
class PatchBudget:
    """How much patches have written into a profile."""

    written: int = 0

    def write(self, value: Json) -> None:
        """Count a value before it is written. Raises PatchLimitError."""
        self.written += _OPERATION + size_of(value, MOST_WRITTEN)
        if self.written > MOST_WRITTEN:
            raise PatchLimitError(f"all patches together write more than {MOST_WRITTEN >> 20} MiB into this profile")


def check_size(body: Json) -> None:
    """Check the size of a profile. Raises PatchLimitError."""
    if size_of(body, MOST_PROFILE) > MOST_PROFILE:
        raise PatchLimitError(f"the profile is larger than {MOST_PROFILE >> 20} MiB")


def size_of(value: Json, most: int) -> int:
    """The size of JSON: the characters of texts and keys, and 256 for each value; counting stops above ``most``."""
    size = 0
    waiting = [value]
    while waiting and size <= most:
        each = waiting.pop()
        size += _VALUE
        if isinstance(each, str):
            size += len(each)
        elif isinstance(each, CopiedText):
            size += len(each.text)
        elif isinstance(each, Mapping):
            size += sum(map(len, each))
            waiting += each.values()
        elif isinstance(each, list):
            waiting += each
    return size


def depth_of(value: Json) -> int:
    """The nesting of lists and maps in JSON; 0 for a scalar."""
    depth = 0
    level = [value]
    while level := [each for each in level if isinstance(each, Mapping | list)]:
        depth += 1
        level = [inner for each in level for inner in (each.values() if isinstance(each, Mapping) else each)]
    return depth


_NOTHING: Final = object()
_LONGEST_SHOWN: Final = 200


class WrongOperation(Exception):
    """An operation that does not apply; the message contains no values."""


def charge(value: Json, operation: Mapping[str, Json], budget: PatchBudget) -> None:
    """Count what an operation is going to write.

    Raises PatchLimitError, and WrongOperation if the result would be nested too deep for YAML.
    """
    op = operation["op"]
    if op in {"remove", "test"}:
        budget.write(None)
        return
    try:
        depth = len(JsonPointer(operation["path"]).parts)
        written = JsonPointer(operation["from"]).resolve(value) if op in {"move", "copy"} else operation["value"]
    except (JsonPointerException, TypeError, KeyError, ValueError):
        raise WrongOperation(_sentence(operation)) from None
    budget.write(written)
    if depth + depth_of(written) > MOST_DEPTH:
        raise WrongOperation(f"{op} would nest lists and mappings more than {MOST_DEPTH} deep")


def operate(value: Json, places: Places, operation: Mapping[str, Json], spot: Spot) -> Places | None:
    """Apply one operation of JSON Patch in place. Raises WrongOperation, and then nothing is changed.

    ``spot`` is the place of the operation, and so of what it adds. Returns the places of what it replaced by another
    value, or removed.
    """
    try:
        replaced = _replaced(value, places, operation)
        JsonPatch([dict(operation)]).apply(value, in_place=True)
        if operation["op"] != "test":
            JsonPatch([_of_places(operation, spot)]).apply(places, in_place=True)
        return replaced
    except JsonPatchTestFailed:
        raise WrongOperation(
            f"the value at {_shown(operation['path'])} is not the one that the patch tests for"
        ) from None
    except (JsonPatchException, JsonPointerException):
        raise WrongOperation(_sentence(operation)) from None
    except (TypeError, KeyError, ValueError):
        raise WrongOperation(f"{operation['op']} does not fit the value at {_shown(operation['path'])}") from None


def _replaced(value: Json, places: Places, operation: Mapping[str, Json]) -> Places | None:
    """The places of what the operation replaces or removes; in a list ``add`` and ``copy`` replace nothing."""
    op, pointer = operation["op"], JsonPointer(operation["path"])
    if op in {"test", "move"} or not pointer.parts:
        return None
    holder, key = JsonPointer.from_parts(pointer.parts[:-1]), pointer.parts[-1]
    inside = holder.resolve(value, None)
    if isinstance(inside, list) and op in {"replace", "remove"}:
        before, at = pointer.resolve(value, _NOTHING), pointer.resolve(places, None)
    elif isinstance(inside, dict) and key in inside:
        before, at = inside[key], holder.resolve(places)[key]
    else:
        return None
    unchanged = op in {"add", "replace"} and before == operation["value"]
    return None if unchanged else at


def _of_places(operation: Mapping[str, Json], spot: Spot) -> dict[str, Json]:
    """The same operation on places."""
    if "value" not in operation:
        return dict(operation)
    value = Spot(spot.manifest, f"{spot.field}.value")
    return {**operation, "value": places_of(operation["value"], value)}


def _sentence(operation: Mapping[str, Json]) -> str:
    op, path = operation["op"], _shown(operation["path"])
    if op in {"move", "copy"}:
        return f"cannot {op} from {_shown(operation['from'])} to {path}: one of these paths does not exist"
    if op in {"remove", "replace"}:
        return f"there is nothing at {path} to {op}"
    return f"{path} cannot be added: all but its last part must exist, and an index must be within the list"


def _shown(pointer: str) -> str:
    return pointer if len(pointer) <= _LONGEST_SHOWN else f"{pointer[:_LONGEST_SHOWN]}…"
