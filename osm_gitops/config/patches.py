"""Patch profiles (design.md, "Overlays"): merge pieces (lists by key, ``$delete`` removes, new entries come last),
apply operations, find conflicts between overlays, and generate the version of the result.
"""

from __future__ import annotations

import copy
import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import translate
from functools import lru_cache
from typing import Any, Final

from osm_gitops.config.json_patch import (
    PatchBudget,
    PatchLimitError,
    PlacedFields,
    PlacedList,
    PlacedMap,
    Places,
    WrongOperation,
    charge,
    check_size,
    inside,
    operate,
    places_of,
    spot_of,
    spots_within,
)
from osm_gitops.config.text_patches import WrongEdit, edit_text, text_digest
from osm_gitops.errors import Code, Problem, first_problems
from osm_gitops.model.objects import Json, Manifest
from osm_gitops.model.overlay import DELETE, CopiedText, EditedText, Overlay, Patch, Spot
from osm_gitops.model.profile import OVERLAY_BASE_ANNOTATION, TEMPLATE_ANNOTATION, OperatingSystemProfile
from osm_gitops.render.resolve.json_fields import type_name

KEYS: Final[Mapping[str, str]] = {
    "files": "path",
    "units": "name",
    "dropIns": "name",
    "supportedContainerRuntimes": "name",
    "supportedCloudProviders": "name",
}
"""Lists whose entries have a key field; all other lists are replaced as a whole."""

Replaced = Callable[[str, Places, Spot], None]
"""Called for every field that changes or is removed: its path, its old places, and the place of the change."""


@dataclass(slots=True)
class Merge:
    """Merges one piece into a profile; what cannot be merged is skipped and added to ``problems``.

    ``warnings`` are copies of texts that have changed. Raises PatchLimitError if edits write more than ``budget``.
    """

    replaced: Replaced
    budget: PatchBudget
    problems: list[Problem] = field(default_factory=list)
    warnings: list[Problem] = field(default_factory=list)

    def mapping(
        self, value: dict[str, Json], places: PlacedMap, piece: Mapping[str, Json], new: PlacedMap, at: str
    ) -> None:
        """Merge a map into ``value``; ``places`` are the places of ``value``, ``new`` those of the piece."""
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
            elif isinstance(wanted, Mapping) and DELETE in wanted:
                self.remove(value, places, key, wanted, new[key], path)
            elif key in KEYS and isinstance(wanted, list):
                self.entries(value, places, key, wanted, new, path)
            elif isinstance(wanted, EditedText):
                self.edit(value, places, key, wanted, new[key], path)
            elif isinstance(wanted, CopiedText):
                self.copied(value, places, key, wanted, new[key], path)
            elif isinstance(wanted, Mapping) and isinstance(value.get(key), dict):
                self.mapping(value[key], places[key], wanted, new[key], path)
            else:
                self.set(value, places, key, wanted, new[key], path)

    def set(self, value: Any, places: Any, key: Any, wanted: Json, new: Places, path: str) -> None:
        """Set or replace a value, in which nothing may refer to an old one."""
        if not self.is_whole(wanted, new, path):
            return
        present = key in value if isinstance(value, dict) else True
        if present and value[key] != wanted:
            self.replaced(path, places[key], spot_of(new))
        value[key], places[key] = copy.deepcopy(wanted), copy.deepcopy(new)

    def edit(
        self, value: dict[str, Json], places: PlacedMap, key: str, wanted: EditedText, new: Spot, path: str
    ) -> None:
        """Edit a text. Later overlays that replace it conflict with this one; those that edit it do not."""
        if not isinstance(value.get(key), str):
            self.fault(Code.PATCH_DOES_NOT_APPLY, new, path, "there is no text to edit here")
            return
        try:
            value[key], places[key] = edit_text(value[key], places[key], wanted.edits, new)
        except WrongEdit as wrong:
            fix = "Compare it with the text of the profile: osm-gitops osp show"
            self.fault(Code.PATCH_DOES_NOT_APPLY, new, path, str(wrong), fix)
        else:
            self.budget.write(value[key])

    def copied(
        self, value: dict[str, Json], places: PlacedMap, key: str, wanted: CopiedText, new: Spot, path: str
    ) -> None:
        """Replace a text by a changed copy of it; warn if what was copied has changed since."""
        if not isinstance(value.get(key), str):
            self.fault(Code.PATCH_DOES_NOT_APPLY, wanted.spot, path, "there is no text here to copy")
            return
        now = text_digest(value[key])
        if now != wanted.base:
            self.warnings.append(
                Problem(
                    Code.OVERLAY_COPY_OUTDATED,
                    f"the text that was copied here has changed: its digest was {wanted.base} and is {now}",
                    where=wanted.spot.where,
                    field=path,
                    fix=f'Bring the changes into the copy, then write baseDigest: "{now}"',
                )
            )
        self.set(value, places, key, wanted.text, new, path)

    def remove(self, value: dict[str, Json], places: PlacedMap, key: str, wanted: Json, new: Places, path: str) -> None:
        if not self.may_delete(wanted, new, path, ()):
            return
        if key not in value:
            self.fault(Code.PATCH_DOES_NOT_APPLY, new, path, "there is nothing to delete here")
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
                self.fault(Code.PATCH_INVALID, spot, at, f"must be an entry with the key {name}")
            elif known[which] > 1:
                self.fault(Code.PATCH_INVALID, spot, at, f'{name} "{which}" is twice in this patch', "Merge the two")
            else:
                self.entry(entries, entry, spot, inside(path, f"[{name}={which}]"))
        entries.close()

    def entry(self, entries: _Entries, entry: Mapping[str, Json], new: PlacedMap, path: str) -> None:
        key, which = entries.key, entry[entries.key]
        found = entries.positions.get(which, [])
        if len(found) > 1:
            fix = "Change it by its index, with json6902"
            self.fault(
                Code.PATCH_DOES_NOT_APPLY, new, path, f'the profile has {len(found)} entries with {key} "{which}"', fix
            )
        elif DELETE in entry:
            if not self.may_delete(entry, new, path, (key,)):
                return
            if not found:
                self.fault(Code.PATCH_DOES_NOT_APPLY, new, path, f'no entry with {key} "{which}" to delete')
                return
            self.replaced(path, entries.places[found[0]], spot_of(new))
            entries.remove(which)
        elif found:
            self.mapping(entries.value[found[0]], entries.places[found[0]], entry, new, path)
        elif self.is_whole(entry, new, path):
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
                f"{DELETE} must not have other fields beside it",
                "Remove either",
            )
        else:
            return True
        return False

    def is_whole(self, value: Json, places: Places, path: str) -> bool:
        """Whether a new value refers to no old one; else there are problems."""
        before = len(self.problems)
        if isinstance(value, Mapping):
            for key, each in value.items():
                if key.startswith("$"):
                    what = "there is nothing to delete here"
                    self.fault(Code.PATCH_DOES_NOT_APPLY, places[key], inside(path, f".{key}"), what)
                else:
                    self.is_whole(each, places[key], inside(path, f".{key}"))
        elif isinstance(value, list):
            for index, each in enumerate(value):
                self.is_whole(each, places[index], inside(path, f"[{index}]"))
        elif isinstance(value, EditedText | CopiedText):
            what = "edit" if isinstance(value, EditedText) else "copy"
            self.fault(Code.PATCH_DOES_NOT_APPLY, places, path, f"there is no text here to {what}")
        return len(self.problems) == before

    def fault(self, code: Code, places: Places, path: str, what: str, fix: str = "") -> None:
        self.problems.append(Problem(code, what, where=spot_of(places).where, field=path, fix=fix))


@dataclass(slots=True)
class _Entries:
    """A list whose entries have a ``key``, with the positions of the entries, which are computed once per patch.

    Positions stay valid until :meth:`close`, which removes the deleted entries.
    """

    value: list[Json]
    places: PlacedList
    key: str
    positions: dict[str, list[int]] = field(init=False)
    removed: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.positions = {}
        for at, each in enumerate(self.value):
            which = each.get(self.key) if isinstance(each, dict) else None
            if isinstance(which, str):
                self.positions.setdefault(which, []).append(at)

    def remove(self, which: str) -> None:
        self.removed.update(self.positions.pop(which))

    def close(self) -> None:
        if self.removed:
            self.value[:] = [each for at, each in enumerate(self.value) if at not in self.removed]
            self.places[:] = [each for at, each in enumerate(self.places) if at not in self.removed]


_DIGEST: Final = 12
_DERIVED: Final = re.compile(rf"\+[0-9a-zA-Z.-]+\.[0-9a-f]{{{_DIGEST}}}$")
_SMALLER: Final = "Make the patches smaller; clusters do not accept objects above 1.5 MiB"
_NOT_IN_VERSIONS: Final = re.compile(r"[^0-9A-Za-z-]+")


@dataclass(frozen=True, slots=True)
class PatchedProfile:
    """The patched manifest of a profile: ``applied`` are the patches, ``warnings`` fields that two overlays set
    differently, ``problems`` what could not be applied."""

    manifest: Manifest
    applied: tuple[Patch, ...]
    warnings: tuple[Problem, ...]
    problems: tuple[Problem, ...]


def fits(patch: Patch, profile: OperatingSystemProfile) -> bool:
    """Whether the patch is for this profile."""
    return _glob(patch.name).fullmatch(profile.name) is not None and patch.os_name in {"", profile.os_name}


@lru_cache(maxsize=8192)  # fnmatch caches too few for an overlay
def _glob(pattern: str) -> re.Pattern[str]:
    return re.compile(translate(pattern))


def is_derived(profile: OperatingSystemProfile) -> bool:
    """Whether osm-gitops has patched the profile before it came into the source: it is not patched again."""
    return profile.overlaid and _DERIVED.search(profile.version) is not None


def patch_profile(profile: OperatingSystemProfile, overlays: Sequence[Overlay]) -> PatchedProfile | None:
    """The profile with all patches of ``overlays`` for it, in order; ``None`` if there are none."""
    if is_derived(profile):
        return None
    wanted = [(patch, overlay) for overlay in overlays for patch in overlay.patches if fits(patch, profile)]
    if not wanted:
        return None
    try:
        check_size(profile.manifest.body)
    except PatchLimitError as beyond:
        problem = Problem(Code.PATCH_LIMIT, f"is too large to patch: {beyond}", where=str(profile.manifest.origin))
        placed = problem.at(about=str(profile.manifest.ref))
        return PatchedProfile(profile.manifest, tuple(patch for patch, _ in wanted), (), (placed,))
    patcher = _Patcher(profile, overlays)
    for patch, overlay in wanted:
        try:
            patcher.apply(patch, overlay)
        except PatchLimitError as beyond:
            patcher.stop(beyond, patch)
            break
    return patcher.result()


@dataclass(slots=True)
class _Patcher:
    """Applies patches to a profile's manifest; ``owners`` are the overlays by the manifests of their patches."""

    profile: OperatingSystemProfile
    overlays: Sequence[Overlay]
    applied: list[Patch] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    warnings: list[Problem] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    budget: PatchBudget = field(default_factory=PatchBudget)
    body: dict[str, Json] = field(init=False)
    places: Json = field(init=False)
    owners: dict[int, Overlay] = field(init=False)

    def __post_init__(self) -> None:
        manifest = self.profile.manifest
        self.body = copy.deepcopy(dict(manifest.body))
        self.places = places_of(self.body, Spot(manifest, ""))
        self.owners = {id(patch.spot.manifest): overlay for overlay in self.overlays for patch in overlay.patches}

    def apply(self, patch: Patch, overlay: Overlay) -> None:
        self.applied.append(patch)
        if overlay.name not in self.names:
            self.names.append(overlay.name)
        if patch.merge is not None:
            self.budget.write(patch.merge)
            merge = Merge(self._replaced, self.budget)
            merge.mapping(self.body, self.places, patch.merge, places_of(patch.merge, patch.spot), "")
            self.problems += map(self._placed, merge.problems)
            self.warnings += map(self._placed, merge.warnings)
            return
        for index, operation in enumerate(patch.operations):
            spot = replace(patch.spot, field=f"{patch.spot.field}[{index}]")
            try:
                _check_pointers(operation)
                charge(self.body, operation, self.budget)
                old = operate(self.body, self.places, operation, spot)
                if old is not None:
                    self._replaced(_field(operation["path"]), old, spot)
            except WrongOperation as wrong:
                self.problems.append(self._placed(Problem(Code.PATCH_DOES_NOT_APPLY, str(wrong), where=spot.where)))

    def stop(self, beyond: PatchLimitError, patch: Patch) -> None:
        """Add the problem of a patch beyond a limit, after which no other is applied."""
        overlay = self.owners[id(patch.spot.manifest)]
        what = f"a patch of overlay {overlay.display} exceeds a limit: {beyond}"
        self.problems.append(self._placed(Problem(Code.PATCH_LIMIT, what, where=patch.spot.where, fix=_SMALLER)))

    def _placed(self, problem: Problem) -> Problem:
        return problem.at(about=str(self.profile.manifest.ref))

    def _replaced(self, path: str, old: Places, new: Spot) -> None:
        """Warn if another overlay, unrelated to this one, has set the field or something in it."""
        second = self.owners[id(new.manifest)]
        rivals: dict[str, Problem] = {}
        for spot in spots_within(old):
            first = self.owners.get(id(spot.manifest))
            if first is not None and are_rivals(first, second):
                rivals.setdefault(first.key, self._placed(replace(conflict(first, second, spot, new), field=path)))
        self.warnings += rivals.values()

    def result(self) -> PatchedProfile:
        manifest = self.profile.manifest
        self._name_version()
        if not self.problems:
            try:
                check_size(self.body)
            except PatchLimitError as beyond:
                self.stop(beyond, self.applied[-1])
        elsewhere = PlacedFields(self.places)
        changed = replace(manifest, body=self.body, elsewhere=elsewhere, lines={})
        return PatchedProfile(changed, tuple(self.applied), tuple(self.warnings), first_problems(self.problems))

    def _name_version(self) -> None:
        spec, metadata = self.body.get("spec"), self.body.get("metadata")
        if not isinstance(spec, dict) or not isinstance(metadata, dict) or not _holds_maps(metadata):
            what = "spec, metadata, annotations and labels must stay mappings"
            self.problems.append(
                self._placed(Problem(Code.PATCH_DOES_NOT_APPLY, what, where=self.applied[-1].spot.where))
            )
            return
        annotations = metadata.get("annotations") or {}
        spec.pop("version", None)
        digest = _digest({"spec": spec, "language": annotations.get(TEMPLATE_ANNOTATION)})[:_DIGEST]
        spec["version"] = derived_version(self.profile.version, self.names, digest)
        base = _digest(self.profile.manifest.body.get("spec"))
        metadata["annotations"] = {**annotations, OVERLAY_BASE_ANNOTATION: base}


def _holds_maps(metadata: Mapping[str, Json]) -> bool:
    return all(isinstance(metadata.get(key) or {}, dict) for key in ("annotations", "labels"))


def derived_version(version: str, names: Sequence[str], digest: str) -> str:
    """``v1.11.2`` patched by ``prod-eu``: ``v1.11.2+prod-eu.<digest>``."""
    words = [_NOT_IN_VERSIONS.sub("-", name).strip("-") or "overlay" for name in names]
    return f"{version}{'.' if '+' in version else '+'}{'.'.join([*words, digest])}"


def are_rivals(first: Overlay, second: Overlay) -> bool:
    """Whether neither of two overlays is a base of the other."""
    return first.key != second.key and first.key not in second.bases and second.key not in first.bases


def conflict(first: Overlay, second: Overlay, old: Spot, new: Spot) -> Problem:
    """The warning for a field that two overlays set differently."""
    return Problem(
        Code.OVERLAYS_CONFLICT,
        f"overlays {first.display} ({old.where}) and {second.display} set this differently: "
        f"{second.display} is used, because it comes later",
        where=new.where,
        fix=f"Remove one of them, or name {first.display} under overlays of {second.display}",
    )


def _digest(value: Json) -> str:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


_FIXED: Final = ("/apiVersion", "/kind", "/metadata/name", "/metadata/namespace", "/spec/version")


def _field(pointer: str) -> str:
    """A JSON pointer as a field path: ``/spec/files/0`` is ``spec.files[0]``."""
    steps = [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:]]
    return "".join(f"[{step}]" if step.isdecimal() else f".{step}" for step in steps).removeprefix(".")


def _check_pointers(operation: Mapping[str, Json]) -> None:
    """Refuse changes of fields that identify the profile; they can be copied."""
    changed = [operation["path"], *([operation["from"]] if operation["op"] == "move" else [])]
    for pointer in changed if operation["op"] != "test" else ():
        if any(fixed == pointer or fixed.startswith(f"{pointer.rstrip('/')}/") for fixed in _FIXED):
            raise WrongOperation(f"{pointer} cannot be changed by a patch, because it identifies the profile")
