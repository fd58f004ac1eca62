"""Synthetic pools and facts: to take each branch of a profile, and to render pools of a tree, without a cluster."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from osm_gitops.errors import InputError
from osm_gitops.gocompat.basetext import encode_base64
from osm_gitops.gotemplate.expressions import ALL_FIELDS
from osm_gitops.model.inputs import ConfigMapFact, Facts, SecretFact
from osm_gitops.model.machine import KubeletOptions, MachineDeployment, Network, OsSpec, ProviderConfig
from osm_gitops.model.objects import Json, Manifest, ObjectRef, Origin
from osm_gitops.model.profile import OperatingSystemProfile
from osm_gitops.model.settings import Settings
from osm_gitops.render.resolve.bootstrap_token import GETTER_SECRET
from osm_gitops.render.resolve.cluster_info import CLUSTER_INFO, ClusterFacts, UnreadableClusterInfo, cluster_info
from osm_gitops.render.resolve.containerd import DOCKER_CONFIG_KEY, DOCKER_CONFIG_TYPE
from osm_gitops.render.resolve.machine_spec import provisioning_utility
from osm_gitops.render.resolve.pools import IN_TREE_PROVIDERS, ResolvedPool

MINORS: Final = tuple(f"v1.{minor}.4" for minor in range(31, 37))
"""The Kubernetes versions for checks of profiles: each supported minor, ascending."""

PEM: Final = "\n".join(
    (
        "-----BEGIN CERTIFICATE-----",
        *(encode_base64(bytes(48)),) * 12,
        "-----END CERTIFICATE-----\n",
    )
)
_TOKEN: Final = "valida.te0123456789abcd"  # noqa: S105 - of no cluster
_PASSWORD: Final = "a-made-up-password"  # noqa: S105 - of nobody
_OFFLINE_TOKEN: Final = "a-made-up-offline-token"  # noqa: S105 - likewise
_ACTIVATION_KEY: Final = "a-made-up-activation-key"
_CLOUD_CONFIG: Final = f"[Global]\nzone = eu-1\npassword = {_PASSWORD}\n"
_KEYS: Final = ("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA validate",)
_RESERVED: Final = {"cpu": "200m", "memory": "300Mi", "ephemeral-storage": "1Gi"}
_ALL: Final = "all settings"
CREDENTIALS_SECRET: Final = ("kube-system", "registry-credentials")

_MACHINE: Final = MachineDeployment(
    name="validate",
    namespace="kube-system",
    annotations={},
    kubelet="",
    provider_spec={},
    template={},
    deleting=False,
    manifest=Manifest(ObjectRef("MachineDeployment", "kube-system", "validate"), {}, Origin(""), {}),
)


@dataclass(frozen=True, slots=True)
class Variant:
    """A difference from the defaults of a cluster or a pool.

    ``fields`` are the changed fields of template data; empty if it affects all profiles. Variants of one ``group``
    exclude each other. ``systems`` are the operating systems that support it, empty for all. One that is only tried
    ``alone`` is a part of another: what is wrong in one part may keep the others from being read.
    """

    name: str
    fields: frozenset[str] = frozenset()
    settings: Mapping[str, Any] = field(default_factory=dict, hash=False)
    pool: Mapping[str, Any] = field(default_factory=dict, hash=False)
    os_spec: Mapping[str, Any] = field(default_factory=dict, hash=False)
    group: str = ""
    systems: frozenset[str] = frozenset()
    alone: bool = False

    @property
    def key(self) -> str:
        """The key that is unique in a combination."""
        return self.group or self.name

    def shows(self, profile: OperatingSystemProfile, reads: frozenset[str]) -> bool:
        """Whether it may affect a profile whose templates read these fields."""
        fits = not self.systems or profile.os_name in self.systems
        return fits and (not self.fields or ALL_FIELDS in reads or bool(self.fields & reads))


def _network(family: str) -> Variant:
    fields = frozenset({"NetworkConfig", "NetworkIPFamily"})
    return Variant(f"ipFamily {family}", fields, pool={"network": Network(ip_family=family)}, group="network")


def _static(name: str, network: Network) -> Variant:
    fields = frozenset({"NetworkConfig", "NetworkIPFamily"})
    return Variant(name, fields, pool={"network": network}, group="network", systems=frozenset({"flatcar"}))


def _proxy(name: str, who: str) -> Variant:
    settings = {
        "http_proxy": f"http://{who}proxy.example.com:3128",
        "no_proxy": ".svc,.cluster.local,localhost,127.0.0.1,10.0.0.0/8",
    }
    return Variant(name, frozenset({"HTTPProxy", "NoProxy"}), settings, group="proxy")


def _flatcar(name: str, **os_spec: Any) -> Variant:
    return Variant(name, frozenset({"FlatcarConfig"}), os_spec=os_spec, systems=frozenset({"flatcar"}))


def _rhel(name: str, **os_spec: Any) -> Variant:
    return Variant(name, os_spec=os_spec, group="subscription", systems=frozenset({"rhel"}))


_KUBELET: Final = "kubelet annotations"
# Field of the template data, option, value.
_ANNOTATIONS: Final[tuple[tuple[str, str, Any], ...]] = (
    ("KubeReserved", "kube_reserved", _RESERVED),
    ("SystemReserved", "system_reserved", _RESERVED),
    ("EvictionHard", "eviction_hard", {"memory.available": "100Mi", "nodefs.available": "10%"}),
    ("MaxPods", "max_pods", 150),
    ("ContainerLogMaxSize", "container_log_max_size", "100Mi"),
    ("ContainerLogMaxFiles", "container_log_max_files", "5"),
    ("ImageGCHighThresholdPercent", "image_gc_high_threshold_percent", 90),
    ("ImageGCLowThresholdPercent", "image_gc_low_threshold_percent", 70),
    ("ImageMinimumGCAge", "image_minimum_gc_age", 120 * 10**9),
    ("ImageMaximumGCAge", "image_maximum_gc_age", 3600 * 10**9),
)

VARIANTS: Final = (
    _proxy("an HTTP proxy", ""),
    _proxy("an HTTP proxy with a password", f"someone:{_PASSWORD}@"),
    Variant("a host CA bundle", frozenset({"HostCACert"}), {"host_ca_bundle": PEM}),
    Variant(
        "an external cloud provider",
        frozenset({"ExternalCloudProvider", "InTreeCCMAvailable"}),
        {"external_cloud_provider": True},
    ),
    Variant(
        "initial taints",
        frozenset({"InitialTaints"}),
        {"initial_taints": "node.cilium.io/agent-not-ready=true:NoExecute"},
    ),
    Variant(
        "registry mirrors",
        settings={
            "registry_mirrors": {"docker.io": ("https://mirror.example.com", "http://mirror-2.example.com:5000")},
            "insecure_registries": ("registry.example.com:5000",),
        },
    ),
    Variant(
        "a pause image",
        frozenset({"PauseImage", "ContainerRuntimeConfig"}),
        {"pause_image": "registry.example.com/pause:3.10"},
    ),
    Variant(
        "registry credentials",
        frozenset({"ContainerRuntimeConfig"}),
        {"registry_credentials_secret": CREDENTIALS_SECRET},
    ),
    Variant(
        "device ownership from the security context",
        frozenset({"ContainerRuntimeConfig"}),
        {"device_ownership_from_security_context": True},
    ),
    Variant(
        "three feature gates",
        frozenset({"KubeletFeatureGates"}),
        # Without gates that contradict the kubelet configuration of OSM's profiles.
        {"feature_gates": {"EventedPLEG": False, "NodeSwap": True, "RotateKubeletServerCertificate": True}},
        group="gates",
    ),
    Variant("no feature gates", frozenset({"KubeletFeatureGates"}), {"feature_gates": {}}, group="gates"),
    Variant("two cluster DNS addresses", frozenset({"ClusterDNSIPs"}), {"cluster_dns": ("10.96.0.10", "fd00:10::a")}),
    Variant(
        "all kubelet annotations",
        frozenset(field for field, _, _ in _ANNOTATIONS),
        pool={"kubelet": KubeletOptions(**{option: value for _, option, value in _ANNOTATIONS})},
        group=_KUBELET,
    ),
    *(
        Variant(
            f"kubelet annotation {field}",
            frozenset({field}),
            pool={"kubelet": KubeletOptions(**{option: value})},
            group=_KUBELET,
            alone=True,
        )
        for field, option, value in _ANNOTATIONS
    ),
    Variant(
        "a cloud-config",
        frozenset({"CloudConfig"}),
        pool={"cloud_config": f"[Global]\nzone = eu-1\npassword = {_PASSWORD}\n"},
    ),
    *(_network(family) for family in ("IPv4+IPv6", "IPv4", "IPv6", "IPv6+IPv4")),
    _static("a static address", Network("192.0.2.10/24", "192.0.2.1", ("192.0.2.53",))),
    _static("DHCP with DNS servers of its own", Network(dns_servers=("192.0.2.53",))),
    Variant(
        "distUpgradeOnBoot",
        os_spec={"dist_upgrade_on_boot": True},
        systems=frozenset({"ubuntu", "rhel", "rockylinux", "amzn2"}),
    ),
    _flatcar("disableAutoUpdate", disable_auto_update=True),
    _flatcar("disableLocksmithD", disable_locksmith_d=True),
    _flatcar("disableUpdateEngine", disable_update_engine=True),
    _rhel(
        "a subscription",
        rhel_subscription_manager_user="someone",
        rhel_subscription_manager_password=_PASSWORD,
        attach_subscription=True,
    ),
    _rhel("an offline token", rhsm_offline_token=_OFFLINE_TOKEN),
    _rhel(
        "a Satellite server",
        rhel_use_satellite_server=True,
        rhel_satellite_server="satellite.example.com",
        rhel_organization_name="an-organization",
        rhel_activation_key=_ACTIVATION_KEY,
    ),
)


@dataclass(frozen=True, slots=True)
class Combination:
    """A provider, a Kubernetes version, and variants, which ``told`` describes."""

    provider: str
    kube_version: str
    variants: tuple[Variant, ...] = ()
    told: str = ""

    def __str__(self) -> str:
        more = f", {self.told}" if self.told else ""
        return f"{self.provider}, Kubernetes {self.kube_version.removeprefix('v')}{more}"


@dataclass(frozen=True, slots=True)
class Matrix:
    """The combinations for a profile whose templates read certain ``fields``.

    ``first`` are variants that can be combined, ``versions`` the Kubernetes versions that make a difference.
    """

    providers: tuple[str, ...]
    versions: tuple[str, ...]
    variants: tuple[Variant, ...]
    first: tuple[Variant, ...]

    def grid(self) -> Iterator[Combination]:
        """Each provider and version with defaults, and with all settings for the oldest and newest version."""
        for provider in self.providers:
            for version in self.versions:
                yield Combination(provider, version)
            for version in self._edges if self.variants else ():
                yield Combination(provider, version, self.first, _ALL)

    def variations(self, providers: Iterable[str]) -> Iterator[Combination]:
        """For providers that differ in profiles: all settings with each version; each setting alone, and all but one,
        with the oldest and newest version; each part of a setting alone with the newest."""
        newest = self.versions[-1]
        for provider in providers:
            for version in self.versions if self.variants else ():
                if version not in self._edges:
                    yield Combination(provider, version, self.first, _ALL)
            for variant in self.variants:
                if variant.alone:
                    yield Combination(provider, newest, (variant,), variant.name)
                    continue
                others = tuple(each for each in self.first if each.key != variant.key)
                for version in self._edges:
                    yield Combination(provider, version, (variant,), variant.name)
                yield Combination(provider, newest, others, f"{_ALL} but {variant.name}")
                if variant not in self.first:
                    yield Combination(provider, newest, (*others, variant), f"{_ALL} with {variant.name}")

    @property
    def _edges(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((self.versions[0], self.versions[-1])))


def matrix(profile: OperatingSystemProfile, reads: frozenset[str]) -> Matrix:
    """The matrix of a profile whose templates read these fields of the data."""
    variants = tuple(variant for variant in VARIANTS if variant.shows(profile, reads))
    first = {variant.key: variant for variant in reversed(variants)}
    return Matrix(
        providers=tuple(dict.fromkeys(profile.providers)),
        versions=MINORS if {"KubeVersion", ALL_FIELDS} & reads else MINORS[-1:],
        variants=variants,
        first=tuple(variant for variant in variants if first[variant.key] is variant and not variant.alone),
    )


def settings_of(combination: Combination, base: Settings) -> Settings:
    """The cluster's settings in a combination."""
    changes: dict[str, Any] = {}
    for variant in combination.variants:
        changes |= variant.settings
    return replace(base, **changes)


def made_up_pool(combination: Combination, profile: OperatingSystemProfile, cluster: ClusterFacts) -> ResolvedPool:
    """The resolved pool of a combination."""
    own: dict[str, Any] = {}
    os_spec: dict[str, Any] = {}
    for variant in combination.variants:
        own |= variant.pool
        os_spec |= variant.os_spec
    spec = OsSpec(**os_spec, provisioning_utility=profile.provisioning_utility if profile.os_name == "flatcar" else "")
    in_tree = combination.provider in IN_TREE_PROVIDERS and not cluster.settings.external_cloud_provider
    return ResolvedPool(
        machine=_MACHINE,
        profile=profile,
        provider_config=ProviderConfig(
            ssh_keys=_KEYS,
            provider=combination.provider,
            provider_spec={},
            os=profile.os_name,
            os_spec={},
            network=own.get("network"),
        ),
        os_spec=spec,
        utility=provisioning_utility(profile.os_name, spec),
        dist_upgrade=spec.dist_upgrade_on_boot,
        kubelet=own.get("kubelet", KubeletOptions()),
        kube_version=combination.kube_version,
        cloud_config=own.get("cloud_config", ""),
        in_tree_provider=in_tree,
        token=_TOKEN,
        revision="1",
        annotations_hash="",
        template_digest="",
    )


_NOWHERE: Final = Origin("a placeholder")
_PLACEHOLDER_TOKEN: Final = "a-placeholder-token"  # noqa: S105 - of nothing
_PLACEHOLDER_PASSWORD: Final = "a-placeholder-password"  # noqa: S105 - likewise
MADE_UP_SECRETS: Final = frozenset(
    {_TOKEN.partition(".")[2], _PASSWORD, _OFFLINE_TOKEN, _ACTIVATION_KEY, _PLACEHOLDER_TOKEN, _PLACEHOLDER_PASSWORD}
)
"""The values of synthetic pools, and of placeholders, that real ones have from secrets."""
_SERVER: Final = "https://api.cluster.example.com:6443"
_REGISTRY: Final = "registry.example.com"


def with_placeholders(facts: Facts, settings: Settings) -> tuple[Facts, tuple[str, ...]]:
    """The facts, with placeholders for missing ones that all pools need, and the names of these."""
    secrets = {key: made for key, made in _secrets(settings) if key not in facts.secrets}
    known = replace(facts, incomplete=False)
    maps = {} if _knows_its_server(known) else {CLUSTER_INFO: _cluster_info()}
    whole = replace(known, secrets={**facts.secrets, **secrets}, config_maps={**facts.config_maps, **maps})
    return whole, (
        *(f"ConfigMap {'/'.join(key)}" for key in maps),
        *(f"Secret {'/'.join(key)}" for key in secrets),
    )


def _knows_its_server(facts: Facts) -> bool:
    try:
        cluster_info(facts)
    except (UnreadableClusterInfo, InputError):
        return bool(facts.endpoint_slices) and CLUSTER_INFO not in facts.config_maps
    return True


def _secrets(settings: Settings) -> Iterator[tuple[tuple[str, str], SecretFact]]:
    yield GETTER_SECRET, _secret(GETTER_SECRET, {"token": _PLACEHOLDER_TOKEN})
    wanted = settings.registry_credentials_secret
    if wanted is not None:
        auths = {_REGISTRY: {"username": "someone", "password": _PLACEHOLDER_PASSWORD}}
        config = json.dumps({"auths": auths})
        yield wanted, _secret(wanted, {DOCKER_CONFIG_KEY: config}, DOCKER_CONFIG_TYPE)


def _secret(key: tuple[str, str], data: dict[str, str], kind: str = "Opaque") -> SecretFact:
    return SecretFact(*key, kind, {name: text.encode() for name, text in data.items()}, {}, _NOWHERE)


def _cluster_info() -> ConfigMapFact:
    authority = encode_base64(PEM.encode())
    config: Json = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "", "cluster": {"server": _SERVER, "certificate-authority-data": authority}}],
    }
    return ConfigMapFact(*CLUSTER_INFO, {"kubeconfig": json.dumps(config)}, _NOWHERE)
