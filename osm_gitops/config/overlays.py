"""Reading overlays (design.md, "Overlays"): ``overlay.yaml``, the files that it names, and the overlays that it is
built on."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from osm_gitops.config.overlay_files import OverlayFiles, base_ref, opened
from osm_gitops.config.overlay_keys import API_VERSION, KIND, OVERLAY_FILE, TOP
from osm_gitops.config.overlay_patches import read_patches
from osm_gitops.config.setting_names import SETTINGS_BY_KEY, Kind
from osm_gitops.errors import MOST_PROBLEMS, Code, InputError, Problem, first_problems, input_error
from osm_gitops.model.objects import Json, Manifest, ObjectRef, Origin
from osm_gitops.model.overlay import Overlay, OverlayRef
from osm_gitops.render.resolve.json_fields import did_you_mean, type_name
from osm_gitops.sources.schema import Reading
from osm_gitops.sources.trust import TRUSTED, Trust
from osm_gitops.yaml.kubernetes import load_documents

_DEEPEST: Final = 20
_LONGEST_PATH: Final = 1000
_MOST_PROFILES: Final = 1000
_INT64: Final = range(-(1 << 63), 1 << 63)


def read_overlays(refs: Iterable[OverlayRef], trust: Trust = TRUSTED) -> tuple[Overlay, ...]:
    """These overlays and those that they are built on, each once, in the order in which they are applied.

    Raises InputError with the problems of all of them.
    """
    reader = _Reader(trust)
    for ref in refs:
        reader.read(ref, (), "")
    if reader.problems:
        raise InputError(dict.fromkeys(reader.problems))
    return tuple(reader.found[key] for key in reader.order)


@dataclass(slots=True)
class _Reader:
    """``bases`` has for every overlay that was reached the keys of those that it is built on."""

    trust: Trust
    found: dict[str, Overlay] = field(default_factory=dict)
    order: list[str] = field(default_factory=list)
    bases: dict[str, frozenset[str]] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def read(self, ref: OverlayRef, chain: tuple[tuple[str, str], ...], where: str) -> str:
        """Read an overlay that the last one of ``chain`` (keys, names to show) names at ``where``; its key."""
        key = _key(ref)
        if any(key == each for each, _ in chain):
            circle = " → ".join([*(shown for _, shown in chain[_index(chain, key) :]), ref.display])
            self.problems.append(
                Problem(Code.OVERLAY_CIRCLE, f"overlays are built on each other in a circle: {circle}", where=where)
            )
        elif len(chain) == _DEEPEST:
            self.problems.append(
                Problem(Code.OVERLAY_CIRCLE, f"overlays are built on each other more than {_DEEPEST} deep", where=where)
            )
        elif key not in self.bases:
            self.bases[key] = frozenset()
            self.take(ref, key, (*chain, (key, ref.display)), where)
        return key

    def take(self, ref: OverlayRef, key: str, chain: tuple[tuple[str, str], ...], where: str) -> None:
        try:
            with opened(ref, self.trust) as files:
                overlay, bases = read_overlay(files, key)
        except InputError as failure:
            self.problems += (_named(problem, ref, where) for problem in failure.problems)
            return
        keys = {self.read(base, chain, place) for base, place in bases}
        self.bases[key] = frozenset(keys).union(*(self.bases.get(each, ()) for each in keys))
        self.found[key] = replace(overlay, bases=self.bases[key])
        self.order.append(key)


def _named(problem: Problem, ref: OverlayRef, where: str) -> Problem:
    """What is wrong with an overlay as a whole is told where another one names it."""
    if not where or problem.where not in {ref.display, f"{ref.display}@{ref.revision}", ""}:
        return problem
    return replace(problem, where=where, what=f"overlay {ref.display}: {problem.what}")


def _index(chain: Sequence[tuple[str, str]], key: str) -> int:
    return [each for each, _ in chain].index(key)


def _key(ref: OverlayRef) -> str:
    path = os.path.realpath(ref.path).removesuffix(f"/{OVERLAY_FILE}")
    return f"{path}@{ref.revision}"


def read_overlay(files: OverlayFiles, key: str) -> tuple[Overlay, tuple[tuple[OverlayRef, str], ...]]:
    """One overlay, and those that it names as its bases, each with the place where. Raises InputError."""
    reading = Reading(_manifest(files))
    body = reading.manifest.body
    refuse_others(reading, body, "", TOP)
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


def refuse_others(reading: Reading, value: Mapping[str, Json], path: str, known: Iterable[str]) -> None:
    """Keys that are not ``known`` are problems: what nobody reads does not do what was meant."""
    names = list(known)
    for key in value:
        if key not in names:
            at = f"{path}.{key}" if path else key
            reading.fault(Code.UNKNOWN_KEY, at, f'"{key}" is not known here', _hint(reading, key, names))


def _hint(reading: Reading, key: str, known: Iterable[str]) -> str:
    """What may be meant, which takes time to look for, as long as problems are listed."""
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
                Code.UNKNOWN_KEY, f"settings.{key}", f'"{key}" is no setting', _hint(reading, key, SETTINGS_BY_KEY)
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
            "A glob stands for many profiles",
        )
    return found


def _texts(reading: Reading, body: Mapping[str, Json], files: OverlayFiles) -> Mapping[str, str]:
    """The files that settings name, where only the revision has them."""
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
        what = f"has keys in it that together are longer than {_LONGEST_PATH} characters"
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
