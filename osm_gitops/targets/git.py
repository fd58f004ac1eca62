"""A folder in a git work tree as a target: one commit per cluster, all of it or none.

A commit is made of the work tree's files by git itself, so the user's hooks and signing
count. A journal (:mod:`osm_gitops.targets.journal`) sees to it that a run that is killed
leaves the branch as before or as after. Pushing is a compare-and-swap
(:mod:`osm_gitops.targets.own_branch`).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

from osm_gitops.errors import Code, Problem, TargetError
from osm_gitops.git.process import refuse_astray
from osm_gitops.git.remote import Remote
from osm_gitops.git.repository import Repository, find_work_tree, second_work_tree
from osm_gitops.targets.commits import GitPlace
from osm_gitops.targets.file_encryption import FileEncryption
from osm_gitops.targets.files import remove_temporary
from osm_gitops.targets.journal import JournaledFiles, alone
from osm_gitops.targets.own_branch import CheckedOutBranch, ClonedBranch, OwnBranch
from osm_gitops.targets.plaintext import refuse_plaintext
from osm_gitops.targets.session import GitSession


@contextmanager
def git_session(place: GitPlace, sealing: FileEncryption, held: set[Path] | None = None) -> Iterator[GitSession]:
    """Work on a git target alone: locked, checked, and with what a killed run left behind mended.

    Make the plan inside the session. ``held`` are the work trees that this run has locked
    already, for a fleet with several folders in one; the session adds its own.
    :class:`~osm_gitops.errors.TargetError` says why not.
    """
    place = replace(place, folder=Path(os.path.normpath(place.folder.absolute())))
    root = work_tree_of(place.folder)
    refuse_astray(root)
    repository = Repository(root)
    held = set() if held is None else held
    if place.own_branch and root in held:
        raise _two_folders(root)
    with _held(repository, held), ExitStack() as opened:
        files = JournaledFiles(repository)
        files.mend()
        branch = checked_branch(repository, place)
        if place.own_branch:
            session = opened.enter_context(_on_own_branch(place, repository, branch, sealing))
        else:
            remote = Remote(repository, place.remote, place.token)
            upstream = (ClonedBranch if place.cloned else CheckedOutBranch)(repository, files, remote, branch)
            session = GitSession(place, repository, files, upstream, sealing)
        refuse_linked_folder(session.root, find_work_tree(session.root) or root)
        for cluster in place.clusters:
            remove_temporary(session.root, cluster)
        if not place.plaintext_secrets:
            refuse_plaintext(session.root, place.clusters, session.sealing)
        yield session


@contextmanager
def _on_own_branch(place: GitPlace, repository: Repository, base: str, sealing: FileEncryption) -> Iterator[GitSession]:
    """A session in a work tree of its own, so that what is checked out stays as it is."""
    commit = repository.head()
    if commit is None:
        fix = "Make a first commit, from which the branch can start"
        raise TargetError([Problem(Code.NO_COMMIT_YET, "there is no commit yet", where=str(repository.root), fix=fix)])
    inside = place.folder.relative_to(repository.root)
    with second_work_tree(repository, commit) as work:
        remote = Remote(repository, place.remote, place.token)
        upstream = OwnBranch(place, work, remote, base, inside.as_posix())
        place = replace(place, folder=work.root / inside)
        yield GitSession(place, work, JournaledFiles(work), upstream, sealing.anew(work.root))


def _two_folders(root: Path) -> TargetError:
    return TargetError(
        [
            Problem(
                Code.BRANCH_FOR_SEVERAL,
                "a branch of one's own takes the commits for one folder of a repository, not for several",
                where=str(root),
                fix="Run it once per cluster, with --cluster NAME and a --branch for each",
            )
        ]
    )


@contextmanager
def _held(repository: Repository, held: set[Path]) -> Iterator[None]:
    root = repository.root
    if root in held:
        yield
        return
    with alone(repository.own_folder() / "lock", root):
        held.add(root)
        try:
            yield
        finally:
            held.remove(root)


def work_tree_of(folder: Path) -> Path:
    """The work tree that a target lies in. Raises TargetError where there is none."""
    root = find_work_tree(folder)
    if root is None:
        raise TargetError(
            [
                Problem(
                    Code.NO_WORK_TREE,
                    "is in no git work tree",
                    where=str(folder),
                    fix="Run git init, or use render --to",
                )
            ]
        )
    return root


def refuse_linked_folder(folder: Path, root: Path) -> None:
    """Refuse a target that a symbolic link inside of the work tree leads to. Raises TargetError."""
    for part in (folder, *folder.parents):
        if part == root:
            return
        if part.is_symlink():
            raise TargetError(
                [Problem(Code.TARGET_SYMLINK, "is a symbolic link", where=str(part), fix="Name the folder itself")]
            )


def checked_branch(repository: Repository, place: GitPlace) -> str:
    """The branch that is checked out. Refuses a detached HEAD, another branch than wanted, an unfinished merge."""
    branch, wanted = repository.branch(), place.branch
    how = "Give --ref {}" if place.cloned else "Run git switch {}"
    problem = None
    if branch is None:
        problem = Problem(Code.WRONG_BRANCH, "HEAD is detached", fix=how.format(wanted or "BRANCH"))
    elif wanted and branch != wanted:
        problem = Problem(
            Code.WRONG_BRANCH, f'branch "{branch}" is checked out, not "{wanted}"', fix=how.format(wanted)
        )
    elif unfinished := repository.operation_in_progress():
        problem = Problem(
            Code.GIT_OPERATION_UNFINISHED, f"a git operation is unfinished ({unfinished})", fix="Finish it first"
        )
    if problem is not None:
        raise TargetError([problem.at(where=str(repository.root))])
    assert branch is not None
    return branch
