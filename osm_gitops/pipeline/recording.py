"""What a run over a cluster came to, and its figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from osm_gitops.errors import Code, Problem, some
from osm_gitops.model.desired import LeftReason
from osm_gitops.model.live import Delivery, LivePool
from osm_gitops.model.objects import ObjectRef
from osm_gitops.model.plan import ClusterPlan
from osm_gitops.model.record import FinishedRun
from osm_gitops.pipeline.options import Confirm, RunOptions
from osm_gitops.report.metrics import Measured

_NAMED: Final = 3


@dataclass(frozen=True, slots=True)
class Ended:
    """What a run over one cluster came to. ``problems`` are of the cluster as a whole; ``known`` are the pools that the
    run looked at; ``uids`` are those of live MachineDeployments; ``tokens_end`` is when the first token ends that
    machines join with."""

    plan: ClusterPlan | None = None
    delivery: Delivery = field(default_factory=Delivery)
    problems: tuple[Problem, ...] = ()
    known: tuple[ObjectRef, ...] = ()
    uids: Mapping[ObjectRef, str] = field(default_factory=dict)
    tokens_end: datetime | None = None


def measure(cluster: str, ended: Ended, started: datetime, options: RunOptions) -> Measured:
    """Figures of a run that leaves nothing in a cluster: one into git, or one that never got the Lease."""
    ran = FinishedRun(
        cluster=cluster,
        started=started,
        ended=options.live.now(),
        plan=ended.plan,
        delivery=ended.delivery,
        problems=ended.problems,
        known=ended.known,
        narrowed=bool(options.only),
        tokens_end=ended.tokens_end,
    )
    return Measured(ran, ran.ended if ran.good and not ran.narrowed else None)


def stuck_problems(ran: FinishedRun) -> Iterator[Problem]:
    """Pools that two runs in a row have left, as problems: one for each reason."""
    groups: dict[tuple[LeftReason, str], list[ObjectRef]] = {}
    for pool in sorted(ran.stuck):
        left = ran.left[pool]
        groups.setdefault((left.reason, left.why), []).append(pool)
    for (reason, why), pools in groups.items():
        since = min(ran.left[pool].since for pool in pools)
        which = some([pool.namespaced_name for pool in pools], _NAMED)
        what = f"left by two runs in a row, since {since}: {why} ({reason.code})"
        yield Problem(Code.POOLS_STUCK, what, about=f"{'pool' if len(pools) == 1 else 'pools'} {which}", fix=reason.fix)


def uids_of(pools: Mapping[ObjectRef, LivePool]) -> Mapping[ObjectRef, str]:
    """Those of the pools that are there."""
    return {ref: pool.uid for ref, pool in pools.items() if pool.uid}


@dataclass(slots=True)
class LockedOut:
    """Clusters in which nothing is done, for what has to be locked could not be: another run is at work."""

    clusters: tuple[str, ...]
    why: tuple[Problem, ...]
    moved: bool = False
    stale: bool = False
    plans: list[ClusterPlan] = field(default_factory=list)
    pools: list[ObjectRef] = field(default_factory=list)
    deliveries: Mapping[str, Delivery] = field(default_factory=dict)
    published: tuple[str, ...] = ()
    remark: str = ""
    beside: bool = True

    def interrupt(self) -> None:
        """Nothing is done."""

    def prepare(self, _options: RunOptions, problems: list[Problem]) -> None:
        """Tell why."""
        problems.extend(self.why)

    def deliver(self, options: RunOptions, confirm: Confirm, problems: list[Problem]) -> None:
        """Do nothing."""

    def finish(
        self, options: RunOptions, started: datetime, problems: Sequence[Problem]
    ) -> tuple[tuple[Measured, ...], tuple[Problem, ...]]:
        """Figures of a run that failed."""
        ended = Ended(problems=tuple(problems))
        return tuple(measure(cluster, ended, started, options) for cluster in self.clusters), ()
