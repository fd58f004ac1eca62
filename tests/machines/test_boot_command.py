"""``osm-gitops boot``, as a user calls it: machines of the demo's fleet and of trees, and one that cannot join."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from osm_gitops.commands.boot.lane.programs import KUBERNETES
from osm_gitops.commands.boot.report import boot_schema
from osm_gitops.errors import Code
from tests.apiserver.cluster import Cluster
from tests.cli.running import osm_gitops
from tests.cli.scenes import facts, pool, write_tree
from tests.demo_fleet import DEMO, DEMO_KEY, opened
from tests.faults import Expected, told
from tests.machines.store import CACHE, STORE

pytestmark = pytest.mark.boot

_VERSION = KUBERNETES.removeprefix("v")


@pytest.fixture(autouse=True)
def _what_is_built_is_kept_with_that_of_the_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(CACHE))


def _document(text: str) -> Any:
    document = json.loads(text)
    Draft202012Validator(boot_schema()).validate(document)
    return document


_COLLECTIONS = (
    *("/api/v1/secrets", "/api/v1/configmaps", "/apis/cluster.k8s.io/v1alpha1/machinedeployments"),
    *(f"/apis/operatingsystemmanager.k8c.io/v1alpha1/operatingsystem{kind}s" for kind in ("profile", "config")),
)


def _versions(cluster: Cluster) -> set[tuple[str, str]]:
    """What a run could write, as it is now."""
    found = (each["metadata"] for path in _COLLECTIONS for each in cluster.client().get(path)["items"])
    return {(each["uid"], each["resourceVersion"]) for each in found}


def test_a_pool_of_the_demo_joins_behind_its_proxy_with_an_older_kubelet_and_no_secret_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(DEMO, tmp_path / "fleet")
    monkeypatch.chdir(tmp_path / "fleet")
    for name, value in DEMO_KEY.items():
        monkeypatch.setenv(name, value)
    ran = osm_gitops("boot", "general", "--output", "json")
    assert ran.code == 0, ran.err
    document = _document(ran.out)
    assert document["joined"]
    assert document["lookAt"] == document["failedUnits"] == document["log"] == []
    assert document["node"]["kubelet"] == document["kubelet"] == "v1.34.2"
    assert document["kubeletSources"].startswith("v1.34.")
    assert document["server"] == "https://api.prod-eu.example.com:6443"
    assert "node.cloudprovider.kubernetes.io/uninitialized=true:NoSchedule" in document["node"]["taints"]
    times = [step["seconds"] for step in document["steps"]]
    assert times == sorted(times)
    assert "  bootstrap: " in ran.err
    assert "  setup: " in ran.err
    secrets = opened((DEMO / "prod-eu" / "secrets.yaml").read_text("utf-8"))
    values = {value for body in secrets for value in body.get("stringData", {}).values() if len(value) > 8}
    assert values
    assert [value for value in values if value in ran.out + ran.err] == []


def test_a_machine_that_gets_another_file_than_it_expects_does_not_join_and_the_report_says_why(tmp_path: Path) -> None:
    tree = write_tree(tmp_path / "tree", pool("workers", "osp-ubuntu", kubelet=_VERSION))
    kubelet = tmp_path / "kubelet"
    kubelet.write_text("something else")
    url = f"https://dl.k8s.io/{KUBERNETES}/bin/linux/amd64/kubelet"
    ran = osm_gitops("boot", "workers", "--from", str(tree), "--file", f"{url}={kubelet}", "--timeout", "100s")
    assert ran.code == 1
    assert told(ran.err)[-1] == Expected(Code.NODE_NOT_JOINED, "MachineDeployment kube-system/workers")
    assert "not reached: the kubelet starts" in ran.out
    last = ran.out.partition("The last lines of setup\n")[2]
    assert f"{url} does not have the checksum" in last
    assert not list(STORE.folder.glob("run-*"))


def test_an_api_server_with_an_address_and_the_port_of_the_web_and_a_file_that_is_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Flatcar, whose user-data are Ignition's; the API server is at an address of its own on port 443."""
    config = {"operatingSystem": "flatcar", "cloudProvider": "openstack", "cloudProviderSpec": {}}
    tree = write_tree(tmp_path / "tree", pool("workers", "osp-flatcar", kubelet=_VERSION, **config))
    server = "https://192.0.2.10"
    info = next(body for body in facts() if body["kind"] == "ConfigMap")
    info["data"]["kubeconfig"] = info["data"]["kubeconfig"].replace("https://api.example.com:6443", server)
    (tree / "ConfigMap-cluster-info.yaml").write_text(json.dumps(info))
    monkeypatch.chdir(tmp_path)
    ran = osm_gitops("boot", "kube-system/workers", "--from", "tree", "--output", "json")
    assert ran.code == 0, ran.err
    document = _document(ran.out)
    assert (document["joined"], document["server"], document["node"]["kubelet"]) == (True, server, KUBERNETES)


def test_a_pool_of_a_live_cluster_joins_elsewhere_and_the_cluster_is_only_read(
    management: Cluster, tmp_path: Path
) -> None:
    """Rocky Linux, with a package that no archive here has."""
    management.namespace("cloud-init-settings")
    config = {"operatingSystem": "rockylinux", "cloudProvider": "digitalocean", "cloudProviderSpec": {}}
    for body in (*facts(), pool("workers", "osp-rockylinux", kubelet=_VERSION, **config)):
        management.client().create(body)
    before = _versions(management)
    kubeconfig = str(management.kubeconfig(tmp_path / "kubeconfig"))
    ran = osm_gitops("boot", "workers", "--from", "cluster", "--kubeconfig", kubeconfig, "--package", "htop")
    assert ran.code == 0, ran.out + ran.err
    assert "The machine joined as workers-boot" in ran.out
    assert _versions(management) == before


def test_an_interrupted_boot_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from osm_gitops.commands.boot import watching

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(watching.BootWatch, "run", interrupt)
    tree = write_tree(tmp_path / "tree", pool("workers", "osp-ubuntu", kubelet=_VERSION))
    assert osm_gitops("boot", "workers", "--from", str(tree)).code == 130
    assert not list(STORE.folder.glob("run-*"))
    assert not Path("/run/netns/osm-gitops-boot").exists()
    assert str(STORE.folder / "run-") not in Path("/proc/mounts").read_text("utf-8")
