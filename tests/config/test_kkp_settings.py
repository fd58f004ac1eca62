"""The settings that KKP gives to Operating System Manager: every flag, with the precedence that KKP has for it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import pytest

from osm_gitops.config.kkp_settings import (
    NODE_LOCAL_DNS,
    SettingDifference,
    kkp_settings,
    setting_differences,
    settings_in_arguments,
)
from osm_gitops.config.settings import RawSetting, parse_settings
from osm_gitops.errors import Code
from osm_gitops.model.objects import Json
from osm_gitops.model.settings import Settings
from osm_gitops.sources.kkp.records import Cluster, Datacenter, KubermaticConfiguration, RuntimeOptions
from tests.faults import Expected, refused

ABC: Final = Cluster(id="abc", provider="openstack", where="seed")
PLAIN: Final = Datacenter(name="dc-1")
SHARED: Final = RuntimeOptions(
    insecure_registries=("dc-insecure",),
    registry_mirrors=("dc-mirror",),
    pause_image="dc-pause",
    mirrors={"docker.io": ("https://dc",)},
    device_ownership=True,
)
PROXIED: Final = replace(PLAIN, http_proxy="http://dc", no_proxy="dc")
CSI: Final = replace(
    ABC,
    version="1.29.4",
    annotations=frozenset({"csi-migration.k8c.io/migration-needed"}),
    conditions={"CSIKubeletMigrationCompleted": "True"},
)


def computed(
    cluster: Cluster = ABC,
    datacenter: Datacenter = PLAIN,
    configuration: KubermaticConfiguration = KubermaticConfiguration(name="kkp"),  # noqa: B008 - frozen
) -> dict[str, Json]:
    return {each.name: each.value for each in kkp_settings(cluster, datacenter, configuration)}


def with_runtime(**options: Any) -> Cluster:
    return replace(ABC, runtime=RuntimeOptions(**options))


def test_a_cluster_that_says_nothing_has_only_the_flags_that_kkp_always_sets() -> None:
    assert computed() == {"namespace": "kube-system", "cluster-dns": NODE_LOCAL_DNS}


DNS: Final = replace(ABC, node_local_dns=False)


@pytest.mark.parametrize(
    ("blocks", "address"),
    [
        (("10.240.16.0/20",), "10.240.16.10"),
        (("10.240.16.77/20",), "10.240.16.10"),
        (("10.0.0.250/32",), "10.0.0.4"),
        (("fd02::/108", "10.240.16.0/20"), "fd02::a"),
        (("10.240.16.0/20", "fd02::/108"), "10.240.16.10"),
    ],
)
def test_without_the_dns_cache_of_nodes_the_dns_service_has_the_last_byte_plus_ten(
    blocks: tuple[str, ...], address: str
) -> None:
    assert computed(replace(DNS, services=blocks))["cluster-dns"] == address


@pytest.mark.parametrize(
    ("blocks", "fault"),
    [
        ((), Expected(Code.MISSING_KEY, "seed", "Cluster abc", "cidrBlocks")),
        (("10.0.0/8",), Expected(Code.INVALID_VALUE, "seed", "Cluster abc", "cidrBlocks[0]", "10.0.0/8")),
    ],
)
def test_services_without_a_network_are_an_error_as_in_kkp(blocks: tuple[str, ...], fault: Expected) -> None:
    with refused(fault):
        computed(replace(DNS, services=blocks))


def test_the_container_runtime_is_passed_on() -> None:
    assert computed(replace(ABC, container_runtime="containerd"))["container-runtime"] == "containerd"
    assert "container-runtime" not in computed()


def test_the_cloud_provider_is_external_if_the_feature_says_so() -> None:
    assert computed(replace(ABC, external_cloud_provider=True))["external-cloud-provider"] is True
    assert "external-cloud-provider" not in computed()


@pytest.mark.parametrize(
    ("flag", "field", "own", "shared"),
    [
        ("node-insecure-registries", "insecure_registries", ["a", "b"], ["dc-insecure"]),
        ("node-registry-mirrors", "registry_mirrors", ["a", "b"], ["dc-mirror"]),
        ("pause-image", "pause_image", "own", "dc-pause"),
    ],
)
def test_a_value_of_the_cluster_replaces_that_of_the_datacenter_and_an_empty_one_does_not(
    flag: str, field: str, own: Json, shared: Json
) -> None:
    given = tuple(own) if isinstance(own, list) else own
    datacenter = replace(PLAIN, runtime=SHARED)
    assert computed(with_runtime(**{field: given}), datacenter)[flag] == own
    assert computed(with_runtime(**{field: type(given)()}), datacenter)[flag] == shared
    assert computed(ABC, datacenter)[flag] == shared
    assert computed(with_runtime(**{field: given}))[flag] == own
    assert flag not in computed(with_runtime())


@pytest.mark.parametrize(
    ("flag", "field", "own", "value", "shared"),
    [
        (
            "node-containerd-registry-mirrors",
            "mirrors",
            {"quay.io": ("https://q",), "docker.io": ("https://b", "https://a")},
            ["docker.io=https://b", "docker.io=https://a", "quay.io=https://q"],
            ["docker.io=https://dc"],
        ),
        ("device-ownership-from-security-context", "device_ownership", True, True, True),
    ],
)
def test_options_of_a_cluster_hide_those_of_the_datacenter_even_if_they_say_nothing(
    flag: str, field: str, own: Json, value: Json, shared: Json
) -> None:
    datacenter = replace(PLAIN, runtime=SHARED)
    assert computed(ABC, datacenter)[flag] == shared
    assert computed(with_runtime(**{field: own}), datacenter)[flag] == value
    assert flag not in computed(with_runtime(pause_image="own"), datacenter)
    assert flag not in computed(with_runtime(), datacenter)
    assert flag not in computed()


@pytest.mark.parametrize(
    ("flag", "field", "shared"), [("node-http-proxy", "http_proxy", "http://dc"), ("node-no-proxy", "no_proxy", "dc")]
)
def test_each_proxy_setting_of_the_cluster_wins_on_its_own(flag: str, field: str, shared: str) -> None:
    own, empty = ({field: value} for value in ("own", ""))
    assert computed(ABC, PROXIED)[flag] == shared
    assert computed(replace(ABC, **own), PROXIED)[flag] == "own"  # type: ignore[arg-type] # the field is a text
    assert computed(replace(ABC, **empty), PROXIED)[flag] == shared  # type: ignore[arg-type] # likewise
    assert flag not in computed()


@pytest.mark.parametrize(
    ("cluster", "gates"),
    [
        (CSI, "InTreePluginOpenStackUnregister=true"),
        (replace(CSI, provider="vsphere"), "InTreePluginvSphereUnregister=true"),
        (replace(CSI, provider="aws"), None),
        (replace(CSI, version="1.30.0"), None),
        (replace(CSI, annotations=frozenset()), None),
        (replace(CSI, conditions={}), None),
        (replace(CSI, conditions={"CSIKubeletMigrationCompleted": "False"}), None),
    ],
)
def test_gates_of_the_csi_migration_need_its_annotation_its_end_and_an_old_version(
    cluster: Cluster, gates: str | None
) -> None:
    assert computed(cluster).get("node-kubelet-feature-gates") == gates


def test_a_gate_of_kkp_itself_is_added() -> None:
    on = KubermaticConfiguration(name="kkp", feature_gates={"DynamicResourceAllocation": True})
    off = KubermaticConfiguration(name="kkp", feature_gates={"DynamicResourceAllocation": False, "Other": True})
    both = "InTreePluginOpenStackUnregister=true,DynamicResourceAllocation=true"
    assert computed(configuration=on)["node-kubelet-feature-gates"] == "DynamicResourceAllocation=true"
    assert computed(CSI, configuration=on)["node-kubelet-feature-gates"] == both
    assert "node-kubelet-feature-gates" not in computed(configuration=off)


def test_a_migrating_cluster_without_a_version_is_an_error() -> None:
    with refused(Expected(Code.INVALID_VALUE, "seed", "Cluster abc", "spec.version")):
        computed(replace(CSI, version="latest"))


def test_the_pull_secret_is_named_with_its_namespace() -> None:
    assert computed(replace(ABC, image_pull_secret=("ns", "pull")))["node-registry-credentials-secret"] == "ns/pull"
    assert computed(replace(ABC, image_pull_secret=("", "pull")))["node-registry-credentials-secret"] == "/pull"
    assert "node-registry-credentials-secret" not in computed()


def test_the_default_profiles_are_disabled_by_kkp() -> None:
    off = KubermaticConfiguration(name="kkp", disable_default_profiles=True)
    assert computed(configuration=off)["disable-default-osps"] is True
    assert "disable-default-osps" not in computed()


def test_each_setting_names_the_field_that_it_comes_from() -> None:
    cluster = replace(with_runtime(pause_image="own"), http_proxy="http://own", external_cloud_provider=True)
    found = kkp_settings(cluster, replace(PROXIED, runtime=SHARED), KubermaticConfiguration(name="kkp"))
    assert {each.name: each.where for each in found} == {
        "namespace": "KKP",
        "cluster-dns": "Cluster abc: spec.clusterNetwork.nodeLocalDNSCacheEnabled",
        "external-cloud-provider": "Cluster abc: spec.features.externalCloudProvider",
        "node-insecure-registries": "Seed: spec.datacenters.dc-1.node.insecureRegistries",
        "node-registry-mirrors": "Seed: spec.datacenters.dc-1.node.registryMirrors",
        "pause-image": "Cluster abc: spec.containerRuntimeOpts.pauseImage",
        "node-http-proxy": "Cluster abc: spec.componentsOverride.operatingSystemManager.proxy.httpProxy",
        "node-no-proxy": "Seed: spec.datacenters.dc-1.node.noProxy",
    }


ALL: Final = kkp_settings(
    replace(ABC, runtime=RuntimeOptions(mirrors={"r": ("https://a", "https://b"), "s": ("https://c",)})),
    replace(PROXIED, runtime=SHARED),
    KubermaticConfiguration(name="kkp", disable_default_profiles=True),
)
ARGUMENTS: Final = (
    *("-kubeconfig", "/etc/kubernetes/kubeconfig/kubeconfig", "-namespace", "kube-system"),
    *("-health-probe-address", "0.0.0.0:8085", "-metrics-address", "0.0.0.0:8080"),
    *("-node-containerd-registry-mirrors=s=https://c", "-node-containerd-registry-mirrors=r=https://a"),
    *("-node-containerd-registry-mirrors=r=https://b", "-cluster-dns", NODE_LOCAL_DNS, "-disable-default-osps"),
    *("-container-runtime", "containerd", "-node-http-proxy", "http://dc", "-node-no-proxy", "dc"),
    *("-node-insecure-registries", "dc-insecure", "-node-registry-mirrors", "dc-mirror", "-pause-image", "dc-pause"),
)


def test_the_same_settings_in_another_order_do_not_differ() -> None:
    assert setting_differences(ALL, settings_in_arguments(ARGUMENTS)) == ()
    assert parse_settings(settings_in_arguments(ARGUMENTS), lambda _: "") == parse_settings(ALL, lambda _: "")


def test_other_values_are_named_on_both_sides_without_passwords() -> None:
    actual = settings_in_arguments(
        (
            *("-cluster-dns", "10.0.0.10", "-node-http-proxy", "http://user:word@proxy", "-pause-image", "p"),
            *("-external-cloud-provider", "-node-kubelet-feature-gates", "X=true"),
        )
    )
    ours = (RawSetting("cluster-dns", NODE_LOCAL_DNS, "here"), RawSetting("pause-image", "p", "here"))
    assert setting_differences(ours, actual) == (
        SettingDifference("cluster-dns", NODE_LOCAL_DNS, "10.0.0.10", "here"),
        SettingDifference("external-cloud-provider", None, "true"),
        SettingDifference("node-http-proxy", None, "http://…@proxy"),
        SettingDifference("node-kubelet-feature-gates", None, "X=true"),
    )


def test_a_flag_with_its_default_is_none() -> None:
    assert setting_differences((), (RawSetting("container-runtime", "containerd", ""),)) == ()
    assert parse_settings([], lambda _: "") == Settings()


def test_an_invalid_value_differs_from_any_other() -> None:
    broken = RawSetting("container-runtime", "docker", "")
    assert setting_differences((broken,), (broken,)) == ()
    assert [each.flag for each in setting_differences((), (broken,))] == ["container-runtime"]
