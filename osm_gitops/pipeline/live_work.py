"""A run in live clusters: plan and write until all pools have settled (design.md, "Writing to clusters")."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import Final

from osm_gitops.config.spec import ClusterSpec
from osm_gitops.errors import OsmGitopsError, Problem, UnsafePlanError
from osm_gitops.kube.api import Clusters
from osm_gitops.kube.kinds import SECRET
from osm_gitops.model.desired import Left, LeftReason
from osm_gitops.model.live import Delivery, Gate
from osm_gitops.model.objects import Json, ObjectRef
from osm_gitops.model.plan import Action, Change, ClusterPlan, Plan
from osm_gitops.pipeline.in_threads import GivenUp, in_threads
from osm_gitops.pipeline.kkp import check_state, only_renews
from osm_gitops.pipeline.live import LiveState, plan_live, read_live
from osm_gitops.pipeline.load import load_settings
from osm_gitops.pipeline.options import Confirm, RunOptions, Work, named
from osm_gitops.pipeline.osm_activity import OsmActivity, osm_in_target
from osm_gitops.pipeline.planning import prepared
from osm_gitops.pipeline.recording import Ended, LockedOut, measure, uids_of
from osm_gitops.pipeline.side_by_side import threads, timed_out
from osm_gitops.plan.machines import is_machine_change
from osm_gitops.report.metrics import Measured
from osm_gitops.targets.cluster.lease import Held, holder_name, lease
from osm_gitops.targets.cluster.record import record_run

_MOVED_ON: Final = Left(LeftReason.NOT_AS_SHOWN, "it differs from the plan that was shown")


def hold(spec: ClusterSpec, options: RunOptions) -> AbstractContextManager[Held]:
    """Lock a cluster against other runs. Raises OsmGitopsError if another run is active."""
    return lease(
        options.connections.management(spec),
        load_settings(spec).namespace,
        holder=holder_name(),
        timeout=options.live.lock_timeout.total_seconds(),
        note=lambda sentence: options.tell(f"{spec.name}: {sentence}"),
    )


def live_works(
    clusters: Sequence[ClusterSpec],
    kind: Callable[[ClusterSpec, Held, OsmActivity], Work],
    options: RunOptions,
    locks: ExitStack,
) -> Iterator[Work]:
    """A work of a ``kind`` for each live cluster, locked in ``locks``, or LockedOut if another run is active."""

    def opened(spec: ClusterSpec) -> tuple[Work, ExitStack]:
        with ExitStack() as own:
            try:
                osm = osm_in_target(spec, options)
                osm.refuse(spec.name, options.live)
                return kind(spec, own.enter_context(hold(spec, options)), osm), own.pop_all()
            except OsmGitopsError as failure:
                return LockedOut((spec.name,), tuple(named(spec.name, failure.problems))), own.pop_all()

    tasks: list[Callable[[], tuple[Work, ExitStack]]] = [partial(opened, spec) for spec in clusters]
    size, seconds = threads(len(clusters), options.jobs), options.cluster_seconds
    results = in_threads(tasks, size, seconds, late=_release)
    for spec, found in zip(clusters, results, strict=True):
        if isinstance(found, GivenUp):
            yield LockedOut((spec.name,), (timed_out(spec.name, seconds),))
            continue
        work, own = found
        locks.enter_context(own)
        yield work


def _release(found: tuple[Work, ExitStack]) -> None:
    """Unlock a cluster that was given up before its lock came."""
    found[1].close()


@dataclass(slots=True)
class LiveWork:
    """The work in one cluster, while its Lease is held."""

    spec: ClusterSpec
    held: Held
    osm: OsmActivity
    state: LiveState | None = None
    delivery: Delivery = field(default_factory=Delivery)
    moved: bool = False
    stale: bool = False
    published: tuple[str, ...] = ()
    remark: str = ""
    beside: bool = True
    interrupted: bool = False

    @property
    def clusters(self) -> tuple[str, ...]:
        return (self.spec.name,)

    def check(self) -> None:
        """Before each attempt of a write. Raises LostLockError, and KeyboardInterrupt in a thread of an interrupted
        run."""
        if self.interrupted:
            raise KeyboardInterrupt
        self.held.check()

    def interrupt(self) -> None:
        """Let no write begin any more, and do not wait for servers for long."""
        self.interrupted = True
        if self.state is not None:
            self.state.target.live.hurry()

    @property
    def deliveries(self) -> Mapping[str, Delivery]:
        return {self.spec.name: self.delivery}

    @property
    def plans(self) -> list[ClusterPlan]:
        return [self.state.plan] if self.state else []

    @property
    def pools(self) -> list[ObjectRef]:
        return [*self.state.desired.pools, *self.state.desired.failed] if self.state else []

    def prepare(self, options: RunOptions, problems: list[Problem]) -> None:
        """Plan, or add the problems."""
        self.state = None
        try:
            # Tokens keep using these connections.
            self.state = _prepared(self.read(options.checked(self.check)), options)
            problems.extend(self.state.problems)
        except OsmGitopsError as failure:
            problems.extend(named(self.spec.name, failure.problems))

    def read(self, options: RunOptions) -> LiveState:
        """Read the cluster, and plan. Raises OsmGitopsError."""
        return read_live(self.spec, options, self.osm)

    def deliver(self, options: RunOptions, confirm: Confirm, problems: list[Problem]) -> None:
        """Carry out the plan, then wait for machine-controller and write pools that were not ready."""
        if self.stale:
            before = self.plans
            self.prepare(options, problems)
            if self.plans != before and not confirm(Plan(tuple(self.plans))):
                return
        if self.state is None:
            return
        options = options.checked(self.check)
        try:
            if self.state.plan.changes or self.state.lacks_tokens:
                check_state(self.spec, options.connections)
            if self.state.lacks_tokens and not self.state.plan.refusals:
                state = self._with_tokens(self.state, options)
                shown = self._as_shown(state, self.state.plan, lambda now, then: now.action is then.action)
                self.state = _prepared(shown, options)
            self._write(self.state, options)
            self._settle(self.state, options)
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
        if self.state is not None:
            tokens = self.state.tokens
            ended = replace(
                ended,
                plan=self.plans[0],
                known=self.state.desired.pools,
                uids=uids_of(self.state.pools),
                tokens_end=tokens.first_end() if tokens is not None else None,
            )
        measured, warnings = record(self.spec, self.held, ended, started, options)
        self.delivery = measured.ran.delivery
        return (measured,), tuple(named(self.spec.name, (*warnings, *self._warnings())))

    def _warnings(self) -> tuple[Problem, ...]:
        """Warnings that are not in the plan."""
        return self.state.tokens.warnings() if self.state and self.state.tokens else ()

    def _with_tokens(self, state: LiveState, options: RunOptions) -> LiveState:
        """Create the tokens that pools print, the first step of delivery, and plan again with them."""
        read = state.lacks_tokens
        if read is None or read.tokens is None:
            return state
        self.check()
        read.tokens.make(read.printing)
        return plan_live(self.spec, options, read)

    def _write(self, state: LiveState, options: RunOptions) -> None:
        if state.plan.refusals:
            # Tokens must not expire while a user decides.
            self._deliver(replace(state, plan=_kept_tokens(state.plan)), options)
            raise UnsafePlanError(state.plan.refusals)
        self._deliver(state, options)

    def _deliver(self, state: LiveState, options: RunOptions) -> None:
        if only_renews(self.spec):
            state = replace(state, plan=_kept_tokens(state.plan))
        done = state.target.deliver(state.plan, options.advance(self.spec.name, "pools processed"))
        for note in done.notes:
            options.note(note)
        self.delivery = self.delivery.followed_by(done, {change.pool for change in state.plan.changes})

    def _settle(self, state: LiveState, options: RunOptions) -> None:
        """Read pools that wait for machine-controller again, and write only these."""
        shown = state.plan
        for pause in options.live.pauses():
            waiting = _may_settle(self.delivery, state)
            if not waiting or self.delivery.webhook:
                return
            options.note(f"{self.spec.name}: pools that wait for machine-controller: {len(waiting)}")
            options.live.wait(pause)
            check_state(self.spec, options.connections)
            state = self._with_tokens(self.read(options), options)
            # The guards have accepted these pools; the next run does all others and deletions. A MachineDeployment is
            # applied once per run: if it differs again, a webhook changes it.
            there = {ref for ref in waiting if ref in state.pools and state.pools[ref].gate is not Gate.DELETING}
            changes = tuple(
                change for change in state.plan.changes if change.pool in there and not is_machine_change(change)
            )
            narrowed = replace(state, plan=replace(state.plan, changes=changes, refusals=()))
            if options.live.as_shown:
                narrowed = self._as_shown(narrowed, shown, _is_same_but_for_its_revision)
            self._deliver(narrowed, options)

    def _as_shown(self, state: LiveState, shown: ClusterPlan, same: Callable[[Change, Change], bool]) -> LiveState:
        """``state`` without pools whose changes differ from those that were ``shown``: they are skipped."""
        then = {change.ref: change for change in shown.changes}
        content = (change for change in state.plan.effective if not change.upkeep)
        other = {change.pool for change in content if change.ref not in then or not same(change, then[change.ref])}
        changes = tuple(change for change in state.plan.changes if change.pool not in other)
        left = {**self.delivery.left, **{pool: _MOVED_ON for pool in other if pool is not None}}
        self.delivery = replace(self.delivery, left=left)
        return replace(state, plan=replace(state.plan, changes=changes))


def _prepared(state: LiveState, options: RunOptions) -> LiveState:
    """The state with all that reports show of its plan."""
    return replace(state, plan=prepared(state.plan, options, state.secrets))


def _kept_tokens(plan: ClusterPlan) -> ClusterPlan:
    """Only the renewals of tokens and kubeconfigs of a plan, without deletions."""
    kept = (each for each in plan.changes if each.upkeep and each.ref.kind == SECRET.name)
    return replace(plan, changes=tuple(each for each in kept if each.action is not Action.DELETE))


def _is_same_but_for_its_revision(now: Change, then: Change) -> bool:
    """Whether the boot configuration is the one that was shown. Metadata may differ: machine-controller sets
    revisions."""
    return now.action is then.action and _content(now) == _content(then)


def _content(change: Change) -> Mapping[str, Json]:
    return {key: value for key, value in (change.after or {}).items() if key != "metadata"}


def _may_settle(delivery: Delivery, state: LiveState) -> frozenset[ObjectRef]:
    """Skipped pools that may become ready."""
    over = {Gate.PAUSED, Gate.DELETING}
    left = (ref for ref, why in delivery.left.items() if why != _MOVED_ON)
    return frozenset(ref for ref in left if ref not in state.pools or state.pools[ref].gate not in over)


def record(
    spec: ClusterSpec, held: Held, ended: Ended, started: datetime, options: RunOptions
) -> tuple[Measured, tuple[Problem, ...]]:
    """Record the run in the clusters; returns its metrics, and failures to record."""
    live = options.connections.clusters(spec)
    ran = measure(spec.name, ended, started, options).ran
    recorded = record_run(live, held, ran, ended.uids)
    good = recorded.record.last_good_run
    last_good = datetime.fromisoformat(good).astimezone(UTC) if good else None
    # Problems of the run itself are not repeated as warnings.
    known = {problem.what for problem in ended.problems}
    warnings = tuple(problem for problem in recorded.warnings if problem.what not in known)
    return Measured(replace(recorded.ran, requests=_requests(live)), last_good, recorded.known, recorded=True), warnings


def _requests(live: Clusters) -> int:
    apis = {id(api): api for api in (live.management, live.worker)}
    return sum(api.requests for api in apis.values())
