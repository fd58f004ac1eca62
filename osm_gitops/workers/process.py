"""One worker process, controlled by its parent."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Iterable
from queue import Empty, SimpleQueue
from typing import IO, Final

from osm_gitops.bounded.programs import end_session
from osm_gitops.errors import Code, InputError, Problem
from osm_gitops.workers.limits import LIMITS_CPU_TIME, MEBIBYTE
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

# The child gets the module search path of this process, regardless of its environment.
_PROGRAM: Final = "from sys import argv, path; path[:] = argv[1:]; from osm_gitops.workers.child import main; main()"
_TIMEOUT_FACTOR: Final = 10
"""Factor between a call's CPU time and its timeout, since the machine is shared. If the system cannot limit CPU time,
the timeout is the CPU time."""
_NEEDED: Final = ("SYSTEMROOT",)
"""Variables that Python on Windows needs to start."""
SIGXCPU: Final = getattr(signal, "SIGXCPU", 24)
SIGKILL: Final = getattr(signal, "SIGKILL", 9)
_PART: Final = 1 << 20
_START: Final = 60
"""CPU seconds for the start of a worker."""
_NO_ANSWER: Final = "its worker process gave no valid answer"
_SIMPLER: Final = "Make the profile, overlay or script simpler"
_MORE_TIME: Final = f"{_SIMPLER}, or raise --max-render-seconds"
_MORE_MEMORY: Final = f"{_SIMPLER}, or raise --max-render-memory"


class LimitReached(InputError):
    """A call reached a limit; ``memory``: that of memory, ``time``: that of time."""

    def __init__(self, what: str, fix: str = _SIMPLER, *, memory: bool = False, time: bool = False) -> None:
        super().__init__([Problem(Code.WORK_LIMIT, what, fix=fix)])
        self.memory = memory
        self.time = time

    def named(self, doing: str, *, where: str, about: str = "") -> tuple[Problem, ...]:
        """Its problems, with the task (``rendering``) and the place."""
        return tuple(
            Problem(each.code, f"{doing} failed: {each.what}", where, about, fix=each.fix) for each in self.problems
        )


class Worker:
    """A process that answers requests in order. Not thread-safe.

    It may use ``memory`` additional bytes, and has no rights. With ``None`` it has all rights of this process, for work
    that this process would otherwise do itself. ``clean``: nothing of the content that it got ran in it so far.
    """

    def __init__(self, modules: Iterable[str], memory: int | None) -> None:
        self.asked_for = frozenset(modules)
        self.memory = memory
        self.states: set[int] = set()
        self.answered = 0
        self.worn = False
        self.clean = True
        self._modules: frozenset[str] | None = None
        self._parent = os.getpid()
        self._waiting: deque[int] = deque()  # the seconds of each request
        self._outgoing: SimpleQueue[bytes | None] = SimpleQueue()
        self._incoming: SimpleQueue[bytes | None] = SimpleQueue()
        walled = memory is not None
        # No open files except two pipes, no signals of the terminal: it ends with its input.
        self._process = subprocess.Popen(  # noqa: S603 - this Python, with a program of ours
            [sys.executable, "-I", "-c", _PROGRAM, *map(os.path.abspath, sys.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL if walled else None,
            env={name: os.environ[name] for name in _NEEDED if name in os.environ} if walled else None,
            cwd="/" if walled else None,
            start_new_session=True,
            bufsize=0,
        )
        # Threads: the only portable way to read and write pipes at the same time.
        self._threads = [threading.Thread(target=each, daemon=True) for each in (self._read, self._write)]
        for thread in self._threads:
            thread.start()
        self._outgoing.put(frame(Start(tuple(sorted(self.asked_for)), memory)))

    @property
    def busy(self) -> bool:
        """Whether an answer is pending."""
        return bool(self._waiting)

    @property
    def usable(self) -> bool:
        """Whether it can take another request. A fork must not use its parent's pipes."""
        return self._parent == os.getpid() and self._process.returncode is None and not self.worn

    @property
    def modules(self) -> frozenset[str]:
        """The imported modules; waits until the worker is ready. Raises LimitReached if it cannot start."""
        return self._ready()

    def _ready(self) -> frozenset[str]:
        if self._modules is None:
            message = self._message(_START)
            if not isinstance(message, Ready):
                self.end()
                raise LimitReached(_NO_ANSWER)
            self._modules = message.modules
        return self._modules

    def send(self, request: Encoded) -> None:
        """Send a request. :meth:`receive` returns answers in the order of requests."""
        self._waiting.append(request.seconds)
        self._outgoing.put(request.data)

    def forget(self, series: set[int]) -> None:
        """Drop states."""
        gone = self.states & series
        if gone:
            self.states -= gone
            self._outgoing.put(frame(Forget(tuple(gone))))

    def receive(self) -> Answer:
        """The answer to the oldest request. Raises LimitReached if there is none."""
        self._ready()
        seconds = self._waiting[0]
        # The time of a worker with all rights is not that of the processor: it waits for servers.
        answer = self._message(seconds, seconds if self.memory is None else None)
        if not isinstance(answer, Answer):
            self.end()
            raise LimitReached(_NO_ANSWER)
        self._waiting.popleft()
        self.answered += 1
        self.worn = self.worn or answer.worn
        if isinstance(answer.outcome, OutOfMemory):
            self.end()
            most = f"more than {self.memory // MEBIBYTE} MiB of memory" if self.memory else "more memory than there is"
            what = f"it needs {most}"
            raise LimitReached(what, _MORE_MEMORY, memory=True)
        return answer

    def end(self) -> None:
        """Kill the process, unless this is a fork of its parent."""
        if self._parent != os.getpid():
            return
        if self._process.returncode is None:
            end_session(self._process)
        self._outgoing.put(None)
        for thread in self._threads:
            thread.join()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            pipe.close()

    def _message(self, seconds: int, timeout: int | None = None) -> Answer | Ready | None:
        if timeout is None:
            timeout = _TIMEOUT_FACTOR * seconds if LIMITS_CPU_TIME else seconds
        try:
            data = self._incoming.get(timeout=timeout)
        except Empty:
            self.end()
            raise LimitReached(f"it takes longer than {timeout} s", _MORE_TIME, time=True) from None
        if data is None:
            raise self._ended(seconds)
        return read_answer(data, walled=self.memory is not None)

    def _ended(self, seconds: int) -> LimitReached:
        """The reason why the worker ended."""
        code = self._process.wait()
        self.end()
        if code == -SIGXCPU:
            return LimitReached(f"it needs more than {seconds} s of CPU time", _MORE_TIME)
        if code == -SIGKILL:  # the system's out-of-memory killer
            return LimitReached("the system ended its worker process, usually for too much memory", memory=True)
        if code < 0:
            return LimitReached(f"its worker process ended with signal {-code} ({_signal_name(-code)})")
        return LimitReached(f"its worker process ended with exit code {code}")

    def _read(self) -> None:
        """In a thread: frames from the worker, and ``None`` at their end."""
        output = self._process.stdout
        assert output is not None
        while (head := _exactly(output, LENGTH.size)) is not None:
            (length,) = LENGTH.unpack(head)
            data = _exactly(output, length) if length <= LARGEST_ANSWER else b""
            if data is None:
                break
            self._incoming.put(data)  # too large frames are invalid answers
            if length > LARGEST_ANSWER:
                return
        self._incoming.put(None)

    def _write(self) -> None:
        """In a thread: frames to the worker, until there are no more or it has ended."""
        stream = self._process.stdin
        assert stream is not None
        while (data := self._outgoing.get()) is not None:
            view = memoryview(data)
            try:
                while view:
                    view = view[stream.write(view) :]
            except OSError:  # the worker has ended, which the other thread detects too
                return


def _exactly(stream: IO[bytes], size: int) -> bytes | None:
    """Read this number of bytes; ``None`` if the stream ends before."""
    data = bytearray()
    while len(data) < size:
        part = stream.read(min(size - len(data), _PART))
        if not part:
            return None
        data += part
    return bytes(data)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return "unknown"
