"""What a live cluster needs beside the desired objects: tokens, finalizers, and word on pools that have to wait."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from osm_gitops.errors import InputError
from osm_gitops.model.desired import ABSENT, Left, Side
from osm_gitops.model.live import CLEANUP_FINALIZER, Gate, LivePool
from osm_gitops.model.machine import MachineDeployment, is_chosen
from osm_gitops.model.objects import ObjectRef
from osm_gitops.model.plan import Action, Change, ClusterPlan
from osm_gitops.plan.compare import group_name
from osm_gitops.plan.guards import nothing_desired
from osm_gitops.plan.machines import is_machine_change
from osm_gitops.targets.cluster.tokens import Tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class Maintenance:
    """What is known of a cluster's pools. ``tokens`` is ``None`` where no kubeconfig can be made for them.

    ``only`` narrows the run; ``finalizers``: whether MachineDeployments are held until they are cleaned up after.
    ``complete``: everything could be read, so what is not known is not there. ``allow_empty``: tokens may go although
    no pool is known.
    """

    machines: tuple[MachineDeployment, ...]
    pools: Mapping[ObjectRef, LivePool]
    tokens: Tokens | None
    only: tuple[str, ...] = ()
    finalizers: bool = True
    complete: bool = True
    allow_empty: bool = False

    def added_to(self, plan: ClusterPlan) -> ClusterPlan:
        """``plan`` with tokens and finalizers, the pools that are passed over for now, and their Machines.

        Tokens of pools that are gone go only where all pools are known: not in a narrowed run, nor where something
        could not be read.
        """
        groups = {group_name(ref): ref for ref in self.pools}
        changes = [each if each.pool else replace(each, pool=groups.get(each.group)) for each in plan.changes]
        failed = dict(plan.failed)
        for machine in self.machines:
            if is_chosen(machine.name, self.only):
                try:
                    changes += self._of_tokens(machine)
                except InputError as failure:  # of several tokens only a person can tell which is right
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
        # Who wants none set still waits for those that are there.
        if not (self.finalizers or deleting):
            return
        reason = "its finalizer goes with its objects" if deleting else f"finalizer {CLEANUP_FINALIZER}"
        yield Change(pool.ref, Side.WORKER, Action.UPDATE, reason, group_name(pool.ref), pool.ref, upkeep=True)

    def _orphans(self, plan: ClusterPlan) -> Iterable[Change]:
        if self.tokens is None or self.only or not self.complete:
            return ()
        # What failed may be a MachineDeployment that cannot be read: it is there all the same.
        return self.tokens.orphans((*self.pools, *plan.failed))

    def _left(self, changes: Sequence[Change]) -> Iterator[tuple[ObjectRef, Left]]:
        """Pools that would change, were it their time; where the run applies their MachineDeployment, it comes."""
        applied = {change.pool for change in changes if is_machine_change(change)}
        for change in changes:
            if change.pool in applied or change.pool is None or change.upkeep or change.action is Action.UNCHANGED:
                continue
            pool = self.pools.get(change.pool)
            if pool is None:
                yield change.pool, ABSENT
            elif pool.gate in {Gate.WAITING, Gate.PAUSED} and pool.left is not None:
                yield change.pool, pool.left
