"""The roots of machines, made of Debian's packages once for each recipe, and the packages that nodes install later.

A root is what a cloud's image is: it has systemd, cloud-init and a network, and nothing that a profile installs. It is
never written: machines have an overlay above it. What makes it Ubuntu's or Red Hat's is in ``systems.py``.
"""

from __future__ import annotations

import hashlib
import json
import shlex
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from filelock import FileLock

from tests.machines.needs import CACHE, output

_RELEASE: Final = "bookworm"
_IMAGE: Final = (
    *("systemd", "systemd-sysv", "systemd-resolved", "libpam-systemd", "udev", "dbus", "cloud-init", "netplan.io"),
    *("iproute2", "ca-certificates", "curl", "kmod", "procps", "netbase", "sudo", "gpg", "gpgv", "apt"),
)
"""What clouds' images have."""
_LATER: Final = (
    *("cifs-utils", "conntrack", "e2fsprogs", "ebtables", "ethtool", "ipvsadm", "iptables", "nfs-common"),
    *("openssh-client", "socat", "util-linux", "xfsprogs", "runc"),
)
"""What profiles install on Ubuntu; runc goes into the package of containerd."""
_LEFT_OUT: Final = tuple(f"--dpkgopt=path-exclude=/usr/share/{folder}/*" for folder in ("doc", "info", "locale", "man"))


@dataclass(frozen=True, slots=True)
class Image:
    """``root`` is the folder of the root, ``packages`` that of the ``.deb`` files which nodes install."""

    root: Path
    packages: Path


def debian() -> Image:
    """Make it where it is not there: a minute or two. Raises AssertionError with mmdebstrap's errors."""
    recipe = hashlib.sha256(json.dumps([_RELEASE, _IMAGE, _LATER, _LEFT_OUT]).encode()).hexdigest()[:16]
    folder = CACHE / f"debian-{recipe}"
    with FileLock(CACHE / "debian.lock"):
        if not folder.is_dir():
            _make(folder)
    return Image(folder / "root", folder / "packages")


def _make(folder: Path) -> None:
    print("making the root of the machines of Debian's packages: some minutes, once", file=sys.stderr, flush=True)
    unfinished = folder.with_suffix(".new")
    shutil.rmtree(unfinished, ignore_errors=True)
    (unfinished / "packages").mkdir(parents=True)
    fetch = (
        'APT_CONFIG="$MMDEBSTRAP_APT_CONFIG" apt-get --yes --download-only --no-install-recommends install '
        + shlex.join(_LATER)
    )
    keep = f'cp "$1"/var/cache/apt/archives/*.deb {shlex.quote(str(unfinished / "packages"))}'
    options = (*_LEFT_OUT, "--dpkgopt=force-unsafe-io", f"--include={','.join(_IMAGE)}")
    hooks = (f"--customize-hook={fetch}", f"--customize-hook={keep}")
    where = (_RELEASE, str(unfinished / "root"))
    output("mmdebstrap", "--mode=root", "--variant=minbase", "--format=directory", *options, *hooks, *where)
    unfinished.replace(folder)
