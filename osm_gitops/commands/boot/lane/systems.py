"""What makes the root of Debian's packages the image of an operating system, and a container a machine.

Written into a machine before its first boot. All that a real machine would not have is in ``/etc/lane``,
``/usr/local/sbin`` and units named ``lane-*``; docs/explanation/boot-tests.md lists it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from osm_gitops.commands.boot.lane import flatcar
from osm_gitops.commands.boot.lane.architectures import AMD64, ARM64
from osm_gitops.commands.boot.lane.internet import ADDRESS, MACHINE_ADDRESS
from osm_gitops.commands.boot.lane.machine import Machine
from osm_gitops.commands.boot.lane.needs import output

UBUNTU_ARCHIVE: Final = "archive.ubuntu.com"
UBUNTU_ARCHIVES: Final = {AMD64: (UBUNTU_ARCHIVE, "/ubuntu"), ARM64: ("ports.ubuntu.com", "/ubuntu-ports")}
"""Host and path of each architecture's packages."""

_KEYRING: Final = "/usr/share/keyrings/ubuntu-archive-keyring.gpg"


@dataclass(frozen=True, slots=True)
class RedHat:
    """A system of Red Hat's family: ``path`` is that of its ``repositories`` on ``host``, ``key`` the name of their
    key."""

    host: str
    path: str
    release: str
    key: str
    repositories: tuple[str, ...] = ("BaseOS", "AppStream")

    def repository(self, name: str, release: str, architecture: str) -> str:
        return self.path.format(release=release, name=name, architecture=architecture)


RED_HAT: Final = {
    "rockylinux": RedHat("dl.rockylinux.org", "/pub/rocky/{release}/{name}/{architecture}/os", "9.6", "Rocky-9"),
    "rhel": RedHat("rhui.example.com", "/rhel/{release}/{architecture}/{name}", "9.5", "redhat-release"),
    "amzn2": RedHat(
        *("amazonlinux.us-east-1.amazonaws.com", "/{release}/{name}/latest/{architecture}", "2", "amazon-linux-2"),
        ("core", "extras"),
    ),
}
_OS_RELEASE: Final = {
    "amzn2": (
        'NAME="Amazon Linux"\nVERSION="2"\nID="amzn"\nID_LIKE="centos rhel fedora"\nVERSION_ID="2"\n'
        'PRETTY_NAME="Amazon Linux 2"\n'
    ),
    "flatcar": (
        'NAME="Flatcar Container Linux by Kinvolk"\nID=flatcar\nID_LIKE=coreos\nVERSION=4593.2.0\n'
        'VERSION_ID=4593.2.0\nPRETTY_NAME="Flatcar Container Linux by Kinvolk 4593.2.0 (Oklo)"\n'
    ),
    "rhel": (
        'NAME="Red Hat Enterprise Linux"\nVERSION="9.5 (Plow)"\nID="rhel"\nID_LIKE="fedora"\nVERSION_ID="9.5"\n'
        'PLATFORM_ID="platform:el9"\nPRETTY_NAME="Red Hat Enterprise Linux 9.5 (Plow)"\n'
    ),
    "rockylinux": (
        'NAME="Rocky Linux"\nVERSION="9.6 (Blue Onyx)"\nID="rocky"\nID_LIKE="rhel centos fedora"\nVERSION_ID="9.6"\n'
        'PLATFORM_ID="platform:el9"\nPRETTY_NAME="Rocky Linux 9.6 (Blue Onyx)"\n'
    ),
    "ubuntu": (
        'PRETTY_NAME="Ubuntu 24.04.3 LTS"\nNAME="Ubuntu"\nVERSION_ID="24.04"\nVERSION="24.04.3 LTS (Noble Numbat)"\n'
        "VERSION_CODENAME=noble\nID=ubuntu\nID_LIKE=debian\nUBUNTU_CODENAME=noble\n"
    ),
}
_CLOUD_INIT: Final[Mapping[str, object]] = {
    "datasource_list": ["NoCloud", "None"],
    "network": {"config": "disabled"},
    "locale": "C.UTF-8",
    "ssh_genkeytypes": ["ed25519"],
    "apt": {"preserve_sources_list": True},
}
_SETTINGS: Final[Mapping[str, Mapping[str, object]]] = {
    "ubuntu": {"system_info": {"distro": "ubuntu"}},
    # Debian's cloud-init runs before D-Bus, by which it would set the name here; the profile sets it later.
    "rockylinux": {"system_info": {"distro": "rocky"}, "preserve_hostname": True},
    "rhel": {"system_info": {"distro": "rhel"}, "preserve_hostname": True},
    "amzn2": {"system_info": {"distro": "amazon"}, "preserve_hostname": True},
}
"""Settings of cloud-init that are not alike."""
_NETPLAN_FILE: Final = "/etc/netplan/50-cloud-init.yaml"
_NETPLAN: Final = {
    "network": {
        "version": 2,
        "ethernets": {
            "eth0": {
                "addresses": [f"{MACHINE_ADDRESS}/24"],
                "routes": [{"to": "default", "via": ADDRESS}],
                "nameservers": {"addresses": [ADDRESS]},
            }
        },
    }
}
_KUBELET: Final = {
    "apiVersion": "kubelet.config.k8s.io/v1beta1",
    "kind": "KubeletConfiguration",
    "failCgroupV1": False,
    "cgroupsPerQOS": False,
    "enforceNodeAllocatable": [],
}
"""A container has no cgroups of its own to put pods into."""
_SYSCTL_UNIT: Final = """\
[Unit]
Description=Settings of the kernel that can be written: a copy, as the kernel is that of the host
DefaultDependencies=no
Before=systemd-sysctl.service systemd-modules-load.service sysinit.target

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/etc/lane/sysctl

[Install]
WantedBy=sysinit.target
"""
_SYSCTL: Final = r"""#!/bin/bash
# Programs read and write a copy of /proc/sys, as they would the kernel's own: what the host has at each boot.
set -uo pipefail
mkdir -p /run/lane/sys
mount -t tmpfs -o mode=755 lane /run/lane/sys
cp -r /proc/sys/. /run/lane/sys/ 2>/dev/null
chmod -R u+w /run/lane/sys
mkdir -p /run/lane/sys/net/bridge
for name in arptables ip6tables iptables; do echo 0 >"/run/lane/sys/net/bridge/bridge-nf-call-$name"; done
mount --bind /run/lane/sys /proc/sys
"""
_MODPROBE: Final = """#!/bin/sh
# The kernel is that of the host; what is asked for is noted.
echo "modprobe $*" >>/run/lane-modules
"""
_UDEVADM: Final = """#!/bin/sh
# There are no devices of its own to be told of.
exit 0
"""


@dataclass(frozen=True, slots=True)
class Trust:
    """What images trust: ``authority`` for the web in PEM (empty for one that they do not know), the key of archives of
    packages as ``keyring`` for gpgv and as ``key`` in armour."""

    authority: bytes
    keyring: bytes
    key: bytes


def install(machine: Machine, system: str, trust: Trust, containerd: Path, architecture: str = AMD64) -> None:
    """Make it the image of ``system``; ``containerd`` is a folder with the files of its package."""
    machine.write(
        {
            "/etc/os-release": _OS_RELEASE[system],
            **({"/usr/local/share/ca-certificates/internet.crt": trust.authority} if trust.authority else {}),
            "/etc/fstab": "",
        }
    )
    for name in ("hostname", "machine-id", "resolv.conf"):
        machine.path(f"/etc/{name}").unlink(missing_ok=True)
    machine.path("/etc/resolv.conf").symlink_to("/run/systemd/resolve/stub-resolv.conf")
    machine.path("/var/log/journal").mkdir(parents=True, exist_ok=True)
    if system == "flatcar":
        flatcar.prepare(machine, containerd)
    else:
        _prepare_cloud_init(machine, system)
        machine.write(_red_hat(RED_HAT[system], trust) if system in RED_HAT else _ubuntu(trust, architecture))
    if system in RED_HAT:
        machine.path("/usr/bin/yum").symlink_to("dnf-3")
    if system != "ubuntu":
        for each in ("apt", "apt-get"):
            machine.path(f"/usr/bin/{each}").unlink()
    chroot = ("chroot", str(machine.disk))
    output(*chroot, "update-ca-certificates")
    output(*chroot, "systemctl", "enable", "--quiet", "systemd-networkd", "systemd-resolved")


def make_container(machine: Machine) -> None:
    """Write what stands for what a container does not have: a kernel, its cgroups, devices."""
    machine.write(
        {
            "/etc/lane/kubelet.d/10-lane.conf": json.dumps(_KUBELET),
            "/etc/systemd/system/lane-sysctl.service": _SYSCTL_UNIT,
        }
    )
    machine.write({"/etc/lane/sysctl": _SYSCTL}, 0o755)
    machine.write({"/usr/local/sbin/modprobe": _MODPROBE, "/usr/local/sbin/udevadm": _UDEVADM}, 0o755)
    chroot = ("chroot", str(machine.disk))
    output(*chroot, "systemctl", "enable", "--quiet", "lane-sysctl")
    output(*chroot, "systemctl", "mask", "--quiet", "run-rpc_pipefs.mount", "proc-fs-nfsd.mount")


def _prepare_cloud_init(machine: Machine, system: str) -> None:
    machine.write(
        {
            "/etc/cloud/cloud.cfg.d/90-lane.cfg": json.dumps({**_CLOUD_INIT, **_SETTINGS[system]}),
            "/etc/machine-id": "",
        }
    )
    machine.write({_NETPLAN_FILE: json.dumps(_NETPLAN)}, 0o600)


def _ubuntu(trust: Trust, architecture: str) -> Mapping[str, str | bytes]:
    host, path = UBUNTU_ARCHIVES[architecture]
    sources = (
        f"Types: deb\nURIs: http://{host}{path}\nSuites: noble noble-updates noble-security\n"
        f"Components: main restricted universe\nSigned-By: {_KEYRING}\n"
    )
    return {
        "/etc/apt/sources.list": "",
        "/etc/apt/sources.list.d/ubuntu.sources": sources,
        _KEYRING: trust.keyring,
    }


def _red_hat(system: RedHat, trust: Trust) -> Mapping[str, str | bytes]:
    key = f"/etc/pki/rpm-gpg/RPM-GPG-KEY-{system.key}"
    repositories = "\n".join(
        f"[{name.lower()}]\nname={name}\n"
        f"baseurl=http://{system.host}{system.repository(name, '$releasever', '$basearch')}/\n"
        f"enabled=1\ngpgcheck=1\ngpgkey=file://{key}\n"
        for name in system.repositories
    )
    return {
        "/etc/yum.repos.d/image.repo": repositories,
        "/etc/dnf/vars/releasever": system.release,
        key: trust.key,
    }


def without_default_route(machine: Machine) -> None:
    """Its network reaches the internet's address and nothing else."""
    network = json.loads(machine.path(_NETPLAN_FILE).read_text("utf-8"))
    del network["network"]["ethernets"]["eth0"]["routes"]
    machine.write({_NETPLAN_FILE: json.dumps(network)}, 0o600)


def seed(machine: Machine, user_data: bytes, instance: str, hostname: str) -> None:
    """What the provider hands to cloud-init."""
    metadata: Mapping[str, str] = {"instance-id": instance, "local-hostname": hostname}
    folder = "/var/lib/cloud/seed/nocloud"
    machine.write({f"{folder}/user-data": user_data, f"{folder}/meta-data": json.dumps(metadata)})
