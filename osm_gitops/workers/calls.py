"""Calls of functions in workers: same arguments, same result, same errors; a call that reaches a limit fails alone."""

from __future__ import annotations

import atexit
import itertools
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final, Generic, TypeVar

from osm_gitops.errors import OsmGitopsError, UnexpectedError
from osm_gitops.workers.limits import DEFAULT, Limits
from osm_gitops.workers.messages import Answer, Broken, Done, Encoded, Failed, Request, encode, error_kinds
from osm_gitops.workers.process import LimitReached, Worker

R = TypeVar("R")

_AHEAD: Final = 4
"""Requests of a series on their way at a time: a worker need not wait for its parent, and little is lost with it."""
_IDLE: Final = 2
"""Workers that are kept for later calls."""


@dataclass(slots=True)
class _Pool:
    """Workers at rest. Those at work belong to their callers."""

    idle: list[Worker] = field(default_factory=list)
    forgotten: set[int] = field(default_factory=set)
    lock: threading.RLock = field(default_factory=threading.RLock)

    def take(self, modules: frozenset[str], memory: int, series: int = 0) -> Worker:
        """A worker with ``modules``: one that has the state already, or any that fits, or a new one."""
        with self.lock:
            usable = [each for each in self.idle if each.usable and each.memory == memory]
            fitting = [each for each in usable if modules <= each.modules]
            if fitting:
                found = next((each for each in fitting if series in each.states), fitting[-1])
                self.idle.remove(found)
                found.forget(self.forgotten)
                return found
            # Who needs more modules than a worker at rest has will need its modules too.
            known = frozenset[str]().union(*(each.asked_for for each in usable))
        return Worker(modules | known, memory)

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


def warm_up(*functions: Callable[..., Any], limits: Limits = DEFAULT) -> None:
    """Start a worker that will be asked to call these soon, so that it is ready when the first call comes."""
    if not _pool.idle:
        _pool.put(Worker({each.__module__ for each in functions}, limits.memory))


def call(function: Callable[..., R], *arguments: Any, limits: Limits = DEFAULT) -> R:
    """``function(*arguments)`` in a worker. Raises what it raises of this package's errors, and LimitReached."""
    request = encode(Request(function, arguments, limits.seconds))
    with _worker(request.modules, limits) as worker:
        worker.send(request)
        result: R = _value(worker.receive())
    return result


class Series(Generic[R]):
    """Calls on a state that stays in a worker: ``make(*arguments)`` makes it there, again in each worker that lacks it.

    Calls get the state as their first argument. They must not change what other calls return: after a limit was
    reached the state is made anew.
    """

    def __init__(self, make: Callable[..., R], *arguments: Any, limits: Limits = DEFAULT) -> None:
        self._make = make
        self._arguments = arguments
        self._limits = limits
        self._number = next(_numbers)
        self._modules: frozenset[str] = frozenset()  # those that making the state takes, once that is known
        weakref.finalize(self, _pool.forgotten.add, self._number)

    def ask(self, function: Callable[..., Any], *arguments: Any, times: int = 1) -> Any:
        """``function(state, *arguments)`` within ``times`` the CPU time of a call. Raises what it raises of this
        package's errors, and LimitReached."""
        (found,) = self.map(function, [arguments], times=times)
        if isinstance(found, OsmGitopsError):
            raise found
        return found

    def map(self, function: Callable[..., Any], calls: Iterable[tuple[Any, ...]], *, times: int = 1) -> Iterator[Any]:
        """``function(state, *arguments)`` for each of ``calls``, in their order: its result, or the error that it
        raised; LimitReached for a call that a limit ended. Raises what making the state raises.
        """
        seconds = self._limits.seconds * times
        waiting = (encode(Request(function, arguments, seconds, self._number)) for arguments in calls)
        again: deque[Encoded] = deque()
        while (request := _next(again, waiting)) is not None:
            again.appendleft(request)
            # The state is large: it is encoded for a worker that lacks it, and for none that has it.
            making = None if self._modules else self._making()
            with _worker(request.modules | self._modules, self._limits, self._number) as worker:
                yield from self._results(worker, making, again, waiting)

    def _results(
        self, worker: Worker, making: Encoded | None, again: deque[Encoded], waiting: Iterator[Encoded]
    ) -> Iterator[Any]:
        """What one worker makes of the calls, until there are no more or it has ended. Those that it did not come to
        are then in ``again``."""
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
                    # What earlier calls left in memory is not its fault: it has a worker of its own once.
                    again.appendleft(failed)
                else:
                    yield reached
                return
            sent.popleft()
            alone = False
            yield _value_or_error(answer)

    def _making(self) -> Encoded:
        making = encode(Request(self._make, self._arguments, self._limits.seconds, self._number, makes=True))
        self._modules = making.modules
        return making


class Session(Generic[R]):
    """Calls on a state that they change, all in one worker. When a limit is reached the state is lost with it.

    A context manager: the state is dropped with the ``with`` block.
    """

    def __init__(self, make: Callable[..., R], *arguments: Any, limits: Limits = DEFAULT) -> None:
        self._limits = limits
        self._number = next(_numbers)
        self._begin = encode(Request(make, arguments, limits.seconds, self._number, makes=True))

    def __enter__(self) -> Session[R]:
        self._worker = _pool.take(self._begin.modules, self._limits.memory)
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
        """``function(state, *arguments)`` within ``times`` the CPU time of a call. Raises what it raises of this
        package's errors, and LimitReached."""
        self._worker.send(encode(Request(function, arguments, self._limits.seconds * times, self._number)))
        return _value(self._worker.receive())


def _next(again: deque[Encoded], waiting: Iterator[Encoded]) -> Encoded | None:
    return again.popleft() if again else next(waiting, None)


@contextmanager
def _worker(modules: frozenset[str], limits: Limits, series: int = 0) -> Iterator[Worker]:
    """A worker for the ``with`` block. One that is left with a call under way is ended."""
    worker = _pool.take(modules, limits.memory, series)
    try:
        yield worker
    finally:
        _pool.put(worker)


def _value(answer: Answer) -> Any:
    found = _value_or_error(answer)
    if isinstance(found, OsmGitopsError):
        raise found
    return found


def _value_or_error(answer: Answer) -> Any:
    match answer.outcome:
        case Done(value):
            return value
        case Failed(kind, problems):
            return error_kinds().get(kind, OsmGitopsError)(problems)
        case Broken(kind, place):
            raise UnexpectedError(kind, place)
    raise AssertionError
