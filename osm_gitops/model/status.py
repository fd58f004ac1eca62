"""How a cluster stands: what is in the way, and of each pool what machines would boot with, and whether they may."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from osm_gitops.errors import Problem
from osm_gitops.model.live import Gate, WaitingMachine
from osm_gitops.model.objects import ObjectRef
from osm_gitops.model.record import PoolRecord, RunRecord

UNKNOWN = "unknown"
"""The kind of a finding that is none, for it could not be looked for."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Something in a cluster that a person should know. ``kind`` is a word for programs, ``trouble`` that it has to be
    seen to, and ``problem`` says what it is and what to do."""

    kind: str
    problem: Problem
    trouble: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectStatus:
    """An object of a pool: ``created`` as the API server tells it, empty where the object is missing.

    ``difference`` says in what it is not what would be rendered now, and is ``None`` where that could not be told.
    ``ours``: it bears our label.
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

    ``accepts`` says whether Machines of that revision would get an instance, ``None`` where the pool has none yet;
    ``gate`` and ``why`` whether and why not osm-gitops would write the pool now.
    """

    gate: Gate
    why: str = ""
    revision: str | None = None
    stamped: str | None = None
    accepts: bool | None = None


@dataclass(frozen=True, slots=True)
class PoolStatus:
    """A pool. ``kubeconfig`` is that with which kubelets join. ``expires`` is the end of its token, ``None`` where it
    has none of its own (``token`` says why then, or what is wrong with it); ``troubles`` are sentences, ``errors`` what
    keeps it from being rendered."""

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
    """A cluster at ``now``. ``record`` is what runs left behind, ``problems`` is what could not be looked at:
    ``knows_pools`` and ``knows_record`` say whether an empty list and no record mean that there are none."""

    name: str
    now: datetime
    hosts: tuple[str, ...] = ()
    findings: Sequence[Finding] = ()
    pools: Sequence[PoolStatus] = ()
    record: RunRecord | None = None
    knows_pools: bool = True
    knows_record: bool = True
    problems: tuple[Problem, ...] = ()
    sensitive: frozenset[str] = field(default=frozenset(), repr=False)

    @property
    def is_in_trouble(self) -> bool:
        failed = self.record is not None and not self.record.good
        told = any(finding.trouble for finding in self.findings)
        return bool(self.problems) or failed or told or any(pool.is_in_trouble for pool in self.pools)
