"""``to.git.commit: run``: one commit for all clusters of a fleet, pushed once."""

from __future__ import annotations

from pathlib import Path

import pytest

from osm_gitops.errors import Code
from tests.cli.running import Ran, osm_gitops
from tests.cli.scenes import clone_with_remote, pool, profile, write_fleet, write_tree
from tests.faults import Expected, told
from tests.git.repos import git

_NAMES = ("east", "north", "west")


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A clone with a fleet of three clusters, pushed."""
    _, clone = clone_with_remote(tmp_path)
    for name in _NAMES:
        write_tree(clone / "sources" / name, profile(), pool())
    _write_fleet(clone, "run")
    git(clone, "add", ".")
    git(clone, "commit", "--quiet", "-m", "fleet")
    git(clone, "push", "--quiet", "origin", "HEAD")
    monkeypatch.chdir(clone)
    return clone


def _write_fleet(root: Path, commit: str) -> None:
    clusters = "".join(f"- {{name: {name}, from: sources/{name}}}\n" for name in _NAMES)
    target = f"defaults: {{to: {{git: {{path: desired, push: true, commit: {commit}}}}}}}\n"
    write_fleet(root, f"{target}clusters:\n{clusters}")


def _apply(*more: str) -> Ran:
    return osm_gitops("apply", "--yes", "--dangerously-plaintext-secrets", *more)


def _subjects(root: Path) -> list[str]:
    git(root, "fetch", "--quiet")
    return git(root, "log", "--format=%s", "@{upstream}").splitlines()


def test_a_run_makes_one_commit_of_all_clusters_and_pushes_it(clone: Path) -> None:
    ran = _apply()
    assert ran.code == 0, ran.err
    commit = git(clone, "rev-parse", "HEAD").strip()
    assert f"3 clusters: committed {commit[:12]}\n" in ran.err
    assert _subjects(clone)[:2] == ["osm-gitops: 3 clusters: 12 created, 0 updated, 0 deleted", "fleet"]
    body = git(clone, "log", "-1", "--format=%b").splitlines()
    assert body[:3] == [f"- {name}: 4 created, 0 updated, 0 deleted" for name in _NAMES]
    assert [line.split()[1] for line in body if line.startswith("Osm-Gitops-Cluster:")] == [*_NAMES]
    assert git(clone, "status", "--porcelain") == ""
    ran = _apply()
    assert (ran.code, len(_subjects(clone))) == (0, 3)


def test_only_clusters_that_change_are_in_it_and_one_alone_reads_as_without(clone: Path) -> None:
    _apply()
    write_tree(clone / "sources" / "north", pool("second"))
    assert _apply().code == 0
    assert _subjects(clone)[0] == "osm-gitops: north: 3 created, 0 updated, 0 deleted"
    assert git(clone, "log", "-1", "--format=%b").startswith("- kube-system/second\n")


def test_a_cluster_that_fails_or_is_refused_is_left_out_of_it(clone: Path) -> None:
    _apply()
    write_tree(clone / "sources" / "east", pool("second"))
    (clone / "sources" / "north" / "MachineDeployment-workers.yaml").unlink()  # a guard: nothing would be left
    (clone / "desired" / "west" / "worker" / "kustomization.yaml").write_text("edited\n", "utf-8")
    write_tree(clone / "sources" / "west", pool("second"))
    ran = _apply()
    assert ran.code == 1
    assert Expected(Code.OWNED_FILES_EDITED, "desired/west") in told(ran.err)
    assert Expected(Code.NOTHING_DESIRED, "--allow-empty") in told(ran.err)
    assert _subjects(clone)[0] == "osm-gitops: east: 3 created, 0 updated, 0 deleted"
    assert list((clone / "desired" / "north").rglob("*-config.yaml"))


def test_a_hook_that_refuses_it_leaves_files_and_branch_as_they_were(clone: Path) -> None:
    before = git(clone, "rev-parse", "HEAD")
    hook = clone / ".git" / "hooks" / "pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\nexit 1\n", "utf-8")
    hook.chmod(0o755)
    ran = _apply()
    assert (ran.code, git(clone, "rev-parse", "HEAD"), git(clone, "status", "--porcelain")) == (1, before, "")
    assert not list((clone / "desired").rglob("*.yaml"))


def test_anything_else_is_refused(clone: Path) -> None:
    _write_fleet(clone, "never")
    assert told(_apply().err) == [Expected(Code.INVALID_VALUE, "to.git.commit")]
