"""A plan's changes as units of work: what belongs to one pool is done by one thread, in order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from osm_gitops.kube.kinds import MACHINE_DEPLOYMENT, PROFILE, SECRET
from osm_gitops.model.live import Gate, LivePool
from osm_gitops.model.objects import ObjectRef
from osm_gitops.model.plan import Action, Change, ClusterPlan
from osm_gitops.plan.compare import group_name
from osm_gitops.plan.machines import is_machine_change


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
