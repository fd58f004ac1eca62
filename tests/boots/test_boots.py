"""The cloud-init profiles, booted: two releases of cloud-init write what a machine gets, and start its scripts."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import pytest

from osm_gitops.model.profile import File
from osm_gitops.model.settings import Settings
from tests.boots.root import Root
from tests.cli.scenes import GETTER_TOKEN
from tests.judges.debian import FOLDER
from tests.profiles.releases import KUBELET, KUBERNETES, publish
from tests.profiles.rendering import Node, render

pytestmark = pytest.mark.oracle

_SECRETS: Final = "https://api.example.com:6443/api/v1/namespaces/cloud-init-settings/secrets"
_KUBECONFIG: Final = "apiVersion: v1\nkind: Config\n"
_SYSTEMS: Final = {
    "osp-ubuntu": ("ubuntu", 'ID=ubuntu\nVERSION_ID="24.04"\nVERSION_CODENAME=noble\n'),
    "osp-rhel": ("rhel", 'ID="rhel"\nVERSION_ID="9.5"\n'),
    "osp-rockylinux": ("rocky", 'ID="rocky"\nVERSION_ID="9.6"\n'),
    "osp-amzn2": ("amazon", 'ID="amzn"\nVERSION_ID="2"\n'),
}
"""What cloud-init calls the distribution, and its /etc/os-release."""
_PROXY: Final = Settings(http_proxy="http://proxy.example.com:3128", no_proxy=".svc,10.0.0.0/8")


@pytest.fixture(params=["22.4", "25.1"])
def cloud_init(request: pytest.FixtureRequest) -> Path:
    package = FOLDER / f"cloud-init-{request.param}"
    assert package.is_dir(), f"{package} is missing: run `make test-all`, which fetches it"
    return package


def _node(profile: str, **os_spec: object) -> Node:
    """With a key and a subscription: OSM's user-data have empty keys else, of which cloud-init warns."""
    if profile == "osp-rhel":
        os_spec |= {"rhelSubscriptionManagerUser": "user", "rhelSubscriptionManagerPassword": "word"}
    return render(profile, "aws", KUBELET, settings=_PROXY, os_spec=os_spec, ssh_keys=["ssh-ed25519 AAAA a"])


def _root(folder: Path, profile: str, node: Node, cloud_init: Path) -> Root:
    """A machine as its provider makes it, and a cluster that has all that it asks for."""
    distribution, release = _SYSTEMS[profile]
    root = Root(folder, cloud_init=cloud_init, distribution=distribution)
    for name in ("amazon-linux-extras", "apt-get", "apt-mark", "rpm", "setenforce", "subscription-manager", "yum"):
        root.command(name, "")
    root.command("dpkg", "echo amd64")
    root.command("ip", "echo '192.0.2.1 dev eth0 src 192.0.2.10 uid 0'")
    for path, text in (
        ("/etc/os-release", release),
        ("/etc/apt/sources.list.d/ubuntu.sources", "Types: deb\n"),
        ("/etc/yum.repos.d/image.repo", "[repository]\nenabled=1\n"),
        ("/etc/selinux/config", "SELINUX=enforcing\n"),
        ("/etc/fstab", "/dev/sda2 none swap sw 0 0\n"),
    ):
        root.write(path, text)
    publish(root)
    kubelet = b'#!/bin/bash\necho "kubelet $*" >>/calls\n'
    root.serve(f"{KUBERNETES}/v{KUBELET}/bin/linux/amd64/kubelet", kubelet)
    root.serve("https://download.docker.com/linux/ubuntu/gpg", b"a key")
    provisioning = node.user_data["provisioning"]
    root.serve(f"{_SECRETS}/workers-kube-system-provisioning-config", _secret("cloud-config", provisioning))
    root.serve(f"{_SECRETS}/kube-system-workers-kubelet-bootstrap-config", _secret("kubeconfig", _KUBECONFIG.encode()))
    root.seed(node.user_data["bootstrap"])
    return root


def _secret(key: str, value: bytes) -> bytes:
    return json.dumps({"kind": "Secret", "data": {key: b64encode(value).decode()}}).encode()


def _is_written(root: Root, files: Mapping[str, File]) -> None:
    for path, file in files.items():
        # Plain text (what the containerd settings become) stands in user-data without the end of its last line.
        content = file.content if file.encoding == "b64" else file.content.removesuffix("\n")
        assert root.path(path).read_text() == content, path
        assert oct(root.path(path).stat().st_mode & 0o7777) == f"0o{file.permissions}", path


def _content(root: Root) -> dict[str, bytes]:
    """All that lasts until the next boot, but what cloud-init keeps for itself."""
    kept = (path for name in ("etc", "opt", "usr/local", "var/cache") for path in root.path(f"/{name}").rglob("*"))
    return {str(path): path.read_bytes() for path in kept if path.is_file()}


def _programs(calls: Sequence[str]) -> set[str]:
    return {call.split()[0] for call in calls}


@pytest.mark.parametrize("profile", _SYSTEMS)
def test_bugs_273_and_365_a_machine_becomes_a_node_on_its_first_boot_and_stays_one(
    tmp_path: Path, profile: str, cloud_init: Path
) -> None:
    node = _node(profile)
    root = _root(tmp_path, profile, node, cloud_init)
    said = root.boot()
    _is_written(root, {**node.bootstrap, **node.provisioning})
    assert root.path("/etc/kubernetes/bootstrap-kubelet.conf").read_text() == _KUBECONFIG
    assert root.path("/etc/kubernetes/bootstrap-kubelet.conf").stat().st_mode & 0o777 == 0o600
    assert [call.partition(" --boot")[0] for call in root.called("kubelet ")] == ["kubelet"]
    assert "--node-ip=192.0.2.10" in root.calls[-1]
    assert f"HTTP_PROXY={_PROXY.http_proxy}\n" in root.path("/etc/environment").read_text()
    assert "[WARNING]" not in said
    assert GETTER_TOKEN not in said

    before, first = _content(root), len(root.calls)
    root.boot()
    assert _content(root) == before
    assert _programs(root.calls[first:]) == {"modprobe", "sysctl", "swapoff", "curl", "ip", "kubelet"}
    assert not any("provisioning-config" in call for call in root.calls[first:])

    # OSM 07720b8 #273, 44cf897 #365: a cloud-init that was switched on again provisioned nodes anew.
    root.path("/etc/cloud/cloud-init.disabled").unlink()
    first = len(root.calls)
    root.boot()
    assert _content(root) == {path: text for path, text in before.items() if not path.endswith("cloud-init.disabled")}
    assert "cloud-init init" in root.calls[first:]
    assert not any("provisioning-config" in call for call in root.calls[first:])


@pytest.mark.parametrize("profile", ["osp-ubuntu", "osp-rockylinux"])
def test_a_machine_that_is_upgraded_reboots_once_and_goes_on_where_it_was(
    tmp_path: Path, profile: str, cloud_init: Path
) -> None:
    node = _node(profile, distUpgradeOnBoot=True)
    root = _root(tmp_path, profile, node, cloud_init)
    root.command("needs-restarting", "exit 1")
    root.command("apt-get", "touch /run/reboot-required")
    root.boot()
    reboot = root.calls.index("systemctl reboot")
    assert root.path("/etc/upgrade-complete").exists()
    assert not any(call.startswith(("cloud-init ", "systemctl reboot")) for call in root.calls[reboot + 1 :])
    assert len(root.called("kubelet ")) == 1
