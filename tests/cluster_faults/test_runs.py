"""Whole runs that something happens to: none loses an object, and the next one ends where an undisturbed one does.

What is marked ``exhaustive`` tries every fault at every kind of request at once and at a third of them alone, what
cannot be got over at every second kind, and a kill at every write; ``python -m tests.cluster_faults`` tries all.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from itertools import count

import pytest

from tests.cluster_faults.meddling import MEDDLING
from tests.cluster_faults.trials import FAULTS, REFUSALS, Kind, Trial, Trials, in_between

_STORMS = 10
# A refusal, and the worst of what networks do; tests/kube tries all of them with every verb.
_COMMON = ("429, Retry-After: 3", "dropped after it was carried out")


def _part(turn: int, parts: int, kinds: Sequence[Kind]) -> Sequence[Kind]:
    """The share of one of several: together they have every kind."""
    return kinds[turn % parts :: parts]


def _is_whole(trial: Trial) -> bool:
    assert (trial.lost, trial.wrong) == ((), ()), trial
    return True


def test_what_is_lost_or_wrong_is_seen(trials: Trials) -> None:
    assert [*in_between(trials.wanted, trials.wanted)] == []
    gate = "secrets/changed-kube-system-bootstrap-config"
    part = "secrets/changed-kube-system-provisioning-config"
    lost = {key: value for key, value in trials.wanted.items() if key != gate}
    assert [*in_between(lost, trials.wanted)] == [f"{gate} was missing for a time"]
    old = copy.deepcopy(dict(trials.wanted))
    old[part]["data"] = {"cloud-config": "b2xk"}
    assert [*in_between(old, trials.wanted)] == [f"{part} is old, and machines take it"]


@pytest.mark.parametrize("name", _COMMON)
def test_a_fault_at_every_kind_of_request_at_once_is_got_over(trials: Trials, name: str) -> None:
    trial = trials.hail(name, FAULTS[name])
    assert _is_whole(trial)
    assert (trial.code, trial.runs) == (0, 1)


def test_a_run_that_is_killed_is_finished_by_the_next(trials: Trials) -> None:
    assert trials.writes > 20
    for number, done in ((2, True), (trials.writes // 2, False)):
        trial = trials.killed(number, done=done)
        assert trial is not None
        assert _is_whole(trial)
        assert trial.code == -9


@pytest.mark.parametrize("name", MEDDLING)
def test_what_changes_in_the_middle_of_a_run_is_right_after_the_next(trials: Trials, name: str) -> None:
    first = next(place for place, (_, request) in enumerate(trials.requests) if request.method == "PATCH")
    assert _is_whole(trials.meanwhile(name, first + 1))


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", FAULTS)
def test_every_fault_at_every_kind_of_request_is_got_over(trials: Trials, name: str) -> None:
    alone = _part([*FAULTS].index(name), 3, trials.kinds())
    for trial in (trials.hail(name, FAULTS[name]), *(trials.faulty(name, FAULTS[name], kind) for kind in alone)):
        assert _is_whole(trial)
        assert (trial.code, trial.runs) == (0, 1)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", REFUSALS)
def test_what_no_other_try_mends_the_next_run_does(trials: Trials, name: str) -> None:
    for kind in _part([*REFUSALS].index(name), 2, trials.kinds()):
        assert _is_whole(trials.faulty(name, REFUSALS[name], kind, times=None))


@pytest.mark.exhaustive
def test_faults_of_all_kinds_by_chance_are_got_over(trials: Trials) -> None:
    for seed in range(_STORMS):
        trial = trials.storm(seed)
        assert _is_whole(trial)
        assert (trial.code, trial.runs) == (0, 1)


@pytest.mark.exhaustive
@pytest.mark.parametrize(("concurrency", "step"), [(1, 1), (8, 3)])
@pytest.mark.parametrize("done", [False, True], ids=["before", "after"])
def test_a_run_that_is_killed_at_any_write_is_finished_by_the_next(
    trials: Trials, concurrency: int, step: int, *, done: bool
) -> None:
    """Eight pools at a time end in another state each time, wherever it is: not every write has to be met."""
    for number in count(1, step):
        trial = trials.killed(number, done=done, concurrency=concurrency)
        if trial is None:
            assert number > 20
            return
        assert _is_whole(trial)
        # One is enough where all that is still to be written is the run's own record.
        assert trial.runs <= 2


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", MEDDLING)
def test_whatever_changes_in_the_course_of_a_run_is_right_after_the_next(trials: Trials, name: str) -> None:
    for number in range(2, len(trials.requests) + 1, 4):
        assert _is_whole(trials.meanwhile(name, number))
