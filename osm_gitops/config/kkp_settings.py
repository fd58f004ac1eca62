"""The settings that KKP gives to Operating System Manager in a user cluster, from the Cluster, its datacenter and KKP's
own configuration; and those of the arguments that Operating System Manager really has there.

KKP's precedence differs between settings. Mostly a value of the Cluster replaces one of the datacenter, and an empty
one never clears it. Containerd mirrors and device ownership both come from the Cluster as soon as it has
``containerRuntimeOpts``, even if that says nothing about them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import ip_address, ip_network
from typing import Final

from osm_gitops.config.go_flags import read_command_line
from osm_gitops.config.setting_names import SETTINGS_BY_FLAG, Kind
from osm_gitops.config.settings import RawSetting, normal, parse_settings
from osm_gitops.errors import Code, InputError, Problem, input_error
from osm_gitops.gocompat.fault import GoError
from osm_gitops.gocompat.semver import parse_version
from osm_gitops.model.objects import Json
from osm_gitops.model.settings import Settings
from osm_gitops.sources.kkp.records import (
    CSI_MIGRATED,
    CSI_MIGRATION_ANNOTATION,
    Cluster,
    Datacenter,
    KubermaticConfiguration,
)

NAMESPACE: Final = "kube-system"
"""Of profiles and configurations in user clusters."""
NODE_LOCAL_DNS: Final = "169.254.20.10"
_DNS_HOST: Final = 10
_WITHOUT_IN_TREE_VOLUMES: Final = 30
"""The Kubernetes minor that removed the gates of the CSI migration."""
_CSI_GATES: Final[Mapping[str, str]] = {
    "openstack": "InTreePluginOpenStackUnregister",
    "vsphere": "InTreePluginvSphereUnregister",
}
_DEVICES: Final = "DynamicResourceAllocation"
_USERINFO: Final = re.compile(r"//[^/\s]*@")
_OVERRIDE: Final = "spec.componentsOverride.operatingSystemManager"


def kkp_settings(
    cluster: Cluster, datacenter: Datacenter, configuration: KubermaticConfiguration
) -> tuple[RawSetting, ...]:
    """The settings, each with the field that it comes from, as far as KKP passes a flag for them.

    Raises InputError where KKP could not make the Deployment either.
    """
    found = _Settings(cluster, datacenter)
    found.add("namespace", NAMESPACE, "KKP")
    found.add("cluster-dns", *_cluster_dns(cluster))
    found.add("container-runtime", cluster.container_runtime, f"{cluster}: spec.containerRuntime")
    if cluster.external_cloud_provider:
        found.add("external-cloud-provider", value=True, where=f"{cluster}: spec.features.externalCloudProvider")
    found.add_runtime_options()
    for flag, key, own, shared in (
        ("node-http-proxy", "httpProxy", cluster.http_proxy, datacenter.http_proxy),
        ("node-no-proxy", "noProxy", cluster.no_proxy, datacenter.no_proxy),
    ):
        found.add_first(flag, (own, f"{cluster}: {_OVERRIDE}.proxy.{key}"), (shared, found.of_datacenter(key)))
    gates = dict(_feature_gates(cluster, configuration))
    found.add("node-kubelet-feature-gates", ",".join(f"{gate}=true" for gate in gates), "; ".join(gates.values()))
    if cluster.image_pull_secret is not None:
        found.add(
            "node-registry-credentials-secret",
            "/".join(cluster.image_pull_secret),
            f"{cluster}: spec.imagePullSecret",
        )
    if configuration.disable_default_profiles:
        where = f"KubermaticConfiguration {configuration.name}: spec.userCluster.operatingSystemManager"
        found.add("disable-default-osps", value=True, where=where)
    return tuple(found.settings)


class _Settings:
    """Collects settings; an empty value adds none, as KKP leaves the flag out."""

    def __init__(self, cluster: Cluster, datacenter: Datacenter) -> None:
        self._cluster = cluster
        self._datacenter = datacenter
        self.settings: list[RawSetting] = []

    def of_datacenter(self, key: str) -> str:
        """The place of a key of the datacenter's ``node``."""
        return f"Seed: spec.datacenters.{self._datacenter.name}.node.{key}"

    def add(self, flag: str, value: Json, where: str) -> None:
        if value:
            self.settings.append(RawSetting(flag, value, where))

    def add_first(self, flag: str, *candidates: tuple[Json, str]) -> None:
        """The first value that is not empty."""
        for value, where in candidates:
            if value:
                self.add(flag, value, where)
                return

    def add_runtime_options(self) -> None:
        own, shared = self._cluster.runtime, self._datacenter.runtime
        at = f"{self._cluster}: spec.containerRuntimeOpts"
        for flag, key, values in (
            ("node-insecure-registries", "insecureRegistries", lambda each: list(each.insecure_registries)),
            ("node-registry-mirrors", "registryMirrors", lambda each: list(each.registry_mirrors)),
            ("pause-image", "pauseImage", lambda each: each.pause_image),
        ):
            of_cluster = values(own) if own is not None else None
            self.add_first(flag, (of_cluster, f"{at}.{key}"), (values(shared), self.of_datacenter(key)))
        chosen, place = (own, at) if own is not None else (shared, self.of_datacenter("").rstrip("."))
        mirrors = [f"{registry}={url}" for registry in sorted(chosen.mirrors) for url in chosen.mirrors[registry]]
        self.add("node-containerd-registry-mirrors", mirrors, f"{place}.containerdRegistryMirrors")
        flag = "device-ownership-from-security-context"
        self.add(flag, chosen.device_ownership, f"{place}.enableNonRootDeviceOwnership")


def _cluster_dns(cluster: Cluster) -> tuple[str, str]:
    """The DNS cache of each node, else the tenth address of the first service network."""
    if cluster.node_local_dns:
        return NODE_LOCAL_DNS, f"{cluster}: spec.clusterNetwork.nodeLocalDNSCacheEnabled"
    field = "spec.clusterNetwork.services.cidrBlocks"
    fix = "Correct the Cluster in KKP"
    if not cluster.services:
        what = "it is empty, so KKP does not know the address of the DNS service"
        raise input_error(Code.MISSING_KEY, what, where=cluster.where, about=str(cluster), field=field, fix=fix)
    try:
        network = bytearray(ip_network(cluster.services[0], strict=False).network_address.packed)
    except ValueError:
        what = f'"{cluster.services[0]}" is not a network'
        raise input_error(
            Code.INVALID_VALUE, what, where=cluster.where, about=str(cluster), field=f"{field}[0]", fix=fix
        ) from None
    network[-1] = (network[-1] + _DNS_HOST) % 256  # KKP adds to the last byte alone
    return str(ip_address(bytes(network))), f"{cluster}: {field}[0]"


def _feature_gates(cluster: Cluster, configuration: KubermaticConfiguration) -> Iterator[tuple[str, str]]:
    """Gates, all on, with the places that they come from."""
    migrated = CSI_MIGRATION_ANNOTATION in cluster.annotations and cluster.has_condition(CSI_MIGRATED)
    gate = _CSI_GATES.get(cluster.provider)
    if migrated and gate is not None and _minor(cluster) < _WITHOUT_IN_TREE_VOLUMES:
        yield gate, f"{cluster}: metadata.annotations.{CSI_MIGRATION_ANNOTATION}"
    if configuration.feature_gates.get(_DEVICES):
        yield _DEVICES, f"KubermaticConfiguration {configuration.name}: spec.featureGates.{_DEVICES}"


def _minor(cluster: Cluster) -> int:
    try:
        return parse_version(cluster.version).minor
    except GoError:
        what = f'"{cluster.version}" is not a version'
        problem = Problem(Code.INVALID_VALUE, what, where=cluster.where, about=str(cluster), field="spec.version")
        raise InputError([problem]) from None


@dataclass(frozen=True, slots=True)
class SettingDifference:
    """A flag that Operating System Manager has with another value than was computed; ``None`` for its default. The
    texts have no passwords. ``where`` is the field of the computed value, if there is one."""

    flag: str
    computed: str | None
    actual: str | None
    where: str = ""


def settings_in_arguments(arguments: Sequence[str]) -> tuple[RawSetting, ...]:
    """The settings among the arguments of Operating System Manager, one per name. Raises InputError for arguments that
    its parser refuses."""
    found: dict[str, RawSetting] = {}
    for flag in read_command_line(arguments):
        setting = SETTINGS_BY_FLAG.get(flag.name)
        if setting is None:
            continue
        value: Json = flag.value
        if setting.kind is Kind.MIRRORS:
            value = [*(found[flag.name].value if flag.name in found else ()), flag.value]
        found[flag.name] = RawSetting(flag.name, value, f"flag -{flag.name} of Operating System Manager")
    return tuple(found.values())


def setting_differences(computed: Sequence[RawSetting], actual: Sequence[RawSetting]) -> tuple[SettingDifference, ...]:
    """The settings with other values, sorted by flag. The order of flags does not matter, and a flag with its default
    value is the same as none."""
    ours, theirs = ({each.name: each for each in settings} for settings in (computed, actual))
    return tuple(
        SettingDifference(
            flag, _shown(ours.get(flag)), _shown(theirs.get(flag)), ours[flag].where if flag in ours else ""
        )
        for flag in sorted(ours.keys() | theirs.keys())
        if _parsed(ours.get(flag)) != _parsed(theirs.get(flag))
    )


def _parsed(raw: RawSetting | None) -> Settings | str:
    """The settings with this one and defaults; an invalid value is its own text."""
    try:
        return parse_settings([raw] if raw is not None else [], _no_file)
    except InputError:
        return str(raw.value if raw is not None else "")


def _no_file(path: str) -> str:
    raise FileNotFoundError(path)


def _shown(raw: RawSetting | None) -> str | None:
    if raw is None:
        return None
    value = normal(raw)
    text = ",".join(value) if isinstance(value, list) else str(value).lower() if isinstance(value, bool) else str(value)
    return _USERINFO.sub("//…@", text)
