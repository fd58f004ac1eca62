"""What a command line takes, and the unit by which machines compare."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from time import perf_counter, process_time
from typing import Final

import yaml

from tests.bench.fleets import PROFILES, VERSION
from tests.conformance_data import OUTSIDE

Row = tuple[str, str, str, str]
"""A measure, its value, its CPU in units, and what is asked for."""

_ROUNDS: Final = 9


@dataclass(frozen=True, slots=True)
class Usage:
    """Seconds, seconds of CPU of all processes, MB of the largest one."""

    wall: float
    cpu: float
    memory: float

    def __str__(self) -> str:
        return f"{self.wall:.1f} s, {self.cpu:.2f} s CPU, {self.memory:.0f} MB"

    def row(self, name: str, wanted: str = "") -> Row:
        """The row of a table."""
        return name, str(self), f"{self.cpu / unit():,.0f}", wanted


@lru_cache(maxsize=1)
def unit() -> float:
    """Seconds of CPU in which PyYAML's C loader reads OSM's six profiles."""
    texts = [(OUTSIDE / "profiles" / VERSION / f"{name}.yaml").read_bytes() for name, _, _ in PROFILES]

    def load() -> float:
        started = process_time()
        for text in texts:
            yaml.load(text, Loader=yaml.CSafeLoader)
        return process_time() - started

    return min(load() for _ in range(_ROUNDS))


def usage(*arguments: str, env: Mapping[str, str] | None = None) -> Usage:
    """What one command line of osm-gitops takes, that of the processes which it starts included."""
    started = perf_counter()
    command = [sys.executable, "-m", "osm_gitops", *arguments]
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env={**os.environ, **(env or {})}
    )
    assert process.stderr is not None
    said = process.stderr.read().decode()
    _, status, used = os.wait4(process.pid, 0)
    if status:
        message = f"osm-gitops {' '.join(arguments)} ended with {status}: {said[-2000:]}"
        raise RuntimeError(message)
    return Usage(perf_counter() - started, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)
