"""Compose a built-in profile from its source and parts.

A source is a profile without its version, which is the name of its folder. Its files include and import parts, which
may include other parts. The parts that a half (bootstrap or provisioning) needs become templates of that half, so that
profiles in git and in clusters need no other file.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Final

from osm_gitops.errors import Code, InputError, Problem
from osm_gitops.model.objects import BUILT_IN, Json, Manifest, Origin
from osm_gitops.model.profile import (
    BUILT_IN_ANNOTATION,
    JINJA2_V1,
    TEMPLATE_ANNOTATION,
    OperatingSystemProfile,
    ProfileConfig,
)
from osm_gitops.render.half_texts import half_texts
from osm_gitops.sources.manifests import PROFILE, identify, raw_objects
from osm_gitops.sources.profiles import read_profile
from osm_gitops.yaml.kubernetes import load_documents

PARTS: Final = "parts"
"""The folder of parts in the folder of a version."""


def shown(name: str, version: str) -> str:
    """The place of a profile, or of a part (``parts/NAME``), for messages: ``builtin:NAME@VERSION``."""
    return f"{BUILT_IN}{name}@{version}"


@lru_cache(maxsize=64)
def compose(folder: Path, name: str, version: str) -> OperatingSystemProfile:
    """The profile ``name`` of ``version``, whose folder is below ``folder``. Cached. Raises InputError with all
    problems."""
    source = _source(folder / version / f"{name}.yaml", version)
    checked = read_profile(source)
    if checked.value is None:
        raise InputError(checked.problems)
    profile = checked.value
    parts = _Parts(folder / version / PARTS, version, source)
    bootstrap = parts.complete(profile.bootstrap, "bootstrapConfig")
    provisioning = parts.complete(profile.provisioning, "provisioningConfig")
    if parts.problems:
        raise InputError(dict.fromkeys(parts.problems))
    spec: dict[str, Json] = dict(source.body["spec"])
    for key, half in (("bootstrapConfig", bootstrap), ("provisioningConfig", provisioning)):
        if half.templates:
            spec[key] = {**spec[key], "templates": dict(half.templates)}
    manifest = replace(source, body={**source.body, "spec": spec}, elsewhere=parts.places)
    return replace(profile, bootstrap=bootstrap, provisioning=provisioning, manifest=manifest, built_in=version)


def _source(path: Path, version: str) -> Manifest:
    """The manifest of a source, with version and annotations."""
    place = shown(path.stem, version)
    (document,) = load_documents(path.read_bytes(), place)
    (raw,) = raw_objects(document, place)
    found = identify(raw, "")
    if isinstance(found, Problem):
        raise InputError([found])
    problems = list(_wrong(found, path.stem))
    if problems:
        raise InputError(problem.at(about=str(found.ref)) for problem in problems)
    metadata: dict[str, Json] = dict(found.body["metadata"])
    metadata["annotations"] = {**metadata["annotations"], BUILT_IN_ANNOTATION: version}
    spec = {**found.body["spec"], "version": version}
    return replace(found, body={**found.body, "metadata": metadata, "spec": spec})


def _wrong(source: Manifest, name: str) -> Iterator[Problem]:
    """Why a file is not a source of a built-in profile."""
    annotations = source.body["metadata"].get("annotations")
    if (source.ref.kind, source.ref.name) != (PROFILE, name):
        yield Problem(
            Code.BUILT_IN_PROFILE_INVALID,
            f"must contain {PROFILE} {name}, like the name of the file",
            where=source.line_of("metadata.name"),
        )
    if not isinstance(annotations, dict) or annotations.get(TEMPLATE_ANNOTATION) != JINJA2_V1:
        where = source.line_of("metadata.annotations")
        yield Problem(
            Code.BUILT_IN_PROFILE_INVALID,
            "is not written in Jinja2",
            where=where,
            fix=f"Annotate it with {TEMPLATE_ANNOTATION}: {JINJA2_V1}",
        )
    spec = source.body.get("spec")
    if not isinstance(spec, dict):
        yield Problem(Code.BUILT_IN_PROFILE_INVALID, "has no spec", where=str(source.origin))
    elif "version" in spec:
        yield Problem(
            Code.BUILT_IN_PROFILE_INVALID,
            "must not name its version: the folder does",
            where=source.line_of("spec.version"),
        )


_COMMENT: Final = re.compile(r"{#.*?#}", re.DOTALL)
_REFERENCE: Final = re.compile(r"""{%[-+]?\s*(?:include|import|from|extends)\b\s*(?:"([^"]*)"|'([^']*)')?""")


# Parts are shared by halves and profiles.
@lru_cache(maxsize=512)
def references(text: str) -> tuple[tuple[str, int], ...]:
    """The parts that a text of Jinja2 names, with their lines; the name is empty if it is computed.

    The text is not parsed, which takes longer than anything else here: what is wrong with it is found when it is
    compiled.
    """
    plain = _COMMENT.sub(lambda comment: "\n" * comment[0].count("\n"), text)
    return tuple(
        (found[1] or found[2] or "", plain.count("\n", 0, found.start()) + 1) for found in _REFERENCE.finditer(plain)
    )


@dataclass(frozen=True, slots=True)
class _Text:
    """A text that may name parts; ``place`` gives the place of a line."""

    name: str
    text: str
    place: Callable[[int], str]


@dataclass(slots=True)
class _Parts:
    """The parts in ``folder`` for one profile of ``version``."""

    folder: Path
    version: str
    source: Manifest
    places: dict[str, Origin] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def complete(self, config: ProfileConfig, key: str) -> ProfileConfig:
        """The half at ``spec.KEY`` with the parts that it needs as templates."""
        texts = half_texts(config, f"spec.{key}")
        files = ((file.path, file.content, place) for file, place in texts.files)
        templates = ((name, text, place) for name, (text, place) in texts.templates.items())
        own = [_Text(name, text, partial(self.source.line_in, place)) for name, text, place in (*files, *templates)]
        needed = self._needed(own, texts.templates)
        for name in needed:
            place = f"spec.{key}.templates.{name}"
            self.places |= dict.fromkeys((place, f"{place}|"), Origin(self._shown(name), 1))
        return replace(config, templates=dict(sorted({**needed, **config.templates}.items())))

    def _needed(self, texts: Iterable[_Text], own: Collection[str]) -> dict[str, str]:
        """Parts that ``texts`` use directly or indirectly, without the profile's ``own`` templates."""
        found: dict[str, str] = {}
        waiting = deque(texts)
        while waiting:
            user = waiting.popleft()
            for name, line in references(user.text):
                if name in found or name in own:
                    continue
                part = self._part(name, line, user)
                if part is not None:
                    found[part.name] = part.text
                    waiting.append(part)
        return found

    def _part(self, name: str, line: int, user: _Text) -> _Text | None:
        if not name:
            self._fault("computes the name of a part, so its parts are unknown", user, line)
            return None
        try:
            text = (self.folder / name).read_text("utf-8")
        except OSError:
            self._fault(f'needs the part "{name}", which version {self.version} lacks', user, line)
            return None
        place = self._shown(name)
        return _Text(name, text, lambda line: f"{place}:{line}")

    def _shown(self, part: str) -> str:
        return shown(f"{PARTS}/{part}", self.version)

    def _fault(self, what: str, user: _Text, line: int) -> None:
        self.problems.append(
            Problem(
                Code.BUILT_IN_PROFILE_INVALID, what, where=user.place(line), about=f"{PROFILE} {self.source.ref.name}"
            )
        )
