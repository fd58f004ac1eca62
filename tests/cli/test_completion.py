"""The tab key: what shells ask of the program, and what it answers."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
from pathlib import Path
from unittest.mock import patch

import pytest

from osm_gitops.__main__ import run
from tests.cli.scenes import pool, profile, write_fleet, write_tree

_SHELLS = ("bash", "zsh", "fish", "powershell")


def _program(environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "osm_gitops", *arguments],
        env=dict(os.environ) | environment,
        capture_output=True,
        text=True,
        check=False,
    )


def _offered(line: str) -> list[str]:
    """What bash would offer at the end of a line; nothing may be said beside it."""
    words = line.split()
    at = len(words) if line.endswith(" ") else len(words) - 1
    asked = {"_OSM_GITOPS_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(at)}
    out, err = io.StringIO(), io.StringIO()
    with (
        patch.dict(os.environ, asked),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        pytest.raises(SystemExit) as end,
    ):
        run([])
    assert (end.value.code, err.getvalue()) == (0, "")
    return out.getvalue().split()


def _kubeconfig(path: Path, *contexts: str) -> None:
    entries = ", ".join(f"{{name: {name}, context: {{}}}}" for name in contexts)
    path.write_text(f"{{kind: Config, contexts: [{entries}]}}", "utf-8")


@pytest.fixture
def fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    _kubeconfig(tmp_path / "config", "worker", "seed")
    _kubeconfig(tmp_path / "other", "lonely")
    monkeypatch.setenv("KUBECONFIG", "config")
    write_tree(tmp_path / "eu", profile(), pool("workers"), pool("gpu-a"))
    write_tree(tmp_path / "us", profile(), pool("gpu-b"))
    return write_fleet(tmp_path, "clusters: [{name: prod-eu, from: eu}, {name: prod-us, from: us}]")


@pytest.mark.usefixtures("fleet")
@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("osm-gitops pl", ["plan"]),
        ("osm-gitops plan --cluster ", ["prod-eu", "prod-us"]),
        ("osm-gitops apply --cluster prod-u", ["prod-us"]),
        ("osm-gitops plan --only ", ["gpu-a", "gpu-b", "workers"]),
        ("osm-gitops plan --cluster prod-eu --only g", ["gpu-a"]),
        ("osm-gitops plan --from us --only ", ["gpu-b"]),
        ("osm-gitops plan --cluster nowhere --only ", []),
        ("osm-gitops explain ", ["gpu-a", "gpu-b", "workers"]),
        ("osm-gitops explain --cluster prod-us ", ["gpu-b"]),
        ("osm-gitops osp show osp-a", ["osp-a", "osp-amzn2"]),
        ("osm-gitops osp show --from us osp-a", ["osp-a", "osp-amzn2"]),
        ("osm-gitops osp show --cluster nowhere osp-a", ["osp-amzn2"]),
        ("osm-gitops osp diff osp-ubuntu osp-rh", ["osp-rhel"]),
        ("osm-gitops plan --context ", ["seed", "worker"]),
        ("osm-gitops plan --kubeconfig other --worker-context ", ["lonely"]),
        ("osm-gitops plan --kubeconfig other --worker-cluster-kubeconfig config --worker-context w", ["worker"]),
        ("osm-gitops plan --kubeconfig nowhere --context ", []),
        ("osm-gitops osp c", ["convert"]),
        ("osm-gitops plan --output ", ["text", "json"]),
    ],
)
def test_clusters_pools_profiles_and_contexts_are_offered(line: str, offered: list[str]) -> None:
    assert [word for word in _offered(line) if word not in {"markdown", "html"}] == offered


def test_broken_files_are_passed_over_without_a_word(tmp_path: Path) -> None:
    write_tree(tmp_path / "tree", profile(), pool("workers"))
    (tmp_path / "tree" / "broken.yaml").write_text("kind: MachineDeployment\n  x: [", "utf-8")
    (tmp_path / "tree" / "gone.yaml").symlink_to("nowhere")
    assert _offered("osm-gitops plan --from tree --only ") == ["workers"]
    assert _offered("osm-gitops plan --from nowhere --only ") == []
    assert _offered("osm-gitops plan --cluster ") == []
    write_fleet(tmp_path, "clusters: [")
    assert _offered("osm-gitops plan --cluster ") == []


@pytest.mark.parametrize("shell", _SHELLS)
def test_every_shell_gets_its_script(shell: str) -> None:
    ran = _program({"_OSM_GITOPS_COMPLETE": f"source_{shell}"})
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "_OSM_GITOPS_COMPLETE" in ran.stdout
    assert f"complete_{shell}" in ran.stdout


def test_the_script_of_bash_completes_in_a_real_shell(tmp_path: Path) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    program = programs / "osm-gitops"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m osm_gitops "$@"\n', "utf-8")
    program.chmod(0o755)
    script = _program({"_OSM_GITOPS_COMPLETE": "source_bash"}).stdout
    (tmp_path / "completion").write_text(script, "utf-8")
    asking = (
        "source completion; COMP_WORDS=(osm-gitops re); COMP_CWORD=1; "
        '_osm_gitops_completion osm-gitops; echo "${COMPREPLY[@]}"'
    )
    ran = subprocess.run(
        ["bash", "--norc", "-c", asking],
        cwd=tmp_path,
        env=dict(os.environ) | {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "render" in ran.stdout.split()
