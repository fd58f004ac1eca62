"""A folder in a git work tree as a target: one commit per cluster, all of it or none.

A commit is made of the work tree's files by git itself, so the user's hooks and signing
count. Before a file is touched, a journal in ``.git/osm-gitops`` names what each file was
and will be. A run that is killed leaves the branch as before or as after; the next run
brings the files that are still in one of those two states back to the branch. A file in
any third state was edited by someone: it is never touched.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from osm_gitops.errors import Problem, TargetError
from osm_gitops.gitdoor.repository import PushOutcome, Repository, find_work_tree
from osm_gitops.model.desired import Desired
from osm_gitops.model.plan import ClusterPlan
from osm_gitops.report.mask import Masker
from osm_gitops.targets.folder import (
    file_changes,
    no_step,
    place_files,
    refuse_links,
    remove_temporary,
    stage_files,
)
from osm_gitops.targets.layout import owned_path
from osm_gitops.targets.message import CLUSTER_TRAILER, commit_message

_NAMED_FILES = 5
_PLAINTEXT = (
    "configurations and Secrets hold tokens, registry passwords and cloud credentials, "
    "which git would keep in plain text for ever"
)
_PLAINTEXT_FIX = (
    "Encryption with SOPS and age comes with the next release; until then, for a repository that only "
    "people with access to these secrets can read, use --dangerously-plaintext-secrets"
)


def refuse_plaintext(folder: Path, *, allowed: bool, ignored_is_fine: bool = False) -> None:
    """Refuse to write secrets into a git work tree in plain text (design §7).

    Outside of a work tree nothing is refused. ``render`` may also write to what git ignores.
    """
    folder = Path(os.path.normpath(folder.absolute()))
    root = None if allowed else find_work_tree(folder)
    if root is None:
        return
    inside = folder.relative_to(root) / "cluster" / "worker" / "secrets" / "name.yaml"
    if ignored_is_fine and Repository(root).is_ignored(inside.as_posix()):
        return
    raise TargetError([Problem(f"is in the git work tree {root}: {_PLAINTEXT}", where=str(folder), fix=_PLAINTEXT_FIX)])


@dataclass(frozen=True, slots=True, kw_only=True)
class GitPlace:
    """Where commits go: a folder in a work tree, the branch that must be checked out, and a remote."""

    folder: Path
    branch: str = ""
    remote: str = "origin"
    plaintext_secrets: bool = False


@contextmanager
def git_session(place: GitPlace, held: set[Path] | None = None) -> Iterator[GitSession]:
    """Work on a git target alone: locked, checked, and with what a killed run left behind mended.

    Make the plan inside the session. ``held`` are the work trees that this run has locked
    already, for a fleet with several folders in one; the session adds its own.
    :class:`~osm_gitops.errors.TargetError` says why not.
    """
    place = replace(place, folder=Path(os.path.normpath(place.folder.absolute())))
    root = find_work_tree(place.folder)
    if root is None:
        raise TargetError(
            [Problem("is in no git work tree", where=str(place.folder), fix="Run git init, or use render --to")]
        )
    _refuse_linked_folder(place.folder, root)
    refuse_plaintext(place.folder, allowed=place.plaintext_secrets)
    repository = Repository(root)
    own = repository.git_dir / "osm-gitops"
    own.mkdir(exist_ok=True)
    with _locked(own / "lock", root, set() if held is None else held):
        session = GitSession(place, repository, own / "journal.json")
        session.mend()
        session.check()
        yield session


@contextmanager
def _locked(path: Path, root: Path, held: set[Path]) -> Iterator[None]:
    if root in held:
        yield
        return
    with path.open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise TargetError([Problem("another run of osm-gitops works here", where=str(root))]) from None
        held.add(root)
        try:
            yield
        finally:
            held.remove(root)


def _refuse_linked_folder(folder: Path, root: Path) -> None:
    for part in (folder, *folder.parents):
        if part == root:
            return
        if part.is_symlink():
            raise TargetError([Problem("is a symbolic link", where=str(part), fix="Name the folder itself")])


class GitSession:
    """What may be done to a git target while it is locked."""

    def __init__(self, place: GitPlace, repository: Repository, journal: Path) -> None:
        self._place = place
        self._repository = repository
        self._journal = _Journal(journal)
        self._hash = repository.hash_name()
        self._made_commits = False
        self._sensitive: frozenset[str] = frozenset()
        self.root = place.folder

    @property
    def remote(self) -> str:
        """Where pushes go, as ``origin/main``."""
        return f"{self._place.remote}/{self._branch()}"

    # -- before planning --

    def mend(self) -> None:
        """Finish or undo what a killed run left: files in a state that it knew are set to the branch's."""
        entries = self._journal.read()
        if entries is None:
            return
        for folder in {Path(self._repository.root, path).parent for path in entries}:
            for name in folder.glob(".osm-gitops-*.tmp"):
                name.unlink(missing_ok=True)
        self._repository.restore([path for path, states in entries.items() if self._content_id(path) in states])
        self._journal.clear()

    def check(self) -> None:
        """Refuse what makes a commit impossible or unwanted: a detached HEAD, another branch, a merge."""
        where, wanted = str(self._repository.root), self._place.branch
        branch = self._repository.branch()
        if branch is None:
            raise TargetError([Problem("HEAD is detached", where=where, fix=f"Run git switch {wanted or 'BRANCH'}")])
        if wanted and branch != wanted:
            raise TargetError(
                [
                    Problem(
                        f'branch "{branch}" is checked out, not "{wanted}"', where=where, fix=f"Run git switch {wanted}"
                    )
                ]
            )
        unfinished = self._repository.operation_in_progress()
        if unfinished:
            raise TargetError(
                [Problem(f"a git operation is unfinished ({unfinished})", where=where, fix="Finish it first")]
            )

    def catch_up(self) -> None:
        """Fetch, and move the branch forward to the remote's; commits of ours that were never pushed go."""
        remote, branch = self._place.remote, self._branch()
        if not self._repository.has_remote(remote):
            raise TargetError([Problem(f'there is no remote "{remote}"', where=str(self._repository.root))])
        self._repository.fetch(remote, branch)
        ref = f"refs/remotes/{remote}/{branch}"
        if self._repository.revision(ref) is None:
            return
        if self._repository.head() is None:
            self._repository.fast_forward(ref)
            return
        divergence = self._repository.divergence(ref)
        if not divergence.behind:
            return
        if divergence.ahead:
            self._withdraw(ref)
        self._repository.fast_forward(ref)

    # -- after planning --

    def commit(
        self, desired: Desired, plan: ClusterPlan, version: str, *, step: Callable[[str], None] = no_step
    ) -> str | None:
        """Write a plan's files and commit exactly them; the commit's id, or ``None`` if nothing changes.

        Where git refuses (a hook, signing), files and branch are as before.
        """
        self._sensitive |= plan.sensitive
        base = self._repository.head()
        refuse_links(self.root, desired.cluster)
        self._refuse_dirty(desired.cluster)
        remove_temporary(self.root, desired.cluster)
        changes = file_changes(self.root, desired, plan)
        if not changes.paths:
            return None
        prefix = self._prefix()
        after: dict[str, str | None] = {f"{prefix}{path}": None for path in changes.remove}

        def note_id(path: PurePosixPath, content: bytes) -> None:
            after[f"{prefix}{path}"] = self._id(content)

        staged = stage_files(self.root, changes, note_id, private=False)
        self._journal.write({path: (self._content_id(path), state) for path, state in after.items()})
        step("journal")
        try:
            place_files(self.root, staged, step)
            with self._masked_errors():
                commit = self._repository.commit_paths(after, commit_message(plan, version), base)
        except BaseException:
            self.mend()
            raise
        self._made_commits = True
        step("committed")
        self._repository.stage(list(after))
        step("staged")
        self._journal.clear()
        return commit

    def publish(self) -> PushOutcome:
        """Push the branch. ``MOVED``: the remote had newer commits; ours are withdrawn and the branch
        has caught up, so plan again."""
        remote, branch = self._place.remote, self._branch()
        ref = f"refs/remotes/{remote}/{branch}"
        if self._repository.head() is None:
            return PushOutcome.PUSHED
        known = self._repository.revision(ref) is not None
        if known and not self._made_commits:
            ours = self._repository.own_commits(ref, CLUSTER_TRAILER)
            if not self._repository.divergence(ref).ahead or not ours:
                return PushOutcome.PUSHED  # nothing of ours is waiting
        with self._masked_errors():
            outcome = self._repository.push(remote, branch)
        if outcome is PushOutcome.MOVED:
            self.catch_up()
            self._made_commits = False
        return outcome

    # -- inside --

    @contextmanager
    def _masked_errors(self) -> Iterator[None]:
        # Hooks that look for secrets like to print what they found.
        try:
            yield
        except TargetError as error:
            masker = Masker(self._sensitive)
            raise TargetError(masker.problem(problem) for problem in error.problems) from None

    def _branch(self) -> str:
        branch = self._repository.branch()
        if branch is None:
            raise TargetError([Problem("HEAD is detached", where=str(self._repository.root))])
        return branch

    def _prefix(self) -> str:
        inside = self.root.absolute().relative_to(self._repository.root).as_posix()
        return "" if inside == "." else f"{inside}/"

    def _refuse_dirty(self, cluster: str) -> None:
        dirty = self._repository.changed_paths(f"{self._prefix()}{owned_path(cluster)}")
        if dirty:
            more = len(dirty) - _NAMED_FILES
            names = ", ".join(dirty[:_NAMED_FILES]) + (f" and {more} more" if more > 0 else "")
            raise TargetError(
                [
                    Problem(
                        f"files that osm-gitops owns have changes that are not committed: {names}",
                        where=str(self._repository.root),
                        fix="Commit them, or drop them with git restore or git clean",
                    )
                ]
            )

    def _withdraw(self, ref: str) -> None:
        """Take back commits that were never pushed, if all of them are ours."""
        base, head = self._repository.merge_base(ref), self._repository.head()
        if base is None or head is None or not self._repository.own_commits(ref, CLUSTER_TRAILER):
            raise TargetError(
                [
                    Problem(
                        f"the branch and {ref.removeprefix('refs/remotes/')} have diverged by commits of others",
                        where=str(self._repository.root),
                        fix="Merge or rebase them, then run again",
                    )
                ]
            )
        paths = self._repository.paths_between(base, head)
        states = {path: self._content_id(path) for path in paths}
        self._journal.write({path: (state, state) for path, state in states.items()})
        self._repository.move_branch(base, head)
        self.mend()

    def _content_id(self, path: str) -> str | None:
        file = self._repository.root / path
        return self._id(file.read_bytes()) if file.is_file() and not file.is_symlink() else None

    def _id(self, content: bytes) -> str:
        return hashlib.new(self._hash, b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


class _Journal:
    """What each file was and will be, as blob ids (``None``: no file), kept until a write is done."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self) -> Mapping[str, tuple[str | None, str | None]] | None:
        try:
            entries = json.loads(self._path.read_bytes())
        except FileNotFoundError:
            return None
        return {path: (before, after) for path, (before, after) in entries.items()}

    def write(self, entries: Mapping[str, Iterable[str | None]]) -> None:
        temporary = self._path.with_suffix(".tmp")
        with temporary.open("w", encoding="utf-8") as file:
            json.dump({path: list(states) for path, states in entries.items()}, file)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(self._path)

    def clear(self) -> None:
        self._path.unlink(missing_ok=True)
