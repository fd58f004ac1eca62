"""The result of a run in a live cluster, and the record that it leaves in the cluster."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import Enum

from osm_gitops.errors import Problem
from osm_gitops.model.desired import Left
from osm_gitops.model.live import Delivery
from osm_gitops.model.objects import ObjectRef
from osm_gitops.model.plan import ClusterPlan
from osm_gitops.model.promotion import Carried


class PoolState(Enum):
    """The state of a pool after a run. ``LEFT``: skipped for now, or paused; ``STUCK``: unintentionally skipped by the
    run before, too."""

    OK = "ok"
    FAILED = "failed"
    LEFT = "left"
    STUCK = "stuck"


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedRun:
    """One run in one cluster. ``plan`` is ``None`` if planning failed. ``problems`` are of the whole cluster, including
    refusals. ``narrowed``: only the ``known`` pools were selected, otherwise these are all pools. ``requests`` counts
    requests to its API servers.

    ``stuck`` are pools of ``left`` that the run before, by its record, also skipped. ``tokens_end`` is the first expiry
    of tokens that machines join with, if any.
    """

    cluster: str
    started: datetime
    ended: datetime
    plan: ClusterPlan | None = None
    delivery: Delivery = field(default_factory=Delivery)
    problems: tuple[Problem, ...] = ()
    known: tuple[ObjectRef, ...] = ()
    narrowed: bool = False
    requests: int = 0
    stuck: frozenset[ObjectRef] = frozenset()
    tokens_end: datetime | None = None

    @property
    def took(self) -> timedelta:
        return self.ended - self.started

    @property
    def failed(self) -> Mapping[ObjectRef, tuple[Problem, ...]]:
        """Pools that could not be rendered or written, with their problems."""
        written = {pool: problems for pool, problems in self.delivery.failed.items() if pool is not None}
        return {**(self.plan.failed if self.plan else {}), **written}

    @property
    def left(self) -> Mapping[ObjectRef, Left]:
        """Skipped pools."""
        return self.delivery.left

    @property
    def troubles(self) -> tuple[Problem, ...]:
        """Problems without a pool."""
        return (*self.problems, *self.delivery.failed.get(None, ()))

    @property
    def changed(self) -> frozenset[ObjectRef]:
        """Pools whose boot configuration was written. Tokens and finalizers do not count."""
        done = {pool for pool in self.delivery.written if pool is not None}
        changes = self.plan.effective if self.plan else ()
        return frozenset(change.pool for change in changes if change.pool in done and not change.upkeep)

    @property
    def pools(self) -> Mapping[ObjectRef, PoolState]:
        """All pools of the run."""
        left, failed = dict.fromkeys(self.left, PoolState.LEFT), dict.fromkeys(self.failed, PoolState.FAILED)
        return {**dict.fromkeys(self.known, PoolState.OK), **left, **failed}

    @property
    def good(self) -> bool:
        """Whether nothing failed. Skipped pools do not count unless they are stuck."""
        return self.plan is not None and not self.failed and not self.troubles and not self.stuck


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolRecord:
    """The record of a pool. Times are RFC 3339 in UTC, or empty.

    ``code`` and ``reason`` are why it was skipped (:class:`LeftReason`), ``errors`` why it failed, without secrets;
    ``since`` is the first time. ``written`` is the last write of its configuration, ``good`` the last good run before
    ``since``.
    """

    state: PoolState = PoolState.OK
    code: str = ""
    reason: str = ""
    errors: tuple[str, ...] = ()
    since: str = ""
    written: str = ""
    good: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord:
    """The record of a cluster; pools by ``namespace/name``.

    Pools that are not in ``pools`` are ``counted`` by state: healthy ones without recent writes, or there were too
    many. ``last_run`` and ``last_good_run`` are RFC 3339 in UTC, or empty. ``inputs`` are those of a cluster in a
    wave.
    """

    cluster: str = ""
    tool: str = ""
    good: bool = False
    errors: tuple[str, ...] = ()
    pools: Mapping[str, PoolRecord] = field(default_factory=dict)
    counted: Mapping[PoolState, int] = field(default_factory=dict)
    last_run: str = ""
    last_good_run: str = ""
    inputs: Carried | None = None

    def count(self) -> Mapping[PoolState, int]:
        """The number of pools in each state."""
        found = Counter({state: self.counted.get(state, 0) for state in PoolState})
        found.update(record.state for record in self.pools.values())
        return found
