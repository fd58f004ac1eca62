"""The provider config of a MachineDeployment after strict decoding (osm-behaviour.md, "MachineDeployment" and "JSON
decoding")."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from osm_gitops.model.objects import Json

PROVIDER_CONFIG_FIELD: Final = "spec.template.spec.providerSpec.value"


@dataclass(frozen=True, slots=True)
class Network:
    """Static network settings; every string is empty where the input did not set it."""

    cidr: str = ""
    gateway: str = ""
    dns_servers: tuple[str, ...] = ()
    ip_family: str = ""

    @property
    def is_static(self) -> bool:
        """Whether OSM takes it for a static address (osm-behaviour.md, "MachineDeployment")."""
        return bool(self.cidr or self.gateway or self.dns_servers)


@dataclass(frozen=True, slots=True)
class ProviderConfig:
    """``providerSpec.value``; raw sub-documents stay as read (``None`` where absent or null)."""

    ssh_keys: tuple[str, ...] = ()
    provider: str = ""
    provider_spec: Json = None
    os: str = ""
    os_spec: Json = None
    network: Network | None = None
    overwrite_cloud_config: str | None = None


@dataclass(frozen=True, slots=True)
class OsSpec:
    """``operatingSystemSpec`` of all systems in one record (osm-behaviour.md, "Operating system spec" and "RHEL
    subscription").

    Field names follow the JSON keys; each system reads its own.
    """

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
