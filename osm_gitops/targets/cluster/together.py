"""Work side by side, with a bound on how much is under way."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from threading import Event
from typing import TypeVar

T = TypeVar("T")


def run_parallel(
    jobs: Iterable[Callable[[], T]],
    take: Callable[[T], None],
    concurrency: int,
    stop: Event,
    hurry: Callable[[], None],
) -> None:
    """Do ``jobs`` in threads and hand what they give to ``take``, in the order in which they end.

    Jobs are drawn one by one in the calling thread, never more than twice ``concurrency`` ahead of their end: what is
    made for them need not be thread-safe, and little of it is in memory. An error, or an interruption, sets ``stop``
    and is raised when the jobs that had begun have ended; others are not begun any more. An interruption also calls
    ``hurry``, by which jobs that wait for a server end.
    """
    executor = ThreadPoolExecutor(concurrency, "writes")
    pending: set[Future[T]] = set()
    try:
        for job in jobs:
            pending.add(executor.submit(job))
            if len(pending) >= 2 * concurrency:
                pending = _take(pending, take)
        while pending:
            pending = _take(pending, take)
    except BaseException as end:
        stop.set()
        if isinstance(end, KeyboardInterrupt):
            hurry()
        raise
    finally:
        executor.shutdown(wait=True, cancel_futures=True)


def _take(pending: set[Future[T]], take: Callable[[T], None]) -> set[Future[T]]:
    ended, going_on = wait(pending, return_when=FIRST_COMPLETED)
    for each in ended:
        take(each.result())
    return going_on
