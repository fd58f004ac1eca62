"""The Machines of pools with an old configuration, and rolling a pool. A cluster is read as ``status`` reads it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from osm_gitops.config.spec import ClusterSpec
from osm_gitops.errors import ClusterError, OsmGitopsError, Problem
from osm_gitops.kube.kinds import MACHINE_DEPLOYMENT
from osm_gitops.model.live import Gate
from osm_gitops.model.machine import is_chosen
from osm_gitops.model.objects import ObjectRef
from osm_gitops.model.rollout import MachineRollout, PoolRollout
from osm_gitops.model.status import PoolStatus
from osm_gitops.pipeline.live_work import hold
from osm_gitops.pipeline.options import RunOptions, named
from osm_gitops.pipeline.status.reading import statuses
from osm_gitops.plan.rolling import roll_patch
from osm_gitops.targets.cluster.rollouts import read_rollouts


@dataclass(frozen=True, slots=True)
class PoolState:
    """A pool with its Machines. ``obstacle`` is why it must not be rolled now, empty if it may. ``late`` are Machines
    without a Ready Node."""

    rollout: PoolRollout
    obstacle: str
    late: tuple[MachineRollout, ...] = ()

    @property
    def ref(self) -> ObjectRef:
        return self.rollout.ref

    @property
    def rolls(self) -> bool:
        """Whether it has Machines to replace, and may be rolled."""
        return bool(self.rollout.old) and not self.obstacle


@dataclass(frozen=True, slots=True)
class ClusterState:
    """The pools of a cluster at ``now``; ``problems`` are failed reads."""

    name: str
    now: datetime
    pools: Sequence[PoolState] = ()
    problems: tuple[Problem, ...] = ()
    sensitive: frozenset[str] = field(default=frozenset(), repr=False)

    def rolling(self, most: int) -> frozenset[ObjectRef]:
        """The pools to roll, if at most so many Machines may be replaced in each."""
        return frozenset(pool.ref for pool in self.pools if pool.rolls and len(pool.rollout.old) <= most)


@dataclass(frozen=True, slots=True)
class Rolled:
    """What was done: pools with the number of Machines that machine-controller replaces, and problems."""

    pools: tuple[tuple[ObjectRef, int], ...] = ()
    problems: tuple[Problem, ...] = ()


def cluster_states(specs: Sequence[ClusterSpec], options: RunOptions, late: timedelta) -> Iterator[ClusterState]:
    """The state of each cluster. A Machine without a Ready Node is late after some time. Changes nothing."""
    for spec in specs:
        yield _cluster_state(spec, options, late)


def _cluster_state(spec: ClusterSpec, options: RunOptions, late: timedelta) -> ClusterState:
    now = options.live.now()
    (status,) = statuses([spec], options)
    found = {pool.ref: pool for pool in status.pools}
    try:
        rollouts = read_rollouts(options.connections.worker(spec))
    except OsmGitopsError as failure:
        return ClusterState(spec.name, now, (), tuple(dict.fromkeys((*status.problems, *failure.problems))))
    pools = tuple(
        PoolState(rollout, _obstacle(rollout, found.get(ref)), rollout.late(now - late))
        for ref, rollout in rollouts.items()
        if is_chosen(ref.name, options.only)
    )
    return ClusterState(spec.name, now, pools, status.problems, status.sensitive)


def _obstacle(pool: PoolRollout, status: PoolStatus | None) -> str:
    """Why machines must not be replaced now: new ones would get no configuration, or an old one."""
    if status is None or pool.written is None:
        return "its boot configuration is not known"
    if status.gate.gate is not Gate.READY:
        return status.gate.why or status.gate.gate.value
    objects = (status.config, status.bootstrap, status.provisioning)
    if status.errors or not all(each.in_step for each in objects):
        return "its new configuration is not in the cluster yet: apply it first"
    if status.gate.accepts is not True:
        return f"its bootstrap Secret is not for revision {status.gate.revision}: run osm-gitops refresh"
    if any(each.revision != pool.revision and not each.deleting for each in pool.machines):
        return "machine-controller is replacing its machines already"
    return ""


def roll(spec: ClusterSpec, shown: frozenset[ObjectRef], most: int, options: RunOptions) -> Rolled:
    """Roll those pools of a cluster that were shown, and that still may be rolled. ``most`` is the largest number of
    Machines to replace in a pool. The cluster is locked against other runs meanwhile."""
    done: list[tuple[ObjectRef, int]] = []
    problems: list[Problem] = []
    try:
        with hold(spec, options) as held:
            checked = options.checked(held.check)
            state = _cluster_state(spec, checked, timedelta())
            if state.problems:
                return Rolled(problems=tuple(named(spec.name, state.problems)))
            worker = checked.connections.worker(spec)
            still = shown & state.rolling(most)
            for pool in (each for each in state.pools if each.ref in still):
                patch = {"metadata": {"uid": pool.rollout.uid}, **roll_patch(state.now)}
                try:
                    worker.merge(MACHINE_DEPLOYMENT, pool.ref.namespace, pool.ref.name, patch)
                    done.append((pool.ref, len(pool.rollout.old)))
                except ClusterError as failure:  # it stops no other pool
                    problems += failure.problems
    except OsmGitopsError as failure:
        problems += failure.problems
    return Rolled(tuple(done), tuple(named(spec.name, problems)))
