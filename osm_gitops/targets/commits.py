"""Commits of a run: their place and message, the lock of the repository, and the journal of files in change.

The operating system frees the lock when its holder ends. Before a run changes a file, it writes the old and the new
state of each file to a journal in ``.git/osm-gitops``. A run that is killed leaves the branch either unchanged or
complete. The next run restores all files that are in one of the two states. A file in any other state was edited by
a user and is not changed.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from osm_gitops.bounded.files import LARGE, read_file
from osm_gitops.errors import Code, target_error
from osm_gitops.git.address import TokenFile
from osm_gitops.git.repository import Repository
from osm_gitops.model.plan import Action, ClusterPlan
from osm_gitops.model.promotion import INPUTS_TRAILER
from osm_gitops.targets.files import remove_temporary_beside


@dataclass(frozen=True, slots=True, kw_only=True)
class GitPlace:
    """A folder in a work tree, the branch that must be checked out (empty: any), and a remote.

    ``own_branch`` receives the commits in place of the branch that is checked out; ``proposes``: for a pull request
    that the run keeps. ``clusters`` are the clusters of this folder. ``sign``: ``None`` follows git's configuration.
    ``cloned``: the work tree was cloned for this run.
    """

    folder: Path
    branch: str = ""
    own_branch: str = ""
    proposes: bool = False
    remote: str = "origin"
    push: bool = False
    clusters: tuple[str, ...] = ()
    plaintext_secrets: bool = False
    sign: bool | None = None
    token: TokenFile | None = None
    cloned: bool = False


SOURCE_TRAILER = "Osm-Gitops-Source"
CLUSTER_TRAILER = "Osm-Gitops-Cluster"
BRANCH_TRAILER = "Osm-Gitops-Branch"
_NAMED_POOLS = 50


def commit_message(plans: Sequence[ClusterPlan], version: str, own_branch: str = "") -> str:
    """A summary line, the pools of a cluster or the clusters of a run, and trailers; equal for equal plans.
    ``own_branch`` is the branch of the commit."""
    names = [_one_line(plan.cluster) for plan in plans]
    sources = dict.fromkeys(_one_line(source) for plan in plans for source in plan.sources)
    trailers = [
        *(f"{SOURCE_TRAILER}: {source}" for source in sources),
        f"Osm-Gitops-Version: {_one_line(version)}",
        *(f"{CLUSTER_TRAILER}: {name}" for name in names),
        *(line for plan in plans for line in _inputs(plan)),
        *([f"{BRANCH_TRAILER}: {own_branch}"] if own_branch else []),
    ]
    if len(plans) == 1:
        body = _list({f"- {change.pool_name or change.ref}" for change in plans[0].effective})
        body = body or "Layout of the folder."
    else:
        body = "\n".join(f"- {name}: {_verbs([plan])}" for name, plan in zip(names, plans, strict=True))
    what = names[0] if len(plans) == 1 else f"{len(plans)} clusters"
    return f"osm-gitops: {what}: {_verbs(plans)}\n\n{body}\n\n" + "\n".join(trailers) + "\n"


def _verbs(plans: Iterable[ClusterPlan]) -> str:
    counts: Counter[Action] = Counter()
    for plan in plans:
        counts.update(plan.count())
    verbs = [
        f"{counts[Action.CREATE]} created",
        f"{counts[Action.UPDATE]} updated",
        *([f"{counts[Action.REPLACE]} replaced"] if counts[Action.REPLACE] else []),
        f"{counts[Action.DELETE]} deleted",
    ]
    return ", ".join(verbs)


def _list(lines: Collection[str]) -> str:
    more = [f"- and {len(lines) - _NAMED_POOLS} more"] if len(lines) > _NAMED_POOLS else []
    return "\n".join([*sorted(lines)[:_NAMED_POOLS], *more])


def _inputs(plan: ClusterPlan) -> Iterator[str]:
    if plan.inputs is not None:
        failed = " incomplete" if plan.failed else ""
        yield f"{INPUTS_TRAILER}: {plan.cluster} {plan.inputs.commit} {plan.inputs.digest}{failed}"


def _one_line(text: str) -> str:
    return " ".join(text.split())


class JournaledFiles:
    """The files of one work tree that a run changes. Paths start at its root; a blob id stands for content."""

    def __init__(self, repository: Repository) -> None:
        self.repository = repository
        self._journal = _Journal(repository.own_folder() / "journal.json")
        self._hash = repository.hash_name()

    def note(self, after: Mapping[str, str | None]) -> None:
        """Record the current content of the files and the content after the run (``None``: no file)."""
        self._journal.write({path: (self.content_id(path), state) for path, state in after.items()})

    def done(self) -> None:
        """Remove the journal: all changes are complete."""
        self._journal.clear()

    def mend(self) -> None:
        """Finish or undo an interrupted run: files in a recorded state get the content of the branch."""
        self.repository.remove_stale_folders()
        self._journal.drop_unfinished()
        entries = self._journal.read()
        if entries is None:
            return
        remove_temporary_beside(self.repository.root / path for path in entries)
        self.repository.restore([path for path, states in entries.items() if self.content_id(path) in states])
        self._journal.clear()

    def withdraw(self, target: str) -> None:
        """Move the branch and its files back to ``target``. Files that a user edited stay."""
        head = self.repository.head()
        if head is None or head == target:
            return
        paths = self.repository.history.paths_between(target, head)
        self.note({path: self.content_id(path) for path in paths})
        self.repository.move_branch(target, head)
        self.mend()

    def content_id(self, path: str) -> str | None:
        """The blob id of a file's current content; ``None`` if there is no file."""
        file = self.repository.root / path
        return self.id_of(read_file(file, LARGE)) if file.is_file() and not file.is_symlink() else None

    def id_of(self, content: bytes) -> str:
        """The blob id of this content."""
        return hashlib.new(self._hash, b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


class _Journal:
    """Blob ids of each file before and after a write, kept until the write is complete."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._unfinished = path.with_suffix(".tmp")

    def read(self) -> Mapping[str, tuple[str | None, str | None]] | None:
        try:
            entries = json.loads(self._path.read_bytes())
        except FileNotFoundError:
            return None
        return {path: (before, after) for path, (before, after) in entries.items()}

    def write(self, entries: Mapping[str, Iterable[str | None]]) -> None:
        try:
            with self._unfinished.open("w", encoding="utf-8") as file:
                json.dump({path: list(states) for path, states in entries.items()}, file)
                file.flush()
                os.fsync(file.fileno())
            self._unfinished.replace(self._path)
        except BaseException as fault:
            self.drop_unfinished()
            if isinstance(fault, OSError):
                what = f"cannot be written: {fault.strerror}"
                raise target_error(
                    Code.FILE_UNWRITABLE, what, where=str(self._path), fix="Nothing was changed"
                ) from fault
            raise

    def drop_unfinished(self) -> None:
        """Remove an incomplete journal. No file was changed under it."""
        self._unfinished.unlink(missing_ok=True)

    def clear(self) -> None:
        self._path.unlink(missing_ok=True)


_HOLDER = ".holder"


@contextmanager
def alone(path: Path, root: Path) -> Iterator[None]:
    """Hold the lock file ``path``, which is not removed. Raises TargetError naming the run that holds it."""
    filelock = import_module("filelock")  # imported late: only runs that write need it
    lock = filelock.FileLock(path)
    # A separate file: on some systems a locked file cannot be read.
    holder = path.with_name(path.name + _HOLDER)
    try:
        lock.acquire(blocking=False)
    except filelock.Timeout:
        what = f"another run of osm-gitops is using this repository{_named(holder)}"
        fix = "Wait until it ends, then run again"
        raise target_error(Code.ANOTHER_RUN, what, where=str(root), fix=fix) from None
    except (OSError, NotImplementedError) as fault:
        raise target_error(Code.NO_FILE_LOCKS, "its file system does not support locks", where=str(path)) from fault
    try:
        holder.write_text(f"process {os.getpid()} on {platform.node()}", encoding="utf-8")
        yield
    finally:
        holder.unlink(missing_ok=True)
        lock.release()


def _named(holder: Path) -> str:
    try:
        return f": {holder.read_text(encoding='utf-8')}"
    except OSError:  # the run is starting or ending
        return ""
