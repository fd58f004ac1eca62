"""The seed that tests build upon has what KKP has, and nothing of it stays behind."""

from __future__ import annotations

from base64 import b64decode

import pytest
import yaml

from tests.apiserver.client import Client, Refused
from tests.apiserver.cluster import Cluster
from tests.kkp.seed import KUBECONFIG_SECRET, NAMESPACE, Seed, fill, make_seed


def test_user_clusters_are_reached_by_the_kubeconfig_in_their_namespace(seed: Seed, worker: Cluster) -> None:
    fill(worker)
    for name in ("abcdefghij", "bcdefghijk"):
        cluster = seed.user_cluster(name, worker)
        found = seed.server.client().get(f"/api/v1/namespaces/{cluster.namespace}/secrets/{KUBECONFIG_SECRET}")
        config = yaml.safe_load(b64decode(found["data"]["kubeconfig"]))
        assert config["current-context"] == config["clusters"][0]["name"] == name
        entry = config["clusters"][0]["cluster"]
        authority = b64decode(entry["certificate-authority-data"]).decode()
        client = Client(entry["server"], authority, config["users"][0]["user"]["token"])
        assert client.get("/api/v1/namespaces/cloud-init-settings/secrets/cloud-init-getter-token")["data"]["token"]
        client.close()


def test_specs_and_status_are_merged_over_those_of_a_healthy_cluster(seed: Seed, worker: Cluster) -> None:
    sick = {"extendedHealth": {"apiserver": "HealthStatusDown"}, "namespaceName": None}
    cluster = seed.user_cluster("abcdefghij", worker, spec={"pause": True}, status=sick, labels={"project-id": "p"})
    found = seed.server.client().get(cluster.path)
    assert found["spec"]["pause"] is True
    assert found["spec"]["cloud"]["providerName"] == "hetzner"
    assert "namespaceName" not in found["status"]
    assert found["status"]["extendedHealth"]["apiserver"] == "HealthStatusDown"
    assert found["status"]["extendedHealth"]["etcd"] == "HealthStatusUp"
    assert found["metadata"]["labels"] == {"project-id": "p"}


def test_operating_system_manager_runs_until_it_is_scaled(seed: Seed, worker: Cluster) -> None:
    cluster = seed.user_cluster("abcdefghij", worker)
    status = seed.server.client().get(cluster.deployment)["status"]
    assert (status["replicas"], status["readyReplicas"]) == (1, 1)
    seed.scale(cluster, 0)
    found = seed.server.client().get(cluster.deployment)
    assert (found["spec"]["replicas"], found["status"].get("replicas", 0)) == (0, 0)


def test_nothing_of_a_seed_stays_but_its_kinds(seed_server: Cluster, worker: Cluster) -> None:
    for _ in range(2):
        seed = make_seed(seed_server, seed={"proxySettings": {"httpProxy": "http://proxy.example.com:3128"}})
        seed.user_cluster("abcdefghij", worker)
        found = seed_server.client().get(f"/apis/kubermatic.k8c.io/v1/namespaces/{NAMESPACE}/seeds/{NAMESPACE}")
        assert found["spec"]["proxySettings"]["httpProxy"] == "http://proxy.example.com:3128"
        seed_server.restore()
        assert seed_server.client().get("/apis/kubermatic.k8c.io/v1/clusters")["items"] == []
        with pytest.raises(Refused, match="404"):
            seed_server.client().get(f"/api/v1/namespaces/{NAMESPACE}")
