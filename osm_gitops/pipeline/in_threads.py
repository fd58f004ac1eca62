"""Steps of a run over live clusters, side by side in threads: servers are waited for, while Leases and connections stay
in this process."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from time import monotonic
from typing import Final, Generic, TypeVar

T = TypeVar("T")


def _ignore(_found: object) -> None:
    """For results that need no clean-up."""


@dataclass(frozen=True, slots=True)
class GivenUp:
    """Instead of the result of a task that took too long."""


GIVEN_UP: Final = GivenUp()


def in_threads(
    tasks: Sequence[Callable[[], T]],
    size: int,
    seconds: int | None = None,
    *,
    late: Callable[[T], None] = _ignore,
    interrupt: Callable[[int], None] | None = None,
) -> list[T | GivenUp]:
    """The results of tasks, in their order; up to ``size`` run at a time, each for up to ``seconds``.

    A task that takes longer is left alone. An error ends all: no task is started any more, and with ``interrupt`` those
    that run are told by their number, and waited for. Results that are not returned go to ``late``. One task at a time
    is done in the calling thread, if there is no limit.
    """
    if size == 1 and seconds is None:
        return _one_by_one(tasks, late)
    return _Threads(tasks, size, seconds, late, interrupt).run()


def _one_by_one(tasks: Sequence[Callable[[], T]], late: Callable[[T], None]) -> list[T | GivenUp]:
    found: list[T] = []
    try:
        found.extend(task() for task in tasks)
    except BaseException:
        for result in found:
            late(result)
        raise
    return [*found]


@dataclass(slots=True)
class _Threads(Generic[T]):
    tasks: Sequence[Callable[[], T]]
    size: int
    seconds: int | None
    late: Callable[[T], None]
    interrupt: Callable[[int], None] | None
    ended: SimpleQueue[tuple[int, T | BaseException]] = field(default_factory=SimpleQueue)
    begun: dict[int, float] = field(default_factory=dict)
    lock: Lock = field(default_factory=Lock)

    def run(self) -> list[T | GivenUp]:
        found: dict[int, T | GivenUp] = {}
        waiting = deque(range(len(self.tasks)))
        try:
            while waiting or self.begun:
                while waiting and len(self.begun) < self.size:
                    self._start(waiting.popleft())
                try:
                    number, result = self.ended.get(timeout=self._left())
                except Empty:
                    found |= dict.fromkeys(self._expired(), GIVEN_UP)
                    continue
                if (failure := self._take(number, result, found)) is not None:
                    raise failure
        except BaseException:
            if self.interrupt is not None:
                for number in self.begun:
                    self.interrupt(number)
                while self.begun:
                    self._take(*self.ended.get(), found)
            with self.lock:
                self.begun.clear()
            while not self.ended.empty():
                self._take(*self.ended.get(), found)
            for each in found.values():
                if not isinstance(each, GivenUp):
                    self.late(each)
            raise
        return [found[number] for number in range(len(self.tasks))]

    def _start(self, number: int) -> None:
        self.begun[number] = monotonic()
        Thread(target=self._work, args=(number,), daemon=True).start()

    def _work(self, number: int) -> None:
        """In a thread."""
        result: T | BaseException
        try:
            result = self.tasks[number]()
        except BaseException as failure:  # noqa: BLE001 - the thread that waits raises it
            result = failure
        with self.lock:
            if number in self.begun:
                self.ended.put((number, result))
                return
        if not isinstance(result, BaseException):
            self.late(result)

    def _take(self, number: int, result: T | BaseException, found: dict[int, T | GivenUp]) -> BaseException | None:
        """A task has ended: keep its result, or return its error."""
        with self.lock:
            self.begun.pop(number, None)
        if isinstance(result, BaseException):
            return result
        found[number] = result
        return None

    def _left(self) -> float | None:
        """Seconds until the first task has to be given up."""
        return None if self.seconds is None else max(0.0, min(self.begun.values()) + self.seconds - monotonic())

    def _expired(self) -> list[int]:
        """The tasks that take too long. Results that are on their way still count."""
        assert self.seconds is not None
        with self.lock:
            until = monotonic() - self.seconds
            expired = [number for number, begun in self.begun.items() if begun <= until] if self.ended.empty() else []
            for number in expired:
                del self.begun[number]
        return expired
