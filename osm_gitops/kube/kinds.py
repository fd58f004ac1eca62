"""The kinds of objects that osm-gitops reads or writes, their API paths, and its field manager."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

from osm_gitops.errors import ClusterError, Code, Problem

FIELD_MANAGER: Final = "osm-gitops"


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of the API. ``group`` is empty for the core group; ``plural`` is its name in paths."""

    group: str
    version: str
    name: str
    plural: str
    namespaced: bool = True

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    def collection(self, namespace: str = "") -> str:
        """Path of all objects of the kind, or of those in a namespace. Raises ClusterError as :meth:`path` does."""
        root = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        inside = f"/namespaces/{_segment(namespace)}" if self.namespaced and namespace else ""
        return f"{root}{inside}/{self.plural}"

    def path(self, namespace: str, name: str) -> str:
        """Path of one object.

        Raises ClusterError for a name that would change the path: deleting ``secrets/..`` would delete a namespace.
        """
        if self.namespaced and not namespace:
            raise ClusterError(
                [Problem(Code.OBJECT_NAME, f"{self.name} {name} has no namespace", fix="Name one in its metadata")]
            )
        return f"{self.collection(namespace)}/{_segment(name)}"


def _segment(name: str) -> str:
    """A name as a path segment (apimachinery's IsValidPathSegmentName)."""
    if name in {"", ".", ".."} or "/" in name or "%" in name:
        raise ClusterError([Problem(Code.OBJECT_NAME, f"{name!r} is not a valid object name", fix="Correct it")])
    return quote(name, safe="")


_OSM: Final = "operatingsystemmanager.k8c.io"
_MACHINES: Final = "cluster.k8s.io"
_KKP: Final = "kubermatic.k8c.io"

SECRET: Final = Kind("", "v1", "Secret", "secrets")
CONFIG_MAP: Final = Kind("", "v1", "ConfigMap", "configmaps")
SERVICE_ACCOUNT: Final = Kind("", "v1", "ServiceAccount", "serviceaccounts")
NAMESPACE: Final = Kind("", "v1", "Namespace", "namespaces", namespaced=False)
POD: Final = Kind("", "v1", "Pod", "pods")
NODE: Final = Kind("", "v1", "Node", "nodes", namespaced=False)
EVENT: Final = Kind("events.k8s.io", "v1", "Event", "events")
ENDPOINT_SLICE: Final = Kind("discovery.k8s.io", "v1", "EndpointSlice", "endpointslices")
LEASE: Final = Kind("coordination.k8s.io", "v1", "Lease", "leases")
DEPLOYMENT: Final = Kind("apps", "v1", "Deployment", "deployments")
ACCESS_REVIEW: Final = Kind(
    "authorization.k8s.io", "v1", "SelfSubjectAccessReview", "selfsubjectaccessreviews", namespaced=False
)
MACHINE_DEPLOYMENT: Final = Kind(_MACHINES, "v1alpha1", "MachineDeployment", "machinedeployments")
MACHINE_SET: Final = Kind(_MACHINES, "v1alpha1", "MachineSet", "machinesets")
MACHINE: Final = Kind(_MACHINES, "v1alpha1", "Machine", "machines")
PROFILE: Final = Kind(_OSM, "v1alpha1", "OperatingSystemProfile", "operatingsystemprofiles")
CUSTOM_PROFILE: Final = Kind(_OSM, "v1alpha1", "CustomOperatingSystemProfile", "customoperatingsystemprofiles")
CONFIG: Final = Kind(_OSM, "v1alpha1", "OperatingSystemConfig", "operatingsystemconfigs")
USER_CLUSTER: Final = Kind(_KKP, "v1", "Cluster", "clusters", namespaced=False)
SEED: Final = Kind(_KKP, "v1", "Seed", "seeds")
CLUSTER_TEMPLATE: Final = Kind(_KKP, "v1", "ClusterTemplate", "clustertemplates", namespaced=False)
KKP_CONFIGURATION: Final = Kind(_KKP, "v1", "KubermaticConfiguration", "kubermaticconfigurations")
MUTATING_WEBHOOKS: Final = Kind(
    "admissionregistration.k8s.io",
    "v1",
    "MutatingWebhookConfiguration",
    "mutatingwebhookconfigurations",
    namespaced=False,
)
VALIDATING_WEBHOOKS: Final = Kind(
    "admissionregistration.k8s.io",
    "v1",
    "ValidatingWebhookConfiguration",
    "validatingwebhookconfigurations",
    namespaced=False,
)

KINDS: Final[Mapping[str, Kind]] = {
    kind.name: kind
    for kind in (
        *(SECRET, CONFIG_MAP, SERVICE_ACCOUNT, NAMESPACE, EVENT, ENDPOINT_SLICE, LEASE, DEPLOYMENT),
        *(MACHINE_DEPLOYMENT, MACHINE_SET, MACHINE, PROFILE, CUSTOM_PROFILE, CONFIG),
        *(MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS),
    )
}
"""By the name that manifests have under ``kind``."""
