"""When runs of a watched fleet are due. Times are numbers."""

from __future__ import annotations

from osm_gitops.pipeline.schedule import Batch, Ended, Pace, Schedule
from osm_gitops.pipeline.triggers import Trigger

_PACE = Pace(quiet=1.0, longest=5.0, grace=30.0, pause=5.0, first=10.0, slowest=600.0, chance=lambda: 1.0)
_HOUR = 3600.0
_GOOD = Ended(good=True)
_BAD = Ended(good=False)


def _at_rest(*names: str) -> Schedule:
    """Clusters after a good run at time 0 that took no time."""
    schedule = Schedule(_PACE)
    schedule.update(dict.fromkeys(names, _HOUR), 0.0)
    for name in names:
        schedule.open(name, opened=True, now=0.0)
    (batch,) = schedule.take(0.0)
    assert batch == Batch(names, "start")
    schedule.ended(batch, dict.fromkeys(names, _GOOD), 0.0, 0.0)
    return schedule


def _of(*pools: str) -> Trigger:
    return Trigger("change", frozenset(pools))


def test_without_a_change_the_next_run_is_at_the_end_of_the_interval() -> None:
    schedule = _at_rest("a", "b")
    assert (schedule.next(), schedule.take(_HOUR - 1)) == (_HOUR, ())
    assert schedule.take(_HOUR) == (Batch(("a", "b"), "the interval is over"),)
    assert schedule.next() == 2 * _HOUR


def test_changes_in_one_quiet_time_are_one_run_of_their_pools() -> None:
    schedule = _at_rest("a")
    schedule.mark("a", _of("one"), 10.0)
    schedule.mark("a", _of("two"), 10.9)
    assert schedule.next() == 11.9
    assert schedule.take(11.8) == ()
    assert schedule.take(11.9) == (Batch(("a",), "change", ("one", "two")),)
    assert schedule.next() == _HOUR


def test_changes_that_never_stop_do_not_postpone_a_run_for_ever() -> None:
    schedule = _at_rest("a")
    for tenth in range(100):
        schedule.mark("a", _of(f"pool-{tenth}"), 10.0 + tenth / 10)
    assert schedule.next() == 15.0


def test_a_change_that_concerns_all_pools_makes_the_run_whole_and_starts_the_interval_anew() -> None:
    schedule = _at_rest("a")
    schedule.mark("a", _of("one"), 10.0)
    schedule.mark("a", Trigger("profile"), 10.0)
    assert schedule.take(11.0) == (Batch(("a",), "change"),)
    assert schedule.next() == 11.0 + _HOUR


def test_whole_runs_of_several_clusters_are_one_and_those_of_pools_one_each() -> None:
    schedule = _at_rest("a", "b", "c", "d")
    schedule.mark("a", _of("one"), 10.0)
    schedule.mark("b", Trigger("profile"), 10.0)
    schedule.mark("c", Trigger("profile"), 10.0)
    assert schedule.take(11.0) == (Batch(("b", "c"), "profile"), Batch(("a",), "change", ("one",)))


def test_a_failed_run_is_repeated_whole_with_growing_pauses() -> None:
    schedule = _at_rest("a")
    now, pauses = 10.0, []
    schedule.mark("a", _of("one"), now)
    for _ in range(9):
        began, now = now, schedule.next()
        pauses.append(now - began)
        (batch,) = schedule.take(now)
        schedule.ended(batch, {"a": _BAD}, now, now)
    assert pauses == [1, 10, 20, 40, 80, 160, 320, 600, 600]
    assert not batch.pools
    assert batch.reason == "the last run failed"


def test_a_run_that_tells_nothing_of_a_cluster_has_failed() -> None:
    schedule = _at_rest("a")
    schedule.mark("a", Trigger("profile"), 10.0)
    (batch,) = schedule.take(11.0)
    schedule.ended(batch, {}, 11.0, 11.0)
    assert schedule.next() == 21.0


def test_a_change_does_not_wait_for_the_repetition_but_for_a_short_pause() -> None:
    schedule = _at_rest("a")
    for _ in range(3):
        schedule.ended(Batch(("a",), "change"), {"a": _BAD}, 1000.0, 1000.0)
    schedule.mark("a", _of("one"), 1000.1)
    assert schedule.next() == 1005.0
    assert schedule.take(1005.0)[0].pools == ("one",)
    assert schedule.next() == 1010.0


def test_a_good_run_of_one_pool_does_not_end_the_back_off_of_the_whole_cluster() -> None:
    schedule = _at_rest("a")
    whole = Batch(("a",), "change")
    for _ in range(3):
        schedule.ended(whole, {"a": _BAD}, 10.0, 10.0)
    schedule.ended(Batch(("a",), "change", ("one",)), {"a": _GOOD}, 10.0, 10.0)
    schedule.ended(whole, {"a": _BAD}, 10.0, 10.0)
    schedule.take(20.0)
    schedule.ended(whole, {"a": _BAD}, 20.0, 20.0)
    assert schedule.next() == 20.0 + 160.0


def test_a_run_is_followed_by_a_pause_as_long_as_it_took() -> None:
    schedule = _at_rest("a")
    schedule.mark("a", Trigger("profile"), 10.0)
    (batch,) = schedule.take(11.0)
    schedule.mark("a", _of("one"), 12.0)
    schedule.ended(batch, {"a": _GOOD}, 11.0, 18.0)
    assert schedule.next() == 25.0


def test_a_token_that_is_due_before_the_end_of_the_interval_has_its_own_run() -> None:
    schedule = _at_rest("a")
    schedule.ended(Batch(("a",), "start"), {"a": Ended(good=True, due=600.0)}, 0.0, 0.0)
    assert schedule.next() == 600.0
    (batch,) = schedule.take(600.0)
    assert batch == Batch(("a",), "a token is due")
    schedule.ended(batch, {"a": Ended(good=True, due=9 * _HOUR)}, 600.0, 600.0)
    assert schedule.next() == 600.0 + _HOUR


def test_a_token_that_is_always_due_causes_no_run_after_the_other() -> None:
    schedule = _at_rest("a")
    schedule.ended(Batch(("a",), "start"), {"a": Ended(good=True, due=0.0)}, 0.0, 0.0)
    assert schedule.next() == 60.0


def test_a_cluster_whose_watches_never_open_is_run_after_a_while_and_then_each_interval() -> None:
    schedule = Schedule(_PACE)
    schedule.update({"up": _HOUR, "down": _HOUR}, 0.0)
    schedule.open("up", opened=True, now=0.0)
    assert schedule.take(0.0) == (Batch(("up",), "start"),)
    assert schedule.take(29.0) == (Batch(("down",), "start"),)
    schedule.ended(Batch(("down",), "start"), {"down": _BAD}, 29.0, 60.0)
    assert schedule.next() == _HOUR  # of the one that is up
    assert schedule.take(29.0 + _HOUR)[0].clusters == ("up", "down")


def test_a_cluster_that_failed_is_run_when_its_watches_open_again() -> None:
    schedule = _at_rest("a")
    schedule.open("a", opened=False, now=10.0)
    schedule.open("a", opened=True, now=11.0)
    assert schedule.next() == _HOUR  # nothing was missed: the watches tell what changed
    schedule.open("a", opened=False, now=20.0)
    schedule.ended(Batch(("a",), "change"), {"a": _BAD}, 20.0, 20.0)
    assert schedule.next() == _HOUR
    schedule.open("a", opened=True, now=40.0)
    assert schedule.next() == 41.0


def test_clusters_come_and_go_with_the_fleet() -> None:
    schedule = _at_rest("a", "b")
    schedule.update({"b": 60.0, "c": _HOUR}, 10.0)
    schedule.open("c", opened=True, now=10.0)
    schedule.mark("a", Trigger("profile"), 10.0)
    assert schedule.take(10.0) == (Batch(("c",), "start"),)
    schedule.mark_all(Trigger("commit"), 20.0)
    assert schedule.take(21.0) == (Batch(("b", "c"), "commit"),)
    assert schedule.next() == 81.0


def test_without_clusters_nothing_is_ever_due() -> None:
    assert Schedule(_PACE).next() == float("inf")
