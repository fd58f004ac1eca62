"""The finalizer of MachineDeployments (osm-behaviour.md, "Finalizer and clean-up"): set before anything is written for
one, removed after all of it is gone. Others' finalizers stay, and a successor of the same name is never touched."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from osm_gitops.errors import ClusterError, Code, ConflictError, Problem
from osm_gitops.kube.kinds import MACHINE_DEPLOYMENT
from osm_gitops.model.live import CLEANUP_FINALIZER, LivePool
from osm_gitops.model.objects import Json
from osm_gitops.targets.cluster.writes import ATTEMPTS, Writes


def read_machine(writes: Writes, pool: LivePool) -> Mapping[str, Json] | None:
    """The metadata of a pool's MachineDeployment as they are now; ``None`` where it is gone, or another one has its
    name."""
    found = writes.live.worker.get(MACHINE_DEPLOYMENT, pool.ref.namespace, pool.ref.name, metadata_only=True)
    metadata = (found or {}).get("metadata") or {}
    return metadata if metadata.get("uid") == pool.uid else None


def hold(writes: Writes, pool: LivePool) -> Mapping[str, Json] | None:
    """Set the finalizer; the metadata that the MachineDeployment has then, ``None`` where there is nothing to hold: it
    is gone, or going. Raises ClusterError."""
    metadata: Mapping[str, Json] | None = _as_read(pool)
    for _ in range(ATTEMPTS):
        if metadata is None or metadata.get("deletionTimestamp"):
            return None
        held = metadata.get("finalizers") or ()
        if CLEANUP_FINALIZER in held:
            return metadata
        # Sorted and unique, as OSM leaves the list.
        changed = _changed(writes, pool, metadata, sorted({*held, CLEANUP_FINALIZER}))
        if changed is not None:
            return changed
        metadata = read_machine(writes, pool)
    raise _restless(writes, pool)


def release(writes: Writes, pool: LivePool) -> None:
    """Remove the finalizer, ours alone, from a MachineDeployment that is being deleted. Raises ClusterError."""
    metadata: Mapping[str, Json] | None = _as_read(pool)
    for _ in range(ATTEMPTS):
        held = (metadata or {}).get("finalizers") or ()
        if metadata is None or CLEANUP_FINALIZER not in held:
            return
        others = [each for each in held if each != CLEANUP_FINALIZER]
        if _changed(writes, pool, metadata, others) is not None:
            return
        metadata = read_machine(writes, pool)
    raise _restless(writes, pool)


def _as_read(pool: LivePool) -> Mapping[str, Json]:
    return {"uid": pool.uid, "resourceVersion": pool.resource_version, "finalizers": pool.finalizers}


def _changed(
    writes: Writes, pool: LivePool, metadata: Mapping[str, Json], finalizers: Iterable[str]
) -> Mapping[str, Json] | None:
    """The metadata after the change; ``None`` where the object is not any more what it was taken for."""
    writes.check()
    seen = {"uid": pool.uid, "resourceVersion": metadata["resourceVersion"], "finalizers": list(finalizers)}
    try:
        answer = writes.live.worker.merge(MACHINE_DEPLOYMENT, pool.ref.namespace, pool.ref.name, {"metadata": seen})
    except ConflictError:
        return None
    except ClusterError as failure:
        if failure.status == 404:
            return None
        raise
    found: Mapping[str, Json] = answer["metadata"]
    return found


def _restless(writes: Writes, pool: LivePool) -> ConflictError:
    what = f"its finalizer could not be changed: others wrote it {ATTEMPTS} times in between"
    return ConflictError(
        [Problem(Code.WRITTEN_BY_OTHERS, what, where=writes.live.worker.display, about=str(pool.ref), fix="Run again")]
    )
