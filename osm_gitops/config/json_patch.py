"""JSON 6902: the operations of a patch, one by one, on a value and on the places of its pieces alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from jsonpatch import JsonPatch, JsonPatchException, JsonPatchTestFailed, JsonPointer, JsonPointerException

from osm_gitops.config.patch_limits import MOST_DEPTH, PatchBudget, depth_of
from osm_gitops.config.placed import Places, places_of
from osm_gitops.model.objects import Json
from osm_gitops.model.overlay import Spot

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
