"""The data around every line of templates.jsonl: what OSM made of templates-base.json."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

from osm_gitops.model.machine import KubeletOptions, Network, OsSpec
from osm_gitops.model.settings import DEFAULT_NO_PROXY, Settings
from osm_gitops.render.data import ClusterData, PoolData, cluster_fields, root_fields
from tests.conformance_data import DATA

_KUBECONFIG = """apiVersion: v1
clusters:
- cluster:
    certificate-authority-data: {ca}
    server: https://foo.bar:6443
  name: c
contexts:
- context:
    cluster: c
    user: c
  name: c
current-context: c
kind: Config
users:
- name: c
  user:
    token: {token}.0123456789abcdef
"""

_CONTAINERD = """version = 3

[metrics]
address = "127.0.0.1:1338"

[plugins]
[plugins."io.containerd.cri.v1.images"]
discard_unpacked_layers = false
[plugins."io.containerd.cri.v1.images".pinned_images]
sandbox = "p:1"
[plugins."io.containerd.cri.v1.images".registry]
config_path = "/etc/containerd/certs.d"
[plugins."io.containerd.cri.v1.runtime"]
device_ownership_from_security_context = false
[plugins."io.containerd.cri.v1.runtime".containerd]
[plugins."io.containerd.cri.v1.runtime".containerd.runtimes]
[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
SystemdCgroup = true
[plugins."io.containerd.cri.v1.runtime".cni]
bin_dirs = ["/opt/cni/bin"]
conf_dir = "/etc/cni/net.d"
"""

_MINUTE = 60 * 10**9


def base_data(line: str) -> Mapping[str, Any]:
    """The template data for the line of this name (``fields-1030``), which has its own bootstrap token."""
    certificate = (DATA / "ca.pem").read_text("utf-8")
    settings = Settings(
        cluster_dns=("10.96.0.10", "fd00::a"),
        external_cloud_provider=True,
        initial_taints="a=b:NoSchedule",
        http_proxy="http://proxy:3128",
        no_proxy=DEFAULT_NO_PROXY,
        feature_gates={"A": False, "B": True, "RotateKubeletServerCertificate": True},
        pause_image="p:1",
    )
    cluster = ClusterData(
        settings=settings,
        ca_certificate=certificate,
        container_runtime_config=_CONTAINERD,
        getter_token="getter-token-1",
        server_url="https://foo.bar:6443",
    )
    encoded = base64.b64encode(certificate.encode()).decode()
    pool = PoolData(
        kube_version="v1.34.2",
        os="ubuntu",
        provider="hetzner",
        in_tree_provider=False,
        cloud_config="",
        network=Network(ip_family="IPv4"),
        kubelet=KubeletOptions(
            eviction_hard={"memory.available": "100Mi", "imagefs.available": "5%"},
            kube_reserved={"cpu": "200m", "memory": "1Gi"},
            max_pods=110,
            image_maximum_gc_age=90 * _MINUTE,
        ),
        os_spec=OsSpec(),
        secret_name="t-kube-system-provisioning-config",
        kubelet_kubeconfig_name="kube-system-t-kubelet-bootstrap-config",
        bootstrap_kubeconfig=_KUBECONFIG.format(ca=encoded, token=f"t{line.rpartition('-')[2]:0>5}"),
    )
    return root_fields(cluster_fields(cluster), pool)
