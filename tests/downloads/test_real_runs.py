"""The list against real runs: whatever a script asks for when it runs is on the list of its pool."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from osm_gitops.downloads.gathering import Network, needs_of
from osm_gitops.downloads.need import Kind, Needs
from osm_gitops.lint.rules.boot_file import BootDocument
from tests.downloads.documents import SERVER, default_document, released_document
from tests.profiles.sandbox import Machine

_DEFAULTS: Final = (
    ("osp-ubuntu", "hetzner", "1.35.4"),
    ("osp-ubuntu", "nutanix", "1.31.9"),
    ("osp-rhel", "vsphere", "1.34.2"),
    ("osp-rockylinux", "digitalocean", "1.36.1"),
    ("osp-amzn2", "aws", "1.33.1"),
    ("osp-flatcar", "vmware-cloud-director", "1.35.4"),
    ("osp-flatcar-cloud-init", "anexia", "1.36.1"),
)
_RELEASED: Final = (
    *(("v1.11.2", f"osp-{name}", "aws") for name in ("ubuntu", "rhel", "flatcar")),
    ("v1.6.9", "osp-amzn2", "aws"),
)
_OTHER_RELEASED: Final = (
    *(("v1.11.2", f"osp-{name}", "aws") for name in ("rockylinux", "amzn2")),
    ("v1.11.2", "osp-flatcar-cloud-init", "anexia"),
    *((version, "osp-ubuntu", "openstack") for version in ("v1.6.9", "v1.7.6", "v1.8.0", "v1.9.1", "v1.10.7")),
    *((version, "osp-rockylinux", "vsphere") for version in ("v1.6.9", "v1.8.0")),
)
_RELEASES: Final = 'ID={id}\nVERSION_ID="{version}"\nVERSION_CODENAME=noble\n'
_IDS: Final = {"rockylinux": "rocky", "amzn2": "amzn"}
# Every address answers: with a Secret, with a checksum, with a file.
_CURL: Final = r"""
while [ $# -gt 0 ]; do
  case "$1" in
    --output|-o|-*fo|-*Lo) output=$2; shift ;;
    --config) cat >/dev/null; shift ;;
    -H|--header) shift ;;
  esac
  shift
done
[ -z "$output" ] || mkdir -p "$(dirname "$output")"
echo '{"data": {"cloud-config": "eA==", "kubeconfig": "eA=="}} file' >"${output:-/dev/stdout}"
"""
# A script that waits again and again waits for something that a stand-in does not give.
_SLEEP: Final = 'echo x >>"$MACHINE/slept"; [ "$(wc -l <"$MACHINE/slept")" -lt 5 ] || kill $PPID'
_CLOUD_INIT: Final = """
case "$*" in *--help*) echo "[--file FILES]"; exit ;; esac
[ -e "$MACHINE/opt/bin/setup" ] || { echo '#!/bin/bash' >"$MACHINE/opt/bin/setup"; chmod 755 "$MACHINE/opt/bin/setup"; }
"""
# A file has the right checksum once it is there.
_SHA256SUM: Final = 'case "$*" in *--status*) read -r _ file; [ -e "$file" ] ;; esac'
_MORE: Final = (
    *("apt", "apt-get", "apt-mark", "yum", "dnf", "rpm", "yum-config-manager", "amazon-linux-extras", "tar"),
    *("netplan", "cloud-init", "needs-restarting", "subscription-manager", "nmcli", "awk", "install", "ln", "logger"),
    *(
        "setsebool",
        "firewall-cmd",
        "iptables",
        "restorecon",
        "vmtoolsd",
        "coreos-cloudinit",
        "hostname",
        "locksmithctl",
    ),
)


def _machine(folder: Path, document: BootDocument, architecture: str) -> Machine:
    machine = Machine(folder, architecture)
    for name in _MORE:
        machine.command(name, "")
    machine.command("curl", _CURL)
    machine.command("sleep", _SLEEP)
    machine.command("cloud-init", _CLOUD_INIT)
    machine.command("sha256sum", _SHA256SUM)
    machine.command("jq", "cat >/dev/null; echo eA==")
    machine.command("gpg", "cat >/dev/null")
    machine.command("lsb_release", '[ "$1" = -cs ] && echo noble || echo Ubuntu')
    machine.command("dpkg", f"echo {'amd64' if architecture == 'x86_64' else 'arm64'}")
    machine.command("sudo", '"$@"')
    os = document.os
    machine.write("/etc/os-release", _RELEASES.format(id=_IDS.get(os, os), version="9.5"))
    for path in ("/etc/environment", "/etc/selinux/config", "/etc/fstab"):
        machine.write(path, "")
    for path in ("/etc/apt/keyrings", "/etc/apt/sources.list.d", "/etc/yum.repos.d", "/etc/cloud/cloud.cfg.d", "/oem",
                 "/etc/polkit-1/rules.d", "/usr/share/oem", "/etc/kubernetes/pki"):  # fmt: skip
        machine.path(path).mkdir(parents=True, exist_ok=True)
    for file in document.texts:
        machine.install(file.path, file.text)
    return machine


def _asked(machine: Machine) -> Iterator[str]:
    """URLs and packages that the run asked for."""
    for call in machine.calls:
        name, *words = call.split()
        if name in {"curl", "wget"}:
            yield from (word for word in words if word.startswith("http"))
        elif name in {"apt", "apt-get", "yum", "dnf"} and "install" in words:
            yield from (word for word in words[words.index("install") + 1 :] if re.match("[a-z]", word))
        elif name in {"rpm", "yum-config-manager", "amazon-linux-extras"}:
            yield from (word.removeprefix("--add-repo=") for word in words if "://" in word)


def _run(folder: Path, document: BootDocument, architecture: str) -> set[str]:
    asked: set[str] = set()
    for path in ("/opt/bin/bootstrap", "/opt/bin/setup"):
        machine = _machine(folder / architecture / path.rpartition("/")[2], document, architecture)
        done = machine.run(next((file.text for file in document.texts if file.path == path), ""))
        found = set(_asked(machine))
        assert found or done.returncode == 0, done.stderr
        asked |= found
    return asked


def _names(needs: Needs, architecture: str) -> set[str]:
    arch = {"x86_64": "amd64", "aarch64": "arm64"}[architecture]
    return {each.name for each in needs.needs if arch in each.architectures and each.kind is not Kind.MENTIONED}


@pytest.mark.parametrize(
    ("profile", "provider", "kubelet", "architecture"),
    [
        *((*each, "x86_64") for each in _DEFAULTS),
        (*_DEFAULTS[0], "aarch64"),
        *(pytest.param(*each, "aarch64", marks=pytest.mark.exhaustive) for each in _DEFAULTS[1:]),
    ],
)
def test_what_a_default_profile_asks_for_is_on_its_list(
    tmp_path: Path, profile: str, provider: str, kubelet: str, architecture: str
) -> None:
    document = default_document(tmp_path / "tree", profile, provider, kubelet)
    needs = needs_of(document, Network(SERVER))
    asked = _run(tmp_path, document, architecture)
    assert asked <= _names(needs, architecture)
    assert any(f"/{'arm64' if architecture == 'aarch64' else 'amd64'}/kubelet" in each for each in asked)
    # And nothing is invented: every URL of the list was asked for, but for what only one state of a machine needs.
    urls = {each.name for each in needs.needs if each.kind in {Kind.URL, Kind.API} and each.by == "curl"}
    assert {url for url in urls & _names(needs, architecture) if "wrong" not in url} <= asked


@pytest.mark.conformance
@pytest.mark.parametrize(
    ("version", "profile", "provider"),
    [*_RELEASED, *(pytest.param(*each, marks=pytest.mark.exhaustive) for each in _OTHER_RELEASED)],
)
def test_what_a_profile_of_osm_asks_for_is_on_its_list(
    tmp_path: Path, version: str, profile: str, provider: str
) -> None:
    kubelet = "1.30.2" if version == "v1.6.9" else "1.33.1"
    document = released_document(tmp_path / "tree", version, profile, provider, kubelet)
    needs = needs_of(document, Network(SERVER))
    asked = _run(tmp_path, document, "x86_64")
    assert asked <= _names(needs, "x86_64")
    assert any(each.endswith("/kubelet") for each in asked)
