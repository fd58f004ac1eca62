"""Where the CPU of a run goes, room by room: ``make profile``.

The worker that renders is a process of its own: what it takes is a row.
"""

from __future__ import annotations

import cProfile
import os
import pstats
import resource
import subprocess
import sys
import tempfile
from collections import defaultdict
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from time import process_time
from typing import Final

from osm_gitops.__main__ import main as osm_gitops
from osm_gitops.sops.keys import new_identity
from osm_gitops.workers import calls
from tests.bench.fleets import CHANGE, PROFILES, write_fleet

_LEAST: Final = 0.01


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tree = write_fleet(folder / "fleet", 1_000, distinct=False, profiles=PROFILES)
        key, recipient = new_identity()
        os.environ["SOPS_AGE_KEY"] = key
        subprocess.run(["git", "init", "--quiet", folder / "repo"], check=True)
        place = ("--from", str(tree), "--external-cloud-provider", "--age-recipient", recipient)
        target = ("--to", str(folder / "repo/clusters"))
        _show("apply of 1,000 MDs, encrypted, cold", "apply", "--yes", *place, *target)
        _show("plan of 1,000 MDs, encrypted, unchanged", "plan", *place, *target)
        _show("plan of 1,000 MDs, encrypted, all changed", "plan", *place, *target, *CHANGE, "--output", "json")
        _show("apply of 1,000 MDs, encrypted, all changed", "apply", "--yes", *place, *target, *CHANGE)


def _show(title: str, *arguments: str) -> None:
    sys.argv = ["osm-gitops", *arguments]
    profile = cProfile.Profile(process_time)
    before = _children()
    with (
        Path(os.devnull).open("w", encoding="utf-8") as nothing,
        redirect_stdout(nothing),
        redirect_stderr(nothing),
        suppress(SystemExit),
    ):
        profile.runcall(osm_gitops)
    calls._pool.close()  # so that what the worker took is counted
    rooms: dict[str, float] = defaultdict(float, {"other processes: the worker, git": _children() - before})
    for (file, _, _), (_, _, own, _, callers) in pstats.Stats(profile).stats.items():  # type: ignore[attr-defined]
        if file != "~":
            rooms[_room(file)] += own
        for (caller, _, _), (_, _, part, _) in callers.items() if file == "~" else ():
            rooms[_room(caller)] += part  # what is written in C belongs to what calls it
    total = sum(rooms.values())
    print(f"\n{title}: {total:.1f} s of CPU under the profiler\n\n| room | share |\n|---|---|")
    for room, seconds in sorted(rooms.items(), key=lambda each: -each[1]):
        if seconds > _LEAST * total:
            print(f"| {room} | {seconds / total:.0%} |")


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _room(file: str) -> str:
    parts = Path(file).parts
    if "osm_gitops" in parts:
        at = len(parts) - 1 - parts[::-1].index("osm_gitops")
        return "/".join(parts[at + 1 : at + 3]).removesuffix(".py")
    return parts[parts.index("site-packages") + 1] if "site-packages" in parts else "Python"


if __name__ == "__main__":
    main()
