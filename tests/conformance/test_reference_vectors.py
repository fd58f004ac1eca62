"""The reference vectors of osm-behaviour.md, "Reference vectors" through the command line."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.running import osm_gitops
from tests.cli.scenes import facts, objects_of, user_data

_FLAGS = (
    "-namespace=kube-system",
    "-cluster-dns=10.10.10.10,fd00::a",
    "-node-kubelet-feature-gates=Alpha=false",
    "-node-http-proxy=http://proxy.example.com:3128",
    "-node-no-proxy=.svc,localhost",
    "-pause-image=registry.example.com/pause:3.10",
    "-node-insecure-registries=10.0.0.1:5000",
    "-node-registry-mirrors=mirror.example.com",
    "-node-containerd-registry-mirrors=quay.io=https://harbor.example.com/v2/quay?kubermatic=override_path%3Dtrue",
    "-external-cloud-provider=false",
    "-leader-elect=false",
)
_PROFILE = r"""
apiVersion: operatingsystemmanager.k8c.io/v1alpha1
kind: OperatingSystemProfile
metadata: {name: osp-demo}
spec:
  osName: ubuntu
  osVersion: "24.04"
  version: v0.0.1
  provisioningUtility: cloud-init
  supportedCloudProviders: [{name: hetzner}]
  bootstrapConfig:
    templates:
      proxy: |-
        {{- if .HTTPProxy }}
        export P={{ .HTTPProxy }}
        {{- end }}
    files:
    - path: /opt/boot
      permissions: 755
      content: {inline: {encoding: b64, data: "#!/bin/sh\n{{- template \"proxy\" }}\necho {{ .SecretName }}\n"}}
    modules:
      runcmd: [systemctl restart boot.service]
  provisioningConfig:
    supportedContainerRuntimes:
    - name: containerd
      files:
      - path: /etc/containerd/config.toml
        permissions: 600
        content: {inline: {data: "{{ .ContainerRuntimeConfig }}\n"}}
    files:
    - path: /etc/kubelet.yaml
      content:
        inline:
          data: |
            version: {{ .KubeVersion }}
            dns:
            {{- range .ClusterDNSIPs }}
            - "{{ . }}"
            {{- end }}
            gates:
            {{- range $k, $v := .KubeletFeatureGates }}
              {{ $k }}: {{ $v }}
            {{- end }}
            maxPods: {{ .MaxPods }}
            eviction: {{ .EvictionHard }}
"""
_POOL = r"""
apiVersion: cluster.k8s.io/v1alpha1
kind: MachineDeployment
metadata:
  name: md-a
  namespace: kube-system
  annotations:
    k8c.io/operating-system-profile: osp-demo
    machinedeployment.clusters.k8s.io/revision: "1"
    v1.kubelet-config.machine-controller.kubermatic.io/MaxPods: "110"
    v1.kubelet-config.machine-controller.kubermatic.io/EvictionHard: memory.available<30Mi
spec:
  template:
    spec:
      versions: {kubelet: "1.34"}
      providerSpec:
        value:
          sshPublicKeys: ["ssh-ed25519 AAAA a@b", "ssh-ed25519 AAAA a@b\n"]
          cloudProvider: hetzner
          cloudProviderSpec: {serverType: cx22}
          operatingSystem: ubuntu
          operatingSystemSpec: {distUpgradeOnBoot: true}
"""
_UNIT = "[Install]\nWantedBy=multi-user.target\n[Service]\nExecStart=/opt/boot {{ .Raw }}\n"
_BOOTSTRAP_A = """\
#cloud-config
hostname: <MACHINE_NAME>

package_upgrade: true
package_reboot_if_required: true
ssh_pwauth: false

ssh_authorized_keys:
- 'ssh-ed25519 AAAA a@b'
write_files:
- path: '/opt/boot'
  permissions: '0755'
  encoding: 'b64'
  content: |-
    IyEvYmluL3NoCgpleHBvcnQgUD1odHRwOi8vcHJveHkuZXhhbXBsZS5jb206MzEyOAplY2hvIG1kLWEta3ViZS1zeXN0ZW0tcHJvdmlzaW9uaW5nLWNvbmZpZwo=

- path: /etc/machine-name
  permissions: '0600'
  content: |-
        <MACHINE_NAME>

runcmd:
- systemctl restart boot.service
"""

Objects = dict[tuple[str, str], dict[str, Any]]


def _render(folder: Path, profile: dict[str, Any], pool: dict[str, Any]) -> Objects:
    folder.joinpath("all.yaml").write_text(yaml.safe_dump_all([profile, pool, *facts("GETTER-TOKEN")]))
    ran = osm_gitops("render", "--from", str(folder), "--to", "-", *_FLAGS)
    assert ran.code == 0, ran.err
    return objects_of(ran.out)


@pytest.fixture
def case_a(tmp_path: Path) -> Objects:
    return _render(tmp_path, yaml.safe_load(_PROFILE), yaml.safe_load(_POOL))


@pytest.fixture
def case_b(tmp_path: Path) -> Objects:
    profile, pool = yaml.safe_load(_PROFILE), yaml.safe_load(_POOL)
    profile["spec"] |= {
        "osName": "flatcar",
        "osVersion": "4593",
        "provisioningUtility": "ignition",
        "supportedCloudProviders": [{"name": "openstack"}],
    }
    del profile["spec"]["bootstrapConfig"]["modules"]
    profile["spec"]["bootstrapConfig"]["units"] = [{"name": "boot.service", "enable": True, "content": _UNIT}]
    pool["metadata"]["name"] = "md-b"
    pool["spec"]["template"]["spec"]["providerSpec"]["value"] |= {
        "cloudProvider": "openstack",
        "cloudProviderSpec": {},
        "operatingSystem": "flatcar",
        "operatingSystemSpec": {"disableAutoUpdate": True},
    }
    # kubelet 1.34 needs no cloud-config, so case B reads no credentials of OpenStack.
    return _render(tmp_path, profile, pool)


def _files(objects: Objects, half: str) -> dict[str, dict[str, Any]]:
    config = objects["OperatingSystemConfig", "md-a-kube-system-config"]
    return {file["path"]: file for file in config["spec"][half]["files"]}


def _text(file: dict[str, Any]) -> str:
    return str(file["content"]["inline"]["data"])


def _size_and_digest(text: str) -> tuple[int, str]:
    return len(text.encode()), hashlib.sha256(text.encode()).hexdigest()


def test_case_a_has_the_annotations_hash_of_the_contract(case_a: Objects) -> None:
    for name in (("OperatingSystemConfig", "md-a-kube-system-config"), ("Secret", "md-a-kube-system-bootstrap-config")):
        annotations = case_a[name]["metadata"]["annotations"]
        hashed = "390e64183120f3905980b13561f071fa31ba99e92802a90ce0c11ef30e18f659"
        assert annotations["k8c.io/mdannotations-hash"] == hashed
        assert annotations["k8c.io/osp-version"] == "v0.0.1"
        assert annotations["k8c.io/machine-deployment-revision"] == "1"


def test_case_a_has_the_files_of_the_contract_in_its_order(case_a: Objects) -> None:
    (boot,) = _files(case_a, "bootstrapConfig").values()
    assert _text(boot) == (
        "#!/bin/sh\n\nexport P=http://proxy.example.com:3128\necho md-a-kube-system-provisioning-config\n"
    )
    files = _files(case_a, "provisioningConfig")
    assert [(path, file["permissions"]) for path, file in files.items()] == [
        ("/etc/kubelet.yaml", 644),
        ("/etc/containerd/config.toml", 600),
        ("/etc/containerd/certs.d/10.0.0.1:5000/hosts.toml", 600),
        ("/etc/containerd/certs.d/docker.io/hosts.toml", 600),
        ("/etc/containerd/certs.d/quay.io/hosts.toml", 600),
    ]
    assert _text(files["/etc/kubelet.yaml"]) == (
        'version: v1.34.0\ndns:\n- "10.10.10.10"\n- "fd00::a"\ngates:\n  Alpha: false\n'
        "  RotateKubeletServerCertificate: true\nmaxPods: 110\neviction: map[memory.available:30Mi]\n"
    )
    assert _text(files["/etc/containerd/certs.d/quay.io/hosts.toml"]) == (
        'server = "quay.io"\n\n[host."https://harbor.example.com/v2/quay"]\n'
        'capabilities = ["pull", "resolve"]\noverride_path = true\n'
    )


def test_case_a_has_the_user_data_of_the_contract(case_a: Objects) -> None:
    bootstrap = user_data(case_a, "md-a-kube-system-bootstrap-config")
    assert bootstrap == _BOOTSTRAP_A
    assert _size_and_digest(bootstrap) == (504, "3371b629be6e3524f4293bfc757720bac88f1b38d03b8a360589c609b5ef6363")
    assert _size_and_digest(user_data(case_a, "md-a-kube-system-provisioning-config")) == (
        2097,
        "7294af9b4356e7566d3d0f3fbf5456d1d3a4d1ab6337f6972de3ada1b81a56cf",
    )


def test_case_b_has_the_user_data_of_the_contract(case_b: Objects) -> None:
    assert _size_and_digest(user_data(case_b, "md-b-kube-system-bootstrap-config")) == (
        703,
        "56fd3a13d1c6932ce4050f30a1075647e6f8015f56417943d11286cef83528ee",
    )
    assert _size_and_digest(user_data(case_b, "md-b-kube-system-provisioning-config")) == (
        2663,
        "bc7b472bca73cbcee898fa28d31fab1907aa24da200f918879d00ec723975e4d",
    )
