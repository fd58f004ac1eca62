"""Read live clusters and plan (design.md, "Planning")."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from osm_gitops.config.spec import ClusterSpec, LiveRef, SourceSpec, TreeRef
from osm_gitops.errors import InputError, Problem
from osm_gitops.kube.api import Clusters
from osm_gitops.model.desired import Desired, Left, LeftReason
from osm_gitops.model.live import Gate, LivePool
from osm_gitops.model.machine import MachineDeployment, is_chosen
from osm_gitops.model.objects import ObjectRef
from osm_gitops.model.plan import Change, ClusterPlan
from osm_gitops.model.settings import Settings
from osm_gitops.pipeline.inputs import ClusterInputs
from osm_gitops.pipeline.kkp import permitted
from osm_gitops.pipeline.live_profiles import unwritable_profiles, written_profiles
from osm_gitops.pipeline.load import SourceReader, gather_inputs, load_settings
from osm_gitops.pipeline.memo import Memo
from osm_gitops.pipeline.options import RunOptions
from osm_gitops.pipeline.osm_activity import OsmActivity
from osm_gitops.pipeline.rendered import prepare
from osm_gitops.pipeline.rendering import PoolSecrets
from osm_gitops.pipeline.states import desired_state, unusable
from osm_gitops.plan.machines import Comparison, machine_change, secrets_of
from osm_gitops.render.pools import printing_pools
from osm_gitops.sources.kkp.records import ClusterState
from osm_gitops.targets.cluster.pools import PoolsOfTree, read_pools, read_pools_of_tree
from osm_gitops.targets.cluster.target import ClusterTarget, Maintenance, Scope
from osm_gitops.targets.cluster.tokens import Tokens, TokenSetup
from osm_gitops.targets.target import plan_for


@dataclass(frozen=True, slots=True)
class LiveInputs:
    """The inputs of a cluster for planning. ``printing`` are pools whose profile prints the kubeconfig."""

    settings: Settings
    inputs: ClusterInputs
    pools: Mapping[ObjectRef, LivePool]
    tokens: Tokens | None
    osm: OsmActivity
    comparison: Comparison | None = None
    printing: tuple[MachineDeployment, ...] = ()


@dataclass(frozen=True, slots=True)
class LiveState:
    """One reading of a cluster: desired state, plan, and pools.

    ``lacks_tokens`` are the inputs of the plan if tokens that pools print do not exist yet: the plan has placeholders,
    and is only for display. ``secrets`` is set if pools were rendered, ``comparison`` if MachineDeployments come from a
    tree.
    """

    desired: Desired
    plan: ClusterPlan
    target: ClusterTarget
    problems: tuple[Problem, ...] = ()
    secrets: PoolSecrets | None = None
    comparison: Comparison | None = None
    lacks_tokens: LiveInputs | None = None

    @property
    def pools(self) -> Mapping[ObjectRef, LivePool]:
        return self.target.maintenance.pools

    @property
    def tokens(self) -> Tokens | None:
        return self.target.maintenance.tokens


def read_live(spec: ClusterSpec, options: RunOptions, osm: OsmActivity) -> LiveState:
    """Read a cluster's sources and live state, including tokens, and plan. Changes nothing. Raises OsmGitopsError."""
    prepare()
    memo = Memo()
    settings = load_settings(spec, memo)
    live = options.connections.clusters(spec)
    reader = SourceReader(spec, settings, options.environment, options.keys, options.connections, memo)
    inputs = gather_inputs(reader, tokens=False)
    inputs.break_unfit()
    for note in dict.fromkeys(inputs.notes):
        options.note(note)
    comparison = None
    if isinstance(spec.source.machines, TreeRef):
        found = read_pools_of_tree(live.worker, inputs.machines, inputs.broken)
        pools = found.pools
        comparison = _comparison(spec.source, spec.source.machines, inputs, found, options.only)
        inputs.change_machines(lambda machine: _as_live(machine, found.pools[machine.ref]))
    else:
        pools = read_pools(live.worker, inputs.machines, broken=inputs.broken)
    if spec.kkp is not None and spec.kkp.cluster.state is ClusterState.DELETING:
        # Nothing is written for others, so nothing needs to be rendered.
        inputs.machines = tuple(each for each in inputs.machines if pools[each.ref].gate is Gate.DELETING)
    from_cluster = _keeps_profiles(spec)
    inputs.break_profiles(unwritable_profiles(inputs, live.management, settings, osm, from_cluster=from_cluster))
    tokens = _tokens(inputs, settings, live, options.live.now())
    found_printing = printing_pools(inputs.machines, inputs.profiles, settings, options.only)
    printing = () if tokens is None else tuple(found_printing)
    return plan_live(spec, options, LiveInputs(settings, inputs, pools, tokens, osm, comparison, printing))


def _comparison(
    source: SourceSpec, tree: TreeRef, inputs: ClusterInputs, found: PoolsOfTree, only: Sequence[str]
) -> Comparison:
    """Compare the MachineDeployments of a tree and the cluster. Unreadable ones may be those that the tree lacks."""
    living = (each.ref for each in inputs.machines if found.pools[each.ref].gate is not Gate.DELETING)
    left = Left(LeftReason.NOT_IN_SOURCE, f"{tree.display} has no such MachineDeployment")
    strays = {} if inputs.unreadable else found.strays
    return Comparison(
        source=tree.display,
        pools={ref: found.pools[ref] for ref in living if is_chosen(ref.name, only)},
        strays={
            ref: replace(pool, gate=Gate.WAITING, left=left)
            for ref, pool in strays.items()
            if is_chosen(ref.name, only)
        },
        applied=source.applies_machines,
    )


def plan_live(spec: ClusterSpec, options: RunOptions, read: LiveInputs) -> LiveState:
    """Plan from inputs against the current state. Raises OsmGitopsError."""
    settings, live = read.settings, options.connections.clusters(spec)
    if read.tokens is not None and read.printing:
        read.inputs.facts = read.tokens.added_to(read.inputs.facts, read.printing)
    inputs = read.inputs.build()
    lacking = read.tokens is not None and read.tokens.lack_any(read.printing)
    from_cluster = _keeps_profiles(spec)
    rendered = desired_state(spec, inputs, settings, options)
    desired = rendered.desired
    written = written_profiles(inputs, from_cluster=from_cluster)
    leaving = frozenset(pool.ref for pool in read.pools.values() if pool.gate is Gate.DELETING)
    namespaces = frozenset(namespace for namespace, _ in written) | (set() if from_cluster else {settings.namespace})
    target = ClusterTarget(
        live,
        Scope(settings.namespace, namespaces, leaving, keeps_profiles=from_cluster),
        Maintenance(
            machines=inputs.machines,
            pools=read.pools,
            tokens=read.tokens,
            only=options.only,
            finalizers=options.live.write.finalizers,
            complete=not desired.no_deletion,
            allow_empty=options.plan.limits.allow_empty,
        ),
        replace(options.live.write, namespace=settings.namespace),
        options.check,
    )
    strays = frozenset(read.comparison.strays) if read.comparison else frozenset()
    machines = _machine_changes(read, desired)
    sensitive, sides = secrets_of(machines, {each.ref: each for each in inputs.machines}, inputs.sensitive)
    desired = replace(desired, sensitive=desired.sensitive | sensitive)
    secrets = replace(rendered.secrets, sides=sides)
    plan = plan_for(target, desired, replace(options.plan, leaving=leaving, strays=strays), machines)
    differences = read.comparison.warnings() if read.comparison else ()
    warnings = (*read.osm.warnings, *plan.warnings, *differences)
    plan = permitted(spec, replace(plan, hosts=options.connections.hosts(spec), warnings=warnings), leaving)
    problems = tuple(unusable(inputs))
    return LiveState(desired, plan, target, problems, secrets, read.comparison, read if lacking else None)


def _machine_changes(read: LiveInputs, desired: Desired) -> tuple[Change, ...]:
    """The changes by applying the MachineDeployments of a tree, if enabled. Failed pools are not applied: their
    Machines would wait for a boot configuration that is not written."""
    if read.comparison is None or not read.comparison.applied:
        return ()
    rendered = frozenset(desired.pools)
    chosen = (each for each in read.inputs.machines if each.ref in rendered)
    changes = (machine_change(each, read.pools[each.ref]) for each in chosen)
    return tuple(change for change in changes if change is not None)


def _keeps_profiles(spec: ClusterSpec) -> bool:
    """Whether profiles are read from the cluster that they would be written to."""
    return isinstance(spec.source.profiles, LiveRef)


def _as_live(machine: MachineDeployment, pool: LivePool) -> MachineDeployment:
    """A MachineDeployment of a tree, with live facts: deletion, revision, and other server-side annotations, which are
    a part of OSM's hash."""
    if pool.gate is Gate.DELETING:
        return replace(machine, deleting=True)
    if not pool.server_annotations:
        return machine
    return replace(machine, annotations={**(machine.annotations or {}), **pool.server_annotations})


def _tokens(inputs: ClusterInputs, settings: Settings, live: Clusters, now: datetime) -> Tokens | None:
    """The tokens; ``None`` if no kubeconfig can be created. Then rendering of each pool fails with the reason."""
    try:
        setup = TokenSetup.of(settings, inputs.facts, now)
    except InputError:
        return None
    return Tokens.read(live.worker, inputs.machines, setup)
