"""What cannot live in git, for clusters whose desired state comes from there (design.md, "Writing to clusters"): tokens
and kubeconfigs of kubelets, the revisions of Secrets and OSCs, finalizers, and what goes with pools that are gone.

It reads nothing but the clusters, so it needs no tree, no key and no profile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from osm_gitops.config.spec import ClusterSpec
from osm_gitops.errors import InputError, OsmGitopsError, Problem
from osm_gitops.kube.clusters import Clusters
from osm_gitops.model.desired import MANAGED_BY
from osm_gitops.model.inputs import Inputs
from osm_gitops.model.live import Delivery, Gate, LivePool
from osm_gitops.model.objects import ObjectRef
from osm_gitops.model.plan import Action, Change, ClusterPlan, Plan, PoolCounts
from osm_gitops.model.settings import Settings
from osm_gitops.pipeline.load import load_settings
from osm_gitops.pipeline.maintenance import Maintenance, named
from osm_gitops.pipeline.options import Outcome, RunOptions
from osm_gitops.pipeline.osm_activity import osm_in_target
from osm_gitops.pipeline.recording import Ended, hold, measure, record, stuck_problems, uids_of
from osm_gitops.pipeline.rendering import is_chosen
from osm_gitops.plan.compare import group_name
from osm_gitops.plan.machine_templates import digests_as_written
from osm_gitops.plan.stamps import Stamping, is_stamped, stamping_of
from osm_gitops.report.metrics import Measured
from osm_gitops.sources.cluster import read_machines, read_server
from osm_gitops.targets.cluster.pools import read_pools
from osm_gitops.targets.cluster.stamping import read_stampables, read_templates, stamp_pools
from osm_gitops.targets.cluster.tokens import Tokens, TokenSetup
from osm_gitops.targets.cluster.writing import Control, deliver


def refresh_clusters(clusters: Sequence[ClusterSpec], options: RunOptions) -> Outcome:
    """Refresh all clusters; one that fails stops no other. The outcome's plan is what was due."""
    problems: list[Problem] = []
    warnings: list[Problem] = []
    plans, deliveries, measured = [], {}, []
    for spec in clusters:
        work = _Refresh(spec, options, options.live.now())
        try:
            work.run()
        except OsmGitopsError as failure:  # another run is at work, or nobody can say where
            work.problems.extend(failure.problems)
        measured.append(work.measured or measure(spec.name, work.ended(), work.started, options))
        warnings.extend(named(spec.name, work.warnings))
        problems.extend(named(spec.name, work.problems))
        if work.look is not None:  # else nobody knows what was due
            plans.append(work.plan)
        deliveries[spec.name] = work.delivery
        problems.extend(named(spec.name, (each for found in work.delivery.failed.values() for each in found)))
    return Outcome(
        Plan(tuple(plans)),
        tuple(dict.fromkeys(problems)),
        deliveries=deliveries,
        measured=tuple(measured),
        warnings=tuple(warnings),
    )


@dataclass(frozen=True, slots=True)
class _Look:
    """What one look at a cluster gave. ``plan`` are tokens, finalizers and deletions; stamps stand beside it."""

    plan: ClusterPlan
    pools: Mapping[ObjectRef, LivePool]
    tokens: Tokens | None
    stampings: Mapping[ObjectRef, Stamping]

    def shown(self) -> ClusterPlan:
        """The plan with the stamps in it, as reports show it."""
        stamps = (
            Change(each.target.ref, each.target.side, Action.UPDATE, each.reason, group_name(ref), ref, upkeep=True)
            for ref, stamping in self.stampings.items()
            for each in stamping.stamps
        )
        changes = sorted((*self.plan.changes, *stamps), key=lambda change: change.place)
        return replace(self.plan, changes=tuple(changes))


@dataclass(slots=True)
class _Refresh:
    """One cluster's refresh: what was due so far, and what became of it."""

    spec: ClusterSpec
    options: RunOptions
    started: datetime
    problems: list[Problem] = field(default_factory=list)
    warnings: tuple[Problem, ...] = ()
    delivery: Delivery = field(default_factory=Delivery)
    look: _Look | None = None
    measured: Measured | None = None
    plan: ClusterPlan = field(init=False)

    def __post_init__(self) -> None:
        self.plan = ClusterPlan(self.spec.name, ())

    def run(self) -> None:
        """Do what is due while the Lease is held, and again what machine-controller had to do something for first."""
        settings, live = load_settings(self.spec), self.options.connections.clusters(self.spec)
        osm = osm_in_target(self.spec, self.options)
        osm.refuse(self.spec.name, self.options.live)
        self.warnings = osm.warnings
        with hold(self.spec, self.options) as held:
            try:
                self._settle(settings, live.checked(held.check), held.check)
            except OsmGitopsError as failure:
                self.problems.extend(failure.problems)
            self.measured, warnings = record(self.spec, held, self.ended(), self.started, self.options)
            ran = self.measured.ran
            self.delivery, self.plan = ran.delivery, replace(self.plan, left=ran.left)
            self.problems.extend(stuck_problems(ran))
            self.warnings = (*self.warnings, *warnings)

    def ended(self) -> Ended:
        """What the run came to so far."""
        whole = Ended(delivery=self.delivery, problems=tuple(self.problems))
        if self.look is None:
            return whole
        tokens, pools = self.look.tokens, self.look.pools
        return replace(
            whole,
            plan=self.plan,
            known=tuple(
                ref
                for ref, pool in pools.items()
                if pool.gate is not Gate.DELETING and is_chosen(ref.name, self.options.only)
            ),
            uids=uids_of(pools),
            tokens_end=tokens.first_end() if tokens is not None else None,
        )

    def _settle(self, settings: Settings, live: Clusters, check: Callable[[], None]) -> None:
        waiting = self._once(settings, live, check)
        for pause in self.options.live.pauses():
            if not waiting:
                return
            self.options.note(f"{self.spec.name}: pools that wait for machine-controller: {waiting}")
            self.options.live.wait(pause)
            waiting = self._once(settings, live, check)

    def _once(self, settings: Settings, live: Clusters, check: Callable[[], None]) -> int:
        """Look and do what is due; how many pools another look may find ready."""
        look = self.look = self._look(settings, live)
        self._add(look.shown())
        write = replace(self.options.live.write, namespace=settings.namespace, nudge=False)
        kept = deliver(live, look.plan, look.pools, look.tokens, write, self._control(check, "pools kept"))
        write = replace(write, nudge=self.options.live.write.nudge)
        control = self._control(check, "pools stamped")
        stamped = stamp_pools(live, look.pools, look.stampings, write, control)
        for note in (*kept.notes, *stamped.notes):
            self.options.note(note)
        left = {**kept.left, **stamped.left}
        self.delivery = replace(
            self.delivery,
            written=tuple(dict.fromkeys((*self.delivery.written, *kept.written, *stamped.written))),
            failed={**self.delivery.failed, **kept.failed, **stamped.failed},
            left=left,
        )
        self.plan = replace(self.plan, left=left, warnings=look.tokens.warnings() if look.tokens else ())
        if kept.webhook or stamped.webhook:
            return 0
        return sum(look.pools[ref].gate is Gate.WAITING for ref in left)

    def _control(self, check: Callable[[], None], what: str) -> Control:
        return Control(check, self.options.advance(self.spec.name, what))

    def _add(self, plan: ClusterPlan) -> None:
        """What a further look found due comes to what was; what failed once is told once."""
        changes = tuple(dict.fromkeys((*self.plan.changes, *plan.changes)))
        self.plan = replace(plan, changes=changes, failed={**self.plan.failed, **plan.failed})

    def _look(self, settings: Settings, live: Clusters) -> _Look:
        inputs = read_machines(live.worker)
        pools = read_pools(live.worker, inputs.machines)
        self.problems = list(inputs.unreadable)
        tokens = self._tokens(settings, live, inputs)
        upkeep = Maintenance(
            machines=inputs.machines,
            pools=pools,
            tokens=tokens,
            only=self.options.only,
            finalizers=self.options.live.write.finalizers,
            # Without any pool something else is wrong.
            complete=not inputs.unreadable and bool(inputs.machines or inputs.broken),
        )
        plan = ClusterPlan(
            self.spec.name,
            (),
            pools=PoolCounts(desired=len(inputs.machines)),
            failed=inputs.broken,
            hosts=self.options.connections.hosts(self.spec),
        )
        return _Look(upkeep.added_to(plan), pools, tokens, dict(self._stampings(settings, live, inputs, pools)))

    def _tokens(self, settings: Settings, live: Clusters, inputs: Inputs) -> Tokens | None:
        """``None``, with a problem, where no kubeconfig can be made; all else is done then too."""
        try:
            setup = TokenSetup.of(settings, read_server(live.worker, settings).facts, self.options.live.now())
        except InputError as failure:
            self.problems.extend(failure.problems)
            return None
        return Tokens.read(live.worker, inputs.machines, setup)

    def _stampings(
        self, settings: Settings, live: Clusters, inputs: Inputs, pools: Mapping[ObjectRef, LivePool]
    ) -> Iterator[tuple[ObjectRef, Stamping]]:
        """Of the pools that have anything of ours which is not stamped as it should be."""
        living = {
            machine.ref: machine
            for machine in inputs.machines
            if not machine.deleting and is_chosen(machine.name, self.options.only)
        }
        objects = read_stampables(live, living, settings.namespace)
        doubtful = [
            machine
            for ref, machine in living.items()
            if not is_stamped(pools[ref], objects[ref], digests_as_written(machine.template))
        ]
        for ref, templates in read_templates(live, doubtful).items():
            stamping = stamping_of(pools[ref], objects[ref], templates)
            if stamping != Stamping():
                yield ref, stamping
        unmanaged = sum(not any(objects[ref].all()) for ref in living)
        if unmanaged:
            self.options.note(f"{self.spec.name}: pools without objects of {MANAGED_BY} to stamp: {unmanaged}")
