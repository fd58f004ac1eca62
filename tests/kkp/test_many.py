"""Twenty user clusters of a seed in every state, in one run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from osm_gitops.errors import Code
from osm_gitops.kube import api as api_module
from tests.apiserver.cluster import Cluster
from tests.apiserver.proxy import Proxy
from tests.faults import Expected, told
from tests.kkp.scene import Scene, fill_with_pool, user_cluster

pytestmark = pytest.mark.exhaustive

_COUNT = 20
_STATES: Mapping[int, dict[str, Any]] = {
    3: {"spec": {"pause": True}},
    7: {"status": {"extendedHealth": {"etcd": "HealthStatusDown"}}},
    11: {"status": {"namespaceName": None}},
    13: {"labels": {"worker-name": "alice"}},
    17: {"replicas": 1},
}
"""What is special about some of them; all others are ready."""


def name(number: int) -> str:
    return f"cluster{number:02}"


def folders(scene: Scene) -> set[str]:
    return {path.name for path in (scene.folder / "clusters").iterdir()}


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_each_of_twenty_clusters_gets_what_its_state_permits(
    scene: Scene,
    management: Cluster,
    worker: Cluster,
    through: Callable[[Cluster], Proxy],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(api_module, "PAGE", 6)
    proxy = through(scene.seed.server)
    fill_with_pool(management)
    fill_with_pool(worker)
    for number in range(_COUNT):
        user_cluster(scene.seed, (management, worker)[number % 2], name(number), **_STATES.get(number, {}))
    scene.fleet("to: {git: {path: clusters}}", through=proxy.cluster)
    ready = {name(number) for number in range(_COUNT) if number not in _STATES}

    ran = scene.run("apply", "--jobs", "2")
    assert ran.code == 1
    unhealthy = Expected(Code.KKP_CLUSTER_UNHEALTHY, name(7), "etcd Down")
    running = Expected(Code.OSM_RUNS, name(17))
    assert told(ran.err) == [unhealthy, running]
    assert folders(scene) == ready
    lists = [each for each in proxy.seen if each.path.endswith("/clusters")]
    pages = [each for each in lists if "fieldSelector" not in each.query]
    assert [("continue" in each.query) for each in pages] == [False, True, True, True]
    # The state of each cluster that is written is asked once more, just before.
    assert len(lists) - len(pages) == len(ready)

    before = contents(scene.folder / "clusters")
    for number in range(0, _COUNT, 2):
        cluster = scene.seed.clusters[name(number)]
        scene.seed.server.client().delete(cluster.path)
    gone = [Expected(Code.KKP_FOLDER_WITHOUT_CLUSTER, f"clusters/{name(number)}") for number in range(0, _COUNT, 2)]
    ran = scene.run("apply")
    assert told(ran.err) == [*gone, unhealthy, running]
    assert contents(scene.folder / "clusters") == before

    scene.seed.change(scene.seed.clusters[name(3)], {"pause": False})
    scene.seed.report(scene.seed.clusters[name(7)], {"extendedHealth": {"etcd": "HealthStatusUp"}})
    scene.seed.scale(scene.seed.clusters[name(17)], 0)
    ran = scene.run("apply")
    assert ran.code == 0
    assert told(ran.err) == gone
    assert folders(scene) == ready | {name(3), name(7), name(17)}
