"""A wave waits until live clusters of the wave before are healthy: real API servers, Machines and Nodes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from osm_gitops.errors import Code
from tests.apiserver.after_osm import AfterOsm, after_osm, recorded_authority, with_machine_sets
from tests.apiserver.cluster import Cluster
from tests.cli.running import Ran, osm_gitops
from tests.cli.scenes import write_fleet
from tests.faults import told
from tests.git.repos import git, new_repository

_MACHINES = "/apis/cluster.k8s.io/v1alpha1/namespaces/kube-system"
_CONFIGS = "/apis/operatingsystemmanager.k8c.io/v1alpha1/namespaces/kube-system/operatingsystemconfigs"
_OLD, _NEW = "10.250.77.11", "10.250.77.12"
_POOL = "pool-00001"
_FLEET = """\
defaults:
  from: cluster
  to: cluster
  settings: {{externalCloudProvider: true, kubernetesCABundle: ca.pem, clusterDNS: {dns}}}
clusters:
- {{name: canary, management: {{kubeconfig: canary}}}}
- {{name: prod, management: {{kubeconfig: prod}}}}
waves:
- {{name: first, select: [canary]}}
- {{name: second, select: [prod], after: {{wave: first, soak: 0s, machines: 1, waiting: {waiting}}}}}
"""


class Live:
    """A fleet of two clusters that OSM has run on."""

    def __init__(self, root: Path, canary: AfterOsm, prod: AfterOsm) -> None:
        self.root = root
        self.canary = canary
        self.prod = prod

    def change(self, dns: str, waiting: str = "30m") -> None:
        write_fleet(self.root, _FLEET.format(dns=dns, waiting=waiting))
        git(self.root, "add", "osm-gitops.yaml")
        git(self.root, "commit", "--quiet", "-m", dns)

    def apply(self, *more: str) -> Ran:
        return osm_gitops("apply", "--yes", "--settle", "0s", *more)

    def reasons(self) -> list[str]:
        """What the second wave waits for."""
        document = json.loads(osm_gitops("plan", "--output", "json").out)
        (prod,) = (each for each in document["clusters"] if each["name"] == "prod")
        return list(prod["promotion"]["reasons"])

    def dns(self, cluster: AfterOsm) -> set[str]:
        """The addresses for DNS in the configurations of a cluster."""
        text = json.dumps(cluster.management.client().get(_CONFIGS))
        return {each for each in (_OLD, _NEW) if each in text}

    def machine(self, name: str, *, ready: bool | None = True) -> None:
        """A new Machine of the canary, with a Node unless ``ready`` is ``None``."""
        client = self.canary.worker.client()
        self.canary.machine(client.get(f"{_MACHINES}/machinesets/{_POOL}-1"), name)
        if ready is not None:
            status: dict[str, Any] = {"conditions": [{"type": "Ready", "status": "True" if ready else "False"}]}
            client.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": status})
            node = {"status": {"nodeRef": {"kind": "Node", "name": name}}}
            client.merge(f"{_MACHINES}/machines/{name}/status", node)


@pytest.fixture
def live(management: Cluster, worker: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Live:
    """Both clusters have the same settings, by a run of osm-gitops."""
    root = new_repository(tmp_path / "fleet")
    (root / "ca.pem").write_text(recorded_authority(), "utf-8")
    for name, cluster in (("canary", management), ("prod", worker)):
        (root / name).write_text(cluster.kubeconfig(tmp_path / name).read_text("utf-8"), "utf-8")
    fleet = Live(root, with_machine_sets(after_osm(management)), with_machine_sets(after_osm(worker)))
    monkeypatch.chdir(root)
    fleet.change(_OLD)
    ran = fleet.apply("--promote", "prod")
    assert ran.code == 0, ran.err
    assert (fleet.dns(fleet.canary), fleet.dns(fleet.prod)) == ({_OLD}, {_OLD})
    return fleet


def test_a_wave_gets_a_change_when_machines_of_the_wave_before_have_joined_with_it(live: Live) -> None:
    live.change(_NEW)
    assert "has not been applied" in live.reasons()[0]
    assert live.apply().code == 0
    assert (live.dns(live.canary), live.dns(live.prod)) == ({_NEW}, {_OLD})
    (reason,) = live.reasons()
    assert "0 Machines have joined" in reason
    live.machine("joins")
    live.machine("comes", ready=None)
    assert live.apply().code == 0
    assert live.dns(live.prod) == {_NEW}
    # What is through asks nobody any more.
    assert live.apply().code == 0
    assert live.reasons() == []


def test_a_machine_that_does_not_join_and_a_pool_in_trouble_stop_the_next_wave(live: Live) -> None:
    live.change(_NEW, waiting="0s")
    assert live.apply().code == 0
    live.machine("joins")
    live.machine("hangs", ready=None)
    live.machine("unready", ready=False)
    (reason,) = live.reasons()
    assert f"cluster canary: pool kube-system/{_POOL}" in reason
    assert "hangs, unready" in reason
    assert live.apply().code == 0
    assert live.dns(live.prod) == {_OLD}
    secret = f"/api/v1/namespaces/cloud-init-settings/secrets/{_POOL}-kube-system-bootstrap-config"
    live.canary.worker.client().delete(secret)
    assert any("bootstrap Secret" in each for each in live.reasons())


@pytest.mark.exhaustive
def test_a_cluster_that_cannot_be_read_is_not_healthy(live: Live, tmp_path: Path) -> None:
    live.change(_NEW)
    assert live.apply().code == 0
    live.machine("joins")
    config = live.canary.management.kubeconfig(tmp_path / "canary-reader", "reader").read_text("utf-8")
    (live.root / "canary").write_text(config, "utf-8")
    (reason,) = live.reasons()
    assert "cannot be read" in reason
    ran = live.apply()
    assert ran.code == 1
    assert Code.REQUEST_REFUSED in {code for code, _ in told(ran.err)}
    assert live.dns(live.prod) == {_OLD}
