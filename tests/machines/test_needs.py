"""Boots say at once all that they miss, and never pass over it."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from osm_gitops.commands.boot.lane import needs
from osm_gitops.commands.boot.lane.architectures import AMD64, ARM64
from osm_gitops.commands.boot.lane.needs import missing
from osm_gitops.errors import Code


def test_everything_that_is_missing_is_named_at_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    lacks = ("systemd-nspawn", "mmdebstrap", "qemu-system-x86_64", "qemu-aarch64-static", "go")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(shutil, "which", lambda name, **_: None if name in lacks else name)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=1))
    monkeypatch.setattr(needs, "_HEADERS", {tmp_path / "blkid.h": "libblkid-dev"})
    cache = tmp_path / "not" / "there"
    found = missing(cache, built=False)
    assert {each.code for each in found} == {Code.BOOT_NEEDS}
    assert [each.fix for each in found] == [
        "Run it with sudo",
        "Run apt-get install libblkid-dev mmdebstrap systemd-container",
        "Install osm-gitops[boot], which brings it",
        "Set XDG_CACHE_HOME to another folder",
    ]
    assert (found[-1].where, "10 GiB" in found[-1].what) == (str(cache), True)
    virtual = missing(cache, virtual=(AMD64,), built=False)
    assert "mmdebstrap qemu-system-x86 systemd-container" in virtual[1].fix
    virtual = missing(cache, virtual=(AMD64, ARM64), built=False)
    assert "mmdebstrap qemu-system-x86 qemu-user-static systemd-container" in virtual[1].fix


def test_what_is_built_already_takes_no_more_disk_and_no_go(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(shutil, "which", lambda name, **_: None if name == "go" else name)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=1))
    monkeypatch.setattr(needs, "_HEADERS", {})
    assert missing(tmp_path, virtual=(AMD64, ARM64), built=True) == []


def test_a_cache_folder_that_somebody_else_can_write_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(shutil, "which", lambda name, **_: name)
    monkeypatch.setattr(needs, "_HEADERS", {})
    folder = tmp_path / "osm-gitops" / "boot"
    folder.mkdir(parents=True, mode=0o700)
    owner = folder.stat().st_uid
    monkeypatch.setattr(os, "geteuid", lambda: owner)
    refused = [each.where for each in missing(folder, built=True) if each.where]
    assert refused == []
    folder.chmod(0o777)
    (found,) = (each for each in missing(folder, built=True) if each.where)
    assert (found.code, found.where) == (Code.BOOT_NEEDS, str(folder))
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    refused = [each.where for each in missing(folder, built=True) if each.where]
    assert refused == [str(folder.parent), str(folder)]


def test_other_systems_than_linux_are_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    (found,) = missing(tmp_path, built=True)
    assert (found.code, "darwin" in found.what) == (Code.BOOT_NEEDS, True)
