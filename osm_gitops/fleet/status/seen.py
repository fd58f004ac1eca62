"""What the metadata of a cluster's objects tell: MachineDeployments, configurations and Secrets, in few lists."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from osm_gitops.kubedoor.clusters import Clusters
from osm_gitops.kubedoor.kinds import CONFIG, MACHINE_DEPLOYMENT, SECRET, Kind
from osm_gitops.model.live import CLEANUP_FINALIZER
from osm_gitops.model.machine import PROFILE_ANNOTATION
from osm_gitops.model.objects import CLOUD_INIT_NAMESPACE, Json, ObjectRef
from osm_gitops.plan.compare import group_name, group_of, is_ours
from osm_gitops.render.manifests import ANNOTATIONS_HASH, PROFILE_VERSION, REVISION

MARKS: Final = (REVISION, ANNOTATIONS_HASH, PROFILE_VERSION)
"""The annotations that say of which state of a pool an object was made."""


@dataclass(frozen=True, slots=True)
class SeenMachine:
    """A MachineDeployment of the worker cluster. ``held``: it is being deleted, and waits for a clean-up like OSM's."""

    ref: ObjectRef
    deleting: str
    held: bool
    has_profile: bool


@dataclass(frozen=True, slots=True)
class SeenObject:
    """A configuration or Secret: when it was made, and the annotations that say from what (contract §4.3)."""

    ref: ObjectRef
    created: str
    marks: Mapping[str, str]
    ours: bool

    def is_of_another_time_than(self, other: SeenObject) -> bool:
        """Whether the two were made of different states of their pool. One of them may not carry all marks."""
        return any(self.marks[mark] != other.marks[mark] for mark in self.marks.keys() & other.marks.keys())


@dataclass(frozen=True, slots=True)
class Seen:
    """Everything by its identity; ``objects`` are those that were made for pools."""

    machines: Mapping[ObjectRef, SeenMachine] = field(default_factory=dict)
    objects: Mapping[ObjectRef, SeenObject] = field(default_factory=dict)

    def left_over(self) -> Iterator[SeenObject]:
        """Objects whose MachineDeployment is gone."""
        groups = {group_name(ref) for ref in self.machines}
        return (each for ref, each in self.objects.items() if group_of(ref) not in groups)


def see(live: Clusters, namespace: str) -> Seen:
    """Read it. Raises ClusterError. Takes ⌈N/500⌉ requests for each of the three kinds."""
    machines = live.worker.list(MACHINE_DEPLOYMENT, _machine, metadata_only=True)
    configs = live.management.list(CONFIG, _object_of(CONFIG), namespace, metadata_only=True)
    secrets = live.worker.list(SECRET, _object_of(SECRET), CLOUD_INIT_NAMESPACE, metadata_only=True)
    return Seen({each.ref: each for each in machines}, {each.ref: each for each in (*configs, *secrets)})


def _machine(body: Mapping[str, Json]) -> SeenMachine:
    metadata = body["metadata"]
    deleting = metadata.get("deletionTimestamp") or ""
    held = bool(deleting) and CLEANUP_FINALIZER in (metadata.get("finalizers") or ())
    has_profile = bool((metadata.get("annotations") or {}).get(PROFILE_ANNOTATION))
    ref = ObjectRef(MACHINE_DEPLOYMENT.name, metadata["namespace"], metadata["name"])
    return SeenMachine(ref, deleting, held, has_profile)


class _object_of:  # noqa: N801 - it is called like a function
    """Keeps what was made for a pool."""

    def __init__(self, kind: Kind) -> None:
        self._kind = kind

    def __call__(self, body: Mapping[str, Json]) -> SeenObject | None:
        metadata = body["metadata"]
        annotations = metadata.get("annotations") or {}
        ref = ObjectRef(self._kind.name, metadata["namespace"], metadata["name"])
        if ANNOTATIONS_HASH not in annotations or not group_of(ref):
            return None
        marks = {mark: annotations[mark] for mark in MARKS if mark in annotations}
        return SeenObject(ref, metadata.get("creationTimestamp", ""), marks, is_ours(body))
