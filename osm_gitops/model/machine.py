"""MachineDeployment: a pool of machines, as far as its boot configuration depends on it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from osm_gitops.model.objects import Json, Manifest, ObjectRef

PROFILE_ANNOTATION = "k8c.io/operating-system-profile"
PROFILE_NAMESPACE_ANNOTATION = "k8c.io/operating-system-profile-namespace"
REVISION_ANNOTATION = "machinedeployment.clusters.k8s.io/revision"
DEFAULT_POOL_NAMESPACE = "kube-system"
EDGE_SCRIPT_PREFIX = "edge-provider-script-"
KUBECONFIG_SUFFIX = "-kubelet-bootstrap-config"
KUBELET_CONFIG_PREFIX = "v1.kubelet-config.machine-controller.kubermatic.io"


@dataclass(frozen=True, slots=True)
class PoolNames:
    """The names of everything made from a MachineDeployment ``name`` in ``namespace`` (osm-behaviour.md, "Object
    names")."""

    name: str
    namespace: str

    @property
    def ref(self) -> ObjectRef:
        return ObjectRef("MachineDeployment", self.namespace, self.name)

    @property
    def config_name(self) -> str:
        return f"{self.name}-{self.namespace}-config"

    @property
    def bootstrap_secret_name(self) -> str:
        return f"{self.name}-{self.namespace}-bootstrap-config"

    @property
    def provisioning_secret_name(self) -> str:
        return f"{self.name}-{self.namespace}-provisioning-config"

    @property
    def edge_script_name(self) -> str:
        return f"{EDGE_SCRIPT_PREFIX}{self.name}-{self.namespace}"

    @property
    def token_key(self) -> str:
        return token_key(self.ref)

    @property
    def kubelet_kubeconfig_name(self) -> str:
        return kubelet_kubeconfig_name(self.token_key)


@dataclass(frozen=True, slots=True)
class MachineDeployment(PoolNames):
    """A MachineDeployment (osm-behaviour.md, "MachineDeployment").

    ``annotations`` is ``None`` where the object has none, which hashes unlike an
    empty map (osm-behaviour.md, "Annotations that are written"). ``provider_spec`` is
    ``spec.template.spec.providerSpec.value`` and ``template`` all of ``spec.template``, both as read.
    """

    annotations: Mapping[str, str] | None
    kubelet: str
    provider_spec: Json
    template: Json
    deleting: bool
    manifest: Manifest

    def annotation(self, key: str) -> str:
        """The annotation's value, or the empty string, as Go's map lookup gives it."""
        return (self.annotations or {}).get(key, "")


def token_key(pool: ObjectRef) -> str:
    """The label value of a pool's bootstrap token: namespace first, the name alone from 63 bytes on (osm-behaviour.md,
    "Object names")."""
    key = f"{pool.namespace}-{pool.name}"
    return key if len(key.encode()) < 63 else pool.name


def kubelet_kubeconfig_name(key: str) -> str:
    """The Secret that holds the kubeconfig with the token of this key."""
    return key + KUBECONFIG_SUFFIX
