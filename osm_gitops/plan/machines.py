"""MachineDeployments of a tree and of the cluster: in what they differ, and what it takes to apply them (design.md,
"Planning")."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from osm_gitops.errors import Code, Problem, some
from osm_gitops.model.desired import Side
from osm_gitops.model.live import Difference, FieldPath, Gate, LivePool
from osm_gitops.model.machine import MachineDeployment
from osm_gitops.model.objects import Json, ObjectRef, authored, value_at
from osm_gitops.model.plan import Action, Change
from osm_gitops.plan.compare import group_name, without_nulls
from osm_gitops.plan.content import changed_texts
from osm_gitops.plan.machine_templates import is_same, template_difference

REPLICAS: Final = "spec.replicas"
"""What autoscalers and people change in the cluster."""

_TEMPLATE: Final = "spec.template."
_NAMED: Final = 5


def differing_fields(wanted: Json, live: Json, path: str = "") -> Iterator[str]:
    """The paths of what is wanted and otherwise in a live object: maps there may have more, lists may not. What is
    empty equals what is absent."""
    if isinstance(wanted, Mapping):
        found = live if isinstance(live, Mapping) else {}
        for key, value in wanted.items():
            yield from differing_fields(value, found.get(key), f"{path}.{key}" if path else str(key))
        return
    if not is_same(wanted, live):
        yield path


def manifest_of(machine: MachineDeployment) -> dict[str, Json]:
    """A MachineDeployment of a tree as it is applied."""
    applied: dict[str, Json] = without_nulls(authored(machine.manifest))
    return applied


def difference(wanted: Mapping[str, Json], live: Mapping[str, Json], owned: Iterable[FieldPath] = ()) -> Difference:
    """In what a live object is not what is wanted; ``owned`` are the paths of the fields that our applies own in it."""
    templates = (value_at(each, ("spec", "template")) for each in (wanted, live))
    has_template = not template_difference(*templates)  # but for what a webhook adds or rewrites
    fields = tuple(
        path for path in differing_fields(wanted, live) if not (has_template and f"{path}.".startswith(_TEMPLATE))
    )
    gone = tuple(path for path in owned if value_at(wanted, path) is None)
    if not fields and not gone:
        return Difference()
    before = _part(live, wanted)
    for path in gone:
        inner = before
        for key in path[:-1]:
            inner = inner.setdefault(key, {})
        inner[path[-1]] = value_at(live, path)
    return Difference(fields, tuple(".".join(path) for path in gone), before)


def _part(live: Json, wanted: Json) -> Json:
    """What a live value has of what is wanted."""
    if not isinstance(wanted, Mapping) or not isinstance(live, Mapping):
        return live
    return {key: _part(live[key], value) for key, value in wanted.items() if key in live}


def is_machine_change(change: Change) -> bool:
    """Whether a change applies a MachineDeployment; its finalizer is upkeep."""
    return change.ref.kind == "MachineDeployment" and not change.upkeep


def machine_change(machine: MachineDeployment, pool: LivePool) -> Change | None:
    """What applying a MachineDeployment does, ``None`` for nothing. One that is being deleted is left alone, and comes
    back when it is gone and the source still has it."""
    if pool.gate is Gate.DELETING:
        return None
    ref, wanted, group = machine.ref, manifest_of(machine), group_name(machine.ref)
    if not pool.uid:
        reason = "the cluster lacks it"
        return Change(ref, Side.WORKER, Action.CREATE, reason, group, ref, after=wanted)
    found = pool.difference
    if not found:
        return None
    parts = (("changed", found.fields), ("gone", found.gone))
    reason = ", ".join(f"{verb}: {some(fields, _NAMED)}" for verb, fields in parts if fields)
    rolls = any(f"{each}.".startswith(_TEMPLATE) for each in (*found.fields, *found.gone))
    return Change(
        ref,
        Side.WORKER,
        Action.UPDATE,
        reason,
        group,
        ref,
        before=found.before,
        after=wanted,
        texts=changed_texts(found.before, wanted),
        metadata_only=True,  # of what machines boot with the objects beside it tell
        rolls_machines=rolls,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The MachineDeployments of a tree, beside those of its cluster.

    ``source`` is the tree as the user names it. ``pools`` are those of the tree, ``strays`` those that only the cluster
    has, with a ``why`` that says so. ``applied: this program applies those of the tree.
    """

    source: str
    pools: Mapping[ObjectRef, LivePool] = field(default_factory=dict)
    strays: Mapping[ObjectRef, LivePool] = field(default_factory=dict)
    applied: bool = False

    def warnings(self) -> Iterator[Problem]:
        """What is in one of the two only, and what is in both with other values."""
        if self.strays:
            yield Problem(
                Code.POOLS_NOT_IN_SOURCE,
                f"the cluster also has {_named(tuple(self.strays))}, which gets no boot configuration from here",
                where=self.source,
                fix="Add it here, delete it from the cluster, or read all MachineDeployments from the cluster "
                "(from: {machineDeployments: cluster})",
            )
        if self.applied:
            return
        absent = [ref for ref, pool in self.pools.items() if not pool.uid]
        if absent:
            yield Problem(
                Code.POOLS_NOT_IN_CLUSTER,
                f"the cluster lacks {_named(absent)}",
                where=self.source,
                fix="Let Flux or Argo CD apply this source, run kubectl apply, or set apply: true under "
                "machineDeployments in the fleet file",
            )
        alike: dict[tuple[str, ...], list[ObjectRef]] = {}
        for ref, pool in sorted(self.pools.items()):
            fields = tuple(each for each in pool.difference.fields if each != REPLICAS)
            if fields:
                alike.setdefault(fields, []).append(ref)
        for fields, refs in alike.items():
            yield Problem(
                Code.POOLS_DIFFER,
                f"the cluster has other values in {_named(refs)}: {some(fields, _NAMED)}",
                where=self.source,
                fix="Apply this source, or change it to what the cluster has",
            )


def _named(refs: Sequence[ObjectRef]) -> str:
    names = some([ref.namespaced_name for ref in sorted(refs)], _NAMED)
    return f"MachineDeployment{'' if len(refs) == 1 else 's'} {names}"
