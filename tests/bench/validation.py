"""What validate takes: with a cache that is empty, with the results of the run before, and for kinds of fleets."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

from tests.bench.fleets import PROFILES, documents, machine, write_profiles
from tests.bench.usage import Row, Usage, forget, usage

_DEMO = Path(__file__).resolve().parents[2] / "overlays" / "demo"
# Pools of these names have values that the kubelet refuses, and OSM's profiles have mistakes.
_FINDINGS = frozenset({0, 1})


def measures(folder: Path) -> Iterator[Row]:
    """Rows of the table. Pools have default profiles, unless it says otherwise."""
    one = _pools(folder / "validate-one", 1, distinct=False)
    hundred = _pools(folder / "validate-hundred", 100, distinct=False)
    distinct = _pools(folder / "validate-distinct", 100, distinct=True)
    released = folder / "validate-released"
    released.mkdir()
    write_profiles(released)
    yield _cold(one).row("validate of one pool, cold", "2.5 s CPU")
    yield _again(one).row("validate of one pool, unchanged", "0.6 s CPU")
    yield _cold(hundred).row("validate of 100 pools that differ in names, cold", "6 s CPU")
    yield _cold(distinct).row("validate of 100 pools, every field distinct, cold", "6 s CPU")
    yield _again(distinct).row("validate of 100 pools, every field distinct, unchanged")
    yield _cold(released).row("validate of OSM's six profiles, cold")
    yield _again(released).row("validate of OSM's six profiles, unchanged")
    demo = shutil.copytree(_DEMO, folder / "validate-demo")
    fleet = ("--fleet", str(demo / "osm-gitops.yaml"))
    yield usage("validate", *fleet, ends=_FINDINGS).row("validate of the demo fleet, cold")
    yield usage("validate", *fleet, ends=_FINDINGS).row("validate of the demo fleet, unchanged")


def _cold(tree: Path) -> Usage:
    forget()
    return _again(tree)


def _again(tree: Path) -> Usage:
    return usage("validate", str(tree), ends=_FINDINGS)


def _pools(folder: Path, count: int, *, distinct: bool) -> Path:
    """A tree of pools alone: their profile comes with osm-gitops, and placeholders serve as facts."""
    folder.mkdir()
    machines = (machine(number, PROFILES[0], distinct=distinct) for number in range(count))
    (folder / "machines.yaml").write_text(documents(machines))
    return folder
