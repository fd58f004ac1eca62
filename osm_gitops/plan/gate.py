"""The revision gate: whether what is rendered for a pool is what machine-controller would take for it (design.md,
"Settling").

machine-controller gives an instance to a Machine only when the bootstrap Secret has the revision of the Machine's
MachineSet. It writes that revision on the MachineDeployment a moment after it is of another template, so a
MachineDeployment alone does not tell whether its revision and its template belong together. They do when the
MachineSet of the revision has the template (osm-behaviour.md, "machine-controller").
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from osm_gitops.model.desired import PAUSED, Left, LeftReason
from osm_gitops.model.live import NO_DIFFERENCE, Difference, Gate, LivePool
from osm_gitops.model.objects import Json, ObjectRef

_HASH_LABEL: Final = "machine-template-hash"
# machine-controller compares what its own types hold, and copies no more than that into a MachineSet.
_SPEC_FIELDS: Final = frozenset(
    {"metadata", "taints", "providerSpec", "versions", "configSource", "providerID", "nodeDrainTimeout"}
)
_MAPS: Final = frozenset({"labels", "annotations"})


@dataclass(frozen=True, slots=True)
class MachineSetFact:
    """A MachineSet of a MachineDeployment: its uid, its revision, and the :func:`template_key` of its template."""

    uid: str
    revision: str
    template: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveMachineDeployment:
    """A MachineDeployment as the cluster has it. ``differs`` is the first field in which its template is not that of
    the source (:func:`template_difference`), ``difference`` all in which it is not the source's."""

    ref: ObjectRef
    uid: str
    resource_version: str
    generation: int
    annotations: str
    revision: str | None
    finalizers: tuple[str, ...]
    paused: bool
    deleting: bool
    template: str
    differs: str = ""
    server_annotations: Mapping[str, str] = field(default_factory=dict)
    difference: Difference = NO_DIFFERENCE


def gate_of(machine: LiveMachineDeployment, sets: Sequence[MachineSetFact]) -> tuple[Gate, Left | None]:
    """Whether a pool may be written, and why not; ``sets`` are its MachineSets."""
    if machine.deleting:
        return Gate.DELETING, Left(LeftReason.DELETING, "it is being deleted")
    if machine.paused:
        return Gate.PAUSED, PAUSED
    if machine.differs:
        return Gate.WAITING, Left(LeftReason.OTHER_TEMPLATE, f"the cluster has another template ({machine.differs})")
    if not machine.revision:
        return Gate.WAITING, Left(LeftReason.NOT_NUMBERED, "machine-controller has not given it a revision yet")
    fits = revision_fits(machine, sets)
    if fits is None:
        why = f"there is no MachineSet of its revision {machine.revision} yet"
        return Gate.WAITING, Left(LeftReason.NO_MACHINE_SET, why)
    if not fits:
        why = f"the MachineSet of its revision {machine.revision} has another template"
        return Gate.WAITING, Left(LeftReason.OLD_MACHINE_SET, why)
    return Gate.READY, None


def revision_fits(machine: LiveMachineDeployment, sets: Sequence[MachineSetFact]) -> bool | None:
    """Whether the MachineSets of the revision have the template; ``None`` where there are none."""
    numbered = [each for each in sets if machine.revision and each.revision == machine.revision]
    return all(each.template == machine.template for each in numbered) if numbered else None


def template_key(template: Json) -> str:
    """Equal for templates that machine-controller takes for equal: but for the hash label that it adds to
    MachineSets, and with no difference between what is absent, null and empty."""
    whole = _mapping(template)
    metadata = dict(_mapping(whole.get("metadata")))
    metadata["labels"] = {key: value for key, value in _mapping(metadata.get("labels")).items() if key != _HASH_LABEL}
    spec = {key: value for key, value in _mapping(whole.get("spec")).items() if key in _SPEC_FIELDS}
    # The provider's part is text to machine-controller: it compares it as it stands.
    provider = dict(_mapping(spec.pop("providerSpec", None)))
    value = provider.pop("value", None)
    key = [_without_empty(metadata), _without_empty(spec), _without_empty(provider), value]
    return _digest(key)


def _mapping(value: Json) -> Mapping[str, Json]:
    """Of what no machine is made from nothing counts: the definition lets anything be there."""
    return value if isinstance(value, Mapping) else {}


def annotations_key(annotations: Mapping[str, str] | None) -> str:
    """Equal for equal annotations."""
    return _digest(dict(annotations or {}))


def is_as_read(pool: LivePool, metadata: Mapping[str, Json]) -> bool:
    """Whether a MachineDeployment, of which this is the metadata now, is still what it was when it was read."""
    return (
        metadata.get("uid") == pool.uid
        and not metadata.get("deletionTimestamp")
        and metadata.get("generation", 0) == pool.generation
        and annotations_key(metadata.get("annotations")) == pool.annotations
    )


def _without_empty(value: Json, field: str = "") -> Json:
    if isinstance(value, Mapping):
        inner = {key: each if field in _MAPS else _without_empty(each, key) for key, each in value.items()}
        # An empty label is a label; an empty field of a record is none.
        return {key: each for key, each in inner.items() if field in _MAPS or each not in (None, "", False, 0, {}, [])}
    if isinstance(value, list | tuple):
        return [_without_empty(each) for each in value]
    return value


def _digest(value: Json) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
