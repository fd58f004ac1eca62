"""The judges' verdicts on many texts: what is wrong, by the real readers, and empty where nothing is."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from osm_gitops.lint.external.cloud_init import check_user_data
from osm_gitops.lint.external.systemd import verify
from osm_gitops.lint.rules.boot_file import BootFile
from osm_gitops.lint.rules.cloud_config import USER_DATA
from tests.judges.debian import FOLDER as DEBIAN
from tests.judges.debian import cloud_init, systemd_path
from tests.real_tools import real_tool

# A defect of Ignition's validator: it does not know its own security.tls.
_NO_ENTRY = {"level": "warning", "message": "Config has unrecognized key: tls"}


def ignition(texts: Sequence[str]) -> list[list[str]]:
    """Ignition's own reader; it takes older versions too, which nodes do not."""
    return [
        [f"{entry['level']}: {entry['message']}" for entry in entries if entry != _NO_ENTRY]
        for entries in _lines("ignition-judge", texts)
    ]


def kubelet(texts: Sequence[str]) -> list[list[str]]:
    """The kubelet of Kubernetes 1.36 as it starts; what it only logs begins with ``ignored: ``."""
    return [list(each) for each in _lines("kubelet-judge", texts)]


def kubelet_arguments(commands: Sequence[Sequence[str]]) -> list[list[str]]:
    """The kubelet of Kubernetes 1.36 as it parses its command line."""
    return [list(each) for each in _lines("kubelet-judge", commands, "arguments")]


def kubelet_flags(minor: int) -> dict[str, dict[str, Any]]:
    """The flags of the kubelet of a minor of Kubernetes, each with its type and whether it is deprecated."""
    found: dict[str, dict[str, Any]] = json.loads(real_tool(f"kubelet-flags-1.{minor}.json").read_text("utf-8"))
    return found


def images(texts: Sequence[str]) -> list[list[str]]:
    """The library with which containerd parses references of images."""
    return [list(each) for each in _lines("images-judge", texts)]


def _lines(name: str, texts: Sequence[Any], *arguments: str) -> list[Any]:
    asked = "\n".join(map(json.dumps, texts)) + "\n"
    ran = subprocess.run([real_tool(name), *arguments], input=asked, capture_output=True, text=True, check=True)
    answers = [json.loads(line) for line in ran.stdout.splitlines()]
    assert len(answers) == len(texts), ran.stderr
    return answers


def containerd(texts: Sequence[str]) -> list[list[str]]:
    """``containerd config dump``, which reads a configuration and starts nothing; unknown keys are only warnings."""
    with TemporaryDirectory() as name, ThreadPoolExecutor(2) as pool:
        folder = Path(name)

        def ask(numbered: tuple[int, str]) -> list[str]:
            path = folder / f"{numbered[0]}.toml"
            path.write_text(numbered[1], "utf-8")
            ran = subprocess.run(
                [real_tool("containerd"), "-c", path, "config", "dump"], capture_output=True, text=True, check=False
            )
            unknown = [line for line in ran.stderr.splitlines() if "Ignoring unknown key" in line]
            return [ran.stderr] if ran.returncode else unknown

        return list(pool.map(ask, enumerate(texts)))


def hosts(texts: Sequence[str]) -> list[list[str]]:
    """containerd's reader of hosts.toml: it logs what it cannot read, and takes the default then."""
    with TemporaryDirectory() as name:
        found = []
        for number, text in enumerate(texts):
            folder = Path(name) / str(number)
            (folder / "quay.io").mkdir(parents=True)
            (folder / "quay.io" / "hosts.toml").write_text(text, "utf-8")
            ran = subprocess.run(
                [real_tool("hosts-judge"), folder, "quay.io"], capture_output=True, text=True, check=True
            )
            answers = [host for line in ran.stdout.splitlines() for host in json.loads(line)]
            found.append([*ran.stderr.splitlines(), *(host["fault"] for host in answers if host.get("fault"))])
        return found


def units(texts: Sequence[str], name: str = "kubelet.service") -> list[list[str]]:
    """Debian's systemd-analyze, by way of the checker."""
    files = [
        BootFile(f"/etc/systemd/system/{name}", f"# {at}\n{text}", 644, "bootstrap") for at, text in enumerate(texts)
    ]
    with TemporaryDirectory() as folder:
        said = list(verify(files, {"PATH": systemd_path(Path(folder))}))
    return [[remark.message for about, remark in said if about is file] for file in files]


def cloud_configs(texts: Sequence[str], release: str) -> list[list[str]]:
    """A release of cloud-init by its own command line, by way of the checker; each text is one of its own to it."""
    files = [
        BootFile(USER_DATA, f"{_first(text)}# {at}\n{text.removeprefix(_first(text))}", 600, "bootstrap")
        for at, text in enumerate(texts)
    ]
    with TemporaryDirectory() as folder:
        said = list(check_user_data(cloud_init(release, Path(folder)), files, {"PATH": "/usr/bin:/bin"}))
    return [[remark.message for about, remark in said if about is file] for file in files]


def _first(text: str) -> str:
    return text.partition("\n")[0] + "\n" if text.startswith("#") else ""


def many_cloud_configs(texts: Sequence[str], release: str) -> list[list[str]]:
    """The same reader for many texts in one process, where starting it for each takes too long."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        for number, text in enumerate(texts):
            (folder / f"{number}.yaml").write_text(text, "utf-8")
        ran = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", _IN_ONE_PROCESS, str(folder), str(len(texts))],
            env={"PYTHONPATH": str(DEBIAN / release / "usr/lib/python3/dist-packages")},
            capture_output=True,
            text=True,
            check=True,
        )
    verdicts: list[list[str]] = json.loads(ran.stdout.splitlines()[-1])
    return [[each for each in verdict if _NOTHING_THERE.sub("", each).strip(" ,")] for verdict in verdicts]


# OSM writes these keys without a value where a pool has no SSH keys or no subscription.
_NOTHING_THERE = re.compile(
    r"Cloud config schema errors: |"
    r"(?:ssh_authorized_keys|rh_subscription\.(?:username|password)): None is not of type '\w+'"
)


_IN_ONE_PROCESS = """
import contextlib, io, json, sys
import jsonschema  # without it cloud-init takes everything
from cloudinit.config import schema

def verdict(path):
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            schema.validate_cloudconfig_file(path, whole)
    except Exception as error:
        return [str(error) or type(error).__name__]
    return []

whole = schema.get_schema()
print(json.dumps([verdict(f"{sys.argv[1]}/{number}.yaml") for number in range(int(sys.argv[2]))]))
"""
