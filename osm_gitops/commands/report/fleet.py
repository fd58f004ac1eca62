"""The content of ``report``: clusters, pools and the last changes, masked, for pages and programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum

from osm_gitops.errors import Problem
from osm_gitops.git.commits import Commit
from osm_gitops.model.plan import Action
from osm_gitops.model.pool_facts import HalfSize, PoolFacts
from osm_gitops.report.outline import Outline


class State(Enum):
    """The state of a pool or a cluster, the worst first."""

    FAILED = "failed"
    PROBLEM = "problem"
    WAITING = "waiting"
    CHANGES = "changes"
    OK = "ok"

    @property
    def weight(self) -> int:
        return list(State).index(self)


@dataclass(frozen=True, slots=True)
class Token:
    """The bootstrap token of a pool: when it expires (``None`` if it does not, or is not known), and ``state`` in a few
    words then."""

    expires: datetime | None
    state: str


@dataclass(frozen=True, slots=True)
class LiveFacts:
    """What only the cluster of a pool knows. ``machines``: all of its Machines; ``waiting``: those without an
    instance."""

    machines: int
    waiting: int
    token: Token


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolReport:
    """A pool. ``facts`` are ``None`` for a pool that only the target has, or whose manifest cannot be read.

    ``changes`` is the number of objects that a plan would change, by action, ``reasons`` why. ``left`` is why apply
    skips it for now. ``problems`` stop its rendering, ``troubles`` are what ``status`` finds. ``live`` is ``None`` if
    the cluster was not read.
    """

    namespace: str
    name: str
    facts: PoolFacts | None = None
    changes: Mapping[Action, int] = field(default_factory=dict)
    reasons: tuple[str, ...] = ()
    left: str = ""
    problems: tuple[Problem, ...] = ()
    troubles: tuple[str, ...] = ()
    live: LiveFacts | None = None

    @property
    def full_name(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    @property
    def state(self) -> State:
        if self.problems:
            return State.FAILED
        if self.troubles or any(size.share > 1 for size in self.sizes):
            return State.PROBLEM
        if self.left:
            return State.WAITING
        return State.CHANGES if self.changes else State.OK

    @property
    def sizes(self) -> tuple[HalfSize, ...]:
        return self.facts.sizes if self.facts else ()

    @property
    def bootstrap(self) -> HalfSize | None:
        """The half that goes through the provider, whose limits are narrow."""
        return next((size for size in self.sizes if size.half == "bootstrap"), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterReport:
    """A cluster. ``planned``: it could be compared with its target. ``others`` counts changes of objects without a
    pool, such as profiles. ``problems`` are refusals of its plan, failed reads and blockers. ``last_run`` is empty if
    the cluster was not read, or has no record of a run."""

    name: str
    pools: tuple[PoolReport, ...]
    planned: bool = True
    others: Mapping[Action, int] = field(default_factory=dict)
    sources: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()
    warnings: tuple[Problem, ...] = ()
    last_run: str = ""

    @property
    def state(self) -> State:
        if not self.planned:
            return State.FAILED
        own = State.PROBLEM if self.problems else State.CHANGES if self.others else State.OK
        return min((own, *(pool.state for pool in self.pools)), key=lambda state: state.weight)

    @property
    def changed(self) -> int:
        """The number of pools with changes."""
        return sum(bool(pool.changes) for pool in self.pools)

    @property
    def fullest(self) -> HalfSize | None:
        """The bootstrap half that uses most of its limit."""
        found = [pool.bootstrap for pool in self.pools if pool.bootstrap is not None]
        return max(found, key=lambda size: (size.share, size.size), default=None)

    @property
    def token(self) -> Token | None:
        """The token that expires first, or one that should exist and does not."""
        found = [pool.live.token for pool in self.pools if pool.live is not None]
        return min(found, key=lambda token: token.expires.timestamp() if token.expires else 0, default=None)

    @property
    def machines(self) -> int | None:
        found = [pool.live.machines for pool in self.pools if pool.live is not None]
        return sum(found) if found else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    """A commit that changed inputs. ``clusters`` are those that it touches, of which ``rendered`` were rendered before
    and after it: ``content`` has the differences."""

    commit: Commit
    clusters: tuple[str, ...]
    rendered: int
    content: Outline


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetReport:
    """The fleet at ``now``. ``problems`` are those of whole clusters; ``revisions`` are the last changes, newest first,
    and ``no_history`` says why there are none."""

    clusters: tuple[ClusterReport, ...]
    problems: tuple[Problem, ...]
    revisions: tuple[Revision, ...]
    no_history: str
    now: datetime
    version: str

    def pools(self) -> Iterator[tuple[ClusterReport, PoolReport]]:
        return ((cluster, pool) for cluster in self.clusters for pool in cluster.pools)

    def states(self) -> Mapping[State, int]:
        """The number of pools in each state."""
        found = Counter(pool.state for _, pool in self.pools())
        return {state: found[state] for state in State}

    def problems_of_clusters(self) -> Iterator[tuple[tuple[str, ...], Problem]]:
        """The problems of clusters with the names of these; one that several have once."""
        found: dict[Problem, list[str]] = {}
        for cluster in self.clusters:
            for problem in cluster.problems:
                found.setdefault(problem, []).append(cluster.name)
        return ((tuple(names), problem) for problem, names in found.items())

    @property
    def is_live(self) -> bool:
        """Whether any cluster was read."""
        return any(pool.live is not None for _, pool in self.pools())
