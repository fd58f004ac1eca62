"""containerd as every default profile sets it up, and the last steps of a node: Flatcar's whole second stage runs."""

from __future__ import annotations

import re
import tomllib
from base64 import b64encode
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import pytest

from osm_gitops.model.settings import Settings
from tests.profiles.pools import every_node
from tests.profiles.releases import KUBELET, publish
from tests.profiles.rendering import Node, render
from tests.profiles.sandbox import Machine

_DROP_INS: Final = "/etc/systemd/system/containerd.service.d/"
_KUBECONFIG: Final = (
    "https://api.example.com:6443/api/v1/namespaces/cloud-init-settings/secrets/"
    "kube-system-workers-kubelet-bootstrap-config"
)


@every_node
def test_bug_590_containers_may_open_many_files(profile: str, provider: str) -> None:
    node = render(profile, provider)
    drop_ins = [file.content for path, file in node.provisioning.items() if path.startswith(_DROP_INS)]
    assert any("\nLimitNOFILE=1048576\n" in drop_in for drop_in in drop_ins)
    assert any("\nEnvironmentFile=-/etc/environment\n" in drop_in for drop_in in drop_ins)


@every_node
def test_bug_560_containerd_2_reads_a_configuration_of_version_3_with_systemds_cgroups(
    profile: str, provider: str
) -> None:
    if profile == "osp-amzn2":
        return  # its packages end at containerd 1.7, whose configuration has tests of its own
    settings = Settings(pause_image="registry.example.com/pause:3.10")
    config: dict[str, Any] = tomllib.loads(
        render(profile, provider, settings=settings).file("/etc/containerd/config.toml")
    )
    assert config["version"] == 3
    plugins = config["plugins"]
    assert plugins["io.containerd.cri.v1.images"]["pinned_images"]["sandbox"] == "registry.example.com/pause:3.10"
    runtime = plugins["io.containerd.cri.v1.runtime"]["containerd"]["runtimes"]["runc"]
    assert runtime["options"]["SystemdCgroup"] is True


@every_node
def test_bug_236_containerd_starts_anew_with_its_drop_ins_before_the_kubelet(profile: str, provider: str) -> None:
    script = render(profile, provider).file("/opt/bin/setup")
    steps = (
        "systemctl daemon-reload\n",
        "systemctl restart containerd.service\n",
        "systemctl restart kubelet.service\n",
    )
    assert [script.rindex(step) for step in steps] == sorted(script.rindex(step) for step in steps)


def _set_up(folder: Path, node: Node) -> Machine:
    """A machine after the second stage's files were written, before its script ran."""
    machine = publish(Machine(folder))
    for path, file in node.provisioning.items():
        machine.install(path, file.content)
    kubeconfig = b64encode(b"kind: Config\n").decode()
    machine.serve(_KUBECONFIG, f'{{"kind": "Secret", "data": {{"kubeconfig": "{kubeconfig}"}}}}'.encode())
    machine.write("/oem/config.ign", "{}")
    machine.write("/etc/machine-name", "node-a\n")
    return machine


def _files(machine: Machine) -> dict[Path, bytes]:
    """What the machine would keep over a reboot."""
    kept = (path for top in ("etc", "oem", "opt", "usr", "var") for path in machine.path(top).rglob("*"))
    return {path: path.read_bytes() for path in kept if path.is_file()}


_FLATCAR: Final = pytest.mark.parametrize(
    ("profile", "provider"), [("osp-flatcar", "vsphere"), ("osp-flatcar-cloud-init", "anexia")]
)


@_FLATCAR
def test_the_second_stage_of_flatcar_makes_a_node(tmp_path: Path, profile: str, provider: str) -> None:
    node = render(profile, provider, KUBELET, settings=Settings(host_ca_bundle="HOST-CA\n"))
    machine = _set_up(tmp_path, node)
    result = machine.run(node.file("/opt/bin/setup"))
    assert result.returncode == 0, result.stderr
    assert machine.path("/etc/kubernetes/bootstrap-kubelet.conf").read_text() == "kind: Config\n"
    assert machine.path("/etc/kubernetes/bootstrap-kubelet.conf").stat().st_mode & 0o077 == 0
    assert machine.path("/etc/ssl/certs/host-ca.pem").read_text() == "HOST-CA\n"
    done = [call for call in machine.calls if call.startswith(("systemctl", "hostnamectl", "update-ca"))]
    assert done == [
        "update-ca-certificates ",
        "hostnamectl set-hostname node-a",
        "systemctl mask --now docker.socket docker.service",
        "systemctl daemon-reload",
        "systemctl restart systemd-modules-load.service",
        "systemctl restart systemd-journald.service",
        "systemctl enable containerd.service",
        "systemctl restart containerd.service",
        "systemctl enable kubelet.service health-monitor@kubelet.service health-monitor@containerd.service",
        "systemctl restart kubelet.service",
        "systemctl restart --no-block health-monitor@kubelet.service health-monitor@containerd.service",
        "systemctl disable setup.service",
    ]


@every_node
def test_a_node_is_on_its_disk_before_the_service_that_made_it_is_switched_off(profile: str, provider: str) -> None:
    """A power failure left empty CNI plugins, and nobody to write them again."""
    steps = render(profile, provider, KUBELET).file("/opt/bin/setup").splitlines()
    assert steps.index("sync") > max(number for number, step in enumerate(steps) if "/opt/cni" in step)
    assert steps.index("sync") < steps.index("systemctl disable setup.service")


@_FLATCAR
def test_the_second_stage_of_flatcar_can_run_again(tmp_path: Path, profile: str, provider: str) -> None:
    node = render(profile, provider, KUBELET)
    machine = _set_up(tmp_path, node)
    assert machine.run(node.file("/opt/bin/setup")).returncode == 0
    first = _files(machine)
    assert machine.run(node.file("/opt/bin/setup")).returncode == 0
    assert _files(machine) == first


def test_the_document_with_tokens_and_passwords_does_not_stay_on_the_disk(tmp_path: Path) -> None:
    node = render("osp-flatcar", "vsphere", KUBELET)
    machine = _set_up(tmp_path, node)
    assert machine.run(node.file("/opt/bin/setup")).returncode == 0
    assert not machine.path("/oem/config.ign").exists()
    assert machine.path("/etc/kubernetes/setup-complete").exists()
    assert all(
        "\nConditionPathExists=!/etc/kubernetes/setup-complete\n" in (unit.content or "")
        for unit in node.config.provisioning.units
    )


@pytest.mark.parametrize(
    "version",
    ["containerd github.com/containerd/containerd 1.7.23 57f17b0a6295a39009d861b89e3b3b87b005ca27", "no such command"],
)
def test_a_flatcar_with_an_old_containerd_is_told_by_name_and_gets_no_kubelet(tmp_path: Path, version: str) -> None:
    node = render("osp-flatcar", "vsphere", KUBELET)
    machine = _set_up(tmp_path, node)
    machine.command("containerd", f"echo '{version}'")
    result = machine.run(node.file("/opt/bin/setup"))
    assert result.returncode == 1
    assert "containerd of this Flatcar release is older than 2.0" in result.stderr
    assert machine.called("systemctl") == []


_MIRROR: Final = "mirror.example.com"
_URL: Final = re.compile(r"https?://[^\s\"'\\]+")


@pytest.mark.parametrize(
    "provider", ["aws", "azure", "gce", "kubevirt", "openstack", "vmware-cloud-director", "vsphere"]
)
def test_with_all_values_set_a_flatcar_node_asks_nobody_but_its_mirrors(provider: str) -> None:
    values = {"downloads": {name: f"https://{_MIRROR}/{name}" for name in ("kubernetes", "cni", "crictl")}}
    mirrors = {"docker.io": (f"https://{_MIRROR}",)}
    node = render("osp-flatcar", provider, values=values, settings=Settings(registry_mirrors=mirrors))
    hosts = {urlsplit(url).hostname for url in _URL.findall(node.texts)}
    local = {"127.0.0.1", "api.example.com"}
    # the name of a registry, for which its mirror is asked
    assert hosts - local - {"registry-1.docker.io"} == {_MIRROR, "kubernetes.io"}
    assert [line for line in node.texts.splitlines() if "kubernetes.io" in line] == [
        "Documentation=https://kubernetes.io/docs/"
    ]
