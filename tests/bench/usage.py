"""What a command line takes, and the unit by which machines compare."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from time import process_time
from typing import Final

import yaml

from tests.bench.fleets import PROFILES, profile_text

Row = tuple[str, str, str, str]
"""A measure, its value, its CPU in units, and what is asked for."""

_ROUNDS: Final = 9


@dataclass(frozen=True, slots=True)
class Usage:
    """Seconds, seconds of CPU of all processes, and the peak of their memory in MB: the sum of their proportional set
    sizes, or the resident set of the largest one if that is more. The sum is taken up to five times a second, but less
    often if that takes more than a hundredth of the time: it makes the system walk the pages of all processes, which
    wait meanwhile. Twenty times a second took two of the twelve seconds of a fleet's plan."""

    wall: float
    cpu: float
    memory: float

    def __str__(self) -> str:
        return f"{self.wall:.1f} s, {self.cpu:.2f} s CPU, {self.memory:.0f} MB"

    def row(self, name: str, wanted: str = "") -> Row:
        """The row of a table."""
        return name, str(self), f"{self.cpu / unit():,.0f}", wanted


def peak(pid: int) -> float:
    """The peak of a process' memory in MB. In its resource usage that of the process that started it counts too."""
    lines = Path(f"/proc/{pid}/status").read_text("utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) / 1024


def forget() -> None:
    """Remove what earlier runs stored, so that the next one is a first one."""
    shutil.rmtree(os.environ["XDG_CACHE_HOME"], ignore_errors=True)


@lru_cache(maxsize=1)
def unit() -> float:
    """Seconds of CPU in which PyYAML's C loader reads OSM's six profiles."""
    texts = [profile_text(name) for name, _, _ in PROFILES]

    def load() -> float:
        started = process_time()
        for text in texts:
            yaml.load(text, Loader=yaml.CSafeLoader)
        return process_time() - started

    return min(load() for _ in range(_ROUNDS))


# In a small process: the peak of a new process counts the memory of the one that it was forked from. Processes whose
# parent has ended become children of this one, or their CPU would not be counted.
_MEASURE: Final = """
import ctypes, json, os, resource, select, subprocess, sys, time

def memory():
    parents, sizes = {}, {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat") as file:
                parents[pid] = file.read().rpartition(")")[2].split()[1]
        except OSError:  # it has ended
            pass
    below = {str(os.getpid())}
    while more := {pid for pid, parent in parents.items() if parent in below} - below:
        below |= more
    for pid in below - {str(os.getpid())}:
        try:
            with open(f"/proc/{pid}/smaps_rollup") as file:
                sizes[pid] = sum(int(line.split()[1]) for line in file if line.startswith("Pss:"))
        except OSError:
            pass
    return sum(sizes.values())

ctypes.CDLL(None).prctl(36, 1)  # PR_SET_CHILD_SUBREAPER
started = time.perf_counter()
run = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)
most, ends, pause = 0, os.pidfd_open(run.pid), 0
while not select.select([ends], [], [], pause)[0]:
    before = time.perf_counter()
    most = max(most, memory())
    pause = max(0.2, 100 * (time.perf_counter() - before))
wall = time.perf_counter() - started
run.wait()
try:
    while True:
        os.wait()
except ChildProcessError:
    pass
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps([run.returncode, wall, used.ru_utime + used.ru_stime, max(most, used.ru_maxrss)]))
"""


def usage(*arguments: str, ends: Collection[int] = (0,)) -> Usage:
    """What one command line of osm-gitops takes, that of the processes which it starts included. It must end with one
    of these exit codes."""
    command = [sys.executable, "-c", _MEASURE, sys.executable, "-m", "osm_gitops", *arguments]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    status, wall, cpu, memory = json.loads(ran.stdout)
    if status not in ends:
        message = f"osm-gitops {' '.join(arguments)} ended with {status}: {ran.stderr[-2000:]}"
        raise RuntimeError(message)
    return Usage(wall, cpu, memory / 1024)
