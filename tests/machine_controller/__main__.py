"""Print the table of docs/explanation/reliability.md: which user-data the real machine-controller's Machines got.

Arguments: a seed, and a word of the trials to do.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from statistics import median

from osm_gitops.commands.boot.lane.binaries import find_binaries
from tests.machine_controller.binary import VERSION, machine_controller
from tests.machine_controller.runs import Run
from tests.machine_controller.site import site
from tests.machine_controller.trials import Trials
from tests.machines.store import STORE

_COLUMNS = ("what happened", "Machines", "right", "wrong", "hung", "of older revisions", "seconds, median", "longest")
_HEAD = f"| {' | '.join(_COLUMNS)} |\n|{'---|' * len(_COLUMNS)}"


def main(seed: int, word: str) -> int:
    """Exit code 1 where a Machine got wrong user-data or none."""
    controller = machine_controller(os.environ)
    print(f"machine-controller {VERSION}, seed {seed}\n\n{_HEAD}", flush=True)
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
        site(Path(folder), find_binaries(os.environ, STORE), controller) as found,
    ):
        trials = Trials(found, seed)
        results = trials.all(word)
    runs = [run for each in trials.runs for run in each.done]
    print(f"\n{_summary(runs)}")
    for result in results:
        for what, names in (("wrong", result.wrong), ("hung", result.hung)):
            print(*(f"{what}: {result.name}: {name}\n" for name in names), sep="", end="")
    return int(any(result.wrong or result.hung for result in results) or any(run.code > 0 for run in runs))


def _summary(runs: list[Run]) -> str:
    seconds = [run.ended - run.began for run in runs if run.code == 0]
    killed, failed = sum(run.code < 0 for run in runs), [run for run in runs if run.code > 0]
    text = f"{len(runs)} runs: {killed} killed, {len(failed)} failed; a good one took {median(seconds):.1f} s"
    return "\n".join((text, *(run.err for run in failed)))


if __name__ == "__main__":
    given = sys.argv[1:] + [""] * 2
    sys.exit(main(int(given[0] or 1), given[1]))
