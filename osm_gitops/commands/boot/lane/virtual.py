"""A machine with a kernel of its own: qemu without hardware virtualisation, which is slow and needs nothing.

What a container cannot show is shown here: settings and modules of the kernel, cgroups version 2, running pods. It is
looked at from outside only, by its console and its Node.
"""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from osm_gitops.commands.boot.lane.architectures import AMD64, ARM64
from osm_gitops.commands.boot.lane.internet import plug, unplug_again
from osm_gitops.commands.boot.lane.machine import Machine
from osm_gitops.commands.boot.lane.needs import output

_SIZE: Final = "6G"
_KERNEL: Final = (
    "root=/dev/vda rw net.ifnames=0 mitigations=off panic=-1 "
    "systemd.journald.forward_to_console=1 systemd.journald.max_level_console=info"
)
_HARDWARE: Final = (
    *("-accel", "tcg,thread=multi,tb-size=512", "-smp", "2", "-m", "2048"),
    *("-nodefaults", "-display", "none", "-no-reboot", "-serial", "stdio", "-device", "virtio-rng-pci"),
)


@dataclass(frozen=True, slots=True)
class _Board:
    """What is different between architectures: qemu's ``program``, what it is told, and the device of the console."""

    program: str
    options: tuple[str, ...]
    console: str


_BOARDS: Final = {
    AMD64: _Board("qemu-system-x86_64", ("-machine", "q35", "-cpu", "max"), "ttyS0"),
    # A processor without signed pointers: qemu takes long to compute the signatures.
    ARM64: _Board("qemu-system-aarch64", ("-machine", "virt", "-cpu", "cortex-a72"), "ttyAMA0"),
}


@dataclass
class VirtualMachine(Machine):
    """Its disk is made of its folder when it is switched on, so it can be switched on once. Its clock is wrong by
    ``clock``."""

    architecture: str = AMD64
    clock: timedelta = timedelta()

    def boot(self) -> None:
        # What packages ask for takes two minutes here, and nobody boots it again.
        self.write({"/etc/initramfs-tools/update-initramfs.conf": "update_initramfs=no\nbackup_initramfs=no\n"})
        image = self.folder / "disk.img"
        output("mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=1", "-d", str(self.disk), str(image), _SIZE)
        (kernel,) = self.path("/boot").glob("vmlinuz-*")
        (ram_disk,) = self.path("/boot").glob("initrd.img-*")
        tap = plug(self.net)
        board = _BOARDS[self.architecture]
        now = datetime.now(UTC) + self.clock
        command = (
            *("ip", "netns", "exec", self.net.namespace, board.program, *board.options, *_HARDWARE),
            *("-rtc", f"base={now:%Y-%m-%dT%H:%M:%S}"),
            *("-kernel", str(kernel), "-initrd", str(ram_disk), "-append", f"{_KERNEL} console={board.console}"),
            *("-drive", f"file={image},if=virtio,format=raw,cache=unsafe"),
            *("-netdev", f"tap,id=network,ifname={tap},script=no,downscript=no"),
            *("-device", "virtio-net-pci,netdev=network,romfile="),
        )
        with self.console.open("ab") as log:
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    @property
    def runs(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def cut(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
            unplug_again(self.net)

    def report(self) -> str:
        return f"--- console\n{self.console.read_text('utf-8', 'replace')[-12000:]}"
