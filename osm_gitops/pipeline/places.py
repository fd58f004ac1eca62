"""From a line of a rendered file to the line of the source that it came from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from osm_gitops.errors import InputError
from osm_gitops.gotemplate.tracing import Line
from osm_gitops.lint.rules.boot_file import Half
from osm_gitops.model.profile import File, OperatingSystemConfig, OperatingSystemProfile
from osm_gitops.pipeline.renderers import Renderers
from osm_gitops.render.config import HalfTexts, half_texts
from osm_gitops.render.resolve.cluster import ClusterFacts
from osm_gitops.render.resolve.pools import ResolvedPool

_DATA: Final = ".content.inline.data"


@dataclass(slots=True)
class Places:
    """Places in a profile, as if rendering changed no line: for those who ask for the beginning of a file alone."""

    profile: OperatingSystemProfile

    def of_file(self, half: Half, index: int, line: int) -> str:
        """``file:line`` of a line of the half's file at ``index``, for 0 of its path; empty where no profile has it."""
        files = self._texts(half).files
        return self._of_known(files[index][1], line) if index < len(files) else ""

    def _of_known(self, at: str, line: int) -> str:
        return self.of_text(at, line) if line else self.of_text(f"{at.removesuffix(_DATA)}.path", 0)

    def of_text(self, at: str, line: int) -> str:
        """``file:line`` of a line of the text that stands at the field ``at`` of the profile."""
        return self.profile.manifest.line_in(at, line)

    def _texts(self, half: Half) -> HalfTexts:
        profile = self.profile
        return half_texts(profile.bootstrap if half == "bootstrap" else profile.provisioning, f"spec.{half}Config")


@dataclass(slots=True)
class TracedPlaces(Places):
    """Places of one pool's files. The pool is rendered once more, with marks, when one is asked for."""

    pool: ResolvedPool
    cluster: ClusterFacts
    renderers: Renderers
    _lines: dict[tuple[Half, int], Sequence[Line | None]] = field(default_factory=dict)

    def of_file(self, half: Half, index: int, line: int) -> str:
        """As :meth:`Places.of_file`, for what was rendered."""
        texts = self._texts(half)
        if index >= len(texts.files):
            return ""
        file, at = texts.files[index]
        lines = self._lines_of(half, index) if line else ()
        if not lines:
            return self._of_known(at, line)
        name, found = lines[min(line, len(lines)) - 1] or (file.path, 1)
        return self.of_text(at if name == file.path else texts.places.get(name, at), found)

    def _lines_of(self, half: Half, index: int) -> Sequence[Line | None]:
        """Where each line came from; nothing for a file that is as it stands in the profile."""
        if (half, index) not in self._lines:
            self._lines[half, index] = self._found(half, index)
        return self._lines[half, index]

    def _found(self, half: Half, index: int) -> Sequence[Line | None]:
        texts = self._texts(half)
        rendered = _file(self.renderers.renderer(self.cluster).config(self.pool), half, index)
        if rendered.content == texts.files[index][0].content:
            return ()
        try:
            traced = self.renderers.renderer(self.cluster, traced=True).config(self.pool)
        except InputError:
            return aligned(rendered.content, texts, index)
        plain, lines = self.renderers.tracer.read(_file(traced, half, index).content)
        # Marks are text: a template that measures or encodes what it prints may print something else with them.
        return lines if plain == rendered.content else aligned(rendered.content, texts, index)


def aligned(rendered: str, texts: HalfTexts, index: int) -> Sequence[Line | None]:
    """Where each line probably came from: the next line of the file or its templates that reads the same."""
    file = texts.files[index][0]
    sources = [(file.path, file.content), *((name, text) for name, (text, _) in texts.templates.items())]
    known: dict[str, list[Line]] = {}
    for name, text in sources:
        for number, line in enumerate(text.split("\n"), start=1):
            known.setdefault(line.strip(), []).append((name, number))
    found: list[Line | None] = []
    last: Line | None = None
    for line in rendered.split("\n"):
        last = _next(known.get(line.strip(), ()), last) if line.strip() else last
        found.append(last)
    return found


def _next(candidates: Sequence[Line], last: Line | None) -> Line | None:
    behind = [each for each in candidates if last is not None and each[0] == last[0] and each[1] > last[1]]
    return behind[0] if behind else candidates[0] if candidates else last


def _file(config: OperatingSystemConfig, half: Half, index: int) -> File:
    return (config.bootstrap if half == "bootstrap" else config.provisioning).files[index]
