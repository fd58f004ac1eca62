"""Remove the labels, annotations and field ownership of osm-gitops from a cluster's objects. The objects stay."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from osm_gitops.errors import ClusterError, Code, ConflictError, LostLockError, Problem, WebhookError
from osm_gitops.kube.api import Api, Clusters
from osm_gitops.kube.kinds import (
    CONFIG,
    CONFIG_MAP,
    FIELD_MANAGER,
    KINDS,
    LEASE,
    MACHINE,
    MACHINE_DEPLOYMENT,
    PROFILE,
    SECRET,
    Kind,
)
from osm_gitops.model.desired import MANAGED_BY, MANAGED_BY_LABEL, Side
from osm_gitops.model.live import CLEANUP_FINALIZER
from osm_gitops.model.objects import CLOUD_INIT_NAMESPACE, Json, ObjectRef
from osm_gitops.plan.compare import is_ours
from osm_gitops.render.manifests import DELIVERY_ANNOTATIONS
from osm_gitops.render.resolve.bootstrap_token import NAMESPACE as TOKEN_NAMESPACE
from osm_gitops.targets.cluster.applied import STAMPER, released
from osm_gitops.targets.cluster.bootstrap_tokens import COMPONENT_LABEL
from osm_gitops.targets.cluster.lease import LEASE_NAME
from osm_gitops.targets.cluster.pools import NUDGED
from osm_gitops.targets.cluster.record import STATUS_NAME
from osm_gitops.targets.cluster.writes import ATTEMPTS, api_of


@dataclass(frozen=True, slots=True)
class OwnObject:
    """An object with our label, and its metadata as read from the cluster ``side``."""

    ref: ObjectRef
    side: Side
    metadata: Mapping[str, Json] = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """What to do in one cluster, in this order.

    ``released`` lose our label and annotations, ``deleted`` are deleted, ``unheld`` lose the finalizer, ``woken``
    Machines lose our annotation; ``held`` are MachineDeployments that keep the finalizer. ``reason`` says why
    finalizers stay or go. ``records``, the ConfigMap and the Lease, are deleted last. With ``refusals`` nothing is
    done.
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
        """Whether the cluster has nothing of osm-gitops."""
        return not (self.released or self.deleted or self.unheld or self.woken or self.records)


_OURS: Final = f"{MANAGED_BY_LABEL}={MANAGED_BY}"
_PREFIX: Final = "osm-gitops.io/"


def own_objects(live: Clusters, namespace: str, profiles: Iterable[str]) -> Iterator[OwnObject]:
    """All objects with our label; ``profiles`` are the namespaces of profiles. Raises ClusterError.

    Takes a page of metadata for each 500 objects, and no request per pool.
    """
    places: list[tuple[Side, Kind, str]] = [(Side.MANAGEMENT, PROFILE, each) for each in sorted(profiles)]
    places += [(Side.MANAGEMENT, CONFIG, namespace)]
    places += [(Side.WORKER, SECRET, each) for each in (CLOUD_INIT_NAMESPACE, TOKEN_NAMESPACE)]
    for side, kind, where in places:
        api = api_of(live, side)
        for metadata in api.list(kind, lambda body: dict(body["metadata"]), where, labels=_OURS, metadata_only=True):
            yield OwnObject(ObjectRef(kind.name, where, metadata["name"]), side, metadata)


def held_machines(worker: Api) -> list[OwnObject]:
    """The MachineDeployments with the finalizer."""

    def keep(body: Mapping[str, Json]) -> OwnObject | None:
        metadata = body["metadata"]
        if CLEANUP_FINALIZER not in (metadata.get("finalizers") or ()):
            return None
        ref = ObjectRef(MACHINE_DEPLOYMENT.name, metadata["namespace"], metadata["name"])
        return OwnObject(ref, Side.WORKER, metadata)

    return worker.list(MACHINE_DEPLOYMENT, keep, metadata_only=True)


def woken_machines(worker: Api) -> list[OwnObject]:
    """The Machines with our annotation, because they had to wait for their bootstrap Secret."""

    def keep(body: Mapping[str, Json]) -> OwnObject | None:
        metadata = body["metadata"]
        if NUDGED not in (metadata.get("annotations") or {}):
            return None
        return OwnObject(ObjectRef(MACHINE.name, metadata["namespace"], metadata["name"]), Side.WORKER, metadata)

    return worker.list(MACHINE, keep, metadata_only=True)


def records(management: Api, namespace: str) -> tuple[ObjectRef, ...]:
    """The records of runs that exist: the ConfigMap, then the Lease."""
    known = ((CONFIG_MAP, STATUS_NAME), (LEASE, LEASE_NAME))
    return tuple(
        ObjectRef(kind.name, namespace, name)
        for kind, name in known
        if management.get(kind, namespace, name, metadata_only=True) is not None
    )


def other_appliers(metadata: Mapping[str, Json]) -> set[str]:
    """Other field managers that apply an object, and would restore our labels and annotations."""
    return {
        str(entry.get("manager"))
        for entry in metadata.get("managedFields") or ()
        if entry.get("operation") == "Apply" and entry.get("manager") not in {FIELD_MANAGER, STAMPER}
    }


@dataclass(frozen=True, slots=True)
class Releasing:
    """Carries out a release; ``check`` raises LostLockError as soon as this run must no longer write."""

    live: Clusters
    check: Callable[[], None]

    def carry_out(self, release: Release) -> tuple[Problem, ...]:
        """Do everything except deleting the records; return what failed. One object that fails does not stop the
        others, unless the API server cannot call a webhook."""
        failed: list[Problem] = []
        jobs: list[tuple[OwnObject, Callable[[OwnObject], None]]] = [
            *((each, self._release) for each in release.released),
            *((each, self._delete) for each in release.deleted),
            *((each, self._unhold) for each in release.unheld),
            *((each, self._unmark) for each in release.woken),
        ]
        for each, job in jobs:
            try:
                job(each)
            except ClusterError as failure:
                if isinstance(failure, LostLockError):
                    raise
                failed.extend(failure.problems)
                if isinstance(failure, WebhookError):
                    break  # the others would fail too
        return tuple(failed)

    def _release(self, each: OwnObject) -> None:
        self._patch(each, lambda metadata: _without_marks(metadata) if is_ours({"metadata": metadata}) else None)

    def _unhold(self, each: OwnObject) -> None:
        self._patch(each, _without_finalizer)

    def _unmark(self, each: OwnObject) -> None:
        self._patch(each, _without_nudge)

    def _delete(self, each: OwnObject) -> None:
        self.check()
        uid = each.metadata["uid"]
        api_of(self.live, each.side).delete(KINDS[each.ref.kind], each.ref.namespace, each.ref.name, uid=uid)

    def _patch(self, each: OwnObject, change: Callable[[Mapping[str, Json]], dict[str, Json] | None]) -> None:
        """Patch metadata of the same object, and retry after conflicts; do nothing if ``change`` returns ``None``."""
        api, ref = api_of(self.live, each.side), each.ref
        metadata: Mapping[str, Json] = each.metadata
        for _ in range(ATTEMPTS):
            patch = change(metadata)
            if patch is None:
                return
            self.check()
            precondition = {"uid": metadata["uid"], "resourceVersion": metadata["resourceVersion"]}
            try:
                api.merge(KINDS[ref.kind], ref.namespace, ref.name, {"metadata": precondition | patch})
            except ConflictError:
                # By a list, which uninstall may do anyway: to get Secrets of kube-system would take another right.
                named = f"metadata.name={ref.name}"
                kind = KINDS[ref.kind]
                found = next(iter(api.list(kind, dict, ref.namespace, fields=named, metadata_only=True)), None)
                if found is None or found["metadata"]["uid"] != each.metadata["uid"]:
                    return
                metadata = found["metadata"]
            else:
                return
        what = f"was changed by others {ATTEMPTS} times in a row"
        raise ConflictError([Problem(Code.WRITTEN_BY_OTHERS, what, where=api.display, about=str(ref), fix="Run again")])


def _without_marks(metadata: Mapping[str, Json]) -> dict[str, Json]:
    """A patch that removes our labels, our annotations and those for Flux and Argo CD, and makes OSM the owner of our
    fields.

    What OSM compares (osm-behaviour.md, "Annotations that are written") stays.
    """
    labels = (MANAGED_BY_LABEL, COMPONENT_LABEL)
    annotations = metadata.get("annotations") or {}
    marks = [key for key in annotations if key.startswith(_PREFIX) or key in DELIVERY_ANNOTATIONS]
    return {
        "labels": dict.fromkeys(labels),
        "annotations": dict.fromkeys(marks),
        "managedFields": released(metadata.get("managedFields") or (), {*labels, *marks}),
    }


def _without_nudge(metadata: Mapping[str, Json]) -> dict[str, Json] | None:
    return {"annotations": {NUDGED: None}} if NUDGED in (metadata.get("annotations") or {}) else None


def _without_finalizer(metadata: Mapping[str, Json]) -> dict[str, Json] | None:
    found = metadata.get("finalizers") or ()
    if CLEANUP_FINALIZER not in found:
        return None
    return {"finalizers": [each for each in found if each != CLEANUP_FINALIZER]}
