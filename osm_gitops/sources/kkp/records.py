"""Clusters, Seeds and KubermaticConfigurations of KKP, as far as boot configurations depend on them.

Fields that KKP does not require are optional, since older versions lack them; unknown fields and values are accepted.
Tokens and addresses with credentials of a Cluster (``status.address.adminToken``) are not kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Final

from osm_gitops.model.objects import Json, Manifest
from osm_gitops.sources.schema import Checked, Reading

PROJECT_LABEL: Final = "project-id"
WORKER_NAME_LABEL: Final = "worker-name"
"""Whose value selects the seed controller manager that handles a Cluster."""
CSI_MIGRATION_ANNOTATION: Final = "csi-migration.k8c.io/migration-needed"
CSI_MIGRATED: Final = "CSIKubeletMigrationCompleted"
INITIALIZED: Final = "ClusterInitialized"

_UP: Final = "HealthStatusUp"
_TRUE: Final = "True"
_API_SERVER: Final = "apiserver"
_CONTROL_PLANE: Final = (_API_SERVER, "controller", "etcd", "scheduler")


class ClusterState(Enum):
    """What a run may do with a user cluster.

    ``UNINITIALIZED``: KKP is still creating it. ``UNHEALTHY``: a part of its control plane is not up. ``DELETING``: it
    is being deleted, and its API server is up. ``GONE``: it is being deleted, and its API server is no longer up.
    """

    UNINITIALIZED = "not ready"
    UNHEALTHY = "unhealthy"
    READY = "ready"
    PAUSED = "paused"
    DELETING = "being deleted"
    GONE = "gone"


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimeOptions:
    """``spec.containerRuntimeOpts`` of a Cluster, or the keys of the same names of a datacenter's ``node``.

    ``mirrors`` are endpoints by registry, in order.
    """

    insecure_registries: tuple[str, ...] = ()
    registry_mirrors: tuple[str, ...] = ()
    pause_image: str = ""
    mirrors: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    device_ownership: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """A user cluster.

    ``id`` is ``metadata.name``, ``human_name`` what people call it. ``services`` are ``clusterNetwork.services``.
    ``runtime`` is ``None`` without ``containerRuntimeOpts``, which differs from empty options. ``osm_replicas`` and the
    proxy are those of ``componentsOverride.operatingSystemManager``. ``deleting`` is the deletion timestamp.
    ``namespace`` is that of the control plane, empty until KKP has created it. ``health`` has a status by component,
    ``conditions`` a status by type. ``where`` is the seed's API server, for messages.
    """

    id: str
    human_name: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: frozenset[str] = frozenset()
    version: str = ""
    datacenter: str = ""
    provider: str = ""
    services: tuple[str, ...] = ()
    node_local_dns: bool = True
    container_runtime: str = ""
    runtime: RuntimeOptions | None = None
    external_cloud_provider: bool = False
    image_pull_secret: tuple[str, str] | None = None
    http_proxy: str = ""
    no_proxy: str = ""
    osm_replicas: int | None = None
    paused: bool = False
    pause_reason: str = ""
    deleting: str = ""
    namespace: str = ""
    url: str = ""
    phase: str = ""
    health: Mapping[str, str] = field(default_factory=dict)
    conditions: Mapping[str, str] = field(default_factory=dict)
    where: str = ""

    def __str__(self) -> str:
        return f"Cluster {self.id}"

    @property
    def project(self) -> str:
        """The id of its project."""
        return self.labels.get(PROJECT_LABEL, "")

    @property
    def worker_name(self) -> str:
        """The seed controller manager that handles it; normally empty."""
        return self.labels.get(WORKER_NAME_LABEL, "")

    @property
    def state(self) -> ClusterState:
        """What a run may do with it. A paused cluster that is unhealthy is unhealthy: it cannot be read."""
        if self.deleting:
            up = bool(self.namespace) and self.health.get(_API_SERVER) == _UP
            return ClusterState.DELETING if up else ClusterState.GONE
        if not self.namespace:
            return ClusterState.UNINITIALIZED
        if any(self.health.get(part) != _UP for part in _CONTROL_PLANE):
            initialized = self.conditions.get(INITIALIZED) == _TRUE
            return ClusterState.UNHEALTHY if initialized else ClusterState.UNINITIALIZED
        return ClusterState.PAUSED if self.paused else ClusterState.READY

    def unhealthy_parts(self) -> tuple[str, ...]:
        """The components of the control plane that are not up, each with its status."""
        found = ((part, self.health.get(part) or "unknown") for part in _CONTROL_PLANE)
        return tuple(f"{part} {status.removeprefix('HealthStatus')}" for part, status in found if status != _UP)

    def has_condition(self, kind: str) -> bool:
        """Whether a condition has status True."""
        return self.conditions.get(kind) == _TRUE


@dataclass(frozen=True, slots=True, kw_only=True)
class Datacenter:
    """A datacenter of a Seed, with the proxy of the Seed where its own is empty. ``profiles`` are its default
    OperatingSystemProfiles by operating system."""

    name: str
    runtime: RuntimeOptions = field(default_factory=RuntimeOptions)
    http_proxy: str = ""
    no_proxy: str = ""
    profiles: Mapping[str, str] = field(default_factory=dict)
    openstack_auth_url: str = ""
    vsphere_endpoint: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seed:
    """A Seed. ``osm_replicas`` is that of ``defaultComponentSettings``, with which KKP fills empty overrides of
    Clusters; ``default_template`` names a ClusterTemplate that does the same."""

    name: str
    datacenters: Mapping[str, Datacenter] = field(default_factory=dict)
    osm_replicas: int | None = None
    default_template: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class KubermaticConfiguration:
    """KKP's own configuration, as far as it concerns Operating System Manager."""

    name: str = ""
    disable_default_profiles: bool = False
    feature_gates: Mapping[str, bool] = field(default_factory=dict)


def read_cluster(manifest: Manifest) -> Checked[Cluster]:
    """The Cluster of ``manifest``, or the fields that have another type than KKP's."""
    reading = Reading(manifest)
    metadata = reading.mapping(manifest.body, "", "metadata")
    spec = reading.mapping(manifest.body, "", "spec")
    status = reading.mapping(manifest.body, "", "status")
    cloud = reading.mapping(spec, "spec", "cloud")
    network = reading.mapping(spec, "spec", "clusterNetwork")
    services = reading.mapping(network, "spec.clusterNetwork", "services")
    local_dns = reading.boolean(network, "spec.clusterNetwork", "nodeLocalDNSCacheEnabled")
    features = reading.mapping(spec, "spec", "features")
    overrides = reading.mapping(spec, "spec", "componentsOverride")
    at = "spec.componentsOverride.operatingSystemManager"
    override = reading.mapping(overrides, "spec.componentsOverride", "operatingSystemManager")
    proxy = reading.mapping(override, at, "proxy")
    provider = _text(reading, cloud, "spec.cloud", "providerName")
    conditions = reading.mapping(status, "status", "conditions")
    address = reading.mapping(status, "status", "address")
    cluster = Cluster(
        id=manifest.ref.name,
        human_name=_text(reading, spec, "spec", "humanReadableName"),
        labels=reading.string_map(metadata, "metadata", "labels"),
        annotations=frozenset(reading.mapping(metadata, "metadata", "annotations")),
        version=_text(reading, spec, "spec", "version"),
        datacenter=_text(reading, cloud, "spec.cloud", "dc"),
        provider=provider,
        services=reading.strings(services, "spec.clusterNetwork.services", "cidrBlocks"),
        node_local_dns=local_dns is not False,
        container_runtime=_text(reading, spec, "spec", "containerRuntime"),
        runtime=_runtime(reading, reading.mapping(spec, "spec", "containerRuntimeOpts"), "spec.containerRuntimeOpts")
        if spec.get("containerRuntimeOpts") is not None
        else None,
        external_cloud_provider=reading.boolean(features, "spec.features", "externalCloudProvider") is True,
        image_pull_secret=_secret(reading, spec),
        http_proxy=_text(reading, proxy, f"{at}.proxy", "httpProxy"),
        no_proxy=_text(reading, proxy, f"{at}.proxy", "noProxy"),
        osm_replicas=_replicas(reading, override, at),
        paused=reading.boolean(spec, "spec", "pause") is True,
        pause_reason=_text(reading, spec, "spec", "pauseReason"),
        deleting=_text(reading, metadata, "metadata", "deletionTimestamp"),
        namespace=_text(reading, status, "status", "namespaceName"),
        url=_text(reading, address, "status.address", "url"),
        phase=_text(reading, status, "status", "phase"),
        health=reading.string_map(status, "status", "extendedHealth"),
        conditions={
            kind: _text(
                reading, reading.mapping(conditions, "status.conditions", kind), f"status.conditions.{kind}", "status"
            )
            for kind in conditions
        },
        where=manifest.origin.path,
    )
    return reading.result(cluster)


def read_seed(manifest: Manifest) -> Checked[Seed]:
    """The Seed of ``manifest``. As in KKP, its proxy is the default of each datacenter, each key on its own."""
    reading = Reading(manifest)
    spec = reading.mapping(manifest.body, "", "spec")
    proxy = reading.mapping(spec, "spec", "proxySettings")
    http_proxy = _text(reading, proxy, "spec.proxySettings", "httpProxy")
    no_proxy = _text(reading, proxy, "spec.proxySettings", "noProxy")
    components = reading.mapping(spec, "spec", "defaultComponentSettings")
    at = "spec.defaultComponentSettings"
    osm = reading.mapping(components, at, "operatingSystemManager")
    datacenters = reading.mapping(spec, "spec", "datacenters")
    found = (_datacenter(reading, datacenters, name) for name in datacenters)
    seed = Seed(
        name=manifest.ref.name,
        datacenters={
            each.name: replace(each, http_proxy=each.http_proxy or http_proxy, no_proxy=each.no_proxy or no_proxy)
            for each in found
        },
        osm_replicas=_replicas(reading, osm, f"{at}.operatingSystemManager"),
        default_template=_text(reading, spec, "spec", "defaultClusterTemplate"),
    )
    return reading.result(seed)


def read_configuration(manifest: Manifest) -> Checked[KubermaticConfiguration]:
    """The KubermaticConfiguration of ``manifest``."""
    reading = Reading(manifest)
    spec = reading.mapping(manifest.body, "", "spec")
    user_cluster = reading.mapping(spec, "spec", "userCluster")
    at = "spec.userCluster.operatingSystemManager"
    osm = reading.mapping(user_cluster, "spec.userCluster", "operatingSystemManager")
    gates = reading.mapping(spec, "spec", "featureGates")
    configuration = KubermaticConfiguration(
        name=manifest.ref.name,
        disable_default_profiles=reading.boolean(osm, at, "disableDefaultOperatingSystemProfiles") is True,
        feature_gates={name: reading.boolean(gates, "spec.featureGates", name) is True for name in gates},
    )
    return reading.result(configuration)


def _datacenter(reading: Reading, datacenters: Mapping[str, Json], name: str) -> Datacenter:
    at = f"spec.datacenters.{name}"
    body = reading.mapping(datacenters, "spec.datacenters", name)
    node = reading.mapping(body, at, "node")
    spec = reading.mapping(body, at, "spec")
    openstack = reading.mapping(spec, f"{at}.spec", "openstack")
    vsphere = reading.mapping(spec, f"{at}.spec", "vsphere")
    return Datacenter(
        name=name,
        runtime=_runtime(reading, node, f"{at}.node"),
        http_proxy=_text(reading, node, f"{at}.node", "httpProxy"),
        no_proxy=_text(reading, node, f"{at}.node", "noProxy"),
        profiles=reading.string_map(spec, f"{at}.spec", "operatingSystemProfiles"),
        openstack_auth_url=_text(reading, openstack, f"{at}.spec.openstack", "authURL"),
        vsphere_endpoint=_text(reading, vsphere, f"{at}.spec.vsphere", "endpoint"),
    )


def _runtime(reading: Reading, body: Mapping[str, Json], at: str) -> RuntimeOptions:
    mirrors = reading.mapping(body, at, "containerdRegistryMirrors")
    registries_at = f"{at}.containerdRegistryMirrors.registries"
    registries = reading.mapping(mirrors, f"{at}.containerdRegistryMirrors", "registries")
    return RuntimeOptions(
        insecure_registries=reading.strings(body, at, "insecureRegistries"),
        registry_mirrors=reading.strings(body, at, "registryMirrors"),
        pause_image=_text(reading, body, at, "pauseImage"),
        mirrors={
            name: reading.strings(
                reading.mapping(registries, registries_at, name), f"{registries_at}.{name}", "mirrors"
            )
            for name in registries
        },
        device_ownership=reading.boolean(body, at, "enableNonRootDeviceOwnership") is True,
    )


def _secret(reading: Reading, spec: Mapping[str, Json]) -> tuple[str, str] | None:
    secret = reading.mapping(spec, "spec", "imagePullSecret")
    if spec.get("imagePullSecret") is None:
        return None
    at = "spec.imagePullSecret"
    return _text(reading, secret, at, "namespace"), _text(reading, secret, at, "name")


def _replicas(reading: Reading, body: Mapping[str, Json], at: str) -> int | None:
    return None if body.get("replicas") is None else reading.int32(body, at, "replicas", 1)


def _text(reading: Reading, body: Mapping[str, Json], at: str, key: str) -> str:
    return reading.optional_string(body, at, key) or ""
