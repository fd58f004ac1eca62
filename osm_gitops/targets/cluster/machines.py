"""Applying MachineDeployments of a tree (design.md, "Planning"). None is ever deleted: its Machines would go with
it."""

from __future__ import annotations

from typing import Final

from osm_gitops.errors import ConflictError
from osm_gitops.model.live import LivePool
from osm_gitops.model.plan import Change
from osm_gitops.targets.cluster.writes import Writes

_GIVE_WAY: Final = frozenset({"machine-controller", "kubectl-client-side-apply"})
"""Field managers that give way: machine-controller owns the defaults that it filled in, and ``kubectl apply`` what it
applied earlier, which ``kubectl apply --server-side`` takes over too. An edit, a patch or a scale is a conflict."""


def apply_machine(writes: Writes, change: Change, pool: LivePool) -> None:
    """Create or update a MachineDeployment by server-side apply. Raises ClusterError; a ConflictError names others who
    own what would change, or says that it is another object than the one that was compared."""
    body = dict(change.after or {})
    if pool.uid:  # one that has gone since is not made anew
        body["metadata"] = {**body["metadata"], "uid": pool.uid}
    worker = writes.live.worker
    writes.check()
    try:
        worker.apply(body, force=writes.force, metadata_only=True)
    except ConflictError as conflict:
        if not conflict.managers or not _GIVE_WAY.issuperset(conflict.managers):
            raise
        writes.check()
        worker.apply(body, force=True, metadata_only=True)
