"""What cannot live in git, for clusters whose desired state comes from there (design.md, "Writing to clusters"): tokens
and kubeconfigs of kubelets, the revisions of Secrets and OSCs, finalizers, and what goes with pools that are gone.

A refresh is a run as ``apply`` is, with a plan that has nothing but this maintenance in it. It reads nothing but the
clusters, so it needs no tree, no key and no profile.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from itertools import chain

from osm_gitops.config.spec import ClusterSpec
from osm_gitops.errors import InputError, Problem
from osm_gitops.kube.api import Clusters
from osm_gitops.model.desired import MANAGED_BY, Desired
from osm_gitops.model.inputs import Inputs
from osm_gitops.model.live import Gate, LivePool
from osm_gitops.model.machine import is_chosen
from osm_gitops.model.objects import ObjectRef
from osm_gitops.model.plan import ClusterPlan, Plan, PoolCounts
from osm_gitops.model.settings import Settings
from osm_gitops.pipeline.kkp import check_state, permitted
from osm_gitops.pipeline.live import LiveState
from osm_gitops.pipeline.live_work import LiveWork, live_works
from osm_gitops.pipeline.load import load_settings
from osm_gitops.pipeline.options import Outcome, RunOptions, named
from osm_gitops.pipeline.run import carry_out
from osm_gitops.pipeline.side_by_side import threads
from osm_gitops.plan.machines import digests_as_written
from osm_gitops.plan.stamps import Stamping, is_stamped, stamping_of
from osm_gitops.report.metrics import Measured
from osm_gitops.sources.cluster import read_machines, read_server
from osm_gitops.targets.cluster.pools import read_pools
from osm_gitops.targets.cluster.stamping import read_stampables, read_templates
from osm_gitops.targets.cluster.target import Maintenance, Scope, StampedTarget
from osm_gitops.targets.cluster.tokens import Tokens, TokenSetup


def refresh_clusters(clusters: Sequence[ClusterSpec], options: RunOptions) -> Outcome:
    """Refresh a few clusters at a time; one that fails stops no other. The outcome's plan is what was due."""
    size = threads(len(clusters), options.jobs)
    few = [clusters[start : start + size] for start in range(0, len(clusters), size)]
    outcomes = [carry_out(partial(live_works, each, RefreshWork, options), options, lambda _: True) for each in few]
    return Outcome(
        Plan(tuple(chain(*(each.plan.clusters for each in outcomes)))),
        tuple(dict.fromkeys(chain(*(each.problems for each in outcomes)))),
        deliveries={name: done for each in outcomes for name, done in each.deliveries.items()},
        measured=tuple(chain(*(each.measured for each in outcomes))),
        warnings=tuple(chain(*(each.warnings for each in outcomes))),
    )


@dataclass(slots=True)
class RefreshWork(LiveWork):
    """One cluster's refresh. ``due`` is all that was due so far: each reading finds what machine-controller had to do
    something for first."""

    due: ClusterPlan | None = None

    @property
    def plans(self) -> list[ClusterPlan]:
        return [self.due] if self.due else []

    def read(self, options: RunOptions) -> LiveState:
        """Look at the cluster, and plan. Raises OsmGitopsError."""
        state = read_maintenance(self.spec, options)
        changes, failed = (self.due.changes, self.due.failed) if self.due else ((), {})
        self.due = replace(
            state.plan,
            changes=tuple(dict.fromkeys((*changes, *state.plan.changes))),
            failed={**failed, **state.plan.failed},
        )
        return state

    def finish(
        self, options: RunOptions, started: datetime, problems: Sequence[Problem]
    ) -> tuple[tuple[Measured, ...], tuple[Problem, ...]]:
        """Record the run in the cluster."""
        ended = LiveWork.finish(self, options, started, problems)
        if self.due and self.state:
            tokens = self.state.tokens
            self.due = replace(self.due, left=self.delivery.left, warnings=tokens.warnings() if tokens else ())
        return ended

    def _warnings(self) -> tuple[Problem, ...]:
        return self.osm.warnings

    def _deliver(self, state: LiveState, options: RunOptions) -> None:
        self.delivery = replace(self.delivery, left={})  # each reading tells of all pools
        LiveWork._deliver(self, state, options)

    def _settle(self, state: LiveState, options: RunOptions) -> None:
        """Look again, and do what is due, as long as pools wait for machine-controller."""
        for pause in options.live.pauses():
            waiting = sum(state.pools[ref].gate is Gate.WAITING for ref in self.delivery.left)
            if not waiting or self.delivery.webhook:
                return
            options.note(f"{self.spec.name}: pools that wait for machine-controller: {waiting}")
            options.live.wait(pause)
            check_state(self.spec, options.connections)
            state = self.state = self.read(options)
            self._deliver(state, options)


def read_maintenance(spec: ClusterSpec, options: RunOptions) -> LiveState:
    """Read a cluster, and plan what is due besides what is in git. Changes nothing. Raises OsmGitopsError."""
    settings, live = load_settings(spec), options.connections.clusters(spec)
    inputs = read_machines(live.worker)
    pools = read_pools(live.worker, inputs.machines)
    tokens, problems = _tokens(settings, live, inputs, options)
    target = StampedTarget(
        live,
        Scope(settings.namespace),
        Maintenance(
            machines=inputs.machines,
            pools=pools,
            tokens=tokens,
            only=options.only,
            finalizers=options.live.write.finalizers,
            # Without any pool something else is wrong.
            complete=not inputs.unreadable and bool(inputs.machines or inputs.broken),
        ),
        replace(options.live.write, namespace=settings.namespace),
        options.check,
        dict(_stampings(spec, settings, inputs, pools, options)),
    )
    plan = ClusterPlan(
        spec.name,
        (),
        pools=PoolCounts(desired=len(inputs.machines)),
        failed=inputs.broken,
        hosts=options.connections.hosts(spec),
    )
    leaving = frozenset(ref for ref, pool in pools.items() if pool.gate is Gate.DELETING)
    known = (ref for ref in pools if ref not in leaving and is_chosen(ref.name, options.only))
    return LiveState(
        Desired(spec.name, (), pools=tuple(known)),
        permitted(spec, target.complete(plan), leaving),
        target,
        tuple(named(spec.name, (*inputs.unreadable, *problems))),
    )


def _tokens(
    settings: Settings, live: Clusters, inputs: Inputs, options: RunOptions
) -> tuple[Tokens | None, tuple[Problem, ...]]:
    """``None``, with problems, where no kubeconfig can be made; all else is done then too."""
    try:
        setup = TokenSetup.of(settings, read_server(live.worker, settings).facts, options.live.now())
    except InputError as failure:
        return None, failure.problems
    return Tokens.read(live.worker, inputs.machines, setup), ()


def _stampings(
    spec: ClusterSpec, settings: Settings, inputs: Inputs, pools: Mapping[ObjectRef, LivePool], options: RunOptions
) -> Iterator[tuple[ObjectRef, Stamping]]:
    """Of the pools that have anything of ours which is not stamped as it should be."""
    live = options.connections.clusters(spec)
    living = {
        machine.ref: machine
        for machine in inputs.machines
        if not machine.deleting and is_chosen(machine.name, options.only)
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
        options.note(f"{spec.name}: pools without objects of {MANAGED_BY} to stamp: {unmanaged}")
