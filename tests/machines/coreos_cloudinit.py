#!/usr/bin/python3
"""A stand-in of Flatcar's own cloud-init, whose module is not served: what it does of the keys that OSM writes.

It runs on a machine, with that machine's Python, by `coreos-cloudinit --from-file=FILE`.
"""

from __future__ import annotations

import base64
import grp
import os
import pwd
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import yaml

UNITS: Final = Path("/etc/systemd/system")


def systemctl(*arguments: str) -> None:
    subprocess.run(["systemctl", *arguments], check=True)


def write_file(entry: Mapping[str, Any]) -> None:
    """The decoded content, whole or not at all."""
    encoding = entry.get("encoding", "")
    content = entry.get("content", "")
    data = base64.b64decode(content) if encoding in ("b64", "base64") else content.encode()
    if encoding not in ("", "b64", "base64"):
        raise ValueError(f"{entry['path']}: the stand-in does not know the encoding {encoding!r}")
    path = Path(entry["path"])
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f"{path.name}.new")
    unfinished.write_bytes(data)
    unfinished.chmod(int(str(entry.get("permissions", "0644")), 8))
    user, _, group = entry.get("owner", "root:root").partition(":")
    os.chown(unfinished, pwd.getpwnam(user).pw_uid, grp.getgrnam(group or user).gr_gid)
    unfinished.replace(path)


def place_unit(unit: Mapping[str, Any]) -> None:
    if unit.get("mask"):
        systemctl("mask", unit["name"])
    if unit.get("content"):
        write_file({"path": str(UNITS / unit["name"]), "content": unit["content"]})
    for each in unit.get("drop-ins") or ():
        write_file({"path": str(UNITS / f"{unit['name']}.d" / each["name"]), "content": each["content"]})


def apply(document: Mapping[str, Any]) -> None:
    if name := document.get("hostname"):
        subprocess.run(["hostnamectl", "set-hostname", name], check=True)
    if keys := document.get("ssh_authorized_keys"):
        lines = "".join(f"{key}\n" for key in keys)
        write_file({"path": "/home/core/.ssh/authorized_keys", "content": lines, "owner": "core:core"})
    for entry in document.get("write_files") or ():
        write_file(entry)
    units = (document.get("coreos") or {}).get("units") or ()
    for unit in units:
        place_unit(unit)
    systemctl("daemon-reload")
    for unit in units:
        if unit.get("enable"):
            systemctl("enable", unit["name"])
    for unit in units:
        if command := unit.get("command"):
            # It waits for no unit, as units that it starts may start it.
            systemctl("--no-block", command, unit["name"])


def main() -> None:
    (option,) = sys.argv[1:]
    text = Path(option.removeprefix("--from-file=")).read_text("utf-8")
    if text.splitlines()[0].strip() != "#cloud-config":
        raise ValueError("only a cloud-config can be applied")
    apply(yaml.safe_load(text))


if __name__ == "__main__":
    main()
