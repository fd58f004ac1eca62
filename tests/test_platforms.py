"""What docs/reference/platforms.md says of other systems, as far as it can be shown on this one."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

from tests.git.repos import ENVIRONMENT

_ROOT = Path(__file__).resolve().parent.parent
# Of Python's os module on POSIX systems, not on Windows (docs.python.org, os: "Availability: Unix").
_POSIX_ONLY = (
    *("O_NOFOLLOW", "O_DIRECTORY", "O_CLOEXEC", "fchmod", "fchown", "chown", "lchown", "chroot", "fork", "killpg"),
    *("getuid", "geteuid", "getgid", "getegid", "getgroups", "getpgid", "mkfifo", "sysconf", "uname", "pread"),
)
_SCRIPT = f"""
import subprocess, tempfile, filelock, git  # these know both kinds of system
import os
for name in {_POSIX_ONLY!r}:
    if hasattr(os, name):
        delattr(os, name)
from osm_gitops.__main__ import run
def must(*words):
    assert run(words) == 0, words
must("init", "nodes")
os.chdir("nodes")
subprocess.run(["git", "add", "."], check=True)
subprocess.run(["git", "commit", "--quiet", "--message", "start"], check=True)
must("doctor")
must("apply", "--yes")
must("plan", "--detailed-exitcode")
"""


def test_all_that_a_config_repository_needs_works_without_what_only_posix_has(tmp_path: Path) -> None:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("OSM_GITOPS_", "SOPS_", "XDG_"))}
    ran = subprocess.run(
        [sys.executable, "-c", _SCRIPT],
        cwd=tmp_path,
        env=kept | ENVIRONMENT | {"HOME": str(tmp_path / "home")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "No changes." in ran.stdout


def test_every_library_has_a_wheel_for_the_systems_that_are_named() -> None:
    locked = tomllib.loads((_ROOT / "uv.lock").read_text("utf-8"))["package"]
    project = tomllib.loads((_ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    wanted = {re.split(r"[<>=]", name)[0].replace(".", "-") for name in project["dependencies"]}
    systems = ("manylinux.*_x86_64", "manylinux.*_aarch64", "macosx.*_(arm64|universal2)", "win_amd64")
    for package in locked:
        if package["name"] not in wanted:
            continue
        wheels = [wheel["url"].rsplit("/", 1)[1] for wheel in package["wheels"]]
        for system in systems:
            assert any(re.search(f"(none-any|{system})[.]whl$", wheel) for wheel in wheels), (package["name"], system)
        wanted.remove(package["name"])
    assert wanted == set()
