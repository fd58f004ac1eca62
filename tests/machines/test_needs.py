"""Boots say at once all that they miss, and never pass over it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.machines import needs


def test_everything_that_is_missing_is_named_at_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(needs, "CACHE", tmp_path / "machines")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(shutil, "which", lambda name: None if name in ("systemd-nspawn", "mmdebstrap") else name)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=1))
    monkeypatch.setattr(needs, "_HEADERS", {tmp_path / "blkid.h": "libblkid-dev"})
    with pytest.raises(needs.MissingError) as missing:
        needs.check()
    text = str(missing.value)
    assert "root: namespaces and mounts of a whole machine (run `sudo make boot`)" in text
    assert "packages: run `apt-get install libblkid-dev mmdebstrap systemd-container`" in text
    assert f"disk: 10 GiB below {tmp_path / 'machines'}, 0.0 GiB are free" in text


def test_what_is_built_already_takes_no_more_disk(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(needs, "CACHE", tmp_path)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(shutil, "which", lambda name: name)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=1))
    monkeypatch.setattr(needs, "_HEADERS", {})
    (tmp_path / "complete").touch()
    needs.check()
