"""What the metadata of a cluster's objects tell: MachineDeployments, configurations and Secrets, in few lists."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from osm_gitops.kube.api import Clusters
from osm_gitops.kube.kinds import CONFIG, MACHINE_DEPLOYMENT, SECRET, Kind
from osm_gitops.model.live import CLEANUP_FINALIZER
from osm_gitops.model.machine import KUBECONFIG_SUFFIX, PROFILE_ANNOTATION, is_chosen
from osm_gitops.model.objects import CLOUD_INIT_NAMESPACE, Json, ObjectRef
from osm_gitops.plan.compare import group_name, group_of, is_ours, pool_of_group
from osm_gitops.render.manifests import ANNOTATIONS_HASH, PROFILE_VERSION, REVISION

MARKS: Final = (REVISION, ANNOTATIONS_HASH, PROFILE_VERSION)
"""The annotations that say of which state of a pool an object was made."""


@dataclass(frozen=True, slots=True)
class LiveMachine:
    """A MachineDeployment of the worker cluster. ``held``: it is being deleted, and waits for a clean-up like OSM's."""

    ref: ObjectRef
    deleting: str
    held: bool
    has_profile: bool


@dataclass(frozen=True, slots=True)
class LiveObject:
    """A configuration or Secret: when it was made, and the annotations that say from what (osm-behaviour.md,
    "Annotations that are written")."""

    ref: ObjectRef
    created: str
    marks: Mapping[str, str]
    ours: bool

    def is_of_another_time_than(self, other: LiveObject) -> bool:
        """Whether the two were made of different states of their pool. One of them may not carry all marks."""
        return any(self.marks[mark] != other.marks[mark] for mark in self.marks.keys() & other.marks.keys())


@dataclass(frozen=True, slots=True)
class ClusterSnapshot:
    """Everything by its identity; ``objects`` are those that were made for pools, ``kubeconfigs`` are the Secrets with
    which kubelets join."""

    machines: Mapping[ObjectRef, LiveMachine] = field(default_factory=dict)
    objects: Mapping[ObjectRef, LiveObject] = field(default_factory=dict)
    kubeconfigs: Mapping[ObjectRef, LiveObject] = field(default_factory=dict)

    def pools(self) -> Mapping[str, ObjectRef | None]:
        """The pool of each group of objects; ``None`` where it is gone and its name may be one of several."""
        there = {group_name(ref): ref for ref in self.machines}
        namespaces = {ref.namespace for ref in self.machines}
        groups = {group_of(ref) for ref in self.objects}
        return {group: there.get(group) or pool_of_group(group, namespaces) for group in groups}

    def narrowed(self, only: Sequence[str]) -> ClusterSnapshot:
        """What belongs to the pools that ``only`` chooses, those that are gone among them; all where it is empty."""
        if not only:
            return self
        pools = self.pools()
        chosen = {group for group, pool in pools.items() if pool is not None and is_chosen(pool.name, only)}
        return replace(
            self,
            machines={ref: each for ref, each in self.machines.items() if is_chosen(ref.name, only)},
            objects={ref: each for ref, each in self.objects.items() if group_of(ref) in chosen},
        )

    def left_over(self) -> Iterator[LiveObject]:
        """Objects whose MachineDeployment is gone."""
        groups = {group_name(ref) for ref in self.machines}
        return (each for ref, each in self.objects.items() if group_of(ref) not in groups)


def collect(live: Clusters, namespace: str) -> ClusterSnapshot:
    """Read it. Raises ClusterError. Takes ⌈N/500⌉ requests for each of the three kinds."""
    machines = live.worker.list(MACHINE_DEPLOYMENT, _machine, metadata_only=True)
    configs = live.management.list(CONFIG, _config, namespace, metadata_only=True)
    secrets = live.worker.list(SECRET, _secret, CLOUD_INIT_NAMESPACE, metadata_only=True)
    kubeconfigs = {each.ref: each for each in secrets if ANNOTATIONS_HASH not in each.marks}
    objects = (*configs, *(each for each in secrets if each.ref not in kubeconfigs))
    return ClusterSnapshot({each.ref: each for each in machines}, {each.ref: each for each in objects}, kubeconfigs)


def _machine(body: Mapping[str, Json]) -> LiveMachine:
    metadata = body["metadata"]
    deleting = metadata.get("deletionTimestamp") or ""
    held = bool(deleting) and CLEANUP_FINALIZER in (metadata.get("finalizers") or ())
    has_profile = bool((metadata.get("annotations") or {}).get(PROFILE_ANNOTATION))
    ref = ObjectRef(MACHINE_DEPLOYMENT.name, metadata["namespace"], metadata["name"])
    return LiveMachine(ref, deleting, held, has_profile)


def _secret(body: Mapping[str, Json]) -> LiveObject | None:
    seen = _seen(SECRET, body)
    # In a namespace "kubelet" bootstrap Secrets have such names too, with the annotations that kubeconfigs lack.
    return _of_pool(seen) or (seen if seen.ref.name.endswith(KUBECONFIG_SUFFIX) else None)


def _config(body: Mapping[str, Json]) -> LiveObject | None:
    return _of_pool(_seen(CONFIG, body))


def _of_pool(seen: LiveObject) -> LiveObject | None:
    return seen if ANNOTATIONS_HASH in seen.marks and group_of(seen.ref) else None


def _seen(kind: Kind, body: Mapping[str, Json]) -> LiveObject:
    metadata = body["metadata"]
    annotations = metadata.get("annotations") or {}
    ref = ObjectRef(kind.name, metadata["namespace"], metadata["name"])
    marks = {mark: annotations[mark] for mark in MARKS if mark in annotations}
    return LiveObject(ref, metadata.get("creationTimestamp", ""), marks, is_ours(body))
