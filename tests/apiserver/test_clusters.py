"""Two real API servers: what tests of clusters build upon."""

from __future__ import annotations

import json
import ssl
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from osm_gitops.commands.boot.lane.definitions import definition
from tests.apiserver.client import Client, Object, Refused, path_of
from tests.apiserver.cluster import Cluster
from tests.apiserver.definitions import DEFINITIONS, is_established
from tests.cli.scenes import pool, profile, secret

_RBAC = "rbac.authorization.k8s.io"


def _config_map(namespace: str, **metadata: Any) -> Object:
    body = {"name": "words", "namespace": namespace, **metadata}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": body, "data": {"word": "hello"}}


def _role(namespace: str, *verbs: str) -> Object:
    rules = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": list(verbs)}]
    metadata = {"name": "words", "namespace": namespace}
    return {"apiVersion": f"{_RBAC}/v1", "kind": "Role", "metadata": metadata, "rules": rules}


def _bound(role: Object, kind: str, name: str) -> Object:
    return {
        "apiVersion": f"{_RBAC}/v1",
        "kind": "RoleBinding",
        "metadata": role["metadata"],
        "subjects": [{"apiGroup": _RBAC, "kind": kind, "name": name}],
        "roleRef": {"apiGroup": _RBAC, "kind": "Role", "name": role["metadata"]["name"]},
    }


def _names(cluster: Cluster, collection: str) -> list[str]:
    return [each["metadata"]["name"] for each in cluster.client().get(collection)["items"]]


def test_a_server_is_ready_and_has_the_namespaces_that_every_cluster_has(management: Cluster) -> None:
    assert management.client().text("/readyz") == "ok"
    assert _names(management, "/api/v1/namespaces") == ["default", "kube-node-lease", "kube-public", "kube-system"]


@pytest.mark.parametrize("crd", DEFINITIONS, ids=lambda crd: crd["spec"]["names"]["kind"])
def test_our_kinds_are_served(management: Cluster, crd: Object) -> None:
    assert is_established(management.client().get(path_of(crd)))
    spec = crd["spec"]
    assert management.client().get(f"/apis/{spec['group']}/v1alpha1/{spec['names']['plural']}")["items"] == []


def test_a_kind_that_a_test_defines_is_served_at_once(management: Cluster) -> None:
    management.define(definition("example.com", "Word"))
    metadata = {"name": "one", "namespace": "default"}
    word = {"apiVersion": "example.com/v1alpha1", "kind": "Word", "metadata": metadata, "spec": {"text": "hello"}}
    management.client().create(word)
    assert management.client().get(path_of(word))["spec"] == {"text": "hello"}


def test_objects_come_back_as_they_were_sent(management: Cluster) -> None:
    management.namespace("cloud-init-settings")
    for body in (pool(), secret("token", "cloud-init-settings", {"token": "abc"})):
        management.client().create(body)
    assert management.client().get(path_of(pool()))["spec"] == pool()["spec"]
    found = management.client().get("/api/v1/namespaces/cloud-init-settings/secrets/token")
    assert found["data"] == {"token": "YWJj"}


def test_profiles_get_the_defaults_that_readers_of_clusters_see(management: Cluster) -> None:
    sent = profile()
    del sent["spec"]["bootstrapConfig"]["files"][0]["permissions"]
    management.client().apply(sent)
    spec = management.client().get(path_of(sent))["spec"]
    assert spec["provisioningUtility"] == "cloud-init"
    assert [file["permissions"] for file in spec["bootstrapConfig"]["files"]] == [644]


def test_applying_keeps_account_of_who_owns_what(management: Cluster) -> None:
    management.client().apply(_config_map("default"), manager="somebody")
    found = management.client().get(path_of(_config_map("default")))
    assert [(each["manager"], each["operation"]) for each in found["metadata"]["managedFields"]] == [
        ("somebody", "Apply")
    ]


def test_a_user_may_do_nothing_until_a_role_says_so(management: Cluster) -> None:
    with pytest.raises(Refused, match='User "applier" cannot list resource "configmaps"') as refused:
        management.client("applier").get("/api/v1/namespaces/default/configmaps")
    assert refused.value.status == 403
    role = _role("default", "list")
    for body in (role, _bound(role, "User", "applier")):
        management.client().create(body)
    _until_allowed(management.client("applier"), "/api/v1/namespaces/default/configmaps")
    with pytest.raises(Refused, match="403 Forbidden"):
        management.client("applier").create(_config_map("default"))


def test_a_group_lets_its_users_do_what_its_role_says(management: Cluster) -> None:
    role = _role("default", "list")
    for body in (role, _bound(role, "Group", "readers")):
        management.client().create(body)
    _until_allowed(management.client("reader"), "/api/v1/namespaces/default/configmaps")
    with pytest.raises(Refused, match="403 Forbidden"):
        management.client("applier").get("/api/v1/namespaces/default/configmaps")


def _until_allowed(client: Client, path: str) -> None:
    """The server's view of its own roles follows what is written within milliseconds."""
    for _ in range(1000):
        with suppress(Refused):
            client.get(path)
            return
    raise AssertionError(f"{path} stays forbidden")


def test_a_service_account_gets_a_token_of_its_own(management: Cluster) -> None:
    metadata = {"name": "bot", "namespace": "default"}
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}
    management.client().create(account)
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 600}}
    token = json.loads(management.client().text(f"{path_of(account)}/token", "POST", request))["status"]["token"]
    bot = Client(management.server, management.authority, token)
    with pytest.raises(Refused, match="system:serviceaccount:default:bot"):
        bot.get("/api/v1/namespaces/default/configmaps")
    bot.close()


def test_a_token_of_one_cluster_opens_no_other(management: Cluster, worker: Cluster) -> None:
    assert management.tokens["admin"] != worker.tokens["admin"]
    stranger = Client(worker.server, worker.authority, management.tokens["admin"])
    with pytest.raises(Refused, match="401 Unauthorized"):
        stranger.get("/api/v1/namespaces")
    stranger.close()


def test_a_cluster_is_trusted_by_its_own_authority_only(management: Cluster, worker: Cluster) -> None:
    stranger = Client(worker.server, management.authority, worker.tokens["admin"])
    with pytest.raises(ssl.SSLCertVerificationError):
        stranger.get("/api/v1/namespaces")
    stranger.close()


def test_what_is_in_one_cluster_is_not_in_the_other(management: Cluster, worker: Cluster) -> None:
    management.client().create(_config_map("kube-public"))
    assert _names(management, "/api/v1/namespaces/kube-public/configmaps") == ["words"]
    assert _names(worker, "/api/v1/namespaces/kube-public/configmaps") == []


def test_a_kubeconfig_says_all_that_a_client_needs(worker: Cluster, tmp_path: Path) -> None:
    path = worker.kubeconfig(tmp_path / "config", "reader")
    assert path.stat().st_mode & 0o777 == 0o600
    config = json.loads(path.read_text("utf-8"))
    assert config["current-context"] == config["contexts"][0]["name"] == "worker"
    assert config["contexts"][0]["context"] == {"cluster": "worker", "user": "reader"}
    assert config["clusters"][0]["cluster"]["server"] == worker.server
    assert config["users"] == [{"name": "reader", "user": {"token": worker.tokens["reader"]}}]


def test_a_cluster_is_as_it_was_after_each_test(worker: Cluster) -> None:
    namespaces = _names(worker, "/api/v1/namespaces")
    for _ in range(2):  # the second time finds every name free
        worker.namespace("cloud-init-settings")
        worker.define(definition("example.com", "Word"))
        word = {"apiVersion": "example.com/v1alpha1", "kind": "Word", "metadata": {"name": "a", "namespace": "default"}}
        held_pool = pool() | {"metadata": pool()["metadata"] | {"finalizers": ["example.com/held"]}}
        for body in (
            *(word, held_pool, _config_map("cloud-init-settings", finalizers=["example.com/held"])),
            secret("bootstrap-token-abcdef", "kube-system", {}),
        ):
            worker.client().create(body)
        worker.client().delete(path_of(held_pool))
        worker.restore()
        assert _names(worker, "/api/v1/namespaces") == namespaces
        assert _names(worker, "/apis/cluster.k8s.io/v1alpha1/machinedeployments") == []
        assert _names(worker, "/api/v1/secrets") == []
        assert "words" not in _names(worker, "/api/v1/configmaps")
