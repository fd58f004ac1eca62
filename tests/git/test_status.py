"""What git says of a work tree: one question for all folders has the answers of a question for each path."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from osm_gitops.errors import Code, TargetError
from osm_gitops.git.repository import Repository
from osm_gitops.git.status import WorkTreeStatus, folders_by_work_tree
from tests.faults import Expected, refused
from tests.git.repos import git, new_repository, pin_git


@pytest.fixture(autouse=True)
def _pinned_git(monkeypatch: pytest.MonkeyPatch) -> None:
    pin_git(monkeypatch)


def _write(root: Path, path: str, text: str = "text\n") -> None:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(text)


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    """A work tree with files in every state."""
    root = new_repository(tmp_path / "repo")
    for path in (
        "a/same",
        "a/edited",
        "a/removed",
        "a/hidden",
        "a/tracked.key",
        "ab/same",
        "b c/ü",
        "b c/staged",
        "d/same",
    ):
        _write(root, path)
    _write(root, ".gitignore", "*.key\nbuild/\n")
    git(root, "add", "--force", ".")
    git(root, "commit", "--quiet", "-m", "files")
    git(root, "update-index", "--skip-worktree", "a/hidden")
    for path in ("a/edited", "b c/ü", "b c/staged"):
        _write(root, path, "other\n")
    git(root, "add", "b c/staged")
    (root / "a/removed").unlink()
    for path in ("a/new", "a/new.key", "build/x/y", "d/build/z", "d/deep/er/new"):
        _write(root, path)
    new_repository(root / "d/nested", with_commit=False)
    _write(root, "d/nested/inner.key")
    _write(root, "d/nested/inner")
    return Repository(root)


def _files(root: Path) -> Iterator[str]:
    for path in root.rglob("*"):
        if path.is_file() and ".git" not in path.relative_to(root).parts:
            yield path.relative_to(root).as_posix()


_PATHS = (
    ".",
    "a",
    "a/edited",
    "a/removed",
    "a/new",
    "b c",
    "b c/ü",
    "build",
    "build/x",
    "d",
    "d/deep",
    "d/deep/er",
    "d/nested",
    "nowhere",
)


@pytest.mark.parametrize("folders", [(".",), ("a", "b c", "build/x", "d"), ("d/deep", "nowhere"), ()], ids=str)
def test_the_answers_are_those_of_a_question_for_each_path(repository: Repository, folders: tuple[str, ...]) -> None:
    status = WorkTreeStatus(repository, folders)
    for path in _PATHS:
        assert status.changed_paths(path) == repository.changed_paths(path), path
        assert status.unseen_paths(path) == repository.unseen_paths(path), path
    assert status.changed_paths("a", "d") == repository.changed_paths("a", "d")
    every = list(_files(repository.root))
    for file in every:
        assert status.ignored([file]) == repository.ignored([file]), file
    assert status.ignored(every) == repository.ignored(every)
    assert (status.head(), status.branch()) == (repository.head(), "main")


def test_git_is_asked_once_for_all_folders(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = tmp_path / "trace"
    monkeypatch.setenv("GIT_TRACE2_EVENT", str(trace))
    status = WorkTreeStatus(repository, ["a", "d"])
    for _ in range(3):
        for path in ("a", "a/edited", "d", "d/deep"):
            status.changed_paths(path)
            status.unseen_paths(path)
        status.ignored(["a/new.key", "d/same"])
        status.head()
        status.branch()
    assert trace.read_text().count('"event":"start"') == 4


def test_a_question_that_fails_for_one_folder_fails_for_no_other(repository: Repository) -> None:
    status = WorkTreeStatus(repository, ["a", "../outside"])
    assert status.changed_paths("a") == repository.changed_paths("a")
    assert status.unseen_paths("a") == repository.unseen_paths("a")
    assert status.ignored(["a/new.key"]) == {"a/new.key"}
    with refused(Expected(Code.GIT_COMMAND_FAILED, repository.root), kind=TargetError):
        status.changed_paths("../outside")


def test_few_folders_hold_many_paths(tmp_path: Path) -> None:
    root, other = new_repository(tmp_path / "repo"), new_repository(tmp_path / "other")
    several = [root / "clusters" / f"c{number}" / part for number in range(9) for part in ("pools", "facts")]
    few = [root / "osps" / "a", root / "osps", root / "fleet.yaml"]
    found = folders_by_work_tree([*several, *few, other, other / "below", tmp_path / "no-repository"])
    clusters = tuple(f"clusters/c{number}" for number in range(9))
    assert found == {root: (*clusters, "fleet.yaml", "osps"), other: (".",)}
    many = [root / "deep" / f"c{number}" for number in range(100)]
    assert folders_by_work_tree([*many, root / "other"]) == {root: ("deep", "other")}
