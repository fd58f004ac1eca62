"""Pushes that meet others, and refusals: against a real remote with hooks and a second writer."""

from __future__ import annotations

import multiprocessing
from dataclasses import replace
from pathlib import Path

import pytest

from osm_gitops.errors import Code, TargetError
from osm_gitops.git.address import TokenFile
from osm_gitops.git.remote import PushOutcome
from osm_gitops.model.desired import Desired
from osm_gitops.plan.guards import Limits, MaxDelete, PlanOptions
from osm_gitops.targets.commits import GitPlace
from osm_gitops.targets.file_encryption import NO_ENCRYPTION
from osm_gitops.targets.git import GitSession, git_session
from osm_gitops.targets.target import plan_for
from tests.faults import Expected, refused
from tests.git.repos import git, pin_git, write_hook
from tests.git.server import serving
from tests.plan.objects import desired

_OPTIONS = PlanOptions(limits=Limits(max_delete=MaxDelete(100, percent=True)))
_SECRET = "clusters/prod/worker/secrets/a-kube-system-bootstrap-config.yaml"


@pytest.fixture(autouse=True)
def _pinned_git(monkeypatch: pytest.MonkeyPatch) -> None:
    pin_git(monkeypatch)


@pytest.fixture
def human(tmp_path: Path, remote: Path) -> Path:
    git(tmp_path, "clone", "--quiet", str(remote), "human")
    return tmp_path / "human"


def _place(repository: Path, token: TokenFile | None = None) -> GitPlace:
    return GitPlace(folder=repository / "clusters", push=True, plaintext_secrets=True, token=token)


def _commit(session: GitSession, wanted: Desired) -> str | None:
    return session.commit(plan_for(session, wanted, _OPTIONS))


def _run(place: GitPlace, text: str = "x\n", cluster: str = "prod") -> PushOutcome:
    """A run as the fleet does it: as often as it takes."""
    wanted = replace(desired({"a": text}), cluster=cluster)
    with git_session(place, NO_ENCRYPTION) as session:
        session.catch_up()
        for _ in range(20):
            _commit(session, wanted)
            outcome = session.publish()
            if outcome is not PushOutcome.MOVED:
                return outcome
    raise AssertionError("it never got through")


def _push_by_hand(clone: Path, name: str = "theirs.txt", *options: str) -> str:
    (clone / name).write_text(f"{name}\n")
    git(clone, "add", ".")
    git(clone, "commit", "--quiet", "-m", f"add {name}")
    git(clone, "push", "--quiet", *options, "origin", "main")
    return git(clone, "rev-parse", "HEAD")


def _remote_hook(remote: Path, name: str, script: str) -> Path:
    hook = remote / "hooks" / name
    hook.write_text(f"#!/bin/sh\n{script}\n")
    hook.chmod(0o755)
    return hook


def _subjects(repository: Path, ref: str = "main") -> list[str]:
    return git(repository, "log", "--format=%s", ref).splitlines()


# -- others --


def test_many_runs_at_once_all_get_through_and_none_undoes_another(remote: Path, tmp_path: Path) -> None:
    clusters = ("one", "two", "three")
    for name in clusters:
        git(tmp_path, "clone", "--quiet", str(remote), name)
    fork = multiprocessing.get_context("fork")
    runs = [fork.Process(target=_run, args=(_place(tmp_path / name), "x\n", name)) for name in clusters]
    for run in runs:
        run.start()
    for run in runs:
        run.join()
    assert [run.exitcode for run in runs] == [0, 0, 0]
    assert sorted(_subjects(remote)) == sorted(
        ["start", *(f"osm-gitops: {name}: 3 created, 0 updated, 0 deleted" for name in clusters)]
    )
    assert set(clusters) <= set(git(remote, "ls-tree", "--name-only", "main:clusters").splitlines())
    git(remote, "fsck", "--strict")


def test_work_of_the_user_survives_a_race(repository: Path, human: Path, remote: Path) -> None:
    (repository / "README.md").write_text("being edited\n")
    with git_session(_place(repository), NO_ENCRYPTION) as session:
        _commit(session, desired({"a": "x\n"}))
        _push_by_hand(human)
        assert session.publish() is PushOutcome.MOVED
        _commit(session, desired({"a": "x\n"}))
        assert session.publish() is PushOutcome.PUSHED
    assert git(repository, "status", "--porcelain") == "M README.md".rjust(12)
    assert (repository / "README.md").read_text() == "being edited\n"
    assert _subjects(remote)[1:] == ["add theirs.txt", "start"]


def test_an_edit_in_a_file_that_the_other_changed_is_kept_and_the_run_refused(
    repository: Path, human: Path, remote: Path
) -> None:
    (repository / "README.md").write_text("being edited\n")
    _push_by_hand(human, "README.md")
    with refused(Expected(Code.GIT_COMMAND_FAILED, "README.md"), kind=TargetError):
        _run(_place(repository))
    assert (repository / "README.md").read_text() == "being edited\n"
    git(repository, "restore", "README.md")
    assert _run(_place(repository)) is PushOutcome.PUSHED
    assert _subjects(remote)[1:] == ["add README.md", "start"]


def test_the_same_files_changed_by_hand_are_planned_upon(repository: Path, human: Path, remote: Path) -> None:
    _run(_place(repository))
    git(human, "pull", "--quiet")
    with git_session(_place(repository), NO_ENCRYPTION) as session:
        _commit(session, desired({"a": "y\n"}))
        git(human, "rm", "--quiet", _SECRET)
        _push_by_hand(human)
        assert session.publish() is PushOutcome.MOVED
        assert not (repository / _SECRET).exists()
        _commit(session, desired({"a": "y\n"}))
        assert session.publish() is PushOutcome.PUSHED
    assert _subjects(remote)[1] == "add theirs.txt"
    assert git(remote, "cat-file", "-t", f"main:{_SECRET}") == "blob"


# -- a remote branch that is not what it was --


def test_a_rewritten_branch_is_not_undone_by_a_push(repository: Path, human: Path, remote: Path) -> None:
    dropped = _push_by_hand(human, "wrong.txt")
    _run(_place(repository))
    before = git(repository, "rev-parse", "HEAD")
    git(human, "reset", "--quiet", "--hard", "HEAD^")
    rewritten = _push_by_hand(human, "right.txt", "--force")
    for _ in range(2):  # the next run sees the same, until somebody has looked at it
        with refused(Expected(Code.REMOTE_BRANCH_REWRITTEN, "origin/main"), kind=TargetError) as caught:
            _run(_place(repository), "y\n")
        assert before[:12] in str(caught.value)
    assert git(remote, "rev-parse", "main") == rewritten
    assert git(repository, "rev-parse", "HEAD") == before
    assert git(repository, "status", "--porcelain") == ""
    git(repository, "fetch", "--quiet")
    git(repository, "reset", "--quiet", "--keep", "origin/main")
    assert _run(_place(repository), "y\n") is PushOutcome.PUSHED
    assert _subjects(remote)[1:] == ["add right.txt", "start"]
    assert dropped not in git(remote, "rev-list", "main").splitlines()


def test_a_branch_that_is_rewritten_during_a_run_is_not_undone_either(
    repository: Path, human: Path, remote: Path
) -> None:
    _push_by_hand(human, "wrong.txt")
    with git_session(_place(repository), NO_ENCRYPTION) as session:
        session.catch_up()
        _commit(session, desired({"a": "x\n"}))
        git(human, "reset", "--quiet", "--hard", "HEAD^")
        rewritten = _push_by_hand(human, "right.txt", "--force")
        with refused(Code.REMOTE_BRANCH_REWRITTEN, kind=TargetError):
            session.publish()
    assert git(remote, "rev-parse", "main") == rewritten


def test_a_rewrite_that_takes_only_commits_of_ours_is_planned_upon(repository: Path, human: Path, remote: Path) -> None:
    _run(_place(repository))
    rewritten = _push_by_hand(human, "right.txt", "--force")
    assert _run(_place(repository)) is PushOutcome.PUSHED
    assert git(remote, "rev-parse", "main^") == rewritten
    assert git(repository, "status", "--porcelain") == ""


def test_a_deleted_branch_is_not_brought_back(repository: Path, remote: Path) -> None:
    _run(_place(repository))
    git(remote, "update-ref", "-d", "refs/heads/main")
    for _ in range(2):
        with refused(Expected(Code.REMOTE_BRANCH_DELETED, "origin", "main"), kind=TargetError):
            _run(_place(repository), "y\n")
    assert git(remote, "for-each-ref") == ""


def test_a_branch_that_the_remote_does_not_have_yet_is_made(repository: Path, remote: Path) -> None:
    git(repository, "switch", "--quiet", "-c", "next")
    assert _run(_place(repository)) is PushOutcome.PUSHED
    assert git(remote, "rev-parse", "next") == git(repository, "rev-parse", "HEAD")


def test_a_new_branch_without_commits_of_ours_is_not_pushed_unasked(repository: Path, remote: Path) -> None:
    _run(_place(repository))
    git(repository, "switch", "--quiet", "-c", "private")
    git(repository, "commit", "--quiet", "--allow-empty", "-m", "mine")
    assert _run(_place(repository)) is PushOutcome.KEPT
    assert git(remote, "branch", "--format=%(refname:short)") == "main"


# -- refusals --


@pytest.mark.parametrize("hook", ["pre-receive", "update"])
def test_a_refused_commit_is_taken_back_with_the_words_of_the_remote(repository: Path, remote: Path, hook: str) -> None:
    before = git(repository, "rev-parse", "HEAD")
    (repository / "README.md").write_text("being edited\n")
    refusing = _remote_hook(remote, hook, "echo 'main takes pull requests only' >&2; exit 1")
    with refused(Expected(Code.PUSH_REFUSED, "origin", "main", "pull requests only", "--branch"), kind=TargetError):
        _run(_place(repository))
    assert git(repository, "rev-parse", "HEAD") == before
    assert git(repository, "status", "--porcelain").split() == ["M", "README.md"]
    refusing.unlink()
    assert _run(_place(repository)) is PushOutcome.PUSHED


def test_commits_of_the_user_stay_when_ours_is_taken_back(repository: Path, remote: Path) -> None:
    git(repository, "commit", "--quiet", "--allow-empty", "-m", "mine")
    before = git(repository, "rev-parse", "HEAD")
    _remote_hook(remote, "pre-receive", "exit 1")
    with refused(Code.PUSH_REFUSED, kind=TargetError):
        _run(_place(repository))
    assert git(repository, "rev-parse", "HEAD") == before


def test_a_hook_here_that_refuses_a_push_is_told_as_such(repository: Path, remote: Path) -> None:
    write_hook(repository, "pre-push", "echo 'run the checks first' >&2; exit 1")
    with refused(Expected(Code.GIT_COMMAND_FAILED, "pre-push", "run the checks first", "--push"), kind=TargetError):
        _run(_place(repository))
    assert _subjects(remote) == ["start"]


def test_a_remote_that_is_gone_keeps_the_commit_for_the_next_run(
    repository: Path, remote: Path, tmp_path: Path
) -> None:
    with git_session(_place(repository), NO_ENCRYPTION) as session:
        session.catch_up()
        commit = _commit(session, desired({"a": "x\n"}))
        remote.rename(tmp_path / "away")
        with refused(Expected(Code.GIT_COMMAND_FAILED, "main"), kind=TargetError):
            session.publish()
    (tmp_path / "away").rename(remote)
    assert _run(_place(repository)) is PushOutcome.PUSHED
    assert git(remote, "rev-parse", "main") == commit


def test_a_push_without_the_right_to_is_told(repository: Path, remote: Path, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("wr0ng\n")
    with serving(tmp_path, "right") as server:
        git(repository, "remote", "set-url", "--push", "origin", f"{server.address}/remote.git")
        with refused(Expected(Code.GIT_COMMAND_FAILED, "main"), kind=TargetError) as caught:
            _run(_place(repository, TokenFile(tmp_path / "token")))
        assert "wr0ng" not in str(caught.value)
        (tmp_path / "token").write_text("right\n")
        git(repository, "remote", "set-url", "origin", f"{server.address}/remote.git")
        assert _run(_place(repository, TokenFile(tmp_path / "token"))) is PushOutcome.PUSHED
    assert git(remote, "rev-parse", "main") == git(repository, "rev-parse", "HEAD")


def test_a_remote_that_is_not_there_is_told_with_the_command_that_adds_it(repository: Path) -> None:
    git(repository, "remote", "remove", "origin")
    with refused(Expected(Code.REMOTE_NOT_FOUND, "origin"), kind=TargetError):
        _run(_place(repository))


# -- in a clone for one run --


def test_a_submodule_that_cannot_be_fetched_is_no_obstacle(
    repository: Path, human: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_ALLOW_PROTOCOL", "file")
    git(tmp_path, "clone", "--quiet", "--bare", "first", "library.git")
    git(repository, "submodule", "add", "--quiet", str(tmp_path / "library.git"), "library")
    git(repository, "commit", "--quiet", "-m", "use a library")
    git(repository, "push", "--quiet", "origin", "main")
    git(human, "pull", "--quiet", "--recurse-submodules")
    git(human, "submodule", "update", "--init", "--quiet")
    git(human / "library", "commit", "--quiet", "--allow-empty", "-m", "newer")
    git(human / "library", "push", "--quiet", "origin", "HEAD:main")
    _push_by_hand(human)
    (tmp_path / "library.git").rename(tmp_path / "gone")
    assert _run(_place(repository)) is PushOutcome.PUSHED


def test_a_shallow_clone_pushes_onto_what_others_pushed_since(remote: Path, human: Path, tmp_path: Path) -> None:
    for number in range(3):
        _push_by_hand(human, f"{number}.txt")
    git(tmp_path, "clone", "--quiet", "--depth=1", f"file://{remote}", "shallow")
    shallow = tmp_path / "shallow"
    place = GitPlace(folder=shallow / "clusters", push=True, plaintext_secrets=True, cloned=True)
    with git_session(place, NO_ENCRYPTION) as session:
        session.catch_up()
        _commit(session, desired({"a": "x\n"}))
        _push_by_hand(human, "since.txt")
        assert session.publish() is PushOutcome.MOVED
        _commit(session, desired({"a": "x\n"}))
        assert session.publish() is PushOutcome.PUSHED
    assert _subjects(remote)[1:] == ["add since.txt", "add 2.txt", "add 1.txt", "add 0.txt", "start"]
    assert git(shallow, "rev-parse", "--is-shallow-repository") == "true"
    git(remote, "fsck", "--strict")
