"""A machine: a root that boots under its own systemd, with a network card and a datasource, and that can lose power.

It is a container of systemd-nspawn in the machine's namespace of :class:`~.internet.Internet`. Its disk is
an overlay above the root of an image, so that a machine which boots a second time has what it wrote at first.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic, sleep
from typing import Final, TypeVar

from osm_gitops.commands.boot.lane.internet import Internet, unplug
from osm_gitops.commands.boot.lane.needs import output
from osm_gitops.errors import Code, LaneError, Problem

_REBOOT: Final = 133
"""How systemd-nspawn ends when the machine asks for another boot."""
_START: Final = r"""
set -euo pipefail
# Of the network namespace that this is in: the host's /sys shows the interfaces of the host.
groups=$(mktemp -d)
mount --rbind /sys/fs/cgroup "$groups"
mount -t sysfs sysfs /sys
mount --rbind "$groups" /sys/fs/cgroup
exec systemd-nspawn --quiet --boot --register=no --keep-unit --console=pipe --resolv-conf=off --timezone=off \
  --link-journal=no --capability=CAP_NET_ADMIN,CAP_SYSLOG --bind-ro=/dev/kmsg "$@"
"""


@dataclass
class Machine:
    """``folder`` has the layers of its disk; ``name`` is its host's name for the container, at most 64 characters."""

    name: str
    folder: Path
    root: Path
    net: Internet
    room: int = 0
    """Bytes of its disk, in memory; 0 for what the host has."""
    options: tuple[str, ...] = ()
    """More of systemd-nspawn."""
    before_boot: Callable[[], None] | None = None
    """What a boot loader and an initial RAM disk do."""
    _process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    @property
    def disk(self) -> Path:
        """What the machine sees as ``/``."""
        return self.folder / "disk"

    @property
    def console(self) -> Path:
        return self.folder / "console.log"

    def mount(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        if self.room:
            output("mount", "-t", "tmpfs", "-o", f"size={self.room}", "tmpfs", str(self.folder))
        for name in ("upper", "work", "disk", "containerd"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        layers = f"lowerdir={self.root},upperdir={self.folder}/upper,workdir={self.folder}/work"
        output("mount", "-t", "overlay", "-o", layers, "overlay", str(self.disk))

    def unmount(self) -> None:
        output("umount", str(self.disk))
        if self.room:
            output("umount", str(self.folder))

    def grow(self, room: int) -> None:
        """Give its disk, which has a size, another one."""
        output("mount", "-o", f"remount,size={room}", str(self.folder))

    def path(self, path: str) -> Path:
        """A file of the machine, as the host sees it."""
        return self.disk / path.lstrip("/")

    def has(self, path: str) -> bool:
        """Whether there is a file or a link, which may lead to a place that only the machine has."""
        return os.path.lexists(self.path(path))

    def write(self, files: Mapping[str, str | bytes], mode: int = 0o644) -> None:
        for path, content in files.items():
            target = self.path(path)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.unlink(missing_ok=True)  # of a link, never what it leads to
            target.write_bytes(content if isinstance(content, bytes) else content.encode())
            target.chmod(mode)

    def remove(self, package: str) -> None:
        """Take a package of Debian from its image."""
        output("chroot", str(self.disk), "dpkg", "--purge", package)

    def boot(self) -> None:
        """Switch it on."""
        unplug(self.net)
        if self.before_boot is not None:
            self.before_boot()
        command = (
            *("nsenter", f"--net=/run/netns/{self.net.machine_namespace}", "unshare", "--mount"),
            *("bash", "-c", _START, "start", f"--directory={self.disk}", f"--machine={self.name[:64]}"),
            *(f"--bind={self.folder / 'containerd'}:/var/lib/containerd", *self.options),
        )
        with self.console.open("ab") as log:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )

    @property
    def runs(self) -> bool:
        """Whether it is on; a machine that asked for another boot gets it."""
        if self._process is None:
            return False
        code = self._process.poll()
        if code == _REBOOT:
            self._process = None
            self.boot()
            return True
        return code is None

    def shut_down(self) -> None:
        """As its user switches it off."""
        self.run("systemctl", "poweroff", "--no-block")
        assert self._process is not None
        self._process.wait(timeout=120)
        self._process = None

    def cut(self) -> None:
        """Take the power away."""
        if self._process is not None:
            leader = self._leader()
            self._process.kill()
            if leader is not None:
                try:
                    os.kill(leader, signal.SIGKILL)  # the first process of a namespace takes all others with it
                except ProcessLookupError:
                    leader = None
            self._process.wait()
            self._process = None

    def _leader(self) -> int | None:
        """The process of the machine's systemd."""
        if self._process is None:
            return None
        children = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children")
        try:
            found = children.read_text("utf-8").split()
        except (FileNotFoundError, ProcessLookupError):
            return None
        for each in found:
            comm = Path(f"/proc/{each}/comm")
            if comm.exists() and comm.read_text("utf-8").strip() == "systemd":
                return int(each)
        return None

    @staticmethod
    def _enter(leader: int) -> tuple[str, ...]:
        return "nsenter", f"--target={leader}", "--mount", "--uts", "--ipc", "--net", "--pid", "--root", "--wd"

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        """A command on the machine, as its root user."""
        leader = self._leader()
        if leader is None:
            return subprocess.CompletedProcess(command, 255, "", "the machine does not run")
        # Its files, processes, names and network; a session of its own.
        enter = self._enter(leader)
        variables = ("env", "-i", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C")
        return subprocess.run(
            [*enter, *variables, *command], capture_output=True, text=True, errors="replace", timeout=120, check=False
        )

    @property
    def shell(self) -> str:
        """The command that opens a shell on the machine while it runs."""
        return " ".join((*self._enter(self._leader() or 0), "bash"))

    def says(self, *command: str) -> str:
        """What a command on the machine prints. Raises LaneError if it fails."""
        ran = self.run(*command)
        if ran.returncode != 0:
            raise self._failure(f"{' '.join(command)} ended with {ran.returncode}: {ran.stdout}{ran.stderr}")
        return ran.stdout.strip()

    def journal(self, *units: str) -> str:
        """What units have said, or all, since the first boot; also of a machine that is off."""
        chosen = [word for unit in units for word in ("-u", unit)]
        folder = self.path("/var/log/journal")
        return output("journalctl", "--no-pager", "-o", "short-monotonic", "--directory", str(folder), *chosen)

    def until(self, what: str, reached: Callable[[], bool], seconds: float = 300) -> None:
        """Wait for something. Raises LaneError if it does not come; what the machine says is its note."""
        end = monotonic() + seconds
        while monotonic() < end:
            if not self.runs:
                break
            if reached():
                return
            sleep(0.5)
        state = "" if self.runs else ", and the machine has ended"
        raise self._failure(f"{what}: not within {seconds} s{state}")

    def _failure(self, what: str) -> LaneError:
        failure = LaneError([Problem(Code.BOOT_LANE_FAILED, what, about=f"machine {self.name}")])
        failure.add_note(self.report())
        return failure

    def report(self) -> str:
        """What there is to know about a machine that did not do what it should."""
        units = (("bootstrap", "setup"), ("kubelet", "containerd"), ("cloud-init", "cloud-final", "cloud-config"))
        parts = [f"--- journal of {' and '.join(each)}\n{self.journal(*each)[-6000:]}" for each in units]
        parts.append(f"--- console\n{self.console.read_text('utf-8', 'replace')[-3000:]}")
        if self.runs:
            parts.append(f"--- failed units\n{self.run('systemctl', '--failed', '--plain', '--no-legend').stdout}")
        return "\n".join(parts)


AnyMachine = TypeVar("AnyMachine", bound=Machine)


@contextmanager
def mounted(made: AnyMachine) -> Iterator[AnyMachine]:
    """A machine that is off and has its disk; it ends with this."""
    made.mount()
    try:
        yield made
    finally:
        made.cut()
        made.unmount()


def content(made: Machine, folders: Iterable[str]) -> dict[str, bytes]:
    """Files of the machine by path; of links what they lead to, which is the machine's and not the host's."""
    found = {}
    for path in (path for folder in folders for path in sorted(made.path(folder).rglob("*"))):
        if path.is_symlink():
            found[f"/{path.relative_to(made.disk)}"] = os.fsencode(path.readlink())
        elif path.is_file():
            found[f"/{path.relative_to(made.disk)}"] = path.read_bytes()
    return found
