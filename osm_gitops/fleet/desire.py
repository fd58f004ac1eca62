"""Desired state of one cluster: every pool resolved and rendered; one that fails stops no other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from osm_gitops.errors import InputError, Problem
from osm_gitops.model.desired import Desired, DesiredObject
from osm_gitops.model.inputs import Inputs
from osm_gitops.model.machine import MachineDeployment
from osm_gitops.model.objects import CLOUD_INIT_NAMESPACE, ObjectRef
from osm_gitops.model.progress import Advance, unwatched
from osm_gitops.model.settings import Settings
from osm_gitops.plan.sensitive import collect_sensitive
from osm_gitops.render.data import ROOT_TYPES
from osm_gitops.render.pools import PoolRenderer, used_profiles
from osm_gitops.resolve.cluster import ClusterFacts, resolve_cluster
from osm_gitops.resolve.pools import ResolvedPool, resolve_pool
from osm_gitops.templates.bounds import Bounds
from osm_gitops.templates.engine import Engine

_NARROWED = Problem("--only was given, so this run deletes nothing")


def desire(cluster: str, inputs: Inputs, settings: Settings, only: str = "", advance: Advance = unwatched) -> Desired:
    """Render all pools of a cluster, or those whose name matches the glob ``only``."""
    machines = [machine for machine in inputs.machines if not machine.deleting]
    chosen = [machine for machine in machines if is_chosen(machine.name, only)]
    work = _Work(inputs)
    shared = work.shared(settings, chosen)
    if shared is not None:
        renderer = PoolRenderer(Engine(ROOT_TYPES, bounds_of(settings), inputs.values), shared)
        for done, machine in enumerate(chosen, start=1):
            work.pool(machine, shared, renderer)
            advance(done, len(chosen))
    for ref, problems in inputs.broken.items():
        if ref.kind == "MachineDeployment" and is_chosen(ref.name, only):
            work.failed[ref] = problems
    left_out = [machine for machine in machines if not is_chosen(machine.name, only)]
    failed = [machine for machine in chosen if machine.ref in work.failed]
    return Desired(
        cluster=cluster,
        objects=(*used_profiles(iter(work.pools)), *work.objects),
        pools=tuple(pool.machine.ref for pool in work.pools),
        failed=work.failed,
        keep=frozenset(ref for machine in (*left_out, *failed) for ref in _objects_of(machine, settings.namespace))
        | frozenset(ref for ref in inputs.broken if ref.kind == "OperatingSystemProfile"),
        no_deletion=(*inputs.unreadable, *([_NARROWED] if only else [])),
        warnings=tuple(dict.fromkeys((*inputs.warnings, *work.warnings))),
        sensitive=collect_sensitive(inputs.facts, inputs.machines, settings, inputs.sensitive),
        sources=inputs.sources,
        hosts=inputs.hosts,
        narrowed=bool(left_out),
    )


@dataclass(slots=True)
class _Work:
    """What rendering has given so far."""

    inputs: Inputs
    pools: list[ResolvedPool] = field(default_factory=list)
    objects: list[DesiredObject] = field(default_factory=list)
    failed: dict[ObjectRef, tuple[Problem, ...]] = field(default_factory=dict)
    warnings: list[Problem] = field(default_factory=list)

    def shared(self, settings: Settings, machines: list[MachineDeployment]) -> ClusterFacts | None:
        """What all pools need; where it is missing every pool fails with it, and no pool needs none of it."""
        if not machines:
            return None
        try:
            shared = resolve_cluster(settings, self.inputs.facts)
        except InputError as failure:
            self.failed |= {machine.ref: failure.problems for machine in machines}
            return None
        self.warnings += shared.warnings
        return shared

    def pool(self, machine: MachineDeployment, shared: ClusterFacts, renderer: PoolRenderer) -> None:
        try:
            pool = resolve_pool(machine, self.inputs, shared)
            objects, warnings = renderer.render(pool)
        except InputError as failure:
            self.failed[machine.ref] = failure.problems
            return
        self.pools.append(pool)
        self.objects += objects
        self.warnings += (*pool.warnings, *warnings)


def is_chosen(name: str, only: str) -> bool:
    """Whether a run that ``only`` narrows, if it is not empty, works on a pool of this name."""
    return not only or fnmatchcase(name, only)


def bounds_of(settings: Settings) -> Bounds:
    """How much a template may use, as the settings say."""
    return Bounds(settings.max_output_bytes, settings.max_loop_steps, settings.max_template_depth)


def _objects_of(machine: MachineDeployment, namespace: str) -> Iterator[ObjectRef]:
    """Everything that may exist for a pool: it stays as it is when the pool is not rendered."""
    yield ObjectRef("OperatingSystemConfig", namespace, machine.config_name)
    for name in (machine.bootstrap_secret_name, machine.provisioning_secret_name, machine.edge_script_name):
        yield ObjectRef("Secret", CLOUD_INIT_NAMESPACE, name)
