"""A machine that boots: a folder becomes the root of processes in which the real cloud-init does what user-data say.

    root = Root(tmp_path, cloud_init=package)
    root.seed(node.user_data["bootstrap"])
    root.boot()
    assert root.path("/etc/bootstrap-complete").exists()

It needs no more than namespaces, which an ordinary user may have too (``unshare``). Programs and libraries are those of
this machine and cannot be written; all other folders are below the root's. What changes machines is a stand-in, as in
``tests/profiles/sandbox.py``: ``systemctl`` remembers what is enabled and what is to be started, and a boot starts it
as systemd would: conditions, environment, ``ExecStartPre`` and ``ExecStart``.
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Final

from tests.profiles.sandbox import Machine

_WANTS: Final = "etc/systemd/system/multi-user.target.wants"
_PATH: Final = "/stand-ins:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_SECONDS: Final = 120
_ENTER: Final = r"""
set -euo pipefail
root=$1 base=$2 site=$3 package=$4
shift 4
mount --bind "$root/usr/local" "$root/local"
for folder in bin lib lib32 lib64 sbin usr; do
  if [ -L "/$folder" ]; then
    ln -sfn "$(readlink "/$folder")" "$root/$folder"
  elif [ -d "/$folder" ]; then
    mkdir -p "$root/$folder"
    mount --bind "/$folder" "$root/$folder"
    mount -o remount,bind,ro "$root/$folder"
  fi
done
[ ! -w "$root/usr/bin" ] # a test must not be able to change this machine
mount --bind "$root/local" "$root/usr/local"
for folder in dev proc sys; do mount --rbind "/$folder" "$root/$folder"; done
mount --bind "$base" "$root/python"
mount --bind "$site" "$root/site"
mount --bind "$package" "$root/package"
exec chroot "$root" /usr/bin/env -i "$@"
"""
_CLOUD_INIT: Final = (
    "export LD_LIBRARY_PATH=/python/lib PYTHONHOME=/python PYTHONPATH=/package/usr/lib/python3/dist-packages:/site\n"
    'exec /python/bin/python3 -B -m cloudinit.cmd.main "$@"'
)
_SYSTEMCTL: Final = rf"""
verb=$1
for unit in "${{@:2}}"; do
  case "$verb $unit" in
    *" -"*) ;;
    enable*) mkdir -p /{_WANTS} && ln -sfn "../$unit" "/{_WANTS}/$unit" ;;
    disable*) rm -f "/{_WANTS}/$unit" ;;
    start* | restart*) echo "$unit" >>/queue ;;
    is-enabled*) [ -L "/{_WANTS}/$unit" ] || exit 1 ;;
    is-active*) exit 3 ;;
  esac
done
"""
_CONFIG: Final = {
    "datasource_list": ["NoCloud"],
    "network": {"config": "disabled"},
    "syslog_fix_perms": ["root:root"],
    "cloud_init_modules": ["bootcmd", "write_files"],
    "cloud_config_modules": ["runcmd"],
    "cloud_final_modules": ["scripts_user"],
}
"""What images have of cloud-init's configuration, as far as it says what is done with our user-data."""


@dataclass
class Root(Machine):
    """``cloud_init`` is the folder of an unpacked package of Debian's."""

    cloud_init: Path = Path()
    distribution: str = "ubuntu"
    programs: ClassVar[str] = "stand-ins"

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("dev", "local", "package", "proc", "python", "root", "site", "sys", "tmp", "var/log"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        self.write("/architecture", f"{self.architecture}\n")
        self.write("/etc/passwd", "root:x:0:0:root:/root:/bin/bash\n")
        self.write("/etc/group", "root:x:0:\nadm:x:4:\n")
        self.write("/etc/cloud/cloud.cfg", json.dumps(_CONFIG | {"system_info": {"distro": self.distribution}}))
        self.command("cloud-init", _CLOUD_INIT)
        self.command("systemctl", _SYSTEMCTL)

    @property
    def inside(self) -> str:
        return ""

    def seed(self, user_data: bytes, instance: str = "i-1") -> None:
        """What the provider hands to cloud-init."""
        self.write("/var/lib/cloud/seed/nocloud/meta-data", f"instance-id: {instance}\n")
        self.write("/var/lib/cloud/seed/nocloud/user-data", user_data.decode())

    def boot(self) -> str:
        """Start: cloud-init, unless it is switched off, what is enabled, and what these start. All that is said."""
        said = ""
        shutil.rmtree(self.folder / "run")
        (self.folder / "run").mkdir()
        wants = self.folder / _WANTS
        self.write("/queue", "".join(f"{unit.name}\n" for unit in sorted(wants.glob("*.service"))))
        if not self.path("/etc/cloud/cloud-init.disabled").exists():
            for stage in (("init",), ("modules", "--mode=config"), ("modules", "--mode=final")):
                said += self.enter("cloud-init", *stage)
            assert json.loads(self.path("/var/lib/cloud/data/result.json").read_text())["v1"]["errors"] == []
        started: set[str] = set()
        while waiting := [unit for unit in self.path("/queue").read_text().split() if unit not in started]:
            started.add(waiting[0])
            begun = len(self.calls)
            said += self._start(waiting[0])
            if "systemctl reboot" in self.calls[begun:]:
                return said + self.boot()
        return said

    def enter(self, *command: str, environment: Mapping[str, str] | None = None) -> str:
        """Run a command in the root, as the machine's root user; what it says. It must end well."""
        variables = {"PATH": _PATH, "LC_ALL": "C"} | dict(environment or {})
        ran = subprocess.run(
            [
                *("unshare", "--user", "--map-root-user", "--mount", "--propagation", "private"),
                *("bash", "-c", _ENTER, "enter", str(self.folder), sys.base_prefix),
                *(sysconfig.get_path("purelib"), str(self.cloud_init)),
                *(f"{name}={value}" for name, value in variables.items()),
                *command,
            ],
            cwd=self.folder,
            text=True,
            capture_output=True,
            timeout=_SECONDS,
            check=False,
        )
        assert ran.returncode == 0, ran.stdout[-4000:] + ran.stderr[-4000:]
        return ran.stdout + ran.stderr

    def _start(self, name: str) -> str:
        """Start a unit that has a file of its own: those of the image, and instances of templates, are passed over."""
        path, said = self.folder / "etc/systemd/system" / name, ""
        unit = _settings(path.read_text() if path.is_file() else "")
        if any(self.path(each.lstrip("!")).exists() is each.startswith("!") for each in unit["ConditionPathExists"]):
            return said
        for command in (*unit["ExecStartPre"], *unit["ExecStart"]):
            environment = self._environment(unit)  # files are read before each command
            said += self.enter(*_expanded(command, environment), environment=environment)
        return said

    def _environment(self, unit: Mapping[str, Sequence[str]]) -> dict[str, str]:
        files = (self.path(each.removeprefix("-")) for each in unit["EnvironmentFile"])
        read = (line for file in files if file.exists() for line in file.read_text().splitlines())
        lines = [*unit["Environment"], *read]
        found = dict(line.split("=", 1) for line in lines if "=" in line)
        return found | {"PATH": f"/{self.programs}:{found.get('PATH', _PATH)}"}


def _settings(text: str) -> Mapping[str, Sequence[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for line in text.replace("\\\n", " ").splitlines():
        key, sign, value = line.partition("=")
        if sign and not line.startswith(("#", ";")):
            found[key].append(value.strip())
    return found


def _expanded(command: str, environment: Mapping[str, str]) -> list[str]:
    return [re.sub(r"\$\{(\w+)\}", lambda name: environment.get(name[1], ""), word) for word in shlex.split(command)]
