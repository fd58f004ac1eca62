"""Signed commits, with the user's own git configuration, real keys, and git's own verdict on them."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from osm_gitops.errors import Code, TargetError
from osm_gitops.plan.guards import PlanOptions
from osm_gitops.targets.commits import GitPlace
from osm_gitops.targets.file_encryption import NO_ENCRYPTION
from osm_gitops.targets.git import git_session
from osm_gitops.targets.target import plan_for
from tests.faults import Expected, refused
from tests.git.repos import git, new_repository, pin_git
from tests.plan.objects import desired


@pytest.fixture(autouse=True)
def _pinned_git(monkeypatch: pytest.MonkeyPatch) -> None:
    pin_git(monkeypatch)
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    # Nobody is there to type a passphrase, not even where these tests are run by hand.
    monkeypatch.setenv("SSH_ASKPASS", "/bin/false")
    monkeypatch.setenv("SSH_ASKPASS_REQUIRE", "force")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return new_repository(tmp_path / "repo")


def _key(folder: Path, passphrase: str = "") -> Path:
    key = folder / "key"
    command = ("ssh-keygen", "-q", "-t", "ed25519", "-N", passphrase, "-C", "tester", "-f", str(key))
    subprocess.run(command, check=True, capture_output=True)
    return key


def _sign_with_ssh(repository: Path, key: Path) -> None:
    allowed = repository.parent / "allowed"
    allowed.write_text(f"tester@example.com {key.with_suffix('.pub').read_text()}")
    git(repository, "config", "gpg.format", "ssh")
    git(repository, "config", "user.signingKey", str(key))
    git(repository, "config", "gpg.ssh.allowedSignersFile", str(allowed))


def _place(repository: Path, *, sign: bool | None = None) -> GitPlace:
    return GitPlace(folder=repository / "clusters", plaintext_secrets=True, sign=sign)


def _apply(place: GitPlace, text: str = "x\n") -> str | None:
    with git_session(place, NO_ENCRYPTION) as session:
        wanted = desired({"a": text})
        commit = session.commit(plan_for(session, wanted, PlanOptions()))
        if session.is_published:
            session.publish()
        return commit


def _is_signed(repository: Path, commit: str) -> bool:
    return "\ngpgsig " in git(repository, "cat-file", "commit", commit)


def test_an_ssh_key_signs_what_git_then_verifies(repository: Path, tmp_path: Path) -> None:
    _sign_with_ssh(repository, _key(tmp_path))
    commit = _apply(_place(repository, sign=True))
    assert commit is not None
    said = subprocess.run(
        ["git", "verify-commit", commit], cwd=repository, check=True, capture_output=True, text=True
    ).stderr
    assert 'Good "git" signature for tester@example.com with ED25519 key' in said
    assert git(repository, "status", "--porcelain") == ""


def test_commits_on_a_branch_of_their_own_are_signed_too(repository: Path, tmp_path: Path) -> None:
    _sign_with_ssh(repository, _key(tmp_path))
    commit = _apply(replace(_place(repository, sign=True), own_branch="update"))
    assert commit == git(repository, "rev-parse", "update")
    git(repository, "verify-commit", "update")


def test_the_variables_of_the_docs_are_enough_to_sign(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = (Path(__file__).parents[2] / "docs" / "how-to" / "git.md").read_text("utf-8")
    variables = next(text for text in document.split("```yaml\n") if text.startswith("- {name: GIT_CONFIG_COUNT"))
    key = str(_key(tmp_path))
    for variable in yaml.safe_load(variables.split("```", 1)[0]):
        monkeypatch.setenv(variable["name"], variable["value"].replace("/git/signing", key))
    commit = _apply(_place(repository, sign=True))
    assert commit is not None
    assert _is_signed(repository, commit)


@pytest.mark.parametrize(
    ("configured", "asked", "signed"),
    [(True, None, True), (False, None, False), (True, False, False), (False, True, True)],
)
def test_what_is_asked_for_wins_over_the_configuration(
    repository: Path, tmp_path: Path, configured: bool, asked: bool | None, signed: bool
) -> None:
    _sign_with_ssh(repository, _key(tmp_path))
    git(repository, "config", "commit.gpgSign", str(configured).lower())
    commit = _apply(_place(repository, sign=asked))
    assert commit is not None
    assert _is_signed(repository, commit) is signed


@pytest.mark.parametrize("lacking", ["key file", "signing key", "program", "passphrase", "agent"])
def test_what_cannot_be_signed_is_not_committed(repository: Path, tmp_path: Path, lacking: str) -> None:
    key = _key(tmp_path, "hunter22" if lacking == "passphrase" else "")
    _sign_with_ssh(repository, key)
    first = _apply(_place(repository))
    if lacking == "key file":
        key.unlink()
        key.with_suffix(".pub").unlink()
    elif lacking == "signing key":
        git(repository, "config", "--unset", "user.signingKey")
    elif lacking == "program":
        git(repository, "config", "gpg.ssh.program", str(tmp_path / "none"))
    elif lacking == "agent":  # the public half alone: the private one would be in an agent
        key.unlink()
    before = git(repository, "for-each-ref")
    with refused(Expected(Code.GIT_COMMAND_FAILED, "user.signingkey", "--no-sign"), kind=TargetError):
        _apply(_place(repository, sign=True), "y\n")
    assert git(repository, "for-each-ref") == before
    assert git(repository, "rev-parse", "HEAD") == first
    assert git(repository, "status", "--porcelain") == ""
    assert _apply(_place(repository, sign=False), "y\n")


def test_a_format_that_git_does_not_know_is_told_as_such(repository: Path) -> None:
    git(repository, "config", "gpg.format", "pgp")
    with refused(Expected(Code.GIT_COMMAND_FAILED, "gpg.format", "pgp"), kind=TargetError):
        _apply(_place(repository, sign=True))


# -- GPG --


def test_logs_that_verify_signatures_do_not_hide_whose_commits_are(repository: Path, tmp_path: Path) -> None:
    _sign_with_ssh(repository, _key(tmp_path))
    git(repository, "config", "log.showSignature", "true")
    place = replace(_place(repository, sign=True), own_branch="osm-gitops/update")
    for text in ("x\n", "y\n"):
        with git_session(place, NO_ENCRYPTION) as session:
            session.catch_up()
            wanted = desired({"a": text})
            assert session.commit(plan_for(session, wanted, PlanOptions()))
            session.publish()
    assert git(repository, "rev-list", "--count", "main..osm-gitops/update") == "2"


@pytest.fixture
def gpg_home(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A keyring of its own. Its path is short, for the agent's socket lies in it."""
    home = Path(tempfile.mkdtemp(prefix="gpg-"))
    monkeypatch.setenv("GNUPGHOME", str(home))
    yield home
    subprocess.run(["gpgconf", "--kill", "all"], check=False, capture_output=True, env=os.environ.copy())
    shutil.rmtree(home, ignore_errors=True)


@pytest.mark.oracle
def test_a_gpg_key_signs_what_git_then_verifies(repository: Path, gpg_home: Path) -> None:
    assert gpg_home.is_dir()
    name = "A Tester <tester@example.com>"
    made = ("gpg", "--batch", "--quiet", "--passphrase", "", "--quick-generate-key", name, "ed25519", "sign", "never")
    subprocess.run(made, check=True, capture_output=True)
    git(repository, "config", "user.signingKey", "tester@example.com")
    commit = _apply(_place(repository, sign=True))
    assert commit is not None
    said = subprocess.run(
        ["git", "verify-commit", commit], cwd=repository, check=True, capture_output=True, text=True
    ).stderr
    assert f'Good signature from "{name}"' in said


@pytest.mark.oracle
def test_a_gpg_key_that_is_missing_leaves_everything_as_before(repository: Path, gpg_home: Path) -> None:
    assert gpg_home.is_dir()
    git(repository, "config", "user.signingKey", "nobody@example.com")
    before = git(repository, "rev-parse", "HEAD")
    with refused(Expected(Code.GIT_COMMAND_FAILED, "--no-sign"), kind=TargetError):
        _apply(_place(repository, sign=True))
    assert git(repository, "rev-parse", "HEAD") == before
    assert git(repository, "status", "--porcelain") == ""
