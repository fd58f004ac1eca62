"""A crew: processes with all rights of this one, which work side by side.

It is for work that this process would otherwise do itself. Content of strangers goes from there into workers with
limits, as it goes from here.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import islice
from threading import Lock
from typing import Any, Final

from osm_gitops.errors import OsmGitopsError
from osm_gitops.workers.calls import value_or_error
from osm_gitops.workers.messages import Encoded, Request, encode
from osm_gitops.workers.process import LimitReached, Worker

_STATE: Final = 1  # each process has one state
_NO_LIMIT: Final = 10**9  # seconds
_AHEAD: Final = 4
"""Calls per process that are encoded before they start, and results that wait for earlier ones."""


@dataclass(slots=True)
class Crew:
    """``size`` processes, started on demand. Each makes its state by ``make(*arguments)``, which calls get first.

    A call that takes more than ``seconds`` is cut off: its process is killed, with all that it started.
    """

    make: Callable[..., Any]
    arguments: tuple[Any, ...]
    size: int
    seconds: int | None = None
    _idle: deque[Worker] = field(default_factory=deque)
    _started: list[Worker] = field(default_factory=list)
    _over: bool = False
    _lock: Lock = field(default_factory=Lock)

    def map(self, function: Callable[..., Any], calls: Iterable[tuple[Any, ...]]) -> Generator[Any, None, None]:
        """``function(state, *arguments)`` for each of ``calls``, in their order: its result, its error of this package,
        or LimitReached. Raises UnexpectedError for a bug."""
        making = encode(Request(self.make, self.arguments, _NO_LIMIT, _STATE, makes=True))
        seconds = _NO_LIMIT if self.seconds is None else self.seconds
        requests = (encode(Request(function, each, seconds, _STATE)) for each in calls)
        waiting: deque[Future[Any]] = deque()
        with ThreadPoolExecutor(self.size) as threads:  # a thread waits for each process
            try:
                for request in islice(requests, _AHEAD * self.size):
                    waiting.append(threads.submit(self._done, making, request))
                while waiting:
                    yield waiting.popleft().result()
                    for request in islice(requests, 1):
                        waiting.append(threads.submit(self._done, making, request))
            finally:
                with self._lock:
                    self._over = True
                for worker in self._started:
                    worker.end()
                threads.shutdown(cancel_futures=True)

    def _done(self, making: Encoded, request: Encoded) -> Any:
        try:
            worker = self._idle.pop() if self._idle else self._new(making)
            if isinstance(worker, OsmGitopsError):
                return worker
            worker.send(request)
            answer = worker.receive()
        except LimitReached as reached:
            return reached
        self._idle.append(worker)
        return value_or_error(answer)

    def _new(self, making: Encoded) -> Worker | OsmGitopsError:
        """A process with its state, or why it has none."""
        with self._lock:
            if self._over:
                raise LimitReached("the run is over")
            worker = Worker(making.modules, None)
            self._started.append(worker)
        worker.send(making)
        failed = value_or_error(worker.receive())
        return failed if isinstance(failed, OsmGitopsError) else worker
