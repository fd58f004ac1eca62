"""The beginning and the end of a run over a live cluster: its Lease, what it leaves behind, its figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Final

from osm_gitops.config.spec import ClusterSpec
from osm_gitops.errors import Code, Problem, some
from osm_gitops.kube.clusters import Clusters
from osm_gitops.model.desired import LeftReason
from osm_gitops.model.live import Delivery, LivePool
from osm_gitops.model.objects import ObjectRef
from osm_gitops.model.plan import ClusterPlan
from osm_gitops.model.record import Ran
from osm_gitops.pipeline.load import load_settings
from osm_gitops.pipeline.options import RunOptions
from osm_gitops.report.metrics import Measured
from osm_gitops.targets.cluster.lease import Held, holder_name, lease
from osm_gitops.targets.cluster.record import record_run

_NAMED: Final = 3


def hold(spec: ClusterSpec, options: RunOptions) -> AbstractContextManager[Held]:
    """Keep all other runs from writing to a cluster while this one does. Raises OsmGitopsError where one is at work."""
    return lease(
        options.connections.management(spec),
        load_settings(spec).namespace,
        holder=holder_name(),
        timeout=options.live.lock_timeout.total_seconds(),
        note=lambda sentence: options.tell(f"{spec.name}: {sentence}"),
    )


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
    ran = Ran(
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


def record(
    spec: ClusterSpec, held: Held, ended: Ended, started: datetime, options: RunOptions
) -> tuple[Measured, tuple[Problem, ...]]:
    """Leave behind in the clusters what the run came to; its figures, and what could not be left."""
    live = options.connections.clusters(spec)
    ran = measure(spec.name, ended, started, options).ran
    recorded = record_run(live, held, ran, ended.uids)
    good = recorded.record.last_good_run
    last_good = datetime.fromisoformat(good).astimezone(UTC) if good else None
    # What the run itself has failed with need not be told again as a warning.
    known = {problem.what for problem in ended.problems}
    warnings = tuple(problem for problem in recorded.warnings if problem.what not in known)
    return Measured(replace(recorded.ran, requests=_requests(live)), last_good), warnings


def stuck_problems(ran: Ran) -> Iterator[Problem]:
    """Pools that two runs in a row have left, as problems: one for each reason."""
    groups: dict[tuple[LeftReason, str], list[ObjectRef]] = {}
    for pool in sorted(ran.stuck):
        left = ran.left[pool]
        groups.setdefault((left.reason, left.why), []).append(pool)
    for (reason, why), pools in groups.items():
        since = min(ran.left[pool].since for pool in pools)
        which = some([pool.namespaced_name for pool in pools], _NAMED)
        what = f"left by two runs in a row, since {since}: {why} ({reason.code})"
        yield Problem(Code.UNCODED, what, about=f"{'pool' if len(pools) == 1 else 'pools'} {which}", fix=reason.fix)


def uids_of(pools: Mapping[ObjectRef, LivePool]) -> Mapping[ObjectRef, str]:
    """Those of the pools that are there."""
    return {ref: pool.uid for ref, pool in pools.items() if pool.uid}


def _requests(live: Clusters) -> int:
    apis = {id(api): api for api in (live.management, live.worker)}
    return sum(api.requests for api in apis.values())
