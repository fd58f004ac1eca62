"""Work side by side, without an API server."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from threading import Barrier, Event, Lock

import pytest

from osm_gitops.targets.cluster.steps import run_parallel


def _no_hurry() -> None:
    raise AssertionError("nobody interrupted it")


def test_jobs_run_at_the_same_time_and_all_results_are_taken() -> None:
    meeting = Barrier(3)

    def job(number: int) -> Callable[[], int]:
        def work() -> int:
            meeting.wait(timeout=30)  # passes only where three are under way
            return number

        return work

    taken: list[int] = []
    run_parallel((job(number) for number in range(9)), taken.append, 3, Event(), _no_hurry)
    assert sorted(taken) == list(range(9))


def test_few_jobs_are_made_ahead_of_those_that_have_ended() -> None:
    lock, ahead, most = Lock(), 0, 0

    def jobs() -> Iterator[Callable[[], None]]:
        nonlocal ahead, most
        for _ in range(100):
            with lock:
                ahead += 1
                most = max(most, ahead)
            yield end

    def end() -> None:
        nonlocal ahead
        with lock:
            ahead -= 1

    run_parallel(jobs(), lambda _: None, 4, Event(), _no_hurry)
    assert most <= 8 + 1


def test_an_error_stops_the_others_and_is_raised_when_they_have_ended() -> None:
    stop, begun, ended = Event(), [], []

    def fail() -> None:
        raise ValueError("no")

    def linger() -> None:
        begun.append(1)
        assert stop.wait(timeout=30)
        ended.append(1)

    with pytest.raises(ValueError, match="no"):
        run_parallel([linger, fail, *[linger] * 20], lambda _: None, 2, stop, _no_hurry)
    assert stop.is_set()
    assert begun == ended
    assert len(begun) < 21


def test_an_interruption_of_who_takes_the_results_ends_the_work() -> None:
    stop, done, hurried = Event(), [], []

    def take(_: None) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_parallel([lambda: done.append(1)] * 50, take, 2, stop, lambda: hurried.append(1))
    assert not stop.is_set()  # what is under way is completed
    assert len(done) <= 4
    assert hurried == [1]
