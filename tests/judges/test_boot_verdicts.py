"""Our checks of the flow of a boot against systemd and shellcheck."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from osm_gitops.lint.external.programs import find_program
from osm_gitops.lint.rules.boot_file import BootDocument
from osm_gitops.lint.rules.boot_model import boot_of
from tests.judges.debian import systemd_path
from tests.lint.rules.boot_edits import Planted, base
from tests.lint.rules.boot_mistakes import ORDER
from tests.shell.test_splitting import MAY_SPLIT

pytestmark = pytest.mark.oracle

_SYSTEM_UNITS = Path("/usr/lib/systemd/system")
# What cloud-init brings on Ubuntu, as far as the order goes.
_CLOUD_INIT = {
    "cloud-final.service": "[Unit]\nAfter=multi-user.target cloud-config.service\n[Service]\nExecStart=/bin/true\n",
    "cloud-config.service": "[Unit]\nAfter=network-online.target\n[Service]\nExecStart=/bin/true\n",
    "containerd.service": "[Service]\nExecStart=/bin/true\n",
    "NetworkManager.service": "[Service]\nExecStart=/bin/true\n",
}


def _cycles(document: BootDocument, root: Path) -> list[str]:
    """What systemd says of cycles, with all units of the document wanted by the boot."""
    etc, usr = root / "etc/systemd/system", root / "usr/lib/systemd/system"
    etc.mkdir(parents=True)
    usr.parent.mkdir(parents=True)
    subprocess.run(["cp", "-a", str(_SYSTEM_UNITS), str(usr)], check=True)
    for name, text in _CLOUD_INIT.items():
        (usr / name).write_text(text, "utf-8")
    wants = etc / "multi-user.target.wants"
    wants.mkdir()
    for name, files in boot_of(document).unit_files.items():
        for file in files:
            path = root / file.path.lstrip("/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(file.text, "utf-8")
        if name.endswith(".service") and "@" not in name:
            (wants / name).symlink_to(f"../{name}")
    for name in _CLOUD_INIT:
        (wants / name).unlink(missing_ok=True)
        (wants / name).symlink_to(usr / name)
    (wants / "systemd-networkd.service").symlink_to(usr / "systemd-networkd.service")
    online = etc / "network-online.target.wants"
    online.mkdir()
    (online / "systemd-networkd-wait-online.service").symlink_to(usr / "systemd-networkd-wait-online.service")
    environment = {**os.environ, "PATH": systemd_path(root)}
    ran = subprocess.run(
        ["systemd-analyze", "verify", f"--root={root}", "--man=no", "default.target"],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    return [line for line in ran.stderr.splitlines() if "cycle" in line]


@pytest.mark.parametrize("planted", [each for each in ORDER if each.id == "unit-cycle"], ids=str)
def test_systemd_finds_the_same_cycles(planted: Planted, tmp_path: Path) -> None:
    document = base(planted.os)

    assert _cycles(document, tmp_path / "sound") == []
    assert _cycles(planted.edit(document), tmp_path / "mistaken") != []


def test_shellcheck_asks_for_quotes_as_well(tmp_path: Path) -> None:
    for number, script in enumerate(MAY_SPLIT.values()):
        (tmp_path / f"{number}.sh").write_text(f"{script}\n", "utf-8")
    words = [
        find_program("shellcheck", os.environ) or "shellcheck",
        "--norc",
        "--format=json1",
        "--shell=bash",
        "--include=SC2086",
    ]
    ran = subprocess.run(
        [*words, *(f"{number}.sh" for number in range(len(MAY_SPLIT)))],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
    )
    found = {int(each["file"].removesuffix(".sh")) for each in json.loads(ran.stdout)["comments"]}
    assert found == set(range(len(MAY_SPLIT)))
