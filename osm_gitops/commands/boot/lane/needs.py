"""What boots need of the machine that they run on, and the programs of it that they call."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from osm_gitops.cache.folder import is_ours
from osm_gitops.children import for_lane
from osm_gitops.commands.boot.lane.architectures import AMD64, ARM64
from osm_gitops.errors import Code, LaneError, Problem

_PROGRAMS: Final = {
    "mmdebstrap": "mmdebstrap",
    "systemd-nspawn": "systemd-container",
    "ip": "iproute2",
    "dpkg-deb": "dpkg",
    "gpg": "gpg",
    "rpmbuild": "rpm",
    "createrepo_c": "createrepo-c",
    "unshare": "util-linux",
    "gcc": "gcc",
    "tinyproxy": "tinyproxy-bin",
}
"""Programs, and the packages of Debian and Ubuntu that have them."""
_VIRTUAL: Final = {
    AMD64: {"qemu-system-x86_64": "qemu-system-x86", "mkfs.ext4": "e2fsprogs"},
    ARM64: {"qemu-system-aarch64": "qemu-system-arm", "qemu-aarch64-static": "qemu-user-static"},
}
"""What virtual machines of an architecture need besides."""
_HEADERS: Final = {Path("/usr/include/blkid/blkid.h"): "libblkid-dev", Path("/usr/include/pwd.h"): "libc6-dev"}
"""Of C libraries that Ignition is built with."""
_GIB: Final = 1 << 30
_DISK: Final = 10 * _GIB
_TAIL: Final = 3000
"""Characters of what a program said that are shown."""


def missing(folder: Path, *, built: bool, virtual: Iterable[str] = ()) -> list[Problem]:
    """All that boots lack here. ``folder`` is where what they are made of is kept; it may be ``built`` already.
    ``virtual`` are the architectures of virtual machines."""
    if sys.platform != "linux":
        fix = "Use a Linux machine, or a virtual machine with Linux"
        return [Problem(Code.BOOT_NEEDS, f"machines boot on Linux only, and this is {sys.platform}", fix=fix)]
    found: list[Problem] = []
    if os.geteuid() != 0:
        what = "needs root, for the namespaces and mounts of a whole machine"
        found.append(Problem(Code.BOOT_NEEDS, what, fix="Run it with sudo"))
    programs = [*_PROGRAMS.items(), *(each for name in virtual for each in _VIRTUAL[name].items())]
    packages = {package for program, package in programs if shutil.which(program) is None}
    packages |= {package for header, package in _HEADERS.items() if not header.exists()}
    if packages:
        what = "packages of this machine are missing"
        found.append(Problem(Code.BOOT_NEEDS, what, fix=f"Run apt-get install {' '.join(sorted(packages))}"))
    if not built and go() is None:
        what = "Go, with which the programs of nodes are built, is not on the path"
        found.append(Problem(Code.BOOT_NEEDS, what, fix="Install osm-gitops[boot], which brings it"))
    for each in (folder.parent, folder):
        if each.exists() and not is_ours(each.stat()):
            # What is in it is run as root.
            what, fix = "somebody else can write into it", "Set XDG_CACHE_HOME to a folder of the user that boots"
            found.append(Problem(Code.BOOT_NEEDS, what, where=str(each), fix=fix))
    free = shutil.disk_usage(next(each for each in (folder, *folder.parents) if each.exists())).free
    if not built and free < _DISK:
        what = f"needs {_DISK // _GIB} GiB of disk, and {free / _GIB:.1f} GiB are free"
        found.append(Problem(Code.BOOT_NEEDS, what, where=str(folder), fix="Set XDG_CACHE_HOME to another folder"))
    return found


def go() -> str | None:
    """The go command: that of the path, or that of this Python's environment."""
    return shutil.which("go") or shutil.which("go", path=str(Path(sys.executable).parent))


def output(*command: str, **more: str) -> str:
    """What a program of the host prints, with ``more`` variables in its environment. Raises LaneError with the end of
    what it said if it fails."""
    try:
        ran = subprocess.run(
            command,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            env={**for_lane(os.environ), **more},
        )
    except OSError as failure:
        what = f"{command[0]} cannot be started: {failure.strerror}"
        raise LaneError([Problem(Code.BOOT_LANE_FAILED, what)]) from failure
    if ran.returncode != 0:
        said = f"{ran.stdout[-_TAIL:]}{ran.stderr[-_TAIL:]}".strip()
        what = f"{' '.join(command)} ended with {ran.returncode}: {said}"
        raise LaneError([Problem(Code.BOOT_LANE_FAILED, what[: 2 * _TAIL])])
    return ran.stdout
