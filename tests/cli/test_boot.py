"""``osm-gitops boot`` before a machine boots: what it refuses, all at once, and that it needs a trusted tree."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from osm_gitops.commands.boot.lane import needs
from osm_gitops.errors import Code
from tests.cli.running import osm_gitops
from tests.cli.scenes import pool, write_tree
from tests.faults import Expected, told


@pytest.fixture
def tree(tmp_path: Path) -> str:
    flatcar = pool("f", "osp-flatcar", operatingSystem="flatcar", cloudProvider="openstack", cloudProviderSpec={})
    return str(write_tree(tmp_path / "tree", pool("workers", "osp-ubuntu"), flatcar))


@pytest.fixture(autouse=True)
def _machine_that_lacks_everything(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(shutil, "which", lambda *_, **__: None)
    monkeypatch.setattr(needs, "_HEADERS", {})
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.mark.parametrize("name", ["workers", "kube-system/workers", "f"])
def test_what_the_machine_lacks_is_named_at_once_and_nothing_is_made(tree: str, name: str, tmp_path: Path) -> None:
    ran = osm_gitops("boot", name, "--from", tree)
    assert (ran.code, ran.out) == (1, "")
    assert told(ran.err) == [
        Expected(Code.BOOT_NEEDS, "sudo"),
        Expected(Code.BOOT_NEEDS, "mmdebstrap", "systemd-container"),
        Expected(Code.BOOT_NEEDS, "osm-gitops[boot]"),
    ]
    assert not (tmp_path / "cache").exists()


def test_a_pool_that_is_not_there_or_cannot_be_rendered_is_refused_first(tree: str, tmp_path: Path) -> None:
    assert told(osm_gitops("boot", "others", "--from", tree).err) == [Expected(Code.POOL_NOT_FOUND, "others")]
    broken = str(write_tree(tmp_path / "broken", pool("workers", "osp-missing")))
    assert told(osm_gitops("boot", "workers", "--from", broken).err) == [
        Expected(Code.PROFILE_NOT_FOUND, "osp-missing")
    ]


def test_addresses_of_version_6_are_refused(tree: str) -> None:
    proxy = "http://[2001:db8::1]:3128"
    ran = osm_gitops("boot", "workers", "--from", tree, "--node-http-proxy", proxy)
    assert told(ran.err) == [Expected(Code.BOOT_NOT_POSSIBLE, "2001:db8::1", "MachineDeployment kube-system/workers")]


def test_all_files_that_are_wrong_are_named(tree: str, tmp_path: Path) -> None:
    there = tmp_path / "there"
    there.touch()
    options = (
        "--file",
        f"https://a.example.com/x={there}",
        "--file",
        "agent.tgz",
        "--file",
        "https://b.example.com/y=nope",
    )
    ran = osm_gitops("boot", "workers", "--from", tree, *options)
    assert told(ran.err) == [
        Expected(Code.INVALID_OPTION, "--file agent.tgz"),
        Expected(Code.FILE_UNREADABLE, "https://b.example.com/y=nope"),
    ]


def test_a_duration_that_is_none_is_refused(tree: str) -> None:
    ran = osm_gitops("boot", "workers", "--from", tree, "--timeout", "soon")
    assert told(ran.err) == [Expected(Code.INVALID_OPTION, "soon", "--timeout")]


def test_a_tree_that_is_not_trusted_is_refused(tree: str) -> None:
    ran = osm_gitops("boot", "workers", "--from", tree, "--untrusted")
    assert told(ran.err) == [Expected(Code.COMMAND_TRUSTS_TREE, "--untrusted")]
