"""One run at a time: a lock that the system frees when its holder dies, on every system."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path

from osm_gitops.errors import Problem, TargetError


@contextmanager
def alone(path: Path, root: Path) -> Iterator[None]:
    """Hold the lock file ``path``, which stays afterwards; refuse where another run holds it."""
    filelock = import_module("filelock")  # imported here: only who changes something needs it
    lock = filelock.FileLock(path)
    try:
        lock.acquire(blocking=False)
    except filelock.Timeout:
        raise TargetError(
            [Problem("another run of osm-gitops works here", where=str(root), fix="Wait for its end, then run again")]
        ) from None
    except (OSError, NotImplementedError) as fault:
        raise TargetError([Problem("its file system gives no locks", where=str(path))]) from fault
    try:
        yield
    finally:
        lock.release()
