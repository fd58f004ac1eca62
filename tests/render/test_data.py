"""The data that templates see, as they print it (osm-behaviour.md, "Template data")."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from osm_gitops.model.settings import Settings
from tests.cli.scenes import pool, profile
from tests.render.middle import inputs_of, renderer, resolved

_KUBELET = "v1.kubelet-config.machine-controller.kubermatic.io/"


def _printed(folder: Path, template: str, settings: Settings | None = None, **config: Any) -> str:
    system = config.get("operatingSystem", "ubuntu")
    utility = "ignition" if system == "flatcar" else "cloud-init"
    inputs = inputs_of(folder, profile(script=template, osName=system, provisioningUtility=utility), pool(**config))
    return renderer(inputs, settings).config(resolved(inputs, settings)).bootstrap.files[0].content


@pytest.mark.parametrize(
    ("template", "printed"),
    [
        ("{{ .KubeVersion }} {{ .CloudProviderName }} {{ .ContainerRuntime }}", "v1.34.2 hetzner containerd"),
        ("{{ .SecretName }}", "workers-kube-system-provisioning-config"),
        ("{{ .BootstrapKubeconfigSecretName }}", "kube-system-workers-kubelet-bootstrap-config"),
        ("{{ .ClusterDNSIPs }} {{ range .ClusterDNSIPs }}{{ . }};{{ end }}", "[10.10.10.10] 10.10.10.10;"),
        ("{{ .KubeletFeatureGates }}", "map[RotateKubeletServerCertificate:true]"),
        ("{{ .ServerURL }} {{ .Token }} {{ .KubernetesCACert }}", "https://api.example.com:6443 getter-token-1 CA-PEM"),
        ("{{ .MaxPods }} {{ .KubeReserved }} {{ .HTTPProxy }}", "<nil> <nil> <nil>"),
        ("{{ .NetworkConfig }} {{ .NetworkIPFamily }}", "<nil> "),
        ("{{ if .MaxPods }}yes{{ else }}no{{ end }}", "no"),
        ("{{ .NetworkConfig.IsStaticIPConfig }} {{ .NetworkConfig.GetIPFamily.HasIPv4 }}", "false true"),
        ("{{ .UbuntuConfig }} {{ .FlatcarConfig.DisableAutoUpdate }}", "{false} false"),
        ("{{ .InTreeCCMAvailable }} {{ .ExternalCloudProvider }}", "false false"),
        ('{{ eq .CloudProviderName "hetzner" }} {{ printf "%T" .CloudProviderName }}', "true v1alpha1.CloudProvider"),
    ],
)
def test_a_plain_pool_prints(template: str, printed: str, tmp_path: Path) -> None:
    assert _printed(tmp_path, template) == printed


def test_kubelet_annotations_are_pointers_that_print_their_values(tmp_path: Path) -> None:
    annotations = {
        f"{_KUBELET}MaxPods": "110",
        f"{_KUBELET}KubeReserved": "cpu=200m,memory=1Gi",
        f"{_KUBELET}ContainerLogMaxSize": "100Mi",
    }
    template = "{{ .MaxPods }} {{ .KubeReserved }} {{ .ContainerLogMaxSize }}{{ if .MaxPods }} set{{ end }}"
    assert _printed(tmp_path, template, annotations=annotations) == "110 map[cpu:200m memory:1Gi] 100Mi set"


def test_settings_reach_the_templates(tmp_path: Path) -> None:
    settings = Settings(
        http_proxy="http://p:1",
        no_proxy="",
        initial_taints="a=b:NoExecute",
        external_cloud_provider=True,
        pause_image="i",
    )
    template = "{{ .HTTPProxy }} {{ .NoProxy }} {{ .InitialTaints }} {{ .ExternalCloudProvider }} {{ .PauseImage }}"
    assert _printed(tmp_path, template, settings) == "http://p:1 <nil> a=b:NoExecute true i"


def test_a_static_network_of_flatcar(tmp_path: Path) -> None:
    network = {"cidr": "10.0.0.2/24", "gateway": "10.0.0.1", "dns": {"servers": ["1.1.1.1", "8.8.8.8"]}}
    template = "{{ .NetworkConfig.CIDR }} {{ .NetworkConfig.DNS.Servers }} {{ .NetworkConfig.IsStaticIPConfig }}"
    printed = _printed(tmp_path, template, operatingSystem="flatcar", network=network)
    assert printed == "10.0.0.2/24 [1.1.1.1 8.8.8.8] true"


@pytest.mark.parametrize(
    ("family", "four", "six", "dual"),
    [("IPv4", "true", "false", "false"), ("IPv6", "false", "true", "false"), ("IPv4+IPv6", "true", "true", "true")],
)
def test_ip_families(family: str, four: str, six: str, dual: str, tmp_path: Path) -> None:
    template = "{{ with .NetworkConfig.GetIPFamily }}{{ .HasIPv4 }} {{ .HasIPv6 }} {{ .IsDualstack }}{{ end }}"
    assert _printed(tmp_path, template, network={"ipFamily": family}) == f"{four} {six} {dual}"


def test_only_the_pools_own_system_has_values(tmp_path: Path) -> None:
    spec = {"disableAutoUpdate": True, "provisioningUtility": "ignition"}
    template = "{{ .FlatcarConfig }} {{ .RhelConfig.DistUpgradeOnBoot }} {{ .FlatcarConfig.ProvisioningUtility }}"
    printed = _printed(tmp_path, template, operatingSystem="flatcar", operatingSystemSpec=spec)
    assert printed == "{true false false ignition} false ignition"
