"""Runs the boot scripts of profiles in a folder that stands for the machine, with stand-ins for what changes machines.

node = Machine(tmp_path)
node.serve("https://dl.k8s.io/v1.35.0/bin/linux/amd64/kubelet", b"ELF")
result = node.run(render("osp-flatcar", "aws").file("/opt/bin/setup"))
assert "systemctl restart kubelet.service" in node.calls

Absolute paths of the machine are moved below the folder; commands of coreutils are the real ones. ``curl`` serves what
the test gave it, ``jq`` finds the version of an Ignition document, ``sleep`` takes no time, every other stand-in
succeeds unless the test says what it does. All calls are in ``calls``, in order.
"""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import ClassVar, Final

_MOVED: Final = re.compile(r"(?<![\w.}\])])/(?=(?:boot|etc|oem|opt|run|var|usr/lib|usr/local|usr/share)\b)")
_SILENT: Final = (
    *("chown", "coreos-cloudinit", "getent", "hostnamectl", "ip", "journalctl", "modprobe", "modinfo", "mount"),
    *("mountpoint", "setenforce", "sleep", "swapoff", "sync", "sysctl", "systemctl", "timeout"),
    *("update-ca-certificates", "update-ca-trust"),
)
_CURL: Final = r"""
config=
while [ $# -gt 0 ]; do
  case "$1" in
    --output) output=$2; shift ;;
    --config) config=$(cat) ; shift ;;
    http*) url=$1 ;;
  esac
  shift
done
[ -z "$config" ] || echo "$config" >>"$MACHINE/curl.config"
served=$MACHINE/served/$(echo "$url" | sha256sum | cut -d ' ' -f 1)
if [ -s "$served.failures" ] && [ "$(cat "$served.failures")" -gt 0 ]; then
  echo $(($(cat "$served.failures") - 1)) >"$served.failures"
  exit 56
fi
[ -f "$served" ] || { echo "no $url" >&2; exit 22; }
cat "$served" >"${output:-/dev/stdout}"
"""
_JQ: Final = f"""
exec {sys.executable} -c '
import json, sys
try:
    found = json.load(open(sys.argv[1]))["ignition"]["version"]
except (ValueError, KeyError):
    sys.exit(1)
' "${{!#}}"
"""
_UNAME: Final = 'cat "$MACHINE/architecture"'
_CONTAINERD: Final = "echo containerd github.com/containerd/containerd/v2 v2.2.1 fcd4322"
_HOSTNAME: Final = "echo node.example.com"


@dataclass
class Machine:
    """A folder that stands for a machine; ``architecture`` is what its kernel calls it."""

    folder: Path
    architecture: str = "x86_64"
    environment: dict[str, str] = field(default_factory=dict)
    programs: ClassVar[str] = "bin"
    """Where the stand-ins are."""

    def __post_init__(self) -> None:
        for name in (
            self.programs,
            "served",
            "etc/kubernetes",
            "etc/ssl/certs",
            "etc/systemd/system",
            "opt/bin",
            "usr/local/bin",
            "run",
            "var",
        ):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        for name in _SILENT:
            self.command(name, "")
        for name, script in (
            ("curl", _CURL),
            ("jq", _JQ),
            ("uname", _UNAME),
            ("containerd", _CONTAINERD),
            ("hostname", _HOSTNAME),
        ):
            self.command(name, script)

    @property
    def inside(self) -> str:
        """What scripts call the folder."""
        return str(self.folder)

    @property
    def calls(self) -> list[str]:
        """Every call of a stand-in: its name and its arguments, paths as the script has them."""
        log = self.folder / "calls"
        return log.read_text().replace(self.inside, "").splitlines() if log.exists() else []

    def called(self, beginning: str) -> list[str]:
        """The calls that begin so."""
        return [call for call in self.calls if call.startswith(beginning)]

    def command(self, name: str, script: str) -> None:
        """Let the command ``name`` be a stand-in that runs ``script``, in which $MACHINE is the folder."""
        file = self.folder / self.programs / name
        file.write_text(f'#!/bin/bash\nMACHINE={self.inside}\necho "{name} $*" >>"$MACHINE/calls"\n{script}\n')
        file.chmod(0o755)

    def serve(self, url: str, content: bytes, failures: int = 0, sum_of: bytes | None = None) -> None:
        """Let curl find a file, and the checksum (of ``sum_of``, else of it) beside it, after so many failures."""
        digest = sha256(content if sum_of is None else sum_of).hexdigest()
        for address, data in ((url, content), (f"{url}.sha256", f"{digest}  {url.rpartition('/')[2]}\n".encode())):
            file = self.folder / "served" / sha256(f"{address}\n".encode()).hexdigest()
            file.write_bytes(data)
            file.with_name(f"{file.name}.failures").write_text(f"{failures}\n")

    def path(self, path: str) -> Path:
        """Where a path of the machine is."""
        return self.folder / path.removeprefix("/")

    def write(self, path: str, text: str) -> None:
        """A file of the machine."""
        self.path(path).parent.mkdir(parents=True, exist_ok=True)
        self.path(path).write_text(text)

    def install(self, path: str, script: str) -> None:
        """An executable of the machine, its paths moved."""
        self.write(path, self.moved(script))
        self.path(path).chmod(0o755)

    def moved(self, script: str) -> str:
        return _MOVED.sub(f"{self.folder}/", script)

    def run(self, script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a script by bash, its paths moved. It must end within a minute."""
        self.write("architecture", f"{self.architecture}\n")
        self.write("script", self.moved(script))
        return subprocess.run(
            ["bash", str(self.folder / "script"), *arguments],
            env={"PATH": f"{self.folder}/bin:/usr/bin:/bin", "LC_ALL": "C", **self.environment},
            cwd=self.folder,
            text=True,
            capture_output=True,
            timeout=60,
            check=False,
        )
