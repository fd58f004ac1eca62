"""Plan: what a run would do to one target, object by object, and what blocks it.

Bodies are kept for the report and for the target; they hold secrets and are left out of
``repr``. What is written to a file or a terminal is made by ``osm_gitops.report`` alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum

from osm_gitops.errors import Problem
from osm_gitops.model.desired import FindSecretTexts, Left, Side, no_secret_texts
from osm_gitops.model.objects import Json, ObjectRef

Advance = Callable[[int, int], None]
"""Told after each piece of work how many are done, of how many."""


def unwatched(_done: int, _total: int) -> None:
    """For work that nobody watches."""


class Action(Enum):
    """What happens to one object (design.md, "Actions"), in the order in which reports count them."""

    CREATE = "create"
    UPDATE = "update"
    REPLACE = "replace"
    DELETE = "delete"
    UNCHANGED = "unchanged"


@dataclass(frozen=True, slots=True)
class TextChange:
    """One text inside an object that differs; ``None`` where a side does not have it."""

    name: str
    before: str | None = field(repr=False)
    after: str | None = field(repr=False)


@dataclass(frozen=True, slots=True)
class CurrentObject:
    """One object as the target has it. ``body`` is ``None`` where its text cannot be read, and
    ``trouble`` may say why. ``hidden``: it is encrypted and known to differ, but no key at hand opens
    it. ``rewrite`` is why it has to be written anew even with the same content. ``new_key``: why a file gets a new
    data key when it is written, as a clause."""

    ref: ObjectRef
    side: Side
    body: Mapping[str, Json] | None = field(repr=False)
    where: str = ""
    hidden: bool = False
    rewrite: str = ""
    trouble: str = ""
    new_key: str = ""


@dataclass(frozen=True, slots=True)
class CurrentState:
    """What a target has now.

    ``objects`` are all that were read; ``identical`` names desired objects that the
    target was seen to hold byte for byte, which are not read at all. ``unreadable``
    are documents that could not be understood: they forbid deletion. ``live`` says
    that the API server and others add fields of their own (a cluster, not a folder). ``immutable_kinds`` cannot be
    updated there, as immutable Secrets cannot (OSCs while OSM's webhook is there).
    """

    objects: Mapping[ObjectRef, CurrentObject] = field(default_factory=dict)
    identical: frozenset[ObjectRef] = frozenset()
    unreadable: tuple[Problem, ...] = ()
    warnings: tuple[Problem, ...] = ()
    live: bool = False
    immutable_kinds: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Change:
    """What happens to one object, and why. ``group`` is what stands for its pool in names of objects. ``gone`` is
    the pool that it was made for, as far as its name tells, where the cluster has none of that name any more.
    ``same_content``: only the form changes in which a file holds it (encrypted, for whom). ``upkeep``: tokens and
    finalizers of a live cluster, which ``apply`` keeps in order and which are no change to what machines boot with.
    ``metadata_only``: what machines boot with stays as it is. ``rolls_machines``: machine-controller replaces the
    Machines of the pool because of it. ``digest`` is that of the desired object, ``after`` the whole body that is
    to be written, and ``sealed`` says that it is secret whatever its kind. ``texts``: in what an update or a
    replacement differs from what is there."""

    ref: ObjectRef
    side: Side
    action: Action
    reason: str = ""
    group: str = ""
    pool: ObjectRef | None = None
    before: Mapping[str, Json] | None = field(default=None, repr=False)
    after: Mapping[str, Json] | None = field(default=None, repr=False)
    texts: tuple[TextChange, ...] = field(default=(), repr=False)
    same_content: bool = False
    upkeep: bool = False
    metadata_only: bool = False
    rolls_machines: bool = False
    digest: bytes = b""
    sealed: bool = False
    gone: ObjectRef | None = None

    @property
    def pool_name(self) -> str:
        """Its pool for people, ``NAMESPACE/NAME``; ``group`` where that does not tell one from the other."""
        pool = self.pool or self.gone
        return pool.namespaced_name if pool else self.group

    @property
    def place(self) -> tuple[str, ObjectRef]:
        """What plans are sorted by: pool after pool."""
        return self.group, self.ref


@dataclass(frozen=True, slots=True)
class PoolCounts:
    """Pools of one cluster: those desired, and of all known ones how many change, go or failed."""

    desired: int = 0
    changed: int = 0
    deleted: int = 0
    failed: int = 0


@dataclass(frozen=True, slots=True)
class ClusterPlan:
    """What a run would do for one cluster.

    ``changes`` hold unchanged objects too. ``not_deleted`` are deletions that
    ``no_deletion`` forbids; ``kept`` the objects of failed or left-out pools, and ``foreign`` profiles of others.
    ``refusals`` forbid ``apply``, and ``plan`` ends with 1 for them. ``layout`` names files beside the
    objects (``kustomization.yaml``) that a folder target has to write. ``uncommitted`` are those of the
    ``warnings`` that name what of the sources is not committed. ``hosts`` are the
    API servers that were read or would be written, a line each. ``left`` are pools of a
    live cluster that ``apply`` passes over for now;
    ``machines`` says how many Machines a pool has, where that is known. ``secret_texts`` tells
    which lines of what is desired were made from secrets, ``secret_before`` of what is there,
    ``None`` where that is not known.
    """

    cluster: str
    changes: tuple[Change, ...]
    pools: PoolCounts = PoolCounts()
    kept: tuple[ObjectRef, ...] = ()
    foreign: frozenset[ObjectRef] = frozenset()
    failed: Mapping[ObjectRef, tuple[Problem, ...]] = field(default_factory=dict)
    not_deleted: tuple[Change, ...] = ()
    no_deletion: tuple[Problem, ...] = ()
    refusals: tuple[Problem, ...] = ()
    warnings: tuple[Problem, ...] = ()
    uncommitted: tuple[Problem, ...] = ()
    layout: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    left: Mapping[ObjectRef, Left] = field(default_factory=dict)
    machines: Mapping[ObjectRef, int] = field(default_factory=dict)
    sensitive: frozenset[str] = field(default=frozenset(), repr=False)
    secret_texts: FindSecretTexts = field(default=no_secret_texts, repr=False, compare=False)
    secret_before: FindSecretTexts | None = field(default=None, repr=False, compare=False)

    def count(self) -> Mapping[Action, int]:
        """How many objects each action meets."""
        found = Counter(change.action for change in self.changes)
        return {action: found[action] for action in Action}

    @property
    def effective(self) -> tuple[Change, ...]:
        """The changes that do something."""
        return tuple(change for change in self.changes if change.action is not Action.UNCHANGED)

    @property
    def changed_pools(self) -> tuple[ObjectRef | None, ...]:
        """The pools that the changes are of, ``None`` for those of no pool."""
        return tuple(dict.fromkeys(change.pool for change in self.effective))

    @property
    def has_changes(self) -> bool:
        return bool(self.layout) or any(not change.upkeep for change in self.effective)


@dataclass(frozen=True, slots=True)
class Plan:
    """The plans of all clusters of a run, in the fleet's order."""

    clusters: tuple[ClusterPlan, ...]

    @property
    def has_changes(self) -> bool:
        return any(cluster.has_changes for cluster in self.clusters)

    @property
    def can_change(self) -> bool:
        """Whether ``apply`` would do anything: some cluster has changes, and no guard forbids them."""
        return any(cluster.has_changes and not cluster.refusals for cluster in self.clusters)

    @property
    def refusals(self) -> tuple[Problem, ...]:
        return tuple(problem for cluster in self.clusters for problem in cluster.refusals)
