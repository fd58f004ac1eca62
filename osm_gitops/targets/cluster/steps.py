"""The writes of one pool and their order (design.md, "Order of writes"). Machines are created from the bootstrap
Secret, so it is written last and deleted first. A pool is one unit of work of one thread; a limited number of units run
in parallel.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from queue import SimpleQueue
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
# Longer values are not valid as labels, so no Secret has them.
_LONGEST_LABEL: Final = 63


@dataclass(frozen=True, slots=True)
class PoolWork:
    """Work for one pool: objects to send, in order, and objects to delete.

    ``gate`` is the change of the bootstrap Secret if it must be deleted before others are replaced. ``late``: Machines
    may wait for it.
    """

    bodies: Sequence[Body] = field(repr=False)
    removals: Sequence[Change] = ()
    gate: Change | None = None
    late: bool = False


def gate_to_shut(changes: Iterable[Change]) -> Change | None:
    """The bootstrap Secret if the plan replaces it, as it does if it replaces another Secret of the pool."""
    return next((each for each in changes if _is_gate(each) and each.action is Action.REPLACE), None)


def in_order(changes: Iterable[Change]) -> list[Change]:
    """The changes of a pool to apply, in order."""
    return sorted((change for change in changes if change.action in _WRITTEN), key=_place)


def _place(change: Change) -> tuple[int, str]:
    name, is_secret = change.ref.name, change.ref.kind == SECRET.name
    return 3 if _is_gate(change) else 2 if name == f"{change.group}-provisioning-config" else is_secret, name


def _is_gate(change: Change) -> bool:
    return is_gate(change.ref, change.group)


def is_late(body: Body) -> bool:
    """Whether Machines may have waited: the bootstrap Secret was missing, or of another revision.

    Takes the parsed body: that of the change would have to be parsed again.
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
    """Carry out the changes of one pool. Raises ClusterError at the first failure; the next run does the rest. Fields
    that others added do not stop the writes, and are a ConflictError at the end."""
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
    """Delete objects, the bootstrap Secret first."""
    for change in sorted(changes, key=lambda each: (not _is_gate(each), each.ref)):
        writes.remove(change.side, change.ref)


def made_for(names: PoolNames, namespace: str) -> Iterator[tuple[Side, ObjectRef]]:
    """All objects of a pool except tokens, the bootstrap Secret first. ``namespace`` has the OSCs."""
    yield Side.WORKER, _secret(names.bootstrap_secret_name)
    yield Side.MANAGEMENT, ObjectRef(CONFIG.name, namespace, names.config_name)
    for name in (names.provisioning_secret_name, names.edge_script_name, names.kubelet_kubeconfig_name):
        yield Side.WORKER, _secret(name)


def clean_up(writes: Writes, pool: LivePool, namespace: str, spared: frozenset[ObjectRef], *, tokens: bool) -> None:
    """Delete all objects of a MachineDeployment that is being deleted, then remove its finalizer.

    ``namespace`` has the OSCs. ``spared`` are objects that remaining pools share. ``tokens``: delete the pool's
    bootstrap tokens too, which OSM does not do.
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
    """The changes of one pool, or (``pool`` is ``None``) a profile, or the remains of a deleted pool."""

    pool: ObjectRef | None
    changes: list[Change] = field(default_factory=list)

    @property
    def content(self) -> list[Change]:
        """Changes that are applied as the plan has them: of an existing pool neither tokens, nor its MachineDeployment,
        nor the finalizer."""
        chosen = (change for change in self.changes if self.pool is None or not change.upkeep)
        return [change for change in chosen if not is_machine_change(change)]

    @property
    def machine(self) -> Change | None:
        """The change of the MachineDeployment, if any."""
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
        """Whether the finalizer is to be set or removed."""
        return any(change.ref.kind == MACHINE_DEPLOYMENT.name and change.upkeep for change in self.changes)

    @property
    def has_tokens(self) -> bool:
        return any(change.upkeep and change.ref.kind == SECRET.name for change in self.changes)


@dataclass(frozen=True, slots=True)
class Units:
    """All units, in order: new profiles, then pools, then unused profiles and remains."""

    profiles: list[Unit]
    pools: list[Unit]
    unused: list[Unit]

    def __len__(self) -> int:
        return len(self.profiles) + len(self.pools) + len(self.unused)


def split(plan: ClusterPlan, pools: Mapping[ObjectRef, LivePool]) -> Units:
    """The units of a plan that have changes."""
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
    """Run ``jobs`` in threads and pass each result to ``take``, in order of completion.

    The calling thread draws jobs one by one, at most twice ``concurrency`` in advance: creating a job need not be
    thread-safe, and few jobs are in memory. An error or interruption is raised when all running jobs have ended; no
    more jobs are started. An error sets ``stop``, so that they end early. After an interruption they are completed, but
    ``hurry`` is called, which ends jobs that wait for a server.
    """
    executor = ThreadPoolExecutor(concurrency, "writes")
    ended: SimpleQueue[Future[T]] = SimpleQueue()
    pending = 0
    try:
        for job in jobs:
            executor.submit(job).add_done_callback(ended.put)
            pending += 1
            if pending >= 2 * concurrency:
                take(ended.get().result())
                pending -= 1
        for _ in range(pending):
            take(ended.get().result())
    except KeyboardInterrupt:
        hurry()
        raise
    except BaseException:
        stop.set()
        raise
    finally:
        executor.shutdown(wait=True, cancel_futures=True)
