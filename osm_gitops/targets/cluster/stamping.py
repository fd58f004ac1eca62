"""Revision stamps in live clusters: reading what bears our label, and stamping it (design §6)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from osm_gitops.errors import ClusterError, ConflictError, LostLockError, Problem, WebhookError
from osm_gitops.kubedoor.api import FIELD_MANAGER
from osm_gitops.kubedoor.clusters import Clusters
from osm_gitops.kubedoor.kinds import CONFIG, KINDS, MACHINE_DEPLOYMENT, SECRET, Kind
from osm_gitops.model.desired import MANAGED_BY, MANAGED_BY_LABEL, Side
from osm_gitops.model.live import Delivery, Gate, LivePool
from osm_gitops.model.machine import MachineDeployment, PoolNames
from osm_gitops.model.objects import CLOUD_INIT_NAMESPACE, Json, ObjectRef
from osm_gitops.plan.gate import is_as_read
from osm_gitops.plan.stamps import (
    STAMPED_TEMPLATE,
    LiveTemplates,
    PoolObjects,
    Stamp,
    Stampable,
    Stamping,
    live_templates,
)
from osm_gitops.render.manifests import REVISION, TEMPLATE_DIGEST
from osm_gitops.targets.cluster.applied import STAMPER
from osm_gitops.targets.cluster.finalizers import read_machine
from osm_gitops.targets.cluster.kubelet_kubeconfigs import NO_KUBECONFIG
from osm_gitops.targets.cluster.nudging import nudge_late, nudge_missed
from osm_gitops.targets.cluster.ownership import OSM_MANAGERS
from osm_gitops.targets.cluster.together import side_by_side
from osm_gitops.targets.cluster.write_options import WriteOptions
from osm_gitops.targets.cluster.writes import Writes, api_of
from osm_gitops.targets.cluster.writing import MOVED, Control, StoppedError

_OURS: Final = f"{MANAGED_BY_LABEL}={MANAGED_BY}"
# Whose revision may be written over: ours of a direct apply, and OSM's.
_GIVE_WAY: Final = OSM_MANAGERS | {FIELD_MANAGER}


def read_stampables(live: Clusters, pools: Iterable[ObjectRef], namespace: str) -> Mapping[ObjectRef, PoolObjects]:
    """What of ours is there for each pool; OSCs are in ``namespace``. Raises ClusterError.

    Takes ⌈N/500⌉ requests for OSCs and as many as there are Secrets, of metadata alone.
    """
    found = _list(live, SECRET, Side.WORKER, CLOUD_INIT_NAMESPACE, f"{_OURS},{NO_KUBECONFIG}")
    found |= _list(live, CONFIG, Side.MANAGEMENT, namespace, _OURS)
    objects = {}
    for pool in pools:
        names = PoolNames(pool.name, pool.namespace)
        objects[pool] = PoolObjects(
            config=found.get(ObjectRef(CONFIG.name, namespace, names.config_name)),
            provisioning=found.get(ObjectRef(SECRET.name, CLOUD_INIT_NAMESPACE, names.provisioning_secret_name)),
            bootstrap=found.get(ObjectRef(SECRET.name, CLOUD_INIT_NAMESPACE, names.bootstrap_secret_name)),
        )
    return objects


def read_templates(live: Clusters, machines: Sequence[MachineDeployment]) -> Mapping[ObjectRef, LiveTemplates]:
    """The templates of MachineDeployments, which were read from this cluster. Raises ClusterError.

    What a server-side apply owns stands in the managed fields, which are read here: ⌈N/500⌉ requests, none for none.
    """
    wanted = {machine.ref: machine for machine in machines}

    def keep(body: Mapping[str, Json]) -> tuple[ObjectRef, LiveTemplates] | None:
        metadata = body["metadata"]
        machine = wanted.get(ObjectRef(MACHINE_DEPLOYMENT.name, metadata["namespace"], metadata["name"]))
        if machine is None:
            return None
        return machine.ref, live_templates(machine.template, metadata)

    return dict(live.worker.list(MACHINE_DEPLOYMENT, keep, metadata_only=True)) if wanted else {}


def stamp_pools(
    live: Clusters,
    pools: Mapping[ObjectRef, LivePool],
    stampings: Mapping[ObjectRef, Stamping],
    options: WriteOptions,
    control: Control,
) -> Delivery:
    """Carry out ``stampings``, several pools at a time, then wake the Machines that waited for them.

    A pool that fails stops no other, unless the API server cannot call a webhook. Raises LostLockError as ``control``
    does.
    """
    run = _Stamping(live, pools, stampings, control)
    due = [ref for ref, stamping in stampings.items() if stamping.stamps]
    jobs = (partial(run.stamp, ref) for ref in due)
    side_by_side(jobs, lambda outcome: run.take(outcome, len(due)), options.concurrency, control.stop, live.hurry)
    if options.nudge:
        run.nudge()
    return run.delivery()


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What became of a pool: all of it was done, or why it was left, or what went wrong."""

    pool: ObjectRef
    left: str = ""
    problems: tuple[Problem, ...] = ()


@dataclass(slots=True)
class _Stamping:
    """One run's stamps: threads carry them out, the thread that began keeps account."""

    live: Clusters
    pools: Mapping[ObjectRef, LivePool]
    stampings: Mapping[ObjectRef, Stamping]
    control: Control
    outcomes: dict[ObjectRef, _Outcome] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()
    notes: list[str] = field(default_factory=list)
    webhook: str = ""
    """One that the API server cannot call; set by any thread."""

    def stamp(self, ref: ObjectRef) -> _Outcome:
        """Runs in any thread."""
        if self.webhook:
            return _Outcome(ref, f"the API server cannot call webhook {self.webhook}")
        writes = Writes(self.live, force=False, check=self.control.may_write, note=self.notes.append)
        try:
            return _Outcome(ref, _stamp_pool(writes, self.pools[ref], self.stampings[ref].stamps))
        except LostLockError:
            raise
        except ClusterError as failure:
            if isinstance(failure, WebhookError):
                self.webhook = failure.webhook
            return _Outcome(ref, problems=tuple(problem.at(about=str(ref)) for problem in failure.problems))
        except StoppedError:
            return _Outcome(ref, MOVED)

    def take(self, outcome: _Outcome, total: int) -> None:
        self.outcomes[outcome.pool] = outcome
        self.control.advance(len(self.outcomes), total)

    def nudge(self) -> None:
        """Wake what waits in pools that were just opened, and in others because a run was ended before it woke them."""
        done = [ref for ref, outcome in self.outcomes.items() if not outcome.left and not outcome.problems]
        opened = {ref for ref in done if any(stamp.opens for stamp in self.stampings[ref].stamps)}
        ready = [pool for pool in self.pools.values() if pool.gate is Gate.READY]
        late, others = [[pool for pool in ready if (pool.ref in opened) is wanted] for wanted in (True, False)]
        try:
            woken = nudge_late(self.live.worker, late, self.control.check)
            woken += nudge_missed(self.live.worker, others, self.control.check)
        except LostLockError:
            raise
        except ClusterError as failure:
            self.problems = failure.problems
            return
        self.notes += [f"woke {woken} Machines that waited for their bootstrap Secret"] if woken else []

    def delivery(self) -> Delivery:
        """The account, in the order of the pools."""
        told = [self.outcomes[ref] for ref in sorted(self.outcomes)]
        failed: dict[ObjectRef | None, tuple[Problem, ...]] = {
            each.pool: each.problems for each in told if each.problems
        }
        left = {ref: stamping.left for ref, stamping in sorted(self.stampings.items()) if stamping.left}
        return Delivery(
            written=tuple(each.pool for each in told if not each.left and not each.problems),
            failed=failed | ({None: self.problems} if self.problems else {}),
            left=left | {each.pool: each.left for each in told if each.left},
            notes=tuple(self.notes),
            webhook=self.webhook,
        )


def _stamp_pool(writes: Writes, pool: LivePool, stamps: Sequence[Stamp]) -> str:
    """Carry out the stamps of a pool, in order; why they were left, as a clause. Raises ClusterError."""
    now = read_machine(writes, pool)
    if now is None or not is_as_read(pool, now):
        return MOVED
    for stamp in stamps:
        try:
            _stamp(writes, stamp)
        except ConflictError as conflict:
            if not conflict.managers:
                return MOVED
            return f"its revision is that of {', '.join(conflict.managers)}, which has it from git"
        except ClusterError as failure:
            if failure.status == 404:
                return MOVED
            raise
    return ""


def _stamp(writes: Writes, stamp: Stamp) -> None:
    """Nobody else is stopped by it: this field manager owns nothing but the stamp."""
    target = stamp.target
    annotations = {} if stamp.revision is None else {REVISION: stamp.revision, STAMPED_TEMPLATE: stamp.template}
    kind = KINDS[target.ref.kind]
    body = {
        "apiVersion": kind.api_version,
        "kind": kind.name,
        "metadata": {
            "name": target.ref.name,
            "namespace": target.ref.namespace,
            # The object that was looked at, as it was then: another content is not stamped.
            "uid": target.uid,
            "resourceVersion": target.resource_version,
            "annotations": annotations,
        },
    }
    api = api_of(writes.live, target.side)
    writes.check()
    try:
        api.apply(body, manager=STAMPER, metadata_only=True)
    except ConflictError as conflict:
        if not conflict.managers or not _GIVE_WAY.issuperset(conflict.managers):
            raise
        writes.check()
        api.apply(body, manager=STAMPER, force=True, metadata_only=True)


def _list(live: Clusters, kind: Kind, side: Side, namespace: str, labels: str) -> dict[ObjectRef, Stampable]:

    def keep(body: Mapping[str, Json]) -> Stampable:
        return _stampable(kind, side, body["metadata"])

    found = api_of(live, side).list(kind, keep, namespace, labels=labels, metadata_only=True)
    return {each.ref: each for each in found}


def _stampable(kind: Kind, side: Side, metadata: Mapping[str, Json]) -> Stampable:
    annotations = metadata.get("annotations") or {}
    return Stampable(
        ref=ObjectRef(kind.name, metadata["namespace"], metadata["name"]),
        side=side,
        uid=metadata["uid"],
        resource_version=metadata["resourceVersion"],
        revision=annotations.get(REVISION),
        template=annotations.get(TEMPLATE_DIGEST),
        stamped=annotations.get(STAMPED_TEMPLATE),
    )
