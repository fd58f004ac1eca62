"""A container of an image without a daemon: namespaces of its own, the root read-only, no network."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tests.image.base import as_root, buildah, output

_ENTER: Final = r"""
set -euo pipefail
root=$1 repo=$2 user=$3 folder=$4
shift 4
mount --bind "$root" "$root"
mount -o remount,bind,ro "$root"
mount -t tmpfs tmpfs "$root/tmp"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount --bind "$repo" "$root$folder"
exec chroot --userspec="$user" --groups= "$root" /usr/bin/setpriv --no-new-privs \
  /usr/bin/env --ignore-environment --chdir="$folder" "$@"
"""


@dataclass(frozen=True)
class Container:
    """``name`` is buildah's; ``root`` the folder of its root; ``config`` what the image says of its processes."""

    name: str
    root: Path
    config: dict[str, Any]

    def run(self, repo: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """What the image runs with these arguments, in ``repo``, as ``docker run --read-only --tmpfs /tmp`` does."""
        return self.execute(repo, *self.config["Entrypoint"], *arguments, **environment)

    def execute(self, repo: Path, *command: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Another command in place of the image's own, as with ``--entrypoint``."""
        namespaces = ("unshare", "--mount", "--net", "--pid", "--ipc", "--uts", "--fork", "--kill-child")
        variables = [*self.config["Env"], *(f"{name}={value}" for name, value in environment.items())]
        places = (str(self.root), str(repo), self.config["User"], self.config["WorkingDir"])
        return subprocess.run(
            [*as_root(), *namespaces, "bash", "-c", _ENTER, "enter", *places, *variables, *command],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )


def start(image: str) -> Container:
    """A container of a local image; :func:`remove` it."""
    found = json.loads(output(*buildah(), "inspect", "--type", "image", image))
    name = output(*buildah(), "from", "--pull-never", image).strip()
    return Container(name, Path(output(*buildah(), "mount", name).strip()), found["OCIv1"]["config"])


def remove(container: Container) -> None:
    output(*buildah(), "umount", container.name)
    output(*buildah(), "rm", container.name)
