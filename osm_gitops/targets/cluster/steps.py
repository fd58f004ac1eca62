"""What is written for one pool, in which order (design.md, "Order of writes"): the bootstrap Secret is what machines
are created from, so it comes last, and goes first. A pool is one unit of work, done by one thread; several run side by
side, with a bound on how much is under way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from threading import Event
from typing import Final, TypeVar

from osm_gitops.errors import ConflictError, Problem
from osm_gitops.kube.kinds import CONFIG, MACHINE_DEPLOYMENT, PROFILE, SECRET
from osm_gitops.model.desired import Side
from osm_gitops.model.live import Gate, LivePool
from osm_gitops.model.machine import PoolNames
from osm_gitops.model.objects import CLOUD_INIT_NAMESPACE, Json, ObjectRef
from osm_gitops.model.plan import Action, Change, ClusterPlan
from osm_gitops.plan.compare import group_name, is_gate
from osm_gitops.plan.machines import is_machine_change
from osm_gitops.render.manifests import REVISION
from osm_gitops.render.resolve.bootstrap_token import NAME_LABEL
from osm_gitops.render.resolve.bootstrap_token import NAMESPACE as TOKEN_NAMESPACE
from osm_gitops.targets.cluster.writes import Body, Writes, is_removable, release

_WRITTEN: Final = frozenset({Action.CREATE, Action.UPDATE, Action.REPLACE})
# Longer values are no labels, so no Secret has them.
_LONGEST_LABEL: Final = 63


@dataclass(frozen=True, slots=True)
class PoolWork:
    """What is to be done for one pool: its objects as they are to be sent, in order, and those that it needs no more.

    ``gate`` is the change of the bootstrap Secret where that has to go before others are replaced. ``late``: Machines
    may wait for it.
    """

    bodies: Sequence[Body] = field(repr=False)
    removals: Sequence[Change] = ()
    gate: Change | None = None
    late: bool = False


def gate_to_shut(changes: Iterable[Change]) -> Change | None:
    """The bootstrap Secret, where the plan has it replaced, as it does wherever another Secret of the pool is."""
    return next((each for each in changes if _is_gate(each) and each.action is Action.REPLACE), None)


def in_order(changes: Iterable[Change]) -> list[Change]:
    """What is to be applied of a pool."""
    return sorted((change for change in changes if change.action in _WRITTEN), key=_place)


def _place(change: Change) -> tuple[int, str]:
    name, is_secret = change.ref.name, change.ref.kind == SECRET.name
    return 3 if _is_gate(change) else 2 if name == f"{change.group}-provisioning-config" else is_secret, name


def _is_gate(change: Change) -> bool:
    return is_gate(change.ref, change.group)


def is_late(body: Body) -> bool:
    """Whether Machines may have been refused so far: the bootstrap Secret was not there, or of another revision.

    Asked while the body is at hand: that of the change would be parsed again.
    """
    change = body.change
    if not _is_gate(change) or change.action not in _WRITTEN:
        return False
    return change.action is Action.CREATE or _revision(change.before) != _revision(body.content)


def _revision(body: Json) -> str | None:
    annotations = ((body or {}).get("metadata") or {}).get("annotations") or {}
    revision: str | None = annotations.get(REVISION)
    return revision


def write_pool(writes: Writes, work: PoolWork) -> None:
    """Carry out the changes of one pool. Raises ClusterError at the first that fails; what was done until then stands,
    and the next run does the rest. What others have added holds nothing up, and is a ConflictError in the end."""
    added: list[Problem] = []
    if work.gate is not None:
        writes.remove(work.gate.side, work.gate.ref, required=True)
    for body in work.bodies:
        change = body.change
        if change.action is Action.REPLACE and change is not work.gate:
            writes.remove(change.side, change.ref, required=True)
        added += writes.put(body)
    remove_all(writes, work.removals)
    if added:
        raise ConflictError(added)


def remove_all(writes: Writes, changes: Iterable[Change]) -> None:
    """Delete what is not needed any more, a bootstrap Secret first."""
    for change in sorted(changes, key=lambda each: (not _is_gate(each), each.ref)):
        writes.remove(change.side, change.ref)


def made_for(names: PoolNames, namespace: str) -> Iterator[tuple[Side, ObjectRef]]:
    """Everything that may be there for a pool but its tokens, the bootstrap Secret first; ``namespace``: of OSCs."""
    yield Side.WORKER, _secret(names.bootstrap_secret_name)
    yield Side.MANAGEMENT, ObjectRef(CONFIG.name, namespace, names.config_name)
    for name in (names.provisioning_secret_name, names.edge_script_name, names.kubelet_kubeconfig_name):
        yield Side.WORKER, _secret(name)


def clean_up(writes: Writes, pool: LivePool, namespace: str, spared: frozenset[ObjectRef], *, tokens: bool) -> None:
    """Delete everything that was made for a MachineDeployment that is being deleted, then remove the finalizer.

    ``namespace`` is that of OSCs; ``spared`` is what pools that stay have under the same names; ``tokens``: pools have
    bootstrap tokens of their own, which OSM forgets.
    """
    names = PoolNames(pool.ref.name, pool.ref.namespace)
    for side, ref in made_for(names, namespace):
        if ref not in spared:
            writes.remove(side, ref)
    if tokens and _secret(names.kubelet_kubeconfig_name) not in spared:
        for ref, uid in _tokens(writes, names.token_key):
            writes.delete(Side.WORKER, ref, uid)
    release(writes, pool)


def _tokens(writes: Writes, key: str) -> list[tuple[ObjectRef, str]]:
    """A pool's bootstrap tokens, and their uids."""
    if len(key.encode()) > _LONGEST_LABEL:
        return []

    def keep(body: Mapping[str, Json]) -> tuple[ObjectRef, str] | None:
        metadata = body["metadata"]
        ref = ObjectRef(SECRET.name, TOKEN_NAMESPACE, metadata["name"])
        return (ref, metadata["uid"]) if is_removable(ref, body) else None

    return writes.live.worker.list(SECRET, keep, TOKEN_NAMESPACE, labels=f"{NAME_LABEL}={key}", metadata_only=True)


def _secret(name: str) -> ObjectRef:
    return ObjectRef(SECRET.name, CLOUD_INIT_NAMESPACE, name)


@dataclass(frozen=True, slots=True)
class Unit:
    """The changes of one pool, or (``pool`` is ``None``) a profile, or what is left of a pool that is gone."""

    pool: ObjectRef | None
    changes: list[Change] = field(default_factory=list)

    @property
    def content(self) -> list[Change]:
        """What is applied and deleted as it stands in the plan: of a living pool no tokens, and neither its
        MachineDeployment nor the finalizer."""
        chosen = (change for change in self.changes if self.pool is None or not change.upkeep)
        return [change for change in chosen if not is_machine_change(change)]

    @property
    def machine(self) -> Change | None:
        """The MachineDeployment, where it is to be applied."""
        return next(filter(is_machine_change, self.changes), None)

    @property
    def changes_content(self) -> bool:
        return any(change.action is not Action.UNCHANGED for change in self.content)

    @property
    def changes_more_than_tokens(self) -> bool:
        changes = (each for each in self.changes if each.action is not Action.UNCHANGED)
        return any(not each.upkeep or each.ref.kind != SECRET.name for each in changes)

    @property
    def has_finalizer(self) -> bool:
        """Whether the finalizer is to be set, or to be removed."""
        return any(change.ref.kind == MACHINE_DEPLOYMENT.name and change.upkeep for change in self.changes)

    @property
    def has_tokens(self) -> bool:
        return any(change.upkeep and change.ref.kind == SECRET.name for change in self.changes)


@dataclass(frozen=True, slots=True)
class Units:
    """All work, in the order of its parts: profiles before the pools that boot from them, and gone after them."""

    profiles: list[Unit]
    pools: list[Unit]
    unused: list[Unit]

    def __len__(self) -> int:
        return len(self.profiles) + len(self.pools) + len(self.unused)


def split(plan: ClusterPlan, pools: Mapping[ObjectRef, LivePool]) -> Units:
    """The units of a plan in which there is something to do."""
    leaving = {group_name(ref): ref for ref, pool in pools.items() if pool.gate is Gate.DELETING}
    profiles: list[Unit] = []
    unused: list[Unit] = []
    units: dict[ObjectRef | str, Unit] = {}
    for change in plan.changes:
        if change.ref.kind == PROFILE.name:
            (unused if change.action is Action.DELETE else profiles).append(Unit(None, [change]))
            continue
        pool = change.pool or (leaving.get(change.group) if change.group else None)
        units.setdefault(pool or change.group or str(change.ref), Unit(pool)).changes.append(change)
    return Units(_effective(profiles), _effective(units.values()), _effective(unused))


def _effective(units: Iterable[Unit]) -> list[Unit]:
    return [unit for unit in units if any(change.action is not Action.UNCHANGED for change in unit.changes)]


T = TypeVar("T")


def run_parallel(
    jobs: Iterable[Callable[[], T]],
    take: Callable[[T], None],
    concurrency: int,
    stop: Event,
    hurry: Callable[[], None],
) -> None:
    """Do ``jobs`` in threads and hand what they give to ``take``, in the order in which they end.

    Jobs are drawn one by one in the calling thread, never more than twice ``concurrency`` ahead of their end: what is
    made for them need not be thread-safe, and little of it is in memory. An error, or an interruption, sets ``stop``
    and is raised when the jobs that had begun have ended; others are not begun any more. An interruption also calls
    ``hurry``, by which jobs that wait for a server end.
    """
    executor = ThreadPoolExecutor(concurrency, "writes")
    pending: set[Future[T]] = set()
    try:
        for job in jobs:
            pending.add(executor.submit(job))
            if len(pending) >= 2 * concurrency:
                pending = _take(pending, take)
        while pending:
            pending = _take(pending, take)
    except BaseException as end:
        stop.set()
        if isinstance(end, KeyboardInterrupt):
            hurry()
        raise
    finally:
        executor.shutdown(wait=True, cancel_futures=True)


def _take(pending: set[Future[T]], take: Callable[[T], None]) -> set[Future[T]]:
    ended, going_on = wait(pending, return_when=FIRST_COMPLETED)
    for each in ended:
        take(each.result())
    return going_on
