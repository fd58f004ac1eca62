"""A live cluster: the state of its pools, and the result of delivering a plan to it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from osm_gitops.errors import Problem
from osm_gitops.model.desired import Left
from osm_gitops.model.objects import Json, ObjectRef

CLEANUP_FINALIZER = "kubermatic.io/cleanup-operating-system-configs"
"""OSM's finalizer of MachineDeployments (osm-behaviour.md, "Finalizer and clean-up"), which is ours too."""


class Gate(Enum):
    """Whether a pool may be written (design.md, "Settling", osm-behaviour.md, "machine-controller")."""

    READY = "ready"
    WAITING = "waiting"  # machine-controller is not done yet: try again
    PAUSED = "paused"
    DELETING = "deleting"


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingMachine:
    """A Machine without an instance: machine-controller has not set its finalizers yet.

    ``revision`` is that of its MachineSet, ``since`` its creation time (RFC 3339), ``nudged`` the revision that it was
    last nudged for.
    """

    ref: ObjectRef
    uid: str
    revision: str
    since: str
    nudged: str = ""


FieldPath = tuple[str, ...]
"""The keys that lead to a field of an object."""


@dataclass(frozen=True, slots=True)
class Difference:
    """How a live object differs from the tree: paths of ``fields`` with other values, and of fields that our applies
    own and that are ``gone`` from the tree. ``before`` has the live values of both."""

    fields: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    before: Mapping[str, Json] = field(default_factory=dict, repr=False)

    def __bool__(self) -> bool:
        return bool(self.fields or self.gone)


NO_DIFFERENCE = Difference()


@dataclass(frozen=True, slots=True, kw_only=True)
class LivePool:
    """A MachineDeployment in the worker cluster, as far as delivery depends on it.

    ``revision`` is ``None`` before machine-controller sets it. ``gate`` says whether its objects may be written, and
    ``left`` why not. ``machines`` is the number of its Machines, ``waiting`` those without an instance. ``sets`` are
    the uids of the MachineSets of its revision; ``fits``: they have its template (``None`` without MachineSets).
    ``generation`` and ``annotations`` (a digest) show whether it has changed since. ``server_annotations`` were added
    by servers. ``uid`` is empty if the MachineDeployment exists only in a tree; ``difference`` compares with the tree.
    """

    ref: ObjectRef
    uid: str
    resource_version: str
    revision: str | None
    finalizers: tuple[str, ...]
    gate: Gate
    left: Left | None = None
    machines: int = 0
    waiting: tuple[WaitingMachine, ...] = ()
    sets: tuple[str, ...] = ()
    fits: bool | None = None
    generation: int = 0
    annotations: str = ""
    server_annotations: Mapping[str, str] = field(default_factory=dict)
    difference: Difference = NO_DIFFERENCE


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """The result of delivering a plan to a target.

    ``written`` are pools whose objects were written (``None``: objects without a pool), ``failed`` the problems of
    pools that failed, ``left`` the pools that were skipped. ``notes`` are for ``-v``. ``webhook`` could not be called,
    so the remaining pools were skipped. ``commit`` is the id of the commit in git. ``files_written`` and
    ``files_removed`` count files in a folder.
    """

    written: tuple[ObjectRef | None, ...] = ()
    failed: Mapping[ObjectRef | None, tuple[Problem, ...]] = field(default_factory=dict)
    left: Mapping[ObjectRef, Left] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    webhook: str = ""
    commit: str = ""
    files_written: int = 0
    files_removed: int = 0

    def followed_by(self, later: Delivery, retried: Collection[ObjectRef | None] = ()) -> Delivery:
        """Both as one. Of the pools that were ``retried``, only ``later`` says which are left."""
        return Delivery(
            written=tuple(dict.fromkeys((*self.written, *later.written))),
            failed={**self.failed, **later.failed},
            left={**{pool: left for pool, left in self.left.items() if pool not in retried}, **later.left},
            notes=(*self.notes, *later.notes),
            webhook=self.webhook or later.webhook,
        )


LOCK_TIMEOUT: Final = 90.0
"""Seconds. Longer than the life of a Lease, so that the next run can take over from an interrupted one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteOptions:
    """How a plan is carried out.

    ``concurrency``: pools at a time. ``force_conflicts``: take over fields of others. ``finalizers``: set finalizers on
    MachineDeployments. ``nudge``: wake Machines that waited. ``namespace`` has the OSCs.
    """

    concurrency: int = 8
    force_conflicts: bool = False
    finalizers: bool = True
    nudge: bool = True
    namespace: str = "kube-system"
