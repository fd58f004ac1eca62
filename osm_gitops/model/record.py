"""What a run over a live cluster came to, and what it leaves behind for those who look later."""

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


class PoolState(Enum):
    """How a pool came out of a run. ``LEFT``: its time has not come yet, or it is paused; ``STUCK``: that was so in the
    run before, too, and nobody wants it so."""

    OK = "ok"
    FAILED = "failed"
    LEFT = "left"
    STUCK = "stuck"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """One run over one cluster. ``plan`` is ``None`` where it could not be planned; ``problems`` are of the cluster
    as a whole, refusals too; ``narrowed``: it looked at some pools only, which are ``known``, else these are all there
    are. ``requests`` counts those to its API servers.

    ``stuck`` are pools of ``left`` that the run before has left, too: that is told by the record of runs.
    ``tokens_end`` is when the first of the tokens that machines join with ends, ``None`` where there are none.
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
        """Pools that were passed over."""
        return self.delivery.left

    @property
    def troubles(self) -> tuple[Problem, ...]:
        """Problems that belong to no pool."""
        return (*self.problems, *self.delivery.failed.get(None, ()))

    @property
    def changed(self) -> frozenset[ObjectRef]:
        """Pools whose machines' configuration was written; tokens and finalizers are no change."""
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
        """Whether nothing failed; pools that were left do not count until they are stuck, for a later run has them."""
        return self.plan is not None and not self.failed and not self.troubles and not self.stuck


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolRecord:
    """What is known of a pool since the last run. Times are RFC 3339 in UTC, empty where they are not known.

    ``code`` and ``reason`` are why it was left (:class:`LeftReason`), ``errors`` why it failed, without secrets;
    ``since`` is when that was first so. ``written`` is when its configuration was last written, ``good`` the last run
    before ``since`` in which it was well.
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
    """What is known of a cluster since the last run; pools by ``namespace/name``.

    A pool that ``pools`` does not name is one of those ``counted``, by state: it is well, and was not written for long,
    or there were too many. ``last_run`` and ``last_good_run`` are RFC 3339 in UTC, empty where there was none.
    """

    cluster: str = ""
    tool: str = ""
    good: bool = False
    errors: tuple[str, ...] = ()
    pools: Mapping[str, PoolRecord] = field(default_factory=dict)
    counted: Mapping[PoolState, int] = field(default_factory=dict)
    last_run: str = ""
    last_good_run: str = ""

    def count(self) -> Mapping[PoolState, int]:
        """How many pools are in which state."""
        found = Counter({state: self.counted.get(state, 0) for state in PoolState})
        found.update(record.state for record in self.pools.values())
        return found
