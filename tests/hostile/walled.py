"""A function or a command line in a child process with limits of CPU time and memory, and what became of it.

The limits are those of the operating system: what exceeds them is killed (SIGXCPU) or gets a MemoryError,
and :meth:`Outcome.faults` names it. Nothing here measures time to judge by it.
"""

from __future__ import annotations

import os
import pickle
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import traceback
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final, NoReturn

from osm_gitops.errors import OsmGitopsError

SECONDS: Final = 20
"""Three times what the largest inputs take on a slow machine: it tells what grows without bounds, not what is slow."""
MEMORY: Final = 600 << 20
_PATIENCE: Final = 12
"""A child that waits, or shares the machine, may take so many times its CPU time before it counts as hanging."""
_SIGNS: Final = ("this is a bug", "Traceback", "MemoryError", "RecursionError", "Error: .")
_LAUNCHER: Final = """
import sys
from tests.hostile.walled import limit
import osm_gitops.commands.app
from osm_gitops.__main__ import main
limit(int(sys.argv[1]), int(sys.argv[2]))
del sys.argv[1:3]
main()
"""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a child: ``code`` is its exit code, ``signal`` what killed it (0: nothing did).

    ``value`` is what the function returned; ``cpu`` are seconds, of its own children too; ``peak`` is the largest
    resident set of any of them, in bytes.
    """

    code: int
    signal: int
    out: str
    err: str
    cpu: float
    peak: int
    value: Any = None

    @property
    def faults(self) -> list[str]:
        """What no input may do to the program: a limit met, a crash, a bug. Empty where all went well."""
        found = [f"killed by {signal.Signals(self.signal).name}"] if self.signal else []
        found += [f"said {sign!r}: {self.err[-2000:]}" for sign in _SIGNS if sign in self.err]
        if self.code not in {0, 1, 2} and not self.signal:
            found.append(f"exit code {self.code}: {self.err[-2000:]}")
        return found


def walled_cli(
    *arguments: str,
    cwd: Path | str | None = None,
    seconds: int = SECONDS,
    memory: int = MEMORY,
    env: Mapping[str, str] | None = None,
) -> Outcome:
    """Run the command line with ``arguments`` as a process of its own.

    It has ``seconds`` of CPU time, and ``memory`` bytes of addresses beyond what its modules take.
    """
    root = str(Path(__file__).parents[2])
    environment = {**os.environ, **(env or {}), "PYTHONPATH": root}
    command = [sys.executable, "-c", _LAUNCHER, str(seconds), str(memory), *arguments]
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = subprocess.Popen(
            command, cwd=cwd, env=environment, stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True
        )
        outcome = _awaited(child.pid, seconds, out, err)
        child.returncode = outcome.code
    return outcome


def walled(function: Callable[..., Any], *args: Any, seconds: int = SECONDS, memory: int = MEMORY) -> Outcome:
    """Call ``function(*args)`` in a fork of this process, under the same limits.

    Its value comes back in ``value`` where it can be pickled. An error that carries problems gives exit code 1
    and their sentences in ``err``; any other exception its traceback.
    """
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err, tempfile.TemporaryFile() as result:
        sys.stdout.flush()
        sys.stderr.flush()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # other threads of ours hold nothing that a child needs
            pid = os.fork()
        if not pid:
            _child(lambda: function(*args), (out, err, result), seconds, memory)
        outcome = _awaited(pid, seconds, out, err)
        result.seek(0)
        data = result.read()
    return outcome if not data else _with_value(outcome, pickle.loads(data))


def limit(seconds: int, memory: int) -> None:
    """Bound this process: CPU seconds, and bytes of addresses beyond those that it has."""
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    taken = Path("/proc/self/statm")
    if taken.exists():
        size = int(taken.read_text(encoding="ascii").split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (size + memory, size + memory))


def _child(call: Callable[[], Any], files: tuple[IO[bytes], ...], seconds: int, memory: int) -> NoReturn:
    out, err, result = files
    code = 0
    try:
        os.setsid()
        os.dup2(out.fileno(), 1)
        os.dup2(err.fileno(), 2)
        sys.stdout = open(1, "w", encoding="utf-8", errors="surrogateescape", closefd=False)  # noqa: SIM115
        sys.stderr = open(2, "w", encoding="utf-8", errors="surrogateescape", closefd=False)  # noqa: SIM115
        limit(seconds, memory)
        value = call()
        try:
            result.write(pickle.dumps(value))
        except (pickle.PicklingError, TypeError, AttributeError):
            result.truncate(0)
        result.flush()
    except OsmGitopsError as refused:
        code = 1
        print(refused, file=sys.stderr)
    except BaseException:  # noqa: BLE001 - a fork of the test's process must never run on in the test
        code = 3
        traceback.print_exc()
    finally:
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(code)


def _awaited(pid: int, seconds: int, out: IO[bytes], err: IO[bytes]) -> Outcome:
    """The outcome of a child that leads a session of its own; all of it ends with the child."""
    timer = threading.Timer(seconds * _PATIENCE, _kill, [pid])
    timer.start()
    try:
        _, status, usage = os.wait4(pid, 0)
    finally:
        timer.cancel()
    _kill(pid)
    said = []
    for file in (out, err):
        file.seek(0)
        said.append(file.read().decode("utf-8", "surrogateescape"))
    struck = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
    code = -struck if struck else os.WEXITSTATUS(status)
    return Outcome(code, struck, said[0], said[1], usage.ru_utime + usage.ru_stime, usage.ru_maxrss << 10)


def _kill(session: int) -> None:
    try:
        os.killpg(session, signal.SIGKILL)
    except ProcessLookupError:
        return  # nothing of it is left


def _with_value(outcome: Outcome, value: Any) -> Outcome:
    return Outcome(outcome.code, outcome.signal, outcome.out, outcome.err, outcome.cpu, outcome.peak, value)
