"""``--shard``: runs on several machines, which share the clusters of a fleet."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from osm_gitops.errors import Code
from tests.cli.running import osm_gitops
from tests.cli.scenes import pool, profile, write_fleet, write_tree
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
