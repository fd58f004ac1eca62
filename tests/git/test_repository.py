"""Verbs on real repositories."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from osm_gitops.errors import Code, TargetError
from osm_gitops.git.commits import Divergence
from osm_gitops.git.remote import Remote
from osm_gitops.git.repository import Repository, find_work_tree
from tests.faults import Expected, refused
from tests.git.repos import git, new_repository, pin_git


@pytest.fixture(autouse=True)
def _pinned_git(monkeypatch: pytest.MonkeyPatch) -> None:
    pin_git(monkeypatch)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return new_repository(tmp_path / "repo")


def _blob(text: str) -> str:
    return hashlib.sha1(f"blob {len(text)}\0{text}".encode()).hexdigest()


def test_the_work_tree_of_a_path_that_does_not_exist_is_found(folder: Path, tmp_path: Path) -> None:
    assert find_work_tree(folder / "a" / "b") == folder
    assert find_work_tree(folder) == folder
    assert find_work_tree(tmp_path) is None


def test_head_and_branch(folder: Path, tmp_path: Path) -> None:
    repository = Repository(folder)
    assert repository.head() == git(folder, "rev-parse", "HEAD")
    assert repository.branch() == "main"
    git(folder, "checkout", "--quiet", "--detach")
    assert repository.branch() is None
    unborn = Repository(new_repository(tmp_path / "unborn", with_commit=False))
    assert unborn.head() is None
    assert unborn.branch() == "main"


def test_changed_paths_are_those_under_the_path(folder: Path) -> None:
    (folder / "sub").mkdir()
    for name in ("sub/new file", "sub/ä.txt", "other.txt"):
        (folder / name).write_text("x")
    assert Repository(folder).changed_paths("sub") == ("sub/new file", "sub/ä.txt")


def test_ignored_paths_are_known(folder: Path) -> None:
    (folder / ".gitignore").write_text("/out/\n")
    repository = Repository(folder)
    assert repository.ignored(["out/x/y.yaml", "in/x.yaml"]) == {"out/x/y.yaml"}
    (folder / "out").mkdir()
    (folder / "out" / "kept.yaml").touch()
    git(folder, "add", "--force", "out/kept.yaml")
    paths = ["in/x.yaml", "out/é\n.yaml", "out/kept.yaml", "README.md"]
    assert repository.ignored(paths) == {"out/é\n.yaml"}
    assert repository.ignored([]) == frozenset()
    with refused(Code.GIT_COMMAND_FAILED, kind=TargetError):
        repository.ignored(["../x"])


def test_only_the_given_paths_are_committed(folder: Path) -> None:
    repository = Repository(folder)
    for name in ("a.txt", "-b.txt", "c.txt"):
        (folder / name).write_text("x\n")
    repository.commit_paths({"a.txt": _blob("x\n"), "-b.txt": _blob("x\n")}, "two\n", repository.head())
    assert git(folder, "ls-tree", "--name-only", "HEAD").splitlines() == ["-b.txt", "README.md", "a.txt"]


def test_encrypted_files_are_stored_as_they_are_and_others_compressed(folder: Path) -> None:
    texts = {"sealed.yaml": "a" * 5000, "plain.yaml": "b" * 5000}
    for name, text in texts.items():
        (folder / name).write_text(text)
    blobs: dict[str, str | None] = {name: _blob(text) for name, text in texts.items()}
    repository = Repository(folder)
    repository.commit_paths(blobs, "two\n", repository.head(), sealed={"sealed.yaml"})
    assert git(folder, "ls-tree", "--name-only", "HEAD").splitlines() == ["README.md", "plain.yaml", "sealed.yaml"]
    sizes = {}
    for name, blob in blobs.items():
        assert blob is not None
        sizes[name] = (folder / ".git" / "objects" / blob[:2] / blob[2:]).stat().st_size
    assert sizes["sealed.yaml"] > 5000
    assert sizes["plain.yaml"] < 500


def test_other_bytes_than_expected_are_not_committed(folder: Path) -> None:
    repository, before = Repository(folder), git(folder, "rev-parse", "HEAD")
    (folder / "a.txt").write_text("x\n")
    with refused(Expected(Code.COMMIT_ALTERED, "a.txt"), kind=TargetError):
        repository.commit_paths({"a.txt": _blob("y\n")}, "one\n", before)
    assert git(folder, "rev-parse", "HEAD") == before


def test_a_commit_on_a_branch_that_moved_is_withdrawn(folder: Path) -> None:
    repository, stale = Repository(folder), git(folder, "rev-parse", "HEAD")
    git(folder, "commit", "--quiet", "--allow-empty", "-m", "other")
    (folder / "a.txt").write_text("x\n")
    with refused(Code.COMMIT_NOT_MADE, kind=TargetError):
        repository.commit_paths({"a.txt": _blob("x\n")}, "one\n", stale)
    assert git(folder, "log", "-1", "--format=%s") == "other"


def test_restore_brings_back_what_head_has_and_removes_the_rest(folder: Path) -> None:
    (folder / "README.md").write_text("edited\n")
    (folder / "new.txt").write_text("x\n")
    git(folder, "add", ".")
    Repository(folder).restore(["README.md", "new.txt"])
    assert git(folder, "status", "--porcelain") == ""
    assert (folder / "README.md").read_text() == "read me\n"


def test_divergence_counts_both_sides(folder: Path) -> None:
    git(folder, "branch", "other")
    git(folder, "commit", "--quiet", "--allow-empty", "-m", "one")
    assert Repository(folder).history.divergence("refs/heads/other") == Divergence(ahead=1, behind=0)


def test_commits_are_ours_by_their_trailer(folder: Path) -> None:
    git(folder, "branch", "other")
    history = Repository(folder).history
    git(folder, "commit", "--quiet", "--allow-empty", "-m", "one\n\nOsm-Gitops-Cluster: prod")
    ours = git(folder, "rev-parse", "HEAD")
    assert history.foreign_commits("other", "HEAD", "Osm-Gitops-Cluster") == ()
    assert history.own_top("other", "HEAD", "Osm-Gitops-Cluster") == (ours,)
    git(folder, "commit", "--quiet", "--allow-empty", "-m", "two")
    foreign = git(folder, "rev-parse", "HEAD")
    assert history.foreign_commits("other", "HEAD", "Osm-Gitops-Cluster") == (foreign,)
    assert history.own_top("other", "HEAD", "Osm-Gitops-Cluster") == ()


def test_a_fetch_of_a_branch_that_the_remote_lacks_is_no_error(folder: Path, tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet", "--bare", "remote.git")
    git(folder, "remote", "add", "origin", str(tmp_path / "remote.git"))
    remote = Remote(Repository(folder), "origin")
    assert remote.fetch("main") is None
    assert remote.seen("main") is None


def test_a_path_that_leads_out_of_a_work_tree_again_is_not_in_it(tmp_path: Path) -> None:
    (tmp_path / "nodes" / ".git").mkdir(parents=True)
    assert find_work_tree(tmp_path / "nodes" / "pools") == tmp_path / "nodes"
    assert find_work_tree(tmp_path / "nodes" / ".." / "dump") is None


def test_git_never_ignores_what_the_index_has(folder: Path) -> None:
    (folder / ".gitignore").write_text("*.key\nbuild/\n")
    for path in ("a/b/one.key", "a/other.key", "build/x/y", "build/z"):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text("text\n")
    (folder / "link").symlink_to("a")
    git(folder, "add", "--force", "a/b/one.key", "build/x/y", "link")
    repository = Repository(folder)
    tracked = repository.tracked()
    assert tracked.files == {"README.md", "a/b/one.key", "build/x/y", "link"}
    assert tracked.links == ("link",)
    assert tracked.paths() == {*tracked.files, "a", "a/b", "build", "build/x"}
    others = {"a/other.key", "build/z", "build/nowhere", "new.key"}
    assert repository.ignored(tracked.paths() | others) == others
