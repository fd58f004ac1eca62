"""What API servers, controllers and kubectl add to an object, in contrast to what its author wrote."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from osm_gitops.model.objects import Json, Manifest

LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
SERVER_METADATA: Final = frozenset(
    {"creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "finalizers", "generation",
     "managedFields", "ownerReferences", "resourceVersion", "selfLink", "uid"}
)  # fmt: skip
"""Keys of ``metadata`` that mean nothing outside of the cluster that the object was read from."""

# The first is machine-controller's for MachineDeployments and MachineSets (revision, revision-history,
# desired-replicas, max-replicas), the second the deployment controller's.
_CONTROLLERS: Final = ("machinedeployment.clusters.k8s.io/", "deployment.kubernetes.io/")


def is_server_annotation(key: str) -> bool:
    """Whether a controller, or kubectl, writes the annotation with this key."""
    return key == LAST_APPLIED or key.startswith(_CONTROLLERS)


def authored_annotations(annotations: Mapping[str, Json] | None) -> dict[str, Json] | None:
    """Annotations without those that a server added; ``None`` where no other is left."""
    return {key: value for key, value in (annotations or {}).items() if not is_server_annotation(key)} or None


def server_annotations(annotations: Mapping[str, Json] | None) -> dict[str, Json]:
    """Of annotations those alone that a server added."""
    return {key: value for key, value in (annotations or {}).items() if is_server_annotation(key)}


def authored(manifest: Manifest) -> dict[str, Json]:
    """An object as its author would write it: name, namespace, labels and annotations, and all but its status."""
    metadata = manifest.body.get("metadata") or {}
    kept: dict[str, Json] = {"name": manifest.ref.name, "namespace": manifest.ref.namespace}
    annotations = authored_annotations(metadata.get("annotations"))
    if annotations:
        kept["annotations"] = annotations
    if metadata.get("labels"):
        kept["labels"] = metadata["labels"]
    rest = {key: value for key, value in manifest.body.items() if key not in {"metadata", "status"}}
    return {key: _without_stamps(value) for key, value in rest.items()} | {"kind": manifest.ref.kind, "metadata": kept}


def _without_stamps(value: Json) -> Json:
    """Without ``metadata.creationTimestamp: null``, which Go writes into templates that are inside of an object."""
    if not isinstance(value, Mapping):
        return value
    found = {key: _without_stamps(each) for key, each in value.items()}
    metadata = found.get("metadata")
    if isinstance(metadata, dict) and metadata.get("creationTimestamp", "") is None:
        left = {key: each for key, each in metadata.items() if key != "creationTimestamp"}
        return {**found, "metadata": left} if left else {key: each for key, each in found.items() if key != "metadata"}
    return found
