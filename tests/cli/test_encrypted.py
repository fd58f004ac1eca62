"""``apply`` and ``rekey`` with recipients: what git keeps, and what people see of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from osm_gitops.errors import Code
from osm_gitops.sops.document import encrypt
from osm_gitops.sops.keys import new_identity
from osm_gitops.sops.rules import Rule, Selection
from osm_gitops.yaml.emit import dump
from tests.cli.running import Ran, osm_gitops
from tests.cli.scenes import pool, profile, secret, write_tree
from tests.faults import Expected, told
from tests.git.repos import git, new_repository

_SOURCE = ("--from", "tree", "--to", "repo/clusters")
_NOW = "2026-01-02T03:04:05Z"


@pytest.fixture
def recipient(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """A recipient whose private key is at hand."""
    key, name = new_identity()
    (tmp_path / "keys.txt").write_text(key)
    monkeypatch.setenv("SOPS_AGE_KEY_FILE", str(tmp_path / "keys.txt"))
    return name


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    write_tree(tmp_path / "tree", profile(), pool("a"), pool("b"))
    return new_repository(tmp_path / "repo")


def _apply(*more: str) -> Ran:
    return osm_gitops("apply", "--yes", *_SOURCE, *more)


def test_without_recipients_git_gets_nothing_and_the_way_out_is_named(repo: Path) -> None:
    ran = _apply()
    assert ran.code == 1
    for way in ("--age-recipient", ".sops.yaml", "--dangerously-plaintext-secrets"):
        assert Expected(Code.PLAIN_SECRETS_IN_GIT, way) in told(ran.err)
    assert git(repo, "status", "--porcelain") == ""


def test_a_recipient_is_all_it_takes_and_the_second_run_has_nothing_to_do(repo: Path, recipient: str) -> None:
    ran = _apply("--age-recipient", recipient)
    assert ran.code == 0, ran.err
    for path in git(repo, "ls-files", "clusters/*/secrets", "clusters/*/operatingsystemconfigs").split():
        assert (repo / path).read_text().startswith("# Encrypted by osm-gitops, digest ")
    ran = _apply("--age-recipient", recipient)
    assert (ran.code, ran.out, ran.err) == (0, "No changes.\n", "")


def test_who_cannot_open_what_is_there_changes_nothing_and_hears_what_is_missing(
    repo: Path, recipient: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert _apply("--age-recipient", recipient).code == 0
    head = git(repo, "rev-parse", "HEAD")
    monkeypatch.delenv("SOPS_AGE_KEY_FILE")
    ran = _apply("--age-recipient", recipient)
    assert ran.code == 1
    assert Expected(Code.FILES_NOT_COMPARABLE) in told(ran.err)
    assert git(repo, "rev-parse", "HEAD") == head


def test_plans_of_encrypted_files_show_what_changes_inside(repo: Path, recipient: str, tmp_path: Path) -> None:
    assert repo.is_dir()
    assert _apply("--age-recipient", recipient).code == 0
    write_tree(tmp_path / "tree", profile(script="echo other\n"), pool("a"), pool("b"))
    ran = osm_gitops("plan", *_SOURCE, "--age-recipient", recipient)
    assert ran.code == 0, ran.err
    assert "+echo other" in ran.out
    assert "ENC[" not in ran.out


def test_rekey_says_of_each_file_who_came_and_who_went(repo: Path, recipient: str) -> None:
    assert _apply("--age-recipient", recipient).code == 0
    _, newcomer = new_identity()
    ran = osm_gitops("rekey", "repo", "--age-recipient", newcomer)
    assert ran.code == 0, ran.err
    lines = ran.out.splitlines()
    assert len(lines) == len(git(repo, "diff", "--name-only").split()) == 6
    assert lines[0] == (
        f"repo/clusters/default/management/operatingsystemconfigs/a-kube-system-config.yaml +{newcomer} -{recipient}"
    )


def test_rekey_with_nothing_to_do_says_so(repo: Path, recipient: str) -> None:
    assert _apply("--age-recipient", recipient).code == 0
    ran = osm_gitops("rekey", "repo", "--age-recipient", recipient)
    assert (ran.code, ran.out) == (0, "")
    assert "Nothing to do" in ran.err
    assert git(repo, "status", "--porcelain") == ""


def test_rekey_rotates_what_osm_gitops_wrote_and_names_the_rest(repo: Path, recipient: str) -> None:
    """The way that the changelog tells: once in every repository, with its sources that sops encrypted."""
    assert _apply("--age-recipient", recipient).code == 0
    sealed = encrypt(secret("pull", "kube-system", {"a": "b"}), Rule((recipient,), Selection("^stringData$")), now=_NOW)
    (repo / "pull.yaml").write_text(dump(sealed))
    git(repo, "add", ".")
    git(repo, "commit", "--quiet", "--message", "Sources")
    ran = osm_gitops("rekey", "repo", "--rotate", "--age-recipient", recipient)
    assert ran.code == 0, ran.err
    assert len(ran.out.splitlines()) == len(git(repo, "diff", "--name-only").split()) == 6
    assert {line.partition(" ")[2] for line in ran.out.splitlines()} == {"(new data key)"}
    assert "keep their data keys. Make new ones with --include PATH: repo/pull.yaml" in ran.err
    ran = osm_gitops("rekey", "--include", "repo/pull.yaml", "--age-recipient", recipient)
    assert (ran.code, ran.out) == (0, "repo/pull.yaml (new data key)\n")
    git(repo, "commit", "--quiet", "--all", "--message", "New data keys")
    assert _apply("--age-recipient", recipient).out == "No changes.\n"


def test_rekey_names_files_whose_data_key_it_cannot_verify(repo: Path, recipient: str) -> None:
    assert _apply("--age-recipient", recipient).code == 0
    path = repo / "clusters/default/worker/secrets/a-kube-system-bootstrap-config.yaml"
    path.write_text(path.read_text().split("\n", 1)[1])
    ran = osm_gitops("rekey", "repo", "--age-recipient", recipient)
    assert (ran.code, ran.out) == (0, "")
    assert f"Run osm-gitops rekey --rotate: {path.relative_to(repo.parent)}" in ran.err
