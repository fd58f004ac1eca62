"""MachineDeployment: a pool of machines, and its decoded provider config (osm-behaviour.md, "MachineDeployment" and
"JSON decoding")."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final

from osm_gitops.model.objects import Json, Manifest, ObjectRef

PROVIDER_CONFIG_FIELD: Final = "spec.template.spec.providerSpec.value"


@dataclass(frozen=True, slots=True)
class Network:
    """Static network settings; unset strings are empty."""

    cidr: str = ""
    gateway: str = ""
    dns_servers: tuple[str, ...] = ()
    ip_family: str = ""

    @property
    def is_static(self) -> bool:
        """Whether OSM treats it as a static address (osm-behaviour.md, "MachineDeployment")."""
        return bool(self.cidr or self.gateway or self.dns_servers)


@dataclass(frozen=True, slots=True)
class ProviderConfig:
    """``providerSpec.value``; raw sub-documents are not decoded (``None`` if absent or null)."""

    ssh_keys: tuple[str, ...] = ()
    provider: str = ""
    provider_spec: Json = None
    os: str = ""
    os_spec: Json = None
    network: Network | None = None
    overwrite_cloud_config: str | None = None


@dataclass(frozen=True, slots=True)
class OsSpec:
    """``operatingSystemSpec`` of all operating systems (osm-behaviour.md, "Operating system spec" and "RHEL
    subscription"). Fields are named as the JSON keys; each system reads some of them."""

    dist_upgrade_on_boot: bool = False
    disable_auto_update: bool = False
    disable_locksmith_d: bool = False
    disable_update_engine: bool = False
    provisioning_utility: str = ""
    rhel_subscription_manager_user: str = ""
    rhel_subscription_manager_password: str = ""
    rhsm_offline_token: str = ""
    attach_subscription: bool = False
    rhel_use_satellite_server: bool = False
    rhel_satellite_server: str = ""
    rhel_organization_name: str = ""
    rhel_activation_key: str = ""


EMPTY_OS_SPEC: Final = OsSpec()


@dataclass(frozen=True, slots=True)
class KubeletOptions:
    """Kubelet settings from annotations (osm-behaviour.md, "Kubelet annotations"); ``None`` is Go's nil pointer.

    Durations are nanoseconds.
    """

    kube_reserved: dict[str, str] | None = None
    system_reserved: dict[str, str] | None = None
    eviction_hard: dict[str, str] | None = None
    max_pods: int | None = None
    container_log_max_size: str | None = None
    container_log_max_files: str | None = None
    image_gc_high_threshold_percent: int | None = None
    image_gc_low_threshold_percent: int | None = None
    image_minimum_gc_age: int | None = None
    image_maximum_gc_age: int | None = None


@dataclass(frozen=True, slots=True)
class AnnotationUse:
    """An annotation for the kubelet, or one that looks like it. ``option`` is what it sets; empty if it is ignored for
    the reason ``why``."""

    annotation: str
    value: str
    option: str = ""
    why: str = ""


PROFILE_ANNOTATION = "k8c.io/operating-system-profile"
PROFILE_NAMESPACE_ANNOTATION = "k8c.io/operating-system-profile-namespace"
REVISION_ANNOTATION = "machinedeployment.clusters.k8s.io/revision"
DEFAULT_POOL_NAMESPACE = "kube-system"
EDGE_SCRIPT_PREFIX = "edge-provider-script-"
KUBECONFIG_SUFFIX = "-kubelet-bootstrap-config"
KUBELET_CONFIG_PREFIX = "v1.kubelet-config.machine-controller.kubermatic.io"


@dataclass(frozen=True, slots=True)
class PoolNames:
    """The names of all objects of a MachineDeployment (osm-behaviour.md, "Object names")."""

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
        return token_key(self)

    @property
    def kubelet_kubeconfig_name(self) -> str:
        return kubelet_kubeconfig_name(self.token_key)


@dataclass(frozen=True, slots=True)
class MachineDeployment(PoolNames):
    """A MachineDeployment (osm-behaviour.md, "MachineDeployment").

    ``annotations`` is ``None`` without annotations, which has another hash than an empty map (osm-behaviour.md,
    "Annotations that are written"). ``provider_spec`` is ``spec.template.spec.providerSpec.value`` and ``template`` all
    of ``spec.template``, both as read. ``default_profile`` is its profile if it names none; empty for OSM's default.
    """

    annotations: Mapping[str, str] | None
    kubelet: str
    provider_spec: Json
    template: Json
    deleting: bool
    manifest: Manifest
    default_profile: str = ""

    def annotation(self, key: str) -> str:
        """The annotation's value, or an empty text, as in Go."""
        return (self.annotations or {}).get(key, "")


def token_key(pool: ObjectRef | PoolNames) -> str:
    """The label value of a pool's bootstrap token: with the namespace, or only the name from 63 bytes on
    (osm-behaviour.md, "Object names")."""
    key = f"{pool.namespace}-{pool.name}"
    return key if len(key.encode()) < 63 else pool.name


def kubelet_kubeconfig_name(key: str) -> str:
    """The name of the Secret with the kubeconfig of this token key."""
    return key + KUBECONFIG_SUFFIX


def is_chosen(name: str, only: Sequence[str]) -> bool:
    """Whether a pool is selected by the globs ``only``; all are selected without globs."""
    return not only or any(fnmatchcase(name, glob) for glob in only)
