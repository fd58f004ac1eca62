"""Single writes: apply or delete one object. The Lease is checked before each write.

The finalizer of a MachineDeployment (osm-behaviour.md, "Finalizer and clean-up") is set before the first write for it,
and removed after all its objects are deleted. Finalizers of others are kept, and a new object of the same name is not
changed. MachineDeployments of a tree are applied but never deleted, since that would delete their Machines (design.md,
"Planning").
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from osm_gitops.errors import ClusterError, Code, ConflictError, Problem
from osm_gitops.kube.api import Api, Clusters
from osm_gitops.kube.kinds import CONFIG, KINDS, MACHINE_DEPLOYMENT, PROFILE, SECRET
from osm_gitops.model.desired import Side
from osm_gitops.model.live import CLEANUP_FINALIZER, LivePool
from osm_gitops.model.machine import EDGE_SCRIPT_PREFIX, KUBECONFIG_SUFFIX
from osm_gitops.model.objects import CLOUD_INIT_NAMESPACE, Json, ObjectRef
from osm_gitops.model.packed import parsed, yaml_digest
from osm_gitops.model.plan import Action, Change
from osm_gitops.plan.compare import is_ours
from osm_gitops.plan.tokens import TOKEN_PREFIX
from osm_gitops.render.manifests import ANNOTATIONS_HASH, REVISION
from osm_gitops.render.resolve.bootstrap_token import NAME_LABEL
from osm_gitops.render.resolve.bootstrap_token import NAMESPACE as TOKEN_NAMESPACE
from osm_gitops.targets.cluster.applied import (
    additional_owners,
    applied_body,
    owners,
    owning_all_content,
    owning_everything,
    taken_over,
)

# Attempts for an object that others write at the same time.
ATTEMPTS: Final = 5

Note = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Body:
    """An object to send. Created in the main thread, sent from any thread."""

    change: Change
    content: Mapping[str, Json] = field(repr=False)


def made(change: Change) -> Body:
    """The body of a change, with the digests that later runs compare."""
    body = parsed(change.after or {})
    return Body(change, applied_body(body, change.digest or yaml_digest(body)))


@dataclass(frozen=True, slots=True)
class Writes:
    """Writes to a cluster's API servers. ``check`` raises LostLockError if this run must not write."""

    live: Clusters
    force: bool
    check: Callable[[], None]
    note: Note

    def put(self, body: Body) -> tuple[Problem, ...]:
        """Create or update an object; returns problems for fields that others added. Raises ClusterError; a
        ConflictError names managers of fields that would change."""
        change = body.change
        api = api_of(self.live, change.side)
        if change.action is Action.UPDATE and not is_ours(change.before):
            self._take_over(api, change.ref, self._read(api, change.ref))
        try:
            answer = self._apply(api, body)
        except ConflictError as conflict:
            if not conflict.managers or not self._take_over(api, change.ref, self._read(api, change.ref)):
                raise
            answer = self._apply(api, body)
        if answer is not None and self._take_over(api, change.ref, answer):
            answer = self._apply(api, body)
        return () if answer is None else self._without_additions(api, body, answer["metadata"])

    def remove(self, side: Side, ref: ObjectRef, *, required: bool = False) -> bool:
        """Delete an object of ours or of OSM; returns whether it existed. Objects of others stay; if the name is
        ``required``, that is a ClusterError."""
        api = api_of(self.live, side)
        found = self._read(api, ref)
        if found is None:
            return False
        if not is_removable(ref, found):
            what = f"{ref} is not deleted: it has neither our label nor OSM's annotations"
            if required:
                raise ClusterError(
                    [Problem(Code.OBJECT_NOT_OURS, what, where=api.display, fix="Delete it, or give it another name")]
                )
            self.note(what)
            return False
        return self.delete(side, ref, found["metadata"]["uid"])

    def delete(self, side: Side, ref: ObjectRef, uid: str) -> bool:
        """Delete the object with this uid; returns whether it existed."""
        self.check()
        return api_of(self.live, side).delete(KINDS[ref.kind], ref.namespace, ref.name, uid=uid)

    def _without_additions(self, api: Api, body: Body, metadata: Mapping[str, Json]) -> tuple[Problem, ...]:
        """Remove fields that others added if ``force`` allows it, else report them."""
        ref = body.change.ref
        # Defaults of the API server in a profile belong to its first writer.
        who = "" if ref.kind == PROFILE.name else ", ".join(additional_owners(metadata))
        if who and not self.force:
            fix = "Remove it, or use --force-conflicts"
            return (
                Problem(
                    Code.FIELDS_OF_OTHERS,
                    f"{who} has added fields to its content, which stay",
                    api.display,
                    str(ref),
                    fix=fix,
                ),
            )
        if who:
            self._own(api, ref, metadata, owning_all_content(metadata["managedFields"]))
            self._apply(api, body)
        return ()

    def _own(self, api: Api, ref: ObjectRef, metadata: Mapping[str, Json], fields: Json) -> None:
        """Set ``managedFields``. Raises ConflictError if the object has changed since."""
        self.check()
        patch = {"uid": metadata["uid"], "resourceVersion": metadata["resourceVersion"], "managedFields": fields}
        api.merge(KINDS[ref.kind], ref.namespace, ref.name, {"metadata": patch})

    def _apply(self, api: Api, body: Body) -> Mapping[str, Json] | None:
        """Metadata of the object; ``None`` if it is new, so that nobody else owns content of it."""
        self.check()
        return api.apply(body.content, force=self.force)

    def _read(self, api: Api, ref: ObjectRef) -> Mapping[str, Json] | None:
        kind = KINDS[ref.kind]
        if (kind, ref.namespace) == (SECRET, TOKEN_NAMESPACE):
            # A list with a name needs no right to get Secrets, which would include all Secrets of kube-system.
            named = f"metadata.name={ref.name}"
            return next(iter(api.list(kind, dict, ref.namespace, fields=named, metadata_only=True)), None)
        return api.get(kind, ref.namespace, ref.name, metadata_only=True)

    def _take_over(self, api: Api, ref: ObjectRef, found: Mapping[str, Json] | None) -> bool:
        """Make our applies the owner of OSM's fields; returns whether there were any. Content does not change."""
        for attempt in range(ATTEMPTS):
            metadata = (found or {}).get("metadata") or {}
            fields = taken_over(metadata.get("managedFields") or ())
            if found is not None and not metadata.get("managedFields") and is_removable(ref, found):
                # Earlier releases of osm-gitops released objects without owners, and OSM's updates add none.
                body = api.get(KINDS[ref.kind], ref.namespace, ref.name)
                fields = owning_everything(body) if body is not None else None
            if fields is None:
                return attempt > 0  # an earlier attempt succeeded, but its answer was lost
            try:
                self._own(api, ref, metadata, fields)
            except ConflictError:
                found = self._read(api, ref)
                continue
            whose = owners(metadata.get("managedFields") or ()) or "an unknown writer"
            self.note(f"{ref}: took over fields of {whose}")
            return True
        raise ConflictError(
            [
                Problem(
                    Code.WRITTEN_BY_OTHERS,
                    f"{ref} is written by others continuously",
                    where=api.display,
                    fix="Run again",
                )
            ]
        )


def api_of(live: Clusters, side: Side) -> Api:
    """The API server of a side."""
    return live.management if side is Side.MANAGEMENT else live.worker


def is_removable(ref: ObjectRef, found: Mapping[str, Json]) -> bool:
    """Whether a live object may be deleted with its pool: it is ours, or OSM created it for a pool."""
    if is_ours(found):
        return True
    metadata = found["metadata"]
    if ref.kind not in {CONFIG.name, SECRET.name}:
        return False
    if {ANNOTATIONS_HASH, REVISION} & (metadata.get("annotations") or {}).keys():
        return True
    if ref.kind == SECRET.name and ref.namespace == CLOUD_INIT_NAMESPACE:
        # OSM writes these without annotations; the name identifies them.
        return ref.name.startswith(EDGE_SCRIPT_PREFIX) or ref.name.endswith(KUBECONFIG_SUFFIX)
    is_token = ref.kind == SECRET.name and ref.namespace == TOKEN_NAMESPACE and ref.name.startswith(TOKEN_PREFIX)
    return is_token and NAME_LABEL in (metadata.get("labels") or {})


def read_machine(writes: Writes, pool: LivePool) -> Mapping[str, Json] | None:
    """The current metadata of a pool's MachineDeployment; ``None`` if it was deleted or replaced."""
    found = writes.live.worker.get(MACHINE_DEPLOYMENT, pool.ref.namespace, pool.ref.name, metadata_only=True)
    metadata = (found or {}).get("metadata") or {}
    return metadata if metadata.get("uid") == pool.uid else None


def hold(writes: Writes, pool: LivePool) -> Mapping[str, Json] | None:
    """Set the finalizer; returns the metadata of the MachineDeployment, or ``None`` if it was deleted or is being
    deleted. Raises ClusterError."""
    metadata: Mapping[str, Json] | None = _as_read(pool)
    for _ in range(ATTEMPTS):
        if metadata is None or metadata.get("deletionTimestamp"):
            return None
        held = metadata.get("finalizers") or ()
        if CLEANUP_FINALIZER in held:
            return metadata
        # Sorted and unique, as OSM leaves the list.
        changed = _changed(writes, pool, metadata, sorted({*held, CLEANUP_FINALIZER}))
        if changed is not None:
            return changed
        metadata = read_machine(writes, pool)
    raise _conflict(writes, pool)


def release(writes: Writes, pool: LivePool) -> None:
    """Remove our finalizer from a MachineDeployment that is being deleted. Raises ClusterError."""
    metadata: Mapping[str, Json] | None = _as_read(pool)
    for _ in range(ATTEMPTS):
        held = (metadata or {}).get("finalizers") or ()
        if metadata is None or CLEANUP_FINALIZER not in held:
            return
        others = [each for each in held if each != CLEANUP_FINALIZER]
        if _changed(writes, pool, metadata, others) is not None:
            return
        metadata = read_machine(writes, pool)
    raise _conflict(writes, pool)


def _as_read(pool: LivePool) -> Mapping[str, Json]:
    return {"uid": pool.uid, "resourceVersion": pool.resource_version, "finalizers": pool.finalizers}


def _changed(
    writes: Writes, pool: LivePool, metadata: Mapping[str, Json], finalizers: Iterable[str]
) -> Mapping[str, Json] | None:
    """The metadata after the change; ``None`` if the object has changed since it was read."""
    writes.check()
    seen = {"uid": pool.uid, "resourceVersion": metadata["resourceVersion"], "finalizers": list(finalizers)}
    try:
        answer = writes.live.worker.merge(MACHINE_DEPLOYMENT, pool.ref.namespace, pool.ref.name, {"metadata": seen})
    except ConflictError:
        return None
    except ClusterError as failure:
        if failure.status == 404:
            return None
        raise
    found: Mapping[str, Json] = answer["metadata"]
    return found


def _conflict(writes: Writes, pool: LivePool) -> ConflictError:
    what = f"its finalizer could not be changed: others changed the object {ATTEMPTS} times meanwhile"
    return ConflictError(
        [Problem(Code.WRITTEN_BY_OTHERS, what, where=writes.live.worker.display, about=str(pool.ref), fix="Run again")]
    )


_GIVE_WAY: Final = frozenset({"machine-controller", "kubectl-client-side-apply"})
"""Field managers whose fields are taken over: machine-controller, for the defaults that it sets, and ``kubectl apply``,
whose fields ``kubectl apply --server-side`` takes over too. An edit, a patch or a scale is a conflict."""


def apply_machine(writes: Writes, change: Change, pool: LivePool) -> None:
    """Create or update a MachineDeployment by server-side apply. Raises ClusterError; a ConflictError names managers of
    fields that would change, or reports that the object was replaced since it was compared."""
    body = dict(change.after or {})
    if pool.uid:  # do not create it again if it was deleted since
        body["metadata"] = {**body["metadata"], "uid": pool.uid}
    worker = writes.live.worker
    writes.check()
    try:
        worker.apply(body, force=writes.force)
    except ConflictError as conflict:
        if not conflict.managers or not _GIVE_WAY.issuperset(conflict.managers):
            raise
        writes.check()
        worker.apply(body, force=True)
