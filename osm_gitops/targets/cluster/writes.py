"""Single writes: an object is applied or removed; before each request that changes anything the Lease is checked.

The finalizer of a MachineDeployment (osm-behaviour.md, "Finalizer and clean-up") is set before anything is written for
it and removed after all of it is gone. Finalizers of others stay, and a successor of the same name is never touched.
MachineDeployments of a tree are applied and never deleted: their Machines would go with them (design.md, "Planning").
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from osm_gitops.errors import ClusterError, Code, ConflictError, Problem
from osm_gitops.kube.api import Api
from osm_gitops.kube.connecting import Clusters
from osm_gitops.kube.kinds import CONFIG, KINDS, MACHINE_DEPLOYMENT, PROFILE, SECRET
from osm_gitops.model.desired import Side
from osm_gitops.model.live import CLEANUP_FINALIZER, LivePool
from osm_gitops.model.machine import EDGE_SCRIPT_PREFIX, KUBECONFIG_SUFFIX
from osm_gitops.model.objects import CLOUD_INIT_NAMESPACE, Json, ObjectRef
from osm_gitops.model.plan import Action, Change
from osm_gitops.plan.compare import is_ours
from osm_gitops.plan.tokens import TOKEN_PREFIX
from osm_gitops.render.manifests import ANNOTATIONS_HASH, REVISION
from osm_gitops.render.resolve.bootstrap_token import NAME_LABEL
from osm_gitops.render.resolve.bootstrap_token import NAMESPACE as TOKEN_NAMESPACE
from osm_gitops.targets.cluster.applied import adders, applied_body, joined, owners, whole, with_all_content
from osm_gitops.yaml.emit import dump

# How often to look again at an object that others write at the same time.
ATTEMPTS: Final = 5

Note = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Body:
    """An object as it is to be sent: made where bodies are made, sent from any thread."""

    change: Change
    content: Mapping[str, Json] = field(repr=False)


def made(change: Change) -> Body:
    """The body of a change, with the digest that a later run knows it by."""
    whole = dict(change.after or {})
    digest = change.digest or hashlib.sha256(dump(whole).encode()).digest()
    return Body(change, applied_body(whole, digest))


@dataclass(frozen=True, slots=True)
class Writes:
    """Writes to a cluster's API servers. ``check`` raises LostLockError as soon as this run must not write any more."""

    live: Clusters
    force: bool
    check: Callable[[], None]
    note: Note

    def put(self, body: Body) -> tuple[Problem, ...]:
        """Create or update an object; what others have added to it and stays. Raises ClusterError; ConflictError names
        others who own what would change."""
        change = body.change
        api = api_of(self.live, change.side)
        if change.action is Action.UPDATE and not is_ours(change.before):
            self._take_over(api, change.ref, self._read(api, change.ref))
        try:
            answer: Mapping[str, Json] = self._apply(api, body)
        except ConflictError as conflict:
            if not conflict.managers or not self._take_over(api, change.ref, self._read(api, change.ref)):
                raise
            answer = self._apply(api, body)
        if self._take_over(api, change.ref, answer):
            answer = self._apply(api, body)
        return self._without_additions(api, body, answer["metadata"])

    def remove(self, side: Side, ref: ObjectRef, *, required: bool = False) -> bool:
        """Delete an object that is ours or OSM's; whether it was there. Anybody else's stays; where its place is
        ``required`` that is a ClusterError."""
        api = api_of(self.live, side)
        found = self._read(api, ref)
        if found is None:
            return False
        if not is_removable(ref, found):
            what = f"{ref} stays: it carries neither our label nor OSM's annotations"
            if required:
                raise ClusterError(
                    [Problem(Code.OBJECT_NOT_OURS, what, where=api.display, fix="Delete it, or give it another name")]
                )
            self.note(what)
            return False
        return self.delete(side, ref, found["metadata"]["uid"])

    def delete(self, side: Side, ref: ObjectRef, uid: str) -> bool:
        """Delete an object that is known to be the right one; whether it was there."""
        self.check()
        return api_of(self.live, side).delete(KINDS[ref.kind], ref.namespace, ref.name, uid=uid)

    def _without_additions(self, api: Api, body: Body, metadata: Mapping[str, Json]) -> tuple[Problem, ...]:
        """Remove what others have added, where their fields may be taken."""
        ref = body.change.ref
        # Defaults that the API server filled into a profile belong to whoever wrote it first.
        who = "" if ref.kind == PROFILE.name else ", ".join(adders(metadata))
        if who and not self.force:
            fix = "Remove it, or use --force-conflicts"
            return (
                Problem(
                    Code.FIELDS_OF_OTHERS,
                    f"{who} has added to its content, which stays beside ours",
                    api.display,
                    str(ref),
                    fix=fix,
                ),
            )
        if who:
            self._own(api, ref, metadata, with_all_content(metadata["managedFields"]))
            self._apply(api, body)
        return ()

    def _own(self, api: Api, ref: ObjectRef, metadata: Mapping[str, Json], fields: Json) -> None:
        """Say who owns what. Raises ConflictError where the object has moved."""
        self.check()
        patch = {"uid": metadata["uid"], "resourceVersion": metadata["resourceVersion"], "managedFields": fields}
        api.merge(KINDS[ref.kind], ref.namespace, ref.name, {"metadata": patch})

    def _apply(self, api: Api, body: Body) -> Mapping[str, Json]:
        self.check()
        return api.apply(body.content, force=self.force, metadata_only=True)

    def _read(self, api: Api, ref: ObjectRef) -> Mapping[str, Json] | None:
        kind = KINDS[ref.kind]
        if (kind, ref.namespace) == (SECRET, TOKEN_NAMESPACE):
            # Tokens are listed anyway; the right to get Secrets would be one to get all of kube-system's.
            named = f"metadata.name={ref.name}"
            return next(iter(api.list(kind, dict, ref.namespace, fields=named, metadata_only=True)), None)
        return api.get(kind, ref.namespace, ref.name, metadata_only=True)

    def _take_over(self, api: Api, ref: ObjectRef, found: Mapping[str, Json] | None) -> bool:
        """Make our applies the owner of what OSM wrote; whether there was anything. The object stays as it is."""
        for attempt in range(ATTEMPTS):
            metadata = (found or {}).get("metadata") or {}
            fields = joined(metadata.get("managedFields") or ())
            if found is not None and not metadata.get("managedFields") and is_removable(ref, found):
                # A release before this one gave objects back without an owner, and OSM's own writes add none then.
                body = api.get(KINDS[ref.kind], ref.namespace, ref.name)
                fields = whole(body) if body is not None else None
            if fields is None:
                return attempt > 0  # a try of ours was carried out, and its answer lost
            try:
                self._own(api, ref, metadata, fields)
            except ConflictError:
                found = self._read(api, ref)
                continue
            whose = owners(metadata.get("managedFields") or ()) or "an unknown writer"
            self.note(f"{ref}: took over what {whose} wrote")
            return True
        raise ConflictError(
            [
                Problem(
                    Code.WRITTEN_BY_OTHERS,
                    f"{ref} is written by others all the time",
                    where=api.display,
                    fix="Run again",
                )
            ]
        )


def api_of(live: Clusters, side: Side) -> Api:
    """The API server of a side."""
    return live.management if side is Side.MANAGEMENT else live.worker


def is_removable(ref: ObjectRef, found: Mapping[str, Json]) -> bool:
    """Whether a live object may be deleted when its pool goes: it is ours, or OSM made it for a pool."""
    if is_ours(found):
        return True
    metadata = found["metadata"]
    if ref.kind not in {CONFIG.name, SECRET.name}:
        return False
    if {ANNOTATIONS_HASH, REVISION} & (metadata.get("annotations") or {}).keys():
        return True
    if ref.kind == SECRET.name and ref.namespace == CLOUD_INIT_NAMESPACE:
        # OSM writes these without annotations; what they are, their names tell.
        return ref.name.startswith(EDGE_SCRIPT_PREFIX) or ref.name.endswith(KUBECONFIG_SUFFIX)
    is_token = ref.kind == SECRET.name and ref.namespace == TOKEN_NAMESPACE and ref.name.startswith(TOKEN_PREFIX)
    return is_token and NAME_LABEL in (metadata.get("labels") or {})


def read_machine(writes: Writes, pool: LivePool) -> Mapping[str, Json] | None:
    """The metadata of a pool's MachineDeployment as they are now; ``None`` where it is gone, or another one has its
    name."""
    found = writes.live.worker.get(MACHINE_DEPLOYMENT, pool.ref.namespace, pool.ref.name, metadata_only=True)
    metadata = (found or {}).get("metadata") or {}
    return metadata if metadata.get("uid") == pool.uid else None


def hold(writes: Writes, pool: LivePool) -> Mapping[str, Json] | None:
    """Set the finalizer; the metadata that the MachineDeployment has then, ``None`` where there is nothing to hold: it
    is gone, or going. Raises ClusterError."""
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
    raise _restless(writes, pool)


def release(writes: Writes, pool: LivePool) -> None:
    """Remove the finalizer, ours alone, from a MachineDeployment that is being deleted. Raises ClusterError."""
    metadata: Mapping[str, Json] | None = _as_read(pool)
    for _ in range(ATTEMPTS):
        held = (metadata or {}).get("finalizers") or ()
        if metadata is None or CLEANUP_FINALIZER not in held:
            return
        others = [each for each in held if each != CLEANUP_FINALIZER]
        if _changed(writes, pool, metadata, others) is not None:
            return
        metadata = read_machine(writes, pool)
    raise _restless(writes, pool)


def _as_read(pool: LivePool) -> Mapping[str, Json]:
    return {"uid": pool.uid, "resourceVersion": pool.resource_version, "finalizers": pool.finalizers}


def _changed(
    writes: Writes, pool: LivePool, metadata: Mapping[str, Json], finalizers: Iterable[str]
) -> Mapping[str, Json] | None:
    """The metadata after the change; ``None`` where the object is not any more what it was taken for."""
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


def _restless(writes: Writes, pool: LivePool) -> ConflictError:
    what = f"its finalizer could not be changed: others wrote it {ATTEMPTS} times in between"
    return ConflictError(
        [Problem(Code.WRITTEN_BY_OTHERS, what, where=writes.live.worker.display, about=str(pool.ref), fix="Run again")]
    )


_GIVE_WAY: Final = frozenset({"machine-controller", "kubectl-client-side-apply"})
"""Field managers that give way: machine-controller owns the defaults that it filled in, and ``kubectl apply`` what it
applied earlier, which ``kubectl apply --server-side`` takes over too. An edit, a patch or a scale is a conflict."""


def apply_machine(writes: Writes, change: Change, pool: LivePool) -> None:
    """Create or update a MachineDeployment by server-side apply. Raises ClusterError; a ConflictError names others who
    own what would change, or says that it is another object than the one that was compared."""
    body = dict(change.after or {})
    if pool.uid:  # one that has gone since is not made anew
        body["metadata"] = {**body["metadata"], "uid": pool.uid}
    worker = writes.live.worker
    writes.check()
    try:
        worker.apply(body, force=writes.force, metadata_only=True)
    except ConflictError as conflict:
        if not conflict.managers or not _GIVE_WAY.issuperset(conflict.managers):
            raise
        writes.check()
        worker.apply(body, force=True, metadata_only=True)
