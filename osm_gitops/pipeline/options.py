"""How a run works, and what it comes to: the words that all parts of a run share."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Final, Protocol

from osm_gitops.config.spec import ClusterSpec
from osm_gitops.errors import Problem
from osm_gitops.git.address import TokenFile
from osm_gitops.git.remote import Clone
from osm_gitops.model.live import LOCK_TIMEOUT, Delivery, WriteOptions
from osm_gitops.model.objects import ObjectRef
from osm_gitops.model.plan import Advance, ClusterPlan, Plan
from osm_gitops.pipeline.connections import Connections
from osm_gitops.plan.compare import PlanOptions
from osm_gitops.report.metrics import Measured
from osm_gitops.sops.keys import KeySearch
from osm_gitops.targets.file_encryption import FileEncryption

_FIRST_PAUSE: Final = 1.0  # seconds
_LONGEST_PAUSE: Final = 8.0


@dataclass(frozen=True, slots=True, kw_only=True)
class GitOptions:
    """How a run commits and pushes; ``None`` leaves it to the fleet file. ``clone`` was made for this run."""

    push: bool | None = None
    sign: bool | None = None
    own_branch: str = ""
    token: TokenFile | None = None
    clone: Clone | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveOptions:
    """How a run reads and writes clusters. ``settle`` is how long it waits for pools that machine-controller has not
    got to yet, and ``lock_timeout`` how long for another run; ``now`` tells the time in UTC, ``wait`` lets so many
    seconds pass. ``as_shown``: somebody said yes to a plan, so nothing but what it showed may be written.
    ``beside_osm``: write although Operating System Manager writes too."""

    settle: timedelta = timedelta(seconds=30)
    lock_timeout: timedelta = timedelta(seconds=LOCK_TIMEOUT)
    write: WriteOptions = field(default_factory=WriteOptions)
    as_shown: bool = False
    beside_osm: bool = False
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    wait: Callable[[float], None] = time.sleep

    def pauses(self) -> Iterator[float]:
        """Seconds to wait before each further look at pools that have to settle, ever longer, until ``settle`` is over:
        the time that looking takes counts too."""
        left, pause = self.settle.total_seconds(), _FIRST_PAUSE
        while left > 0:
            began = self.now()
            yield min(pause, left)
            left -= max(pause, (self.now() - began).total_seconds())
            pause = min(2 * pause, _LONGEST_PAUSE)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """How a run works. ``environment`` is the process's, read at its outer end; ``tell`` takes sentences, ``note``
    those for ``-v``, ``advance`` the progress of a cluster's work; ``keys`` open what is encrypted, and
    ``connections`` lead to the clusters. ``only`` are globs of names of pools; empty chooses all. ``check`` raises
    LostLockError where another run may write to the cluster by now."""

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
    check: Callable[[], None] = lambda: None

    def checked(self, check: Callable[[], None]) -> RunOptions:
        """The same, with ``check`` called before every try of a request that writes to a cluster."""
        return replace(self, connections=self.connections.checked(check), check=check)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run came to: a plan of the clusters that could be planned, and what failed as a whole.

    ``deliveries`` tell by cluster what became of the plan. ``measured`` are the figures of every cluster, ``warnings``
    what could not be left behind for those who look at clusters later.
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
"""Reads the clusters of a run, again where the fleet file may have come anew with the commits of others."""


class Work(Protocol):
    """What a run does in one target, which nobody else writes in the meantime.

    ``moved``: it met newer commits of others; works after it are then ``stale`` and plan again. ``deliveries`` has what
    became of each cluster that was changed, ``published`` where commits went, ``remark`` what the user should know.
    """

    stale: bool

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
        """Read and plan; what fails adds its problems."""

    def deliver(self, options: RunOptions, confirm: Confirm, problems: list[Problem]) -> None:
        """Do what was planned, and ask again where a new plan differs."""

    def finish(
        self, options: RunOptions, started: datetime, problems: Sequence[Problem]
    ) -> tuple[tuple[Measured, ...], tuple[Problem, ...]]:
        """Leave behind what the run came to, given what this work added to ``problems``: figures, and warnings."""


def named(cluster: str, problems: Iterable[Problem]) -> Iterator[Problem]:
    """Problems of a whole cluster, which they name."""
    return (problem.at(about=f"cluster {cluster}") for problem in problems)


def sealing_of(options: RunOptions) -> FileEncryption:
    """Encryption as a run asks for it. Above a clone lie folders of others, whose rules are not ours."""
    encryption = FileEncryption(options.environment, options.age_recipients, options.keys)
    return encryption.anew(options.git.clone.root) if options.git.clone else encryption
