"""What is in the way of a cluster's new owner, and what it lacks, is named with what to do."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

import pytest

from osm_gitops.context_ref import ContextRef
from osm_gitops.kube.api import Api, Clusters, connect
from osm_gitops.kube.kinds import Kind
from osm_gitops.model.status import Finding
from osm_gitops.pipeline.osm_activity import OsmActivity, read_osm_activity
from osm_gitops.pipeline.status.blockers import find_blockers
from osm_gitops.pipeline.status.snapshot import collect
from osm_gitops.report.mask import Masker
from tests.apiserver.after_osm import AfterOsm, after_osm
from tests.apiserver.client import Object, path_of
from tests.apiserver.cluster import Cluster
from tests.apiserver.osm_deployment import NAME, osm, osm_webhook, present, webhooks
from tests.cli.scenes import secret

_MUTATING = ("/mutate-v1alpha1-machinedeployment", "cluster.k8s.io", "machinedeployments")
_VALIDATING = ("/operatingsystemconfig", "operatingsystemmanager.k8c.io", "operatingsystemconfigs")
_SETTINGS = "/api/v1/namespaces/cloud-init-settings/secrets"


def _clusters(cluster: Cluster, tmp_path: Path, user: str = "admin") -> Clusters:
    api = connect(ContextRef(str(cluster.kubeconfig(tmp_path / user, user))), os.environ)
    return Clusters(api, api)


def _osm(live: Clusters) -> OsmActivity:
    return read_osm_activity(live.management, "kube-system", datetime.now(UTC))


def _found(cluster: Cluster, tmp_path: Path) -> dict[str, Finding]:
    live = _clusters(cluster, tmp_path)
    seen = collect(live, "kube-system")
    findings = [each for each in find_blockers(live, _osm(live), seen) if each.kind != "not-ours"]
    assert len({finding.kind for finding in findings}) == len(findings)
    # What is told is our own words: none of them is taken for a secret.
    assert all(Masker().problem(finding.problem) == finding.problem for finding in findings)
    return {finding.kind: finding for finding in findings}


def _endpoints(service: str) -> Object:
    """A service's endpoints, one of which is ready."""
    labels = {"kubernetes.io/service-name": service}
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {"name": f"{service}-1", "namespace": "kube-system", "labels": labels},
        "addressType": "IPv4",
        "endpoints": [{"addresses": ["10.0.0.1"], "conditions": {"ready": True}}],
    }


@pytest.fixture
def loaded(management: Cluster) -> AfterOsm:
    return after_osm(management)


def test_a_cluster_that_osm_has_left_in_order_has_nothing_in_the_way(
    management: Cluster, loaded: AfterOsm, tmp_path: Path
) -> None:
    assert len(loaded.pools()) == 5
    management.client().create(osm(replicas=0))
    assert _found(management, tmp_path) == {}


def test_a_controller_that_still_runs_is_named_and_its_webhook_is_none(
    management: Cluster, loaded: AfterOsm, tmp_path: Path
) -> None:
    assert len(loaded.pools()) == 5
    for body in (osm(replicas=2), osm_webhook()):
        management.client().create(body)
    (finding,) = _found(management, tmp_path).values()
    assert (finding.kind, finding.trouble) == ("osm-running", True)
    assert "Deployment kube-system/operating-system-manager: " in str(finding.problem)
    assert (
        "kubectl --namespace kube-system scale deployment operating-system-manager --replicas 0" in finding.problem.fix
    )


def test_a_webhook_that_nobody_answers_is_trouble(management: Cluster, tmp_path: Path) -> None:
    management.namespace("cloud-init-settings")
    client = management.client()
    client.create(secret("cloud-init-getter-token", "cloud-init-settings", {"token": "x"}))
    hook = webhooks("MutatingWebhookConfiguration", "operatingsystemmanager", [_MUTATING])
    with present(management, hook):
        (finding,) = _found(management, tmp_path).values()
        assert (finding.kind, finding.trouble) == ("osm-webhook", True)
        assert "its service has no endpoint, so every write of machinedeployments fails" in finding.problem.what
        assert "kubectl delete mutatingwebhookconfiguration operatingsystemmanager" in finding.problem.fix
        client.create(_endpoints(f"{NAME}-webhook"))
        (finding,) = _found(management, tmp_path).values()
        assert (finding.kind, finding.trouble) == ("osm-webhook", False)
        assert "it checks every write of machinedeployments" in finding.problem.what


def test_webhooks_of_others_and_those_that_let_pass_are_none(
    management: Cluster, loaded: AfterOsm, tmp_path: Path
) -> None:
    assert len(loaded.pools()) == 5
    of_machine_controller = webhooks(
        "MutatingWebhookConfiguration", "machine-controller", [("/machinedeployments", *_MUTATING[1:])]
    )
    of_machine_controller["webhooks"][0]["clientConfig"]["service"]["name"] = "machine-controller-webhook"
    lenient = webhooks("ValidatingWebhookConfiguration", "lenient", [_VALIDATING], policy="Ignore")
    with present(management, of_machine_controller), present(management, lenient):
        assert _found(management, tmp_path) == {}


def test_pools_that_hang_in_their_deletion_are_named(management: Cluster, loaded: AfterOsm, tmp_path: Path) -> None:
    body = loaded.objects["MachineDeployment", "kube-system", "pool-00003"]
    management.client().delete(path_of(body))
    (finding,) = _found(management, tmp_path).values()
    assert finding.kind == "held-deletion"
    assert "MachineDeployment kube-system/pool-00003: is being deleted since 20" in str(finding.problem)


def test_a_secret_that_is_older_than_its_configuration_is_named(
    management: Cluster, loaded: AfterOsm, tmp_path: Path
) -> None:
    config = loaded.objects["OperatingSystemConfig", "kube-system", "pool-00002-kube-system-config"]
    annotations = {"k8c.io/machine-deployment-revision": "2"}
    management.client().merge(path_of(config), {"metadata": {"annotations": annotations}})
    path = f"{_SETTINGS}/pool-00002-kube-system-provisioning-config"
    management.client().merge(path, {"metadata": {"annotations": annotations}})
    (finding,) = _found(management, tmp_path).values()
    assert finding.kind == "stale-secret"
    assert (
        "Secret cloud-init-settings/pool-00002-kube-system-bootstrap-config and the OperatingSystemConfig are"
        in finding.problem.what
    )


def test_what_is_left_of_a_pool_that_is_gone_is_named(management: Cluster, loaded: AfterOsm, tmp_path: Path) -> None:
    body = loaded.objects["MachineDeployment", "kube-system", "pool-00001"]
    management.client().merge(path_of(body), {"metadata": {"finalizers": None}})
    management.client().delete(path_of(body))
    (finding,) = _found(management, tmp_path).values()
    assert finding.kind == "left-over"
    assert finding.problem.about == "pool kube-system/pool-00001"
    for name in ("bootstrap-config", "provisioning-config"):
        assert f"Secret cloud-init-settings/pool-00001-kube-system-{name}" in finding.problem.what


def test_a_pool_without_a_profile_is_worth_knowing_and_no_trouble(
    management: Cluster, loaded: AfterOsm, tmp_path: Path
) -> None:
    body = loaded.objects["MachineDeployment", "kube-system", "pool-00004"]
    management.client().merge(path_of(body), {"metadata": {"annotations": {"k8c.io/operating-system-profile": None}}})
    (finding,) = _found(management, tmp_path).values()
    assert (finding.kind, finding.trouble) == ("no-profile", False)


def test_what_machines_need_to_boot_is_missed(management: Cluster, tmp_path: Path) -> None:
    assert [finding.kind for finding in _found(management, tmp_path).values()] == ["no-namespace"]
    management.namespace("cloud-init-settings")
    assert [finding.kind for finding in _found(management, tmp_path).values()] == ["no-getter-token"]
    management.client().create(secret("cloud-init-getter-token", "cloud-init-settings", {}))
    (finding,) = _found(management, tmp_path).values()
    assert "has no token" in finding.problem.what


def test_what_may_not_be_looked_at_is_never_taken_for_an_absence(management: Cluster, tmp_path: Path) -> None:
    live = _clusters(management, tmp_path, "reader")
    findings = list(find_blockers(live, _osm(live), None))
    assert {finding.kind for finding in findings} == {"unknown"}
    assert any("deployments" in str(finding.problem) for finding in findings)
    assert any("mutatingwebhookconfigurations" in str(finding.problem) for finding in findings)


def test_that_objects_are_not_labelled_yet_is_no_trouble(management: Cluster, loaded: AfterOsm, tmp_path: Path) -> None:
    assert len(loaded.pools()) == 5
    live = _clusters(management, tmp_path)
    (finding,) = find_blockers(live, _osm(live), collect(live, "kube-system"))
    assert (finding.kind, finding.trouble) == ("not-ours", False)
    assert finding.problem.what.startswith("5 pools with objects that osm-gitops did not write")


def test_few_requests_are_made_however_many_pools_there_are(
    management: Cluster, loaded: AfterOsm, tmp_path: Path
) -> None:
    assert len(loaded.pools()) == 5
    live = _clusters(management, tmp_path)
    list(find_blockers(live, _osm(live), collect(live, "kube-system")))
    assert live.management.requests <= 14


class _WithoutKinds:
    """An API server that knows none of our kinds; a real one cannot forget them for one test."""

    display = "https://example.com"

    def serves(self, kind: Kind) -> bool:
        return kind.group == ""

    def list(self, kind: Kind, *_: object, **__: object) -> list[object]:
        assert kind.group not in {"cluster.k8s.io", "operatingsystemmanager.k8c.io"}
        return []

    def get(self, *_: object, **__: object) -> Object:
        return {"data": {"token": "eA=="}}


def test_kinds_that_the_api_server_does_not_know_are_named_with_who_brings_them() -> None:
    api = cast("Api", _WithoutKinds())
    findings = list(find_blockers(Clusters(api, api), OsmActivity(), None))
    assert [finding.kind for finding in findings] == ["no-kind"] * 5
    assert [finding.problem.fix for finding in findings][1:3] == [
        "Apply its CRD, which osm-gitops install prints",
        "Install machine-controller",
    ]
