"""A live cluster: what it tells of pools besides their manifests, and what became of a plan in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from osm_gitops.errors import Problem
from osm_gitops.model.desired import Left
from osm_gitops.model.objects import Json, ObjectRef

CLEANUP_FINALIZER = "kubermatic.io/cleanup-operating-system-configs"
"""OSM's finalizer of MachineDeployments (osm-behaviour.md, "Finalizer and clean-up"), which is ours too."""


class Gate(Enum):
    """Whether a pool may be written (design.md, "Settling", osm-behaviour.md, "machine-controller")."""

    READY = "ready"
    WAITING = "waiting"  # machine-controller has not got there yet: another look helps
    PAUSED = "paused"
    DELETING = "deleting"


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingMachine:
    """A Machine that has no instance yet: machine-controller has not put its finalizers on it.

    ``revision`` is that of its MachineSet, ``since`` when it was created (RFC 3339, as the API server tells it), and
    ``nudged`` the revision that it was last nudged for.
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
    """In what a live object is not what a tree has: ``fields`` with other values, and ``gone`` those that our applies
    own and the tree has no more, by path. ``before`` is what the live object has of both."""

    fields: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    before: Mapping[str, Json] = field(default_factory=dict, repr=False)

    def __bool__(self) -> bool:
        return bool(self.fields or self.gone)


NO_DIFFERENCE = Difference()


@dataclass(frozen=True, slots=True, kw_only=True)
class LivePool:
    """A MachineDeployment as the worker cluster has it, as far as delivery depends on it.

    ``revision`` is ``None`` where machine-controller has not numbered it. ``gate`` says whether its objects may be
    written, and ``left`` why not. ``machines`` is how many Machines it has, ``waiting`` those without an
    instance; ``sets`` are the uids of the MachineSets of its revision, and ``fits`` says whether these have its
    template, ``None`` where there are none. ``generation`` and ``annotations`` (a digest of them) tell whether it was
    changed since; ``server_annotations`` are those that servers added to it. Of a MachineDeployment that is in a tree
    and not in the cluster ``uid`` is empty; ``difference`` says in what the live one is not that of the tree.
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
    """What became of a plan in a target.

    ``written`` are pools whose objects were written (``None`` for what belongs to no pool); ``failed`` has the
    problems of those that were not; ``left`` are pools that were passed over.
    ``notes`` are for ``-v``. ``webhook`` is one that could not be called, so that the others were left. ``commit`` is
    the id of the commit that was made in git. Of a folder ``files_written`` and ``files_removed`` are counted.
    """

    written: tuple[ObjectRef | None, ...] = ()
    failed: Mapping[ObjectRef | None, tuple[Problem, ...]] = field(default_factory=dict)
    left: Mapping[ObjectRef, Left] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    webhook: str = ""
    commit: str = ""
    files_written: int = 0
    files_removed: int = 0
