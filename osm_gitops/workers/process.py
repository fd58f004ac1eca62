"""One worker process, as its parent sees it."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from typing import Final

from osm_gitops.errors import InputError, Problem
from osm_gitops.workers.limits import MEBIBYTE
from osm_gitops.workers.messages import (
    LARGEST_ANSWER,
    LENGTH,
    Answer,
    Encoded,
    Forget,
    OutOfMemory,
    Ready,
    Start,
    frame,
    read_answer,
)

# The child finds the program where this process found it, whatever its own environment would say.
_PROGRAM: Final = "import sys; sys.path[:] = sys.argv[1:]; from osm_gitops.workers.child import main; main()"
_PATIENCE: Final = 10
"""How much longer than its CPU time a call may take: the machine is shared, and the worker may have to wait."""
_PART: Final = 1 << 20
_START: Final = 60
"""Seconds, as for a call, for a worker to start."""
_NO_ANSWER: Final = "its worker process gave no answer that can be read"
_SIMPLER: Final = "Make the profile, overlay or script simpler"
_MORE_TIME: Final = f"{_SIMPLER}, or raise --max-render-seconds"
_MORE_MEMORY: Final = f"{_SIMPLER}, or raise --max-render-memory"


class LimitReached(InputError):
    """A call that a limit ended; ``memory``: it was that of memory."""

    def __init__(self, what: str, fix: str = _SIMPLER, *, memory: bool = False) -> None:
        super().__init__([Problem(what, fix=fix)])
        self.memory = memory


class Worker:
    """A process that answers requests in their order. Not for several threads at a time."""

    def __init__(self, modules: Iterable[str], memory: int) -> None:
        self.asked_for = frozenset(modules)
        self.memory = memory
        self.states: set[int] = set()
        self.answered = 0
        self.worn = False
        self._modules: frozenset[str] | None = None
        self._parent = os.getpid()
        self._waiting: list[int] = []  # the seconds of each request
        self._outgoing = bytearray()
        self._incoming = bytearray()
        # No environment, no open file but the two pipes, no signals of the terminal: it ends when its input ends.
        self._process = subprocess.Popen(  # noqa: S603 - this Python, with a program of ours
            [sys.executable, "-I", "-c", _PROGRAM, *map(os.path.abspath, sys.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={},
            cwd="/",
            start_new_session=True,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._input, self._output = self._process.stdin.fileno(), self._process.stdout.fileno()
        os.set_blocking(self._input, False)
        os.set_blocking(self._output, False)
        self._outgoing += frame(Start(tuple(sorted(self.asked_for)), memory))

    @property
    def busy(self) -> bool:
        """Whether an answer is due."""
        return bool(self._waiting)

    @property
    def usable(self) -> bool:
        """Whether it can take another request. The pipes of a fork are the parent's."""
        return self._parent == os.getpid() and self._process.returncode is None and not self.worn

    @property
    def modules(self) -> frozenset[str]:
        """The modules whose functions it can call; waits until it is ready. Raises LimitReached where it cannot be."""
        if self._modules is None:
            message = self._message(_START)
            if not isinstance(message, Ready):
                self.end()
                raise LimitReached(_NO_ANSWER)
            self._modules = message.modules
        return self._modules

    def send(self, request: Encoded) -> None:
        """Queue a request; it is on its way once :meth:`flush` or :meth:`receive` was called."""
        self._outgoing += request.data
        self._waiting.append(request.seconds)

    def forget(self, series: set[int]) -> None:
        """Drop states that are needed no more."""
        gone = self.states & series
        if gone:
            self.states -= gone
            self._outgoing += frame(Forget(tuple(gone)))

    def receive(self) -> Answer:
        """The answer to the oldest request. Raises LimitReached where the worker did not give one."""
        assert self.modules
        answer = self._message(self._waiting[0])
        if not isinstance(answer, Answer):
            self.end()
            raise LimitReached(_NO_ANSWER)
        del self._waiting[0]
        self.answered += 1
        self.worn = self.worn or answer.worn
        if isinstance(answer.outcome, OutOfMemory):
            self.end()
            what = f"it needs more than {self.memory // MEBIBYTE} MiB of memory"
            raise LimitReached(what, _MORE_MEMORY, memory=True)
        return answer

    def flush(self) -> None:
        """Send as much as the worker takes now."""
        try:
            while self._outgoing:
                del self._outgoing[: os.write(self._input, self._outgoing[:_PART])]
        except (BlockingIOError, BrokenPipeError):
            return

    def end(self) -> None:
        """Kill it, unless this is a fork of its parent."""
        if self._parent != os.getpid():
            return
        if self._process.returncode is None:
            self._process.kill()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            pipe.close()
        self._process.wait()

    def _message(self, seconds: int) -> Answer | Ready | None:
        return read_answer(self._next_frame(seconds))

    def _next_frame(self, seconds: int) -> bytes:
        deadline = time.monotonic() + _PATIENCE * seconds
        while (length := self._frame_length()) is None or len(self._incoming) < LENGTH.size + length:
            if length is not None and length > LARGEST_ANSWER:
                self.end()
                raise LimitReached(f"it makes more than {LARGEST_ANSWER // MEBIBYTE} MiB of output")
            self._wait(deadline, seconds)
        end = LENGTH.size + length
        data = bytes(self._incoming[LENGTH.size : end])
        del self._incoming[:end]
        return data

    def _frame_length(self) -> int | None:
        if len(self._incoming) < LENGTH.size:
            return None
        (length,) = LENGTH.unpack_from(self._incoming)
        return int(length)

    def _wait(self, deadline: float, seconds: int) -> None:
        """Read and write what can be; raises LimitReached where the worker has ended, or the deadline passes."""
        left = deadline - time.monotonic()
        writes = [self._input] if self._outgoing else []
        readable, writable, _ = select.select([self._output], writes, [], max(left, 0))
        if writable:
            self.flush()
        if readable:
            data = os.read(self._output, _PART)
            if not data:
                raise self._ended(seconds)
            self._incoming += data
        elif not writable and left <= 0:
            self.end()
            raise LimitReached(f"it takes longer than {_PATIENCE * seconds} s", _MORE_TIME)

    def _ended(self, seconds: int) -> LimitReached:
        """Why the worker ended by itself."""
        code = self._process.wait()
        self.end()
        if code == -signal.SIGXCPU:
            return LimitReached(f"it needs more than {seconds} s of CPU time", _MORE_TIME)
        if code == -signal.SIGKILL:  # the system's own guard against processes that take all memory
            return LimitReached("the system ended its worker process, usually for too much memory", memory=True)
        if code < 0:
            return LimitReached(f"its worker process ended with signal {-code} ({_signal_name(-code)})")
        return LimitReached(f"its worker process ended with exit code {code}")


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return "unknown"
