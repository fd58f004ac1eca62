"""What makes the root of Debian's packages the image of Flatcar, which has its programs already and a /usr that nobody
writes; and the two ways by which its user-data gets into effect.

Ignition runs in the initial RAM disk of a first boot, so here before the machine starts. What Flatcar's boot loader
and initial RAM disk do around it is in :func:`_first_boot`.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Final

from osm_gitops.commands.boot.lane.internet import ADDRESS, MACHINE_ADDRESS
from osm_gitops.commands.boot.lane.machine import Machine
from osm_gitops.commands.boot.lane.needs import output

_NETWORK: Final = f"""\
[Match]
Name=eth0

[Network]
Address={MACHINE_ADDRESS}/24
Gateway={ADDRESS}
DNS={ADDRESS}
"""
_PATH: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/opt/bin"
_IDLE: Final = """\
[Unit]
Description=Stands for a service of Flatcar

[Service]
ExecStart=/usr/bin/sleep infinity

[Install]
WantedBy=multi-user.target
"""
_SOCKET: Final = """\
[Unit]
Description=Stands for the socket of Docker

[Socket]
ListenStream=/run/docker.sock

[Install]
WantedBy=sockets.target
"""
_SERVICES: Final = ("update-engine", "locksmithd", "docker")
_ENABLED: Final = ("update-engine.service", "locksmithd.service", "docker.socket")
_USER_DATA: Final = "/var/lib/lane/user-data"
_CLOUD_INIT: Final = f"""\
[Unit]
Description=Apply the user-data, at each boot
Wants=network-online.target
After=network-online.target

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/usr/bin/coreos-cloudinit --from-file={_USER_DATA}

[Install]
WantedBy=multi-user.target
"""
_COREOS_CLOUDINIT: Final = Path(__file__).parent / "files" / "coreos-cloudinit"
_FIRST_BOOT: Final = "/boot/flatcar/first_boot"


def prepare(machine: Machine, containerd: Path) -> None:
    """Write what the image has besides Debian's packages: ``containerd`` is a folder with its files."""
    shutil.copytree(containerd, machine.disk, dirs_exist_ok=True, ignore=shutil.ignore_patterns("DEBIAN", "etc"))
    units = "/usr/lib/systemd/system"
    machine.write(
        {
            "/usr/lib/systemd/network/zz-default.network": _NETWORK,
            "/usr/lib/systemd/system.conf.d/path.conf": f"[Manager]\nDefaultEnvironment=PATH={_PATH}\n",
            **{f"{units}/{name}.service": _IDLE for name in _SERVICES},
            f"{units}/docker.socket": _SOCKET,
            "/usr/share/flatcar/update.conf": "GROUP=stable\n",
        }
    )
    chroot = ("chroot", str(machine.disk))
    output(*chroot, "useradd", "--create-home", "--user-group", "core")
    output(*chroot, "systemctl", "enable", "--quiet", *_ENABLED)
    # It would ask at the console for what nobody answers.
    output(*chroot, "systemctl", "mask", "--quiet", "systemd-firstboot.service")
    oem = machine.folder / "oem"
    oem.mkdir()
    machine.options += (f"--bind-ro={machine.path('/usr')}:/usr", f"--bind={oem}:/oem")


def with_ignition(machine: Machine, program: Path, user_data: bytes) -> None:
    """Have Ignition apply it on each boot that counts as a first one."""
    given = machine.folder / "user-data"
    given.write_bytes(user_data)
    machine.write({_FIRST_BOOT: ""})
    machine.before_boot = lambda: _first_boot(machine, program, given)


def _first_boot(machine: Machine, program: Path, user_data: Path) -> None:
    """A file in the boot partition makes the boot loader start Ignition. A document in the OEM partition goes before
    that of the provider. What decides that systemd applies presets, by which Ignition's units start, is the missing
    machine ID."""
    mark = machine.path(_FIRST_BOOT)
    if not mark.exists():
        return
    system = machine.folder / "ignition"
    system.mkdir(exist_ok=True)
    oem = machine.folder / "oem" / "config.ign"
    if oem.exists():
        shutil.copy(oem, system / "user.ign")
    cache = machine.folder / "ignition.json"
    cache.unlink(missing_ok=True)
    command = (str(program), "--oem=file", f"--root={machine.disk}", f"--config-cache={cache}", "--log-to-stdout")
    given = {"IGNITION_CONFIG_FILE": str(user_data), "IGNITION_SYSTEM_CONFIG_DIR": str(system)}
    for stage in ("disks", "files"):
        said = output(*command, f"--stage={stage}", **given)
        with machine.console.open("a", encoding="utf-8") as console:
            console.write(said)
    mark.unlink()


def with_cloud_init(machine: Machine, user_data: bytes) -> None:
    """Have Flatcar's cloud-init apply it at each boot."""
    machine.write({_USER_DATA: user_data, "/usr/lib/systemd/system/lane-user-data.service": _CLOUD_INIT})
    machine.write({"/usr/bin/coreos-cloudinit": _COREOS_CLOUDINIT.read_bytes()}, 0o755)
    output("chroot", str(machine.disk), "systemctl", "enable", "--quiet", "lane-user-data")
