"""Clusters that are planned side by side: the same bytes in the same order as one after the other."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from osm_gitops.config.spec import ClusterSpec, LiveTarget, SourceSpec, TreeRef
from osm_gitops.errors import Code
from osm_gitops.pipeline.side_by_side import processes
from osm_gitops.sops.keys import new_identity
from osm_gitops.sources import tree
from tests.cli.running import Ran, osm_gitops
from tests.cli.scenes import GETTER_TOKEN, pool, profile, write_fleet, write_tree
from tests.faults import Expected, told
from tests.git.repos import git, new_repository

_KINDS = ("good", "other", "no-profile", "bad-profile", "unreadable", "absent", "no-facts", "bad-setting", "stranger")
"""Clusters that are planned, that are planned in part, and that cannot be planned."""


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with a tree for each kind of cluster."""
    root = new_repository(tmp_path / "repo")
    write_tree(root / "good", profile(), pool(), pool("second"))
    write_tree(root / "other", profile(), pool("third"), token="another-token-2")
    write_tree(root / "no-profile", profile(), pool(), pool("lost", "osp-gone"))
    write_tree(root / "bad-profile", profile(script="{{ .Nothing }}"), pool())
    (write_tree(root / "unreadable", profile(), pool()) / "more.yaml").write_text("a: [", "utf-8")
    for kind in ("ConfigMap", "Secret"):
        for path in write_tree(root / "no-facts", profile(), pool()).glob(f"{kind}-*"):
            path.unlink()
    write_tree(root / "bad-setting", profile(), pool())
    write_tree(root / "stranger", profile(), pool())
    git(root, "add", ".")
    git(root, "commit", "--quiet", "-m", "sources")
    monkeypatch.chdir(root)
    return root


def _fleet(root: Path, kinds: list[str]) -> None:
    more = {"bad-setting": ", settings: {hostCABundle: nowhere.pem}", "stranger": ", overlays: [nowhere]"}
    lines = (f"- {{name: c{number}-{kind}, from: {kind}{more.get(kind, '')}}}\n" for number, kind in enumerate(kinds))
    write_fleet(root, f"defaults: {{to: {{git: {{path: desired}}}}}}\nclusters:\n{''.join(lines)}")


def _ran(*arguments: str) -> Ran:
    return osm_gitops(*arguments, "--dangerously-plaintext-secrets")


_REPORTS = ("text", "json", "markdown")


def _check(root: Path, kinds: list[str], jobs: int, form: str) -> None:
    _fleet(root, kinds)
    one, several = (_ran("plan", "-v", "-o", form, "--jobs", str(number)) for number in (1, jobs))
    assert several == one
    assert GETTER_TOKEN not in one.out + one.err
    start = git(root, "rev-parse", "HEAD").strip()
    applied = []
    for number in (1, jobs):
        ran = _ran("apply", "--yes", "--jobs", str(number))
        commits = git(root, "log", "--reverse", "--format=%T %B", f"{start}..HEAD")
        # The ids of commits have the time in them.
        said = [line for line in ran.err.splitlines() if ": committed " not in line]
        applied.append((ran.code, ran.out, said, commits))
        git(root, "reset", "--quiet", "--hard", start)
    assert applied[0] == applied[1]
    good = sum(kind in {"good", "other"} for kind in kinds)
    assert applied[0][3].count("osm-gitops: c") >= good


def test_every_kind_of_cluster_comes_out_the_same(repo: Path) -> None:
    _check(repo, list(_KINDS), 3, "text")


@pytest.mark.exhaustive
@given(
    kinds=st.lists(st.sampled_from(_KINDS), min_size=1, max_size=9),
    jobs=st.integers(2, 4),
    form=st.sampled_from(_REPORTS),
)
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_fleet_comes_out_the_same(repo: Path, kinds: list[str], jobs: int, form: str) -> None:
    _check(repo, kinds, jobs, form)


@contextmanager
def _silent_server() -> Iterator[int]:
    """A port that accepts connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def _kubeconfig(path: Path, port: int) -> None:
    path.write_text(
        f"""\
apiVersion: v1
kind: Config
current-context: silent
contexts: [{{name: silent, context: {{cluster: silent, user: silent}}}}]
clusters: [{{name: silent, cluster: {{server: "http://127.0.0.1:{port}"}}}}]
users: [{{name: silent, user: {{}}}}]
""",
        "utf-8",
    )


@pytest.mark.exhaustive
def test_a_cluster_that_never_answers_is_given_up_and_holds_no_other(repo: Path) -> None:
    clusters = (
        "- {name: silent, from: cluster, management: {kubeconfig: silent.kubeconfig}}\n- {name: good, from: good}\n"
    )
    write_fleet(repo, f"defaults: {{to: {{git: {{path: desired}}}}}}\nclusters:\n{clusters}")
    with _silent_server() as port:
        _kubeconfig(repo / "silent.kubeconfig", port)
        ran = _ran("apply", "--yes", "--cluster-timeout", "8s")
    assert ran.code == 1
    assert told(ran.err) == [Expected(Code.CLUSTER_TIMEOUT, "cluster silent", "8 s", "--cluster-timeout")]
    assert sorted(each.name for each in (repo / "desired").iterdir()) == ["good"]
    assert git(repo, "log", "-1", "--format=%s").startswith("osm-gitops: good: ")
    assert git(repo, "status", "--porcelain", "desired") == ""


def test_a_timeout_below_a_second_is_refused(repo: Path) -> None:
    _fleet(repo, ["good"])
    for text in ("900ms", "soon"):
        ran = _ran("plan", "--cluster-timeout", text)
        assert ran.code == 1
        assert told(ran.err) == [Expected(Code.INVALID_OPTION, text, "--cluster-timeout")]


def test_a_key_command_runs_once_for_all_processes(repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key, recipient = new_identity()
    calls, command = tmp_path / "calls", tmp_path / "command"
    command.write_text(f"#!/bin/sh\necho called >> {calls}\ncat <<'END'\n{key}END\n", "utf-8")
    command.chmod(0o700)
    monkeypatch.setenv("SOPS_AGE_KEY_CMD", str(command))
    _fleet(repo, ["good", "other", "good"])
    flags = ("--age-recipient", recipient, "--jobs", "3")
    assert osm_gitops("apply", "--yes", *flags).code == 0
    calls.unlink()
    again = osm_gitops("plan", *flags)
    assert (again.code, again.out.splitlines()[-1]) == (0, "No changes."), again.err
    assert calls.read_text("utf-8") == "called\n"


def test_processes_are_started_only_as_far_as_they_pay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(4)), raising=False)
    tree = TreeRef(Path("tree"), "tree")
    trees = [ClusterSpec(str(number), SourceSpec(tree, tree, tree), (), None) for number in range(500)]
    live = [replace(each, target=LiveTarget()) for each in trees]
    asked: dict[tuple[int, int, int | None], int] = {
        (5, 0, None): 1,
        (11, 0, None): 1,
        (12, 0, None): 2,
        (500, 0, None): 4,
        (0, 4, None): 2,
        (5, 0, 3): 3,
        (5, 0, 64): 5,
        (500, 500, 1): 1,
    }
    assert {each: processes([*trees[: each[0]], *live[: each[1]]], each[2]) for each in asked} == asked


def test_a_tree_that_clusters_share_is_read_once_and_again_when_a_run_plans_again(
    repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []
    real = tree.read_tree

    def read_tree(files: Any, **more: Any) -> Any:
        read.append(files.display)
        return real(files, **more)

    monkeypatch.setattr("osm_gitops.pipeline.load.read_tree", read_tree)
    write_tree(repo / "osps", profile())
    parts = "{machineDeployments: good, facts: good, profiles: osps}"
    lines = "".join(f"- {{name: c{number}, from: {parts}}}\n" for number in range(3))
    write_fleet(repo, f"defaults: {{to: {{git: {{path: desired}}}}}}\nclusters:\n{lines}")
    for _ in range(2):
        assert _ran("plan", "--jobs", "1").code == 0
    assert sorted(read) == ["good", "good", "osps", "osps"]


def test_git_is_asked_once_for_all_clusters_of_a_repository(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A question takes as long as the repository has files, so a question for each cluster would be quadratic."""
    started = []
    for count in (2, 5):
        for number in range(count):
            write_tree(repo / f"tree-{number}", profile(), pool())
        lines = "".join(f"- {{name: c{number}, from: tree-{number}}}\n" for number in range(count))
        write_fleet(repo, f"defaults: {{to: {{git: {{path: desired}}}}}}\nclusters:\n{lines}")
        trace = tmp_path / f"trace-{count}"
        with monkeypatch.context() as traced:
            traced.setenv("GIT_TRACE2_EVENT", str(trace))
            assert _ran("plan", "--jobs", "1").code == 0
        started.append(trace.read_text().count('"event":"start"'))
    assert started[0] == started[1]
