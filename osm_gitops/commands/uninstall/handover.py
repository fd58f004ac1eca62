"""What giving a cluster back to Operating System Manager comes to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from osm_gitops.errors import Problem
from osm_gitops.model.desired import Side
from osm_gitops.model.objects import Json, ObjectRef


class Finalizers(Enum):
    """What becomes of the finalizer on MachineDeployments, which is OSM's too."""

    AUTO = "auto"
    KEEP = "keep"
    REMOVE = "remove"


@dataclass(frozen=True, slots=True)
class OwnObject:
    """An object that bears our label: its metadata as the cluster ``side`` had them."""

    ref: ObjectRef
    side: Side
    metadata: Mapping[str, Json] = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """All that is to be done in one cluster, in this order.

    ``released`` lose our label and annotations, ``deleted`` go, from ``unheld`` our finalizer is taken and from
    ``woken`` Machines our annotation; ``held`` are MachineDeployments that keep the finalizer. ``reason`` says why
    finalizers stay or go, as a clause. ``records`` are the ConfigMap and the Lease, which go last. ``refusals``
    forbid all of it.
    """

    hosts: tuple[str, ...]
    released: Sequence[OwnObject] = ()
    deleted: Sequence[OwnObject] = ()
    unheld: Sequence[OwnObject] = ()
    woken: Sequence[OwnObject] = ()
    held: Sequence[ObjectRef] = ()
    reason: str = ""
    records: Sequence[ObjectRef] = ()
    warnings: tuple[Problem, ...] = ()
    refusals: tuple[Problem, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether nothing of ours is there."""
        return not (self.released or self.deleted or self.unheld or self.woken or self.records)
