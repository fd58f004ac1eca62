"""A snapshot of the metadata of a cluster's MachineDeployments, configurations and Secrets, read with few requests."""

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
"""The annotations that identify the state of a pool from which an object was made."""


@dataclass(frozen=True, slots=True)
class LiveMachine:
    """A MachineDeployment of the worker cluster. ``held``: it is being deleted and waits for a cleanup like OSM's."""

    ref: ObjectRef
    deleting: str
    held: bool
    has_profile: bool


@dataclass(frozen=True, slots=True)
class LiveObject:
    """A configuration or Secret: when it was created, and the annotations that identify the state of its pool
    (osm-behaviour.md, "Annotations that are written")."""

    ref: ObjectRef
    created: str
    marks: Mapping[str, str]
    ours: bool

    def conflicts_with(self, other: LiveObject) -> bool:
        """Whether the two were made from different states of their pool. One of them may not have all marks."""
        return any(self.marks[mark] != other.marks[mark] for mark in self.marks.keys() & other.marks.keys())


@dataclass(frozen=True, slots=True)
class ClusterSnapshot:
    """``objects`` are the OSCs and Secrets of pools, ``kubeconfigs`` the Secrets with which kubelets join."""

    machines: Mapping[ObjectRef, LiveMachine] = field(default_factory=dict)
    objects: Mapping[ObjectRef, LiveObject] = field(default_factory=dict)
    kubeconfigs: Mapping[ObjectRef, LiveObject] = field(default_factory=dict)

    def pools(self) -> Mapping[str, ObjectRef | None]:
        """The pool of each group of objects; ``None`` if it is gone and its name is ambiguous."""
        there = {group_name(ref): ref for ref in self.machines}
        namespaces = {ref.namespace for ref in self.machines}
        groups = {group_of(ref) for ref in self.objects}
        return {group: there.get(group) or pool_of_group(group, namespaces) for group in groups}

    def narrowed(self, only: Sequence[str]) -> ClusterSnapshot:
        """Only the pools that ``only`` selects, also deleted ones; all if it is empty."""
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
    """Read a cluster. Raises ClusterError. Takes ⌈N/500⌉ requests for each of the three kinds."""
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
    found = _live_object(SECRET, body)
    # In a namespace "kubelet" bootstrap Secrets have such names too, but with annotations that kubeconfigs lack.
    return _of_pool(found) or (found if found.ref.name.endswith(KUBECONFIG_SUFFIX) else None)


def _config(body: Mapping[str, Json]) -> LiveObject | None:
    return _of_pool(_live_object(CONFIG, body))


def _of_pool(found: LiveObject) -> LiveObject | None:
    return found if ANNOTATIONS_HASH in found.marks and group_of(found.ref) else None


def _live_object(kind: Kind, body: Mapping[str, Json]) -> LiveObject:
    metadata = body["metadata"]
    annotations = metadata.get("annotations") or {}
    ref = ObjectRef(kind.name, metadata["namespace"], metadata["name"])
    marks = {mark: annotations[mark] for mark in MARKS if mark in annotations}
    return LiveObject(ref, metadata.get("creationTimestamp", ""), marks, is_ours(body))
