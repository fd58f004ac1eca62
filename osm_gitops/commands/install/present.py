"""What a cluster has already: kinds and the getter's account also come with KubeOne, KKP and OSM's own manifests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from osm_gitops.commands.install.getter import getter
from osm_gitops.commands.install.schemas import definitions
from osm_gitops.errors import ClusterError
from osm_gitops.kube.api import Api
from osm_gitops.kube.kinds import NAMESPACE, SECRET, SERVICE_ACCOUNT, Kind
from osm_gitops.model.objects import Json, ObjectRef

PART_OF: Final = "app.kubernetes.io/part-of"
PROGRAM: Final = "osm-gitops"
_RBAC: Final = "rbac.authorization.k8s.io"
_FORBIDDEN: Final = 403
_KINDS: Final = {
    kind.name: kind
    for kind in (
        *(NAMESPACE, SECRET, SERVICE_ACCOUNT),
        Kind("apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions", namespaced=False),
        Kind(_RBAC, "v1", "Role", "roles"),
        Kind(_RBAC, "v1", "RoleBinding", "rolebindings"),
    )
}


@dataclass(frozen=True, slots=True)
class Missing:
    """Of the manifests those to print; ``present`` are there and were not made by ``install``, ``unknown`` may not be
    read by this user, and are printed."""

    bodies: Sequence[dict[str, Json]]
    present: tuple[ObjectRef, ...] = ()
    unknown: tuple[ObjectRef, ...] = ()


def without_present(api: Api, bodies: Sequence[dict[str, Json]]) -> Missing:
    """``bodies`` without the shared ones that somebody else has brought: to apply them would conflict with whoever
    applies those, or would be undone by them. Raises ClusterError."""
    shared = {_ref(body) for body in (*definitions(), *getter())}
    kept, present, unknown = [], [], []
    for body in bodies:
        ref = _ref(body)
        try:
            found = api.get(_KINDS[ref.kind], ref.namespace, ref.name, metadata_only=True) if ref in shared else None
        except ClusterError as failure:
            if failure.status != _FORBIDDEN:
                raise
            unknown.append(ref)
            found = None
        if found is not None and (found["metadata"].get("labels") or {}).get(PART_OF) != PROGRAM:
            present.append(ref)
        else:
            kept.append(body)
    return Missing(kept, tuple(present), tuple(unknown))


def _ref(body: dict[str, Json]) -> ObjectRef:
    metadata = body["metadata"]
    return ObjectRef(body["kind"], metadata.get("namespace", ""), metadata["name"])
