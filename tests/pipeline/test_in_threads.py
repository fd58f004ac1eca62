"""Tasks in threads: results in order, and one that hangs or fails is waited for only as far as it must be."""

from __future__ import annotations

import os
import signal
import threading
from functools import partial

import pytest

from osm_gitops.pipeline.in_threads import GivenUp, in_threads


def test_results_come_in_order_and_so_many_run_at_a_time() -> None:
    together = threading.Barrier(3)

    def meet(number: int) -> int:
        together.wait(60)
        return number

    assert in_threads([partial(meet, number) for number in range(6)], 3) == [*range(6)]


def test_one_at_a_time_is_done_in_the_calling_thread() -> None:
    threads = in_threads([threading.current_thread] * 3, 1)
    assert threads == [threading.current_thread()] * 3


def test_a_task_that_takes_too_long_is_left_alone_and_its_result_is_not_lost() -> None:
    go_on, came = threading.Event(), threading.Event()
    late: list[str] = []

    def hang() -> str:
        go_on.wait(60)
        return "late"

    def take(result: str) -> None:
        late.append(result)
        came.set()

    first, hung, last = in_threads([lambda: "first", hang, lambda: "last"], 1, 1, late=take)
    assert (first, last) == ("first", "last")
    assert isinstance(hung, GivenUp)
    assert not late
    go_on.set()
    assert came.wait(60)
    assert late == ["late"]


def test_an_error_is_raised_and_starts_no_more_tasks() -> None:
    begun: list[int] = []

    def fail(number: int) -> None:
        begun.append(number)
        raise RuntimeError(number)

    with pytest.raises(RuntimeError):
        in_threads([partial(fail, number) for number in range(100)], 2)
    assert len(begun) < 100


def test_an_interruption_is_told_to_those_that_run_and_they_end_first() -> None:
    interrupted = threading.Event()
    ended: list[str] = []

    def write() -> None:
        os.kill(os.getpid(), signal.SIGINT)
        assert interrupted.wait(60)
        ended.append("written")

    def wait() -> None:
        interrupted.wait(60)

    told: list[int] = []

    def interrupt(number: int) -> None:
        told.append(number)
        interrupted.set()

    with pytest.raises(KeyboardInterrupt):
        in_threads([write, *[wait] * 9], 2, interrupt=interrupt)
    assert ended == ["written"]
    assert 0 in told
    assert len(told) <= 2


@pytest.mark.parametrize("size", [1, 2])
def test_results_that_an_error_takes_the_place_of_are_not_lost(size: int) -> None:
    """They hold locks."""
    second = threading.Event()
    late: list[str] = []

    def fail() -> str:
        second.wait(60 if size == 2 else 0)
        raise RuntimeError

    def lock() -> str:
        second.set()
        return "locked"

    tasks = [fail, lock, lock] if size == 2 else [lock, fail, lock]
    with pytest.raises(RuntimeError):
        in_threads(tasks, size, late=late.append)
    assert late
    assert set(late) == {"locked"}
