"""Template data: the fields that OSM's templates see, with Go's types (osm-behaviour.md, "Template data").

Names are Go's own, since templates use them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final

from osm_gitops.gotemplate.values import (
    IP,
    BoolMap,
    DurationPointer,
    Int32,
    IPList,
    MetaDuration,
    NamedString,
    NilStringList,
    NilStringMap,
    Pointer,
    StringList,
    StringMap,
    Struct,
    nil,
)
from osm_gitops.model.machine import EMPTY_OS_SPEC, KubeletOptions, Network, OsSpec
from osm_gitops.model.settings import Settings


class CloudProvider(NamedString):
    __slots__ = ()
    go_type = "v1alpha1.CloudProvider"


class ProvisioningUtility(NamedString):
    __slots__ = ()
    go_type = "flatcar.ProvisioningUtility"


class IPFamily(NamedString):
    """``net.IPFamily``; unspecified means IPv4."""

    __slots__ = ()
    go_type = "net.IPFamily"
    methods: ClassVar[frozenset[str]] = frozenset({"HasIPv4", "HasIPv6", "IsDualstack"})

    def HasIPv4(self) -> bool:
        return self in {"", "IPv4", "IPv4+IPv6", "IPv6+IPv4"}

    def HasIPv6(self) -> bool:
        return self in {"IPv6", "IPv4+IPv6", "IPv6+IPv4"}

    def IsDualstack(self) -> bool:
        return self in {"IPv4+IPv6", "IPv6+IPv4"}


@dataclass(frozen=True)
class DNSConfig(Struct):
    go_type = "providerconfig.DNSConfig"
    Servers: StringList = field(default_factory=NilStringList)


@dataclass(frozen=True)
class NetworkConfig(Struct):
    go_type = "providerconfig.NetworkConfig"
    CIDR: str = ""
    Gateway: str = ""
    DNS: DNSConfig = field(default_factory=DNSConfig)
    IPFamily: IPFamily = field(default_factory=IPFamily)


class NetworkPointer(Pointer):
    """``*NetworkConfig``: its methods work on a nil pointer too."""

    __slots__ = ()
    methods: ClassVar[frozenset[str]] = frozenset({"IsStaticIPConfig", "GetIPFamily"})

    def __init__(self, elem: NetworkConfig | None) -> None:
        super().__init__(elem, NetworkConfig.go_type)

    def IsStaticIPConfig(self) -> bool:
        network = self.elem
        return network is not None and bool(network.CIDR or network.Gateway or network.DNS.Servers)

    def GetIPFamily(self) -> IPFamily:
        return IPFamily() if self.elem is None else self.elem.IPFamily


@dataclass(frozen=True)
class AmazonLinuxConfig(Struct):
    go_type = "amzn2.Config"
    DistUpgradeOnBoot: bool = False


@dataclass(frozen=True)
class UbuntuConfig(Struct):
    go_type = "ubuntu.Config"
    DistUpgradeOnBoot: bool = False


@dataclass(frozen=True)
class RockyLinuxConfig(Struct):
    go_type = "rockylinux.Config"
    DistUpgradeOnBoot: bool = False


@dataclass(frozen=True)
class FlatcarConfig(Struct):
    go_type = "flatcar.Config"
    DisableAutoUpdate: bool = False
    DisableLocksmithD: bool = False
    DisableUpdateEngine: bool = False
    ProvisioningUtility: ProvisioningUtility = field(default_factory=ProvisioningUtility)


@dataclass(frozen=True)
class RhelConfig(Struct):
    go_type = "rhel.Config"
    DistUpgradeOnBoot: bool = False
    RHELSubscriptionManagerUser: str = ""
    RHELSubscriptionManagerPassword: str = ""
    RHSMOfflineToken: str = ""
    AttachSubscription: bool = False
    RHELUseSatelliteServer: bool = False
    RHELSatelliteServer: str = ""
    RHELOrganizationName: str = ""
    RHELActivationKey: str = ""


# Go's type of each root field, for the translator.
ROOT_TYPES: Mapping[str, str] = {
    "KubeVersion": "string",
    "ClusterDNSIPs": "[]net.IP",
    "KubernetesCACert": "string",
    "HostCACert": "string",
    "InTreeCCMAvailable": "bool",
    "ExternalCloudProvider": "bool",
    "CloudConfig": "string",
    "ContainerRuntime": "string",
    "CloudProviderName": CloudProvider.go_type,
    "NetworkConfig": f"*{NetworkConfig.go_type}",
    "NetworkIPFamily": "string",
    "InitialTaints": "string",
    "HTTPProxy": "*string",
    "NoProxy": "*string",
    "ContainerRuntimeConfig": "string",
    "ContainerRuntimeAuthConfig": "string",
    "KubeletFeatureGates": "map[string]bool",
    "PauseImage": "string",
    "BootstrapKubeconfig": "string",
    "Token": "string",
    "ServerURL": "string",
    "SecretName": "string",
    "BootstrapKubeconfigSecretName": "string",
    "KubeReserved": "*map[string]string",
    "SystemReserved": "*map[string]string",
    "EvictionHard": "*map[string]string",
    "MaxPods": "*int32",
    "ImageGCHighThresholdPercent": "*int32",
    "ImageGCLowThresholdPercent": "*int32",
    "ContainerLogMaxSize": "*string",
    "ContainerLogMaxFiles": "*string",
    "ImageMinimumGCAge": f"*{MetaDuration.go_type}",
    "ImageMaximumGCAge": f"*{MetaDuration.go_type}",
    "AmazonLinuxConfig": AmazonLinuxConfig.go_type,
    "UbuntuConfig": UbuntuConfig.go_type,
    "RockyLinuxConfig": RockyLinuxConfig.go_type,
    "FlatcarConfig": FlatcarConfig.go_type,
    "RhelConfig": RhelConfig.go_type,
    "KubeletConfiguration": "string",
    "KubeletSystemdUnit": "string",
    "CNIVersion": "string",
    "ServerAddress": "string",
    "RHSubscription": "map[string]string",
}


@dataclass(frozen=True, slots=True)
class ClusterData:
    """What all MachineDeployments of a cluster share."""

    settings: Settings
    ca_certificate: str
    container_runtime_config: str
    getter_token: str
    server_url: str


@dataclass(frozen=True, slots=True)
class PoolData:
    """What one MachineDeployment adds."""

    kube_version: str
    os: str
    provider: str
    in_tree_provider: bool
    cloud_config: str
    network: Network | None
    kubelet: KubeletOptions
    os_spec: OsSpec
    secret_name: str
    kubelet_kubeconfig_name: str
    bootstrap_kubeconfig: str


def cluster_fields(cluster: ClusterData) -> dict[str, Any]:
    """Root fields that are the same for every MachineDeployment; made once per run."""
    settings = cluster.settings
    return {
        "ClusterDNSIPs": IPList(IP(address) for address in settings.cluster_dns),
        "KubernetesCACert": cluster.ca_certificate,
        "HostCACert": settings.host_ca_bundle,
        "ExternalCloudProvider": settings.external_cloud_provider,
        "ContainerRuntime": settings.container_runtime,
        "InitialTaints": settings.initial_taints,
        "HTTPProxy": _string_pointer(settings.http_proxy or None),
        "NoProxy": _string_pointer(settings.no_proxy or None),
        "ContainerRuntimeConfig": cluster.container_runtime_config,
        "ContainerRuntimeAuthConfig": "",
        "KubeletFeatureGates": BoolMap(settings.feature_gates),
        "PauseImage": settings.pause_image,
        "Token": cluster.getter_token,
        "ServerURL": cluster.server_url,
        "KubeletConfiguration": "",
        "KubeletSystemdUnit": "",
        "CNIVersion": "",
        "ServerAddress": "",
        "RHSubscription": NilStringMap(),
    }


def root_fields(shared: Mapping[str, Any], pool: PoolData) -> dict[str, Any]:
    """All root fields for one MachineDeployment; ``shared`` comes from :func:`cluster_fields`."""
    network = pool.network
    return {
        **shared,
        "KubeVersion": pool.kube_version,
        "InTreeCCMAvailable": pool.in_tree_provider,
        "CloudConfig": pool.cloud_config,
        "CloudProviderName": CloudProvider(pool.provider),
        "NetworkConfig": _NO_NETWORK if network is None else NetworkPointer(_network(network)),
        "NetworkIPFamily": "" if network is None else network.ip_family,
        "BootstrapKubeconfig": pool.bootstrap_kubeconfig,
        "SecretName": pool.secret_name,
        "BootstrapKubeconfigSecretName": pool.kubelet_kubeconfig_name,
        **_kubelet_fields(pool.kubelet),
        **_os_fields(pool.os, pool.os_spec),
    }


def _network(network: Network) -> NetworkConfig:
    return NetworkConfig(
        CIDR=network.cidr,
        Gateway=network.gateway,
        DNS=DNSConfig(Servers=StringList(network.dns_servers) if network.dns_servers else NilStringList()),
        IPFamily=IPFamily(network.ip_family),
    )


_NO_NETWORK: Final = NetworkPointer(None)
_NO_STRING: Final = nil("string")
_NO_INT: Final = nil("int32")
_NO_MAP: Final = nil("map[string]string")
_NO_DURATION: Final = DurationPointer(None)


def _string_pointer(value: str | None) -> Pointer:
    return _NO_STRING if value is None else Pointer(value, "string")


def _int_pointer(value: int | None) -> Pointer:
    return _NO_INT if value is None else Pointer(Int32(value), "int32")


def _map_pointer(value: Mapping[str, str] | None) -> Pointer:
    return _NO_MAP if value is None else Pointer(StringMap(value), "map[string]string")


def _duration_pointer(value: int | None) -> Pointer:
    return _NO_DURATION if value is None else DurationPointer(value)


def _kubelet_fields(kubelet: KubeletOptions) -> dict[str, Any]:
    return {
        "KubeReserved": _map_pointer(kubelet.kube_reserved),
        "SystemReserved": _map_pointer(kubelet.system_reserved),
        "EvictionHard": _map_pointer(kubelet.eviction_hard),
        "MaxPods": _int_pointer(kubelet.max_pods),
        "ImageGCHighThresholdPercent": _int_pointer(kubelet.image_gc_high_threshold_percent),
        "ImageGCLowThresholdPercent": _int_pointer(kubelet.image_gc_low_threshold_percent),
        "ContainerLogMaxSize": _string_pointer(kubelet.container_log_max_size),
        "ContainerLogMaxFiles": _string_pointer(kubelet.container_log_max_files),
        "ImageMinimumGCAge": _duration_pointer(kubelet.image_minimum_gc_age),
        "ImageMaximumGCAge": _duration_pointer(kubelet.image_maximum_gc_age),
    }


_NO_OS: dict[str, Any] = {
    "AmazonLinuxConfig": AmazonLinuxConfig(),
    "UbuntuConfig": UbuntuConfig(),
    "RockyLinuxConfig": RockyLinuxConfig(),
    "FlatcarConfig": FlatcarConfig(),
    "RhelConfig": RhelConfig(),
}


def _os_fields(os: str, spec: OsSpec) -> Mapping[str, Any]:
    """The five OS records, zero but for the pool's own system."""
    if spec is EMPTY_OS_SPEC:  # as for most pools
        return _NO_OS
    match os:
        case "amzn2":
            own: dict[str, Any] = {"AmazonLinuxConfig": AmazonLinuxConfig(spec.dist_upgrade_on_boot)}
        case "ubuntu":
            own = {"UbuntuConfig": UbuntuConfig(spec.dist_upgrade_on_boot)}
        case "rockylinux":
            own = {"RockyLinuxConfig": RockyLinuxConfig(spec.dist_upgrade_on_boot)}
        case "flatcar":
            own = {"FlatcarConfig": _flatcar(spec)}
        case _:
            own = {"RhelConfig": _rhel(spec)}
    return _NO_OS | own


def _flatcar(spec: OsSpec) -> FlatcarConfig:
    return FlatcarConfig(
        DisableAutoUpdate=spec.disable_auto_update,
        DisableLocksmithD=spec.disable_locksmith_d,
        DisableUpdateEngine=spec.disable_update_engine,
        ProvisioningUtility=ProvisioningUtility(spec.provisioning_utility),
    )


def _rhel(spec: OsSpec) -> RhelConfig:
    return RhelConfig(
        DistUpgradeOnBoot=spec.dist_upgrade_on_boot,
        RHELSubscriptionManagerUser=spec.rhel_subscription_manager_user,
        RHELSubscriptionManagerPassword=spec.rhel_subscription_manager_password,
        RHSMOfflineToken=spec.rhsm_offline_token,
        AttachSubscription=spec.attach_subscription,
        RHELUseSatelliteServer=spec.rhel_use_satellite_server,
        RHELSatelliteServer=spec.rhel_satellite_server,
        RHELOrganizationName=spec.rhel_organization_name,
        RHELActivationKey=spec.rhel_activation_key,
    )
