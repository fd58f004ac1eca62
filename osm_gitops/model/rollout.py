"""Which Machines of a pool have its present boot configuration, and which have joined (docs/how-to/promotion.md)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from osm_gitops.model.objects import ObjectRef


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineRollout:
    """A Machine. ``revision`` is that of its MachineSet. ``instance``: machine-controller has asked the provider for
    it. ``node`` is the name of its Node, empty before it joins; ``ready``: the Node is Ready."""

    name: str
    created: datetime
    revision: str = ""
    deleting: bool = False
    instance: bool = True
    node: str = ""
    ready: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolRollout:
    """A pool with its Machines. ``written`` is when its present boot configuration came into the cluster; ``None`` if
    the cluster has none. ``revision`` is that of the MachineDeployment."""

    ref: ObjectRef
    uid: str = ""
    revision: str = ""
    written: datetime | None = None
    machines: Sequence[MachineRollout] = ()

    def is_old(self, machine: MachineRollout) -> bool:
        """Whether a Machine booted, or may have, before the present configuration was there, or with another
        template."""
        if not machine.instance or self.written is None:
            return False  # it gets the configuration that is there when its instance is made
        return machine.created < self.written or machine.revision != self.revision

    @property
    def old(self) -> tuple[MachineRollout, ...]:
        return tuple(each for each in self.machines if self.is_old(each) and not each.deleting)

    @property
    def current(self) -> tuple[MachineRollout, ...]:
        """Machines with the present configuration, joined or not."""
        return tuple(each for each in self.machines if not self.is_old(each) and not each.deleting)

    def late(self, before: datetime) -> tuple[MachineRollout, ...]:
        """Machines that were made before this time and have no Ready Node."""
        return tuple(each for each in self.machines if not (each.deleting or each.ready) and each.created < before)
