"""What a worker cluster tells of its pools: their MachineDeployments, MachineSets and Machines."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from osm_gitops.kubedoor.api import Api
from osm_gitops.kubedoor.kinds import MACHINE, MACHINE_DEPLOYMENT, MACHINE_SET
from osm_gitops.model.live import CLEANUP_FINALIZER, Gate, LivePool, WaitingMachine
from osm_gitops.model.machine import REVISION_ANNOTATION, MachineDeployment
from osm_gitops.model.objects import Json, ObjectRef
from osm_gitops.model.server_fields import server_annotations
from osm_gitops.plan.gate import (
    ABSENT,
    LiveMachineDeployment,
    MachineSetFact,
    annotations_key,
    gate_of,
    revision_fits,
    template_key,
)
from osm_gitops.plan.machine_templates import template_difference

NUDGED: Final = "osm-gitops.io/nudged"
"""Annotation of Machines that had to wait for their bootstrap Secret: the revision that it came with."""

# machine-controller sets both right before it asks for an instance.
_HAS_INSTANCE: Final = frozenset({"machine-delete-finalizer", "machine-node-delete-finalizer"})


def read_pools(
    worker: Api, machines: Sequence[MachineDeployment], *, live_machines: bool, broken: Iterable[ObjectRef] = ()
) -> Mapping[ObjectRef, LivePool]:
    """How the cluster has each pool, by MachineDeployment. Raises ClusterError.

    ``live_machines``: ``machines`` were read from this cluster just now, with all that their manifests hold there.
    Those of a tree are compared with the live ones, which are listed here: one that the cluster does not have waits,
    and MachineDeployments that are being deleted are told of even where the tree has them no more. ``broken`` are
    those that nothing can be rendered for: they still have to be held, and let go.
    Takes ⌈N/500⌉ requests for each of MachineDeployments (of a tree), MachineSets and Machines, and one for each that
    is ``broken``.
    """
    if live_machines:
        found = [_live(each.manifest.body, each.template) for each in machines]
    else:
        found = _compared(worker, {each.ref: each for each in machines})
    known = {each.ref for each in found}
    found += _unread(worker, (ref for ref in broken if ref.kind == MACHINE_DEPLOYMENT.name and ref not in known))
    sets = _machine_sets(worker) if found else {}
    machines_of = _machines(worker, {each.uid: each.revision for facts in sets.values() for each in facts})
    pools = {each.ref: _pool(each, sets.get(each.uid, ()), machines_of) for each in found}
    absent = {each.ref: _absent(each.ref) for each in machines if each.ref not in pools}
    return pools | absent


def read_gates(worker: Api, machines: Sequence[MachineDeployment]) -> Mapping[ObjectRef, LivePool]:
    """How far machine-controller is with MachineDeployments that were read from this cluster just now; of their
    Machines nothing is known. Raises ClusterError. Takes ⌈N/500⌉ requests for MachineSets."""
    found = [_live(each.manifest.body, each.template) for each in machines]
    sets = _machine_sets(worker) if found else {}
    return {each.ref: _pool(each, sets.get(each.uid, ()), {}) for each in found}


def _pool(
    machine: LiveMachineDeployment,
    sets: Sequence[MachineSetFact],
    machines_of: Mapping[str, Sequence[WaitingMachine | None]],
) -> LivePool:
    gate, why = gate_of(machine, sets)
    machines = [each for fact in sets for each in machines_of.get(fact.uid, ())]
    return LivePool(
        ref=machine.ref,
        uid=machine.uid,
        resource_version=machine.resource_version,
        revision=machine.revision,
        finalizers=machine.finalizers,
        gate=gate,
        why=why,
        machines=len(machines),
        waiting=tuple(each for each in machines if each is not None),
        sets=tuple(fact.uid for fact in sets if fact.revision == machine.revision),
        fits=revision_fits(machine, sets),
        generation=machine.generation,
        annotations=machine.annotations,
        server_annotations=machine.server_annotations,
    )


def _absent(ref: ObjectRef) -> LivePool:
    return LivePool(ref=ref, uid="", resource_version="", revision=None, finalizers=(), gate=Gate.WAITING, why=ABSENT)


def _live(body: Mapping[str, Json], template: Json, *, differs: str = "") -> LiveMachineDeployment:
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
    )


def _compared(worker: Api, machines: Mapping[ObjectRef, MachineDeployment]) -> list[LiveMachineDeployment]:
    """The live ones of ``machines``, and those that are being deleted and wait for a clean-up."""

    def keep(body: Mapping[str, Json]) -> LiveMachineDeployment | None:
        metadata = body["metadata"]
        wanted = machines.get(ObjectRef(MACHINE_DEPLOYMENT.name, metadata["namespace"], metadata["name"]))
        template = (body.get("spec") or {}).get("template")
        if wanted is not None:
            return _live(body, template, differs=template_difference(wanted.template, template))
        left_behind = metadata.get("deletionTimestamp") and CLEANUP_FINALIZER in (metadata.get("finalizers") or ())
        return _live(body, template) if left_behind else None

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
    """Machines by the uid of their MachineSet, of which ``revisions`` are those: what waits, or ``None``."""

    def keep(body: Mapping[str, Json]) -> tuple[str, WaitingMachine | None] | None:
        owner = controller_of(body["metadata"], MACHINE_SET.name)
        return (owner, waiting_machine(body, revisions[owner])) if owner in revisions else None

    found: dict[str, list[WaitingMachine | None]] = defaultdict(list)
    for owner, waiting in worker.list(MACHINE, keep, metadata_only=True) if revisions else ():
        found[owner].append(waiting)
    return found


def controller_of(metadata: Mapping[str, Json], kind: str) -> str:
    """The uid of the object of a kind that controls another one; empty where there is none."""
    for reference in metadata.get("ownerReferences") or ():
        if reference.get("controller") is True and reference.get("kind") == kind:
            return str(reference.get("uid", ""))
    return ""


def waiting_machine(body: Mapping[str, Json], revision: str) -> WaitingMachine | None:
    """A Machine (its metadata are enough) of a MachineSet with this revision, if it has no instance yet."""
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
