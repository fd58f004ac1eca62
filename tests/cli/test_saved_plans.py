"""``plan --out FILE`` and ``apply FILE`` from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from osm_gitops.errors import Code
from tests.cli.running import Ran, osm_gitops
from tests.cli.scenes import pool, profile, write_tree
from tests.faults import Expected, told
from tests.git.repos import git, new_repository


def _save(*more: str) -> Ran:
    return osm_gitops(
        "plan",
        "--from",
        "tree",
        "--to",
        "repo/clusters",
        "--out",
        "plan.json",
        "--dangerously-plaintext-secrets",
        *more,
    )


def _apply(*more: str) -> Ran:
    return osm_gitops("apply", "plan.json", "--dangerously-plaintext-secrets", *more)


@pytest.fixture(autouse=True)
def repo(tmp_path: Path) -> Path:
    write_tree(tmp_path / "tree", profile(), pool("a"), pool("b"))
    return new_repository(tmp_path / "repo")


def test_a_saved_plan_is_applied_as_it_was_asked_for(repo: Path, tmp_path: Path) -> None:
    assert _save("--cluster", "prod", "--only", "a", "--cluster-dns", "10.0.0.10").code == 0
    ran = _apply()
    assert (ran.code, ran.err.partition(" ")[0]) == (0, "prod:")
    assert sorted(path.name for path in (repo / "clusters/prod/management/operatingsystemconfigs").iterdir()) == [
        "a-kube-system-config.yaml"
    ]
    assert "getter-token" not in (tmp_path / "plan.json").read_text("utf-8")


def test_a_plan_whose_inputs_moved_is_refused_and_changes_nothing(repo: Path, tmp_path: Path) -> None:
    _save()
    write_tree(tmp_path / "tree", pool("c"))
    ran = _apply("--yes")
    assert ran.code == 1
    assert Expected(Code.SAVED_PLAN_STALE, "plan.json: ", "create OperatingSystemConfig") in told(ran.err)
    assert git(repo, "rev-list", "--count", "HEAD") == "1"


def test_a_plan_is_applied_once(repo: Path) -> None:
    _save()
    assert _apply().code == 0
    ran = _apply()
    assert ran.code == 1
    assert Expected(Code.SAVED_PLAN_STALE) in told(ran.err)
    assert git(repo, "rev-list", "--count", "HEAD") == "2"


def test_a_credential_in_a_setting_is_not_saved_and_asked_for_again(tmp_path: Path) -> None:
    proxy = "http://user:hunter22@proxy:3128"
    _save("--node-http-proxy", proxy)
    text = (tmp_path / "plan.json").read_text("utf-8")
    assert "hunter22" not in text
    assert json.loads(text)["options"]["node-http-proxy"] is None
    assert Expected(Code.CREDENTIAL_NOT_SAVED, "--node-http-proxy") in told(_apply().err)
    assert _apply("--node-http-proxy", proxy).code == 0


def test_a_plan_that_lacks_a_cluster_is_not_saved(tmp_path: Path) -> None:
    (tmp_path / "tree" / "broken.yaml").write_text("apiVersion: v1\nkind: [\n", "utf-8")
    ran = _save()
    assert ran.code == 1
    assert "plan.json is not written" in ran.err
    assert not (tmp_path / "plan.json").exists()


def test_what_is_no_saved_plan_is_refused(tmp_path: Path) -> None:
    (tmp_path / "plan.json").write_text("{}", "utf-8")
    assert Expected(Code.SAVED_PLAN_INVALID, "plan.json") in told(_apply().err)
    (tmp_path / "plan.json").unlink()
    assert Expected(Code.FILE_UNREADABLE, "plan.json") in told(_apply().err)


def test_a_plan_against_a_revision_is_not_saved() -> None:
    assert Expected(Code.OPTIONS_CONFLICT) in told(_save("--against", "HEAD").err)
