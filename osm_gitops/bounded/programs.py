"""Programs that print credentials: run with a limit in time and output, and ended with all that they started."""

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
    """``seconds`` until a program must have ended, ``most`` bytes that it may print."""

    seconds: float
    most: int


@dataclass(frozen=True, slots=True)
class Ended:
    """How a program ended, and what it printed on stdout."""

    status: int
    out: bytes = field(repr=False)


class ProgramLimitError(Exception):
    """A program that met a limit; the message continues a sentence that begins with its name."""


def run_program(
    words: Sequence[str], environment: Mapping[str, str], limits: Limits, *, terminal: bool = False
) -> Ended:
    """Run a program to its end, without input; what it writes to stderr is dropped.

    With ``terminal`` it may ask the user's terminal for a passphrase; without, it and its children are a process group
    of their own, which ends as a whole at a limit and when the run is interrupted.
    Raises ProgramLimitError, OSError where it cannot be started, ValueError for words that no program can be given.
    """
    ours, theirs = os.pipe()
    try:
        process = subprocess.Popen(  # noqa: S603 - what the user's own settings name
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
    # A thread that reads, as no system but Unix can wait for a pipe with a time limit.
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
    """Kill a program that leads a session of its own, with all that it has started there, and wait for it."""
    # What is not waited for yet keeps its id, and so does a session in which something is left.
    if hasattr(os, "killpg"):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    process.wait()
