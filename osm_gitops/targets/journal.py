"""One run at a time in a repository, and a journal of the files that are about to change, so that a killed run can be
finished or undone.

The lock is one that the system frees when its holder dies. Before a file is touched, a journal in ``.git/osm-gitops``
names what each file was and will be. A run that is killed leaves the branch as before or as after; the next run brings
the files that are still in one of those two states back to the branch. A file in any third state was edited by someone:
it is never touched.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path

from osm_gitops.bounded.files import LARGE, read_file
from osm_gitops.errors import Code, Problem, TargetError
from osm_gitops.git.repository import Repository
from osm_gitops.targets.files import remove_temporary_beside


class JournaledFiles:
    """The files of one work tree that we change. Paths start at its root; contents go by blob ids."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._journal = _Journal(repository.own_folder() / "journal.json")
        self._hash = repository.hash_name()

    def note(self, after: Mapping[str, str | None]) -> None:
        """Write down what the files are and what they will be (``None``: no file)."""
        self._journal.write({path: (self.content_id(path), state) for path, state in after.items()})

    def done(self) -> None:
        """Nothing is left to finish or undo."""
        self._journal.clear()

    def mend(self) -> None:
        """Finish or undo what a killed run left: files in a state that it knew are set to the branch's."""
        self._repository.remove_stale_folders()
        self._journal.drop_unfinished()
        entries = self._journal.read()
        if entries is None:
            return
        remove_temporary_beside(self._repository.root / path for path in entries)
        self._repository.restore([path for path, states in entries.items() if self.content_id(path) in states])
        self._journal.clear()

    def withdraw(self, target: str) -> None:
        """Move the branch back to ``target`` and its files with it; edits in them stay."""
        head = self._repository.head()
        if head is None or head == target:
            return
        paths = self._repository.history.paths_between(target, head)
        self.note({path: self.content_id(path) for path in paths})
        self._repository.move_branch(target, head)
        self.mend()

    def content_id(self, path: str) -> str | None:
        """The id of what a file holds now; ``None`` where there is none."""
        file = self._repository.root / path
        return self.id_of(read_file(file, LARGE)) if file.is_file() and not file.is_symlink() else None

    def id_of(self, content: bytes) -> str:
        """The id that git gives to a file with these bytes."""
        return hashlib.new(self._hash, b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


class _Journal:
    """What each file was and will be, kept until a write is done."""

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
                raise TargetError(
                    [Problem(Code.FILE_UNWRITABLE, what, where=str(self._path), fix="Nothing was changed")]
                ) from fault
            raise

    def drop_unfinished(self) -> None:
        """Remove a journal that was not written to its end; no file was touched under it."""
        self._unfinished.unlink(missing_ok=True)

    def clear(self) -> None:
        self._path.unlink(missing_ok=True)


_HOLDER = ".holder"


@contextmanager
def alone(path: Path, root: Path) -> Iterator[None]:
    """Hold the lock file ``path``, which stays afterwards; refuse where another run holds it, and say which."""
    filelock = import_module("filelock")  # imported here: only who changes something needs it
    lock = filelock.FileLock(path)
    # Beside the lock, for some systems let nobody read a file that is locked.
    holder = path.with_name(path.name + _HOLDER)
    try:
        lock.acquire(blocking=False)
    except filelock.Timeout:
        fix = "Wait for its end, then run again"
        raise TargetError(
            [Problem(Code.ANOTHER_RUN, f"another run of osm-gitops works here{_named(holder)}", str(root), fix=fix)]
        ) from None
    except (OSError, NotImplementedError) as fault:
        raise TargetError([Problem(Code.NO_FILE_LOCKS, "its file system gives no locks", where=str(path))]) from fault
    try:
        holder.write_text(f"process {os.getpid()} on {platform.node()}", encoding="utf-8")
        yield
    finally:
        holder.unlink(missing_ok=True)
        lock.release()


def _named(holder: Path) -> str:
    try:
        return f": {holder.read_text(encoding='utf-8')}"
    except OSError:  # it is about to begin or to end
        return ""
