"""Objects of a seed as far as boot configurations depend on them: everything that KKP does not require is optional."""

from __future__ import annotations

from typing import Any

import pytest

from osm_gitops.errors import Code
from osm_gitops.model.objects import Json, Manifest, ObjectRef, Origin
from osm_gitops.sources.kkp.records import (
    Cluster,
    ClusterState,
    RuntimeOptions,
    Seed,
    read_cluster,
    read_configuration,
    read_seed,
)
from tests.faults import placed

UP = dict.fromkeys(("apiserver", "controller", "etcd", "scheduler"), "HealthStatusUp")
TOKEN = "abcdef.0123456789abcdef"


def manifest(kind: str, name: str, **body: Json) -> Manifest:
    metadata = {"name": name, **body.pop("metadata", {})}
    return Manifest(ObjectRef(kind, "", name), {"kind": kind, "metadata": metadata, **body}, Origin("seed"), {})


def cluster(**body: Json) -> Cluster:
    found = read_cluster(manifest("Cluster", "abc", **body))
    assert found.value is not None, found.problems
    return found.value


def test_a_cluster_without_optional_fields_has_the_defaults_of_kkp() -> None:
    found = cluster()
    assert found == Cluster(id="abc", where="seed")
    assert found.node_local_dns
    assert found.runtime is None
    assert found.state is ClusterState.UNINITIALIZED


def test_all_fields_that_matter_are_read_and_others_pass() -> None:
    found = cluster(
        metadata={
            "labels": {"project-id": "p1", "worker-name": "w"},
            "annotations": {"csi-migration.k8c.io/migration-needed": ""},
        },
        spec={
            "humanReadableName": "Prod EU",
            "version": "1.34.2",
            "cloud": {"dc": "dc-1", "providerName": "from-the-future", "future": {}},
            "clusterNetwork": {
                "services": {"cidrBlocks": ["10.240.16.0/20"]},
                "nodeLocalDNSCacheEnabled": False,
                "ipFamily": "IPv7",
            },
            "containerRuntime": "containerd",
            "containerRuntimeOpts": {
                "insecureRegistries": ["a"],
                "registryMirrors": ["b"],
                "pauseImage": "c",
                "containerdRegistryMirrors": {"registries": {"docker.io": {"mirrors": ["x", "y"]}}},
                "enableNonRootDeviceOwnership": True,
            },
            "features": {"externalCloudProvider": True, "other": False},
            "imagePullSecret": {"name": "pull", "namespace": "kube-system"},
            "componentsOverride": {
                "operatingSystemManager": {"replicas": 0, "proxy": {"httpProxy": "http://p", "noProxy": "n"}}
            },
            "pause": True,
            "pauseReason": "moving",
        },
        status={
            "namespaceName": "cluster-abc",
            "address": {"url": "https://abc.example.com:6443", "adminToken": TOKEN},
            "extendedHealth": UP | {"newThing": "HealthStatusUnheardOf"},
            "conditions": {"ClusterInitialized": {"status": "True", "reason": "x"}},
            "phase": "Sleeping",
        },
    )
    assert found == Cluster(
        id="abc",
        human_name="Prod EU",
        labels={"project-id": "p1", "worker-name": "w"},
        annotations=frozenset({"csi-migration.k8c.io/migration-needed"}),
        version="1.34.2",
        datacenter="dc-1",
        provider="from-the-future",
        services=("10.240.16.0/20",),
        node_local_dns=False,
        container_runtime="containerd",
        runtime=RuntimeOptions(
            insecure_registries=("a",),
            registry_mirrors=("b",),
            pause_image="c",
            mirrors={"docker.io": ("x", "y")},
            device_ownership=True,
        ),
        external_cloud_provider=True,
        image_pull_secret=("kube-system", "pull"),
        http_proxy="http://p",
        no_proxy="n",
        osm_replicas=0,
        paused=True,
        pause_reason="moving",
        namespace="cluster-abc",
        url="https://abc.example.com:6443",
        phase="Sleeping",
        health=UP | {"newThing": "HealthStatusUnheardOf"},
        conditions={"ClusterInitialized": "True"},
        where="seed",
    )
    assert (found.project, found.worker_name) == ("p1", "w")
    assert TOKEN not in repr(found)


def test_empty_runtime_options_differ_from_none() -> None:
    assert cluster(spec={"containerRuntimeOpts": {}}).runtime == RuntimeOptions()
    assert cluster(spec={"containerRuntimeOpts": None}).runtime is None


def test_fields_of_another_type_are_all_named() -> None:
    found = read_cluster(
        manifest("Cluster", "abc", spec={"pause": "yes", "containerRuntimeOpts": {"registryMirrors": [1]}})
    )
    assert found.value is None
    assert placed(found.problems) == [
        (Code.WRONG_TYPE, "seed: Cluster abc: spec.containerRuntimeOpts.registryMirrors[0]"),
        (Code.WRONG_TYPE, "seed: Cluster abc: spec.pause"),
    ]


DELETED = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
INITIALIZED = {"ClusterInitialized": {"status": "True"}}
THERE = {"namespaceName": "cluster-abc", "extendedHealth": UP, "conditions": INITIALIZED}


@pytest.mark.parametrize(
    ("body", "state"),
    [
        ({"status": {"phase": "Creating"}}, ClusterState.UNINITIALIZED),
        ({"status": {"namespaceName": "cluster-abc", "phase": "Creating"}}, ClusterState.UNINITIALIZED),
        ({"status": THERE | {"extendedHealth": UP | {"etcd": "HealthStatusDown"}}}, ClusterState.UNHEALTHY),
        ({"status": THERE | {"extendedHealth": UP | {"scheduler": "New"}}}, ClusterState.UNHEALTHY),
        ({"status": THERE | {"extendedHealth": {}}}, ClusterState.UNHEALTHY),
        ({"status": THERE | {"phase": "Updating"}}, ClusterState.READY),
        (
            {"status": THERE | {"extendedHealth": UP | {"operatingSystemManager": "HealthStatusDown"}}},
            ClusterState.READY,
        ),
        ({"status": THERE, "spec": {"pause": True}}, ClusterState.PAUSED),
        ({"status": THERE, "metadata": DELETED}, ClusterState.DELETING),
        ({"status": THERE, "metadata": DELETED, "spec": {"pause": True}}, ClusterState.DELETING),
        ({"status": THERE | {"extendedHealth": {}}, "metadata": DELETED}, ClusterState.GONE),
        ({"status": THERE | {"namespaceName": ""}, "metadata": DELETED}, ClusterState.GONE),
    ],
)
def test_the_state_follows_from_health_and_deletion_and_not_from_the_phase(
    body: dict[str, Any], state: ClusterState
) -> None:
    assert cluster(**body).state is state


def test_what_is_not_up_is_named_with_its_status() -> None:
    found = cluster(status={"extendedHealth": UP | {"etcd": "HealthStatusDown", "apiserver": None}})
    assert found.unhealthy_parts() == ("apiserver unknown", "etcd Down")


def seed(**spec: Json) -> Seed:
    found = read_seed(manifest("Seed", "kubermatic", spec=spec))
    assert found.value is not None, found.problems
    return found.value


def test_the_proxy_of_a_seed_is_the_default_of_each_datacenter_and_each_key_on_its_own() -> None:
    found = seed(
        proxySettings={"httpProxy": "http://seed", "noProxy": "seed"},
        datacenters={
            "none": {},
            "empty": {"node": {"httpProxy": "", "noProxy": "own"}},
            "own": {"node": {"httpProxy": "http://own"}},
        },
    )
    assert {name: (each.http_proxy, each.no_proxy) for name, each in found.datacenters.items()} == {
        "none": ("http://seed", "seed"),
        "empty": ("http://seed", "own"),
        "own": ("http://own", "seed"),
    }


def test_a_datacenter_has_its_options_profiles_and_addresses() -> None:
    (found,) = seed(
        datacenters={
            "dc-1": {
                "country": "DE",
                "node": {"pauseImage": "p", "containerdRegistryMirrors": {"registries": {"r": {"mirrors": ["m"]}}}},
                "spec": {
                    "operatingSystemProfiles": {"ubuntu": "osp-ours"},
                    "openstack": {"authURL": "https://os"},
                    "vsphere": {"endpoint": "https://vs"},
                },
            }
        }
    ).datacenters.values()
    assert found.runtime == RuntimeOptions(pause_image="p", mirrors={"r": ("m",)})
    assert found.profiles == {"ubuntu": "osp-ours"}
    assert (found.openstack_auth_url, found.vsphere_endpoint) == ("https://os", "https://vs")


def test_defaults_of_a_seed_that_would_switch_operating_system_manager_are_read() -> None:
    found = seed(
        defaultComponentSettings={"operatingSystemManager": {"replicas": 0}}, defaultClusterTemplate="template"
    )
    assert (found.osm_replicas, found.default_template) == (0, "template")
    assert (seed().osm_replicas, seed().default_template) == (None, "")


def test_a_configuration_has_what_concerns_operating_system_manager() -> None:
    body = {
        "featureGates": {"DynamicResourceAllocation": True, "Other": False},
        "userCluster": {"operatingSystemManager": {"disableDefaultOperatingSystemProfiles": True}},
    }
    found = read_configuration(manifest("KubermaticConfiguration", "kkp", spec=body)).value
    assert found is not None
    assert found.disable_default_profiles
    assert found.feature_gates == {"DynamicResourceAllocation": True, "Other": False}
    bare = read_configuration(manifest("KubermaticConfiguration", "kkp")).value
    assert bare is not None
    assert not bare.disable_default_profiles
