"""What all pools share: everything that is missing is told at once."""

from __future__ import annotations

import pytest

from osm_gitops.errors import Code, InputError
from osm_gitops.model.settings import Settings
from osm_gitops.render.resolve.cluster_info import resolve_cluster
from tests.faults import placed, refused
from tests.render.resolve.facts import facts, secret

_INFO = """\
apiVersion: v1
kind: Config
clusters:
- name: ""
  cluster:
    server: https://api.example.com:6443
    certificate-authority-data: Q0EtUEVN
"""
_GETTER = secret("cloud-init-getter-token", {"token": "t0ken"}, namespace="cloud-init-settings")


def test_a_cluster_is_resolved_from_its_facts() -> None:
    cluster = resolve_cluster(Settings(pause_image="pause:1"), facts(_GETTER, cluster_info=_INFO))
    assert cluster.getter_token == "t0ken"
    assert cluster.ca_certificate == "CA-PEM"
    assert cluster.kubeconfig.server == "https://api.example.com:6443"
    assert "pause:1" in cluster.containerd_config
    assert [file.path for file in cluster.hosts_files] == ["/etc/containerd/certs.d/docker.io/hosts.toml"]
    assert cluster.warnings == ()


def test_a_cluster_info_without_ca_gives_a_warning() -> None:
    without = _INFO.replace("    certificate-authority-data: Q0EtUEVN\n", "")
    cluster = resolve_cluster(Settings(), facts(_GETTER, cluster_info=without))
    assert cluster.ca_certificate == ""
    ((code, place),) = placed(cluster.warnings)
    assert code is Code.CLUSTER_CA_EMPTY
    assert place.endswith("ConfigMap kube-public/cluster-info: data.kubeconfig")
    given = resolve_cluster(Settings(kubernetes_ca_bundle="PEM"), facts(_GETTER, cluster_info=without))
    assert (given.ca_certificate, given.warnings) == ("PEM", ())


def test_all_that_is_missing_is_told_at_once_and_once() -> None:
    with pytest.raises(InputError) as refused:
        resolve_cluster(Settings(registry_credentials_secret=("a", "b")), facts())
    told = [str(problem) for problem in refused.value.problems]
    assert len(told) == len(set(told))
    for part in ("cluster-info", "cloud-init-getter-token", "a/b"):
        assert any(part in problem for problem in told), part


def test_an_empty_getter_token_is_refused() -> None:
    empty = secret("cloud-init-getter-token", {"token": ""}, namespace="cloud-init-settings")
    with refused(Code.BOOTSTRAP_TOKEN_MISSING):
        resolve_cluster(Settings(), facts(empty, cluster_info=_INFO))
