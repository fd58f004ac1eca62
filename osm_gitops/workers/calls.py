"""Call functions in workers, with the same results and errors. Only a call that reaches a limit fails."""

from __future__ import annotations

import atexit
import itertools
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any, Final, Generic, Self, TypeVar

from osm_gitops.errors import OsmGitopsError, UnexpectedError
from osm_gitops.workers.limits import DEFAULT, Limits
from osm_gitops.workers.messages import Answer, Broken, Done, Encoded, Failed, Request, encode, error_kinds
from osm_gitops.workers.process import LimitReached, Worker

R = TypeVar("R")

_AHEAD: Final = 4
"""Pending requests of a series: a worker need not wait for its parent, and few are lost if it ends."""
_IDLE: Final = 2
"""Limit of idle workers."""


class Use(Enum):
    """What calls do with the content that they get, which may be an attacker's.

    ``EXECUTE``: a part of it runs, and the attacker may have taken the worker over afterwards. ``READ``: nothing of it
    runs. ``READ_FIRST``: nothing of it runs, in a worker where nothing ran before, whose answer is as good as if this
    process had done the work: it can be kept for later runs.
    """

    EXECUTE = auto()
    READ = auto()
    READ_FIRST = auto()


@dataclass(slots=True)
class _Pool:
    """Idle workers. Callers own busy ones."""

    idle: list[Worker] = field(default_factory=list)
    forgotten: set[int] = field(default_factory=set)
    lock: threading.RLock = field(default_factory=threading.RLock)

    def take(self, modules: frozenset[str], limits: Limits, series: int, use: Use) -> Worker:
        """A worker with ``modules``: one with the state of ``series``, or any that fits, or a new one."""
        with self.lock:
            usable = [each for each in self.idle if each.usable and each.memory == limits.memory]
            fitting = [each for each in usable if modules <= each.modules and (each.clean or use is not Use.READ_FIRST)]
            # The last one that was used; a clean one is spared if there is another.
            fitting.sort(key=lambda each: (series in each.states, not each.clean))
            found = fitting[-1] if fitting else None
            if found is not None:
                self.idle.remove(found)
                found.forget(self.forgotten)
            # A caller that needs more modules than an idle worker has will need its modules too.
            known = frozenset[str]().union(*(each.asked_for for each in usable))
        found = found or Worker(modules | known, limits.memory)
        found.clean = found.clean and use is not Use.EXECUTE
        return found

    def put(self, worker: Worker) -> None:
        with self.lock:
            if worker.usable and not worker.busy:
                self.idle.append(worker)
            else:
                worker.end()
            while len(self.idle) > _IDLE:
                self.idle.pop(0).end()
            self.forgotten &= set[int]().union(*(each.states for each in self.idle))

    def close(self) -> None:
        with self.lock:
            while self.idle:
                self.idle.pop().end()


_pool: Final = _Pool()
_numbers: Final = itertools.count(1)
atexit.register(_pool.close)


def warm_up(*modules: str, limits: Limits = DEFAULT) -> None:
    """Start a worker that imports these modules in advance."""
    if not _pool.idle:
        _pool.put(Worker(modules, limits.memory))


def end_idle() -> None:
    """End idle workers, to free their memory. Later calls start new ones."""
    _pool.close()


def call(function: Callable[..., R], *arguments: Any, limits: Limits = DEFAULT, use: Use = Use.EXECUTE) -> R:
    """``function(*arguments)`` in a worker. Raises its errors of this package, and LimitReached."""
    request = encode(Request(function, arguments, limits.seconds))
    with _worker(request.modules, limits, use=use) as worker:
        worker.send(request)
        result: R = _value(worker.receive())
    return result


class Series(Generic[R]):
    """Calls on a state that is kept in workers: ``make(*arguments)`` creates it in each worker.

    Calls get the state as first argument. They must not depend on changes by other calls: after a limit was reached the
    state is created again.
    """

    def __init__(
        self, make: Callable[..., R], *arguments: Any, limits: Limits = DEFAULT, use: Use = Use.EXECUTE
    ) -> None:
        self._make = make
        self._arguments = arguments
        self._limits = limits
        self._use = use
        self._number = next(_numbers)
        self._modules: frozenset[str] = frozenset()  # modules for creating the state, once they are known
        weakref.finalize(self, _pool.forgotten.add, self._number)

    def ask(self, function: Callable[..., Any], *arguments: Any, times: int = 1) -> Any:
        """``function(state, *arguments)`` within ``times`` the CPU time of a call. Raises its errors of this package,
        and LimitReached."""
        (found,) = self.map(function, [arguments], times=times)
        if isinstance(found, OsmGitopsError):
            raise found
        return found

    def map(self, function: Callable[..., Any], calls: Iterable[tuple[Any, ...]], *, times: int = 1) -> Iterator[Any]:
        """``function(state, *arguments)`` for each of ``calls``, in order: its result, or its error, or LimitReached.
        Raises errors of creating the state.
        """
        seconds = self._limits.seconds * times
        waiting = (encode(Request(function, arguments, seconds, self._number)) for arguments in calls)
        again: deque[Encoded] = deque()
        while (request := _next(again, waiting)) is not None:
            again.appendleft(request)
            # The state is large: encode it only for a worker without it.
            making = None if self._modules else self._making()
            with _worker(request.modules | self._modules, self._limits, self._number, self._use) as worker:
                yield from self._results(worker, making, again, waiting)

    def _results(
        self, worker: Worker, making: Encoded | None, again: deque[Encoded], waiting: Iterator[Encoded]
    ) -> Iterator[Any]:
        """The results of one worker until there are no more calls or it has ended. Calls without result are then in
        ``again``."""
        alone = not worker.answered
        if self._number not in worker.states:
            worker.send(making or self._making())
            _value(worker.receive())
            worker.states.add(self._number)
        sent: deque[Encoded] = deque()
        while True:
            while len(sent) < _AHEAD and not worker.worn and (request := _next(again, waiting)) is not None:
                if not request.modules <= worker.modules:
                    again.appendleft(request)
                    break
                sent.append(request)
                worker.send(request)
            if not sent:
                return
            try:
                answer = worker.receive()
            except LimitReached as reached:
                failed = sent.popleft()
                again.extendleft(reversed(sent))
                if reached.memory and not alone:
                    # Memory may be in use by earlier calls: retry once in a new worker.
                    again.appendleft(failed)
                else:
                    yield reached
                return
            sent.popleft()
            alone = False
            yield value_or_error(answer)

    def _making(self) -> Encoded:
        making = encode(Request(self._make, self._arguments, self._limits.seconds, self._number, makes=True))
        self._modules = making.modules
        return making


class Session:
    """Calls that change a state, all in one worker. When a limit is reached the state is lost.

    A context manager: the state is dropped at its end.
    """

    def __init__(self, make: Callable[..., Any], *arguments: Any, limits: Limits = DEFAULT) -> None:
        self._limits = limits
        self._number = next(_numbers)
        self._begin = encode(Request(make, arguments, limits.seconds, self._number, makes=True))

    def __enter__(self) -> Self:
        self._worker = _pool.take(self._begin.modules, self._limits, 0, Use.EXECUTE)
        try:
            self._worker.send(self._begin)
            _value(self._worker.receive())
        except BaseException:
            _pool.put(self._worker)
            raise
        self._worker.states.add(self._number)
        return self

    def __exit__(self, *_: object) -> None:
        self._worker.forget({self._number})
        _pool.put(self._worker)

    def ask(self, function: Callable[..., Any], *arguments: Any, times: int = 1) -> Any:
        """``function(state, *arguments)`` within ``times`` the CPU time of a call. Raises its errors of this package,
        and LimitReached."""
        self._worker.send(encode(Request(function, arguments, self._limits.seconds * times, self._number)))
        return _value(self._worker.receive())


def _next(again: deque[Encoded], waiting: Iterator[Encoded]) -> Encoded | None:
    return again.popleft() if again else next(waiting, None)


@contextmanager
def _worker(modules: frozenset[str], limits: Limits, series: int = 0, use: Use = Use.EXECUTE) -> Iterator[Worker]:
    """A worker for the ``with`` block. If it is still busy at the end, it is killed."""
    worker = _pool.take(modules, limits, series, use)
    try:
        yield worker
    finally:
        _pool.put(worker)


def _value(answer: Answer) -> Any:
    found = value_or_error(answer)
    if isinstance(found, OsmGitopsError):
        raise found
    return found


def value_or_error(answer: Answer) -> Any:
    """A result, or an error of this package. Raises UnexpectedError for a bug."""
    match answer.outcome:
        case Done(value):
            return value
        case Failed(kind, problems):
            return error_kinds().get(kind, OsmGitopsError)(problems)
        case Broken(kind, place):
            raise UnexpectedError(kind, place)
    raise AssertionError
