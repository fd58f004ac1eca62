"""Desired state of one cluster: each pool is resolved and rendered in a worker process. A failed pool stops no
other."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from osm_gitops.errors import Code, InputError, Problem
from osm_gitops.model.desired import ALL_SECRET, NO_SECRETS, Desired, DesiredObject, SecretTexts, together
from osm_gitops.model.inputs import Inputs
from osm_gitops.model.machine import MachineDeployment, is_chosen
from osm_gitops.model.objects import CLOUD_INIT_NAMESPACE, ObjectRef
from osm_gitops.model.packed import Packer
from osm_gitops.model.plan import Advance, unwatched
from osm_gitops.model.pool_facts import HalfSize, PoolFacts
from osm_gitops.model.settings import Settings
from osm_gitops.pipeline.options import limits_of
from osm_gitops.pipeline.rendered import DEFAULTS, WORKER, RenderedPool, RenderOptions
from osm_gitops.plan.machines import MachineSide
from osm_gitops.plan.sensitive import collect_sensitive
from osm_gitops.render.manifests import used_profiles
from osm_gitops.render.resolve.cluster_info import resolve_cluster
from osm_gitops.render.resolve.machine_spec import readable_provider_config
from osm_gitops.render.resolve.pools import wanted_profile
from osm_gitops.workers.calls import Series
from osm_gitops.workers.messages import Named
from osm_gitops.workers.process import LimitReached

if TYPE_CHECKING:
    from osm_gitops.pipeline.pool_worker import ClusterRenderer

_MOST_REACHED: Final = 3
"""Pools of one profile that may reach a limit: the others would probably too, which takes time."""
RENDERINGS: Final = 4
"""Renderings of a pool to find lines made from secrets."""
_CLUSTER_RENDERER: Final = Named(WORKER, "ClusterRenderer")
_RENDER_POOL: Final = Named(WORKER, "render_pool")
_SECRET_TEXTS_OF: Final = Named(WORKER, "secret_texts_of")
Taken = Callable[[Sequence[DesiredObject]], None]
"""Called with the objects of a pool once it is rendered, while the worker renders others."""
_NARROWED = Problem(Code.NARROWED_RUN, "--only was given, so this run deletes nothing")


def kept(_objects: Sequence[DesiredObject]) -> None:
    """For what looks at a pool when all are rendered."""


def render_cluster(
    cluster: str,
    inputs: Inputs,
    settings: Settings,
    advance: Advance = unwatched,
    options: RenderOptions = DEFAULTS,
    taken: Taken = kept,
) -> Rendered:
    """Render all pools of a cluster, or those that the options select. The objects of each are given to ``taken``."""
    only = options.only
    machines = [machine for machine in inputs.machines if not machine.deleting]
    chosen = [machine for machine in machines if is_chosen(machine.name, only)]
    work = _ClusterRun(inputs, settings, options, taken)
    work.render(chosen, advance)
    for ref, problems in inputs.broken.items():
        if ref.kind == "MachineDeployment" and is_chosen(ref.name, only):
            work.failed[ref] = problems
    left_out = [machine for machine in machines if not is_chosen(machine.name, only)]
    failed = [machine for machine in chosen if machine.ref in work.failed]
    desired = Desired(
        cluster=cluster,
        objects=(
            *used_profiles((inputs.profiles[key] for key in work.profiles), for_git=options.for_git),
            *work.objects,
        ),
        pools=tuple(work.pools),
        failed=work.failed,
        keep=frozenset(ref for machine in (*left_out, *failed) for ref in _objects_of(machine, settings.namespace))
        | frozenset(ref for ref in inputs.broken if ref.kind == "OperatingSystemProfile"),
        no_deletion=(*inputs.unreadable, *([_NARROWED] if only else [])),
        warnings=tuple(dict.fromkeys((*inputs.warnings, *work.warnings))),
        sensitive=collect_sensitive(inputs.facts, inputs.machines, settings, inputs.sensitive),
        rendered=True,
        sources=inputs.sources,
        uncommitted=inputs.uncommitted,
        hosts=inputs.hosts,
        narrowed=bool(left_out),
        facts={machine.ref: work.facts(machine) for machine in chosen} if options.measured else {},
    )
    return Rendered(desired, PoolSecrets(work.series, {machine.ref: machine for machine in chosen}))


@dataclass(slots=True)
class _ClusterRun:
    """The results of rendering so far."""

    inputs: Inputs
    settings: Settings
    options: RenderOptions
    taken: Taken
    pools: list[ObjectRef] = field(default_factory=list)
    profiles: set[tuple[str, str]] = field(default_factory=set)
    objects: list[DesiredObject] = field(default_factory=list)
    failed: dict[ObjectRef, tuple[Problem, ...]] = field(default_factory=dict)
    warnings: list[Problem] = field(default_factory=list)
    series: Series[ClusterRenderer] = field(init=False)
    packer: Packer = field(default_factory=Packer)
    reached: Counter[tuple[str, str] | None] = field(default_factory=Counter)
    sizes: dict[ObjectRef, tuple[HalfSize, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        # The state is what all pools share; each call has its machine.
        shared = replace(self.inputs, machines=())
        self.series = Series(_CLUSTER_RENDERER, shared, self.settings, self.options, limits=limits_of(self.settings))

    def render(self, machines: list[MachineDeployment], advance: Advance) -> None:
        """Render pools. If shared inputs are missing, all pools fail with this problem."""
        if not machines:
            return
        try:
            self.warnings += resolve_cluster(self.settings, self.inputs.facts).warnings
        except InputError as failure:
            self.failed |= {machine.ref: failure.problems for machine in machines}
            return
        under_way: deque[MachineDeployment] = deque()
        try:
            for outcome in self.series.map(_RENDER_POOL, self._calls(machines, under_way)):
                machine = under_way.popleft()
                if isinstance(outcome, InputError):
                    self._fail(machine, outcome)
                else:
                    self._take(machine, outcome)
                advance(len(self.pools) + len(self.failed), len(machines))
        except InputError as failure:  # the shared state exceeds the limits of a worker
            rendered = set(self.pools)
            self.failed |= {each.ref: failure.problems for each in machines if each.ref not in rendered}

    def _calls(
        self, machines: Iterable[MachineDeployment], under_way: deque[MachineDeployment]
    ) -> Iterator[tuple[MachineDeployment]]:
        """The calls for the worker, created on demand."""
        for machine in machines:
            profile = wanted_profile(machine, self.settings.namespace)
            if self.reached[profile] >= _MOST_REACHED:
                problem = Problem(
                    Code.POOL_NOT_TRIED,
                    f"not rendered: {_MOST_REACHED} pools with the same profile reached a limit before",
                    where=str(machine.manifest.origin),
                    about=str(machine.ref),
                    fix="Correct that profile, or raise the limit that the other pools name",
                )
                self.failed[machine.ref] = (problem,)
                continue
            under_way.append(machine)
            yield (machine,)

    def _fail(self, machine: MachineDeployment, failure: InputError) -> None:
        if not isinstance(failure, LimitReached):
            self.failed[machine.ref] = failure.problems
            return
        profile = wanted_profile(machine, self.settings.namespace)
        self.reached[profile] += 1
        named = f" with OperatingSystemProfile {'/'.join(profile)}" if profile else ""
        where, about = str(machine.manifest.origin), str(machine.ref)
        self.failed[machine.ref] = failure.named(f"rendering{named}", where=where, about=about)

    def _take(self, machine: MachineDeployment, rendered: RenderedPool) -> None:
        pool = machine.ref
        self.pools.append(pool)
        self.profiles.add(rendered.profile)
        objects = []
        for number, each in enumerate(rendered.objects):
            body = self.packer.pack(each.text, (rendered.profile, number))
            objects.append(DesiredObject(each.ref, each.side, body, pool, each.digest))
        self.objects += objects
        self.taken(objects)
        self.warnings += rendered.warnings
        self.sizes[pool] = rendered.sizes

    def facts(self, machine: MachineDeployment) -> PoolFacts:
        """The facts of a pool, as far as it can be read."""
        config = readable_provider_config(machine.provider_spec)
        key = wanted_profile(machine, self.settings.namespace)
        profile = self.inputs.profiles.get(key) if key else None
        return PoolFacts(
            os=config.os,
            provider=config.provider,
            kubelet=machine.kubelet,
            profile="/".join(key) if key else "",
            profile_version=profile.version if profile else "",
            sizes=self.sizes.get(machine.ref, ()),
        )


@dataclass(frozen=True, slots=True)
class PoolSecrets:
    """What of a cluster's pools was made from secrets. Finding it takes some renderings of a pool, so it is asked once,
    for the pools whose content is shown. ``sides`` are those of MachineDeployments that the run applies."""

    series: Series[ClusterRenderer] = field(repr=False)
    machines: Mapping[ObjectRef, MachineDeployment] = field(repr=False)
    sides: Mapping[ObjectRef, tuple[MachineSide, ...]] = field(default_factory=dict, repr=False)

    def of(self, pools: Iterable[ObjectRef | None]) -> dict[ObjectRef | None, SecretTexts]:
        """The parts of each pool; those of ``None`` are of the profiles."""
        return {pool: self._found(pool) for pool in pools}

    def _found(self, pool: ObjectRef | None) -> SecretTexts:
        machine = None if pool is None else self.machines.get(pool)
        found = NO_SECRETS
        if pool is None or machine is not None:
            try:
                found = self.series.ask(_SECRET_TEXTS_OF, machine, times=RENDERINGS)
            except InputError:  # it reaches a limit, or cannot be rendered with other secrets
                found = ALL_SECRET
        own = self.sides.get(pool, ()) if pool is not None else ()
        return together((found, *(side.secret_texts() for side in own)))


@dataclass(frozen=True, slots=True)
class Rendered:
    """The desired state of a cluster, and what finds the secrets in it."""

    desired: Desired
    secrets: PoolSecrets


def _objects_of(machine: MachineDeployment, namespace: str) -> Iterator[ObjectRef]:
    """All objects that may exist for a pool. They are kept if the pool is not rendered."""
    yield ObjectRef("OperatingSystemConfig", namespace, machine.config_name)
    for name in (machine.bootstrap_secret_name, machine.provisioning_secret_name, machine.edge_script_name):
        yield ObjectRef("Secret", CLOUD_INIT_NAMESPACE, name)
