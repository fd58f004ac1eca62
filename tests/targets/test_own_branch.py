"""``--branch``: commits on a branch of our own, for a pull request, and on no other."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest

from osm_gitops.errors import Code, TargetError
from osm_gitops.git.remote import PushOutcome
from osm_gitops.model.desired import Desired
from osm_gitops.plan.guards import Limits, MaxDelete, PlanOptions
from osm_gitops.targets.commits import GitPlace
from osm_gitops.targets.file_encryption import NO_ENCRYPTION
from osm_gitops.targets.git import HeldTrees, git_session
from osm_gitops.targets.target import plan_for
from tests.faults import Expected, refused
from tests.git.repos import git, new_repository, pin_git, write_hook
from tests.plan.objects import desired

_OPTIONS = PlanOptions(limits=Limits(max_delete=MaxDelete(100, percent=True)))
_BRANCH = "osm-gitops/update"
_SECRET = "clusters/prod/worker/secrets/a-kube-system-bootstrap-config.yaml"


@pytest.fixture(autouse=True)
def _pinned_git(monkeypatch: pytest.MonkeyPatch) -> None:
    pin_git(monkeypatch)


def _place(repository: Path, *, push: bool = True, cloned: bool = False, branch: str = _BRANCH) -> GitPlace:
    return GitPlace(folder=repository / "clusters", own_branch=branch, push=push, cloned=cloned, plaintext_secrets=True)


def _apply(place: GitPlace, wanted: Desired) -> tuple[PushOutcome, str]:
    with git_session(place, NO_ENCRYPTION) as session:
        session.catch_up()
        session.commit(plan_for(session, wanted, _OPTIONS))
        return session.publish(), session.remark


def _run(repository: Path, wanted: Desired, *, push: bool = True) -> PushOutcome:
    return _apply(_place(repository, push=push), wanted)[0]


def _clone(tmp_path: Path, remote: Path, name: str, *options: str) -> Path:
    git(tmp_path, "clone", "--quiet", *options, f"file://{remote}", name)
    return tmp_path / name


def _push_to(clone: Path, branch: str, name: str = "theirs.txt", text: str = "theirs\n") -> str:
    (clone / name).parent.mkdir(parents=True, exist_ok=True)
    (clone / name).write_text(text)
    git(clone, "add", ".")
    git(clone, "commit", "--quiet", "-m", "theirs")
    git(clone, "push", "--quiet", "origin", f"HEAD:{branch}")
    return git(clone, "rev-parse", "HEAD")


def _shown(remote: Path, path: str = _SECRET) -> str:
    return git(remote, "show", f"{_BRANCH}:{path}")


def test_commits_go_to_the_branch_and_the_work_tree_stays_as_it_is(repository: Path, remote: Path) -> None:
    (repository / "README.md").write_text("being edited\n")
    (repository / "clusters" / "prod").mkdir(parents=True)
    (repository / "clusters" / "prod" / "note.txt").write_text("not committed\n")
    before = git(repository, "rev-parse", "HEAD"), git(repository, "status", "--porcelain", "--untracked-files=all")
    assert _run(repository, desired({"a": "x\n"})) is PushOutcome.PUSHED
    after = git(repository, "rev-parse", "HEAD"), git(repository, "status", "--porcelain", "--untracked-files=all")
    assert after == before
    assert git(repository, "branch", "--show-current") == "main"
    assert git(remote, "log", "--format=%s", _BRANCH).splitlines()[1:] == ["start"]
    assert git(remote, "log", "-1", "--format=%(trailers:key=Osm-Gitops-Branch,valueonly)", _BRANCH).strip() == _BRANCH
    assert git(remote, "log", "--format=%s", "main") == "start"
    assert "work-tree" not in git(repository, "worktree", "list")


def test_nothing_to_do_makes_no_branch(repository: Path, remote: Path) -> None:
    git(repository, "switch", "--quiet", "-c", "done")
    place = GitPlace(folder=repository / "clusters", plaintext_secrets=True)
    with git_session(place, NO_ENCRYPTION) as session:
        session.commit(plan_for(session, desired({"a": "x\n"}), _OPTIONS))
    git(repository, "push", "--quiet", "origin", "done")
    assert _run(repository, desired({"a": "x\n"})) is PushOutcome.KEPT
    assert git(remote, "branch", "--format=%(refname:short)").splitlines() == ["done", "main"]


def test_what_the_branch_proposes_already_is_not_proposed_anew(repository: Path, remote: Path) -> None:
    _run(repository, desired({"a": "x\n"}))
    before = git(remote, "rev-parse", _BRANCH)
    assert _apply(_place(repository), desired({"a": "x\n"})) == (PushOutcome.KEPT, "")
    assert git(remote, "rev-parse", _BRANCH) == before


def test_a_later_run_adds_to_the_branch(repository: Path, remote: Path, tmp_path: Path) -> None:
    _run(repository, desired({"a": "x\n"}))
    before = git(remote, "rev-parse", _BRANCH)
    _push_to(_clone(tmp_path, remote, "human"), "main")
    assert _run(repository, desired({"a": "y\n"})) is PushOutcome.PUSHED
    assert git(remote, "rev-parse", f"{_BRANCH}^") == before


def test_a_branch_whose_ground_has_changed_is_made_anew(repository: Path, remote: Path, tmp_path: Path) -> None:
    _run(repository, desired({"a": "x\n"}))
    moved = _push_to(_clone(tmp_path, remote, "human"), "main", "clusters/other.txt")
    git(repository, "pull", "--quiet")
    assert _run(repository, desired({"a": "x\n"})) is PushOutcome.PUSHED
    assert git(remote, "rev-parse", f"{_BRANCH}^") == moved


def test_after_a_squashed_merge_the_branch_is_left_and_said_to_be_done_with(
    repository: Path, remote: Path, tmp_path: Path
) -> None:
    _run(repository, desired({"a": "x\n"}))
    before = git(remote, "rev-parse", _BRANCH)
    forge = _clone(tmp_path, remote, "forge")
    git(forge, "merge", "--quiet", "--squash", f"origin/{_BRANCH}")
    _push_to(forge, "main", "README.md", "merged\n")
    git(repository, "pull", "--quiet")
    outcome, remark = _apply(_place(repository), desired({"a": "x\n"}))
    assert (outcome, git(remote, "rev-parse", _BRANCH)) == (PushOutcome.KEPT, before)
    assert remark == f"main has what origin/{_BRANCH} proposed: that branch can be deleted"
    assert _run(repository, desired({"a": "y\n"})) is PushOutcome.PUSHED
    assert git(remote, "rev-parse", f"{_BRANCH}^") == git(remote, "rev-parse", "main")


def test_after_a_merge_the_branch_goes_on_from_there(repository: Path, remote: Path, tmp_path: Path) -> None:
    _run(repository, desired({"a": "x\n"}))
    forge = _clone(tmp_path, remote, "forge")
    git(forge, "merge", "--quiet", "--no-ff", "-m", "merged", f"origin/{_BRANCH}")
    git(forge, "push", "--quiet")
    git(repository, "pull", "--quiet")
    assert _apply(_place(repository), desired({"a": "x\n"})) == (PushOutcome.KEPT, "")
    assert _run(repository, desired({"a": "y\n"})) is PushOutcome.PUSHED
    assert git(remote, "rev-parse", f"{_BRANCH}^") == git(remote, "rev-parse", "main")


def test_a_branch_with_commits_of_others_is_never_touched(repository: Path, remote: Path, tmp_path: Path) -> None:
    _run(repository, desired({"a": "x\n"}))
    human = _clone(tmp_path, remote, "human", "--branch", _BRANCH)
    theirs = _push_to(human, _BRANCH)
    for wanted in ("x\n", "y\n"):
        with refused(Expected(Code.BRANCH_OF_OTHERS, theirs[:12]), kind=TargetError):
            _run(repository, desired({"a": wanted}))
    # Nor where ours lie on top of theirs.
    git(human, "commit", "--quiet", "--allow-empty", "-m", f"ours\n\nOsm-Gitops-Branch: {_BRANCH}")
    git(human, "push", "--quiet")
    with refused(Expected(Code.BRANCH_OF_OTHERS, theirs[:12]), kind=TargetError):
        _run(repository, desired({"a": "y\n"}))
    assert git(remote, "rev-parse", _BRANCH) == git(human, "rev-parse", "HEAD")


@pytest.mark.parametrize("older", [True, False])
def test_an_existing_branch_that_was_not_made_for_this_is_never_touched(
    repository: Path, remote: Path, tmp_path: Path, older: bool
) -> None:
    release = git(remote, "rev-parse", "main")
    git(remote, "branch", "release", "main")
    _push_to(_clone(tmp_path, remote, "human"), "main" if older else "release")
    git(repository, "pull", "--quiet")
    place = _place(repository, branch="release")
    with refused(Expected(Code.BRANCH_OF_OTHERS, "origin/release"), kind=TargetError):
        _apply(place, desired({"a": "x\n"}))
    assert (git(remote, "rev-parse", "release") == release) is older


def test_another_run_that_is_faster_is_built_upon(repository: Path, remote: Path, tmp_path: Path) -> None:
    other = _clone(tmp_path, remote, "other")
    with git_session(_place(repository), NO_ENCRYPTION) as one:
        one.catch_up()
        wanted = desired({"a": "x\n"})
        one.commit(plan_for(one, wanted, _OPTIONS))
        _run(other, desired({"a": "y\n"}))
        assert one.publish() is PushOutcome.MOVED
        assert "y" in _shown(remote)
        one.commit(plan_for(one, wanted, _OPTIONS))
        assert one.publish() is PushOutcome.PUSHED
    assert git(remote, "rev-list", "--count", f"main..{_BRANCH}") == "2"


def test_a_push_of_somebody_in_between_is_not_overwritten(repository: Path, remote: Path, tmp_path: Path) -> None:
    human = _clone(tmp_path, remote, "human")
    with git_session(_place(repository), NO_ENCRYPTION) as session:
        session.catch_up()
        wanted = desired({"a": "x\n"})
        session.commit(plan_for(session, wanted, _OPTIONS))
        theirs = _push_to(human, _BRANCH)
        with refused(Code.BRANCH_OF_OTHERS, kind=TargetError):
            session.publish()
    assert git(remote, "rev-parse", _BRANCH) == theirs


def test_a_branch_that_was_deleted_is_made_anew(repository: Path, remote: Path) -> None:
    _run(repository, desired({"a": "x\n"}))
    git(remote, "branch", "--quiet", "-D", _BRANCH)
    assert _run(repository, desired({"a": "x\n"})) is PushOutcome.PUSHED
    assert git(remote, "rev-list", "--count", f"main..{_BRANCH}") == "1"


def test_commits_of_the_user_are_not_pushed_with_it(repository: Path, remote: Path) -> None:
    git(repository, "commit", "--quiet", "--allow-empty", "-m", "not pushed")
    with refused(Expected(Code.BASE_NOT_PUSHED, "main", "origin/main"), kind=TargetError):
        _run(repository, desired({"a": "x\n"}))
    assert git(remote, "branch", "--format=%(refname:short)") == "main"


@pytest.mark.parametrize("how", ["pre-receive", "pre-commit", "commit-msg"])
def test_a_hook_that_refuses_leaves_everything_as_before(repository: Path, remote: Path, how: str) -> None:
    _run(repository, desired({"a": "x\n"}))
    before = git(remote, "for-each-ref"), git(repository, "for-each-ref")
    script = "echo 'not on fridays' >&2; exit 1"
    if how == "pre-receive":
        (remote / "hooks" / how).write_text(f"#!/bin/sh\n{script}\n")
        (remote / "hooks" / how).chmod(0o755)
    else:
        write_hook(repository, how, script)
    code = Code.PUSH_REFUSED if how == "pre-receive" else Code.GIT_COMMAND_FAILED
    with refused(Expected(code, "not on fridays"), kind=TargetError):
        _run(repository, desired({"a": "y\n"}))
    assert (git(remote, "for-each-ref"), git(repository, "for-each-ref")) == before
    assert git(repository, "status", "--porcelain") == ""


# -- in a clone that is one commit deep --


def test_a_shallow_clone_finds_out_whose_the_branch_is(repository: Path, remote: Path, tmp_path: Path) -> None:
    _run(repository, desired({"a": "x\n"}))
    human = _clone(tmp_path, remote, "human")
    for number in range(3):
        _push_to(human, "main", f"{number}.txt")
    one = _clone(tmp_path, remote, "one", "--depth=1")
    assert _apply(_place(one, cloned=True), desired({"a": "x\n"})) == (PushOutcome.KEPT, "")
    assert _apply(_place(one, cloned=True), desired({"a": "y\n"}))[0] is PushOutcome.PUSHED
    assert git(remote, "rev-list", "--count", f"main..{_BRANCH}") == "2"
    theirs = _push_to(_clone(tmp_path, remote, "other", "--branch", _BRANCH), _BRANCH)
    two = _clone(tmp_path, remote, "two", "--depth=1")
    with refused(Expected(Code.BRANCH_OF_OTHERS, theirs[:12]), kind=TargetError):
        _apply(_place(two, cloned=True), desired({"a": "z\n"}))


# -- without a remote --


def test_without_push_the_branch_is_made_here(repository: Path, remote: Path) -> None:
    outcome, remark = _apply(_place(repository, push=False), desired({"a": "x\n"}))
    assert (outcome, remark) == (PushOutcome.KEPT, f"the commits are on branch {_BRANCH}; main is unchanged")
    assert _apply(_place(repository, push=False), desired({"a": "x\n"})) == (PushOutcome.KEPT, "")
    _run(repository, desired({"a": "y\n"}), push=False)
    assert git(repository, "rev-list", "--count", f"main..{_BRANCH}") == "2"
    assert git(remote, "branch", "--format=%(refname:short)") == "main"
    assert git(repository, "status", "--porcelain") == ""


def test_a_branch_that_is_checked_out_somewhere_is_not_moved_under_its_feet(repository: Path, tmp_path: Path) -> None:
    _run(repository, desired({"a": "x\n"}), push=False)
    git(repository, "worktree", "add", "--quiet", str(tmp_path / "linked"), _BRANCH)
    with refused(Expected(Code.BRANCH_CHECKED_OUT, _BRANCH), kind=TargetError):
        _run(repository, desired({"a": "y\n"}), push=False)


def test_a_local_branch_of_somebody_is_never_touched(repository: Path) -> None:
    git(repository, "branch", _BRANCH)
    with refused(Code.BRANCH_OF_OTHERS, kind=TargetError):
        _run(repository, desired({"a": "x\n"}), push=False)


@pytest.mark.parametrize("name", ["--force", "a..b", "a b", "x.lock", "@{-1}", "a:b", "refs/heads/", "/a", "a//b"])
def test_a_name_that_is_none_is_refused(repository: Path, name: str) -> None:
    with refused(Code.GIT_NAME, kind=TargetError):
        _apply(_place(repository, branch=name), desired({"a": "x\n"}))


@pytest.mark.parametrize("name", ["fix/#12", "größe", "a=b,c"])
def test_a_name_that_git_takes_is_taken(repository: Path, remote: Path, name: str) -> None:
    for text in ("x\n", "y\n"):
        assert _apply(_place(repository, branch=name), desired({"a": text}))[0] is PushOutcome.PUSHED
    assert git(remote, "rev-list", "--count", f"main..{name}") == "2"


def test_a_repository_without_a_commit_is_told_to_make_one(tmp_path: Path) -> None:
    repository = new_repository(tmp_path / "empty", with_commit=False)
    with refused(Code.NO_COMMIT_YET, kind=TargetError):
        _run(repository, desired({"a": "x\n"}), push=False)


def test_two_folders_of_one_repository_do_not_share_a_branch(repository: Path) -> None:
    for first, second in ((_BRANCH, _BRANCH), (_BRANCH, ""), ("", _BRANCH)):
        held = HeldTrees()
        with (
            git_session(_place(repository, branch=first), NO_ENCRYPTION, held),
            refused(Code.BRANCH_FOR_SEVERAL, kind=TargetError),
            git_session(_place(repository, branch=second), NO_ENCRYPTION, held),
        ):
            pass


def test_several_branches_of_a_run_share_a_work_tree_and_keep_their_commits_apart(
    repository: Path, remote: Path
) -> None:
    held = HeldTrees()
    names = ["osm-gitops/a", "osm-gitops/b", "osm-gitops/c"]
    with ExitStack() as opened:
        sessions = [
            opened.enter_context(git_session(_place(repository, branch=name), NO_ENCRYPTION, held)) for name in names
        ]
        plans = []
        for number, session in enumerate(sessions):
            session.catch_up()
            plans.append(plan_for(session, desired({f"pool-{number}": "x\n"}), _OPTIONS))
        for session, plan in zip(sessions, plans, strict=True):
            session.resume()
            session.commit(plan)
            assert session.publish() is PushOutcome.PUSHED
        assert git(repository, "worktree", "list").count("\n") == 1
    for number, name in enumerate(names):
        files = git(remote, "diff", "--name-only", "main", name)
        assert [f"pool-{other}" in files for other in range(3)] == [other == number for other in range(3)]
        assert git(remote, "rev-list", "--count", f"main..{name}") == "1"
    assert git(repository, "worktree", "list").count("\n") == 0


def test_what_a_killed_run_left_is_no_obstacle(repository: Path, tmp_path: Path) -> None:
    # A linked work tree has a .git of its own inside of the other's.
    linked = tmp_path / "linked"
    git(repository, "worktree", "add", "--quiet", "-b", "other", str(linked))
    git(repository, "push", "--quiet", "origin", "other")
    for place in (repository, linked):
        own = Path(git(place, "rev-parse", "--absolute-git-dir")) / "osm-gitops"
        own.mkdir(exist_ok=True)
        git(place, "worktree", "add", "--quiet", "--detach", str(own / "work-tree"))
        (own / "work-tree" / "half-written").write_text("x\n")
        assert _run(place, desired({"a": f"{place.name}\n"})) is PushOutcome.PUSHED
        git(repository, "push", "--quiet", "origin", "--delete", _BRANCH)
    assert len(git(repository, "worktree", "list").splitlines()) == 2
