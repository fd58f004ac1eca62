"""A folder in a git work tree as a target: one commit per cluster, all of it or none.

A commit is made of the work tree's files by git itself, so the user's hooks and signing
count. A journal (:mod:`osm_gitops.targets.journal`) sees to it that a run that is killed
leaves the branch as before or as after. Pushing is a compare-and-swap
(:mod:`osm_gitops.targets.upstream`).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from osm_gitops.errors import Problem, TargetError
from osm_gitops.gitdoor.credentials import TokenFile
from osm_gitops.gitdoor.remote import Remote
from osm_gitops.gitdoor.repository import Repository, find_work_tree
from osm_gitops.targets.journal import JournaledFiles
from osm_gitops.targets.layout import secret_places
from osm_gitops.targets.lock import alone
from osm_gitops.targets.sealing import Sealing
from osm_gitops.targets.session import GitSession
from osm_gitops.targets.upstream import CheckedOutBranch, ClonedBranch

_PLAINTEXT = (
    "configurations and Secrets hold tokens, registry passwords and cloud credentials, "
    "which git would keep in plain text for ever"
)
_PLAINTEXT_FIX = (
    "Encrypt them: name recipients with --age-recipient, or in a .sops.yaml (osm-gitops init writes one). For a "
    "repository that only people with access to these secrets can read, there is --dangerously-plaintext-secrets"
)


def refuse_plaintext(folder: Path, clusters: Iterable[str], sealing: Sealing) -> None:
    """Refuse to write secrets of clusters into a git work tree in plain text (design §7).

    Outside of a work tree nothing is refused.
    """
    folder = Path(os.path.normpath(folder.absolute()))
    root = find_work_tree(folder)
    places = [place for cluster in clusters for place in secret_places(cluster)]
    if root is None or all(sealing.rule(folder / path, kind) for kind, path in places):
        return
    raise TargetError([Problem(f"is in the git work tree {root}: {_PLAINTEXT}", where=str(folder), fix=_PLAINTEXT_FIX)])


def is_kept_by_git(folder: Path) -> bool:
    """Whether what is written into a folder can get into git: it is in a work tree, and not ignored."""
    folder = Path(os.path.normpath(folder.absolute()))
    root = find_work_tree(folder)
    if root is None:
        return False
    inside = folder.relative_to(root) / "cluster" / "worker" / "secrets" / "name.yaml"
    return not Repository(root).is_ignored(inside.as_posix())


@dataclass(frozen=True, slots=True, kw_only=True)
class GitPlace:
    """Where commits go: a folder in a work tree, the branch that must be checked out, and a remote.

    ``clusters`` are those that this place is for. ``sign`` is as git's configuration says unless told.
    ``cloned`` is a work tree that was made for this run.
    """

    folder: Path
    branch: str = ""
    remote: str = "origin"
    clusters: tuple[str, ...] = ()
    plaintext_secrets: bool = False
    sign: bool | None = None
    token: TokenFile | None = None
    cloned: bool = False


@contextmanager
def git_session(place: GitPlace, sealing: Sealing, held: set[Path] | None = None) -> Iterator[GitSession]:
    """Work on a git target alone: locked, checked, and with what a killed run left behind mended.

    Make the plan inside the session. ``held`` are the work trees that this run has locked
    already, for a fleet with several folders in one; the session adds its own.
    :class:`~osm_gitops.errors.TargetError` says why not.
    """
    place = replace(place, folder=Path(os.path.normpath(place.folder.absolute())))
    root = work_tree_of(place.folder)
    refuse_linked_folder(place.folder, root)
    if not place.plaintext_secrets:
        refuse_plaintext(place.folder, place.clusters, sealing)
    repository = Repository(root)
    with _held(repository, set() if held is None else held):
        files = JournaledFiles(repository)
        files.mend()
        branch = checked_branch(repository, place)
        remote = Remote(repository, place.remote, place.token)
        upstream = (ClonedBranch if place.cloned else CheckedOutBranch)(repository, files, remote, branch)
        yield GitSession(place.folder, repository, files, upstream, sealing, sign=place.sign)


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
            [Problem("is in no git work tree", where=str(folder), fix="Run git init, or use render --to")]
        )
    return root


def refuse_linked_folder(folder: Path, root: Path) -> None:
    """Refuse a target that a symbolic link inside of the work tree leads to. Raises TargetError."""
    for part in (folder, *folder.parents):
        if part == root:
            return
        if part.is_symlink():
            raise TargetError([Problem("is a symbolic link", where=str(part), fix="Name the folder itself")])


def checked_branch(repository: Repository, place: GitPlace) -> str:
    """The branch that is checked out. Refuses a detached HEAD, another branch than wanted, an unfinished merge."""
    branch, wanted = repository.branch(), place.branch
    how = "Give --ref {}" if place.cloned else "Run git switch {}"
    problem = None
    if branch is None:
        problem = Problem("HEAD is detached", fix=how.format(wanted or "BRANCH"))
    elif wanted and branch != wanted:
        problem = Problem(f'branch "{branch}" is checked out, not "{wanted}"', fix=how.format(wanted))
    elif unfinished := repository.operation_in_progress():
        problem = Problem(f"a git operation is unfinished ({unfinished})", fix="Finish it first")
    if problem is not None:
        raise TargetError([problem.at(where=str(repository.root))])
    assert branch is not None
    return branch
