"""Plan: the changes of a run to one target, object by object, and the reasons that forbid them.

Bodies contain secrets, and are not part of ``repr``. Only ``osm_gitops.report`` makes text for files and terminals.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from enum import Enum

from osm_gitops.errors import Problem
from osm_gitops.model.desired import Left, Side
from osm_gitops.model.objects import Json, ObjectRef
from osm_gitops.model.pool_facts import PoolFacts
from osm_gitops.model.promotion import Promotion

Advance = Callable[[int, int], None]
"""Called after each piece of work with the number done, and of how many."""


def unwatched(_done: int, _total: int) -> None:
    """For work without a progress display."""


class Action(Enum):
    """The change of one object (design.md, "Actions"), in the order of reports."""

    CREATE = "create"
    UPDATE = "update"
    REPLACE = "replace"
    DELETE = "delete"
    UNCHANGED = "unchanged"


@dataclass(frozen=True, slots=True)
class TextChange:
    """One changed text inside an object; ``None`` if a side does not have it."""

    name: str
    before: str | None = field(repr=False)
    after: str | None = field(repr=False)


@dataclass(frozen=True, slots=True)
class CurrentObject:
    """The current state of one object. ``body`` is ``None`` if its text is unreadable, with the reason ``trouble``.
    ``hidden``: it is encrypted and differs, but no available key decrypts it. ``rewrite``: why to write it even with
    the same content. ``new_key``: why a file gets a new data key when it is written, as a clause."""

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
    """The current state of a target.

    ``objects`` were read; ``identical`` are desired objects that the target has byte for byte, which are not parsed.
    ``compared`` are the changes of others that were compared as they were read.
    ``unreadable`` documents forbid deletion. ``live``: a cluster, where API servers and others add fields.
    ``immutable_kinds`` cannot be updated (OSCs while OSM's webhook exists).
    """

    objects: Mapping[ObjectRef, CurrentObject] = field(default_factory=dict)
    identical: frozenset[ObjectRef] = frozenset()
    compared: Mapping[ObjectRef, Change] = field(default_factory=dict)
    unreadable: tuple[Problem, ...] = ()
    warnings: tuple[Problem, ...] = ()
    live: bool = False
    immutable_kinds: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class TextDiff:
    """The change of one text: hunks in unified form, without file headers; ``instead`` says why there are none."""

    name: str
    state: str
    lines: tuple[str, ...] = field(repr=False)
    added: int
    removed: int
    instead: str = ""


@dataclass(frozen=True, slots=True)
class View:
    """What a report shows of a plan: ``context`` lines around a change, with ``whole`` also the content of created and
    deleted objects, with ``together`` one of the pools that change in the same way, with ``hide_secret_files`` no
    content of files that are made from secrets."""

    context: int = 3
    whole: bool = False
    together: bool = False
    hide_secret_files: bool = False


@dataclass(frozen=True, slots=True)
class ShownTexts:
    """What is left of the differences of a change, once it is known what reports show: ``diffs`` for each of ``views``.
    ``learned`` are secrets that only the bodies have."""

    views: tuple[View, ...]
    diffs: tuple[tuple[TextDiff, ...], ...] = field(repr=False)
    learned: tuple[str, ...] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Change:
    """The change of one object, and its reason.

    ``group`` is the pool's part of object names. ``gone`` is the pool of an object, by its name, if the cluster no
    longer has this pool. ``same_content``: only the encoding in a file changes (encryption, recipients). ``upkeep``:
    maintenance of tokens and finalizers, which does not change boot configurations. ``metadata_only``: the boot
    configuration does not change. ``rolls_machines``: machine-controller replaces the pool's Machines. ``digest`` is
    that of the desired object, ``after`` the body to write; ``sealed``: it is secret regardless of its kind. ``texts``
    are the differences of an update or replacement; if ``shown`` has what reports need of them, they and ``before`` are
    gone.
    """

    ref: ObjectRef
    side: Side
    action: Action
    reason: str = ""
    group: str = ""
    pool: ObjectRef | None = None
    before: Mapping[str, Json] | None = field(default=None, repr=False)
    after: Mapping[str, Json] | None = field(default=None, repr=False)
    texts: tuple[TextChange, ...] = field(default=(), repr=False)
    shown: ShownTexts | None = field(default=None, repr=False)
    same_content: bool = False
    upkeep: bool = False
    metadata_only: bool = False
    rolls_machines: bool = False
    digest: bytes = b""
    sealed: bool = False
    gone: ObjectRef | None = None

    @property
    def pool_name(self) -> str:
        """Its pool for people, ``NAMESPACE/NAME``; ``group`` if that is ambiguous."""
        pool = self.pool or self.gone
        return pool.namespaced_name if pool else self.group

    @property
    def boots_differently(self) -> bool:
        """Whether new machines will boot with another configuration than existing machines did."""
        boots_alike = self.same_content or self.upkeep or self.metadata_only
        return self.action in {Action.UPDATE, Action.REPLACE} and not boots_alike

    @property
    def place(self) -> tuple[str, ObjectRef]:
        """The sort key of plans: by pool."""
        return self.group, self.ref


@dataclass(frozen=True, slots=True)
class ExcerptChange:
    """One change without its bodies. ``diffs`` have secrets, from which others are learned; ``public`` are the same
    without the lines that were made from secrets."""

    change: Change
    diffs: tuple[TextDiff, ...] = field(repr=False)
    public: tuple[TextDiff, ...] = field(repr=False)


@dataclass(frozen=True, slots=True)
class ExcerptPools:
    """Pools that change in the same way, with the changes of the first one. Objects without a pool have the name
    ``""``. ``likeness`` is equal for all pools that change in this way, also in other clusters."""

    names: tuple[str, ...]
    changes: tuple[ExcerptChange, ...]
    likeness: Hashable = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Everything that a view needs of a cluster's plan, found while its pools can be rendered. ``learned`` are secrets
    that only bodies have."""

    pools: tuple[ExcerptPools, ...]
    learned: frozenset[str] = field(default=frozenset(), repr=False)


@dataclass(frozen=True, slots=True)
class PoolCounts:
    """Numbers of pools of one cluster: desired ones, and how many change, are deleted or failed."""

    desired: int = 0
    changed: int = 0
    deleted: int = 0
    failed: int = 0


@dataclass(frozen=True, slots=True)
class ClusterPlan:
    """The plan of one cluster.

    ``changes`` include unchanged objects. ``not_deleted`` are deletions that ``no_deletion`` forbids, ``kept`` objects
    of failed or unselected pools, ``foreign`` profiles of others. ``refusals`` forbid ``apply``, and ``plan`` exits
    with 1. ``layout`` are other files (``kustomization.yaml``) for a folder target. ``uncommitted`` are the
    ``warnings`` about uncommitted sources. ``hosts`` are API servers that are read or written, one per line. ``left``
    are skipped pools of a live cluster, ``machines`` the known numbers of Machines, ``facts`` those of pools, in runs
    that ask for them. ``narrowed``: only some pools were selected. ``promotion`` is the revision of a cluster of a
    wave. ``excerpts`` are what reports show, without what renderings with other secrets found to be secret; ``None`` if
    nothing was rendered. ``fingerprint`` is that of the whole plan, once its bodies are gone.
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
    facts: Mapping[ObjectRef, PoolFacts] = field(default_factory=dict)
    sensitive: frozenset[str] = field(default=frozenset(), repr=False)
    narrowed: bool = False
    promotion: Promotion | None = None
    excerpts: Mapping[View, Excerpt] | None = field(default=None, repr=False)
    fingerprint: str = ""

    @property
    def inputs(self) -> Promotion | None:
        """What to leave word of where the plan goes: from which shared inputs all pools of a cluster were rendered."""
        promotion = self.promotion
        kept = promotion is None or not promotion.digest or self.narrowed or bool(self.refusals)
        return None if kept else promotion

    def count(self) -> Mapping[Action, int]:
        """The number of objects of each action."""
        found = Counter(change.action for change in self.changes)
        return {action: found[action] for action in Action}

    @property
    def effective(self) -> tuple[Change, ...]:
        """The changes except unchanged objects."""
        return tuple(change for change in self.changes if change.action is not Action.UNCHANGED)

    @property
    def changed_pools(self) -> tuple[ObjectRef | None, ...]:
        """The pools of the changes; ``None`` for objects without a pool."""
        return tuple(dict.fromkeys(change.pool for change in self.effective))

    @property
    def has_changes(self) -> bool:
        return bool(self.layout) or any(not change.upkeep for change in self.effective)


@dataclass(frozen=True, slots=True)
class Plan:
    """The plans of all clusters of a run, in the order of the fleet."""

    clusters: tuple[ClusterPlan, ...]

    @property
    def has_changes(self) -> bool:
        return any(cluster.has_changes for cluster in self.clusters)

    @property
    def can_change(self) -> bool:
        """Whether ``apply`` would change anything: a cluster has changes that no guard forbids."""
        return any(cluster.has_changes and not cluster.refusals for cluster in self.clusters)

    @property
    def refusals(self) -> tuple[Problem, ...]:
        return tuple(problem for cluster in self.clusters for problem in cluster.refusals)
