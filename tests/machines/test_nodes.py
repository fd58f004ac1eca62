"""From a MachineDeployment in a real cluster to a Node of it, by way of what ``apply`` wrote."""

from __future__ import annotations

import json
import random
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import sleep
from typing import Final

import pytest

from osm_gitops.commands.boot.lane.internet import PROXY_PORT, proxied
from osm_gitops.commands.boot.lane.machine import Machine, content
from osm_gitops.commands.boot.lane.programs import KUBERNETES
from osm_gitops.commands.boot.lane.systems import UBUNTU_ARCHIVE, without_default_route
from tests.cli.running import osm_gitops
from tests.cli.scenes import GETTER_TOKEN
from tests.machines.checks import is_well, overlay_of, says_what_the_pool_says, taints
from tests.machines.site import API, MIRROR, PROXY, Site

pytestmark = pytest.mark.boot

_LASTING: Final = ("/etc", "/opt", "/usr/local", "/var/cache/kubernetes")
_CERTIFICATE: Final = "/etc/kubernetes/pki/kubelet-client-current.pem"


_SYSCTL: Final = "vm.max_map_count = 300000\nfs.inotify.max_user_instances = 1024\nvm.overcommit_memory = 0\n"


def test_a_machine_becomes_a_node_and_a_second_boot_changes_nothing(site: Site, tmp_path: Path) -> None:
    file = {"path": "/etc/sysctl.d/90-mine.conf", "content": {"inline": {"data": _SYSCTL}}}
    patch = {"target": {"name": "osp-ubuntu"}, "merge": {"spec": {"provisioningConfig": {"files": [file]}}}}
    overlay = overlay_of(tmp_path / "mine", patches=[patch], settings={"initialTaints": ["a=b:NoSchedule"]})
    site.pool("workers")
    site.apply("--overlay", overlay)
    with site.machine("workers", "workers-1") as machine:
        machine.boot()
        node = site.joined(machine, "workers-1")
        says_what_the_pool_says(node, "workers-1")
        assert "a=b:NoSchedule" in taints(node)
        is_well(machine)
        _kernel_is_set(machine)
        assert GETTER_TOKEN not in machine.journal()
        assert site.getter_token not in machine.journal()

        machine.shut_down()
        before = content(machine, _LASTING)
        site.net.forget()
        begun = datetime.now(UTC)
        machine.boot()
        site.reports_since(machine, "workers-1", begun.strftime("%Y-%m-%dT%H:%M:%SZ"))
        is_well(machine)
        _kernel_is_set(machine)
        machine.shut_down()
        after = content(machine, _LASTING)
        assert {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)} == set()
        assert site.net.asked == []


def _kernel_is_set(machine: Machine) -> None:
    """As the overlay has it from the first start on, but for what the kubelet refuses to start without."""
    found = {name: machine.says("sysctl", "-n", name) for name in ("vm.max_map_count", "vm.overcommit_memory")}
    assert found == {"vm.max_map_count": "300000", "vm.overcommit_memory": "1"}
    assert machine.says("sysctl", "-n", "fs.inotify.max_user_instances") == "1024"


def test_another_cloud_with_gzip_and_a_controller_of_its_own_and_no_default_route(site: Site, tmp_path: Path) -> None:
    overlay = overlay_of(tmp_path / "mine", settings={"externalCloudProvider": True})
    site.pool("workers", cloudProvider="openstack", cloudProviderSpec={})
    site.apply("--overlay", overlay)
    kubelet = f"/{KUBERNETES}/bin/linux/amd64/kubelet"
    site.net.broken[kubelet] = b"something else"
    with site.machine("workers", "workers-2", gzipped=True) as machine:
        without_default_route(machine)
        machine.boot()
        wrong = f"https://dl.k8s.io{kubelet} does not have the checksum"
        machine.until("a wrong checksum in the journal", lambda: wrong in machine.journal("setup"))
        again = f"fetch https://dl.k8s.io{kubelet}"
        machine.until("which download is tried again", lambda: again in machine.journal("setup"))
        assert site.node("workers-2") is None
        site.net.broken.clear()
        node = site.joined(machine, "workers-2")
        says_what_the_pool_says(node, "workers-2")
        assert "node.cloudprovider.kubernetes.io/uninitialized=true:NoSchedule" in taints(node)
        is_well(machine)


def test_bug_202_a_machine_whose_token_has_expired_joins_with_the_next_one(site: Site) -> None:
    """OSM#202, MC#1732, KKP#10780. The kubelet writes its kubeconfig before it has a certificate."""
    site.pool("workers")
    site.apply()
    ago = (datetime.now(UTC) - timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
    for token in site.tokens():
        path = f"/api/v1/namespaces/kube-system/secrets/{token['metadata']['name']}"
        site.client.merge(path, {"stringData": {"expiration": ago}})
    with site.machine("workers", "workers-3") as machine:
        machine.boot()
        machine.until("a refused token in the journal", lambda: "Unauthorized" in machine.journal("kubelet"))
        assert machine.has("/var/lib/kubelet/kubeconfig")
        assert not machine.has(_CERTIFICATE)
        site.apply()
        site.joined(machine, "workers-3", 120)
        assert machine.has(_CERTIFICATE)


@pytest.mark.parametrize("seed", [1])
def test_a_machine_that_loses_power_five_times_while_it_is_made_joins(site: Site, seed: int) -> None:
    site.pool("workers")
    site.apply()
    moments = random.Random(seed)
    with site.machine("workers", "workers-4") as machine:
        for _ in range(5):
            machine.boot()
            sleep(moments.uniform(3, 30))
            machine.cut()
        begun = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        machine.boot()
        site.reports_since(machine, "workers-4", begun)  # it may have joined before
        says_what_the_pool_says(site.joined(machine, "workers-4"), "workers-4")
        is_well(machine)


def test_a_minute_without_the_api_server_and_a_minute_without_mirrors_only_take_time(site: Site) -> None:
    site.pool("workers")
    site.apply()
    with site.machine("workers", "workers-5") as machine:
        site.net.down |= {80, 443, 6443}
        machine.boot()
        where = f"cannot fetch cloud-config from https://{API}:6443/api/v1/namespaces/cloud-init-settings/secrets/"
        machine.until("what cannot be fetched", lambda: where in machine.journal("bootstrap"))
        sleep(60)
        site.net.down.discard(6443)
        machine.until("a first try of apt", lambda: "apt_anew install" in machine.journal("setup"))
        sleep(60)
        site.net.down.clear()
        site.joined(machine, "workers-5")
        is_well(machine)


def test_an_air_gapped_machine_asks_for_what_explain_lists_and_for_nothing_else(site: Site, tmp_path: Path) -> None:
    values = {"airGap": {"mirror": f"https://{MIRROR}"}}
    overlay = overlay_of(tmp_path / "mine", overlays=["builtin:air-gapped"], values=values)
    site.pool("workers")
    site.apply("--overlay", overlay)
    with site.machine("workers", "workers-6") as machine, site.only_the_mirror():
        machine.boot()
        site.joined(machine, "workers-6")
        is_well(machine)
        assert {host for host, _, _ in site.net.asked} == {MIRROR}
        assert site.net.refused == set()
        asked = {f"https://{host}{path}" for host, path, _ in site.net.asked}
    ran = osm_gitops("explain", "--downloads", "-o", "json", *site.source, "--overlay", overlay)
    needs = [each for each in json.loads(ran.out)["needs"] if "amd64" in each["architectures"]]
    suites = {each["name"].replace("$VERSION_CODENAME", "noble") for each in needs if each["kind"] == "repository"}
    # Of an archive apt asks for one file by the name of each suite, and for what that one names.
    repositories = {(suite.split()[0], f"{suite.split()[0]}/dists/{suite.split()[1]}/InRelease") for suite in suites}
    assert {release for _, release in repositories} <= asked
    below = {
        url for url in asked if any(url.startswith((f"{base}/dists/", f"{base}/pool/")) for base, _ in repositories)
    }
    assert {url for url in below if url.endswith("/InRelease")} == {release for _, release in repositories}
    assert asked - below == {each["name"] for each in needs if each["kind"] == "url"}


def test_behind_a_proxy_nothing_but_the_api_server_is_asked_beside_it(site: Site, tmp_path: Path) -> None:
    values = {"proxy": {"url": f"http://{PROXY}:{PROXY_PORT}", "direct": API}}
    overlay = overlay_of(tmp_path / "mine", overlays=["builtin:proxy"], values=values)
    site.pool("workers")
    site.apply("--overlay", overlay)
    with proxied(site.net, tmp_path) as log, site.machine("workers", "workers-19") as machine:
        site.net.near = frozenset({API, PROXY})
        machine.boot()
        says_what_the_pool_says(site.joined(machine, "workers-19"), "workers-19")
        is_well(machine)
        assert site.net.by_machine == set()
        assert site.net.refused == set()
        connected = set(re.findall(r"CONNECT (\S+):443 ", log()))
    assert connected == {"dl.k8s.io", "download.docker.com", "github.com"}
    assert {host for host, _, _ in site.net.asked} == connected | {UBUNTU_ARCHIVE}
