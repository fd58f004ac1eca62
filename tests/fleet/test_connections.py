"""The API servers of a run."""

from __future__ import annotations

from pathlib import Path

import pytest

from osm_gitops.errors import LostLockError, Problem
from osm_gitops.fleet.connections import Connections
from osm_gitops.fleet.spec import ClusterSpec, LiveRef, SourceSpec
from osm_gitops.kubedoor.access import Access
from osm_gitops.kubedoor.kinds import CONFIG_MAP
from tests.apiserver.cluster import Cluster


def _lost() -> None:
    raise LostLockError([Problem("somebody else holds the Lease")])


def test_while_a_lease_is_held_every_connection_asks_before_it_writes(worker: Cluster, tmp_path: Path) -> None:
    access = Access(str(worker.kubeconfig(tmp_path / "kubeconfig")))
    spec = ClusterSpec("prod", SourceSpec(LiveRef(), LiveRef(), LiveRef()), (), None, management=access)
    connections = Connections({})
    checked = connections.checked(_lost)
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "default"}}
    for api in (checked.management(spec), checked.worker(spec), connections.clusters(spec).checked(_lost).worker):
        with pytest.raises(LostLockError):
            api.create(body)
        assert api.get(CONFIG_MAP, "default", "a") is None
    assert checked.management(spec) is checked.worker(spec)
    connections.worker(spec).create(body)
    assert checked.worker(spec).requests == connections.worker(spec).requests
    connections.close()
