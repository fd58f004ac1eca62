"""The loop of ``--watch``: a run whenever something that runs depend on has changed, and each interval.

Each run is an ordinary one, with its own configuration, outcome, metrics and record: the loop only decides when and for
which clusters and pools. Watches run in threads and put reports into a queue; all decisions are made in the thread that
calls :meth:`Watching.step`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import Final, Protocol

from osm_gitops.config.spec import ClusterSpec, LiveRef, LiveTarget
from osm_gitops.errors import OsmGitopsError, Problem
from osm_gitops.kube.api import Api
from osm_gitops.kube.watch import WATCH_PACE, Lost, Opened, Report, Watch, WatchPace
from osm_gitops.model.desired import Side
from osm_gitops.model.record import FinishedRun
from osm_gitops.pipeline.connections import Connections
from osm_gitops.pipeline.load import load_settings
from osm_gitops.pipeline.options import named
from osm_gitops.pipeline.schedule import Batch, Ended, Schedule
from osm_gitops.pipeline.triggers import Place, Seen, Trigger, Watched
from osm_gitops.workers.calls import end_idle

BEAT: Final = 30.0
"""The longest wait of one step, in seconds. After one without anything to do, memory is freed."""
_PATIENCE: Final = 10.0
"""Seconds that a run waits for watches that were just started."""


class Configuration(Protocol):
    """The configuration of one run, as it was read for it. ``only`` are globs of pools that runs look at."""

    @property
    def specs(self) -> Sequence[ClusterSpec]: ...

    @property
    def only(self) -> tuple[str, ...]: ...

    def run(self, batch: Batch) -> Sequence[FinishedRun]:
        """An ordinary run over some clusters; how it ended for each. Reports its own problems. May raise
        OsmGitopsError."""


@dataclass(frozen=True, slots=True)
class FromWatch:
    """A report of a cluster's watch. Of a watch that was replaced, it does not count."""

    cluster: str
    place: Place
    watch: Watch[Seen]
    report: Report[Seen]


@dataclass(frozen=True, slots=True)
class Moved:
    """The git source is at this commit, or why that is not known."""

    commit: str
    problems: tuple[Problem, ...] = ()


Message = FromWatch | Moved


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What the loop uses of the outside; times are in seconds. ``tell`` prints a message, ``warn`` problems; ``alive``
    is called with each step. ``head`` asks each ``poll`` seconds for the commit of the git source."""

    environment: Mapping[str, str]
    clock: Callable[[], float]
    tell: Callable[[str], None]
    warn: Callable[[Iterable[Problem]], None]
    alive: Callable[[], None] = lambda: None
    head: Callable[[], str] | None = None
    poll: float = BEAT
    pace: WatchPace = WATCH_PACE


class Servers:
    """The connections of watches, each shared by those of one server. Thread-safe."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self._open: dict[object, Api] = {}
        self._lock = threading.Lock()

    def connect(self, spec: ClusterSpec, side: Side, failed: Api | None) -> Api:
        """The connection, or a new one in place of the one that ``failed``, for which kubeconfigs are read again.
        Raises OsmGitopsError."""
        management = side is Side.MANAGEMENT
        server = (spec.management if management else spec.worker, _user_cluster(spec))
        with self._lock:
            known = self._open.get(server)
            if known is None or known is failed:
                connections = Connections(self._environment)
                known = connections.management(spec) if management else connections.worker(spec)
                self._open[server] = known
            return known


def _user_cluster(spec: ClusterSpec) -> tuple[object, ...]:
    """What identifies a user cluster of KKP and its address; empty for others."""
    found = spec.kkp
    return (found.seed, found.cluster.id, found.cluster.url) if found is not None else ()


@dataclass(slots=True)
class _Cluster:
    """A cluster with its watches; without valid settings ``watched`` is ``None``, and there are none. ``settled`` are
    watches that have been ``opened`` or have failed, ``told`` says that a failure was reported."""

    key: object
    watched: Watched | None
    watches: dict[Place, Watch[Seen]] = field(default_factory=dict)
    opened: set[Place] = field(default_factory=set)
    settled: set[Place] = field(default_factory=set)
    told: bool = False

    @property
    def is_open(self) -> bool:
        return self.opened == self.watches.keys()

    @property
    def is_settled(self) -> bool:
        """Whether each watch has been opened, or has failed."""
        return self.settled == self.watches.keys()


class Watching:
    """The loop. ``read`` opens the configuration for a run, which stays open until that of the next run has been
    opened. ``refreshes``: the runs are those of ``refresh``."""

    def __init__(
        self,
        read: Callable[[], AbstractContextManager[Configuration]],
        schedule: Schedule,
        around: Surroundings,
        *,
        refreshes: bool,
    ) -> None:
        self._read, self._schedule, self._around, self._refreshes = read, schedule, around, refreshes
        self.messages: SimpleQueue[Message] = SimpleQueue()
        self._clusters: dict[str, _Cluster] = {}
        self._servers = Servers(around.environment)
        self._open = ExitStack()
        self._commit = ""
        self._own: set[str] = set()
        self._unknown = False
        self._idle = False
        self._stopped = threading.Event()

    def start(self) -> None:
        """The first run of all clusters. Raises OsmGitopsError if there is no valid configuration."""
        self._around.alive()
        if self._around.head is not None:
            self._commit = _head(self._around.head).commit  # before the clone, so that no commit is missed
            threading.Thread(target=self._ask, args=(self._around.head,), name="git", daemon=True).start()
        configuration = self._configuration()
        self._run_due(configuration)

    def _ask(self, head: Callable[[], str]) -> None:
        while not self._stopped.wait(self._around.poll):
            self.messages.put(_head(head))

    def step(self) -> None:
        """Wait for a message or until a run is due, and do what it takes."""
        self._around.alive()
        wait = self._schedule.next() - self._around.clock()
        message = self._receive(max(0.0, min(wait, BEAT)))
        if message is not None:
            self.take(message)
        elif self._schedule.next() <= self._around.clock():
            self._idle = False
            self._run()
        elif not self._idle:
            self._idle = True
            end_idle()

    def close(self) -> None:
        """Stop all watches."""
        self._stopped.set()
        for each in self._clusters.values():
            _stop(each.watches.values())
        self._open.close()

    def take(self, message: Message) -> None:
        """Take in a message."""
        if isinstance(message, Moved):
            self._follow(message)
            return
        cluster = self._clusters.get(message.cluster)
        if cluster is None or cluster.watched is None or cluster.watches.get(message.place) is not message.watch:
            return
        trigger = cluster.watched.take(message.place, message.report)
        if trigger is not None:
            self._schedule.mark(message.cluster, trigger, self._around.clock())
        if isinstance(message.report, Opened | Lost):
            self._note(message.cluster, cluster, message.place, message.report)
        else:
            self._watch(message.cluster, cluster)

    def _follow(self, moved: Moved) -> None:
        """Run all clusters after a commit of others. Commits of runs are what they planned from, with their changes."""
        if moved.problems and not self._unknown:
            self._around.warn(moved.problems)
        self._unknown = bool(moved.problems)
        if moved.problems or moved.commit == self._commit:
            return
        self._commit = moved.commit
        if moved.commit not in self._own:
            self._schedule.mark_all(Trigger(f"commit {moved.commit[:12]}"), self._around.clock())

    def _note(self, name: str, cluster: _Cluster, place: Place, report: Opened | Lost) -> None:
        """Note whether a watch is open, and say it once for a cluster."""
        cluster.settled.add(place)
        if isinstance(report, Opened):
            cluster.opened.add(place)
        else:
            cluster.opened.discard(place)
            if not cluster.told:
                cluster.told = True
                self._around.warn(named(name, report.problems))
        if cluster.is_open and cluster.told:
            cluster.told = False
            self._around.tell(f"{name}: watched again")
        self._schedule.open(name, opened=cluster.is_open, now=self._around.clock())

    def _receive(self, seconds: float) -> Message | None:
        try:
            return self.messages.get(timeout=seconds)
        except Empty:
            return None

    def _run(self) -> None:
        try:
            configuration = self._configuration()
        except OsmGitopsError as failure:
            self._around.warn(failure.problems)
            for batch in self._schedule.take(self._around.clock()):
                self._schedule.ended(batch, {}, self._around.clock(), self._around.clock())
            return
        self._run_due(configuration)

    def _run_due(self, configuration: Configuration) -> None:
        for batch in self._schedule.take(self._around.clock()):
            self._around.tell(_announced(batch))
            for name in batch.clusters:
                watched = self._clusters[name].watched
                if watched is not None:
                    watched.runs += 1
            began = self._around.clock()
            runs: Sequence[FinishedRun] = ()
            try:
                runs = configuration.run(batch)
            except OsmGitopsError as failure:
                self._around.warn(failure.problems)
            self._own.update(ran.delivery.commit for ran in runs if ran.delivery.commit)
            ends = {ran.cluster: Ended(ran.good, self._due(ran)) for ran in runs}
            self._schedule.ended(batch, ends, began, self._around.clock())
            self._around.alive()

    def _due(self, ran: FinishedRun) -> float | None:
        """Seconds until the first token has half of its life left and is renewed. A server may grant a shorter life."""
        cluster = self._clusters.get(ran.cluster)
        watched = cluster.watched if cluster is not None else None
        if ran.tokens_end is None or watched is None:
            return None
        left = (ran.tokens_end - ran.ended).total_seconds()
        due = left - watched.settings.token_life.total_seconds() / 2
        return due if due > 0 else left / 2

    def _configuration(self) -> Configuration:
        """Read the configuration for the next run, and watch what it names. Raises OsmGitopsError."""
        opening = ExitStack()
        with opening:
            configuration = opening.enter_context(self._read())
            kept = opening.pop_all()
        # Only now: watches may use kubeconfigs of the last configuration, which may be in a temporary clone.
        self._open.close()
        self._open = kept
        self._update(configuration)
        return configuration

    def _update(self, configuration: Configuration) -> None:
        """Watch its clusters, and wait a moment for new watches, so that the next run knows what they have seen."""
        specs = configuration.specs
        for name in self._clusters.keys() - {spec.name for spec in specs}:
            _stop(self._clusters.pop(name).watches.values())
        intervals = {}
        for spec in specs:
            cluster = self._cluster(spec, configuration.only)
            intervals[spec.name] = cluster.watched.settings.interval.total_seconds() if cluster.watched else _DEFAULT
        now = self._around.clock()
        self._schedule.update(intervals, now)
        for spec in specs:
            self._watch(spec.name, self._clusters[spec.name])
        until = now + _PATIENCE
        while not all(each.is_settled for each in self._clusters.values()):
            message = self._receive(max(0.0, until - self._around.clock()))
            if message is None:
                break
            self.take(message)
        for name, each in self._clusters.items():
            self._schedule.open(name, opened=each.is_open, now=self._around.clock())

    def _cluster(self, spec: ClusterSpec, only: tuple[str, ...]) -> _Cluster:
        """The cluster, with the watches that it has unless what they depend on has changed."""
        try:
            settings = None if spec.problems else load_settings(spec)
        except OsmGitopsError:  # the run reports it
            settings = None
        live = tuple(isinstance(part, LiveRef) for part in spec.source.parts)
        servers = (spec.management, spec.worker, _user_cluster(spec))
        key = (servers, live, isinstance(spec.target, LiveTarget), settings)
        before = self._clusters.get(spec.name)
        if before is not None and before.key == key:
            return before
        if before is not None:
            _stop(before.watches.values())
        watched = Watched(spec, settings, only, self._refreshes) if settings is not None else None
        self._clusters[spec.name] = _Cluster(key, watched)
        return self._clusters[spec.name]

    def _watch(self, name: str, cluster: _Cluster) -> None:
        """Start and stop watches, so that they are those that the cluster needs now."""
        if cluster.watched is None:
            return
        wanted = cluster.watched.places()
        for place in cluster.watches.keys() - wanted:
            cluster.watches.pop(place).stop()
            cluster.opened.discard(place)
            cluster.settled.discard(place)
        for place in sorted(wanted - cluster.watches.keys(), key=str):
            cluster.watches[place] = self._started(name, cluster.watched, place)

    def _started(self, name: str, watched: Watched, place: Place) -> Watch[Seen]:
        watch = Watch(
            place.subject,
            lambda failed: self._servers.connect(watched.spec, place.side, failed),
            watched.keeper(place),
            lambda report: self.messages.put(FromWatch(name, place, watch, report)),
            self._around.pace,
        )
        watch.start()
        return watch


_DEFAULT: Final = 1800.0
"""Seconds between runs of a cluster whose settings are invalid."""


def _head(head: Callable[[], str]) -> Moved:
    try:
        return Moved(head())
    except OsmGitopsError as failure:
        return Moved("", failure.problems)


def _stop(watches: Iterable[Watch[Seen]]) -> None:
    for watch in watches:
        watch.stop()


def _announced(batch: Batch) -> str:
    """The line before a run."""
    first, *others = batch.clusters
    clusters = f"{first} and {len(others)} more clusters" if others else first
    pools = f" for {', '.join(batch.pools[:3])}{' …' if len(batch.pools) > 3 else ''}" if batch.pools else ""
    return f"{clusters}: run{pools}: {batch.reason}"
