"""Random template data: what cluster settings and a MachineDeployment may put before a template."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import Any, TypeVar

from osm_gitops.model.machine import KubeletOptions, Network, OsSpec
from osm_gitops.model.settings import Settings
from osm_gitops.render.data import ClusterData, PoolData, cluster_fields, root_fields

T = TypeVar("T")

_VERSIONS = ("v1.34.2", "v1.30.0", "v1.29.0-rc.1", "v1.30.5+k3s1", "v1.9.11", "v2.0.0")
_TEXTS = (
    "",
    "a",
    "http://proxy:3128",
    "a b,c",
    "x=y:NoSchedule",
    "é😀",
    "line\nline\n",
    '"q" <&> \'',
    "{{ .Raw }}",
    "0644",
)
_FAMILIES = ("", "IPv4", "IPv6", "IPv4+IPv6", "IPv6+IPv4", "other")
_ADDRESSES = ("10.10.10.10", "10.96.0.10", "fd00::a", "::1", "1:2:3:4:5:6:7:0", "255.255.255.255")
_PROVIDERS = ("aws", "azure", "gce", "hetzner", "openstack", "vsphere", "kubevirt", "edge", "")
_SYSTEMS = ("amzn2", "ubuntu", "rockylinux", "flatcar", "rhel")
_NAMES = ("cpu", "memory", "memory.available", "nodefs.available", "imagefs.inodesFree", "", "a b", "é")
_AMOUNTS = ("100m", "1Gi", "5%", "", "<", "0", "true")
_SECOND = 1_000_000_000


def random_data(random: Random) -> Mapping[str, Any]:
    """All fields of the root; pointers are nil about half of the time."""
    cluster = ClusterData(
        settings=_settings(random),
        ca_certificate=random.choice(("", "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n")),
        container_runtime_config='version = 3\n\n[metrics]\naddress = "127.0.0.1:1338"\n',
        getter_token="getter-token",
        server_url=random.choice(("https://foo.bar:6443", "https://[fd00::1]:6443", "")),
    )
    network = Network(
        cidr=random.choice(("", "192.168.1.10/24")),
        gateway=random.choice(("", "192.168.1.1")),
        dns_servers=_some(random, _ADDRESSES),
        ip_family=random.choice(_FAMILIES),
    )
    pool = PoolData(
        kube_version=random.choice(_VERSIONS),
        os=random.choice(_SYSTEMS),
        provider=random.choice(_PROVIDERS),
        in_tree_provider=random.random() < 0.5,
        cloud_config=random.choice(("", '[global]\nZone="a\\"b"\n', '{"cloud":"AZUREPUBLICCLOUD"}')),
        network=random.choice((None, network)),
        kubelet=_kubelet(random),
        os_spec=_os_spec(random),
        secret_name="md-kube-system-provisioning-config",
        kubelet_kubeconfig_name="kube-system-md-kubelet-bootstrap-config",
        bootstrap_kubeconfig="apiVersion: v1\nkind: Config\nusers:\n- name: c\n  user:\n    token: t.u\n",
    )
    return root_fields(cluster_fields(cluster), pool)


def _some(random: Random, items: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(random.sample(items, random.randrange(3)))


def _settings(random: Random) -> Settings:
    return Settings(
        cluster_dns=_some(random, _ADDRESSES) or _ADDRESSES[:1],
        external_cloud_provider=random.random() < 0.5,
        initial_taints=random.choice(_TEXTS),
        http_proxy=random.choice(_TEXTS),
        no_proxy=random.choice(_TEXTS),
        feature_gates={name: random.random() < 0.5 for name in _some(random, ("A", "b", "Gate", "RotateX"))},
        pause_image=random.choice(("", "registry.example.com/pause:3.10")),
        host_ca_bundle=random.choice(("", "CA\n")),
    )


def _perhaps(random: Random, make: Callable[[], T]) -> T | None:
    return make() if random.random() < 0.5 else None


def _kubelet(random: Random) -> KubeletOptions:
    def table() -> dict[str, str]:
        return {name: random.choice(_AMOUNTS) for name in random.sample(_NAMES, random.randrange(4))}

    def number() -> int:
        return random.choice((0, 1, -7, 110, 2**31 - 1, -(2**31)))

    def age() -> int:
        return random.choice((0, 90 * 60, 1, 86_400, -3)) * _SECOND + random.choice((0, 0, 500_000_000, 1))

    def text() -> str:
        return random.choice(("", "50Mi", "5", "a b"))

    return KubeletOptions(
        eviction_hard=_perhaps(random, table),
        kube_reserved=_perhaps(random, table),
        system_reserved=_perhaps(random, table),
        max_pods=_perhaps(random, number),
        image_gc_high_threshold_percent=_perhaps(random, number),
        image_gc_low_threshold_percent=_perhaps(random, number),
        container_log_max_size=_perhaps(random, text),
        container_log_max_files=_perhaps(random, text),
        image_minimum_gc_age=_perhaps(random, age),
        image_maximum_gc_age=_perhaps(random, age),
    )


def _os_spec(random: Random) -> OsSpec:
    def flag() -> bool:
        return random.random() < 0.5

    return OsSpec(
        dist_upgrade_on_boot=flag(),
        disable_auto_update=flag(),
        disable_locksmith_d=flag(),
        disable_update_engine=flag(),
        provisioning_utility=random.choice(("", "ignition", "cloud-init")),
        rhel_subscription_manager_user=random.choice(_TEXTS),
        rhel_organization_name=random.choice(_TEXTS),
        attach_subscription=flag(),
        rhel_use_satellite_server=flag(),
    )
