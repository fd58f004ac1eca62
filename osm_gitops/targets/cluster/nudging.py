"""Waking Machines that had to wait: machine-controller looks again at a Machine only after ever longer pauses, but at
once when an annotation of it changes (osm-behaviour.md, "machine-controller")."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from osm_gitops.errors import ClusterError
from osm_gitops.kube.api import Api
from osm_gitops.kube.kinds import FIELD_MANAGER, MACHINE, MACHINE_SET, SECRET
from osm_gitops.model.live import Gate, LivePool, WaitingMachine
from osm_gitops.model.machine import PoolNames
from osm_gitops.model.objects import CLOUD_INIT_NAMESPACE, Json
from osm_gitops.render.manifests import REVISION
from osm_gitops.targets.cluster.applied import STAMPER
from osm_gitops.targets.cluster.pools import NUDGED, controller_of, waiting_machine

_GONE: Final = frozenset({404, 409})


def nudge_late(worker: Api, pools: Iterable[LivePool], check: Callable[[], None]) -> int:
    """Wake what waits in pools whose bootstrap Secret was just written for another revision; how many Machines.

    The Machines are listed anew, ⌈N/500⌉ requests for all pools: some may have come since they were read.
    Raises ClusterError.
    """
    revisions = {uid: pool.revision or "" for pool in pools for uid in pool.sets}

    def keep(body: Mapping[str, Json]) -> WaitingMachine | None:
        owner = controller_of(body["metadata"], MACHINE_SET.name)
        return waiting_machine(body, revisions[owner]) if owner in revisions else None

    found = worker.list(MACHINE, keep, metadata_only=True) if revisions else []
    return _nudge(worker, found, check)


def nudge_missed(worker: Api, pools: Iterable[LivePool], check: Callable[[], None]) -> int:
    """Wake what waits since before its bootstrap Secret came, because a run was ended between the two; how many.

    Only a pool with a Machine that still waits takes a request. Raises ClusterError.
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
    """When we last wrote a bootstrap Secret of this revision (RFC 3339); empty where there is none."""
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
