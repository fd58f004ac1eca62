"""Runs one after the other, as a CronJob of a few seconds would start them, some of which are killed."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from threading import Event, Thread
from time import time


@dataclass(frozen=True, slots=True)
class Run:
    """``code`` is minus the signal where it was killed; the times are seconds."""

    began: float
    ended: float
    code: int
    err: str


class Runs(Thread):
    """Starts runs until it is told to stop. ``kills``: the share of them that gets kill -9 at a moment by chance."""

    def __init__(self, arguments: Sequence[str], seed: int) -> None:
        super().__init__(daemon=True)
        self.done: list[Run] = []
        self.kills = 0.0
        self.pause = 2.0
        self._command = (sys.executable, "-m", "osm_gitops", *arguments)
        self._dice = Random(seed)
        self._told = Event()

    def run(self) -> None:
        while not self._told.wait(self._dice.uniform(0, self.pause)):
            self.once()

    def once(self) -> None:
        limit = self._dice.uniform(0.5, 5) if self._dice.random() < self.kills else None
        began = time()
        with subprocess.Popen(self._command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
            try:
                _, err = process.communicate(timeout=limit)
            except subprocess.TimeoutExpired:
                process.kill()
                _, err = process.communicate()
        self.done.append(Run(began, time(), process.returncode, err))

    def stop(self) -> None:
        self._told.set()
        self.join()

    def good_after(self, moment: float) -> float | None:
        """When the first run ended that began after a moment and was good."""
        return next((run.ended for run in self.done if run.began > moment and run.code == 0), None)
