"""The roots of machines, made of Debian's packages once for each recipe, and the packages that nodes install later.

A root is what a cloud's image is: it has systemd, cloud-init and a network, and nothing that a profile installs. It is
never written: machines have an overlay above it. What makes it Ubuntu's or Red Hat's is in ``systems.py``.
"""

from __future__ import annotations

import hashlib
import json
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from osm_gitops.commands.boot.lane.architectures import AMD64, ARM64, named
from osm_gitops.commands.boot.lane.needs import output
from osm_gitops.commands.boot.lane.store import Store
from osm_gitops.commands.boot.lane.systems import RED_HAT
from osm_gitops.errors import Code, LaneError, Problem

VIRTUAL: Final = "virtual ubuntu"
"""Ubuntu with a kernel, for virtual machines."""
_RELEASE: Final = "bookworm"
_IMAGE: Final = (
    *("systemd", "systemd-sysv", "systemd-resolved", "libpam-systemd", "udev", "dbus", "cloud-init", "netplan.io"),
    *("iproute2", "ca-certificates", "curl", "kmod", "procps", "netbase", "sudo", "gpg", "gpgv", "apt"),
)
"""What clouds' images have."""
_OF_RED_HAT: Final = ("dnf", "rpm")
"""What Red Hat's have besides; Debian has packages of these."""
_KERNEL: Final = ("linux-image-cloud-{architecture}", "initramfs-tools", "zstd")
"""What virtual machines need besides."""
_FLATCAR: Final = (
    *("systemd", "systemd-sysv", "systemd-resolved", "libpam-systemd", "udev", "dbus", "iproute2", "ca-certificates"),
    *("curl", "kmod", "procps", "netbase", "sudo", "conntrack", "e2fsprogs", "ebtables", "ethtool", "ipvsadm"),
    *("iptables", "jq", "openssh-client", "python3-yaml", "runc", "socat", "util-linux"),
)
"""What Flatcar's have, which install nothing; the stand-in of its cloud-init is written in Python."""
_LATER: Final = (
    *("cifs-utils", "conntrack", "e2fsprogs", "ebtables", "ethtool", "ipvsadm", "iptables", "nfs-common"),
    *("openssh-client", "socat", "util-linux", "xfsprogs", "runc"),
    *("apt-transport-https", "jq", "lsb-release"),
)
"""What profiles install on Ubuntu, the last line OSM's own; runc goes into the package of containerd."""
_LEFT_OUT: Final = tuple(f"--dpkgopt=path-exclude=/usr/share/{folder}/*" for folder in ("doc", "info", "locale", "man"))

_QEMU: Final = {ARM64: "qemu-aarch64"}
"""What programs of other architectures are registered as."""
_REGISTRY: Final = Path("/proc/sys/fs/binfmt_misc")
_REGISTRATIONS: Final = Path("/usr/lib/binfmt.d")


@dataclass(frozen=True, slots=True)
class Image:
    """``root`` is the folder of the root, ``packages`` that of the ``.deb`` files which nodes install."""

    root: Path
    packages: Path
    architecture: str = AMD64

    @property
    def runc(self) -> Path:
        """The package whose program goes into those of containerd."""
        (found,) = self.packages.glob("runc_*.deb")
        return found

    def new_packages(self) -> list[Path]:
        """Those that the root does not have yet."""
        status = (self.root / "var/lib/dpkg/status").read_text("utf-8")
        there = {line.removeprefix("Package: ") for line in status.splitlines() if line.startswith("Package: ")}
        return [each for each in sorted(self.packages.glob("*.deb")) if each.name.partition("_")[0] not in there]


def image_of(store: Store, system: str, architecture: str = AMD64) -> Image:
    """The image of a system, or :data:`VIRTUAL`; made where it is not there: a minute or two, and a quarter of an hour
    by qemu for another architecture than this machine's, whose programs run here afterwards.

    Raises LaneError with mmdebstrap's errors.
    """
    included = {
        **dict.fromkeys(RED_HAT, (*_IMAGE, *_OF_RED_HAT)),
        "flatcar": _FLATCAR,
        VIRTUAL: (*_IMAGE, *(each.format(architecture=architecture) for each in _KERNEL)),
    }.get(system, _IMAGE)
    recipe = hashlib.sha256(json.dumps([_RELEASE, included, _LATER, _LEFT_OUT]).encode()).hexdigest()[:16]
    if architecture != AMD64:
        _run_programs_of(architecture)
    what = f"making the root of machines of Debian's packages for {architecture}"
    folder = store.made(named("debian", architecture), recipe, lambda new: _make(new, included, architecture), what)
    return Image(folder / "root", folder / "packages", architecture)


def _make(folder: Path, included: Sequence[str], architecture: str) -> None:
    packages = folder / "packages"
    packages.mkdir()
    fetch = (
        'APT_CONFIG="$MMDEBSTRAP_APT_CONFIG" apt-get --yes --download-only --no-install-recommends install '
        + shlex.join(_LATER)
    )
    keep = f'cp "$1"/var/cache/apt/archives/*.deb {shlex.quote(str(packages))}'
    chosen = (f"--architectures={architecture}", f"--include={','.join(included)}")
    options = (*_LEFT_OUT, "--dpkgopt=force-unsafe-io", *chosen)
    hooks = (f"--customize-hook={fetch}", f"--customize-hook={keep}")
    where = (_RELEASE, str(folder / "root"))
    output("mmdebstrap", "--mode=root", "--variant=minbase", "--format=directory", *options, *hooks, *where)


def _run_programs_of(architecture: str) -> None:
    """Have the kernel hand programs of an architecture to qemu-user, also in a root of their own (binfmt_misc)."""
    name = _QEMU[architecture]
    # The package registers itself where systemd runs, and a container has none.
    if not (_REGISTRY / "register").exists():
        output("mount", "-t", "binfmt_misc", "binfmt_misc", str(_REGISTRY))
    if (_REGISTRY / name).exists():
        return
    try:
        (_REGISTRY / "register").write_text((_REGISTRATIONS / f"{name}.conf").read_text("utf-8"), "utf-8")
    except OSError as failure:
        what = f"programs of {architecture} cannot be run here: {failure}"
        raise LaneError([Problem(Code.BOOT_LANE_FAILED, what, fix="Run apt-get install qemu-user-static")]) from failure
