"""``osm-gitops plan --against REV``: what a change to the sources does, without a target and without keys."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import yaml

from osm_gitops.errors import Code
from tests.cli.running import Ran, osm_gitops
from tests.cli.scenes import GETTER_TOKEN, pool, profile, secret, write_fleet, write_tree
from tests.faults import Expected, told
from tests.git.repos import git, new_repository
from tests.sources.sealed import sealed

_FLEET = "clusters:\n- {name: prod, from: pools, settings: {clusterDNS: 10.0.0.1}}\n"
_PRINTS_ALL = "#!/bin/sh\necho {{ .Token }}\necho {{ .KubeVersion }} {{ .HTTPProxy }}\n"


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A config repository with a fleet of one cluster and two pools, committed."""
    root = new_repository(tmp_path / "repo")
    write_fleet(root, _FLEET)
    write_tree(root / "pools", profile(script=_PRINTS_ALL), pool("a"), pool("b"))
    _commit(root)
    monkeypatch.chdir(root)
    return root


def _commit(root: Path) -> None:
    git(root, "add", ".")
    git(root, "commit", "--quiet", "-m", "more")


def _plan(*more: str) -> Ran:
    return osm_gitops("plan", "--against", "HEAD", *more)


def test_no_target_is_needed_and_the_same_sources_change_nothing(repo: Path) -> None:
    assert repo.is_dir()
    ran = _plan("--detailed-exitcode")
    assert ran.code == 0, ran.err
    assert ran.out.endswith("\nNo changes.\n")


def test_a_changed_pool_a_new_one_and_one_that_is_gone(repo: Path) -> None:
    write_tree(repo / "pools", pool("a", kubelet="1.35.0"), pool("new"))
    (repo / "pools/MachineDeployment-b.yaml").unlink()
    ran = _plan("--detailed-exitcode")
    assert ran.code == 2, ran.err
    assert "Plan: 3 to create, 3 to update, 0 to replace, 3 to delete, 1 unchanged." in ran.out
    assert "  ***\n" in ran.out
    assert "-echo v1.34.2 " in ran.out
    assert "+echo v1.35.0 " in ran.out


def test_the_settings_of_the_fleet_file_are_compared_too(repo: Path) -> None:
    write_fleet(repo, _FLEET.replace("clusterDNS: 10.0.0.1", "nodeHTTPProxy: http://proxy:1"))
    ran = _plan()
    assert "Plan: 0 to create, 4 to update," in ran.out, ran.err
    assert "http://proxy:1" in ran.out


def test_a_cluster_that_is_new_or_gone(repo: Path) -> None:
    write_fleet(repo, _FLEET.replace("name: prod", "name: other"))
    ran = _plan("-o", "markdown")
    assert ran.code == 0, ran.err
    assert "### `other`: 7 to create" in ran.out
    assert (
        "Warning in `prod`: `it was removed from the fleet since HEAD: its folder is not changed [OG3342]`" in ran.out
    )


def test_a_fleet_that_was_not_there_yet_is_all_new(repo: Path) -> None:
    git(repo, "mv", "osm-gitops.yaml", "fleet.yaml")
    assert "Plan: 7 to create" in osm_gitops("plan", "--against", "HEAD", "--fleet", "fleet.yaml").out


def test_with_flags_instead_of_a_fleet_file(repo: Path) -> None:
    (repo / "osm-gitops.yaml").unlink()
    write_tree(repo / "pools", pool("a", kubelet="1.35.0"))
    ran = _plan("--from", "pools")
    assert "Plan: 0 to create, 3 to update," in ran.out, ran.err


def test_sources_outside_of_the_repository_are_the_same_for_both(repo: Path) -> None:
    write_tree(repo.parent / "dump", profile(script=_PRINTS_ALL))
    write_fleet(repo, "clusters:\n- {name: prod, from: {machineDeployments: pools, facts: ../dump}}\n")
    _commit(repo)
    write_tree(repo.parent / "dump", token="another-token")
    assert _plan().out.endswith("No changes.\n")


def test_what_was_broken_before_is_a_warning_so_that_a_change_can_mend_it(repo: Path) -> None:
    write_tree(repo / "pools", pool("a", operatingSystem="debian"))
    (repo / "pools/odd.yaml").write_text("apiVersion: v1\nkind: Secret\nmetadata: {name: [}\n")
    _commit(repo)
    write_tree(repo / "pools", pool("a"))
    (repo / "pools/odd.yaml").unlink()
    ran = _plan("-o", "markdown")
    assert ran.code == 0, ran.err
    assert "pools that could not be rendered at HEAD are shown as new: a" in ran.out
    assert "at HEAD, with which this is compared: " in ran.out
    assert "Plan: 3 to create, 0 to update," in ran.out


def test_a_pool_that_is_broken_now_fails_the_plan(repo: Path) -> None:
    write_tree(repo / "pools", pool("a", operatingSystem="debian"))
    assert _plan("--detailed-exitcode").code == 1


def test_an_unknown_revision_and_a_folder_without_git_are_errors_with_a_sentence(repo: Path) -> None:
    unknown = osm_gitops("plan", "--against", "nowhere")
    assert (unknown.code, unknown.out) == (1, "")
    assert Expected(Code.REVISION_NOT_FOUND, "nowhere") in told(unknown.err)
    shutil.rmtree(repo / ".git")
    bare = _plan()
    assert bare.code == 1
    assert Expected(Code.NO_WORK_TREE, "HEAD") in told(bare.err)


def test_old_and_new_secrets_are_masked(repo: Path) -> None:
    write_tree(repo / "pools", token="getter-token-2")
    ran = _plan("-v")
    assert "Plan: 0 to create, 4 to update," in ran.out
    assert "*** (before)" in ran.out
    assert GETTER_TOKEN not in ran.out
    assert "getter-token-2" not in ran.out


# -- without keys --


def _seal(tree: Path, token: str) -> None:
    text = yaml.safe_dump(secret("cloud-init-getter-token", "cloud-init-settings", {"token": token}))
    (tree / "Secret-cloud-init-getter-token.yaml").write_text(sealed(text))


def test_encrypted_sources_are_compared_without_any_key(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/nonexistent")
    _seal(repo / "pools", GETTER_TOKEN)
    _commit(repo)
    assert _plan().code == 1  # it would need the key
    assert _plan("--without-keys").out.endswith("No changes.\n")
    write_tree(repo / "pools", pool("a", kubelet="1.35.0"))
    _seal(repo / "pools", GETTER_TOKEN)
    ran = _plan("--without-keys", "--detailed-exitcode")
    assert ran.code == 2, ran.err
    assert "v1.35.0" in ran.out


def test_that_an_encrypted_value_changed_shows_without_what_is_made_of_it(
    repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "/nonexistent")
    _seal(repo / "pools", GETTER_TOKEN)
    _commit(repo)
    _seal(repo / "pools", "getter-token-2")
    ran = _plan("--without-keys")
    assert "Plan: 0 to create, 4 to update," in ran.out, ran.err
    assert "contents not shown: the file is made from secrets" in ran.out
    assert "curl -H" not in ran.out


def test_stand_ins_are_never_compared_with_a_target(repo: Path) -> None:
    ran = osm_gitops("plan", "--without-keys", "--to", str(repo / "clusters"))
    assert (ran.code, ran.out) == (1, "")
    assert Expected(Code.OPTIONS_CONFLICT, "--without-keys: ") in told(ran.err)
