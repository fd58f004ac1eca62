"""Options and results of a run, shared by all of its parts."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final, Protocol

from osm_gitops.config.spec import ClusterSpec
from osm_gitops.errors import Problem
from osm_gitops.forge.place import ForgeKind
from osm_gitops.forge.token import ForgeToken
from osm_gitops.model.live import LOCK_TIMEOUT, Delivery, WriteOptions
from osm_gitops.model.objects import ObjectRef
from osm_gitops.model.plan import Advance, ClusterPlan, Plan, View, unwatched
from osm_gitops.model.settings import Settings
from osm_gitops.pipeline.connections import Connections
from osm_gitops.pipeline.memo import Memo
from osm_gitops.plan.guards import PlanOptions
from osm_gitops.sops.keys import KeySearch
from osm_gitops.workers.limits import MEBIBYTE, Limits

if TYPE_CHECKING:
    from osm_gitops.git.address import TokenFile
    from osm_gitops.git.remote import Clone
    from osm_gitops.pipeline.compiling import CompiledTexts
    from osm_gitops.report.metrics import Measured
    from osm_gitops.targets.file_encryption import FileEncryption

_FIRST_PAUSE: Final = 1.0  # seconds
_LONGEST_PAUSE: Final = 8.0


def utc_now() -> datetime:
    """The time."""
    return datetime.now(UTC)


def unheard(_text: str) -> None:
    """For messages of a run that nobody reads."""


def unwatched_cluster(_cluster: str, _what: str) -> Advance:
    """For a run without a progress display."""
    return unwatched


Tally = Callable[[int, int, int], None]
"""Called after each cluster with the numbers of clusters that are done, that failed, and of all."""


def uncounted(_what: str) -> Tally:
    """For a run that nobody watches."""
    return lambda _done, _failed, _total: None


def unchecked() -> None:
    """For a run that holds no lock."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgeOptions:
    """The forge of pull requests: its kind and the address of its API where the remote's address does not tell them."""

    kind: ForgeKind | None = None
    api: str = ""
    token: ForgeToken = field(default_factory=ForgeToken)


@dataclass(frozen=True, slots=True, kw_only=True)
class GitOptions:
    """Options of commits and pushes; ``None`` uses the fleet file. ``clone`` was made for this run. ``forge`` is the
    one of pull requests."""

    push: bool | None = None
    pull_request: bool | None = None
    forge: ForgeOptions = field(default_factory=ForgeOptions)
    sign: bool | None = None
    own_branch: str = ""
    token: TokenFile | None = None
    clone: Clone | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveOptions:
    """Options of live clusters. ``settle`` is the time to wait for machine-controller, ``lock_timeout`` for another
    run. ``now`` returns the time in UTC, ``wait`` sleeps. ``as_shown``: a user confirmed a plan, so only its changes
    may be written. ``beside_osm``: write although Operating System Manager writes too."""

    settle: timedelta = timedelta(seconds=30)
    lock_timeout: timedelta = timedelta(seconds=LOCK_TIMEOUT)
    write: WriteOptions = field(default_factory=WriteOptions)
    as_shown: bool = False
    beside_osm: bool = False
    now: Callable[[], datetime] = utc_now
    wait: Callable[[float], None] = time.sleep

    def pauses(self) -> Iterator[float]:
        """Increasing seconds to wait before reading pools again, until ``settle`` has passed, including the time of
        reading."""
        left, pause = self.settle.total_seconds(), _FIRST_PAUSE
        while left > 0:
            began = self.now()
            yield min(pause, left)
            left -= max(pause, (self.now() - began).total_seconds())
            pause = min(2 * pause, _LONGEST_PAUSE)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """Options of a run. ``environment`` is that of the process. ``tell`` prints messages, ``note`` those for ``-v``,
    ``advance`` reports progress of a cluster. ``keys`` decrypt. ``only`` are globs of pool names; empty selects all.
    ``tally`` counts the clusters of a step. Up to ``jobs`` processes plan clusters side by side (``None``: as many as
    pay), each cluster within ``cluster_timeout``.
    ``memo`` keeps what clusters that are planned one after the other share.
    ``facts``: plans have the facts of their pools, which takes some time. ``check`` raises LostLockError if another run
    may write to the cluster. ``views`` are what the reports of the run show of a plan; ``saved``: the plan is saved, or
    compared with a saved one. ``compiled`` are texts of profiles of earlier runs, if they may be used."""

    environment: Mapping[str, str]
    keys: KeySearch
    note: Callable[[str], None]
    tell: Callable[[str], None]
    advance: Callable[[str, str], Advance]
    connections: Connections
    live: LiveOptions = field(default_factory=LiveOptions)
    only: tuple[str, ...] = ()
    plan: PlanOptions = field(default_factory=PlanOptions)
    plaintext_secrets: bool = False
    age_recipients: tuple[str, ...] = ()
    git: GitOptions = field(default_factory=GitOptions)
    facts: bool = False
    check: Callable[[], None] = unchecked
    views: tuple[View, ...] = ()
    saved: bool = False
    jobs: int | None = None
    cluster_timeout: timedelta | None = None
    tally: Callable[[str], Tally] = uncounted
    memo: Memo = field(default_factory=lambda: Memo(0))
    compiled: CompiledTexts | None = None

    @property
    def cluster_seconds(self) -> int | None:
        """``cluster_timeout`` in whole seconds, at least one."""
        return None if self.cluster_timeout is None else max(1, int(self.cluster_timeout.total_seconds()))

    def checked(self, check: Callable[[], None]) -> RunOptions:
        """The same, with ``check`` called before each attempt of a write to a cluster."""
        return replace(self, connections=self.connections.checked(check), check=check)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a run: the plan of clusters that could be planned, and problems of whole clusters.

    ``deliveries`` are the results by cluster, ``measured`` the metrics of all clusters, ``warnings`` failures to record
    the run.
    """

    plan: Plan
    problems: tuple[Problem, ...] = ()
    deliveries: Mapping[str, Delivery] = field(default_factory=dict)
    pushed: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    measured: tuple[Measured, ...] = ()
    warnings: tuple[Problem, ...] = ()

    @property
    def commits(self) -> Mapping[str, str]:
        """The commits that were made, by cluster."""
        return {cluster: done.commit for cluster, done in self.deliveries.items() if done.commit}

    @property
    def failed(self) -> bool:
        return bool(self.problems) or any(cluster.failed for cluster in self.plan.clusters)


Confirm = Callable[[Plan], bool]
"""Shows a plan and asks whether to apply it."""

ReadClusters = Callable[[], Sequence[ClusterSpec]]
"""Reads the clusters of a run from the fleet file, again after new commits."""


class Work(Protocol):
    """The work of a run in one locked target.

    ``moved``: there were newer commits, so later works are ``stale`` and plan again. ``deliveries`` are the results of
    changed clusters, ``published`` the branches of commits, ``remark`` a note for the user. ``beside``: it may be done
    in a thread beside others.
    """

    stale: bool
    beside: bool

    @property
    def clusters(self) -> tuple[str, ...]: ...

    @property
    def moved(self) -> bool: ...

    @property
    def plans(self) -> list[ClusterPlan]: ...

    @property
    def pools(self) -> list[ObjectRef]: ...

    @property
    def deliveries(self) -> Mapping[str, Delivery]: ...

    @property
    def published(self) -> tuple[str, ...]: ...

    @property
    def remark(self) -> str: ...

    def prepare(self, options: RunOptions, problems: list[Problem]) -> None:
        """Read and plan, or add problems."""

    def deliver(self, options: RunOptions, confirm: Confirm, problems: list[Problem]) -> None:
        """Carry out the plan, and confirm again if a new plan differs."""

    def interrupt(self) -> None:
        """Make :meth:`deliver` in another thread end soon, after what it has begun."""

    def finish(
        self, options: RunOptions, started: datetime, problems: Sequence[Problem]
    ) -> tuple[tuple[Measured, ...], tuple[Problem, ...]]:
        """Record the run, given the ``problems`` of this work; returns metrics and warnings."""


def named(cluster: str, problems: Iterable[Problem]) -> Iterator[Problem]:
    """Problems with the name of their cluster."""
    return (problem.at(about=f"cluster {cluster}") for problem in problems)


def sealing_of(options: RunOptions) -> FileEncryption:
    """The encryption of a run. Rules above a temporary clone are ignored."""
    from osm_gitops.targets.file_encryption import FileEncryption  # noqa: PLC0415 - slow

    encryption = FileEncryption(options.environment, options.age_recipients, options.keys)
    return encryption.reloaded(options.git.clone.root) if options.git.clone else encryption


def limits_of(settings: Settings) -> Limits:
    """The limits of a worker for one pool by the settings."""
    return Limits(settings.max_render_seconds, settings.max_render_memory * MEBIBYTE)
