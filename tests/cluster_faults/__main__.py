"""Everything that can happen to a run, and a table of what came of it: ``python -m tests.cluster_faults [WORDS]``.

With words only the lines that have them.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from statistics import median
from unittest.mock import patch

from osm_gitops.commands.boot.lane.binaries import find_binaries
from osm_gitops.kube.transport import RetryPolicy
from tests.apiserver.server import running
from tests.cluster_faults.meddling import MEDDLING
from tests.cluster_faults.scene import scenes
from tests.cluster_faults.trials import FAULTS, REFUSALS, Trial, Trials
from tests.machines.store import STORE

_STORMS = 20
_EVERY = 3  # requests, between those before which somebody does something


def main(words: str) -> None:
    with tempfile.TemporaryDirectory() as name:
        folders = [Path(name, part) for part in ("management", "worker", "scene")]
        for folder in folders:
            folder.mkdir()
        binaries = find_binaries(os.environ, STORE)
        unhurried = RetryPolicy(sleep=lambda _: None)
        with (
            patch("osm_gitops.kube.api.RETRY_POLICY", unhurried),
            running("management", folders[0], binaries) as management,
            running("worker", folders[1], binaries) as worker,
            scenes(management, worker, folders[2]) as scene,
        ):
            trials = Trials(scene)
            print(f"{len(trials.requests)} requests of {len(trials.kinds())} kinds, {trials.writes} of them writes\n")
            print("| what happened | runs | ended well at once | seconds, median | longest | objects lost | wrong |")
            print("|---|---|---|---|---|---|---|")
            for what, each in _rows(trials):
                if words in what:
                    print(_row(what, [*each]), flush=True)


def _rows(trials: Trials) -> Iterator[tuple[str, Iterator[Trial]]]:
    for concurrency in (1, 8):
        for done in (False, True):
            pools = "one pool" if concurrency == 1 else f"{concurrency} pools"
            what = f"kill -9 {'after' if done else 'before'} each write, {pools} at a time"
            yield what, _until_none(_killing(trials, concurrency, done=done))
    for name in MEDDLING:
        places = range(1, len(trials.requests) + 1, _EVERY)
        yield f"{name}, at every third request", (trials.meanwhile(name, place) for place in places)
    for name, fault in FAULTS.items():
        yield f"{name}, once, at each kind of request", (trials.faulty(name, fault, kind) for kind in trials.kinds())
    yield "all of these by chance, at every fifth request", (trials.storm(seed) for seed in range(_STORMS))
    for name, fault in REFUSALS.items():
        every = (trials.faulty(name, fault, kind, times=None) for kind in trials.kinds())
        yield f"{name}, at each kind of request", every


def _killing(trials: Trials, concurrency: int, *, done: bool) -> Callable[[int], Trial | None]:
    return lambda number: trials.killed(number, done=done, concurrency=concurrency)


def _until_none(trial: Callable[[int], Trial | None]) -> Iterator[Trial]:
    for number in count(1):
        found = trial(number)
        if found is None:
            return
        yield found


def _row(what: str, trials: list[Trial]) -> str:
    for trial in trials:
        if trial.lost or trial.wrong:
            print(trial)
    seconds = [trial.seconds for trial in trials]
    numbers = (
        len(trials),
        sum(trial.code == 0 and trial.runs == 1 for trial in trials),
        f"{median(seconds):.1f}",
        f"{max(seconds):.1f}",
        sum(len(trial.lost) for trial in trials),
        sum(bool(trial.wrong) for trial in trials),
    )
    return f"| {what} | {' | '.join(map(str, numbers))} |"


if __name__ == "__main__":
    main(" ".join(sys.argv[1:]))
