"""Run programs that print credentials, with limits of time and output; their child processes are ended too."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from time import monotonic
from typing import Final

_PIECE: Final = 1 << 16


@dataclass(frozen=True, slots=True)
class Limits:
    """``seconds`` of run time, and ``most`` bytes of output."""

    seconds: float
    most: int


@dataclass(frozen=True, slots=True)
class Ended:
    """The exit status of a program, and its stdout."""

    status: int
    out: bytes = field(repr=False)


class ProgramLimitError(Exception):
    """A program reached a limit. The message follows the name of the program."""


def run_program(
    words: Sequence[str], environment: Mapping[str, str], limits: Limits, *, terminal: bool = False
) -> Ended:
    """Run a program without input, and discard its stderr.

    With ``terminal`` it may ask for a passphrase on the user's terminal. Without, it runs in its own process group,
    which is ended at a limit and when the run is interrupted. Raises ProgramLimitError, OSError if it cannot be
    started, and ValueError for invalid arguments.
    """
    ours, theirs = os.pipe()
    try:
        process = subprocess.Popen(  # noqa: S603 - from the user's settings
            words,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=theirs,
            stderr=subprocess.DEVNULL,
            start_new_session=not terminal,
        )
    except BaseException:
        os.close(ours)
        raise
    finally:
        os.close(theirs)
    out = bytearray()
    # A thread: only Unix can wait for a pipe with a timeout.
    reading = threading.Thread(target=_read, args=(ours, out, limits.most), daemon=True)
    until = monotonic() + limits.seconds
    try:
        reading.start()
        reading.join(limits.seconds)
        if reading.is_alive():
            raise ProgramLimitError(f"gave no answer within {limits.seconds:g} s")
        if len(out) > limits.most:
            raise ProgramLimitError(f"printed more than {limits.most >> 10} KiB")
        process.wait(max(0.0, until - monotonic()))
    except subprocess.TimeoutExpired:
        raise ProgramLimitError(f"did not end within {limits.seconds:g} s") from None
    finally:
        if process.returncode is None and not terminal:
            end_session(process)
        elif process.returncode is None:
            process.kill()
            process.wait()
    return Ended(process.returncode, bytes(out))


def _read(pipe: int, into: bytearray, most: int) -> None:
    try:
        while len(into) <= most and (piece := os.read(pipe, _PIECE)):
            into += piece
    finally:
        os.close(pipe)


def end_session(process: subprocess.Popen[bytes]) -> None:
    """Kill a session leader with all processes of its session, and wait for it."""
    # The id is not reused before wait(), nor while the session has processes.
    if hasattr(os, "killpg"):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    process.wait()
