"""Rendered pools for lint checks: one renderer for each distinct cluster, all with the same compiled profiles, and the
source line of each line of a rendered file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from osm_gitops.config.settings import BOUNDS
from osm_gitops.errors import InputError, Problem
from osm_gitops.gotemplate.engine import Engine
from osm_gitops.gotemplate.tracing import Line, Tracer
from osm_gitops.lint.rules.boot_file import BootDocument, BootFile, BootUnit, Half
from osm_gitops.model.inputs import Facts
from osm_gitops.model.objects import Json
from osm_gitops.model.profile import ConfigHalf, File, OperatingSystemConfig, OperatingSystemProfile, Unit
from osm_gitops.model.settings import Settings
from osm_gitops.pipeline.pool_worker import bounds_of
from osm_gitops.pipeline.synthetic import Combination, settings_of, with_placeholders
from osm_gitops.render.data import ROOT_TYPES
from osm_gitops.render.half_texts import HalfTexts, half_texts
from osm_gitops.render.pools import CompiledProfiles, PoolRenderer
from osm_gitops.render.resolve.cluster_info import ClusterFacts, resolve_cluster
from osm_gitops.render.resolve.pools import ResolvedPool
from osm_gitops.render.user_data import user_data_warnings

_ROOM_FOR_MARKS: Final = 8  # factor of the output without them


@dataclass(slots=True)
class Renderers:
    """``values`` are the user's; ``settings`` are the cluster's, which have the limits."""

    settings: Settings
    values: Mapping[str, Json] = field(default_factory=dict)
    tracer: Tracer = field(default_factory=Tracer)
    _engines: dict[bool, tuple[Engine, CompiledProfiles]] = field(default_factory=dict)
    _clusters: dict[tuple[str, ...], ClusterFacts] = field(default_factory=dict)
    _renderers: dict[tuple[int, bool], tuple[ClusterFacts, PoolRenderer]] = field(default_factory=dict)

    def made_up(self, combination: Combination) -> ClusterFacts:
        """The cluster of a combination; the same object for equal settings."""
        key = tuple(variant.name for variant in combination.variants if variant.settings)
        if key not in self._clusters:
            settings = settings_of(combination, self._defaults())
            facts, _ = with_placeholders(Facts(), settings)
            self._clusters[key] = resolve_cluster(settings, facts)
        return self._clusters[key]

    def again(self) -> Renderers:
        """Renderers with the same settings that have not compiled a profile."""
        return Renderers(self.settings, self.values, self.tracer)

    @property
    def engine(self) -> Engine:
        """The engine without marks."""
        return self._engine(traced=False)[0]

    def renderer(self, cluster: ClusterFacts, *, traced: bool = False) -> PoolRenderer:
        """The renderer of a cluster; a ``traced`` one prints the marks of :attr:`tracer`."""
        key = (id(cluster), traced)
        if key not in self._renderers:
            engine, profiles = self._engine(traced=traced)
            self._renderers[key] = (cluster, PoolRenderer(engine, cluster, profiles))
        return self._renderers[key][1]

    def _engine(self, *, traced: bool) -> tuple[Engine, CompiledProfiles]:
        if traced not in self._engines:
            bounds = bounds_of(self.settings)
            if traced:
                bounds = replace(bounds, output_bytes=bounds.output_bytes * _ROOM_FOR_MARKS)
            tracer = self.tracer if traced else None
            self._engines[traced] = (Engine(ROOT_TYPES, bounds, self.values, tracer=tracer), {})
        return self._engines[traced]

    def _defaults(self) -> Settings:
        """OSM's defaults with the cluster's limits: findings must not depend on other settings of one cluster."""
        bounds = {name: getattr(self.settings, name) for name in ("namespace", *BOUNDS)}
        return Settings(**bounds)


_DATA: Final = ".content.inline.data"


@dataclass(slots=True)
class Places:
    """Places in a profile, as if rendering did not change lines: for the beginning of a file."""

    profile: OperatingSystemProfile

    def of_file(self, half: Half, index: int, line: int) -> str:
        """``file:line`` of a line of the half's file at ``index`` (0: its path); empty if it is not from a profile."""
        files = self._texts(half).files
        return self._of_known(files[index][1], line) if index < len(files) else ""

    def _of_known(self, at: str, line: int) -> str:
        return self.of_text(at, line) if line else self.of_text(f"{at.removesuffix(_DATA)}.path", 0)

    def of_text(self, at: str, line: int) -> str:
        """``file:line`` of a line of the text at the field ``at`` of the profile."""
        return self.profile.manifest.line_in(at, line)

    def _texts(self, half: Half) -> HalfTexts:
        profile = self.profile
        return half_texts(profile.bootstrap if half == "bootstrap" else profile.provisioning, f"spec.{half}Config")


@dataclass(slots=True)
class TracedPlaces(Places):
    """Places in one pool's files. The pool is rendered again with marks on first use."""

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
        """The origin of each line; empty for a file that is a verbatim copy."""
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
        # Marks are text: a template that measures or encodes its output may print something else with them.
        return lines if plain == rendered.content else aligned(rendered.content, texts, index)


def aligned(rendered: str, texts: HalfTexts, index: int) -> Sequence[Line | None]:
    """The probable origin of each line: the next equal line of the file or its templates."""
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


UNITS = "/etc/systemd/system"
"""The displayed folder of units, where systemd reads them."""


def boot_document(pool: ResolvedPool, label: str, renderer: PoolRenderer, places: Places) -> BootDocument:
    """The pool's boot document. Raises InputError if it cannot be rendered."""
    return rendered(pool, label, renderer, places)[0]


def rendered(
    pool: ResolvedPool, label: str, renderer: PoolRenderer, places: Places
) -> tuple[BootDocument, tuple[Problem, ...]]:
    """The pool's boot document with warnings. Raises InputError if it cannot be rendered."""
    config = renderer.config(pool)
    document = _document(pool, label, config, renderer.user_data(pool, config), places)
    return document, user_data_warnings(config, pool.utility)


def _document(
    pool: ResolvedPool, label: str, config: OperatingSystemConfig, user_data: tuple[str, str], places: Places
) -> BootDocument:
    bootstrap, provisioning = user_data
    return BootDocument(
        profile=pool.profile,
        pool=label,
        os=config.os_name,
        utility=pool.utility,
        provider=config.provider,
        kube_version=pool.kube_version,
        files=(*_files(config.bootstrap, "bootstrap", places), *_files(config.provisioning, "provisioning", places)),
        units=tuple(_units(config, places)),
        modules={"bootstrap": config.bootstrap.modules, "provisioning": config.provisioning.modules},
        user_data={"bootstrap": bootstrap.encode(), "provisioning": provisioning.encode()},
    )


def _files(half: ConfigHalf, which: Half, places: Places) -> Iterator[BootFile]:
    for index, file in enumerate(half.files):
        yield _boot_file(file, index, which, places)


def _boot_file(file: File, index: int, half: Half, places: Places) -> BootFile:
    return BootFile(
        path=file.path,
        text=file.content,
        permissions=file.permissions,
        half=half,
        place=lambda line: places.of_file(half, index, line),
    )


def _units(config: OperatingSystemConfig, places: Places) -> Iterator[BootUnit]:
    halves: tuple[tuple[Half, ConfigHalf], ...] = (
        ("bootstrap", config.bootstrap),
        ("provisioning", config.provisioning),
    )
    for half, configured in halves:
        for index, unit in enumerate(configured.units):
            yield _unit(unit, f"spec.{half}Config.units[{index}]", half, places)


def _unit(unit: Unit, field: str, half: Half, places: Places) -> BootUnit:
    def text(path: str, content: str, at: str) -> BootFile:
        return BootFile(path, content, 644, half, lambda line: places.of_text(at if line else f"{field}.name", line))

    return BootUnit(
        name=unit.name,
        enable=unit.enable,
        mask=unit.mask,
        half=half,
        content=text(f"{UNITS}/{unit.name}", unit.content, f"{field}.content") if unit.content else None,
        drop_ins=tuple(
            text(f"{UNITS}/{unit.name}.d/{drop_in.name}", drop_in.content, f"{field}.dropIns[{index}].content")
            for index, drop_in in enumerate(unit.drop_ins)
        ),
    )
