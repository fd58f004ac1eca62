"""The patches of an overlay: which profiles they change, and what they say, inline or in files beside it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from osm_gitops.config.overlay_files import OverlayFiles
from osm_gitops.config.overlay_keys import METADATA, OPERATION, OPERATIONS, PATCH, PATCH_TARGET, PROFILE_PIECE
from osm_gitops.errors import MOST_PROBLEMS, Code, InputError, input_error
from osm_gitops.model.objects import Json, Origin
from osm_gitops.model.overlay import Patch, Spot
from osm_gitops.render.resolve.json_fields import did_you_mean, type_name
from osm_gitops.sources.manifests import PROFILE
from osm_gitops.sources.profiles import OPERATING_SYSTEMS
from osm_gitops.sources.schema import Reading
from osm_gitops.yaml.kubernetes import load_documents

_MOST_PATCHES: Final = 1000


def read_patches(reading: Reading, files: OverlayFiles) -> tuple[Patch, ...]:
    """The patches of an overlay's file; what is wrong is added to ``reading``."""
    entries = reading.entries(reading.manifest.body, "", "patches")
    if len(entries) > _MOST_PATCHES:
        reading.fault(
            Code.OVERLAY_TOO_LARGE,
            "patches",
            f"has more than {_MOST_PATCHES:,} entries",
            "A patch can change many profiles",
        )
        return ()
    found = (_Patch(reading, files, place, patch).read() for place, patch in entries)
    return tuple(patch for patch in found if patch is not None)


@dataclass(slots=True)
class _Patch:
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
            reading.fault(Code.PATCH_INVALID, place, "must say either merge or json6902")
            return None
        patch = self.merge(name, os_name) if kinds == ["merge"] else self.operations(name, os_name)
        return patch if len(reading.problems) == before else None

    def merge(self, name: str, os_name: str) -> Patch | None:
        piece = self.content("merge")
        if piece is None:
            return None
        at, value = piece
        if not isinstance(value, dict):
            self.fault(Code.WRONG_TYPE, at, f"must be a piece of a profile, not {type_name(value)}")
            return None
        self.shape(value, at)
        merge = {key: each for key, each in value.items() if key in {"metadata", "spec"}}
        if not merge:
            self.fault(
                Code.PATCH_INVALID,
                at,
                "changes nothing: it has neither spec nor metadata",
                "Put what to change below spec",
            )
        version = merge.get("spec", {}).get("version") if isinstance(merge.get("spec"), dict) else None
        if version is not None:
            self.fault(
                Code.PATCH_INVALID,
                replace(at, field=_join(at.field, "spec.version")),
                "versions of patched profiles are made",
                "Leave it out",
            )
        merge = self.with_files(merge, at)
        manifest = replace(at.manifest, elsewhere={**at.manifest.elsewhere, **self.texts})
        return Patch(name, os_name, replace(at, manifest=manifest), merge=merge)

    def shape(self, value: Mapping[str, Json], at: Spot) -> None:
        """A piece has what a profile has, and maps where that has maps."""
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
            self.fault(Code.PATCH_INVALID, at, "has no op that is known", f"op is one of: {', '.join(OPERATIONS)}")
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
        """What stands at a key of the patch, or in the file that it names."""
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
                    Code.NOT_ONE_DOCUMENT, f"must hold one YAML document, and holds {len(documents)}", where=shown
                )
        except InputError as failure:
            self.reading.problems += (each.at(where=at.where, about=str(at.manifest.ref)) for each in failure.problems)
            return None
        (document,) = documents
        manifest = replace(at.manifest, body={}, origin=Origin(shown, document.line), lines=document.lines)
        return Spot(manifest, ""), document.value

    def with_files(self, merge: Mapping[str, Json], at: Spot) -> dict[str, Json]:
        """The piece with the texts of files in place of ``{file: NAME}``."""
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
        if not isinstance(content, dict) or set(content) != {"file"}:
            return file
        text = self.text(content, replace(at, field=f"{at.field}.content"), f"{at.field}.content.inline.data")
        return {**file, "content": {"inline": {"data": text}}}

    def text(self, value: Json, at: Spot, becomes: str) -> Json:
        """A text, or that of the file that ``{file: NAME}`` names, which then stands at the field ``becomes``."""
        if not isinstance(value, dict) or set(value) != {"file"}:
            return value
        name = value["file"]
        try:
            if not isinstance(name, str) or not name:
                raise input_error(Code.WRONG_TYPE, f"must be the name of a file, not {type_name(name)}")
            text = self.files.beside(name).decode()
        except InputError as failure:
            self.reading.problems += (each.at(where=at.where, field=at.field) for each in failure.problems)
            return ""
        except UnicodeDecodeError:
            self.fault(Code.TEXT_ENCODING, at, f"{name} is no UTF-8")
            return ""
        self.texts |= dict.fromkeys((becomes, f"{becomes}|"), Origin(self.files.show(name), 1))
        return text

    def only(self, value: Mapping[str, Json], path: str, known: Mapping[str, Json], at: Spot | None = None) -> None:
        """Keys that are not known are problems: what nobody reads does not do what was meant."""
        manifest = at.manifest if at else self.reading.manifest
        for key in value:
            if key not in known:
                hint = did_you_mean(key, known) if len(self.reading.problems) < MOST_PROBLEMS else ""
                self.fault(Code.UNKNOWN_KEY, Spot(manifest, _join(path, key)), f'"{key}" is not known here', hint)

    def fault(self, code: Code, at: Spot, what: str, fix: str = "") -> None:
        problem = input_error(code, what, where=at.where, about=str(at.manifest.ref), field=at.field, fix=fix)
        self.reading.problems += problem.problems


def _join(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key
