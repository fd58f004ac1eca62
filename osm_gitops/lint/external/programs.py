"""Find and run external programs within limits of time, memory and number, and without our environment."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import IO, Final, TypeVar

from osm_gitops.bounded.programs import end_session
from osm_gitops.children import plain_path

Item = TypeVar("Item")
Answer = TypeVar("Answer")

CPU_SECONDS: Final = 10
"""CPU time of a program for one file."""
_WAITING: Final = 6
"""Factor for the elapsed time, because the machine may be busy."""
_MEMORY: Final = 2 << 30
_OUTPUT: Final = 16 << 20
_SHELL: Final = "/bin/sh"
_NOT_STARTED: Final = frozenset({126, 127})  # the shell's own codes
# Limits are set by the shell before it becomes the program: no code of ours runs between fork and exec, where threads
# are, and GHC's runtime, which reserves what it may get, sees them when it starts.
_LIMITED: Final = '{ ulimit -c 0; ulimit -S -t "$1"; ulimit -v "$2"; ulimit -f "$3"; } 2>/dev/null; shift 3; exec "$@"'
_SIDE_BY_SIDE: Final = 4
# The environment of programs: no tokens, and no settings that change their output.
_PLAIN: Final = {"LC_ALL": "C.UTF-8", "LANG": "C.UTF-8", "TZ": "UTC", "NO_COLOR": "1"}


@dataclass(frozen=True, slots=True)
class CompletedProcess:
    """The output of a program; ``code`` is ``None`` if it was stopped, and ``stopped`` says why."""

    code: int | None
    output: str
    errors: str
    stopped: str = ""


def find_program(name: str, environment: Mapping[str, str]) -> str | None:
    """The program on the PATH of ``environment``, or beside our Python, where extras install programs."""
    beside = str(Path(sys.executable).parent)
    return shutil.which(name, path=plain_path(environment)) or shutil.which(name, path=beside)


def run(
    words: Sequence[str], folder: Path, environment: Mapping[str, str], seconds: float = CPU_SECONDS
) -> CompletedProcess:
    """Run a program in ``folder``, which is also its home and its folder for temporary files.

    ``seconds`` is its CPU time. At the end all of its child processes are killed.
    """
    plain = {**_PLAIN, "PATH": plain_path(environment), "HOME": str(folder), "TMPDIR": str(folder)}
    limits = [str(ceil(seconds)), str(_MEMORY >> 10), str(_OUTPUT >> 9)]
    limited = [_SHELL, "-c", _LIMITED, _SHELL, *limits, *words]
    with TemporaryFile() as output, TemporaryFile() as errors:
        try:
            child = subprocess.Popen(  # noqa: S603 -- words of ours and names of our own files
                limited if Path(_SHELL).exists() else words,
                cwd=folder,
                env=plain,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=errors,
                start_new_session=True,
            )
        except OSError as fault:
            return CompletedProcess(None, "", "", f"it cannot be started: {fault.strerror}")
        try:
            code = child.wait(seconds * _WAITING)
        except subprocess.TimeoutExpired:
            return CompletedProcess(None, "", "", f"it takes more than {seconds * _WAITING} s")
        finally:
            end_session(child)
        if code in _NOT_STARTED:
            return CompletedProcess(None, "", "", "it cannot be started")
        if code < 0:
            return CompletedProcess(None, "", "", _why(-code, seconds))
        return CompletedProcess(code, _text(output), _text(errors))


# The limits of run hold for each program: the shell passes them on, and they count by process.
_EACH: Final = (
    'n=$1; shift; i=0; while [ "$i" -lt "$n" ]; do "$@" "$i.sh" >/dev/null 2>"$i.err"; echo "$?"; i=$((i + 1)); done'
)
_OF_SIGNAL: Final = 128  # the shell adds this to the number of the signal that ended a program
_SIGNALS: Final = frozenset(map(int, signal.Signals))


def run_each(
    words: Sequence[str], count: int, folder: Path, environment: Mapping[str, str]
) -> list[CompletedProcess] | None:
    """Run a program on each of the files ``0.sh``, ``1.sh``, … of ``folder``, without its output; ``None`` without an
    answer. One shell starts all of them, which takes half the time of :func:`run` for each."""
    ran = run([_SHELL, "-c", _EACH, _SHELL, str(count), *words], folder, environment)
    codes = [int(line) for line in ran.output.split()]
    if ran.code != 0 or len(codes) != count:
        return None
    found = []
    for number, code in enumerate(codes):
        if code in _NOT_STARTED:
            found.append(CompletedProcess(None, "", "", "it cannot be started"))
        elif code - _OF_SIGNAL in _SIGNALS:
            found.append(CompletedProcess(None, "", "", _why(code - _OF_SIGNAL, CPU_SECONDS)))
        else:
            with (folder / f"{number}.err").open("rb") as errors:
                found.append(CompletedProcess(code, "", _text(errors)))
    return found


def _why(number: int, seconds: float) -> str:
    name = signal.Signals(number).name
    reasons = {
        "SIGXCPU": f"it takes more than {seconds} s of CPU time",
        "SIGXFSZ": f"it prints more than {_OUTPUT >> 20} MiB",
    }
    return reasons.get(name, f"{name} stopped it")


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read(_OUTPUT).decode(errors="replace")


@contextmanager
def scratch() -> Iterator[Path]:
    """A private temporary folder."""
    with TemporaryDirectory(prefix="osm-gitops-validate-") as folder:
        yield Path(folder)


def run_parallel(work: Callable[[Item], Answer], items: Sequence[Item]) -> list[Answer]:
    """The answers for all items in order; a few run at the same time."""
    if len(items) < 2:
        return [work(item) for item in items]
    with ThreadPoolExecutor(min(_SIDE_BY_SIDE, os.cpu_count() or 1, len(items))) as pool:
        return list(pool.map(work, items))


def answered(
    ask: Callable[[Sequence[Item]], list[Answer] | None], alone: Callable[[Item], list[Answer]], items: Sequence[Item]
) -> list[Answer]:
    """All answers for a batch; if the program fails on the batch, it runs on each item ``alone``.

    So one file that keeps a program busy does not prevent the check of others.
    """
    found = ask(items) if len(items) > 1 else None
    return found if found is not None else [answer for item in items for answer in alone(item)]


def batches(items: Sequence[Item], size: int) -> list[Sequence[Item]]:
    """The items, ``size`` at a time."""
    return [items[start : start + size] for start in range(0, len(items), size)]
