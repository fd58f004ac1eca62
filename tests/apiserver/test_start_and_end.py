"""Servers that do not start, that cannot be had, and that outlive nobody."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from osm_gitops.commands.boot.lane.binaries import Binaries, find_binaries
from osm_gitops.commands.boot.lane.store import Store
from osm_gitops.errors import LaneError
from tests.apiserver.server import running


def _store(folder: Path) -> Store:
    return Store(folder / "cache", lambda _: None)


_RUNS_ON = ("sh", "-c", "exec sleep 3600")


def test_a_server_that_does_not_start_shows_its_log(tmp_path: Path) -> None:
    broken = Binaries(("sh", "-c", "echo unknown flag >&2; exit 1"), _RUNS_ON)
    shown = r"did not start\n(?s:.*)--- kube-apiserver\.log\nunknown flag\n"
    with pytest.raises(AssertionError, match=shown), running("broken", tmp_path, broken):
        pass


def test_a_server_that_is_not_there_is_named(tmp_path: Path) -> None:
    assets = tmp_path / "assets"
    assets.mkdir()
    store = _store(tmp_path)
    with pytest.raises(LaneError, match=f"KUBEBUILDER_ASSETS={assets}: there is no kube-apiserver in it"):
        find_binaries({"KUBEBUILDER_ASSETS": str(assets)}, store)
    (assets / "kube-apiserver").touch()
    with pytest.raises(LaneError, match="there is no etcd in it"):
        find_binaries({"KUBEBUILDER_ASSETS": str(assets)}, store)
    (assets / "etcd").touch()
    assert find_binaries({"KUBEBUILDER_ASSETS": str(assets)}, store) == Binaries(
        (str(assets / "kube-apiserver"),), (str(assets / "etcd"),)
    )


def test_without_go_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    with pytest.raises(LaneError, match=r"Go is not on the path\. Install osm-gitops\[boot\]"):
        find_binaries({}, _store(tmp_path))


def test_a_failed_build_shows_what_go_said_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    go = tmp_path / "go"
    go.write_text("#!/bin/sh\necho dial tcp: no route to host >&2\nexit 1\n")
    go.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(LaneError, match=r"(?s)ended with 1: dial tcp: no route to host"):
        find_binaries({}, _store(tmp_path))
    assert [path.name for path in (tmp_path / "cache").rglob("kube*")] == []


def test_what_was_built_once_is_not_built_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    go = tmp_path / "go"
    go.write_text('#!/bin/sh\nfor out; do [ "$last" = -o ] && echo built >> "$out"; last=$out; done\n')
    go.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    first, second = (find_binaries({}, _store(tmp_path)) for _ in range(2))
    assert first == second
    assert Path(first.apiserver[0]).read_text() == "built\n"


def test_programs_and_their_data_go_when_the_tests_are_killed(tmp_path: Path) -> None:
    folder, pipes = tmp_path / "data", [tmp_path / "one", tmp_path / "two"]
    folder.mkdir()
    for pipe in pipes:
        os.mkfifo(pipe)
    commands = {pipe.name: ("sh", "-c", f"exec sleep 3600 3>'{pipe}'") for pipe in pipes}
    script = f"""
import sys
from pathlib import Path
from osm_gitops.commands.boot.lane.control_plane import kept
with kept(Path({str(folder)!r}), {commands!r}):
    sys.stdin.read()
"""
    with subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as tests:
        assert tests.stdout is not None
        held = [pipe.open("rb") for pipe in pipes]  # each opens when its program has started
        tests.send_signal(signal.SIGKILL)
        for end in held:
            with end:
                assert end.read() == b""  # and ends with it
        assert tests.stdout.read() == b""  # which the keeper holds too
    assert not folder.exists()
