"""Commits name everything that was read from git, and say what of it was not committed."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from osm_gitops.errors import Code
from tests.apiserver.after_osm import recorded_authority
from tests.cli.adopted import Adopted
from tests.cli.running import Ran, osm_gitops
from tests.cli.scenes import pool, profile, write_fleet, write_tree
from tests.faults import Expected, told
from tests.git.repos import git, new_repository
from tests.sources.sealed import RECIPIENT

_FLEET = """\
clusters:
- name: prod
  from: pools
  settings: {clusterDNS: 10.96.0.10, kubernetesCABundle: ca.pem}
  overlays: [overlays/eu]
  to: {git: {path: clusters}}
"""
_OVERLAY = "apiVersion: osm-gitops.io/v1alpha1\nkind: Overlay\nsettings: {nodeHTTPProxy: http://proxy:3128}\n"
_READ = ["pools", "osm-gitops.yaml", "overlays/eu", "ca.pem", ".sops.yaml"]


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A config repository with everything that a run may read, committed."""
    repository = new_repository(tmp_path / "repo")
    write_fleet(repository, _FLEET)
    write_tree(repository / "pools", profile(), pool())
    (repository / "overlays/eu").mkdir(parents=True)
    (repository / "overlays/eu/overlay.yaml").write_text(_OVERLAY)
    (repository / "ca.pem").write_text(recorded_authority())
    (repository / ".sops.yaml").write_text(f"creation_rules: [{{path_regex: ^clusters/, age: {RECIPIENT}}}]\n")
    git(repository, "add", ".")
    git(repository, "commit", "--quiet", "-m", "pools")
    monkeypatch.chdir(repository)
    return repository


def _edited(path: str) -> Callable[[Path], None]:
    def edit(repo: Path) -> None:
        (repo / path).write_text((repo / path).read_text() + "# edited\n")

    return edit


def _staged(path: str) -> Callable[[Path], None]:
    def stage(repo: Path) -> None:
        _edited(path)(repo)
        git(repo, "add", path)

    return stage


def _untracked(repo: Path) -> None:
    write_tree(repo / "pools", pool("new"))


def _ignored(repo: Path) -> None:
    git(repo, "rm", "--quiet", "--cached", "ca.pem")
    (repo / ".gitignore").write_text("ca.pem\n")
    git(repo, "add", ".gitignore")
    git(repo, "commit", "--quiet", "-m", "ignore")


_DIRTY: dict[str, tuple[Callable[[Path], object], str, str]] = {
    "fleet file": (_edited("osm-gitops.yaml"), "osm-gitops.yaml", "osm-gitops.yaml"),
    "fleet file in the index": (_staged("osm-gitops.yaml"), "osm-gitops.yaml", "osm-gitops.yaml"),
    "overlay": (_edited("overlays/eu/overlay.yaml"), "overlays/eu", "overlays/eu/overlay.yaml"),
    "file of a setting": (_edited("ca.pem"), "ca.pem", "ca.pem"),
    "ignored file of a setting": (_ignored, "ca.pem", "ca.pem"),
    "creation rules": (_edited(".sops.yaml"), ".sops.yaml", ".sops.yaml"),
    "new pool": (_untracked, "pools", "pools/MachineDeployment-new.yaml"),
}


def _sources(repo: Path) -> dict[str, str]:
    """What the last commit was made from, and of which revision."""
    lines = git(repo, "log", "-1", "--format=%(trailers:key=Osm-Gitops-Source,valueonly)").splitlines()
    return dict(line.rsplit("@", 1) for line in lines if line)


def test_everything_that_was_read_is_named_with_its_commit(repo: Path) -> None:
    head = git(repo, "rev-parse", "HEAD")
    ran = osm_gitops("apply", "--yes", "--require-clean")
    assert ran.code == 0, ran.err
    assert _sources(repo) == dict.fromkeys(_READ, head)


@pytest.mark.parametrize("case", _DIRTY)
def test_what_is_not_committed_is_said_on_screen_and_in_the_commit(repo: Path, case: str) -> None:
    spoil, source, path = _DIRTY[case]
    spoil(repo)
    head = git(repo, "rev-parse", "HEAD")
    said = f"{source}: not as committed: {path}"
    assert f"Warning: {said}" in osm_gitops("plan").out
    ran = osm_gitops("apply", "--yes")
    assert ran.code == 0, ran.err
    assert f"Warning: {said}" in ran.out
    assert _sources(repo) == dict.fromkeys(_READ, head) | {source: f"{head}-dirty"}


@pytest.mark.parametrize("case", _DIRTY)
def test_a_run_that_requires_a_clean_tree_refuses(repo: Path, case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    spoil, source, path = _DIRTY[case]
    spoil(repo)
    head = git(repo, "rev-parse", "HEAD")
    said = f"Error: {source}: not as committed: {path}. Commit it, or run without --require-clean"
    planned = osm_gitops("plan", "--require-clean")
    assert planned.code == 1
    assert said in planned.err
    monkeypatch.setenv("OSM_GITOPS_REQUIRE_CLEAN", "true")
    applied = osm_gitops("apply", "--yes")
    assert applied.code == 1
    assert said in applied.err
    assert git(repo, "rev-parse", "HEAD") == head


def test_files_that_a_run_does_not_read_do_not_count(repo: Path) -> None:
    (repo / "notes.txt").write_text("mine\n")
    ran: Ran = osm_gitops("apply", "--yes", "--require-clean", "--age-recipient", RECIPIENT)
    assert ran.code == 0, ran.err
    assert ".sops.yaml" not in _sources(repo)  # the flag decides


def test_at_a_revision_nothing_is_dirty_but_what_is_read_as_it_lies_there(repo: Path) -> None:
    _edited("osm-gitops.yaml")(repo)
    _untracked(repo)
    ran = osm_gitops("plan", "--from", "pools@HEAD", "--to", "clusters", "--require-clean")
    assert ran.code == 0, ran.err


def test_strict_leaves_what_is_not_committed_to_require_clean(repo: Path) -> None:
    clean = osm_gitops("plan", "--strict")
    assert Expected(Code.WARNINGS_NOT_ALLOWED, "2") in told(clean.err)  # of the encryption
    _edited("osm-gitops.yaml")(repo)
    ran = osm_gitops("plan", "--strict")
    assert "Warning: osm-gitops.yaml: not as committed: osm-gitops.yaml" in ran.out
    assert ran.err == clean.err


def test_an_overlay_that_is_in_no_git_is_named_without_a_commit(repo: Path, tmp_path: Path) -> None:
    overlay = tmp_path / "elsewhere"
    overlay.mkdir()
    (overlay / "overlay.yaml").write_text(_OVERLAY)
    fleet = (repo / "osm-gitops.yaml").read_text().replace("overlays/eu", os.fspath(overlay))
    (repo / "osm-gitops.yaml").write_text(fleet)
    git(repo, "commit", "--quiet", "--all", "-m", "another overlay")
    ran = osm_gitops("apply", "--yes", "--require-clean")
    assert ran.code == 0, ran.err
    assert f"Osm-Gitops-Source: {overlay}\n" in git(repo, "log", "-1", "--format=%B") + "\n"


def test_a_live_cluster_is_not_written_from_what_is_not_committed(adopted: Adopted, repo: Path) -> None:
    write_tree(repo / "osps", profile("osp-mine"))
    command = ("apply", "--profiles-from", os.fspath(repo / "osps"), "--replace-default-osps", "--require-clean")
    ran = adopted.run(*command)
    assert ran.code == 1
    (error,) = ran.err.splitlines()
    assert error.startswith(f"Error: {repo}/osps: cluster default: not as committed: ")
    assert "osps/OperatingSystemProfile-osp-mine.yaml" in error
    git(repo, "add", "osps")
    git(repo, "commit", "--quiet", "-m", "profiles")
    ran = adopted.run(*command, "--force-conflicts")
    assert ran.code == 0, ran.err
