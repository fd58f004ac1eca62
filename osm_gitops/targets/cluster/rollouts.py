"""Read the Machines and Nodes of the pools of a worker cluster."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from osm_gitops.kube.kinds import MACHINE, MACHINE_DEPLOYMENT, MACHINE_SET, NODE, SECRET
from osm_gitops.model.machine import REVISION_ANNOTATION, PoolNames
from osm_gitops.model.objects import CLOUD_INIT_NAMESPACE, Json, ObjectRef
from osm_gitops.model.rollout import MachineRollout, PoolRollout
from osm_gitops.targets.cluster.pools import controller_of, waiting_machine

if TYPE_CHECKING:
    from osm_gitops.kube.api import Api


def read_rollouts(worker: Api) -> Mapping[ObjectRef, PoolRollout]:
    """All pools with their Machines, except those that are being deleted. Raises ClusterError.

    Takes ⌈N/500⌉ requests for each of MachineDeployments, MachineSets, Machines, Nodes and Secrets.
    """
    pools = dict(worker.list(MACHINE_DEPLOYMENT, _pool, metadata_only=True))
    if not pools:
        return {}
    sets = {uid: (owner, revision) for uid, owner, revision in worker.list(MACHINE_SET, _set, metadata_only=True)}
    ready = dict(worker.list(NODE, _node))
    written = dict(worker.list(SECRET, _written, CLOUD_INIT_NAMESPACE, metadata_only=True))
    machines: dict[str, list[MachineRollout]] = defaultdict(list)
    for set_uid, machine in worker.list(MACHINE, _machine):
        if set_uid in sets:
            owner, revision = sets[set_uid]
            machines[owner].append(replace(machine, revision=revision, ready=ready.get(machine.node, False)))
    return {
        pool.ref: _with(pool, machines[uid], written) for uid, pool in sorted(pools.items(), key=lambda it: it[1].ref)
    }


def _with(pool: PoolRollout, machines: list[MachineRollout], written: Mapping[str, datetime]) -> PoolRollout:
    names = PoolNames(pool.ref.name, pool.ref.namespace)
    times = [written.get(name) for name in (names.bootstrap_secret_name, names.provisioning_secret_name)]
    known = [time for time in times if time is not None]
    whole = max(known) if len(known) == len(times) else None
    return replace(pool, written=whole, machines=tuple(sorted(machines, key=lambda each: (each.created, each.name))))


def _pool(body: Mapping[str, Json]) -> tuple[str, PoolRollout] | None:
    metadata = body["metadata"]
    if metadata.get("deletionTimestamp"):
        return None
    ref = ObjectRef(MACHINE_DEPLOYMENT.name, metadata["namespace"], metadata["name"])
    revision = str((metadata.get("annotations") or {}).get(REVISION_ANNOTATION, ""))
    return metadata["uid"], PoolRollout(ref=ref, uid=metadata["uid"], revision=revision)


def _set(body: Mapping[str, Json]) -> tuple[str, str, str] | None:
    metadata = body["metadata"]
    owner = controller_of(metadata, MACHINE_DEPLOYMENT.name)
    revision = str((metadata.get("annotations") or {}).get(REVISION_ANNOTATION, ""))
    return (metadata["uid"], owner, revision) if owner else None


def _machine(body: Mapping[str, Json]) -> tuple[str, MachineRollout] | None:
    metadata = body["metadata"]
    owner = controller_of(metadata, MACHINE_SET.name)
    if not owner:
        return None
    node = ((body.get("status") or {}).get("nodeRef") or {}).get("name") or ""
    deleting = bool(metadata.get("deletionTimestamp"))
    return owner, MachineRollout(
        name=metadata["name"],
        created=moment(metadata["creationTimestamp"]),
        deleting=deleting,
        instance=deleting or waiting_machine(body, "") is None,
        node=str(node),
    )


def _node(body: Mapping[str, Json]) -> tuple[str, bool]:
    conditions = (body.get("status") or {}).get("conditions") or ()
    ready = any(each.get("type") == "Ready" and each.get("status") == "True" for each in conditions)
    return body["metadata"]["name"], ready


def _written(body: Mapping[str, Json]) -> tuple[str, datetime]:
    """When the data of a Secret were last written. A field manager that sets only annotations does not count."""
    metadata = body["metadata"]
    entries = metadata.get("managedFields") or ()
    times = [str(each["time"]) for each in entries if "f:data" in (each.get("fieldsV1") or {}) and each.get("time")]
    return metadata["name"], moment(max(times, default=metadata["creationTimestamp"]))


def moment(text: str) -> datetime:
    """A time as API servers write it."""
    return datetime.fromisoformat(text).astimezone(UTC)
