"""Revision stamps in live clusters: reading our objects and stamping them (design.md, "Revision stamps")."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from osm_gitops.errors import ClusterError, Code, ConflictError, LostLockError, Problem, WebhookError
from osm_gitops.kube.api import Clusters
from osm_gitops.kube.kinds import CONFIG, FIELD_MANAGER, KINDS, MACHINE_DEPLOYMENT, SECRET, Kind
from osm_gitops.model.desired import MANAGED_BY, MANAGED_BY_LABEL, MOVED, Left, LeftReason, Side
from osm_gitops.model.live import Delivery, Gate, LivePool, WriteOptions
from osm_gitops.model.machine import MachineDeployment, PoolNames
from osm_gitops.model.objects import CLOUD_INIT_NAMESPACE, LAST_APPLIED, Json, ObjectRef
from osm_gitops.plan.stamps import (
    STAMPED_TEMPLATE,
    LiveTemplates,
    PoolObjects,
    Stamp,
    Stampable,
    Stamping,
    is_as_read,
    last_applied,
    live_templates,
)
from osm_gitops.render.manifests import REVISION, TEMPLATE_DIGEST
from osm_gitops.targets.cluster.applied import OSM_MANAGERS, STAMPER
from osm_gitops.targets.cluster.bootstrap_tokens import NO_KUBECONFIG
from osm_gitops.targets.cluster.pools import nudge_late, nudge_missed
from osm_gitops.targets.cluster.steps import run_parallel
from osm_gitops.targets.cluster.writes import Writes, api_of, read_machine
from osm_gitops.targets.cluster.writing import Control, StoppedError

STAMPED_CONFIGS: Final = f"{MANAGED_BY_LABEL}={MANAGED_BY}"
STAMPED_SECRETS: Final = f"{STAMPED_CONFIGS},{NO_KUBECONFIG}"
"""Labels of the objects that may get a revision."""
# Field managers that write revisions in the cluster: osm-gitops and OSM.
_OF_THE_CLUSTER: Final = OSM_MANAGERS | {FIELD_MANAGER, STAMPER}
_OWNED_REVISION: Final = f"f:{REVISION}"


def read_stampables(live: Clusters, pools: Iterable[ObjectRef], namespace: str) -> Mapping[ObjectRef, PoolObjects]:
    """Read the objects of each pool; OSCs are in ``namespace``. Raises ClusterError.

    Lists metadata only: ⌈N/500⌉ requests for OSCs and as many for Secrets.
    """
    found = _list(live, SECRET, Side.WORKER, CLOUD_INIT_NAMESPACE, STAMPED_SECRETS)
    found |= _list(live, CONFIG, Side.MANAGEMENT, namespace, STAMPED_CONFIGS)
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
    """Read the templates of MachineDeployments, which were read from this cluster. Raises ClusterError.

    The managed fields show which fields a server-side apply owns. Takes ⌈N/500⌉ requests, or none without machines.
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
    run_parallel(jobs, lambda outcome: run.take(outcome, len(due)), options.concurrency, control.stop, live.hurry)
    if options.nudge:
        run.nudge()
    return run.delivery()


@dataclass(frozen=True, slots=True)
class _Outcome:
    """The result of a pool: ``done``, or why it was skipped, or its problems. Overwriting a revision from git is a
    problem too."""

    pool: ObjectRef
    done: bool = False
    left: Left | None = None
    problems: tuple[Problem, ...] = ()


@dataclass(slots=True)
class _Stamping:
    """The stamps of one run. Threads write them; the calling thread collects the results."""

    live: Clusters
    pools: Mapping[ObjectRef, LivePool]
    stampings: Mapping[ObjectRef, Stamping]
    control: Control
    outcomes: dict[ObjectRef, _Outcome] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()
    notes: list[str] = field(default_factory=list)
    webhook: str = ""
    """A webhook that the API server cannot call; set by any thread."""

    def stamp(self, ref: ObjectRef) -> _Outcome:
        """Runs in any thread."""
        if self.webhook:
            left = Left(LeftReason.WEBHOOK, f"the API server cannot call webhook {self.webhook}")
            return _Outcome(ref, left=left)
        writes = Writes(self.live, force=True, check=self.control.may_write, note=self.notes.append)
        stamps = self.stampings[ref].stamps
        try:
            if not _stamp_pool(writes, self.pools[ref], stamps):
                return _Outcome(ref, left=MOVED)
            problems = tuple(problem.at(about=str(ref)) for problem in _put_back(stamps))
            return _Outcome(ref, done=True, problems=problems)
        except LostLockError:
            raise
        except ClusterError as failure:
            if isinstance(failure, WebhookError):
                self.webhook = failure.webhook
            return _Outcome(ref, problems=tuple(problem.at(about=str(ref)) for problem in failure.problems))
        except StoppedError:
            return _Outcome(ref, left=MOVED)

    def take(self, outcome: _Outcome, total: int) -> None:
        self.outcomes[outcome.pool] = outcome
        self.control.advance(len(self.outcomes), total)

    def nudge(self) -> None:
        """Wake waiting Machines of stamped pools, and of others in case an interrupted run did not."""
        done = [ref for ref, outcome in self.outcomes.items() if outcome.done]
        opened = {ref for ref in done if any(stamp.opens for stamp in self.stampings[ref].stamps)}
        late = [pool for ref, pool in self.pools.items() if ref in opened]
        others = [pool for ref, pool in self.pools.items() if ref not in opened and pool.gate is Gate.READY]
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
        """All results, sorted by pool."""
        outcomes = [self.outcomes[ref] for ref in sorted(self.outcomes)]
        failed: dict[ObjectRef | None, tuple[Problem, ...]] = {
            each.pool: each.problems for each in outcomes if each.problems
        }
        left = {ref: stamping.left for ref, stamping in sorted(self.stampings.items()) if stamping.left}
        return Delivery(
            written=tuple(each.pool for each in outcomes if each.done),
            failed=failed | ({None: self.problems} if self.problems else {}),
            left=left | {each.pool: each.left for each in outcomes if each.left},
            notes=tuple(self.notes),
            webhook=self.webhook,
        )


def _stamp_pool(writes: Writes, pool: LivePool, stamps: Sequence[Stamp]) -> bool:
    """Carry out the stamps of a pool, in order; returns False if the pool has changed since. Raises ClusterError."""
    now = read_machine(writes, pool)
    if now is None or not is_as_read(pool, now):
        return False
    for stamp in stamps:
        try:
            _stamp(writes, stamp)
        except ConflictError:
            return False
        except ClusterError as failure:
            if failure.status == 404:
                return False
            raise
    return True


def _stamp(writes: Writes, stamp: Stamp) -> None:
    """Set or remove the annotation regardless of its owner: only the cluster knows the revision."""
    target, kind = stamp.target, KINDS[stamp.target.ref.kind]
    api = api_of(writes.live, target.side)
    # Refused if the object has changed since it was read.
    metadata: dict[str, Json] = {"uid": target.uid, "resourceVersion": target.resource_version}
    writes.check()
    if stamp.revision is None:
        metadata["annotations"] = {REVISION: None, STAMPED_TEMPLATE: None}
        api.merge(kind, target.ref.namespace, target.ref.name, {"metadata": metadata})
        return
    metadata |= {"name": target.ref.name, "namespace": target.ref.namespace}
    metadata["annotations"] = {REVISION: stamp.revision, STAMPED_TEMPLATE: stamp.template}
    body = {"apiVersion": kind.api_version, "kind": kind.name, "metadata": metadata}
    api.apply(body, manager=STAMPER, force=True)


def _put_back(stamps: Sequence[Stamp]) -> Iterator[Problem]:
    """Warn that a tool will restore an overwritten revision from git."""
    contested = [stamp for stamp in stamps if stamp.is_contested]
    if not contested:
        return
    writers = ", ".join(sorted({writer for stamp in contested for writer in stamp.target.declared_by}))
    revisions = " and ".join(sorted({str(stamp.target.revision) for stamp in contested}))
    now = contested[-1].revision
    what = f"git has revision {revisions}, which {writers} will restore"
    what += f" over revision {now}" if now is not None else ", and which is not that of the content"
    fix = "Run osm-gitops apply, which writes no revision to git, and have that commit applied"
    yield Problem(Code.REVISION_DECLARED, what, fix=fix)


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
        declared_by=_declared_by(metadata),
    )


def _declared_by(metadata: Mapping[str, Json]) -> tuple[str, ...]:
    """Field managers that apply the object with a revision, and so will restore it. They own it by server-side apply,
    or it is in the annotation of ``kubectl apply``."""
    owners: dict[str, set[str]] = {"Apply": set(), "Update": set()}
    for entry in metadata.get("managedFields") or ():
        owned = ((entry.get("fieldsV1") or {}).get("f:metadata") or {}).get("f:annotations") or {}
        if _OWNED_REVISION in owned and entry.get("manager") not in _OF_THE_CLUSTER:
            owners.setdefault(str(entry.get("operation")), set()).add(str(entry.get("manager")))
    found = owners["Apply"]
    annotations = metadata.get("annotations") or {}
    applied = last_applied(annotations) if REVISION in annotations.get(LAST_APPLIED, "") else {}
    if REVISION in ((applied.get("metadata") or {}).get("annotations") or {}):
        found |= owners["Update"] or {"kubectl apply"}
    return tuple(sorted(found))
