"""A live cluster as a target: read, desire, compare, write, until every pool has settled that can (design.md, "Writing
to clusters")."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

from osm_gitops.config.spec import ClusterSpec, LiveRef, SourceSpec, TreeRef
from osm_gitops.errors import InputError, OsmGitopsError, Problem, UnsafePlanError
from osm_gitops.kube.api import Api
from osm_gitops.kube.clusters import Clusters
from osm_gitops.kube.kinds import CONFIG, SECRET, VALIDATING_WEBHOOKS
from osm_gitops.model.desired import Desired, Left, LeftReason
from osm_gitops.model.inputs import Inputs
from osm_gitops.model.live import Delivery, Gate, LivePool
from osm_gitops.model.machine import MachineDeployment
from osm_gitops.model.objects import Json, ObjectRef
from osm_gitops.model.plan import Action, Change, ClusterPlan, Plan
from osm_gitops.model.settings import Settings
from osm_gitops.pipeline.live_profiles import refuse_unfit_names, refuse_unwritable, written_profiles
from osm_gitops.pipeline.load import load_inputs, load_settings
from osm_gitops.pipeline.maintenance import Maintenance, named
from osm_gitops.pipeline.options import Confirm, RunOptions
from osm_gitops.pipeline.osm_activity import OsmActivity
from osm_gitops.pipeline.recording import Ended, record, uids_of
from osm_gitops.pipeline.rendering import is_chosen, prepare
from osm_gitops.pipeline.states import desired_state, unusable
from osm_gitops.pipeline.token_facts import Printed, with_tokens
from osm_gitops.plan.compare import PlanOptions, make_cluster_plan
from osm_gitops.plan.machine_secrets import with_secrets_of
from osm_gitops.plan.machines import Comparison, is_machine_change, machine_change
from osm_gitops.report.metrics import Measured
from osm_gitops.targets.cluster.lease import Held
from osm_gitops.targets.cluster.pools import PoolsOfTree, read_pools, read_pools_of_tree
from osm_gitops.targets.cluster.state import Scope, read_state
from osm_gitops.targets.cluster.tokens import Tokens, TokenSetup
from osm_gitops.targets.cluster.writing import Control, deliver

_MOVED_ON: Final = Left(LeftReason.NOT_AS_SHOWN, "it is not any more what the plan showed")


@dataclass(frozen=True, slots=True)
class _Read:
    """What was read of a cluster, to be planned from."""

    settings: Settings
    inputs: Inputs
    pools: Mapping[ObjectRef, LivePool]
    tokens: Tokens | None
    osm: OsmActivity
    comparison: Comparison | None = None
    """Where MachineDeployments come from a tree."""


@dataclass(frozen=True, slots=True)
class LiveState:
    """What one look at a cluster gave: what should be, what would be done, and what machine-controller has done.

    ``stand_ins``: tokens that are yet to be made stand in what was rendered, so it is for showing only.
    """

    read: _Read
    desired: Desired
    plan: ClusterPlan
    problems: tuple[Problem, ...] = ()
    stand_ins: bool = False

    @property
    def pools(self) -> Mapping[ObjectRef, LivePool]:
        return self.read.pools

    @property
    def tokens(self) -> Tokens | None:
        return self.read.tokens

    @property
    def comparison(self) -> Comparison | None:
        return self.read.comparison


def read_live(spec: ClusterSpec, options: RunOptions, osm: OsmActivity, *, make_tokens: bool = False) -> LiveState:
    """Read a cluster's sources and its live state, and plan. Raises OsmGitopsError.

    Changes nothing, unless it is to ``make_tokens`` that profiles print. ``osm`` is what else may write there.
    """
    prepare()
    settings = load_settings(spec)
    live = options.connections.clusters(spec)
    read = load_inputs(spec, settings, options.environment, options.keys, options.connections, tokens=False)
    inputs = refuse_unfit_names(read)
    for note in inputs.notes:
        options.note(note)
    comparison = None
    if isinstance(spec.source.machines, TreeRef):
        found = read_pools_of_tree(live.worker, inputs.machines, inputs.broken)
        pools = found.pools
        comparison = _comparison(spec.source, spec.source.machines, inputs, found, options.only)
        inputs = replace(inputs, machines=tuple(_as_live(each, pools[each.ref]) for each in inputs.machines))
    else:
        pools = read_pools(live.worker, inputs.machines, broken=inputs.broken)
    inputs = refuse_unwritable(inputs, live.management, settings, osm, from_cluster=_keeps_profiles(spec))
    tokens = _tokens(inputs, settings, live, options.live.now())
    return _look(spec, options, _Read(settings, inputs, pools, tokens, osm, comparison), make_tokens=make_tokens)


def _comparison(
    source: SourceSpec, tree: TreeRef, inputs: Inputs, found: PoolsOfTree, only: Sequence[str]
) -> Comparison:
    """What of a tree and of the cluster can be compared: what nobody could read may be what the tree seems to lack."""
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


def _look(spec: ClusterSpec, options: RunOptions, read: _Read, *, make_tokens: bool) -> LiveState:
    """Plan from what was read, against what is there now. Raises OsmGitopsError."""
    settings, live = read.settings, options.connections.clusters(spec)
    printed = Printed(read.inputs)
    if read.tokens is not None:
        printed = with_tokens(read.inputs, settings, read.tokens, options.only, make=make_tokens)
    inputs, from_cluster = printed.inputs, _keeps_profiles(spec)
    desired = desired_state(spec, inputs, settings, options)
    written = written_profiles(inputs, from_cluster=from_cluster)
    leaving = frozenset(pool.ref for pool in read.pools.values() if pool.gate is Gate.DELETING)
    namespaces = frozenset(namespace for namespace, _ in written) | (set() if from_cluster else {settings.namespace})
    scope = Scope(settings.namespace, namespaces, leaving, keeps_profiles=from_cluster)
    upkeep = Maintenance(
        machines=inputs.machines,
        pools=read.pools,
        tokens=read.tokens,
        only=options.only,
        finalizers=options.live.write.finalizers,
        complete=not desired.no_deletion,
        allow_empty=options.plan.limits.allow_empty,
    )
    strays = frozenset(read.comparison.strays) if read.comparison else frozenset()
    machines = _machine_changes(read, desired)
    desired = with_secrets_of(desired, machines, {each.ref: each for each in inputs.machines}, inputs.sensitive)
    plan = upkeep.added_to(_plan(live, desired, scope, replace(options.plan, strays=strays), machines))
    differences = read.comparison.warnings() if read.comparison else ()
    warnings = (*read.osm.warnings, *plan.warnings, *differences)
    plan = replace(plan, hosts=options.connections.hosts(spec), warnings=warnings)
    return LiveState(read, desired, plan, tuple(unusable(inputs)), printed.stand_ins)


def _machine_changes(read: _Read, desired: Desired) -> tuple[Change, ...]:
    """What applying the MachineDeployments of a tree does, where that is wanted. One that cannot be rendered is left as
    it is: its Machines would wait for a boot configuration that does not come."""
    if read.comparison is None or not read.comparison.applied:
        return ()
    rendered = frozenset(desired.pools)
    chosen = (each for each in read.inputs.machines if each.ref in rendered)
    changes = (machine_change(each, read.pools[each.ref]) for each in chosen)
    return tuple(change for change in changes if change is not None)


def _keeps_profiles(spec: ClusterSpec) -> bool:
    """Whether profiles are read where they would be written."""
    return isinstance(spec.source.profiles, LiveRef)


def _plan(
    live: Clusters, desired: Desired, scope: Scope, options: PlanOptions, machines: Sequence[Change]
) -> ClusterPlan:
    current = read_state(live, desired, scope)
    options = replace(options, leaving=scope.leaving)
    plan = make_cluster_plan(desired, current, options, machines)
    changed = any(each.ref.kind == CONFIG.name and each.action is Action.UPDATE for each in plan.changes)
    if changed and _guards_configs(live.management):
        options = replace(options, immutable_kinds=frozenset({CONFIG.name}))
        return make_cluster_plan(desired, current, options, machines)
    return plan


def _guards_configs(management: Api) -> bool:
    """Whether a webhook (OSM's, osm-behaviour.md, "Webhooks") looks at updates of configurations: it refuses all of
    their specs."""

    def guards(configuration: Mapping[str, Json]) -> bool | None:
        rules = [rule for hook in configuration.get("webhooks") or () for rule in hook.get("rules") or ()]
        found = (
            {CONFIG.plural, "*", "*/*"}.intersection(rule.get("resources") or ())
            and {CONFIG.group, "*"}.intersection(rule.get("apiGroups") or ())
            and {"UPDATE", "*"}.intersection(rule.get("operations") or ())
            for rule in rules
        )
        return True if any(found) else None

    return bool(management.list(VALIDATING_WEBHOOKS, guards))


def _as_live(machine: MachineDeployment, pool: LivePool) -> MachineDeployment:
    """A MachineDeployment of a tree, with what only the cluster knows: that it is being deleted, its revision, and the
    other annotations of servers, which count in OSM's hash."""
    if pool.gate is Gate.DELETING:
        return replace(machine, deleting=True)
    if not pool.server_annotations:
        return machine
    return replace(machine, annotations={**(machine.annotations or {}), **pool.server_annotations})


def _tokens(inputs: Inputs, settings: Settings, live: Clusters, now: datetime) -> Tokens | None:
    """``None`` where no kubeconfig can be made: every pool fails with the reason when it is rendered."""
    try:
        setup = TokenSetup.of(settings, inputs.facts, now)
    except InputError:
        return None
    return Tokens.read(live.worker, inputs.machines, setup)


@dataclass(slots=True)
class LiveWork:
    """What is to be done in one cluster, while its Lease is held."""

    spec: ClusterSpec
    held: Held
    osm: OsmActivity
    look: LiveState | None = None
    delivery: Delivery = field(default_factory=Delivery)
    moved: bool = False
    stale: bool = False

    @property
    def plans(self) -> list[ClusterPlan]:
        return [self.look.plan] if self.look else []

    @property
    def pools(self) -> list[ObjectRef]:
        return [*self.look.desired.pools, *self.look.desired.failed] if self.look else []

    def prepare(self, options: RunOptions, problems: list[Problem]) -> None:
        """Plan; a cluster that cannot be planned adds its problems."""
        self.look = None
        try:
            # Tokens keep the connections that they were read by.
            self.look = read_live(self.spec, options.checked(self.held.check), self.osm)
            problems.extend(self.look.problems)
        except OsmGitopsError as failure:
            problems.extend(named(self.spec.name, failure.problems))

    def deliver(self, options: RunOptions, confirm: Confirm, problems: list[Problem]) -> None:
        """Write what was planned, and once more what had to wait for machine-controller, for as long as it may."""
        if self.stale:
            before = self.plans
            self.prepare(options, problems)
            if self.plans != before and not confirm(Plan(tuple(self.plans))):
                return
        if self.look is None:
            return
        options = options.checked(self.held.check)
        try:
            if self.look.stand_ins and not self.look.plan.refusals:
                self.look = self._with_tokens_made(self.look, options)
            self._write(self.look, options)
            self._settle(self.look, options)
        except OsmGitopsError as failure:
            problems.extend(named(self.spec.name, failure.problems))
        for found in self.delivery.failed.values():
            problems.extend(named(self.spec.name, found))

    def finish(
        self, options: RunOptions, started: datetime, problems: Sequence[Problem]
    ) -> tuple[tuple[Measured, ...], tuple[Problem, ...]]:
        """Record the run in the cluster."""
        of_pools = {each for found in self.delivery.failed.values() for each in named(self.spec.name, found)}
        whole = tuple(problem for problem in problems if problem not in of_pools)
        ended = Ended(None, self.delivery, whole)
        if self.look is not None:
            tokens = self.look.tokens
            ended = replace(
                ended,
                plan=self.look.plan,
                known=self.look.desired.pools,
                uids=uids_of(self.look.pools),
                tokens_end=tokens.first_end() if tokens is not None else None,
            )
        measured, warnings = record(self.spec, self.held, ended, started, options)
        self.delivery = measured.ran.delivery
        of_tokens = self.look.tokens.warnings() if self.look and self.look.tokens else ()
        return (measured,), tuple(named(self.spec.name, (*warnings, *of_tokens)))

    def _with_tokens_made(self, shown: LiveState, options: RunOptions) -> LiveState:
        """The same plan with tokens in place of stand-ins; what has moved in the cluster meanwhile is left."""
        self.held.check()
        look = _look(self.spec, options, shown.read, make_tokens=True)
        return self._as_shown(look, shown.plan, lambda now, then: now.action is then.action)

    def _write(self, look: LiveState, options: RunOptions) -> None:
        if look.plan.refusals:
            # Tokens end while somebody makes up their mind.
            self._deliver(replace(look, plan=_kept_tokens(look.plan)), options)
            raise UnsafePlanError(look.plan.refusals)
        self._deliver(look, options)

    def _deliver(self, look: LiveState, options: RunOptions) -> None:
        live = options.connections.clusters(self.spec)
        control = Control(self.held.check, options.advance(self.spec.name, "pools processed"))
        write = replace(options.live.write, namespace=look.read.settings.namespace)
        done = deliver(live, look.plan, look.pools, look.tokens, write, control)
        for note in done.notes:
            options.note(note)
        tried = {change.pool for change in look.plan.changes}
        before = self.delivery
        self.delivery = Delivery(
            written=tuple(dict.fromkeys((*before.written, *done.written))),
            failed={**before.failed, **done.failed},
            left={pool: why for pool, why in before.left.items() if pool not in tried} | dict(done.left),
            notes=(*before.notes, *done.notes),
            webhook=done.webhook,
        )

    def _settle(self, look: LiveState, options: RunOptions) -> None:
        """Look again at pools that machine-controller had not got to; nothing else is written any more."""
        shown = look.plan
        for pause in options.live.pauses():
            waiting = _may_settle(self.delivery, look)
            if not waiting or self.delivery.webhook:
                return
            options.note(f"{self.spec.name}: pools that wait for machine-controller: {len(waiting)}")
            options.live.wait(pause)
            look = read_live(self.spec, options, self.osm, make_tokens=True)
            # The guards have let these pools pass; what became of others, or is going, is the next run's business. A
            # MachineDeployment is applied once a run: where it differs again, a webhook changes what is applied.
            there = {ref for ref in waiting if ref in look.pools and look.pools[ref].gate is not Gate.DELETING}
            changes = tuple(
                change for change in look.plan.changes if change.pool in there and not is_machine_change(change)
            )
            narrowed = replace(look, plan=replace(look.plan, changes=changes, refusals=()))
            if options.live.as_shown:
                narrowed = self._as_shown(narrowed, shown, _is_same_but_for_its_revision)
            self._deliver(narrowed, options)

    def _as_shown(self, look: LiveState, shown: ClusterPlan, same: Callable[[Change, Change], bool]) -> LiveState:
        """``look`` without the pools for which anything else would be done than what was ``shown``: they are left."""
        then = {change.ref: change for change in shown.changes}
        content = (change for change in look.plan.effective if not change.upkeep)
        other = {change.pool for change in content if change.ref not in then or not same(change, then[change.ref])}
        changes = tuple(change for change in look.plan.changes if change.pool not in other)
        left = {**self.delivery.left, **{pool: _MOVED_ON for pool in other if pool is not None}}
        self.delivery = replace(self.delivery, left=left)
        return replace(look, plan=replace(look.plan, changes=changes))


def _kept_tokens(plan: ClusterPlan) -> ClusterPlan:
    """Of a plan what keeps machines joining: tokens and kubeconfigs, and nothing that goes."""
    kept = (each for each in plan.changes if each.upkeep and each.ref.kind == SECRET.name)
    return replace(plan, changes=tuple(each for each in kept if each.action is not Action.DELETE))


def _is_same_but_for_its_revision(now: Change, then: Change) -> bool:
    """Whether machines boot with what was shown: metadata alone may be other, for machine-controller numbers pools."""
    return now.action is then.action and _content(now) == _content(then)


def _content(change: Change) -> Mapping[str, Json]:
    return {key: value for key, value in (change.after or {}).items() if key != "metadata"}


def _may_settle(delivery: Delivery, look: LiveState) -> frozenset[ObjectRef]:
    """Pools that were left and that another look may find ready."""
    over = {Gate.PAUSED, Gate.DELETING}
    left = (ref for ref, why in delivery.left.items() if why != _MOVED_ON)
    return frozenset(ref for ref in left if ref not in look.pools or look.pools[ref].gate not in over)
