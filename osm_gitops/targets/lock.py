"""One run at a time: a lock that the system frees when its holder dies, on every system."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path

from osm_gitops.errors import Code, Problem, TargetError

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
