"""A machine with a kernel of its own: qemu without hardware virtualisation, which is slow and needs nothing.

What a container cannot show is shown here: settings and modules of the kernel, cgroups version 2, running pods. It is
looked at from outside only, by its console and its Node.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from osm_gitops.commands.boot.lane.internet import Internet, plug, unplug_again
from osm_gitops.commands.boot.lane.machine import Machine
from osm_gitops.commands.boot.lane.needs import output

_SIZE: Final = "6G"
_KERNEL: Final = (
    "root=/dev/vda rw console=ttyS0 net.ifnames=0 mitigations=off panic=-1 "
    "systemd.journald.forward_to_console=1 systemd.journald.max_level_console=info"
)
_HARDWARE: Final = (
    *("-accel", "tcg,thread=multi,tb-size=512", "-machine", "q35", "-cpu", "max", "-smp", "2", "-m", "2048"),
    *("-nodefaults", "-display", "none", "-no-reboot", "-serial", "stdio", "-device", "virtio-rng-pci"),
)


@dataclass
class VirtualMachine(Machine):
    """Its disk is made of its folder when it is switched on, so it can be switched on once."""

    def boot(self) -> None:
        # What packages ask for takes two minutes here, and nobody boots it again.
        self.write({"/etc/initramfs-tools/update-initramfs.conf": "update_initramfs=no\nbackup_initramfs=no\n"})
        image = self.folder / "disk.img"
        output("mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=1", "-d", str(self.disk), str(image), _SIZE)
        (kernel,) = self.path("/boot").glob("vmlinuz-*")
        (ram_disk,) = self.path("/boot").glob("initrd.img-*")
        tap = plug(self.net)
        command = (
            *("ip", "netns", "exec", self.net.namespace, "qemu-system-x86_64", *_HARDWARE),
            *("-kernel", str(kernel), "-initrd", str(ram_disk), "-append", _KERNEL),
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


@contextmanager
def virtual_machine(name: str, folder: Path, root: Path, net: Internet) -> Iterator[VirtualMachine]:
    """A machine that is off; it ends with this."""
    made = VirtualMachine(name, folder, root, net)
    made.mount()
    try:
        yield made
    finally:
        made.cut()
        made.unmount()
