"""The renderers of one validation: for every distinct cluster one, all with the same compiled profiles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from osm_gitops.config.settings import BOUNDS
from osm_gitops.gotemplate.engine import Engine
from osm_gitops.gotemplate.tracing import Tracer
from osm_gitops.model.inputs import Facts
from osm_gitops.model.objects import Json
from osm_gitops.model.settings import Settings
from osm_gitops.pipeline.placeholders import with_stand_ins
from osm_gitops.pipeline.rendering import bounds_of
from osm_gitops.pipeline.synthetic import Combination, settings_of
from osm_gitops.render.data import ROOT_TYPES
from osm_gitops.render.pools import CompiledProfiles, PoolRenderer
from osm_gitops.render.resolve.cluster import ClusterFacts, resolve_cluster

_ROOM_FOR_MARKS: Final = 8  # times the output without them


@dataclass(slots=True)
class Renderers:
    """``values`` are a user's own; ``settings`` the cluster's, from which the bounds are taken."""

    settings: Settings
    values: Mapping[str, Json] = field(default_factory=dict)
    tracer: Tracer = field(default_factory=Tracer)
    _engines: dict[bool, tuple[Engine, CompiledProfiles]] = field(default_factory=dict)
    _clusters: dict[tuple[str, ...], ClusterFacts] = field(default_factory=dict)
    _renderers: dict[tuple[int, bool], tuple[ClusterFacts, PoolRenderer]] = field(default_factory=dict)

    def made_up(self, combination: Combination) -> ClusterFacts:
        """The cluster of a combination; the same object for all that have the same settings."""
        key = tuple(variant.name for variant in combination.variants if variant.settings)
        if key not in self._clusters:
            settings = settings_of(combination, self._defaults())
            facts, _ = with_stand_ins(Facts(), settings)
            self._clusters[key] = resolve_cluster(settings, facts)
        return self._clusters[key]

    @property
    def engine(self) -> Engine:
        """The engine that renders without marks."""
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
        """OSM's defaults within the cluster's bounds: what is judged must not depend on one cluster's settings."""
        bounds = {name: getattr(self.settings, name) for name in ("namespace", *BOUNDS)}
        return Settings(**bounds)
