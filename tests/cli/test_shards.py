"""``--shard``: runs on several machines, which share the clusters of a fleet."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from osm_gitops.commands.install.install_plan import ConfigRepo, Jobs
from osm_gitops.commands.install.jobs import jobs
from osm_gitops.commands.status.runs import runs_schema
from osm_gitops.config.shards import Shard
from osm_gitops.errors import Code
from osm_gitops.model.desired import Side
from osm_gitops.targets.cluster.results import result_name
from tests.apiserver.cluster import Cluster
from tests.cli.running import osm_gitops
from tests.cli.scenes import pool, profile, write_fleet, write_tree
from tests.commands.install.installing import PLAN, install, until_allowed
from tests.faults import Expected, told
from tests.git.repos import git, new_repository

_CLUSTERS = [f"c{number}" for number in range(6)]
_SHARDS = 3


@pytest.fixture
def fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with six clusters of one tree."""
    root = new_repository(tmp_path / "fleet")
    write_tree(root / "tree", profile(), pool())
    clusters = "".join(f"- {{name: {name}, from: tree}}\n" for name in _CLUSTERS)
    write_fleet(root, f"defaults: {{to: {{git: {{path: desired}}}}}}\nclusters:\n{clusters}")
    git(root, "add", ".")
    git(root, "commit", "--quiet", "-m", "fleet")
    monkeypatch.chdir(root)
    return root


def _planned(*arguments: str) -> list[str]:
    ran = osm_gitops("plan", "--output=json", "--dangerously-plaintext-secrets", *arguments)
    assert ran.code == 0, ran.err
    return [each["name"] for each in json.loads(ran.out)["clusters"]]


@pytest.mark.usefixtures("fleet")
def test_the_shards_of_a_fleet_have_each_cluster_once() -> None:
    parts = [_planned(f"--shard={index}/{_SHARDS}") for index in range(_SHARDS)]
    assert sorted(name for part in parts for name in part) == _CLUSTERS
    assert max(map(len, parts)) < len(_CLUSTERS)
    assert _planned("--shard=0/1") == _CLUSTERS


@pytest.mark.usefixtures("fleet")
def test_a_shard_has_those_clusters_that_are_chosen() -> None:
    (first, *_), chosen = _planned(f"--shard=0/{_SHARDS}"), _planned(f"--shard=0/{_SHARDS}", "--cluster=c*")
    assert _planned(f"--shard=0/{_SHARDS}", f"--cluster={first}") == [first]
    assert chosen == _planned(f"--shard=0/{_SHARDS}")


@pytest.mark.usefixtures("fleet")
def test_a_plan_against_a_revision_does_not_take_clusters_of_other_shards_for_gone() -> None:
    shard = f"--shard=0/{_SHARDS}"
    assert _planned("--against=HEAD", shard) == _planned(shard)
    assert _planned("--against=HEAD", "--changed-since=HEAD") == []


def test_shards_commit_the_whole_fleet_and_touch_no_cluster_of_another(fleet: Path) -> None:
    for index in range(_SHARDS):
        ran = osm_gitops("apply", "--yes", "--dangerously-plaintext-secrets", f"--shard={index}/{_SHARDS}")
        assert ran.code == 0, ran.err
    assert sorted(path.name for path in (fleet / "desired").iterdir()) == _CLUSTERS
    assert _planned() == _CLUSTERS
    ran = osm_gitops("plan", "--detailed-exitcode", "--dangerously-plaintext-secrets")
    assert (ran.code, ran.err) == (0, "")


@pytest.mark.usefixtures("fleet")
def test_a_saved_plan_is_applied_to_its_shard(tmp_path: Path) -> None:
    arguments = ("--dangerously-plaintext-secrets", f"--shard=1/{_SHARDS}")
    assert osm_gitops("plan", "--out", str(tmp_path / "plan"), *arguments).code == 0
    ran = osm_gitops("apply", "--dangerously-plaintext-secrets", str(tmp_path / "plan"))
    assert ran.code == 0, ran.err
    done = sorted(path.name for path in Path("desired").iterdir())
    assert done == sorted(_planned(f"--shard=1/{_SHARDS}"))


@pytest.mark.usefixtures("fleet")
@pytest.mark.parametrize("text", ["3/3", "1", "x/3"])
def test_what_is_no_shard_is_refused(text: str) -> None:
    ran = osm_gitops("plan", f"--shard={text}")
    assert ran.code == 1
    assert told(ran.err) == [Expected(Code.INVALID_OPTION, f"--shard {text}")]


def test_a_run_without_a_fleet_file_has_no_shards(tmp_path: Path) -> None:
    tree = write_tree(tmp_path / "tree", profile(), pool())
    ran = osm_gitops("plan", "--from", str(tree), "--to", str(tmp_path / "out"), "--shard=0/2")
    assert ran.code == 1
    assert told(ran.err) == [Expected(Code.OPTIONS_CONFLICT, "--shard 0/2")]


@pytest.mark.exhaustive
def test_sixteen_shards_push_at_once_and_lose_nothing(tmp_path: Path) -> None:
    """Each has a clone of its own, as pods have, and starts when all others do."""
    clusters = [f"c{number:02}" for number in range(48)]
    seed = new_repository(tmp_path / "seed")
    write_tree(seed / "tree", profile(), pool())
    listed = "".join(f"- {{name: {name}, from: tree}}\n" for name in clusters)
    write_fleet(seed, f"defaults: {{to: {{git: {{path: desired}}}}}}\nclusters:\n{listed}")
    git(seed, "add", ".")
    git(seed, "commit", "--quiet", "-m", "fleet")
    remote = tmp_path / "remote.git"
    git(tmp_path, "clone", "--quiet", "--bare", str(seed), str(remote))
    arguments = ["apply", "--yes", "--dangerously-plaintext-secrets", "--push", "--repo", f"file://{remote}"]
    command = [sys.executable, "-m", "osm_gitops", *arguments]
    shards = [Shard(index, 16) for index in range(16) if any(Shard(index, 16).has(name) for name in clusters)]
    runs = [
        subprocess.Popen(
            [*command, f"--shard={each.index}/16"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            cwd=tmp_path,
        )
        for each in shards
    ]
    ends = [(run.communicate()[1], run.returncode) for run in runs]
    assert [said for said, code in ends if code] == []
    written = git(remote, "ls-tree", "--name-only", "HEAD", "desired/").split()
    assert written == [f"desired/{name}" for name in clusters]
    subjects = git(remote, "log", "--format=%s", "--grep=^osm-gitops: ").splitlines()
    assert len(subjects) == len(set(subjects)) == len(clusters)


_HOME = "osm-gitops"


def _installed_runs(management: Cluster, folder: Path) -> Path:
    """Install what ``install --shards`` prints; returns a kubeconfig of the account of ``apply``."""
    runs = Jobs(image="osm-gitops:1", shards=_SHARDS)
    plan = replace(PLAN, into_git=True, repo=ConfigRepo("https://git.example.com/nodes.git"), jobs=runs)
    install(management, plan, Side.MANAGEMENT)
    account = next(body for body in jobs(plan, runs) if body["metadata"]["name"].endswith("-apply"))
    name = account["spec"]["jobTemplate"]["spec"]["template"]["spec"]["serviceAccountName"]
    user = management.account(_HOME, name)
    metadata = {"name": result_name("apply", 0, _SHARDS), "namespace": _HOME}
    until_allowed(management.client(user), [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}])
    return management.kubeconfig(folder / "home", user)


def _run(index: int) -> int:
    arguments = (f"--shard={index}/{_SHARDS}", f"--result-in={_HOME}")
    ran = osm_gitops("apply", "--yes", "--dangerously-plaintext-secrets", *arguments)
    assert Code.INVALID_RESULT.value not in ran.err
    return ran.code


def _shown(*arguments: str) -> dict[str, Any]:
    ran = osm_gitops("status", f"--runs={_HOME}", "--output=json", *arguments)
    assert ran.code == 0, ran.err
    shown: dict[str, Any] = json.loads(ran.out)
    Draft202012Validator(runs_schema()).validate(shown)
    return shown


def test_the_results_of_shards_are_shown_together(
    fleet: Path, management: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the rights that are installed for the runs."""
    account = _installed_runs(management, tmp_path)
    monkeypatch.setenv("KUBECONFIG", str(account))
    assert [_run(0), _run(1)] == [0, 0]
    monkeypatch.setenv("KUBECONFIG", str(management.kubeconfig(tmp_path / "admin")))
    (shown,) = _shown()["commands"]
    assert [each["state"] for each in shown["shards"]][2:] == ["missing"]
    assert not shown["good"]
    assert osm_gitops("status", f"--runs={_HOME}", "--detailed-exitcode").code == 2

    (broken, *_) = _planned(f"--shard=2/{_SHARDS}")
    text = (fleet / "osm-gitops.yaml").read_text("utf-8")
    (fleet / "osm-gitops.yaml").write_text(text.replace(f"{broken}, from: tree", f"{broken}, from: other"))
    write_tree(fleet / "other", profile(), pool(operatingSystem="debian"))
    monkeypatch.setenv("KUBECONFIG", str(account))
    assert _run(2) == 1
    monkeypatch.setenv("KUBECONFIG", str(management.kubeconfig(tmp_path / "admin")))
    (shown,) = _shown()["commands"]
    assert sum(each["clusters"] for each in shown["shards"]) == len(_CLUSTERS)
    last = shown["shards"][2]
    assert (last["state"], last["failedClusters"], last["failed"]) == ("failed", 1, 1)
    (failure,) = last["failures"]
    assert failure["cluster"] == broken
    assert "[OG" in failure["errors"][0]
    ran = osm_gitops("status", f"--runs={_HOME}")
    assert f"\n  {broken}: " in ran.out
    assert "6 clusters, 1 failed" in ran.out


@pytest.mark.usefixtures("fleet")
def test_a_result_of_somebody_else_is_told(
    management: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    management.namespace(_HOME)
    monkeypatch.setenv("KUBECONFIG", str(management.kubeconfig(tmp_path / "admin")))
    metadata = {"name": "x", "namespace": _HOME, "labels": {"osm-gitops.io/result-of": "apply"}}
    management.client().apply(
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": metadata,
            "data": {"result.json": '{"formatVersion": "1.0"}'},
        }
    )
    ran = osm_gitops("status", f"--runs={_HOME}")
    assert ran.code == 1
    assert told(ran.err) == [Expected(Code.INVALID_RESULT, f"ConfigMap {_HOME}/x")]


@pytest.mark.usefixtures("fleet")
def test_a_result_that_cannot_be_left_is_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "nothing"))
    ran = osm_gitops("apply", "--yes", "--dangerously-plaintext-secrets", f"--result-in={_HOME}")
    assert ran.code == 0
    assert "Warning" in ran.err
