"""A git work tree as a target: all of a commit or none, whatever happens in between."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from osm_gitops import __version__
from osm_gitops.errors import Code, TargetError
from osm_gitops.git.remote import PushOutcome
from osm_gitops.model.desired import Desired
from osm_gitops.plan.guards import Limits, MaxDelete, PlanOptions
from osm_gitops.targets.commits import GitPlace
from osm_gitops.targets.file_encryption import NO_ENCRYPTION
from osm_gitops.targets.files import no_step
from osm_gitops.targets.folder import FolderTarget, is_kept_by_git, refuse_plaintext
from osm_gitops.targets.git import GitSession, git_session
from osm_gitops.targets.target import plan_for
from tests.faults import Expected, refused
from tests.git.repos import git, new_repository, pin_git, write_hook
from tests.plan.objects import desired

_OPTIONS = PlanOptions(limits=Limits(max_delete=MaxDelete(100, percent=True)))
_SECRET = "clusters/prod/worker/secrets/a-kube-system-bootstrap-config.yaml"


@pytest.fixture(autouse=True)
def _pinned_git(monkeypatch: pytest.MonkeyPatch) -> None:
    pin_git(monkeypatch)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return new_repository(tmp_path / "repo")


def _place(repository: Path) -> GitPlace:
    return GitPlace(folder=repository / "clusters", plaintext_secrets=True)


def _commit(session: GitSession, wanted: Desired, step: Callable[[str], None] = no_step) -> str | None:
    plan = plan_for(session, wanted, _OPTIONS)
    return session.commit(plan, step=step)


def _apply(repository: Path, wanted: Desired) -> str | None:
    with git_session(_place(repository), NO_ENCRYPTION) as session:
        return _commit(session, wanted)


def _tree(repository: Path) -> str:
    return git(repository, "ls-tree", "-r", "HEAD")


def test_a_plan_becomes_one_commit_with_a_clean_work_tree(repository: Path) -> None:
    commit = _apply(repository, desired({"a": "x\n"}, sources=("machines@abc",)))
    assert commit == git(repository, "rev-parse", "HEAD")
    assert git(repository, "status", "--porcelain") == ""
    assert git(repository, "log", "-1", "--format=%B") == (
        "osm-gitops: prod: 3 created, 0 updated, 0 deleted\n\n- kube-system/a\n\n"
        f"Osm-Gitops-Source: machines@abc\nOsm-Gitops-Version: {__version__}\nOsm-Gitops-Cluster: prod"
    )
    assert git(repository, "log", "-1", "--format=%an <%ae>") == "A Tester <tester@example.com>"


def test_the_trailers_are_read_by_git(repository: Path) -> None:
    _apply(repository, desired({"a": "x\n"}))
    assert git(repository, "log", "-1", "--format=%(trailers:key=Osm-Gitops-Cluster,valueonly)").strip() == "prod"


def test_nothing_to_do_makes_no_commit(repository: Path) -> None:
    first = _apply(repository, desired({"a": "x\n"}))
    assert _apply(repository, desired({"a": "x\n"})) is None
    assert git(repository, "rev-parse", "HEAD") == first


def test_deleted_pools_go(repository: Path) -> None:
    _apply(repository, desired({"a": "x\n", "b": "x\n"}))
    _apply(repository, desired({"a": "x\n"}))
    assert "b-kube-system" not in _tree(repository)
    assert git(repository, "status", "--porcelain") == ""


def test_a_repository_without_commits_works(tmp_path: Path) -> None:
    repository = new_repository(tmp_path / "repo", with_commit=False)
    assert _apply(repository, desired({"a": "x\n"}))
    assert git(repository, "status", "--porcelain") == ""


def test_a_linked_work_tree_works(repository: Path, tmp_path: Path) -> None:
    git(repository, "worktree", "add", "--quiet", "-b", "other", str(tmp_path / "linked"))
    assert _apply(tmp_path / "linked", desired({"a": "x\n"}))
    assert git(tmp_path / "linked", "status", "--porcelain") == ""


def test_what_the_user_staged_elsewhere_is_not_committed_and_stays_staged(repository: Path) -> None:
    (repository / "staged.txt").write_text("mine\n")
    (repository / "README.md").write_text("edited\n")
    git(repository, "add", "staged.txt")
    _apply(repository, desired({"a": "x\n"}))
    assert "staged.txt" not in _tree(repository)
    assert git(repository, "status", "--porcelain").splitlines() == [" M README.md", "A  staged.txt"]


@pytest.mark.parametrize("how", ["edited", "staged", "untracked", "removed"])
def test_uncommitted_changes_in_the_owned_path_are_refused(repository: Path, how: str) -> None:
    _apply(repository, desired({"a": "x\n"}))
    file = repository / _SECRET
    if how == "untracked":
        file = file.with_name("new.yaml")
    if how == "removed":
        file.unlink()
    else:
        file.write_text("mine: 1\n")
    if how == "staged":
        git(repository, "add", str(file))
    with refused(Expected(Code.OWNED_FILES_EDITED, file.name), kind=TargetError):
        _apply(repository, desired({"a": "y\n"}))
    assert file.exists() is (how != "removed")


def test_an_edit_while_the_run_makes_its_files_is_kept_and_the_run_refused(repository: Path) -> None:
    _apply(repository, desired({"a": "x\n"}))

    def edit(step: str) -> None:
        if step == "prepared":
            (repository / _SECRET).write_text("mine: 1\n")

    with (
        git_session(_place(repository), NO_ENCRYPTION) as session,
        refused(Expected(Code.OWNED_FILES_EDITED, _SECRET), kind=TargetError),
    ):
        _commit(session, desired({"b": "y\n"}), edit)
    assert (repository / _SECRET).read_text() == "mine: 1\n"
    assert git(repository, "status", "--porcelain") == f" M {_SECRET}"


@pytest.mark.parametrize("how", ["sparse-checkout", "assume-unchanged"])
def test_files_that_git_does_not_look_at_are_refused_by_name(repository: Path, how: str) -> None:
    _apply(repository, desired({"a": "x\n"}))
    if how == "sparse-checkout":
        git(repository, "sparse-checkout", "set", "docs")
    else:
        git(repository, "update-index", "--assume-unchanged", _SECRET)
        (repository / _SECRET).write_text("mine: 1\n")
    before = git(repository, "rev-parse", "HEAD")
    with refused(Expected(Code.OWNED_FILES_HIDDEN, _SECRET), kind=TargetError):
        _apply(repository, desired({"a": "y\n"}))
    assert git(repository, "rev-parse", "HEAD") == before
    assert how == "sparse-checkout" or (repository / _SECRET).read_text() == "mine: 1\n"


@pytest.mark.parametrize("name", [":x", "[x]*", "new\nline", os.fsdecode(b"\xff")])
def test_a_folder_may_have_any_name(repository: Path, name: str) -> None:
    place = GitPlace(folder=repository / name, plaintext_secrets=True)
    for text in ("x\n", "y\n"):
        with git_session(place, NO_ENCRYPTION) as session:
            assert _commit(session, desired({"a": text}, sources=(name,)))
    assert git(repository, "status", "--porcelain") == ""


def test_attributes_that_change_bytes_are_refused_and_nothing_is_left(repository: Path) -> None:
    (repository / ".gitattributes").write_text("*.yaml filter=upper\n")
    git(repository, "add", ".gitattributes")
    git(repository, "commit", "--quiet", "-m", "attributes")
    git(repository, "config", "filter.upper.clean", "tr a-z A-Z")
    with refused(Code.COMMIT_ALTERED, kind=TargetError):
        _apply(repository, desired({"a": "x\n"}))
    assert git(repository, "status", "--porcelain") == ""
    assert not list((repository / "clusters").rglob("*.yaml"))


def test_line_endings_of_a_work_tree_are_no_change(repository: Path) -> None:
    git(repository, "config", "core.autocrlf", "true")
    _apply(repository, desired({"a": "x\n"}))
    git(repository, "rm", "--quiet", "-r", "--cached", "clusters")
    git(repository, "reset", "--quiet", "--hard")
    assert b"\r\n" in (repository / _SECRET).read_bytes()
    assert not plan_for(FolderTarget(repository / "clusters", NO_ENCRYPTION), desired({"a": "x\n"}), _OPTIONS).effective
    assert _apply(repository, desired({"a": "x\n"})) is None
    assert git(repository, "status", "--porcelain") == ""


def test_a_hook_that_refuses_leaves_everything_as_before(repository: Path) -> None:
    _apply(repository, desired({"a": "x\n"}))
    before = git(repository, "rev-parse", "HEAD"), (repository / _SECRET).read_bytes()
    write_hook(repository, "pre-commit", "echo 'not on fridays' >&2; exit 1")
    with refused(Expected(Code.GIT_COMMAND_FAILED, "not on fridays"), kind=TargetError):
        _apply(repository, desired({"a": "y\n", "b": "z\n"}))
    assert (git(repository, "rev-parse", "HEAD"), (repository / _SECRET).read_bytes()) == before
    assert git(repository, "status", "--porcelain") == ""


@pytest.mark.parametrize("first", [True, False])
def test_a_hook_that_changes_our_files_is_refused_and_all_is_as_before(tmp_path: Path, first: bool) -> None:
    repository = new_repository(tmp_path / "its", with_commit=not first)
    write_hook(repository, "pre-commit", f"echo '# formatted' >> {_SECRET}; git add {_SECRET}")
    with refused(Expected(Code.COMMIT_ALTERED, _SECRET), kind=TargetError):
        _apply(repository, desired({"a": "x\n"}))
    assert git(repository, "status", "--porcelain") == ""
    assert not (repository / _SECRET).exists()
    assert git(repository, "rev-list", "--all", "--count") == ("0" if first else "1")


def test_what_a_hook_prints_is_masked(repository: Path) -> None:
    write_hook(repository, "pre-commit", "echo 'leak found: getter-token-1' >&2; exit 1")
    with refused(Expected(Code.GIT_COMMAND_FAILED, "***"), kind=TargetError) as caught:
        _apply(repository, desired({"a": "x\n"}, sensitive=frozenset({"getter-token-1"})))
    assert "getter-token" not in str(caught.value)


def test_hooks_see_the_new_files_and_may_change_the_message(repository: Path) -> None:
    write_hook(repository, "pre-commit", f"grep -q a-kube-system {_SECRET} && git diff --cached --name-only > seen")
    write_hook(repository, "commit-msg", 'echo "Change-Id: I1" >> "$1"')
    _apply(repository, desired({"a": "x\n"}))
    assert _SECRET in (repository / "seen").read_text()
    assert "Change-Id: I1" in git(repository, "log", "-1", "--format=%B")


def test_a_commit_of_another_in_between_is_not_undone(repository: Path) -> None:
    write_hook(repository, "pre-commit", "[ -e .git/once ] || { touch .git/once; GIT_INDEX_FILE=.git/index "
               "git commit --quiet --allow-empty -m other; }")  # fmt: skip
    with refused(Code.GIT_COMMAND_FAILED, kind=TargetError):
        _apply(repository, desired({"a": "x\n"}))
    assert git(repository, "log", "-1", "--format=%s") == "other"
    assert git(repository, "status", "--porcelain") == ""
    assert _apply(repository, desired({"a": "x\n"}))


def test_signing_that_fails_leaves_everything_as_before(repository: Path) -> None:
    git(repository, "config", "commit.gpgsign", "true")
    git(repository, "config", "gpg.program", "/bin/false")
    with refused(Code.GIT_COMMAND_FAILED, kind=TargetError):
        _apply(repository, desired({"a": "x\n"}))
    assert git(repository, "status", "--porcelain") == ""


def test_a_detached_head_is_refused(repository: Path) -> None:
    git(repository, "checkout", "--quiet", "--detach")
    with refused(Code.WRONG_BRANCH, kind=TargetError):
        _apply(repository, desired({"a": "x\n"}))


def test_another_branch_than_asked_for_is_refused(repository: Path) -> None:
    place = GitPlace(folder=repository / "clusters", branch="release", plaintext_secrets=True)
    with refused(Expected(Code.WRONG_BRANCH, "main", "release"), kind=TargetError), git_session(place, NO_ENCRYPTION):
        pass


def test_an_unfinished_merge_is_refused(repository: Path) -> None:
    (repository / ".git" / "MERGE_HEAD").write_text(git(repository, "rev-parse", "HEAD"))
    with refused(Expected(Code.GIT_OPERATION_UNFINISHED, "MERGE_HEAD"), kind=TargetError):
        _apply(repository, desired({"a": "x\n"}))


def test_of_two_runs_at_once_the_second_is_told_of_the_first(repository: Path) -> None:
    ours = Expected(Code.ANOTHER_RUN, f"process {os.getpid()} ")
    with git_session(_place(repository), NO_ENCRYPTION), refused(ours, kind=TargetError):
        _apply(repository, desired({"a": "x\n"}))
    assert _apply(repository, desired({"a": "x\n"}))


def test_the_lock_of_a_run_that_was_killed_is_free(repository: Path) -> None:
    def hold() -> None:
        with git_session(_place(repository), NO_ENCRYPTION):
            os._exit(9)

    process = multiprocessing.get_context("fork").Process(target=hold)
    process.start()
    process.join()
    assert _apply(repository, desired({"a": "x\n"}))


def test_an_environment_of_a_hook_does_not_lead_astray(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_DIR", "/nonexistent")
    monkeypatch.setenv("GIT_INDEX_FILE", "/nonexistent/index")
    commit = _apply(repository, desired({"a": "x\n"}))
    monkeypatch.undo()
    assert commit is not None
    assert git(repository, "rev-parse", "HEAD") == commit


def test_an_environment_that_leads_objects_elsewhere_is_refused(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_OBJECT_DIRECTORY", str(tmp_path / "objects"))
    with refused(Expected(Code.GIT_ENVIRONMENT, "GIT_OBJECT_DIRECTORY"), kind=TargetError):
        _apply(repository, desired({"a": "x\n"}))
    assert not (repository / "clusters").exists()


def test_a_folder_that_is_a_link_is_refused(repository: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (repository / "clusters").symlink_to(tmp_path / "elsewhere")
    with refused(Code.TARGET_SYMLINK, kind=TargetError):
        _apply(repository, desired({"a": "x\n"}))


def test_secrets_in_plain_text_are_refused_in_a_work_tree_only(repository: Path, tmp_path: Path) -> None:
    clusters = ["prod"]
    with refused(Code.PLAIN_SECRETS_IN_GIT, kind=TargetError):
        refuse_plaintext(repository / "new" / "folder", clusters, NO_ENCRYPTION)
    refuse_plaintext(tmp_path / "outside", clusters, NO_ENCRYPTION)
    (repository / ".gitignore").write_text("/out/\n")
    places = (repository / "out", repository / "other", tmp_path / "outside")
    assert [is_kept_by_git(folder, clusters) for folder in places] == [False, True, False]


@pytest.mark.parametrize("ignored", ["secrets/", "/out/stage/", "operatingsystemconfigs/"])
def test_git_keeps_a_folder_of_which_it_ignores_some_secrets_only(repository: Path, ignored: str) -> None:
    (repository / ".gitignore").write_text(f"{ignored}\n")
    assert is_kept_by_git(repository / "out", ["stage", "prod"])


# -- killed at any step --


def _killed_at(repository: Path, wanted: Desired, number: int) -> None:
    seen = 0

    def step(_name: str) -> None:
        nonlocal seen
        seen += 1
        if seen == number:
            os._exit(9)

    with git_session(_place(repository), NO_ENCRYPTION) as session:
        _commit(session, wanted, step)


@pytest.mark.parametrize("number", range(1, 15))
def test_a_run_that_is_killed_leaves_before_or_after_and_the_next_one_finishes(repository: Path, number: int) -> None:
    _apply(repository, desired({"a": "x\n", "b": "x\n"}))
    before, wanted = git(repository, "rev-parse", "HEAD"), desired({"a": "y\n", "c": "z\n"})
    process = multiprocessing.get_context("fork").Process(target=_killed_at, args=(repository, wanted, number))
    process.start()
    process.join()
    assert process.exitcode == 9
    after_kill = git(repository, "rev-parse", "HEAD")
    committed = after_kill != before
    assert bool(_apply(repository, wanted)) is not committed
    assert git(repository, "status", "--porcelain") == ""
    assert git(repository, "rev-list", "--count", f"{before}..HEAD") == "1"
    assert not plan_for(FolderTarget(repository / "clusters", NO_ENCRYPTION), wanted, _OPTIONS).has_changes
    assert not list(repository.rglob("*.tmp"))


def test_an_edit_after_a_kill_is_never_lost(repository: Path) -> None:
    _apply(repository, desired({"a": "x\n"}))
    process = multiprocessing.get_context("fork").Process(
        target=_killed_at, args=(repository, desired({"a": "y\n"}), 2)
    )
    process.start()
    process.join()
    (repository / _SECRET).write_text("precious: edit\n")
    with refused(Code.OWNED_FILES_EDITED, kind=TargetError):
        _apply(repository, desired({"a": "y\n"}))
    assert (repository / _SECRET).read_text() == "precious: edit\n"


# -- with a remote --


@pytest.fixture
def remote(tmp_path: Path, repository: Path) -> Path:
    bare = tmp_path / "remote.git"
    git(tmp_path, "clone", "--quiet", "--bare", str(repository), str(bare))
    git(repository, "remote", "add", "origin", str(bare))
    git(repository, "fetch", "--quiet")
    return bare


def _other_clone(tmp_path: Path, remote: Path) -> Path:
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "--quiet", str(remote), str(clone))
    return clone


def _foreign_commit(clone: Path, name: str = "other.txt") -> None:
    (clone / name).write_text("other\n")
    git(clone, "add", ".")
    git(clone, "commit", "--quiet", "-m", "other")


def test_a_commit_is_pushed(repository: Path, remote: Path) -> None:
    with git_session(_place(repository), NO_ENCRYPTION) as session:
        commit = _commit(session, desired({"a": "x\n"}))
        assert session.publish() is PushOutcome.PUSHED
    assert git(remote, "rev-parse", "main") == commit


def test_a_push_that_lost_the_race_plans_again_on_the_others_commit(
    repository: Path, remote: Path, tmp_path: Path
) -> None:
    clone = _other_clone(tmp_path, remote)
    with git_session(_place(repository), NO_ENCRYPTION) as session:
        _commit(session, desired({"a": "x\n"}))
        _foreign_commit(clone)
        git(clone, "push", "--quiet")
        assert session.publish() is PushOutcome.MOVED
        assert git(repository, "status", "--porcelain") == ""
        assert (repository / "other.txt").exists()
        assert not (repository / _SECRET).exists()
        _commit(session, desired({"a": "x\n"}))
        assert session.publish() is PushOutcome.PUSHED
    assert git(remote, "log", "--format=%s", "main").splitlines()[1:] == ["other", "start"]


def test_two_runs_that_race_with_the_same_result_end_in_one_commit(
    repository: Path, remote: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clone = _other_clone(tmp_path, remote)
    with git_session(_place(repository), NO_ENCRYPTION) as one, git_session(_place(clone), NO_ENCRYPTION) as two:
        _commit(one, desired({"a": "x\n"}))
        monkeypatch.setenv("GIT_COMMITTER_NAME", "Another")  # else both could be one and the same commit
        _commit(two, desired({"a": "x\n"}))
        assert one.publish() is PushOutcome.PUSHED
        assert two.publish() is PushOutcome.MOVED
        assert _commit(two, desired({"a": "x\n"})) is None
        assert two.publish() is PushOutcome.KEPT
    assert git(clone, "rev-parse", "HEAD") == git(remote, "rev-parse", "main")


def test_a_run_killed_before_its_push_is_pushed_by_the_next(repository: Path, remote: Path) -> None:
    commit = _apply(repository, desired({"a": "x\n"}))
    with git_session(_place(repository), NO_ENCRYPTION) as session:
        session.catch_up()
        assert _commit(session, desired({"a": "x\n"})) is None
        assert session.publish() is PushOutcome.PUSHED
    assert git(remote, "rev-parse", "main") == commit


def test_commits_of_the_user_are_not_pushed_unasked(repository: Path, remote: Path) -> None:
    before = git(remote, "rev-parse", "main")
    _foreign_commit(repository)
    with git_session(_place(repository), NO_ENCRYPTION) as session:
        assert session.publish() is PushOutcome.KEPT
    assert git(remote, "rev-parse", "main") == before


def test_a_branch_that_diverged_by_others_is_refused(repository: Path, remote: Path, tmp_path: Path) -> None:
    clone = _other_clone(tmp_path, remote)
    _foreign_commit(clone)
    git(clone, "push", "--quiet")
    _foreign_commit(repository, "local.txt")
    with git_session(_place(repository), NO_ENCRYPTION) as session, refused(Code.BRANCHES_DIVERGED, kind=TargetError):
        session.catch_up()


def test_catching_up_moves_the_branch_forward(repository: Path, remote: Path, tmp_path: Path) -> None:
    clone = _other_clone(tmp_path, remote)
    _foreign_commit(clone)
    git(clone, "push", "--quiet")
    with git_session(_place(repository), NO_ENCRYPTION) as session:
        session.catch_up()
    assert git(repository, "rev-parse", "HEAD") == git(clone, "rev-parse", "HEAD")


def test_a_hook_of_the_remote_that_refuses_is_told(repository: Path, remote: Path) -> None:
    hook = remote / "hooks" / "pre-receive"
    hook.write_text("#!/bin/sh\necho 'protected branch' >&2\nexit 1\n")
    hook.chmod(0o755)
    with git_session(_place(repository), NO_ENCRYPTION) as session:
        _commit(session, desired({"a": "x\n"}))
        with refused(Expected(Code.PUSH_REFUSED, "protected branch"), kind=TargetError):
            session.publish()


def test_credentials_in_an_address_are_not_told(repository: Path) -> None:
    git(repository, "remote", "add", "origin", "https://user:top-secret@localhost:1/repo.git")
    with git_session(_place(repository), NO_ENCRYPTION) as session, pytest.raises(TargetError) as caught:
        session.catch_up()
    assert "top-secret" not in str(caught.value)


@pytest.mark.parametrize("name", ["--upload-pack=touch /tmp/x", "ext::sh", "-o", "a..b"])
def test_a_remote_that_is_no_name_is_refused(repository: Path, name: str) -> None:
    place = GitPlace(folder=repository / "clusters", remote=name, plaintext_secrets=True)
    with git_session(place, NO_ENCRYPTION) as session, pytest.raises(TargetError):
        session.catch_up()
