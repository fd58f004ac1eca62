"""What metadata alone tell of an applied object, as a real API server keeps account of it."""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256
from typing import Any

import pytest

from osm_gitops.kube.kinds import FIELD_MANAGER
from osm_gitops.targets.cluster.applied import DIGEST, applied_body, is_as_applied
from tests.apiserver.client import Object, path_of
from tests.apiserver.cluster import Cluster

_DIGEST = sha256(b"text").digest()
_OTHER = sha256(b"another text").digest()


def _metadata(name: str) -> dict[str, Any]:
    labels = {"app.kubernetes.io/managed-by": "osm-gitops"}
    return {"name": name, "namespace": "default", "labels": labels, "annotations": {"k8c.io/osp-version": "v1"}}


def _secret(text: str = "#cloud-config") -> Object:
    data = {"cloud-config": b64encode(text.encode()).decode()}
    return {"apiVersion": "v1", "kind": "Secret", "type": "Opaque", "metadata": _metadata("a"), "data": data}


def _config() -> Object:
    half = {
        "files": [{"path": "/a", "permissions": 644, "content": {"inline": {"data": "x"}}}],
        "units": [{"name": "a.service", "enable": True}],
        "userSSHKeys": ["ssh-rsa AAAA"],
        "modules": {"runcmd": ["a"], "yum_repos": {"k": {"baseurl": "https://x"}}, "rh_subscription": {"user": "u"}},
    }
    spec = {
        "osName": "ubuntu",
        "osVersion": "24.04",
        "cloudProvider": {"name": "aws", "spec": {"tags": {}, "zones": ["a"], "deep": {"er": {"still": 1}}}},
        "bootstrapConfig": half,
        "provisioningConfig": {"modules": {}},
        "provisioningUtility": "cloud-init",
    }
    api_version = "operatingsystemmanager.k8c.io/v1alpha1"
    return {"apiVersion": api_version, "kind": "OperatingSystemConfig", "metadata": _metadata("a"), "spec": spec}


def _applied(cluster: Cluster, body: Object, manager: str = FIELD_MANAGER) -> dict[str, Any]:
    found: dict[str, Any] = cluster.client().apply(applied_body(body, _DIGEST), manager)["metadata"]
    return found


@pytest.mark.parametrize("body", [_secret(), _secret() | {"immutable": True}, _config()], ids=lambda body: body["kind"])
def test_an_object_that_nobody_touched_is_known_by_its_metadata(management: Cluster, body: Object) -> None:
    assert is_as_applied(_applied(management, body), _DIGEST)
    _applied(management, body)
    assert is_as_applied(management.client().get(path_of(body))["metadata"], _DIGEST)
    assert not is_as_applied(management.client().get(path_of(body))["metadata"], _OTHER)


def test_what_others_add_beside_the_content_does_not_count(management: Cluster) -> None:
    _applied(management, _secret())
    change = {"metadata": {"annotations": {"example.com/note": "x"}, "finalizers": ["example.com/held"]}}
    assert is_as_applied(management.client().merge(path_of(_secret()), change)["metadata"], _DIGEST)


@pytest.mark.parametrize(
    "change",
    [
        {"data": {"cloud-config": b64encode(b"#evil").decode()}},
        {"data": {"cloud-config": None}},
        {"data": {"more": b64encode(b"x").decode()}},
        {"metadata": {"annotations": {"k8c.io/osp-version": "v2"}}},
        {"metadata": {"annotations": {"k8c.io/osp-version": None}}},
        {"metadata": {"annotations": {DIGEST: None}}},
        {"metadata": {"labels": {"app.kubernetes.io/managed-by": "Helm"}}},
        {"metadata": {"labels": None}},
        {"metadata": {"managedFields": [{}]}},
        {"immutable": True},
    ],
)
def test_a_change_of_others_shows_in_the_metadata(management: Cluster, change: Object) -> None:
    _applied(management, _secret())
    assert not is_as_applied(management.client().merge(path_of(_secret()), change)["metadata"], _DIGEST)


@pytest.mark.parametrize(
    "change",
    [
        {"osVersion": "26.04"},
        {"bootstrapConfig": {"files": None}},
        {"bootstrapConfig": {"units": [{"name": "b.service"}]}},
        {"bootstrapConfig": {"modules": {"yum_repos": {"k": None}}}},
        {"cloudProvider": {"spec": {"deep": {"er": {"more": 2}}}}},
    ],
)
def test_a_change_inside_a_configuration_shows_too(management: Cluster, change: Object) -> None:
    _applied(management, _config())
    assert not is_as_applied(management.client().merge(path_of(_config()), {"spec": change})["metadata"], _DIGEST)


def test_an_apply_of_others_that_takes_content_shows(management: Cluster) -> None:
    _applied(management, _secret())
    assert not is_as_applied(management.client().apply(_secret("#evil"), "kubectl")["metadata"], _DIGEST)


def test_a_digest_that_somebody_else_wrote_proves_nothing(management: Cluster) -> None:
    assert not is_as_applied(_applied(management, _secret(), "kubectl"), _DIGEST)


def test_an_object_without_metadata_of_ours_is_looked_at() -> None:
    assert not is_as_applied({"name": "a"}, _DIGEST)
