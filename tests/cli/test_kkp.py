"""``osm-gitops kkp``: Operating System Manager of user clusters is switched off and on, and what is in the way is told
before anything changes."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from osm_gitops.errors import Code
from tests.apiserver.after_osm import AfterOsm, after_osm, recorded_authority, with_machine_sets
from tests.apiserver.client import Object
from tests.apiserver.cluster import Cluster
from tests.apiserver.osm_deployment import RECORDED_FLAGS, osm_in_kkp
from tests.apiserver.proxy import Proxy, during
from tests.cli.running import Ran, osm_gitops
from tests.faults import Expected, told
from tests.git.repos import new_repository
from tests.kkp.scene import Scene
from tests.kkp.seed import Seed, UserCluster

_ID, _OTHER = "abcdefghij", "bcdefghijk"
_OVERRIDE = "spec.componentsOverride.operatingSystemManager.replicas"
# What makes KKP pass the settings that the recorded cluster had.
_AS_RECORDED: Object = {
    "clusterNetwork": {"nodeLocalDNSCacheEnabled": False, "services": {"cidrBlocks": ["10.10.10.0/24"]}}
}


@dataclass(frozen=True, slots=True)
class Switched:
    """A seed behind a proxy, with user clusters on one server, on which Operating System Manager has run."""

    scene: Scene
    proxy: Proxy
    osm: AfterOsm
    clusters: tuple[UserCluster, ...]

    def fleet(self, **settings: str) -> None:
        """The fleet file, which reaches the seed by the proxy. KKP's certificates are not the recorded ones."""
        self.scene.fleet(entry=f"settings: {json.dumps({'kubernetesCABundle': 'ca.pem', **settings})}")
        self.proxy.cluster.kubeconfig(self.scene.folder.parent / "seed.yaml")

    def switch(self, word: str, *more: str, yes: bool = True) -> Ran:
        fleet = str(self.scene.folder / "osm-gitops.yaml")
        return osm_gitops("kkp", f"switch-{word}", "--fleet", fleet, *(("--yes",) if yes else ()), *more)

    def carried_out(self, replicas: int, *clusters: UserCluster) -> None:
        """KKP does what the overrides say, as soon as they are written."""
        for cluster in clusters or self.clusters:
            fault = during(lambda cluster=cluster: self.scene.seed.scale(cluster, replicas), after=True)  # type: ignore[misc]
            self.proxy.when(fault, method="PATCH", path=f"/clusters/{cluster.name}")

    def replicas(self, cluster: UserCluster | None = None) -> Any:
        spec = self.scene.seed.server.client().get((cluster or self.clusters[0]).path)["spec"]
        return spec.get("componentsOverride", {}).get("operatingSystemManager", {}).get("replicas")

    def writes(self) -> list[str]:
        """The user clusters that were written, in order."""
        return [each.path.rpartition("/")[2] for each in self.proxy.writes if each.method == "PATCH"]


@pytest.fixture
def switched(seed: Seed, worker: Cluster, tmp_path: Path, through: Callable[[Cluster], Proxy]) -> Switched:
    """Two user clusters, which have the same objects."""
    folder = new_repository(tmp_path / "fleet")
    (folder / "ca.pem").write_text(recorded_authority(), "utf-8")
    loaded = with_machine_sets(after_osm(worker))
    clusters = tuple(
        seed.user_cluster(name, worker, spec=_AS_RECORDED, osm=osm_in_kkp(*RECORDED_FLAGS, namespace=f"cluster-{name}"))
        for name in (_ID, _OTHER)
    )
    made = Switched(Scene(seed, folder), through(seed.server), loaded, clusters)
    made.fleet()
    return made


def _nothing_changed(switched: Switched, ran: Ran) -> None:
    assert ran.code == 1
    assert switched.writes() == []
    assert "Nothing was changed.\n" in ran.err


def test_a_user_cluster_changes_hands_and_back(switched: Switched) -> None:
    """The whole way of one cluster: plan, switch off, apply, uninstall, switch on."""
    plan, ran = switched.scene.plan("--cluster", _ID)
    assert ran.code == 0, ran.err
    changed = [each for each in plan[_ID]["changes"] if each["action"] != "unchanged"]
    assert all(each["upkeep"] or each["reason"].startswith("only metadata: ") for each in changed)
    assert told(switched.scene.run("apply", "--cluster", _ID).err) == [Expected(Code.OSM_RUNS, f"cluster-{_ID}")]

    switched.carried_out(0)
    ran = switched.switch("off", _ID)
    assert (ran.code, told(ran.err)) == (0, []), ran.err
    assert f"~ {_ID} (the cluster {_ID}): replicas of Operating System Manager: empty -> 0\n" in ran.out
    assert f"osm-gitops apply --cluster {_ID}" in ran.err
    assert (switched.writes(), switched.replicas(), switched.replicas(switched.clusters[1])) == ([_ID], 0, None)

    ran = switched.scene.run("apply", "--cluster", _ID)
    assert ran.code == 0, ran.err
    assert f"{_ID}: 5 pools" in ran.err

    ran = switched.switch("on", _ID)
    _nothing_changed_but(switched, ran, [_ID])
    assert told(ran.err) == [Expected(Code.NOT_GIVEN_BACK, _ID, "osm-gitops uninstall")]
    ran = switched.scene.run("uninstall", "--cluster", _ID, "--yes")
    assert ran.code == 0, ran.err
    # Operating System Manager on the seed cleans up.
    assert "keep the finalizer kubermatic.io/cleanup-operating-system-configs on 5 MachineDeployments" in ran.out

    switched.proxy.clear()
    switched.carried_out(1)
    ran = switched.switch("on", _ID)
    assert (ran.code, told(ran.err)) == (0, []), ran.err
    assert (switched.writes(), switched.replicas()) == ([_ID], 1)
    assert told(switched.scene.run("apply", "--cluster", _ID).err) == [Expected(Code.OSM_RUNS, f"cluster-{_ID}")]


def _nothing_changed_but(switched: Switched, ran: Ran, before: list[str]) -> None:
    assert (ran.code, switched.writes()) == (1, before)


def test_names_are_globs_and_a_second_switch_changes_nothing(switched: Switched) -> None:
    switched.carried_out(0)
    ran = switched.switch("off", "*")
    assert (ran.code, told(ran.err)) == (0, []), ran.err
    assert switched.writes() == [_ID, _OTHER]
    ran = switched.switch("off", "*")
    assert (ran.code, switched.writes()) == (0, [_ID, _OTHER])
    assert ran.err.count("is off already") == 2


def test_a_switch_that_would_change_what_machines_boot_with_is_refused(switched: Switched) -> None:
    switched.fleet(pauseImage="registry.example.com/pause:3.10")
    ran = switched.switch("off", _ID)
    _nothing_changed(switched, ran)
    assert told(ran.err) == [Expected(Code.SWITCH_CHANGES_BOOT, _ID, "kube-system/pool-00000", "--allow-changes")]
    switched.carried_out(0)
    ran = switched.switch("off", _ID, "--allow-changes")
    assert (ran.code, switched.replicas()) == (0, 0), ran.err


def test_a_pool_that_could_not_be_rendered_speaks_against_it_too(switched: Switched) -> None:
    path = "/apis/cluster.k8s.io/v1alpha1/namespaces/kube-system/machinedeployments/pool-00001"
    change = {"metadata": {"annotations": {"k8c.io/operating-system-profile": "osp-none"}}}
    switched.osm.worker.client().merge(path, change)
    ran = switched.switch("off", _ID)
    _nothing_changed(switched, ran)
    assert Expected(Code.SWITCH_CHANGES_BOOT, _ID, "kube-system/pool-00001") in told(ran.err)


def test_all_that_is_in_the_way_is_told_at_once(switched: Switched) -> None:
    seed = switched.scene.seed
    seed.change(switched.clusters[0], {"pause": True, "pauseReason": "maintenance"})
    defaults = {"spec": {"defaultComponentSettings": {"operatingSystemManager": {"replicas": 2}}}}
    seed.server.client().merge("/apis/kubermatic.k8c.io/v1/namespaces/kubermatic/seeds/kubermatic", defaults)
    ran = switched.switch("off", "*")
    _nothing_changed(switched, ran)
    assert told(ran.err) == [
        Expected(Code.KKP_CLUSTER_NOT_READY, _ID, "maintenance"),
        Expected(Code.OSM_SWITCHED_ON_BY_DEFAULT, _ID, "Seed kubermatic"),
        Expected(Code.OSM_SWITCHED_ON_BY_DEFAULT, _OTHER, "Seed kubermatic"),
    ]


def test_after_an_override_that_did_not_hold_no_other_cluster_is_tried(switched: Switched) -> None:
    with switched.scene.seed.filling_empty_replicas(1):
        ran = switched.switch("off", "*")
    assert (ran.code, switched.writes()) == (1, [_ID])
    assert told(ran.err) == [Expected(Code.OSM_OVERRIDE_NOT_KEPT, _ID, _OVERRIDE)]
    assert f"Not tried: {_OTHER}\n" in ran.err


def test_what_does_not_stop_in_time_is_an_error(switched: Switched) -> None:
    switched.carried_out(0, switched.clusters[1])
    ran = switched.switch("off", "*", "--timeout", "0s")
    assert ran.code == 1
    assert told(ran.err) == [Expected(Code.OSM_NOT_SWITCHED, _ID, f"Deployment cluster-{_ID}/")]
    assert f"Operating System Manager is off in 1 cluster: {_OTHER}\n" in ran.err


def test_a_cluster_that_is_none_of_kkp_is_refused(switched: Switched) -> None:
    fleet = switched.scene.folder / "osm-gitops.yaml"
    fleet.write_text(fleet.read_text("utf-8") + "- {name: other, from: cluster, to: cluster}\n", "utf-8")
    ran = switched.switch("off", "other", _ID)
    _nothing_changed(switched, ran)
    assert told(ran.err) == [Expected(Code.NOT_A_USER_CLUSTER, "cluster other")]


def test_a_cluster_that_is_left_out_is_not_passed_over_in_silence(switched: Switched) -> None:
    switched.scene.seed.report(switched.clusters[0], {"namespaceName": ""})
    ran = switched.switch("off", _ID)
    _nothing_changed(switched, ran)
    assert f"{_ID}: left out: it is not ready" in ran.err


@pytest.mark.parametrize("answer", ["n\n", ""])
def test_without_a_yes_nothing_changes(switched: Switched, monkeypatch: pytest.MonkeyPatch, answer: str) -> None:
    assert told(switched.switch("off", _ID, yes=False).err) == [Expected(Code.NO_TERMINAL, "kkp switch-off")]
    stdin = io.StringIO(answer)
    monkeypatch.setattr(stdin, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stdin", stdin)
    ran = switched.switch("off", _ID, yes=False)
    assert (ran.code, switched.writes()) == (1, [])
    assert "Not confirmed: nothing was changed.\n" in ran.err


def test_a_time_limit_that_is_none_is_refused(switched: Switched) -> None:
    assert told(switched.switch("off", _ID, "--timeout", "soon").err) == [
        Expected(Code.INVALID_OPTION, "--timeout", "soon")
    ]
