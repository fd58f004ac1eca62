"""Pools of a worker cluster: reading MachineDeployments, MachineSets and Machines, and waking Machines that waited.

machine-controller retries a Machine after increasing pauses, but immediately when one of its annotations changes
(osm-behaviour.md, "machine-controller").
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from osm_gitops.errors import ClusterError
from osm_gitops.kube.api import Api
from osm_gitops.kube.kinds import FIELD_MANAGER, MACHINE, MACHINE_DEPLOYMENT, MACHINE_SET, SECRET
from osm_gitops.model.desired import ABSENT
from osm_gitops.model.live import CLEANUP_FINALIZER, NO_DIFFERENCE, Difference, Gate, LivePool, WaitingMachine
from osm_gitops.model.machine import REVISION_ANNOTATION, MachineDeployment, PoolNames
from osm_gitops.model.objects import CLOUD_INIT_NAMESPACE, Json, ObjectRef, server_annotations
from osm_gitops.plan.machines import difference, manifest_of, template_difference
from osm_gitops.plan.stamps import (
    LiveMachineDeployment,
    MachineSetFact,
    annotations_key,
    gate_of,
    revision_fits,
    template_key,
)
from osm_gitops.render.manifests import REVISION
from osm_gitops.targets.cluster.applied import STAMPER, owned_by_our_apply

if TYPE_CHECKING:
    from osm_gitops.kube.api import Api


NUDGED: Final = "osm-gitops.io/nudged"
"""Annotation of Machines that waited for their bootstrap Secret: the revision of the Secret."""

# machine-controller sets both immediately before it creates an instance.
_HAS_INSTANCE: Final = frozenset({"machine-delete-finalizer", "machine-node-delete-finalizer"})


def read_pools(
    worker: Api, machines: Sequence[MachineDeployment], broken: Iterable[ObjectRef] = ()
) -> Mapping[ObjectRef, LivePool]:
    """Read the pools of ``machines``, which were just read from this cluster. Raises ClusterError.

    ``broken`` MachineDeployments cannot be rendered, but their finalizers are still set and removed.
    Takes ⌈N/500⌉ requests for MachineSets and as many for Machines, and one for each ``broken`` one.
    """
    found = [_live(each.manifest.body, each.template) for each in machines]
    return _pools(worker, machines, found, broken)


@dataclass(frozen=True, slots=True)
class PoolsOfTree:
    """Pools of a tree in the cluster, and ``strays``: MachineDeployments that are only in the cluster."""

    pools: Mapping[ObjectRef, LivePool]
    strays: Mapping[ObjectRef, LivePool]


def read_pools_of_tree(
    worker: Api, machines: Sequence[MachineDeployment], broken: Iterable[ObjectRef] = ()
) -> PoolsOfTree:
    """As :func:`read_pools`, for MachineDeployments of a tree, which are compared with the live ones.

    Those that are missing in the cluster wait. Those that are being deleted are included even if the tree no longer has
    them. Takes ⌈N/500⌉ additional requests for MachineDeployments. Raises ClusterError.
    """
    wanted, refused = {each.ref: each for each in machines}, set(broken)
    found = _pools(worker, machines, _compared(worker, wanted), refused)
    strays = {ref for ref, each in found.items() if each.gate is not Gate.DELETING} - wanted.keys() - refused
    return PoolsOfTree(
        pools={ref: each for ref, each in found.items() if ref not in strays},
        strays={ref: found[ref] for ref in sorted(strays)},
    )


def _pools(
    worker: Api, machines: Sequence[MachineDeployment], found: list[LiveMachineDeployment], broken: Iterable[ObjectRef]
) -> Mapping[ObjectRef, LivePool]:
    known = {each.ref for each in found}
    found += _unread(worker, (ref for ref in broken if ref.kind == MACHINE_DEPLOYMENT.name and ref not in known))
    sets = _machine_sets(worker) if found else {}
    machines_of = _machines(worker, {each.uid: each.revision for facts in sets.values() for each in facts})
    pools = {each.ref: _pool(each, sets.get(each.uid, ()), machines_of) for each in found}
    absent = {each.ref: _absent(each.ref) for each in machines if each.ref not in pools}
    return pools | absent


def read_gates(worker: Api, machines: Sequence[MachineDeployment]) -> Mapping[ObjectRef, LivePool]:
    """As :func:`read_pools`, without Machines. Raises ClusterError. Takes ⌈N/500⌉ requests for MachineSets."""
    found = [_live(each.manifest.body, each.template) for each in machines]
    sets = _machine_sets(worker) if found else {}
    return {each.ref: _pool(each, sets.get(each.uid, ()), {}) for each in found}


def _pool(
    machine: LiveMachineDeployment,
    sets: Sequence[MachineSetFact],
    machines_of: Mapping[str, Sequence[WaitingMachine | None]],
) -> LivePool:
    gate, left = gate_of(machine, sets)
    machines = [each for fact in sets for each in machines_of.get(fact.uid, ())]
    return LivePool(
        ref=machine.ref,
        uid=machine.uid,
        resource_version=machine.resource_version,
        revision=machine.revision,
        finalizers=machine.finalizers,
        gate=gate,
        left=left,
        machines=len(machines),
        waiting=tuple(each for each in machines if each is not None),
        sets=tuple(fact.uid for fact in sets if fact.revision == machine.revision),
        fits=revision_fits(machine, sets),
        generation=machine.generation,
        annotations=machine.annotations,
        server_annotations=machine.server_annotations,
        difference=machine.difference,
    )


def _absent(ref: ObjectRef) -> LivePool:
    return LivePool(ref=ref, uid="", resource_version="", revision=None, finalizers=(), gate=Gate.WAITING, left=ABSENT)


def _live(
    body: Mapping[str, Json], template: Json, *, differs: str = "", found: Difference = NO_DIFFERENCE
) -> LiveMachineDeployment:
    metadata = body["metadata"]
    annotations = metadata.get("annotations")
    return LiveMachineDeployment(
        ref=ObjectRef(MACHINE_DEPLOYMENT.name, metadata["namespace"], metadata["name"]),
        uid=metadata.get("uid", ""),
        resource_version=metadata.get("resourceVersion", ""),
        generation=metadata.get("generation", 0),
        annotations=annotations_key(annotations),
        server_annotations=server_annotations(annotations),
        revision=(annotations or {}).get(REVISION_ANNOTATION),
        finalizers=tuple(metadata.get("finalizers") or ()),
        paused=(body.get("spec") or {}).get("paused") is True,
        deleting=metadata.get("deletionTimestamp") is not None,
        template=template_key(template),
        differs=differs,
        difference=found,
    )


def _compared(worker: Api, machines: Mapping[ObjectRef, MachineDeployment]) -> list[LiveMachineDeployment]:
    """MachineDeployments of the cluster, without those that are being deleted, are not in ``machines`` and have no
    finalizer of ours."""

    def keep(body: Mapping[str, Json]) -> LiveMachineDeployment | None:
        metadata = body["metadata"]
        ref = ObjectRef(MACHINE_DEPLOYMENT.name, metadata["namespace"], metadata["name"])
        wanted = machines.get(ref)
        template = (body.get("spec") or {}).get("template")
        if wanted is not None:
            found = difference(manifest_of(wanted), body, owned_by_our_apply(metadata))
            return _live(body, template, differs=template_difference(wanted.template, template), found=found)
        leaves = metadata.get("deletionTimestamp") and CLEANUP_FINALIZER not in (metadata.get("finalizers") or ())
        return None if leaves else _live(body, template)

    return worker.list(MACHINE_DEPLOYMENT, keep)


def _unread(worker: Api, refs: Iterable[ObjectRef]) -> Iterator[LiveMachineDeployment]:
    for ref in refs:
        body = worker.get(MACHINE_DEPLOYMENT, ref.namespace, ref.name)
        if body is not None:
            yield _live(body, (body.get("spec") or {}).get("template"))


def _machine_sets(worker: Api) -> Mapping[str, Sequence[MachineSetFact]]:
    """MachineSets by the uid of the MachineDeployment that controls them."""

    def keep(body: Mapping[str, Json]) -> tuple[str, MachineSetFact] | None:
        metadata = body["metadata"]
        owner = controller_of(metadata, MACHINE_DEPLOYMENT.name)
        if not owner:
            return None
        revision = (metadata.get("annotations") or {}).get(REVISION_ANNOTATION, "")
        template = template_key((body.get("spec") or {}).get("template"))
        return owner, MachineSetFact(metadata["uid"], revision, template)

    found: dict[str, list[MachineSetFact]] = defaultdict(list)
    for owner, fact in worker.list(MACHINE_SET, keep):
        found[owner].append(fact)
    return found


def _machines(worker: Api, revisions: Mapping[str, str]) -> Mapping[str, Sequence[WaitingMachine | None]]:
    """Machines by the uid of their MachineSet (the keys of ``revisions``); ``None`` for those that do not wait."""

    def keep(body: Mapping[str, Json]) -> tuple[str, WaitingMachine | None] | None:
        owner = controller_of(body["metadata"], MACHINE_SET.name)
        return (owner, waiting_machine(body, revisions[owner])) if owner in revisions else None

    found: dict[str, list[WaitingMachine | None]] = defaultdict(list)
    for owner, waiting in worker.list(MACHINE, keep, metadata_only=True) if revisions else ():
        found[owner].append(waiting)
    return found


def controller_of(metadata: Mapping[str, Json], kind: str) -> str:
    """The uid of the controlling owner of this kind, or an empty text."""
    for reference in metadata.get("ownerReferences") or ():
        if reference.get("controller") is True and reference.get("kind") == kind:
            return str(reference.get("uid", ""))
    return ""


def waiting_machine(body: Mapping[str, Json], revision: str) -> WaitingMachine | None:
    """A Machine of a MachineSet with this revision if it has no instance yet. Needs only its metadata."""
    metadata = body["metadata"]
    if metadata.get("deletionTimestamp") or not _HAS_INSTANCE.isdisjoint(metadata.get("finalizers") or ()):
        return None
    return WaitingMachine(
        ref=ObjectRef(MACHINE.name, metadata["namespace"], metadata["name"]),
        uid=metadata["uid"],
        revision=revision,
        since=metadata.get("creationTimestamp", ""),
        nudged=(metadata.get("annotations") or {}).get(NUDGED, ""),
    )


_GONE: Final = frozenset({404, 409})


def nudge_late(worker: Api, pools: Iterable[LivePool], check: Callable[[], None]) -> int:
    """Wake waiting Machines of pools whose bootstrap Secret was just written for a new revision; returns their number.

    Machines are listed again, ⌈N/500⌉ requests for all pools: there may be new ones. Raises ClusterError.
    """
    revisions = {uid: pool.revision or "" for pool in pools for uid in pool.sets}

    def keep(body: Mapping[str, Json]) -> WaitingMachine | None:
        owner = controller_of(body["metadata"], MACHINE_SET.name)
        return waiting_machine(body, revisions[owner]) if owner in revisions else None

    found = worker.list(MACHINE, keep, metadata_only=True) if revisions else []
    return _nudge(worker, found, check)


def nudge_missed(worker: Api, pools: Iterable[LivePool], check: Callable[[], None]) -> int:
    """Wake Machines that are older than their bootstrap Secret, after an interrupted run; returns their number.

    Takes one request for each pool with a waiting Machine. Raises ClusterError.
    """
    done = 0
    for pool in pools:
        waiting = [each for each in pool.waiting if each.revision == pool.revision and each.nudged != each.revision]
        if pool.gate is not Gate.READY or not waiting:
            continue
        name = PoolNames(pool.ref.name, pool.ref.namespace).bootstrap_secret_name
        found = worker.get(SECRET, CLOUD_INIT_NAMESPACE, name, metadata_only=True)
        written = _written(found, pool.revision)
        done += _nudge(worker, [each for each in waiting if each.since <= written], check)
    return done


def _written(found: Mapping[str, Json] | None, revision: str | None) -> str:
    """When osm-gitops last wrote a bootstrap Secret of this revision (RFC 3339), or an empty text."""
    metadata = (found or {}).get("metadata") or {}
    if (metadata.get("annotations") or {}).get(REVISION) != revision:
        return ""
    entries = metadata.get("managedFields") or ()
    return max(
        (str(each.get("time", "")) for each in entries if each.get("manager") in {FIELD_MANAGER, STAMPER}), default=""
    )


def _nudge(worker: Api, machines: Iterable[WaitingMachine], check: Callable[[], None]) -> int:
    done = 0
    for machine in machines:
        if machine.nudged == machine.revision:
            continue
        check()
        patch = {"metadata": {"uid": machine.uid, "annotations": {NUDGED: machine.revision}}}
        try:
            worker.merge(MACHINE, machine.ref.namespace, machine.ref.name, patch)
        except ClusterError as failure:
            if failure.status not in _GONE:
                raise
            continue
        done += 1
    return done
