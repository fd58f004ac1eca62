"""Limits of a worker, and dropping its rights (``docs/explanation/security.md``)."""

from __future__ import annotations

import contextlib
import ctypes
import math
import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

try:
    import resource
except ImportError:  # Windows: only the timeout of the parent limits a call
    resource = None  # type: ignore[assignment]

LIMITS_CPU_TIME: Final = resource is not None
MEBIBYTE: Final = 1 << 20

_NEW_USER_NAMESPACE: Final = 0x10000000  # CLONE_NEWUSER and CLONE_NEWNET of sched.h
_NEW_NETWORK_NAMESPACE: Final = 0x40000000
_NO_NEW_PRIVILEGES: Final = 38  # PR_SET_NO_NEW_PRIVS of prctl.h
_NOBODY: Final = 65534


@dataclass(frozen=True, slots=True)
class Limits:
    """``seconds`` of CPU time per call, and bytes of ``memory`` in addition to an idle worker's."""

    seconds: int = 10
    memory: int = 512 * MEBIBYTE


DEFAULT: Final = Limits()


def drop_rights(memory: int) -> None:
    """Drop rights permanently: more than ``memory`` additional bytes, files, processes and the network.

    No file, socket or pipe can be opened afterwards, so all modules must be imported before.
    """
    if resource is None:
        return
    most = _address_space() + memory
    # Without user namespaces the network stays, but without files the worker cannot open a socket.
    with contextlib.suppress(OSError, AttributeError):
        libc = ctypes.CDLL(None)
        libc.unshare(_NEW_USER_NAMESPACE | _NEW_NETWORK_NAMESPACE)
        libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    if os.geteuid() == 0:  # some limits do not apply to root
        with contextlib.suppress(OSError):
            os.setgroups([])
            os.setgid(_NOBODY)
            os.setuid(_NOBODY)
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_FSIZE, 0)
    _limit(resource.RLIMIT_NPROC, 0)
    _limit(resource.RLIMIT_AS, most)
    _limit(resource.RLIMIT_NOFILE, 0)


def allow_seconds(seconds: int) -> None:
    """Allow this process so many more seconds of CPU time. Then the system ends it with SIGXCPU."""
    if resource is None:
        return
    # The limit is in whole seconds. The hard limit is kept, so that the next call can raise the soft one.
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    until = math.ceil(time.process_time()) + seconds
    resource.setrlimit(resource.RLIMIT_CPU, (until if hard == resource.RLIM_INFINITY else min(until, hard), hard))


def used_memory() -> int:
    """The peak memory of this process in bytes."""
    if resource is None:
        return 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def _limit(which: int, most: int) -> None:
    # macOS does not enforce all of these limits, and a limit below the current use is an error there.
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(which, (most, most))


def _address_space() -> int:
    try:
        pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[0]
    except OSError:
        return used_memory()
    return int(pages) * resource.getpagesize()
