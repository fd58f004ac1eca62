"""A virtual machine joins with the kubelet's configuration as it was rendered, and runs a pod; one of arm64 joins, too,
and one whose clock is wrong."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import pytest

from osm_gitops.commands.boot.lane.architectures import ARM64
from osm_gitops.commands.boot.lane.systems import UBUNTU_ARCHIVES
from tests.apiserver.client import Object
from tests.machines.checks import overlay_of, says_what_the_pool_says
from tests.machines.site import REGISTRY, Site

pytestmark = pytest.mark.boot

_PODS: Final = "10.88.0."
_NETWORK: Final = json.dumps(
    {
        "cniVersion": "1.0.0",
        "name": "pods",
        "plugins": [
            {
                "type": "bridge",
                "bridge": "pods",
                "isGateway": True,
                "ipam": {"type": "host-local", "ranges": [[{"subnet": f"{_PODS}0/24"}]]},
            }
        ],
    }
)
"""What an addon of the cluster would write."""
_NOT_YET: Final = "InRelease is not valid yet"
_MINUTES: Final = 60


def test_a_pod_runs_on_a_machine_with_a_kernel_of_its_own(site: Site, tmp_path: Path) -> None:
    file = {"path": "/etc/cni/net.d/10-pods.conflist", "content": {"inline": {"data": _NETWORK}}}
    patch = {"target": {"name": "osp-ubuntu"}, "merge": {"spec": {"provisioningConfig": {"files": [file]}}}}
    site.pool("workers")
    site.apply("--overlay", overlay_of(tmp_path / "mine", patches=[patch]))
    site.cluster.client().create(_pod("workers-20"))
    with site.virtual_machine("workers", "workers-20") as machine:
        machine.boot()
        says_what_the_pool_says(site.joined(machine, "workers-20", 15 * _MINUTES), "workers-20")

        def state() -> Object:
            found: Object = site.client.get("/api/v1/namespaces/default/pods/hello")["status"]
            return found

        def is_ready() -> bool:
            conditions = {each["type"]: each["status"] for each in state().get("conditions", ())}
            return conditions.get("Ready") == "True"

        machine.until("a pod that is ready", is_ready, 5 * _MINUTES)
        assert state()["podIP"].startswith(_PODS)
        assert state()["hostIP"] == "10.77.0.2"
        asked = {path for host, path, _ in site.net.asked if host == REGISTRY and "/manifests/" in path}
        assert "/v2/hello/manifests/1" in asked
        machine.until("a node that is ready", lambda: _is_ready(site.node("workers-20")), 2 * _MINUTES)


@pytest.mark.arm64
def test_a_machine_of_arm64_finds_what_is_made_for_it(site: Site) -> None:
    site.pool("workers")
    site.apply()
    with site.web_of_arm64() as image, site.virtual_machine("workers", "workers-21", image=image) as machine:
        machine.boot()
        node = site.joined(machine, "workers-21", 40 * _MINUTES)
        says_what_the_pool_says(node, "workers-21")
        assert node["status"]["nodeInfo"]["architecture"] == ARM64
        assert node["metadata"]["labels"]["kubernetes.io/arch"] == ARM64
        assert UBUNTU_ARCHIVES[ARM64][0] in {host for host, _, _ in site.net.asked}
        assert {path for _, path, _ in site.net.asked if "amd64" in path} == set()


def test_a_machine_whose_clock_is_a_day_slow_waits_for_packages_that_are_older(site: Site) -> None:
    site.pool("workers")
    site.apply()
    slow = timedelta(days=-1)
    with site.virtual_machine("workers", "workers-22", clock=slow) as machine:
        with site.packages_of_today():
            machine.boot()
            machine.until("packages of tomorrow", lambda: _NOT_YET in machine.console.read_text("utf-8", "replace"))
        # Certificates of the machine are valid from now on, and it uses what it was given.
        says_what_the_pool_says(site.joined(machine, "workers-22", 15 * _MINUTES), "workers-22")
        node = site.node("workers-22")
        assert node is not None
        said = {datetime.fromisoformat(each["lastHeartbeatTime"]) for each in node["status"]["conditions"]}
        assert max(said) < datetime.now(UTC) + slow / 2


def _is_ready(node: Object | None) -> bool:
    return node is not None and any(
        each["type"] == "Ready" and each["status"] == "True" for each in node["status"]["conditions"]
    )


def _pod(node: str) -> Object:
    """A web server that the kubelet asks, through the network of pods, whether it is ready."""
    probe = {"httpGet": {"path": "/", "port": 8080}, "periodSeconds": 1}
    container = {"name": "hello", "image": f"{REGISTRY}/hello:1", "args": ["serve"], "readinessProbe": probe}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "hello", "namespace": "default"},
        "spec": {"nodeName": node, "containers": [container], "tolerations": [{"operator": "Exists"}]},
    }
