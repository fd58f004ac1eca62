"""What boots need of the machine that the tests run on, and where what they are made of is kept."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

CACHE: Final = (Path(__file__).parent.parent.parent / ".tools" / "machines").resolve()
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
    "qemu-system-x86_64": "qemu-system-x86",
    "mkfs.ext4": "e2fsprogs",
}
"""Programs, and the packages of Debian and Ubuntu that have them."""
_HEADERS: Final = {Path("/usr/include/blkid/blkid.h"): "libblkid-dev", Path("/usr/include/pwd.h"): "libc6-dev"}
"""Of C libraries that Ignition is built with."""
_GIB: Final = 1 << 30
_DISK: Final = 10 * _GIB


class MissingError(Exception):
    """Something that boots need is missing; a sentence."""


def check() -> None:
    """Raises MissingError with all that is missing."""
    missing: list[str] = []
    if sys.platform != "linux":
        raise MissingError("machines boot on Linux only")
    if os.geteuid() != 0:
        missing.append("root: namespaces and mounts of a whole machine (run `sudo make boot`)")
    packages = {package for program, package in _PROGRAMS.items() if shutil.which(program) is None}
    packages |= {package for header, package in _HEADERS.items() if not header.exists()}
    if packages:
        missing.append(f"packages: run `apt-get install {' '.join(sorted(packages))}`")
    CACHE.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(CACHE).free
    if not (CACHE / "complete").exists() and free < _DISK:
        missing.append(f"disk: {_DISK // _GIB} GiB below {CACHE}, {free / _GIB:.1f} GiB are free")
    if missing:
        raise MissingError(f"machines cannot boot here; missing are {'; '.join(missing)}")


def output(*command: str, **more: str) -> str:
    """What a command prints; AssertionError with its errors where it fails."""
    ran = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **more})
    assert ran.returncode == 0, f"{' '.join(command)}:\n{ran.stdout[-2000:]}{ran.stderr[-4000:]}"
    return ran.stdout
