"""Manifests: annotations for Flux and Argo CD, what servers add is left out, empty parts too."""

from __future__ import annotations

import json
from base64 import b64decode
from pathlib import Path

from osm_gitops.model.desired import Side
from osm_gitops.model.settings import Settings
from osm_gitops.render.manifests import profile_object
from tests.cli.scenes import pool, profile
from tests.render.middle import inputs_of, rendered

_SUBSTITUTE = "kustomize.toolkit.fluxcd.io/substitute"
_FORCE = "kustomize.toolkit.fluxcd.io/force"
_WAVE = "argocd.argoproj.io/sync-wave"


def test_a_configuration_goes_to_the_management_cluster_and_secrets_to_the_worker(tmp_path: Path) -> None:
    objects = rendered(inputs_of(tmp_path, profile(), pool()), Settings(namespace="kube-system"))
    assert [wanted.side for wanted in objects.values()] == [Side.MANAGEMENT, Side.WORKER, Side.WORKER]
    assert {wanted.ref.namespace for wanted in objects.values()} == {"kube-system", "cloud-init-settings"}
    for wanted in objects.values():
        assert wanted.body["metadata"]["labels"] == {"app.kubernetes.io/managed-by": "osm-gitops"}


def test_the_bootstrap_secret_comes_after_all_others(tmp_path: Path) -> None:
    objects = rendered(inputs_of(tmp_path, profile(), pool()))
    waves = {name: wanted.body["metadata"]["annotations"][_WAVE] for name, wanted in objects.items()}
    assert waves["workers-kube-system-provisioning-config"] == "0"
    assert waves["workers-kube-system-bootstrap-config"] == "1"


def test_boot_scripts_are_kept_from_substitution(tmp_path: Path) -> None:
    for wanted in rendered(inputs_of(tmp_path, profile(), pool())).values():
        assert wanted.body["metadata"]["annotations"][_SUBSTITUTE] == "disabled"


def test_secrets_are_immutable_only_when_asked(tmp_path: Path) -> None:
    inputs = inputs_of(tmp_path, profile(), pool())
    for immutable in (False, True):
        for wanted in rendered(inputs, Settings(immutable_secrets=immutable)).values():
            if wanted.ref.kind == "Secret":
                assert ("immutable" in wanted.body) is immutable
                assert (_FORCE in wanted.body["metadata"]["annotations"]) is immutable


def test_the_revision_is_written_only_where_the_pool_has_it(tmp_path: Path) -> None:
    revision = "k8c.io/machine-deployment-revision"
    given = {"without": {}, "with": {"machinedeployment.clusters.k8s.io/revision": ""}}
    for which, wanted in (("without", None), ("with", "")):
        inputs = inputs_of(tmp_path / which, profile(), pool(annotations=given[which]))
        for each in rendered(inputs).values():
            assert each.body["metadata"]["annotations"].get(revision) == wanted


def test_a_secret_holds_its_user_data_in_base64(tmp_path: Path) -> None:
    body = rendered(inputs_of(tmp_path, profile(), pool()))["workers-kube-system-bootstrap-config"].body
    assert body["type"] == "Opaque"
    assert list(body["data"]) == ["cloud-config"]
    assert b64decode(body["data"]["cloud-config"]).startswith(b"#cloud-config\n")


def test_what_is_empty_is_left_out_of_a_configuration(tmp_path: Path) -> None:
    body = rendered(inputs_of(tmp_path, profile(bootstrapConfig={"files": []}), pool()))
    spec = body["workers-kube-system-config"].body["spec"]
    assert spec["bootstrapConfig"] == {}
    assert list(spec["provisioningConfig"]) == ["files"]
    assert spec["cloudProvider"] == {"name": "hetzner", "spec": {"serverType": "cx22"}}


def test_a_profile_is_written_as_it_was_read_without_what_servers_add(tmp_path: Path) -> None:
    body = profile()
    body["metadata"] |= {
        "uid": "u",
        "resourceVersion": "1",
        "creationTimestamp": "2024-01-01T00:00:00Z",
        "generation": 4,
        "managedFields": [],
        "ownerReferences": [],
        "labels": {"team": "a"},
        "annotations": {"note": "b", "kubectl.kubernetes.io/last-applied-configuration": "{}"},
    }
    body["status"] = {"x": "y"}
    inputs = inputs_of(tmp_path, body)
    before = json.dumps(body)
    written = profile_object(inputs.profiles["kube-system", "osp-a"]).body
    assert written["metadata"] == {
        "name": "osp-a",
        "namespace": "kube-system",
        "labels": {"team": "a", "app.kubernetes.io/managed-by": "osm-gitops"},
        "annotations": {"note": "b", _SUBSTITUTE: "disabled", _WAVE: "0"},
    }
    assert written["spec"] == body["spec"]
    assert set(written) == {"apiVersion", "kind", "metadata", "spec"}
    assert json.dumps(body) == before
