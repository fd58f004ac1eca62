"""kill -9 at every step of fetching, committing and pushing: the next run heals, and nothing of the user's is lost.

The steps are those that git tells its hooks of. The whole process group is killed, git included.
"""

from __future__ import annotations

import multiprocessing
import os
import re
import resource
import shutil
import signal
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest

from osm_gitops.errors import TargetError
from osm_gitops.plan.guards import PlanOptions
from osm_gitops.targets.commits import GitPlace
from osm_gitops.targets.file_encryption import NO_ENCRYPTION
from osm_gitops.targets.folder import FolderTarget
from osm_gitops.targets.git import git_session
from osm_gitops.targets.target import plan_for
from tests.git.repos import git, new_repository, pin_git, write_hook
from tests.plan.objects import desired

_WANTED = desired({"a": "y\n", "c": "z\n"})
_HOOKS = ("reference-transaction", "post-index-change", "pre-commit", "commit-msg", "post-commit", "pre-push")
# Hooks see of the environment what is for git alone.
_KILLER = """\
[ -n "$GIT_TEST_KILL_AT" ] || exit 0
echo "$(basename "$0") $1" >> "$GIT_TEST_EVENTS"
[ "$(wc -l < "$GIT_TEST_EVENTS")" -ne "$GIT_TEST_KILL_AT" ] || kill -9 "-$GIT_TEST_KILL_GROUP"
"""


@pytest.fixture(autouse=True)
def _pinned_git(monkeypatch: pytest.MonkeyPatch) -> None:
    pin_git(monkeypatch)


@pytest.fixture
def scene(tmp_path: Path) -> Path:
    """A remote, and a clone behind it with a commit of ours that was never pushed, and with work of a user's in it."""
    scene = tmp_path / "scene"
    new_repository(scene / "first")
    git(scene, "clone", "--quiet", "--bare", "first", "remote.git")
    for name in ("repo", "human"):
        git(scene, "clone", "--quiet", "remote.git", name)
        git(scene / name, "remote", "set-url", "origin", "../remote.git")
    repository, human = scene / "repo", scene / "human"
    with git_session(_place(repository), NO_ENCRYPTION) as session:
        wanted = desired({"a": "x\n", "b": "x\n"})
        session.commit(plan_for(session, wanted, PlanOptions()))
    (human / "theirs.txt").write_text("theirs\n")
    git(human, "add", ".")
    git(human, "commit", "--quiet", "-m", "theirs")
    git(human, "push", "--quiet")
    (repository / "README.md").write_text("precious edit\n")
    (repository / "staged.txt").write_text("precious file\n")
    git(repository, "add", "staged.txt")
    for name in _HOOKS:
        write_hook(repository, name, _KILLER)
    return scene


_PART = pytest.mark.parametrize("first", [1, *(pytest.param(each, marks=pytest.mark.exhaustive) for each in (2, 3))])
"""A third of all steps: those that begin with the first, the second, the third."""


def _killed_at_every_third_step(scene: Path, place: Callable[[Path], GitPlace], first: int) -> Iterator[Path]:
    """The scene again and again, each time with a run that was killed three steps later."""
    for number in count(first, 3):
        folder = scene.with_name(f"killed-{number}")
        shutil.copytree(scene, folder, symlinks=True)
        if not _killed_at(place(folder / "repo"), number):
            return
        yield folder / "repo"
        shutil.rmtree(folder)


def _place(repository: Path) -> GitPlace:
    return GitPlace(folder=repository / "clusters", push=True, plaintext_secrets=True)


def _own_place(repository: Path) -> GitPlace:
    return replace(_place(repository), own_branch="update")


def _run(place: GitPlace) -> None:
    with git_session(place, NO_ENCRYPTION) as session:
        session.catch_up()
        session.commit(plan_for(session, _WANTED, PlanOptions()))
        session.publish()


def _killed_at(place: GitPlace, number: int) -> bool:
    """Whether there was such an event; by its end nobody is alive any more."""

    def victim() -> None:
        os.setsid()
        os.environ["GIT_TEST_KILL_GROUP"] = str(os.getpid())
        os.environ["GIT_TEST_KILL_AT"] = str(number)
        os.environ["GIT_TEST_EVENTS"] = str(place.folder.parent.with_name("events"))
        _run(place)

    process = multiprocessing.get_context("fork").Process(target=victim)
    process.start()
    process.join()
    assert process.exitcode in {0, -9}
    return process.exitcode == -9


def _cramped(place: GitPlace, size: int) -> int:
    """How a run ends for which, and for its git, no file may grow bigger: what a full disk is to both."""

    def victim() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
        _run(place)

    process = multiprocessing.get_context("fork").Process(target=victim)
    process.start()
    process.join()
    assert process.exitcode is not None
    return process.exitcode


def _run_again(place: GitPlace) -> None:
    """Run; where a git that was killed left its lock, the message names it, and it is removed as told."""
    for _ in range(4):
        try:
            return _run(place)
        except TargetError as error:
            lock = re.search(r"Unable to create '(.*\.lock)': File exists.*remove the named \.lock file", str(error))
            if lock is None:
                raise
            Path(lock[1]).unlink()
    raise AssertionError("it does not heal")


def _clusters_place(repository: Path) -> GitPlace:
    return replace(_place(repository), clusters=("prod",), push=False)


def _open(place: GitPlace) -> None:
    """A run that has nothing to do."""
    with git_session(place, NO_ENCRYPTION):
        pass


def _stopped(place: GitPlace, stop: Callable[[str], None]) -> int:
    """How a run ends that commits and calls ``stop`` between its steps, also each time it has made a content."""

    def victim() -> None:
        with git_session(place, NO_ENCRYPTION) as session:
            plan = plan_for(session, _WANTED, PlanOptions())

            def advance(done: int, _all: int) -> None:
                stop(f"content {done}")

            session.commit(plan, advance=advance, step=stop)

    process = multiprocessing.get_context("fork").Process(target=victim)
    process.start()
    process.join()
    assert process.exitcode is not None
    return process.exitcode


def _check_users_work(repository: Path) -> None:
    assert (repository / "README.md").read_text() == "precious edit\n"
    assert (repository / "staged.txt").read_text() == "precious file\n"
    assert git(repository, "status", "--porcelain").splitlines() == [" M README.md", "A  staged.txt"]
    assert git(repository, "show", ":staged.txt") == "precious file"


def _check_nothing_is_left(repository: Path) -> None:
    assert not list(repository.rglob(".osm-gitops-*"))
    assert sorted(path.name for path in (repository / ".git" / "osm-gitops").iterdir()) == ["lock"]


def _check_repository(repository: Path) -> None:
    git(repository, "fsck", "--strict")
    _check_nothing_is_left(repository)
    assert len(git(repository, "worktree", "list").splitlines()) == 1


@_PART
def test_a_run_that_is_killed_at_any_step_is_finished_by_the_next(scene: Path, first: int) -> None:
    steps = 0
    for repository in _killed_at_every_third_step(scene, _place, first):
        steps += 1
        assert (repository / "README.md").read_text() == "precious edit\n"
        _run_again(_place(repository))
        _check_users_work(repository)
        _check_repository(repository)
        remote = repository.with_name("remote.git")
        assert git(repository, "rev-parse", "HEAD") == git(remote, "rev-parse", "main")
        assert git(remote, "log", "--format=%s", "main").splitlines()[-2:] == ["theirs", "start"]
        assert not plan_for(FolderTarget(repository / "clusters", NO_ENCRYPTION), _WANTED, PlanOptions()).has_changes
    assert steps > 4


@_PART
def test_a_run_for_a_branch_of_its_own_that_is_killed_at_any_step_is_finished_by_the_next(
    scene: Path, first: int
) -> None:
    git(scene / "repo", "reset", "--quiet", "--keep", "HEAD^")  # else our commit would be pushed with the branch
    git(scene / "repo", "add", "staged.txt")
    (scene / "repo" / ".git" / "hooks" / "post-index-change").unlink()  # those of the second work tree go with it
    before = git(scene / "repo", "rev-parse", "HEAD")
    steps = 0
    for repository in _killed_at_every_third_step(scene, _own_place, first):
        steps += 1
        _run_again(_own_place(repository))
        _check_users_work(repository)
        _check_repository(repository)
        remote = repository.with_name("remote.git")
        assert git(repository, "rev-parse", "HEAD") == before
        assert git(remote, "log", "--format=%s", "main").splitlines() == ["theirs", "start"]
        assert git(remote, "log", "--format=%s", "update").splitlines()[1:] == ["start"]
    assert steps > 2


def test_what_a_killed_run_left_goes_with_the_next_even_if_that_has_nothing_to_do(scene: Path) -> None:
    """kill -9 between all steps of ours, while files are staged too."""
    left: set[str] = set()
    for number in count(1):
        folder = scene.with_name("killed")
        shutil.copytree(scene, folder, symlinks=True)
        repository = folder / "repo"
        steps = count(1)

        def stop(_step: str, steps: Iterator[int] = steps, number: int = number) -> None:
            if next(steps) == number:
                os.kill(os.getpid(), signal.SIGKILL)

        if _stopped(_clusters_place(repository), stop) == 0:
            break
        left |= {path.name[:11] for path in repository.rglob(".osm-gitops-*")}
        _open(_clusters_place(repository))
        _check_users_work(repository)
        _check_nothing_is_left(repository)
        shutil.rmtree(folder)
    assert number > 10
    assert left == {".osm-gitops"}  # else nothing was tried


def test_a_folder_of_a_commit_that_was_killed_goes_with_the_next_run(scene: Path) -> None:
    repository = scene / "repo"
    assert _killed_at(_place(repository), _number_of(scene, "pre-commit"))
    assert list((repository / ".git" / "osm-gitops").glob("commit-*"))
    _open(_clusters_place(repository))
    _check_nothing_is_left(repository)


def _number_of(scene: Path, hook: str) -> int:
    """Which of the events of a run is the first of a hook."""
    for number in count(1):
        folder = scene.with_name("counted")
        shutil.copytree(scene, folder, symlinks=True)
        assert _killed_at(_place(folder / "repo"), number)
        last = (folder / "events").read_text().splitlines()[-1]
        shutil.rmtree(folder)
        if last.split()[0] == hook:
            return number
    raise AssertionError("unreachable")


@pytest.mark.parametrize("size", [0, 40, 160, 250, 300, 600, 1000])
def test_a_run_for_which_the_disk_has_no_room_leaves_nothing_behind(scene: Path, size: int) -> None:
    """No next run is needed for it: the run itself removes what it began."""
    repository = scene / "repo"
    place = _clusters_place(repository)

    def fill(step: str) -> None:
        if step == "content 1":
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    assert _stopped(place, fill) != 0
    assert not list(repository.rglob(".osm-gitops-*"))
    assert not list((repository / ".git" / "osm-gitops").glob("commit-*"))
    assert not (repository / ".git" / "osm-gitops" / "journal.tmp").exists()


@pytest.mark.parametrize("size", [0, 40, 160, 250, 4096])
def test_a_run_for_which_the_disk_has_no_room_loses_nothing_and_is_finished_by_the_next(scene: Path, size: int) -> None:
    repository = scene / "repo"
    ended = _cramped(_place(repository), size)
    assert (ended == 0) == (size == 4096)  # which is room enough
    assert (repository / "README.md").read_text() == "precious edit\n"
    assert (repository / "staged.txt").read_text() == "precious file\n"
    _run_again(_place(repository))
    _check_users_work(repository)
    _check_repository(repository)
    assert git(repository, "rev-parse", "HEAD") == git(repository.with_name("remote.git"), "rev-parse", "main")
    assert not plan_for(FolderTarget(repository / "clusters", NO_ENCRYPTION), _WANTED, PlanOptions()).has_changes
