"""Live clusters as targets: for direct apply, and for revision stamps of what Flux or Argo CD apply from git."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from osm_gitops.errors import InputError
from osm_gitops.kube.api import Api, Clusters
from osm_gitops.kube.kinds import CONFIG, PROFILE, SECRET, VALIDATING_WEBHOOKS, Kind
from osm_gitops.model.desired import ABSENT, Desired, DesiredObject, Left, Side
from osm_gitops.model.live import CLEANUP_FINALIZER, Delivery, Gate, LivePool, WriteOptions
from osm_gitops.model.machine import EDGE_SCRIPT_PREFIX, MachineDeployment, is_chosen
from osm_gitops.model.objects import CLOUD_INIT_NAMESPACE, Json, ObjectRef
from osm_gitops.model.packed import Packer, likeness
from osm_gitops.model.plan import Action, Advance, Change, ClusterPlan, CurrentObject, CurrentState, unwatched
from osm_gitops.plan.compare import group_name, group_of, is_ours, same_content
from osm_gitops.plan.guards import nothing_desired
from osm_gitops.plan.machines import is_machine_change
from osm_gitops.plan.stamps import Stamping
from osm_gitops.render.manifests import ANNOTATIONS_HASH
from osm_gitops.targets.cluster.applied import is_as_applied
from osm_gitops.targets.cluster.bootstrap_tokens import NO_KUBECONFIG
from osm_gitops.targets.cluster.stamping import stamp_pools
from osm_gitops.targets.cluster.tokens import Tokens
from osm_gitops.targets.cluster.writing import Control, deliver

# More changed objects than this are read in pages, which takes fewer requests.
_MOST_SINGLE_READS: Final = 100


@dataclass(frozen=True, slots=True)
class Scope:
    """Where to search for objects of ours: the management ``namespace``, and the namespaces of ``profiles``.

    ``leaving`` are pools whose MachineDeployment is being deleted. ``keeps_profiles``: the plan ignores profiles that
    are not desired.
    """

    namespace: str
    profiles: frozenset[str] = frozenset()
    leaving: frozenset[ObjectRef] = frozenset()
    keeps_profiles: bool = False


def read_state(live: Clusters, desired: Desired, scope: Scope) -> CurrentState:
    """Read the live state of the ``desired`` objects, and other objects of ours. Raises ClusterError.

    Metadata of all objects is listed (⌈N/500⌉ requests per kind); content is read only of objects whose metadata does
    not prove that they are unchanged (at most ⌈N/500⌉ more). Webhooks are listed if a configuration differs.
    """
    wanted = {each.ref: each for each in desired.objects}
    reading = _StateReader(wanted, frozenset(map(group_name, scope.leaving)), scope.keeps_profiles)
    for namespace in sorted(scope.profiles):
        reading.read(live.management, PROFILE, namespace, Side.MANAGEMENT)
    reading.read(live.management, CONFIG, scope.namespace, Side.MANAGEMENT)
    reading.read(live.worker, SECRET, CLOUD_INIT_NAMESPACE, Side.WORKER, labels=NO_KUBECONFIG)
    differs = any(ref.kind == CONFIG.name for ref in reading.objects.keys() & wanted.keys())
    return CurrentState(
        objects=reading.objects,
        identical=frozenset(reading.identical),
        live=True,
        immutable_kinds=frozenset({CONFIG.name} if differs and _guards_configs(live.management) else ()),
    )


def _guards_configs(management: Api) -> bool:
    """Whether a webhook such as OSM's (osm-behaviour.md, "Webhooks") intercepts updates of configurations. OSM's
    refuses each change of a spec."""

    def guards(configuration: Mapping[str, Json]) -> bool | None:
        rules = [rule for hook in configuration.get("webhooks") or () for rule in hook.get("rules") or ()]
        found = (
            {CONFIG.plural, "*", "*/*"}.intersection(rule.get("resources") or ())
            and {CONFIG.group, "*"}.intersection(rule.get("apiGroups") or ())
            and {"UPDATE", "*"}.intersection(rule.get("operations") or ())
            for rule in rules
        )
        return True if any(found) else None

    return bool(management.list(VALIDATING_WEBHOOKS, guards))


@dataclass(slots=True)
class _StateReader:
    wanted: Mapping[ObjectRef, DesiredObject]
    leaving: frozenset[str]
    keeps_profiles: bool
    objects: dict[ObjectRef, CurrentObject] = field(default_factory=dict)
    identical: set[ObjectRef] = field(default_factory=set)
    packer: Packer = field(default_factory=Packer)

    def read(self, api: Api, kind: Kind, namespace: str, side: Side, labels: str = "") -> None:
        def take(body: Mapping[str, Json]) -> _Seen | None:
            return self._seen(kind, namespace, body)

        unproven = []
        for seen in api.list(kind, take, namespace, labels=labels, metadata_only=True):
            if seen.stray is not None:
                self.objects[seen.ref] = CurrentObject(seen.ref, side, seen.stray, api.display)
            elif seen.same:
                self.identical.add(seen.ref)
            else:
                unproven.append(seen.ref)
        for body in self._bodies(api, kind, namespace, unproven):
            ref = ObjectRef(kind.name, namespace, body["metadata"]["name"])
            packed = self.packer.pack_json(body, likeness(self.wanted[ref].body, kind.name))
            self.objects[ref] = CurrentObject(ref, side, packed, api.display)

    def _seen(self, kind: Kind, namespace: str, body: Mapping[str, Json]) -> _Seen | None:
        metadata = body["metadata"]
        ref = ObjectRef(kind.name, namespace, metadata["name"])
        wanted = self.wanted.get(ref)
        if wanted is not None:
            return _Seen(ref, same=bool(wanted.digest) and is_as_applied(metadata, wanted.digest))
        stray = {"apiVersion": kind.api_version, "kind": kind.name, "metadata": _without_managed_fields(metadata)}
        return _Seen(ref, stray=stray) if self._counts(ref, stray) else None

    def _counts(self, ref: ObjectRef, stray: Mapping[str, Json]) -> bool:
        """Whether the plan considers an object that is not desired. Kubeconfigs are kept with the tokens."""
        configures = ANNOTATIONS_HASH in (stray["metadata"].get("annotations") or {})
        if ref.kind == SECRET.name and not configures and not ref.name.startswith(EDGE_SCRIPT_PREFIX):
            return False
        if ref.kind == PROFILE.name and self.keeps_profiles:
            return False
        return is_ours(stray) or (group_of(ref) in self.leaving and configures)

    def _bodies(
        self, api: Api, kind: Kind, namespace: str, unproven: Sequence[ObjectRef]
    ) -> Iterator[Mapping[str, Json]]:
        """Those of the ``unproven`` objects whose content differs."""
        names = {ref.name for ref in unproven}

        def differing(body: Mapping[str, Json]) -> Mapping[str, Json] | None:
            if body["metadata"]["name"] not in names:
                return None
            body = {**body, "metadata": _without_managed_fields(body["metadata"])}
            ref = ObjectRef(kind.name, namespace, body["metadata"]["name"])
            if same_content(body, self.wanted[ref]):
                self.identical.add(ref)
                return None
            return body

        if len(unproven) > _MOST_SINGLE_READS:
            yield from api.list(kind, differing, namespace)
            return
        for ref in unproven:
            found = api.get(kind, namespace, ref.name)
            if found is not None:  # else it was deleted meanwhile
                body = differing(found)
                if body is not None:
                    yield body


@dataclass(frozen=True, slots=True)
class _Seen:
    """What the metadata of an object shows: ``same`` as desired, or a ``stray``, or neither: its content must be
    read."""

    ref: ObjectRef
    same: bool = False
    stray: Mapping[str, Json] | None = None


def _without_managed_fields(metadata: Mapping[str, Json]) -> dict[str, Json]:
    return {key: value for key, value in metadata.items() if key != "managedFields"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Maintenance:
    """Maintenance of a cluster's pools: tokens, finalizers and pools that have to wait.

    ``tokens`` is ``None`` if no kubeconfig can be created. ``only`` selects pools. ``finalizers``: set finalizers on
    MachineDeployments. ``complete``: all objects could be read, so unknown pools do not exist. ``allow_empty``: tokens
    may be deleted although there are no pools.
    """

    machines: tuple[MachineDeployment, ...]
    pools: Mapping[ObjectRef, LivePool]
    tokens: Tokens | None
    only: tuple[str, ...] = ()
    finalizers: bool = True
    complete: bool = True
    allow_empty: bool = False

    def added_to(self, plan: ClusterPlan) -> ClusterPlan:
        """``plan`` with changes of tokens and finalizers, skipped pools, and numbers of Machines.

        Tokens of deleted pools are removed only if all pools are known: not in a run of selected pools, and not if
        objects could not be read.
        """
        groups = {group_name(ref): ref for ref in self.pools}
        changes = [each if each.pool else replace(each, pool=groups.get(each.group)) for each in plan.changes]
        failed = dict(plan.failed)
        for machine in self.machines:
            if is_chosen(machine.name, self.only):
                try:
                    changes += self._of_tokens(machine)
                except InputError as failure:  # several tokens: a person must choose
                    failed[machine.ref] = (*failed.get(machine.ref, ()), *failure.problems)
        for pool in self.pools.values():
            if is_chosen(pool.ref.name, self.only):
                changes += self._of_finalizer(pool)
        orphans = tuple(self._orphans(plan))
        changes += orphans
        empty = bool(orphans) and not (self.pools or plan.failed or plan.refusals or self.allow_empty)
        return replace(
            plan,
            changes=tuple(sorted(changes, key=lambda change: change.place)),
            failed=failed,
            left=dict(self._left(changes)),
            refusals=(*plan.refusals, *([nothing_desired(plan.cluster)] if empty else [])),
            machines={ref: pool.machines for ref, pool in self.pools.items()},
        )

    def _of_tokens(self, machine: MachineDeployment) -> Iterable[Change]:
        pool = self.pools.get(machine.ref)
        if self.tokens is None or pool is None or not pool.uid:
            return ()
        return self.tokens.changes(machine)

    def _of_finalizer(self, pool: LivePool) -> Iterator[Change]:
        deleting = pool.gate is Gate.DELETING
        if not pool.uid or (CLEANUP_FINALIZER in pool.finalizers) != deleting:
            return
        # Existing finalizers are removed even if no new ones are wanted.
        if not (self.finalizers or deleting):
            return
        reason = "its finalizer is removed with its objects" if deleting else f"finalizer {CLEANUP_FINALIZER}"
        yield Change(pool.ref, Side.WORKER, Action.UPDATE, reason, group_name(pool.ref), pool.ref, upkeep=True)

    def _orphans(self, plan: ClusterPlan) -> Iterable[Change]:
        if self.tokens is None or self.only or not self.complete:
            return ()
        # A failed pool may be a MachineDeployment that could not be read, but exists.
        return self.tokens.orphans((*self.pools, *plan.failed))

    def _left(self, changes: Sequence[Change]) -> Iterator[tuple[ObjectRef, Left]]:
        """Pools with changes that have to wait, except pools whose MachineDeployment this run applies."""
        applied = {change.pool for change in changes if is_machine_change(change)}
        for change in changes:
            if change.pool in applied or change.pool is None or change.upkeep or change.action is Action.UNCHANGED:
                continue
            pool = self.pools.get(change.pool)
            if pool is None:
                yield change.pool, ABSENT
            elif pool.gate in {Gate.WAITING, Gate.PAUSED} and pool.left is not None:
                yield change.pool, pool.left


@dataclass(frozen=True, slots=True)
class ClusterTarget:
    """The clusters of one fleet entry. Pools and tokens were read for ``maintenance``.

    ``check`` is called before each write, and raises LostLockError if this run lost its lock.
    """

    live: Clusters
    scope: Scope
    maintenance: Maintenance
    write: WriteOptions
    check: Callable[[], None]

    def read(self, desired: Desired, _advance: Advance = unwatched, /) -> CurrentState:
        """Read the live state. Raises ClusterError."""
        return read_state(self.live, desired, self.scope)

    def complete(self, plan: ClusterPlan) -> ClusterPlan:
        """The plan with tokens, finalizers and skipped pools."""
        return self.maintenance.added_to(plan)

    def deliver(self, plan: ClusterPlan, advance: Advance = unwatched, /) -> Delivery:
        """Write, pool by pool. Raises LostLockError."""
        pools, tokens = self.maintenance.pools, self.maintenance.tokens
        return deliver(self.live, plan, pools, tokens, self.write, Control(self.check, advance))


@dataclass(frozen=True, slots=True)
class StampedTarget(ClusterTarget):
    """Clusters to which another tool applies objects from git. A plan has only tokens, finalizers and the revision
    stamps of ``stampings``."""

    stampings: Mapping[ObjectRef, Stamping]

    def read(self, _desired: Desired, _advance: Advance = unwatched, /) -> CurrentState:
        """Nothing: objects are compared in git."""
        return CurrentState(live=True)

    def complete(self, plan: ClusterPlan) -> ClusterPlan:
        """The plan with tokens, finalizers and stamps."""
        plan = self.maintenance.added_to(plan)
        stamps = (
            Change(each.target.ref, each.target.side, Action.UPDATE, each.reason, group_name(ref), ref, upkeep=True)
            for ref, stamping in self.stampings.items()
            for each in stamping.stamps
        )
        return replace(plan, changes=tuple(sorted((*plan.changes, *stamps), key=lambda change: change.place)))

    def deliver(self, plan: ClusterPlan, advance: Advance = unwatched, /) -> Delivery:
        """Renew tokens and finalizers, then stamp, then wake Machines. Raises LostLockError."""
        stamped = {each.target.ref for stamping in self.stampings.values() for each in stamping.stamps}
        others = replace(plan, changes=tuple(change for change in plan.changes if change.ref not in stamped))
        pools, control = self.maintenance.pools, Control(self.check, advance)
        write = replace(self.write, nudge=False)  # Machines wait for the stamps
        kept = deliver(self.live, others, pools, self.maintenance.tokens, write, control)
        done = stamp_pools(self.live, pools, self.stampings, self.write, Control(self.check, advance))
        return kept.followed_by(done)
