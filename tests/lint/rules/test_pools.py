"""MachineDeployments that OSM renders and with which no node would join as intended, and those that are right."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Collection, Mapping
from typing import Any

import pytest

from osm_gitops.lint.rules.pools import pool_findings, skew_findings
from osm_gitops.model.finding import Finding
from osm_gitops.model.machine import KUBELET_CONFIG_PREFIX, PROVIDER_CONFIG_FIELD, MachineDeployment
from osm_gitops.model.objects import Manifest, ObjectRef, Origin

_GATES = {"RotateKubeletServerCertificate": True}
_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA me"
_KUBELET = "spec.template.spec.versions.kubelet"


def _machine(
    config: Mapping[str, Any] | None = None,
    annotations: Mapping[str, str] | None = None,
    kubelet: str = "1.36.1",
    name: str = "workers",
    **spec: Any,
) -> MachineDeployment:
    value = {"cloudProvider": "hetzner", "operatingSystem": "ubuntu", **(config or {})}
    template = spec.pop("template", {})
    body = {"spec": {"template": template, **spec}}
    return MachineDeployment(
        name=name,
        namespace="kube-system",
        annotations=dict(annotations or {}),
        kubelet=kubelet,
        provider_spec=value,
        template=template,
        deleting=False,
        manifest=Manifest(ObjectRef("MachineDeployment", "kube-system", name), body, Origin("pool.yaml", 1), {}),
    )


def _findings(machine: MachineDeployment, sealed: Collection[str] = ()) -> list[Finding]:
    return list(pool_findings(machine, _GATES, sealed))


def _told(machine: MachineDeployment) -> set[tuple[str, str]]:
    return {(each.id, each.field) for each in _findings(machine)}


def _option(name: str) -> str:
    return f"{KUBELET_CONFIG_PREFIX}/{name}"


# --- annotations ---

SOUND_ANNOTATIONS = {
    "KubeReserved": "cpu=200m,memory=300Mi,ephemeral-storage=1Gi",
    "SystemReserved": "cpu=0.2,pid=1000",
    "EvictionHard": "memory.available<100Mi,nodefs.available<10%,imagefs.inodesFree<5%",
    "MaxPods": "110",
    "ContainerLogMaxSize": "100Mi",
    "ContainerLogMaxFiles": "5",
    "ImageGCHighThresholdPercent": "90",
    "ImageGCLowThresholdPercent": "70",
    "ImageMinimumGCAge": "2m",
    "ImageMaximumGCAge": "24h",
}


def test_annotations_that_the_kubelet_takes_have_no_finding() -> None:
    every = {_option(name): text for name, text in SOUND_ANNOTATIONS.items()}
    assert _findings(_machine(annotations=every)) == []
    for name, text in every.items():
        assert _findings(_machine(annotations={name: text})) == [], name
    chosen = {"k8c.io/operating-system-profile": "a", "k8c.io/operating-system-profile-namespace": "b"}
    assert _findings(_machine(annotations=chosen)) == []
    assert _findings(_machine(annotations={"example.com/team": "kubelet people", "kubelet-team": "a"})) == []


@pytest.mark.parametrize(
    ("name", "text", "rule"),
    [
        ("KubeReserved", "cpu=200x", "kubelet-value"),
        ("KubeReserved", "cpus=200m", "kubelet-value"),
        ("KubeReserved", "cpu=200m, memory=1Gi", "kubelet-value"),
        ("KubeReserved", "cpu=-1", "kubelet-value"),
        ("KubeReserved", "cpu:200m", "pool-annotation"),
        ("KubeReserved", "cpu=200m,memory", "pool-annotation"),
        ("KubeReserved", "cpu=200m,cpu=300m", "pool-annotation"),
        ("SystemReserved", "memory=300MB", "kubelet-value"),
        ("SystemReserved", "disk=1Gi", "kubelet-value"),
        ("EvictionHard", "memory.available<100MB", "kubelet-value"),
        ("EvictionHard", "memory.available<110%", "kubelet-value"),
        ("EvictionHard", "memory.free<100Mi", "kubelet-value"),
        ("EvictionHard", "memory.available=100Mi", "pool-annotation"),
        ("EvictionHard", "memory.available<=100Mi", "kubelet-value"),
        ("KubeReserved", "memory=512", "kubelet-amount"),
        ("SystemReserved", "memory=512m", "kubelet-amount"),
        ("EvictionHard", "memory.available<100", "kubelet-amount"),
        ("MaxPods", "-1", "kubelet-type"),
        ("MaxPods", "0", "kubelet-amount"),
        ("MaxPods", "11000", "kubelet-amount"),
        ("ContainerLogMaxSize", "100MB", "kubelet-value"),
        ("ContainerLogMaxSize", "big", "kubelet-value"),
        ("ContainerLogMaxFiles", "five", "kubelet-type"),
        ("ContainerLogMaxFiles", "1", "kubelet-type"),
        ("ImageGCHighThresholdPercent", "180", "kubelet-type"),
        ("ImageGCHighThresholdPercent", "70", "kubelet-value"),
        ("ImageGCLowThresholdPercent", "90", "kubelet-value"),
        ("ImageMaximumGCAge", "1m", "kubelet-value"),
        ("ImageMinimumGCAge", "-2m", "kubelet-value"),
    ],
    ids=str,
)
def test_a_value_that_the_kubelet_refuses_is_told_at_its_annotation(name: str, text: str, rule: str) -> None:
    assert _told(_machine(annotations={_option(name): text})) == {(rule, f"metadata.annotations.{_option(name)}")}


@pytest.mark.parametrize(
    "annotation",
    [
        _option("maxPods"),
        _option("MaxPod"),
        _option("EvictionSoft"),
        KUBELET_CONFIG_PREFIX,
        "v1.kubelet-config.machine-controler.kubermatic.io/MaxPods",
        "v1.kubelet-config.machine-controller.kubermatic.com/MaxPods",
        "v2.kubelet-config.machine-controller.kubermatic.io/MaxPods",
        "kubelet-config.machine-controller.kubermatic.io/MaxPods",
        "v1.kubelet-flags.machine-controller.kubermatic.io/MaxPods",
        "v1.kubelet-featuregates.machine-controller.kubermatic.io/NodeSwap",
        "kubelet.k8c.io/MaxPods",
        "k8c.io/operatingsystem-profile",
        "k8c.io/operating-system-profiles",
        "k8c.io/operating-system-profile-ns",
    ],
)
def test_an_annotation_for_the_kubelet_that_osm_ignores_is_told(annotation: str) -> None:
    assert _told(_machine(annotations={annotation: "110"})) == {
        ("pool-annotation", f"metadata.annotations.{annotation}")
    }


def test_an_annotation_for_the_kubelet_in_the_template_is_told() -> None:
    template = {"metadata": {"annotations": {_option("MaxPods"): "110"}}}
    assert _told(_machine(template=template)) == {("pool-annotation", "spec.template")}


def test_very_long_annotations_are_checked_too() -> None:
    long = {f"kubelet-{'a' * 100_000}": "1", _option("KubeReserved"): "cpu=1," * 50_000}
    assert ("pool-annotation", f"metadata.annotations.{_option('KubeReserved')}") in _told(_machine(annotations=long))


# --- the kubelet's version ---


@pytest.mark.parametrize("version", ["1.28.15", "1.31.14", "1.34", "v1.36.1", "1.37.2", "1.36.9"])
def test_a_version_that_is_or_may_be_released_has_no_finding(version: str) -> None:
    assert _findings(_machine(kubelet=version)) == []


@pytest.mark.parametrize(
    "version",
    ["1.99.0", "2.0.0", "1.31.99", "1.31.15", "1.36.99", "1.18.2", "1.36.1-rc.1", "1.34.2+k3s1", "1.33.4-gke.100"],
)
def test_a_version_without_a_release_is_told(version: str) -> None:
    assert _told(_machine(kubelet=version)) == {("kubelet-version", _KUBELET)}


def test_pools_that_no_api_server_supports_together_are_told() -> None:
    pools = [_machine(kubelet=version, name=version) for version in ("1.32.1", "1.33.1", "1.36.1")]
    assert [(each.id, each.about) for each in skew_findings(pools)] == [
        ("kubelet-skew", "MachineDeployment kube-system/1.32.1")
    ]
    assert list(skew_findings(pools[1:])) == []


# --- SSH keys, labels, taints ---


_BODY = _KEY.split()[1]


@pytest.mark.parametrize(
    "key",
    [
        _BODY,
        f"{_BODY} ssh-ed25519 me",
        f"ssh-rsa {_BODY} me",
        "ssh-ed25519 not-base64!! me",
        "ssh-rsa AAAA",
        f"ssh-ed25519 {_BODY[:36]} me",
        f"ssh-ed25519 {_BODY[:40]} me",
        f"ssh-ed25519 {_BODY[:64]} me",
        f"ssh-ed25519 {_BODY[:67]} me",
        "~/.ssh/id_ed25519.pub",
        "-----BEGIN OPENSSH PRIVATE KEY-----",
        f"ssh-ed25519 {_BODY[:20]}\n{_BODY[20:]} me",
        f"ssh-ed25519 {_BODY} o'brien",
        f"ssh-ed25519{_BODY} me",
    ],
)
def test_an_ssh_key_that_sshd_ignores_is_told_at_its_entry(key: str) -> None:
    told = _told(_machine({"sshPublicKeys": [_KEY, key, ""]}))
    assert told == {("ssh-key", f"{PROVIDER_CONFIG_FIELD}.sshPublicKeys[1]")}


def test_ssh_keys_of_each_type_have_no_finding() -> None:
    names = ("ssh-rsa", "ssh-ed25519", "ecdsa-sha2-nistp256", "sk-ssh-ed25519@openssh.com")
    bodies = [b64encode(len(name).to_bytes(4) + name.encode() + bytes(40)).decode() for name in names]
    keys = [f"{name} {body} me@example.com" for name, body in zip(names, bodies, strict=True)]
    assert _findings(_machine({"sshPublicKeys": [*keys, f'no-pty,command="a" {keys[0]}', f" {keys[1]}\n"]})) == []


def test_what_was_encrypted_is_not_looked_at() -> None:
    config = {"sshPublicKeys": ["a-placeholder"], "cloudProviderSpec": {"image": 5, "networks": ["x"]}}
    assert _findings(_machine(config), {"a-placeholder"}) == []


_LABELS = {"name": "workers"}


def _labelled(selector: Mapping[str, Any], labels: Mapping[str, Any]) -> MachineDeployment:
    return _machine(selector={"matchLabels": selector}, template={"metadata": {"labels": labels}})


def test_labels_that_match_have_no_finding() -> None:
    assert _findings(_labelled(_LABELS, {**_LABELS, "example.com/a": ""})) == []


@pytest.mark.parametrize(
    ("selector", "labels", "field"),
    [
        (_LABELS, {"name": "other"}, "spec.selector.matchLabels.name"),
        (_LABELS, {}, "spec.selector.matchLabels.name"),
        ({}, {"a": True}, "spec.template.metadata.labels.a"),
        ({}, {"a": "b c"}, "spec.template.metadata.labels.a"),
        ({}, {"a b": "c"}, "spec.template.metadata.labels.a b"),
    ],
    ids=["another value", "none", "a boolean", "a blank", "a blank in a key"],
)
def test_labels_that_api_servers_refuse_or_that_do_not_match_are_told(
    selector: Mapping[str, Any], labels: Mapping[str, Any], field: str
) -> None:
    assert _told(_labelled(selector, labels)) == {("pool-label", field)}


@pytest.mark.parametrize(
    ("taint", "field"),
    [
        ({"key": "a", "value": "b", "effect": "NoSchedule"}, None),
        ({"key": "example.com/a", "effect": "NoExecute"}, None),
        ({"key": "a", "value": "b", "effect": "noSchedule"}, "effect"),
        ({"key": "a", "value": "b"}, "effect"),
        ({"key": "a b", "effect": "NoSchedule"}, "key"),
        ({"key": "a", "value": True, "effect": "NoSchedule"}, "value"),
        ({"key": "a", "valeu": "b", "effect": "NoSchedule"}, "valeu"),
    ],
    ids=str,
)
def test_a_taint_that_api_servers_refuse_is_told(taint: Mapping[str, Any], field: str | None) -> None:
    told = _told(_machine(template={"spec": {"taints": [taint]}}))
    assert told == ({("taint", f"spec.template.spec.taints[0].{field}")} if field else set())


# --- the shape ---

_NEVER = {"maxSurge": 0, "maxUnavailable": "0%"}
_STRATEGY = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": "25%"}}


def test_a_machine_deployment_of_the_usual_shape_has_no_finding() -> None:
    inner = {"versions": {"kubelet": "1.36.1"}, "providerSpec": {"value": {}}, "taints": []}
    template = {"metadata": {}, "spec": inner}
    machine = _machine(template=template, replicas=3, paused=False, strategy=_STRATEGY, selector={})
    assert _findings(machine) == []


@pytest.mark.parametrize(
    ("spec", "rule", "field"),
    [
        ({"replica": 3}, "pool-key", "spec.replica"),
        ({"template": {"spec": {"taint": []}}}, "pool-key", "spec.template.spec.taint"),
        ({"template": {"spec": {"version": {}}}}, "pool-key", "spec.template.spec.version"),
        ({"replicas": "3"}, "pool-type", "spec.replicas"),
        ({"replicas": -1}, "pool-type", "spec.replicas"),
        ({"replicas": 1.5}, "pool-type", "spec.replicas"),
        ({"paused": "yes"}, "pool-type", "spec.paused"),
        ({"strategy": {"type": "Recreate"}}, "pool-type", "spec.strategy.type"),
        ({"strategy": {"rollingUpdate": {"maxSurge": "one"}}}, "pool-type", "spec.strategy.rollingUpdate.maxSurge"),
        (
            {"strategy": {"rollingUpdate": _NEVER}},
            "pool-type",
            "spec.strategy.rollingUpdate",
        ),
        ({"template": {"spec": {"taints": {"key": "a"}}}}, "pool-type", "spec.template.spec.taints"),
    ],
    ids=str,
)
def test_what_machine_controller_refuses_or_an_api_server_drops_is_told(
    spec: Mapping[str, Any], rule: str, field: str
) -> None:
    assert _told(_machine(**spec)) == {(rule, field)}


# --- operatingSystemSpec ---


@pytest.mark.parametrize(
    ("os", "spec"),
    [
        ("ubuntu", {"distUpgradeOnBoot": True}),
        ("ubuntu", {"DISTUPGRADEONBOOT": True}),
        ("ubuntu", None),
        ("flatcar", {"disableAutoUpdate": True, "disableLocksmithD": True, "provisioningUtility": "ignition"}),
        (
            "rhel",
            {"rhelSubscriptionManagerUser": "a", "rhelSubscriptionManagerPassword": "b", "attachSubscription": True},
        ),
        ("rhel", {"rhsmOfflineToken": "a"}),
        (
            "rhel",
            {
                "rhelUseSatelliteServer": True,
                "rhelSatelliteServer": "satellite.example.com",
                "rhelOrganizationName": "a",
                "rhelActivationKey": "b",
            },
        ),
    ],
    ids=str,
)
def test_an_operating_system_spec_that_works_has_no_finding(os: str, spec: Any) -> None:
    assert _findings(_machine({"operatingSystem": os, "operatingSystemSpec": spec})) == []


_SATELLITE = {"rhelUseSatelliteServer": True, "rhelOrganizationName": "a", "rhelActivationKey": "b"}


@pytest.mark.parametrize(
    ("os", "spec", "rule", "key"),
    [
        ("ubuntu", {"distUpgradeOnBot": True}, "os-spec-key", ".distUpgradeOnBot"),
        ("ubuntu", {"disableAutoUpdate": True}, "os-spec-key", ".disableAutoUpdate"),
        ("flatcar", {"distUpgradeOnBoot": True}, "os-spec-key", ".distUpgradeOnBoot"),
        ("flatcar", {"provisioningUtilty": "cloud-init"}, "os-spec-key", ".provisioningUtilty"),
        ("rockylinux", {"attachSubscription": True}, "os-spec-key", ".attachSubscription"),
        ("rhel", {"rhelSubscriptionManagerUser": "a"}, "os-spec-value", ".rhelSubscriptionManagerUser"),
        ("rhel", {"attachSubscription": True}, "os-spec-value", ".attachSubscription"),
        ("rhel", {"rhelSatelliteServer": "satellite.example.com"}, "os-spec-key", ".rhelSatelliteServer"),
        ("rhel", _SATELLITE, "os-spec-value", ""),
        (
            "rhel",
            {**_SATELLITE, "rhelSatelliteServer": "https://s.example.com"},
            "os-spec-value",
            ".rhelSatelliteServer",
        ),
    ],
    ids=str,
)
def test_an_operating_system_spec_without_effect_is_told(os: str, spec: Any, rule: str, key: str) -> None:
    field = f"{PROVIDER_CONFIG_FIELD}.operatingSystemSpec{key}"
    assert _told(_machine({"operatingSystem": os, "operatingSystemSpec": spec})) == {(rule, field)}


# --- cloudProviderSpec ---

_REFERENCE = {"secretKeyRef": {"namespace": "a", "name": "b", "key": "c"}}
SOUND_SPECS: dict[str, Mapping[str, Any]] = {
    "alibaba": {"regionID": "eu-central-1", "diskSize": "40", "instanceType": "ecs.t1.xsmall"},
    "anexia": {"locationID": "a", "cpus": 2, "memory": 2048, "disks": [{"size": 20, "performanceType": "ENT6"}]},
    "aws": {
        "accessKeyId": _REFERENCE,
        "region": "eu-central-1",
        "availabilityZone": "eu-central-1a",
        "vpcId": "vpc-0123456789abcdef0",
        "subnetId": "subnet-01234567",
        "securityGroupIDs": ["sg-01234567"],
        "instanceType": "m7i.2xlarge",
        "diskSize": 50,
        "diskType": "gp3",
        "ami": "",
        "ebsVolumeEncrypted": True,
        "tags": {"a": "b"},
        "spotInstanceConfig": {"maxPrice": "0.1"},
    },
    "azure": {"location": "westeurope", "zones": ["1"], "imageReference": {"sku": "a"}, "tags": {}},
    "baremetal": {"driver": "tinkerbell", "driverSpec": {"anything": 1}},
    "digitalocean": {"region": "fra1", "size": "s-2vcpu-4gb", "private_networking": True, "tags": ["a"]},
    "edge": {"anything": True},
    "gce": {"zone": "europe-west3-a", "machineType": "n1-standard-2", "diskSize": 25.0, "tags": ["a"]},
    "hetzner": {"serverType": "cx22", "location": "fsn1", "networks": [1234, "a"], "LABELS": {"a": "b"}},
    "kubevirt": {
        "auth": {"kubeconfig": {"value": "a"}},
        "virtualMachine": {"template": {"cpus": "2", "memory": "2Gi", "primaryDisk": {"size": "10Gi", "osImage": "a"}}},
        "affinity": {"nodeAffinityPreset": {"type": "hard", "values": ["a"]}},
        "topologySpreadConstraints": [{"maxSkew": "1"}],
    },
    "linode": {"region": "eu-west", "type": "g6-standard-2"},
    "nutanix": {"endpoint": "prism.example.com", "port": "9440", "cpus": 2, "memoryMB": 4096, "imageName": "a"},
    "opennebula": {"cpu": 0.5, "vcpu": 1, "memory": 1024, "endpoint": "https://one.example.com/RPC2"},
    "openstack": {"identityEndpoint": "https://keystone.example.com:5000/v3", "flavor": "m1", "securityGroups": ["a"]},
    "scaleway": {"zone": "fr-par-1", "commercialType": "DEV1-M", "ipv6": False},
    "vmware-cloud-director": {"url": "https://vcd.example.com/api", "cpus": 2, "ipAllocationMode": "DHCP"},
    "vsphere": {"vsphereURL": "vcenter.example.com", "cpus": 2, "memoryMB": 4096, "tags": [{"name": "a"}]},
}


@pytest.mark.parametrize("provider", SOUND_SPECS)
def test_a_cloud_provider_spec_that_machine_controller_takes_has_no_finding(provider: str) -> None:
    config = {"cloudProvider": provider, "cloudProviderSpec": SOUND_SPECS[provider]}
    assert _findings(_machine(config)) == []


@pytest.mark.parametrize("provider", [each for each in SOUND_SPECS if each != "edge"])
def test_a_misspelt_key_of_each_provider_is_told(provider: str) -> None:
    key, value = next(iter(SOUND_SPECS[provider].items()))
    config = {"cloudProvider": provider, "cloudProviderSpec": {f"{key}x": value}}
    field = f"{PROVIDER_CONFIG_FIELD}.cloudProviderSpec.{key}x"
    assert _told(_machine(config)) == {("cloud-spec-key", field)}


@pytest.mark.parametrize(
    ("provider", "spec", "rule", "key"),
    [
        ("hetzner", {"flavor": "a"}, "cloud-spec-unknown-key", "flavor"),
        ("hetzner", {"networks": "a"}, "cloud-spec-type", "networks"),
        ("hetzner", {"networks": [{"secretRef": {}}]}, "cloud-spec-key", "networks[0].secretRef"),
        ("hetzner", {"location": "fsn1", "datacenter": "fsn1-dc14"}, "cloud-spec-value", "location"),
        ("hetzner", {"labels": {"a": True}}, "cloud-spec-type", "labels.a"),
        ("hetzner", {"token": {"secretKeyRf": {}}}, "cloud-spec-key", "token.secretKeyRf"),
        ("aws", {"diskSize": "50"}, "cloud-spec-type", "diskSize"),
        ("aws", {"diskSize": 0}, "cloud-spec-value", "diskSize"),
        ("aws", {"ebsVolumeEncrypted": "true"}, "cloud-spec-type", "ebsVolumeEncrypted"),
        ("aws", {"region": "eu-central-1", "availabilityZone": "eu-west-1a"}, "cloud-spec-value", "availabilityZone"),
        ("aws", {"region": "eu-central-1a"}, "cloud-spec-value", "region"),
        ("aws", {"ami": "ubuntu-24.04"}, "cloud-spec-value", "ami"),
        ("aws", {"vpcId": "subnet-01234567"}, "cloud-spec-value", "vpcId"),
        ("aws", {"diskType": "ssd"}, "cloud-spec-value", "diskType"),
        ("aws", {"securityGroupIDs": "sg-01234567"}, "cloud-spec-type", "securityGroupIDs"),
        ("aws", {"spotInstanceConfig": {"maxPrise": "1"}}, "cloud-spec-key", "spotInstanceConfig.maxPrise"),
        ("azure", {"zones": [1]}, "cloud-spec-type", "zones[0]"),
        ("azure", {"imageReference": "a"}, "cloud-spec-type", "imageReference"),
        ("gce", {"zone": "europe-west3"}, "cloud-spec-value", "zone"),
        ("openstack", {"identityEndpoint": "keystone.example.com:5000"}, "cloud-spec-value", "identityEndpoint"),
        ("openstack", {"instanceReadyCheckPeriod": "5"}, "cloud-spec-value", "instanceReadyCheckPeriod"),
        ("nutanix", {"endpoint": "https://prism.example.com"}, "cloud-spec-value", "endpoint"),
        ("vsphere", {"cpus": -1}, "cloud-spec-value", "cpus"),
        ("vsphere", {"tags": {"name": "a"}}, "cloud-spec-type", "tags"),
        ("kubevirt", {"virtualMachine": {"template": {"cpu": "2"}}}, "cloud-spec-key", "virtualMachine.template.cpu"),
    ],
    ids=str,
)  # fmt: skip
def test_a_cloud_provider_spec_that_machine_controller_refuses_is_told(
    provider: str, spec: Mapping[str, Any], rule: str, key: str
) -> None:
    field = f"{PROVIDER_CONFIG_FIELD}.cloudProviderSpec.{key}"
    assert _told(_machine({"cloudProvider": provider, "cloudProviderSpec": spec})) == {(rule, field)}


def test_variables_that_another_tool_replaces_are_not_looked_at() -> None:
    spec = {"region": "${REGION}", "availabilityZone": "eu-central-1a", "ami": "${AMI}", "vpcId": "${VPC}"}
    assert _findings(_machine({"cloudProvider": "aws", "cloudProviderSpec": spec})) == []


# --- network ---

_STATIC = {"cidr": "192.0.2.10/24", "gateway": "192.0.2.1", "dns": {"servers": ["192.0.2.53"]}}


def _network(network: Mapping[str, Any], **spec: Any) -> MachineDeployment:
    return _machine({"operatingSystem": "flatcar", "network": network}, **spec)


@pytest.mark.parametrize(
    "network",
    [
        _STATIC,
        {**_STATIC, "ipFamily": "IPv4"},
        {"cidr": "2001:db8::10/64", "gateway": "fe80::1", "ipFamily": "IPv6"},
        {"cidr": "192.0.2.10/31", "gateway": "192.0.2.11"},
        {"dns": {"servers": ["192.0.2.53", "2001:db8::53"]}},
        {"ipFamily": "IPv6+IPv4"},
        {},
    ],
    ids=str,
)
def test_a_network_that_works_has_no_finding(network: Mapping[str, Any]) -> None:
    assert _findings(_network(network, replicas=1)) == []


@pytest.mark.parametrize(
    ("network", "key"),
    [
        ({**_STATIC, "gateway": "192.0.3.1"}, "gateway"),
        ({**_STATIC, "gateway": "192.0.2.10"}, "gateway"),
        ({**_STATIC, "gateway": "192.0.2.1/24"}, "gateway"),
        ({**_STATIC, "gateway": "2001:db8::1"}, "gateway"),
        ({"gateway": "192.0.2.1"}, "gateway"),
        ({**_STATIC, "cidr": "192.0.2.10"}, "cidr"),
        ({**_STATIC, "cidr": "192.0.2.10/33"}, "cidr"),
        ({**_STATIC, "cidr": "192.0.2.0/24"}, "cidr"),
        ({**_STATIC, "cidr": "192.0.2.255/24"}, "cidr"),
        ({**_STATIC, "cidr": "192.0.2.10/255.255.255.0"}, "cidr"),
        ({**_STATIC, "ipFamily": "IPv6"}, "cidr"),
        ({"cidr": "192.0.2.10/24"}, "cidr"),
        ({**_STATIC, "dns": {"servers": ["dns.example.com"]}}, "dns.servers[0]"),
        ({"ipFamily": "ipv4"}, "ipFamily"),
        ({"ipFamily": "IPv4,IPv6"}, "ipFamily"),
        ({"ipFamily": "dual"}, "ipFamily"),
    ],
    ids=str,
)
def test_a_network_that_does_not_work_is_told(network: Mapping[str, Any], key: str) -> None:
    assert _told(_network(network)) == {("pool-network", f"{PROVIDER_CONFIG_FIELD}.network.{key}")}


def test_several_machines_with_one_address_are_told() -> None:
    assert _told(_network(_STATIC, replicas=2)) == {("pool-network", f"{PROVIDER_CONFIG_FIELD}.network.cidr")}
