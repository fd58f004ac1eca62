"""When the next run of a watched fleet is due, and over which clusters and pools. Pure: times are given, in seconds.

A change waits until no other came for a quiet time, so that one run does both, but not longer than ``longest``. Every
cluster has a whole run each interval, and when its next token is due. After a failure a whole run is repeated with
back-off; changes do not wait for that, but for a short pause, so that a cluster that fails for ever is never run
without pauses. A cluster without open watches sees no changes: it is run only each interval, and when its watches open.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from osm_gitops.pipeline.triggers import Trigger, joined


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """Times in seconds, and chance, which tests replace. ``quiet`` and ``longest`` bound how long a change waits,
    ``grace`` how long a first run waits for watches, ``first`` and ``slowest`` the back-off of failed runs.
    ``pause`` is between a failed run and the next one."""

    quiet: float = 0.3
    longest: float = 3.0
    grace: float = 30.0
    pause: float = 5.0
    first: float = 10.0
    slowest: float = 600.0
    chance: Callable[[], float] = random.random

    def again(self, failures: int) -> float:
        """Seconds until a run is repeated, after so many failures: exponential, with jitter."""
        return min(self.slowest, self.first * 2.0 ** min(failures - 1, 16)) * (0.5 + self.chance() / 2)


@dataclass(frozen=True, slots=True)
class Batch:
    """One run: its clusters, why, and the pools of its only cluster (empty: all pools)."""

    clusters: tuple[str, ...]
    reason: str
    pools: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Ended:
    """How the run of a cluster ended, and when its next token is due, in seconds from then, if known."""

    good: bool
    due: float | None = None


_NEVER: Final = float("inf")
_SOONEST: Final = 60.0
"""A token that is always due, because a server grants less than was asked, must not cause one run after the other."""


@dataclass(slots=True)
class _Cluster:
    interval: float
    whole_at: float = _NEVER
    why: str = ""
    opened: bool = False
    pending: Trigger | None = None
    first: float = 0.0
    last: float = 0.0
    failures: int = 0
    not_before: float = 0.0

    def ready_at(self, pace: Pace) -> float:
        """When it is to be run."""
        return max(self.not_before, min(self._change_at(pace), self.whole_at))

    def _change_at(self, pace: Pace) -> float:
        if self.pending is None:
            return _NEVER
        quiet = min(self.last + pace.quiet, self.first + pace.longest)
        return quiet if self.opened else max(quiet, self.first + pace.grace)


@dataclass(slots=True)
class Schedule:
    """All clusters of the fleet, by name."""

    pace: Pace = field(default_factory=Pace)
    _clusters: dict[str, _Cluster] = field(default_factory=dict)

    def update(self, intervals: Mapping[str, float], now: float) -> None:
        """The clusters that there are now, and the seconds between their whole runs. New ones are due."""
        for name in self._clusters.keys() - intervals.keys():
            del self._clusters[name]
        for name, interval in intervals.items():
            if name not in self._clusters:
                self._clusters[name] = _Cluster(interval)
                self.mark(name, Trigger("start"), now - self.pace.quiet)
            self._clusters[name].interval = interval

    def mark(self, cluster: str, trigger: Trigger, now: float) -> None:
        """Something has changed in a cluster."""
        found = self._clusters.get(cluster)
        if found is None:
            return
        if found.pending is None:
            found.first = now
        found.last = now
        found.pending = joined([found.pending, trigger])

    def mark_all(self, trigger: Trigger, now: float) -> None:
        """Something has changed that all clusters depend on."""
        for name in self._clusters:
            self.mark(name, trigger, now)

    def open(self, cluster: str, *, opened: bool, now: float) -> None:
        """Whether all watches of a cluster are open. When they open again after a failed run, it is repeated."""
        found = self._clusters.get(cluster)
        if found is None:
            return
        if opened and not found.opened and found.failures:
            self.mark(cluster, Trigger("its API servers answer again"), now)
        found.opened = opened

    def next(self) -> float:
        """When :meth:`take` has something to do; infinity if no cluster is known."""
        return min((each.ready_at(self.pace) for each in self._clusters.values()), default=_NEVER)

    def take(self, now: float) -> tuple[Batch, ...]:
        """The runs that are due: one of all clusters whose pools all are to be looked at, and one for each other."""
        due = {name: each for name, each in self._clusters.items() if each.ready_at(self.pace) <= now}
        whole: dict[str, str] = {}
        batches: list[Batch] = []
        for name, each in due.items():
            pending, each.pending = each.pending, None
            if pending is not None and pending.pools is not None and now < each.whole_at:
                batches.append(Batch((name,), pending.reason, tuple(sorted(pending.pools))))
                continue
            whole[name] = pending.reason if pending is not None else each.why
            each.whole_at, each.why = now + each.interval, "the interval is over"
        first = [Batch(tuple(whole), next(iter(whole.values())))] if whole else []
        return (*first, *batches)

    def ended(self, batch: Batch, ends: Mapping[str, Ended], began: float, now: float) -> None:
        """A run has ended; a cluster that is not among its ``ends`` failed.

        It is followed by a pause as long as it took: at most half of the time is spent on runs, whatever changes.
        """
        for name in batch.clusters:
            found, end = self._clusters.get(name), ends.get(name, Ended(good=False))
            if found is None:
                continue
            took = now - began
            found.not_before = now + (took if end.good else max(took, self.pace.pause))
            if not end.good:
                found.failures += 1
            elif not batch.pools:
                found.failures = 0
            if not end.good and found.opened:
                self._at(found, now + self.pace.again(found.failures), "the last run failed")
            elif end.due is not None:
                self._at(found, now + max(end.due, _SOONEST), "a token is due")

    @staticmethod
    def _at(cluster: _Cluster, at: float, why: str) -> None:
        if at < cluster.whole_at:
            cluster.whole_at, cluster.why = at, why
