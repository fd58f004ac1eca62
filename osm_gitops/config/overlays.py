"""Read overlays (design.md, "Overlays"): ``overlay.yaml``, the files that it names, its base overlays, and its patches
with their targets and content, inline or in files.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from osm_gitops.config.overlay_files import OverlayFiles, base_ref, opened
from osm_gitops.config.overlay_keys import (
    API_VERSION,
    COPIED_TEXT,
    EDITED_TEXT,
    KIND,
    METADATA,
    MOST_EDITS,
    OPERATION,
    OPERATIONS,
    OVERLAY_FILE,
    PATCH,
    PATCH_TARGET,
    PROFILE_PIECE,
    TEXT_EDIT,
    TOP,
)
from osm_gitops.config.setting_names import SETTINGS_BY_KEY, Kind
from osm_gitops.errors import MOST_PROBLEMS, Code, InputError, Problem, did_you_mean, first_problems, input_error
from osm_gitops.model.objects import OPERATING_SYSTEMS, Json, Manifest, ObjectRef, Origin
from osm_gitops.model.overlay import EDITS, CopiedText, EditedText, Overlay, OverlayRef, Patch, Spot, TextEdit
from osm_gitops.render.resolve.json_fields import type_name
from osm_gitops.sources.manifests import PROFILE
from osm_gitops.sources.schema import Reading
from osm_gitops.sources.trust import TRUSTED, Trust
from osm_gitops.yaml.kubernetes import load_documents

_MOST_PATCHES: Final = 1000
_DIGEST: Final = re.compile(r"[0-9a-f]{12}")


def read_patches(reading: Reading, files: OverlayFiles) -> tuple[Patch, ...]:
    """The patches of an overlay's file; problems are added to ``reading``."""
    entries = reading.entries(reading.manifest.body, "", "patches")
    if len(entries) > _MOST_PATCHES:
        reading.fault(
            Code.OVERLAY_TOO_LARGE,
            "patches",
            f"has more than {_MOST_PATCHES:,} entries",
            "One patch can change many profiles",
        )
        return ()
    found = (_PatchReader(reading, files, place, patch).read() for place, patch in entries)
    return tuple(patch for patch in found if patch is not None)


@dataclass(slots=True)
class _PatchReader:
    reading: Reading
    files: OverlayFiles
    place: str
    body: Mapping[str, Json]
    texts: dict[str, Origin] = field(default_factory=dict)

    def read(self) -> Patch | None:
        reading, place = self.reading, self.place
        before = len(reading.problems)
        self.only(self.body, place, PATCH)
        target = reading.mapping(self.body, place, "target", required=True)
        self.only(target, f"{place}.target", PATCH_TARGET)
        name = os_name = ""
        if isinstance(self.body.get("target"), dict):
            name = reading.string(target, f"{place}.target", "name")
            if target.get("name") == "":
                reading.fault(
                    Code.PATCH_INVALID, f"{place}.target.name", "is empty", "Name a profile, or several by a glob"
                )
            os_name = reading.optional_string(target, f"{place}.target", "osName", among=OPERATING_SYSTEMS) or ""
        kinds = [key for key in ("merge", "json6902") if self.body.get(key) is not None]
        if len(kinds) != 1:
            reading.fault(Code.PATCH_INVALID, place, "must have either merge or json6902")
            return None
        patch = self.merge(name, os_name) if kinds == ["merge"] else self.operations(name, os_name)
        return patch if len(reading.problems) == before else None

    def merge(self, name: str, os_name: str) -> Patch | None:
        piece = self.content("merge")
        if piece is None:
            return None
        at, value = piece
        if not isinstance(value, dict):
            self.fault(Code.WRONG_TYPE, at, f"must be part of a profile, not {type_name(value)}")
            return None
        self.shape(value, at)
        merge = {key: each for key, each in value.items() if key in {"metadata", "spec"}}
        if not merge:
            self.fault(
                Code.PATCH_INVALID,
                at,
                "changes nothing: it has neither spec nor metadata",
                "Write the changes below spec",
            )
        version = merge.get("spec", {}).get("version") if isinstance(merge.get("spec"), dict) else None
        if version is not None:
            self.fault(
                Code.PATCH_INVALID,
                replace(at, field=_join(at.field, "spec.version")),
                "versions of patched profiles are generated",
                "Leave it out",
            )
        merge = self.with_files(merge, at)
        manifest = replace(at.manifest, elsewhere={**at.manifest.elsewhere, **self.texts})
        return Patch(name, os_name, replace(at, manifest=manifest), merge=merge)

    def shape(self, value: Mapping[str, Json], at: Spot) -> None:
        """Check that a piece has the keys of a profile, and mappings where a profile has them."""
        self.only(value, at.field, PROFILE_PIECE, at)
        if value.get("kind", PROFILE) != PROFILE:
            self.fault(Code.INVALID_VALUE, replace(at, field=_join(at.field, "kind")), f"must be {PROFILE}")
        metadata = value.get("metadata")
        if isinstance(metadata, dict):
            self.only(metadata, _join(at.field, "metadata"), METADATA, at)
        inner = metadata if isinstance(metadata, dict) else {}
        for path, holder in (("metadata", value), ("spec", value), *((f"metadata.{key}", inner) for key in METADATA)):
            part = holder.get(path.rpartition(".")[2], {})
            if not isinstance(part, dict):
                self.fault(
                    Code.WRONG_TYPE,
                    replace(at, field=_join(at.field, path)),
                    f"must be a mapping, not {type_name(part)}",
                )

    def operations(self, name: str, os_name: str) -> Patch | None:
        piece = self.content("json6902")
        if piece is None:
            return None
        at, value = piece
        if not isinstance(value, list) or not value:
            self.fault(Code.WRONG_TYPE, at, "must be a list of at least one operation")
            return None
        for index, operation in enumerate(value):
            self.operation(operation, replace(at, field=f"{at.field}[{index}]"))
        return Patch(name, os_name, at, operations=tuple(value))

    def operation(self, value: Json, at: Spot) -> None:
        if not isinstance(value, dict):
            self.fault(Code.WRONG_TYPE, at, f"must be an operation, not {type_name(value)}")
            return
        self.only(value, at.field, OPERATION, at)
        op = value.get("op")
        if op not in OPERATIONS:
            self.fault(Code.PATCH_INVALID, at, "has no known op", f"op is one of: {', '.join(OPERATIONS)}")
            return
        needed = {"move": ("path", "from"), "copy": ("path", "from"), "remove": ("path",)}.get(op, ("path", "value"))
        for key in needed:
            if key not in value:
                self.fault(Code.PATCH_INVALID, at, f"{op} needs {key}")
        for key in ("path", "from"):
            pointer = value.get(key, "/")
            if not isinstance(pointer, str) or not pointer.startswith("/"):
                self.fault(Code.PATCH_INVALID, at, f"{key} must be a path such as /spec/osVersion")

    def content(self, key: str) -> tuple[Spot, Json] | None:
        """The value of a key of the patch, or of the file that it names."""
        value = self.body[key]
        at = Spot(self.reading.manifest, f"{self.place}.{key}")
        if not isinstance(value, str):
            return at, value
        try:
            text = self.files.beside(value)
            shown = self.files.show(value)
            documents = load_documents(text, shown)
            if len(documents) != 1:
                raise input_error(
                    Code.NOT_ONE_DOCUMENT, f"must have one YAML document, and has {len(documents)}", where=shown
                )
        except InputError as failure:
            self.reading.problems += (each.at(where=at.where, about=str(at.manifest.ref)) for each in failure.problems)
            return None
        (document,) = documents
        manifest = replace(at.manifest, body={}, origin=Origin(shown, document.line), lines=document.lines)
        return Spot(manifest, ""), document.value

    def with_files(self, merge: Mapping[str, Json], at: Spot) -> dict[str, Json]:
        """The piece, with the texts of files in place of ``{file: NAME}``, and edits in place of ``{edit: […]}``."""
        spec = merge.get("spec")
        if not isinstance(spec, dict):
            return dict(merge)
        changed = dict(spec)
        for key in ("bootstrapConfig", "provisioningConfig"):
            if isinstance(spec.get(key), dict):
                changed[key] = self.half(spec[key], replace(at, field=_join(at.field, f"spec.{key}")))
        return {**merge, "spec": changed}

    def half(self, half: Mapping[str, Json], at: Spot) -> dict[str, Json]:
        changed = dict(half)
        if isinstance(half.get("files"), list):
            changed["files"] = [
                self.file(file, replace(at, field=f"{at.field}.files[{index}]"))
                for index, file in enumerate(half["files"])
            ]
        if isinstance(half.get("templates"), dict):
            below = f"{at.field}.templates"
            changed["templates"] = {
                name: self.text(text, replace(at, field=f"{below}.{name}"), f"{below}.{name}")
                for name, text in half["templates"].items()
            }
        if isinstance(half.get("units"), list):
            changed["units"] = [
                self.unit(unit, replace(at, field=f"{at.field}.units[{index}]"))
                for index, unit in enumerate(half["units"])
            ]
        if isinstance(half.get("supportedContainerRuntimes"), list):
            changed["supportedContainerRuntimes"] = [
                self.half(runtime, replace(at, field=f"{at.field}.supportedContainerRuntimes[{index}]"))
                if isinstance(runtime, dict)
                else runtime
                for index, runtime in enumerate(half["supportedContainerRuntimes"])
            ]
        return changed

    def file(self, file: Json, at: Spot) -> Json:
        content = file.get("content") if isinstance(file, dict) else None
        if not isinstance(content, dict) or content.keys().isdisjoint({"file", "edit"}):
            return file
        text = self.text(content, replace(at, field=f"{at.field}.content"), f"{at.field}.content.inline.data")
        return {**file, "content": {"inline": {"data": text}}}

    def unit(self, unit: Json, at: Spot) -> Json:
        """A unit or a drop-in."""
        if not isinstance(unit, dict):
            return unit
        changed = dict(unit)
        if "content" in unit:
            below = f"{at.field}.content"
            changed["content"] = self.text(unit["content"], replace(at, field=below), below)
        if isinstance(unit.get("dropIns"), list):
            changed["dropIns"] = [
                self.unit(drop_in, replace(at, field=f"{at.field}.dropIns[{index}]"))
                for index, drop_in in enumerate(unit["dropIns"])
            ]
        return changed

    def text(self, value: Json, at: Spot, becomes: str) -> Json:
        """A text; or the text of the file in ``{file: NAME}``, which gets the field ``becomes``; or edits of a text."""
        if isinstance(value, dict) and "file" in value:
            self.only(value, at.field, COPIED_TEXT, at)
            text = self.file_text(value["file"], at, becomes)
            base, spot = value.get("baseDigest"), replace(at, field=f"{at.field}.baseDigest")
            if base is None:
                return text
            if not isinstance(base, str) or not _DIGEST.fullmatch(base):
                what = "must be 12 hexadecimal digits in quotes"
                fix = 'Write "000000000000": the warning of the next plan has the digest of the text of the profile'
                self.fault(Code.INVALID_VALUE, spot, what, fix)
            return CopiedText(text, str(base), spot)
        if isinstance(value, dict) and "edit" in value:
            self.only(value, at.field, EDITED_TEXT, at)
            return self.edits(value["edit"], replace(at, field=f"{at.field}.edit"))
        return value

    def edits(self, value: Json, at: Spot) -> Json:
        if not isinstance(value, list) or not 0 < len(value) <= MOST_EDITS:
            self.fault(Code.WRONG_TYPE, at, f"must be a list of 1 to {MOST_EDITS} edits")
            return EditedText(())
        found = (self.edit(each, replace(at, field=f"{at.field}[{index}]")) for index, each in enumerate(value))
        return EditedText(tuple(edit for edit in found if edit is not None))

    def edit(self, value: Json, at: Spot) -> TextEdit | None:
        if not isinstance(value, dict):
            self.fault(Code.WRONG_TYPE, at, f"must be an edit, not {type_name(value)}")
            return None
        before = len(self.reading.problems)
        self.only(value, at.field, TEXT_EDIT, at)
        operations = [key for key in EDITS if key in value]
        if len(operations) != 1 or set(value) & {*EDITS.values()} != {EDITS[operations[0]]}:
            forms = ", ".join(f"{operation} and {new}" for operation, new in EDITS.items())
            self.fault(Code.PATCH_INVALID, at, f"must have the keys of one of the edits: {forms}")
            return None
        (operation,) = operations
        found, new = value[operation], value[EDITS[operation]]
        for key, text in ((operation, found), (EDITS[operation], new)):
            if not isinstance(text, str):
                self.fault(
                    Code.WRONG_TYPE, replace(at, field=f"{at.field}.{key}"), f"must be a text, not {type_name(text)}"
                )
        if found == "":
            self.fault(Code.PATCH_INVALID, replace(at, field=f"{at.field}.{operation}"), "is empty", "Write a text")
        return TextEdit(operation, found, new, at) if len(self.reading.problems) == before else None

    def file_text(self, name: Json, at: Spot, becomes: str) -> str:
        try:
            if not isinstance(name, str) or not name:
                raise input_error(Code.WRONG_TYPE, f"must be the name of a file, not {type_name(name)}")
            text = self.files.beside(name).decode()
        except InputError as failure:
            self.reading.problems += (each.at(where=at.where, field=at.field) for each in failure.problems)
            return ""
        except UnicodeDecodeError:
            self.fault(Code.TEXT_ENCODING, at, f"{name} is not UTF-8")
            return ""
        self.texts |= dict.fromkeys((becomes, f"{becomes}|"), Origin(self.files.show(name), 1))
        return text

    def only(self, value: Mapping[str, Json], path: str, known: Mapping[str, Json], at: Spot | None = None) -> None:
        """Add a problem for each unknown key, which would have no effect."""
        manifest = at.manifest if at else self.reading.manifest
        for key in value:
            if key not in known:
                hint = did_you_mean(key, known) if len(self.reading.problems) < MOST_PROBLEMS else ""
                self.fault(Code.UNKNOWN_KEY, Spot(manifest, _join(path, key)), f'"{key}" is not a known key', hint)

    def fault(self, code: Code, at: Spot, what: str, fix: str = "") -> None:
        problem = input_error(code, what, where=at.where, about=str(at.manifest.ref), field=at.field, fix=fix)
        self.reading.problems += problem.problems


def _join(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


_DEEPEST: Final = 20
_LONGEST_PATH: Final = 1000
_MOST_PROFILES: Final = 1000
_INT64: Final = range(-(1 << 63), 1 << 63)


def read_overlays(refs: Iterable[OverlayRef], trust: Trust = TRUSTED) -> tuple[Overlay, ...]:
    """These overlays and their base overlays, each once, in the order in which they are applied.

    Raises InputError with the problems of all of them.
    """
    reader = _OverlayReader(trust)
    for ref in refs:
        reader.read(ref, (), "")
    if reader.problems:
        raise InputError(dict.fromkeys(reader.problems))
    return tuple(reader.found[key] for key in reader.order)


@dataclass(slots=True)
class _OverlayReader:
    """Reads overlays and their bases; ``bases`` has the keys of all base overlays of each overlay."""

    trust: Trust
    found: dict[str, Overlay] = field(default_factory=dict)
    order: list[str] = field(default_factory=list)
    bases: dict[str, frozenset[str]] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def read(self, ref: OverlayRef, chain: tuple[tuple[str, str], ...], where: str) -> str:
        """Read an overlay that the last one of ``chain`` (keys and shown names) names at ``where``; return its key."""
        key = overlay_key(ref)
        if any(key == each for each, _ in chain):
            start = [each for each, _ in chain].index(key)
            cycle = " → ".join([*(shown for _, shown in chain[start:]), ref.display])
            self.problems.append(Problem(Code.OVERLAY_CIRCLE, f"overlays form a cycle: {cycle}", where=where))
        elif len(chain) == _DEEPEST:
            what = f"overlays are nested more than {_DEEPEST} deep"
            self.problems.append(Problem(Code.OVERLAY_CIRCLE, what, where=where))
        elif key not in self.bases:
            self.bases[key] = frozenset()
            self.take(ref, key, (*chain, (key, ref.display)), where)
        return key

    def take(self, ref: OverlayRef, key: str, chain: tuple[tuple[str, str], ...], where: str) -> None:
        try:
            with opened(ref, self.trust) as files:
                overlay, bases = read_overlay(files, key)
        except InputError as failure:
            self.problems += (_placed(problem, ref, where) for problem in failure.problems)
            return
        keys = {self.read(base, chain, place) for base, place in bases}
        self.bases[key] = frozenset(keys).union(*(self.bases.get(each, ()) for each in keys))
        self.found[key] = replace(overlay, bases=self.bases[key])
        self.order.append(key)


def _placed(problem: Problem, ref: OverlayRef, where: str) -> Problem:
    """A problem of an overlay as a whole gets the place where another overlay names it."""
    if not where or problem.where not in {ref.display, f"{ref.display}@{ref.revision}", ""}:
        return problem
    return replace(problem, where=where, what=f"overlay {ref.display}: {problem.what}")


def overlay_key(ref: OverlayRef) -> str:
    """The key of an overlay, by which it is the same however it is named."""
    path = os.path.realpath(ref.path).removesuffix(f"/{OVERLAY_FILE}")
    return f"{path}@{ref.revision}"


def read_overlay(files: OverlayFiles, key: str) -> tuple[Overlay, tuple[tuple[OverlayRef, str], ...]]:
    """One overlay, and its bases, each with the place where it is named. Raises InputError."""
    reading = Reading(_manifest(files))
    body = reading.manifest.body
    for name in body:
        if name not in TOP:
            reading.fault(Code.UNKNOWN_KEY, name, f'"{name}" is not a known key', _hint(reading, name, TOP))
    for name, wanted in (("apiVersion", API_VERSION), ("kind", KIND)):
        if body.get(name) != wanted:
            reading.fault(Code.INVALID_VALUE, name, f"must be {wanted}")
    overlay = Overlay(
        key=key,
        name=files.name,
        display=files.ref.display,
        manifest=reading.manifest,
        settings=_settings(reading, body),
        values=_values(reading, body),
        profiles=_profiles(reading, body),
        patches=read_patches(reading, files),
        folder=str(files.ref.path if files.ref.path.name != files.file.name else files.ref.path.parent),
        texts=_texts(reading, body, files),
        built_in=files.ref.built_in,
        revision=files.ref.revision,
    )
    bases = _bases(reading, body, files.ref)
    if reading.problems or reading.warnings:
        raise InputError(first_problems([*reading.problems, *reading.warnings]))
    return overlay, bases


def _manifest(files: OverlayFiles) -> Manifest:
    """The one document of an overlay's file."""
    documents = load_documents(files.text(), files.shown)
    if len(documents) != 1 or not isinstance(documents[0].value, dict):
        raise input_error(
            Code.NOT_ONE_DOCUMENT, f"an overlay is one YAML document of the kind {KIND}", where=files.shown
        )
    (document,) = documents
    return Manifest(ObjectRef(KIND, "", files.name), document.value, Origin(files.shown, document.line), document.lines)


def _hint(reading: Reading, key: str, known: Iterable[str]) -> str:
    """A suggestion. It takes time, so only problems that are listed get one."""
    return did_you_mean(key, known) if len(reading.problems) < MOST_PROBLEMS else ""


def _bases(reading: Reading, body: Mapping[str, Json], ref: OverlayRef) -> tuple[tuple[OverlayRef, str], ...]:
    found = []
    for place, text in reading.sequence(body, "", "overlays"):
        if isinstance(text, str) and text and "\0" not in text:
            found.append((base_ref(ref, text), reading.manifest.line_of(place)))
        else:
            reading.fault(Code.WRONG_TYPE, place, f"must name an overlay, not {type_name(text)}")
    return tuple(found)


def _settings(reading: Reading, body: Mapping[str, Json]) -> Mapping[str, Json]:
    settings = reading.mapping(body, "", "settings")
    for key in settings:
        if key not in SETTINGS_BY_KEY:
            reading.fault(
                Code.UNKNOWN_KEY, f"settings.{key}", f'"{key}" is not a setting', _hint(reading, key, SETTINGS_BY_KEY)
            )
    return settings


def _profiles(reading: Reading, body: Mapping[str, Json]) -> tuple[str, ...] | None:
    if body.get("profiles") is None:
        return None
    found = reading.strings(body, "", "profiles")
    if len(found) > _MOST_PROFILES:
        reading.fault(
            Code.OVERLAY_TOO_LARGE,
            "profiles",
            f"has more than {_MOST_PROFILES:,} entries",
            "Use globs",
        )
    return found


def _texts(reading: Reading, body: Mapping[str, Json], files: OverlayFiles) -> Mapping[str, str]:
    """The texts of files that settings name, for an overlay of a git revision."""
    if not files.ref.revision:
        return {}
    settings = body.get("settings")
    found = {}
    for key, name in settings.items() if isinstance(settings, dict) else ():
        known = SETTINGS_BY_KEY.get(key)
        if known is None or known.kind is not Kind.FILE or not isinstance(name, str) or name.startswith("/"):
            continue
        try:
            found[name] = files.beside(name).decode("utf-8", "surrogateescape")
        except InputError as failure:
            reading.problems += (
                each.at(where=reading.manifest.line_of(f"settings.{key}")) for each in failure.problems
            )
    return found


def _values(reading: Reading, body: Mapping[str, Json]) -> Mapping[str, Json]:
    values = reading.mapping(body, "", "values")
    _check_value(reading, values, "values")
    return values


def _check_value(reading: Reading, value: Json, at: str) -> None:
    if len(at) > _LONGEST_PATH:
        what = f"has nested keys that together are longer than {_LONGEST_PATH} characters"
        reading.fault(Code.OVERLAY_TOO_LARGE, "values", what, "Shorten them")
    elif isinstance(value, dict):
        for key, each in value.items():
            if not key:
                reading.fault(Code.INVALID_VALUE, at, "has an empty key")
            _check_value(reading, each, f"{at}.{key}")
    elif isinstance(value, list):
        for index, each in enumerate(value):
            _check_value(reading, each, f"{at}[{index}]")
    elif isinstance(value, int) and value not in _INT64:
        reading.fault(Code.INVALID_VALUE, at, "is a number of more than 64 bits", "Put it in quotes")
