"""Watches that go on: what there is, then each change, however often the connection ends.

A watch continues from the last version that it saw, which bookmarks keep new. If the server no longer has that version
(410), the state is read again. Failures are repeated with back-off and jitter, with a new connection each time, because
credentials or the address may have changed.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from osm_gitops.errors import ClusterError, OsmGitopsError, Problem
from osm_gitops.kube.api import BOOKMARK, DELETED, Api, Object, Subject

T = TypeVar("T")

_GONE: Final = 410


@dataclass(frozen=True, slots=True)
class Listed(Generic[T]):
    """All objects, at the beginning and after a gap."""

    objects: tuple[T, ...]


@dataclass(frozen=True, slots=True)
class Opened:
    """From here on each change is reported."""


@dataclass(frozen=True, slots=True)
class Changed(Generic[T]):
    """An object was created or changed, or with ``gone`` deleted."""

    found: T
    gone: bool = False


@dataclass(frozen=True, slots=True)
class Lost:
    """Changes are not reported until the watch is opened again."""

    problems: tuple[Problem, ...]


Report = Listed[T] | Opened | Changed[T] | Lost


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchPace:
    """Seconds between attempts, of one request, and chance, which tests replace."""

    first: float = 1.0
    longest: float = 60.0
    whole_life: float = 600.0
    chance: Callable[[], float] = random.random

    def pause(self, tried: int) -> float:
        """Seconds to wait after so many attempts: exponential, with jitter."""
        return min(self.longest, self.first * 2.0 ** min(tried - 1, 16)) * (0.5 + self.chance() / 2)

    def life(self) -> int:
        """Seconds until the server ends a request. Not all watches end at the same time."""
        return int(self.whole_life * (0.5 + self.chance() / 2))


WATCH_PACE: Final = WatchPace()


class Watch(Generic[T]):
    """One watch. ``keep`` makes what is reported of an object, so that no bodies wait in memory; without a result the
    object does not count. ``connect`` gets the connection that failed, if any, and may return another one."""

    def __init__(
        self,
        subject: Subject,
        connect: Callable[[Api | None], Api],
        keep: Callable[[Object], T | None],
        report: Callable[[Report[T]], None],
        pace: WatchPace = WATCH_PACE,
    ) -> None:
        self.subject = subject
        self._connect, self._keep, self._report, self._pace = connect, keep, report, pace
        self._stopped = threading.Event()
        self._listed = False
        self._since = ""

    def start(self) -> None:
        """Follow in a thread, until :meth:`stop`, or until the process ends."""
        threading.Thread(target=self.follow, name=f"watch {self.subject.kind.plural}", daemon=True).start()

    def stop(self) -> None:
        """Report nothing more. The connection ends with its next event."""
        self._stopped.set()

    def follow(self) -> None:
        """Report until :meth:`stop`."""
        tried, failed = 0, None
        while not self._stopped.is_set():
            tried += 1
            api = None
            try:
                api = self._connect(failed)
                failed = None
                for _ in self._changes(api):
                    tried = 0
            except OsmGitopsError as failure:
                expired = isinstance(failure, ClusterError) and failure.status == _GONE
                if expired:
                    self._listed = False
                else:
                    failed = api
                    self._tell(Lost(failure.problems))
            # Also after a regular end: a server that ends each answer at once must not be asked without a pause.
            self._stopped.wait(self._pace.pause(max(tried, 1)))

    def _changes(self, api: Api) -> Iterator[None]:
        """Report what one request tells; yields after each event. Raises ClusterError."""
        subject = self.subject
        if not self._listed:
            self._tell(Listed(self._state(api)))
            self._listed = True
        events = api.watch(subject, self._since, self._pace.life())
        self._tell(Opened())
        for event in events:
            if self._stopped.is_set():
                return
            self._since = event.version or self._since
            found = self._keep(event.body) if event.change != BOOKMARK else None
            if found is not None:
                self._tell(Changed(found, gone=event.change == DELETED))
            yield

    def _state(self, api: Api) -> tuple[T, ...]:
        """What there is now. One object is read by its name, so that no right to list is needed: its watch then begins
        with what there is."""
        subject = self.subject
        if not subject.name:
            listed = api.snapshot(
                subject.kind,
                self._keep,
                subject.namespace,
                labels=subject.labels,
                metadata_only=not subject.whole,
            )
            self._since = listed.version
            return tuple(listed.kept)
        self._since = ""
        body = api.get(subject.kind, subject.namespace, subject.name, metadata_only=not subject.whole)
        found = self._keep(body) if body is not None else None
        return (found,) if found is not None else ()

    def _tell(self, report: Report[T]) -> None:
        if not self._stopped.is_set():
            self._report(report)
