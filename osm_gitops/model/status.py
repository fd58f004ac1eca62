"""The result of ``osm-gitops status``: blockers of a cluster, and the state of each pool."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from osm_gitops.errors import Problem
from osm_gitops.model.live import Gate, WaitingMachine
from osm_gitops.model.objects import ObjectRef
from osm_gitops.model.plan import ClusterPlan
from osm_gitops.model.record import PoolRecord, RunRecord

UNKNOWN = "unknown"
"""The kind of a check that could not be made."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A finding about a cluster. ``kind`` is a word for programs, ``trouble``: it needs action, ``problem`` is the
    message."""

    kind: str
    problem: Problem
    trouble: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectStatus:
    """An object of a pool: ``created`` is its creation time, empty if the object is missing.

    ``difference`` is how it differs from what would be rendered now, ``None`` if unknown. ``ours``: it has our label.
    """

    created: str = ""
    ours: bool = False
    difference: str | None = None

    @property
    def present(self) -> bool:
        return bool(self.created)

    @property
    def in_step(self) -> bool | None:
        return None if self.difference is None else self.present and not self.difference


@dataclass(frozen=True, slots=True, kw_only=True)
class GateStatus:
    """machine-controller's gate: ``stamped`` is the revision of the bootstrap Secret, ``revision`` that of the pool.

    ``accepts``: Machines of that revision would get an instance; ``None`` if the pool has no revision yet. ``gate`` and
    ``why``: whether and why not osm-gitops would write the pool now.
    """

    gate: Gate
    why: str = ""
    revision: str | None = None
    stamped: str | None = None
    accepts: bool | None = None


@dataclass(frozen=True, slots=True)
class PoolStatus:
    """A pool. ``kubeconfig`` is the one of its kubelets. ``expires`` is the expiry of its token, ``None`` without a
    token (``token`` is the reason, or what is wrong with it). ``troubles`` are sentences, ``errors`` stop its
    rendering."""

    ref: ObjectRef
    config: ObjectStatus
    bootstrap: ObjectStatus
    provisioning: ObjectStatus
    kubeconfig: ObjectStatus
    gate: GateStatus
    machines: int = 0
    waiting: tuple[WaitingMachine, ...] = ()
    expires: datetime | None = None
    token: str = ""
    errors: tuple[Problem, ...] = ()
    recorded: PoolRecord | None = None
    troubles: tuple[str, ...] = ()

    @property
    def is_in_trouble(self) -> bool:
        return bool(self.troubles)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterStatus:
    """A cluster at ``now``. ``record`` is the record of runs. ``problems`` are failed reads: ``knows_pools`` and
    ``knows_record`` show whether an empty list and a missing record are certain. ``plan`` is what apply would do to it;
    ``None`` if it could not be planned."""

    name: str
    now: datetime
    hosts: tuple[str, ...] = ()
    findings: Sequence[Finding] = ()
    pools: Sequence[PoolStatus] = ()
    record: RunRecord | None = None
    knows_pools: bool = True
    knows_record: bool = True
    problems: tuple[Problem, ...] = ()
    plan: ClusterPlan | None = field(default=None, repr=False)
    sensitive: frozenset[str] = field(default=frozenset(), repr=False)

    @property
    def is_in_trouble(self) -> bool:
        failed = self.record is not None and not self.record.good
        told = any(finding.trouble for finding in self.findings)
        return bool(self.problems) or failed or told or any(pool.is_in_trouble for pool in self.pools)
