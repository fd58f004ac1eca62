"""Plans carried out in real API servers."""

from __future__ import annotations

from pathlib import Path

import pytest

from osm_gitops.model.live import CLEANUP_FINALIZER
from tests.apiserver.cluster import Cluster
from tests.targets.cluster.scene import Scene, config_path, machine_path, ref, scene, secret_path


@pytest.fixture
def single(worker: Cluster, tmp_path: Path) -> Scene:
    """One cluster for all, so that resourceVersions tell the order of writes."""
    return scene(worker, worker, tmp_path)


def test_a_new_pool_gets_finalizer_configuration_provisioning_and_bootstrap_in_this_order(single: Scene) -> None:
    single.pool("a")
    delivery = single.run()
    assert (delivery.written, delivery.failed, delivery.left) == ((None, ref("a")), {}, {})
    paths = (machine_path("a"), config_path("a"), secret_path("a", "provisioning"), secret_path("a"))
    written = [int(single.get(path)["metadata"]["resourceVersion"]) for path in paths]
    assert written == sorted(written)
    assert single.get(machine_path("a"))["metadata"]["finalizers"] == [CLEANUP_FINALIZER]
