"""Bad values of settings and pools: told where they are given, and not at the profile that prints them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import osm_gitops
from tests.cli.scenes import file, pool, profile, write_fleet, write_tree

_KUBELET = """\
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
featureGates:
{{- range $name, $on := .KubeletFeatureGates }}
  {{ $name }}: {{ $on }}
{{- end }}
{{- if .KubeReserved }}
kubeReserved:
{{- range $name, $amount := .KubeReserved }}
  {{ $name }}: {{ $amount }}
{{- end }}
{{- end }}
clusterDNS:
{{- range .ClusterDNSIPs }}
- "{{ . }}"
{{- end }}
"""
_CONTAINERD = "{{ .ContainerRuntimeConfig }}"


def _profile() -> dict[str, Any]:
    files = [
        file("/etc/kubernetes/kubelet.conf", _KUBELET, 600),
        file("/etc/containerd/config.toml", _CONTAINERD, 600),
    ]
    return profile(script="#!/bin/sh\necho hello\n", provisioningConfig={"files": files})


def _found(
    folder: Path, *objects: Mapping[str, Any], settings: Sequence[str] = ()
) -> list[tuple[str, str, int | None]]:
    """Id, file and line of the findings on a fleet of one cluster."""
    write_tree(folder / "tree", _profile(), *objects)
    lines = "".join(f"    {line}\n" for line in settings)
    text = f"clusters:\n- name: north\n  from: tree\n  to: {{git: {{path: out}}}}\n  settings:\n{lines or '    {}'}\n"
    path = write_fleet(folder, text)
    ran = osm_gitops("validate", "--fleet", str(path), "-o", "json")
    findings = json.loads(ran.out)["findings"]
    return [
        (each["id"], Path(each.get("file", "")).name, each.get("line"))
        for each in findings
        if not each["id"].endswith("-not-installed")
    ]


_FIRST_SETTING = 8

SETTINGS = (
    ("initialTaints: dedicated=gpu:NoSchedul", "taint"),
    ("pauseImage: https://registry.k8s.io/pause:3.10", "image-reference"),
    ("nodeHTTPProxy: http://fd00::1:3128", "proxy-url"),
    ("nodeNoProxy: [localhost, '*.example.com']", "no-proxy"),
    ("nodeInsecureRegistries: http://registry.example.com", "registry"),
    ("nodeContainerdRegistryMirrors: {'https://quay.io': [https://mirror.example.com]}", "registry"),
    ("nodeRegistryMirrors: quay.io=ftp://mirror.example.com", "registry"),
    ("overrideBootstrapKubeletAPIServer: api.example.com:6443", "api-server-url"),
    ("clusterDNS: [127.0.0.1]", "cluster-dns"),
    ("nodeKubeletFeatureGates: {NodeSwapp: true}", "kubelet-feature-gate"),
)


@pytest.mark.parametrize(("line", "rule"), SETTINGS, ids=[each[1] for each in SETTINGS])
def test_a_setting_is_told_at_its_line_and_not_again_at_the_profile(line: str, rule: str, tmp_path: Path) -> None:
    found = _found(tmp_path, pool(), settings=["disableDefaultOSPs: true", line])

    assert found == [(rule, "osm-gitops.yaml", _FIRST_SETTING + 1)]


def test_sound_settings_have_no_finding(tmp_path: Path) -> None:
    settings = [
        "initialTaints: dedicated=gpu:NoSchedule",
        "pauseImage: registry.k8s.io/pause:3.10",
        "nodeHTTPProxy: http://[fd00::1]:3128",
        "nodeNoProxy: [localhost, 127.0.0.1, .example.com, 10.0.0.0/8]",
        "nodeInsecureRegistries: registry.example.com:5000",
        "nodeContainerdRegistryMirrors: {quay.io: [https://mirror.example.com]}",
        "overrideBootstrapKubeletAPIServer: https://api.example.com:6443",
        "clusterDNS: [10.96.0.10]",
        "nodeKubeletFeatureGates: {NodeSwap: true}",
    ]
    assert _found(tmp_path, pool(), settings=settings) == []


def test_a_setting_of_the_command_line_is_told_with_its_option(tmp_path: Path) -> None:
    write_tree(tmp_path, _profile(), pool())
    ran = osm_gitops("validate", str(tmp_path), "--initial-taints", "dedicated=gpu", "-o", "json")
    told = [(each["id"], each["where"]) for each in json.loads(ran.out)["findings"] if each["id"] == "taint"]
    assert told == [("taint", "flag --initial-taints")]


def test_a_feature_gate_that_only_old_kubelets_lack_is_told_when_a_pool_has_such_a_kubelet(tmp_path: Path) -> None:
    gates = ["nodeKubeletFeatureGates: {InPlacePodVerticalScalingExclusiveCPUs: true}"]

    assert _found(tmp_path / "new", pool(kubelet="1.36.1"), settings=gates) == []
    assert _found(tmp_path / "old", pool(kubelet="1.31.14"), settings=gates) == [
        ("kubelet-feature-gate", "osm-gitops.yaml", _FIRST_SETTING)
    ]


def test_render_takes_what_osm_takes(tmp_path: Path) -> None:
    write_tree(tmp_path / "tree", _profile(), pool())
    ran = osm_gitops(
        "render", "--from", str(tmp_path / "tree"), "--to", "-", "--initial-taints", "dedicated=gpu:NoSchedul"
    )
    assert ran.code == 0, ran.err


_POOL = "MachineDeployment-workers.yaml"
_KUBELET_PREFIX = "v1.kubelet-config.machine-controller.kubermatic.io"

POOLS: tuple[tuple[Mapping[str, Any], str, str], ...] = (
    ({"annotations": {f"{_KUBELET_PREFIX}/KubeReserved": "cpu=200x"}}, "kubelet-value", "KubeReserved"),
    ({"annotations": {f"{_KUBELET_PREFIX}/MaxPod": "110"}}, "pool-annotation", "MaxPod"),
    ({"sshPublicKeys": ["not-a-key"]}, "ssh-key", "not-a-key"),
    ({"operatingSystemSpec": {"distUpgradeOnBot": True}}, "os-spec-key", "distUpgradeOnBot"),
    ({"cloudProviderSpec": {"serverTyp": "cx22"}}, "cloud-spec-key", "serverTyp"),
    ({"network": {"ipFamily": "dual"}}, "pool-network", "ipFamily"),
    ({"kubelet": "1.36.99"}, "kubelet-version", "kubelet: "),
)


@pytest.mark.parametrize(("change", "rule", "line"), POOLS, ids=[f"{each[1]} {each[2]}" for each in POOLS])
def test_a_value_of_a_pool_is_told_at_its_line_and_not_again_at_the_profile(
    change: Mapping[str, Any], rule: str, line: str, tmp_path: Path
) -> None:
    found = _found(tmp_path, pool(**change))

    text = (tmp_path / "tree" / _POOL).read_text("utf-8").splitlines()
    expected = next(number for number, each in enumerate(text, 1) if line in each)
    assert found == [(rule, _POOL, expected)]


def test_pools_of_one_cluster_that_no_api_server_supports_together_are_told(tmp_path: Path) -> None:
    found = _found(tmp_path, pool(kubelet="1.36.1"), pool("old", kubelet="1.31.14"))

    assert [(rule, name) for rule, name, _ in found] == [("kubelet-skew", "MachineDeployment-old.yaml")]


def test_a_finding_on_a_pool_is_suppressed_by_an_annotation(tmp_path: Path) -> None:
    reason = {"ignore.osm-gitops.io/kubelet-version": "of our own build"}
    write_tree(tmp_path, _profile(), pool(kubelet="1.36.99", annotations=reason))
    report = json.loads(osm_gitops("validate", str(tmp_path), "-o", "json").out)
    told = [each["suppressed"] for each in report["findings"] if each["id"] == "kubelet-version"]
    assert told == ["of our own build"]


_TOKEN_ALONE = "{{ .Token }}\n"
_AUTH = '{"auths": {"registry.example.com": {"auth": "{{ printf "someone:%s" .Token | b64enc }}"}}}\n'

SECRETS = (
    ("/etc/getter", _TOKEN_ALONE, 644, True),
    ("/etc/getter", _TOKEN_ALONE, 600, False),
    ("/root/.docker/config.json", _AUTH, 644, True),
    ("/root/.docker/config.json", _AUTH, 600, False),
    ("/etc/kubernetes/bootstrap", "{{ .BootstrapKubeconfig | b64enc }}\n", 644, True),
    ("/etc/containerd/conf.d/a.toml", "{{ .ContainerRuntimeConfig }}", 644, True),
    ("/etc/containerd/conf.d/a.toml", "{{ .ContainerRuntimeConfig }}", 600, False),
    ("/etc/cloud-config", "{{ .CloudConfig }}\n", 644, True),
    ("/etc/ca.pem", "{{ .KubernetesCACert }}\n", 644, False),
    ("/etc/server", "{{ .ServerURL }} {{ .SecretName }}\n", 644, False),
)


@pytest.mark.parametrize(("path", "text", "permissions", "is_told"), SECRETS, ids=str)
def test_a_secret_in_a_file_that_others_may_read_is_told_whatever_the_file_is_called(
    path: str, text: str, permissions: int, is_told: bool, tmp_path: Path
) -> None:
    files = [file(path, text, permissions)]
    write_tree(tmp_path, profile(script="#!/bin/sh\necho hello\n", provisioningConfig={"files": files}), pool())
    report = osm_gitops("validate", str(tmp_path), "-o", "json").out
    told = [each for each in json.loads(report)["findings"] if each["id"] == "world-readable-secret"]
    assert bool(told) == is_told
    assert "getter-token" not in report


WRITTEN = (
    ("cat >/etc/site <<END\n{{ .Token }}\nEND\n", True),
    ("echo 'token={{ .Token }}' >/etc/site\n", True),
    ("echo '{{ .Token | b64enc }}' | tee /etc/site\n", True),
    ("umask 077\ncat >/etc/site <<END\n{{ .Token }}\nEND\n", False),
    ("echo '{{ .Token }}' >/etc/site\nchmod 600 /etc/site\n", False),
    ("cat >/etc/site <<END\n{{ .SecretName }}\nEND\n", False),
)


@pytest.mark.parametrize(("text", "is_told"), WRITTEN, ids=[each[0] for each in WRITTEN])
def test_a_secret_that_a_script_writes_where_others_may_read_it_is_told(
    text: str, is_told: bool, tmp_path: Path
) -> None:
    files = [file("/opt/bin/more", f"#!/bin/bash\n{text}", 700)]
    write_tree(tmp_path, profile(script="#!/bin/sh\necho hello\n", provisioningConfig={"files": files}), pool())
    findings = json.loads(osm_gitops("validate", str(tmp_path), "-o", "json").out)["findings"]
    assert any(each["id"] == "world-readable-secret" for each in findings) == is_told
