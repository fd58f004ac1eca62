"""Operating System Manager of a user cluster is switched by the override of its Cluster, and only what held counts."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from osm_gitops.commands.kkp.switching import (
    Switch,
    Switched,
    is_done,
    obstacles,
    read_templates,
    set_replicas,
    wait_for,
)
from osm_gitops.context_ref import ContextRef
from osm_gitops.errors import ClusterError, Code
from osm_gitops.kube.api import connect
from osm_gitops.pipeline.options import LiveOptions
from osm_gitops.sources.kkp.seed import read_inventory
from tests.apiserver.client import Object
from tests.apiserver.cluster import Cluster
from tests.apiserver.osm_deployment import lease_of_osm
from tests.faults import Expected, placed, refused
from tests.kkp.seed import Seed, UserCluster, make_seed

_ID = "abcdefghij"
_OVERRIDE = "spec.componentsOverride.operatingSystemManager.replicas"
_NOON = datetime(2026, 9, 1, 12, tzinfo=UTC)


class _Clock:
    """Time passes only while somebody waits; what happens then is scripted, an act for each pause."""

    def __init__(self, *acts: Callable[[], object]) -> None:
        self.now, self.acts = _NOON, list(acts)

    def options(self) -> LiveOptions:
        return LiveOptions(now=lambda: self.now, wait=self._wait)

    def _wait(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)
        if self.acts:
            self.acts.pop(0)()


def _switched(seed: Seed, cluster: UserCluster, folder: Path) -> Switched:
    here = connect(ContextRef(str(seed.server.kubeconfig(folder / "seed"))), os.environ)
    there = connect(ContextRef(str(cluster.server.kubeconfig(folder / "worker"))), os.environ)
    inventory = read_inventory(here)
    (found,) = (each for each in inventory.clusters if each.id == cluster.name)
    return Switched("prod", found, here, there)


def _obstacles(each: Switched, switch: Switch = Switch.OFF) -> list[tuple[Code, str]]:
    inventory = read_inventory(each.seed)
    return placed(obstacles(each, switch, inventory, read_templates(each.seed, inventory)))


def _replicas(seed: Seed, cluster: UserCluster) -> Any:
    spec = seed.server.client().get(cluster.path)["spec"]
    return spec.get("componentsOverride", {}).get("operatingSystemManager", {}).get("replicas")


def test_a_healthy_cluster_has_no_obstacle(seed: Seed, worker: Cluster, tmp_path: Path) -> None:
    each = _switched(seed, seed.user_cluster(_ID, worker), tmp_path)
    assert _obstacles(each) == _obstacles(each, Switch.ON) == []


@pytest.mark.parametrize(
    ("spec", "status"),
    [
        ({"pause": True, "pauseReason": "maintenance"}, {}),
        ({}, {"extendedHealth": {"etcd": "HealthStatusDown"}}),
        ({}, {"namespaceName": None}),
    ],
    ids=["paused", "unhealthy", "new"],
)
def test_a_cluster_on_which_kkp_does_not_act_is_left_alone(
    seed: Seed, worker: Cluster, tmp_path: Path, spec: Object, status: Object
) -> None:
    each = _switched(seed, seed.user_cluster(_ID, worker, spec=spec, status=status), tmp_path)
    for switch in Switch:
        assert _obstacles(each, switch) == [(Code.KKP_CLUSTER_NOT_READY, f"cluster prod: Cluster {_ID}")]


@pytest.mark.parametrize("replicas", [0, 2])
def test_a_default_of_the_seed_that_is_not_zero_is_in_the_way(
    seed_server: Cluster, worker: Cluster, tmp_path: Path, replicas: int
) -> None:
    defaults = {"operatingSystemManager": {"replicas": replicas}}
    seed = make_seed(seed_server, seed={"defaultComponentSettings": defaults, "defaultClusterTemplate": "usual"})
    override = {"componentsOverride": {"operatingSystemManager": {"replicas": replicas}}}
    seed.create("ClusterTemplate", "usual", namespace="", spec=override, metadata={"labels": {"scope": "seed"}})
    each = _switched(seed, seed.user_cluster(_ID, worker), tmp_path)
    expected = [
        (
            Code.OSM_SWITCHED_ON_BY_DEFAULT,
            "cluster prod: Seed kubermatic: spec.defaultComponentSettings.operatingSystemManager.replicas",
        ),
        (Code.OSM_SWITCHED_ON_BY_DEFAULT, f"cluster prod: ClusterTemplate usual: {_OVERRIDE}"),
    ]
    assert _obstacles(each) == (expected if replicas else [])
    assert _obstacles(each, Switch.ON) == []


def test_a_template_that_does_not_exist_fills_nothing(seed_server: Cluster, worker: Cluster, tmp_path: Path) -> None:
    seed = make_seed(seed_server, seed={"defaultClusterTemplate": "gone"})
    assert _obstacles(_switched(seed, seed.user_cluster(_ID, worker), tmp_path)) == []


def test_the_override_is_written_and_nothing_else(seed: Seed, worker: Cluster, tmp_path: Path) -> None:
    before = {"componentsOverride": {"operatingSystemManager": {"proxy": {"httpProxy": "http://p:1"}}}}
    cluster = seed.user_cluster(_ID, worker, spec=before)
    each = _switched(seed, cluster, tmp_path)
    found = seed.server.client().get(cluster.path)["spec"]
    for switch in (Switch.OFF, Switch.ON):
        set_replicas(each, switch)
        found["componentsOverride"]["operatingSystemManager"]["replicas"] = switch.value
        assert seed.server.client().get(cluster.path)["spec"] == found


def test_an_override_that_kkp_fills_with_a_default_did_not_hold(seed: Seed, worker: Cluster, tmp_path: Path) -> None:
    """As KKP's webhook does it, which takes 0 for an empty number."""
    cluster = seed.user_cluster(_ID, worker)
    each = _switched(seed, cluster, tmp_path)
    with seed.filling_empty_replicas(3):
        with refused(Expected(Code.OSM_OVERRIDE_NOT_KEPT, "prod", _ID, _OVERRIDE, "0", "3"), kind=ClusterError):
            set_replicas(each, Switch.OFF)
        assert _replicas(seed, cluster) == 3


def test_it_is_waited_until_deployment_pods_and_lease_are_gone(seed: Seed, worker: Cluster, tmp_path: Path) -> None:
    cluster = seed.user_cluster(_ID, worker)
    worker.client().create(lease_of_osm(_NOON))
    pods = seed.pods(cluster, "operating-system-manager-1")
    each = _switched(seed, cluster, tmp_path)
    set_replicas(each, Switch.OFF)
    clock = _Clock(lambda: seed.scale(cluster, 0), lambda: seed.server.client().delete(pods[0]))
    assert wait_for([each], Switch.OFF, timedelta(minutes=2), clock.options()) == {}
    assert clock.now - _NOON >= timedelta(minutes=1)  # since the Lease was renewed
    assert is_done(replace(each, cluster=_switched(seed, cluster, tmp_path).cluster), Switch.OFF, clock.options())


@pytest.mark.parametrize("remains", ["Deployment", "pods", "Lease"])
def test_what_remains_is_named_when_the_time_is_over(seed: Seed, worker: Cluster, tmp_path: Path, remains: str) -> None:
    cluster = seed.user_cluster(_ID, worker)
    each = _switched(seed, cluster, tmp_path)
    set_replicas(each, Switch.OFF)
    name = {
        "Deployment": f"Deployment cluster-{_ID}/operating-system-manager",
        "pods": "operating-system-manager-1",
        "Lease": "Lease kube-system/operating-system-manager",
    }[remains]
    if remains != "Deployment":
        seed.scale(cluster, 0)
    if remains == "pods":
        seed.pods(cluster, "operating-system-manager-1", "another-program-1")
    if remains == "Lease":
        worker.client().create(lease_of_osm(_NOON + timedelta(hours=1)))
    failed = wait_for([each], Switch.OFF, timedelta(seconds=30), _Clock().options())
    assert {key: list(problems) for key, problems in failed.items()} == {
        "prod": [Expected(Code.OSM_NOT_SWITCHED, "prod", _ID, name)]
    }
    assert "another-program" not in str(failed)


def test_an_override_that_is_changed_back_while_waiting_is_an_error(
    seed: Seed, worker: Cluster, tmp_path: Path
) -> None:
    cluster = seed.user_cluster(_ID, worker)
    each = _switched(seed, cluster, tmp_path)
    set_replicas(each, Switch.OFF)
    back = {"componentsOverride": {"operatingSystemManager": {"replicas": 1}}}
    clock = _Clock(lambda: seed.change(cluster, back))
    (found,) = wait_for([each], Switch.OFF, timedelta(minutes=2), clock.options())["prod"]
    assert found == Expected(Code.OSM_OVERRIDE_NOT_KEPT, "prod", _OVERRIDE)


def test_a_cluster_that_disappears_holds_no_other(seed: Seed, worker: Cluster, tmp_path: Path) -> None:
    gone, stays = seed.user_cluster(_ID, worker), seed.user_cluster("bcdefghijk", worker)
    both = [replace(_switched(seed, each, tmp_path), name=each.name) for each in (gone, stays)]
    for each in both:
        set_replicas(each, Switch.OFF)
    clock = _Clock(lambda: seed.server.client().delete(gone.path), lambda: seed.scale(stays, 0))
    failed = wait_for(both, Switch.OFF, timedelta(minutes=2), clock.options())
    assert {name: placed(problems) for name, problems in failed.items()} == {
        _ID: [(Code.KKP_CLUSTER_NOT_READY, f"cluster {_ID}: Cluster {_ID}")]
    }


def test_on_the_way_back_it_is_waited_until_a_replica_is_ready(seed: Seed, worker: Cluster, tmp_path: Path) -> None:
    cluster = seed.user_cluster(_ID, worker)
    seed.scale(cluster, 0)
    each = _switched(seed, cluster, tmp_path)
    set_replicas(each, Switch.ON)
    failed = wait_for([each], Switch.ON, timedelta(seconds=30), _Clock().options())
    assert list(failed["prod"]) == [Expected(Code.OSM_NOT_SWITCHED, "prod", f"cluster-{_ID}/operating-system-manager")]
    clock = _Clock(lambda: None, lambda: seed.scale(cluster, 1))
    assert wait_for([each], Switch.ON, timedelta(seconds=30), clock.options()) == {}
