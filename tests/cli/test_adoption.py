"""A cluster that Operating System Manager has run on changes hands: nothing that machines boot with changes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.apiserver.after_osm import AfterOsm, after_osm, recorded_authority, with_machine_sets
from tests.apiserver.client import Object, path_of
from tests.apiserver.cluster import Cluster
from tests.apiserver.osm_deployment import kubeconfig_with, mounted, osm
from tests.cli.running import Ran, osm_gitops
from tests.cli.scenes import secret

_BOOT = ("OperatingSystemConfig", "Secret")
_REVISION = "k8c.io/machine-deployment-revision"


@pytest.fixture
def loaded(management: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AfterOsm:
    """The recorded cluster with MachineSets and OSM switched off, and a repository made of it, which is the folder."""
    monkeypatch.setenv("KUBECONFIG", str(management.kubeconfig(tmp_path / "kubeconfig")))
    loaded = with_machine_sets(after_osm(management))
    mounts, volumes = mounted(("/etc/kube", "kube", {"secret": {"secretName": "osm-kubeconfig"}}))
    flags = ("-namespace=kube-system", "-external-cloud-provider", "-kubeconfig=/etc/kube/kubeconfig")
    management.client().create(
        secret("osm-kubeconfig", "kube-system", {"kubeconfig": kubeconfig_with(recorded_authority())})
    )
    management.client().create(osm(*flags, container={"volumeMounts": mounts}, volumes=volumes, replicas=0))
    ran = osm_gitops("init", "nodes", "--from", "cluster")
    assert ran.code == 0, ran.err
    monkeypatch.chdir(tmp_path / "nodes")
    return loaded


def _plan() -> dict[str, Any]:
    ran = osm_gitops("plan", "-o", "json")
    assert ran.code == 0, ran.err
    (cluster,) = json.loads(ran.out)["clusters"]
    return dict(cluster)


def _apply() -> Ran:
    ran = osm_gitops("apply", "--yes")
    assert ran.code == 0, ran.err
    return ran


def _live(loaded: AfterOsm) -> dict[tuple[str, str, str], Object]:
    """The boot objects of the recording, as the cluster has them now."""
    return {
        key: loaded.management.client().get(path_of(body))
        for key, body in loaded.objects.items()
        if key[0] in _BOOT
        and key[2].endswith(("-kube-system-config", "-system-bootstrap-config", "-provisioning-config"))
    }


def _content(body: Object) -> dict[str, Any]:
    annotations = {key: value for key, value in body["metadata"]["annotations"].items() if key.startswith("k8c.io/")}
    return {key: body.get(key) for key in ("spec", "data", "type")} | annotations


def test_the_first_plan_changes_nothing_but_labels(loaded: AfterOsm) -> None:
    assert len(loaded.pools()) == 5
    plan = _plan()
    changes = [change for change in plan["changes"] if change["kind"] in {*_BOOT, "OperatingSystemProfile"}]
    booted = [change for change in changes if not change["name"].startswith("bootstrap-token-")]
    assert {change["action"] for change in booted} <= {"update", "unchanged"}
    for change in booted:
        if change["action"] == "update":
            assert change["reason"].startswith(("only metadata: ", "takes over the kubeconfig of another writer"))


def test_apply_takes_over_in_place_and_then_all_is_well(loaded: AfterOsm) -> None:
    before = _live(loaded)
    _apply()
    after = _live(loaded)
    assert {key: _content(body) for key, body in after.items()} == {key: _content(body) for key, body in before.items()}
    # Nothing was without a Secret for a moment: immutable ones are labelled as they are.
    assert {key: body["metadata"]["uid"] for key, body in after.items()} == {
        key: body["metadata"]["uid"] for key, body in before.items()
    }
    assert all(body["metadata"]["labels"]["app.kubernetes.io/managed-by"] == "osm-gitops" for body in after.values())
    assert osm_gitops("plan", "--detailed-exitcode").code == 0
    ran = osm_gitops("status", "--detailed-exitcode", "-o", "json")
    assert ran.code == 0, ran.out
    (cluster,) = json.loads(ran.out)["clusters"]
    assert (cluster["trouble"], cluster["lastRunGood"]) == (False, True)
    for pool in cluster["pools"]:
        assert pool["config"]["ours"] is pool["bootstrapSecret"]["ours"] is True
        assert pool["token"]["secondsLeft"] > 12 * 3600


def test_stale_secrets_beside_a_newer_configuration_are_healed(loaded: AfterOsm) -> None:
    """OSM stays stuck with them for ever (OSM issue 567)."""
    client = loaded.management.client()
    key = ("Secret", "cloud-init-settings", "pool-00000-kube-system-bootstrap-config")
    right = loaded.objects[key]
    client.delete(path_of(right))
    metadata = {name: right["metadata"][name] for name in ("name", "namespace")}
    annotations = right["metadata"]["annotations"] | {_REVISION: "0"}
    stale = loaded.create(
        {**right, "metadata": {**metadata, "annotations": annotations}, "data": {"cloud-config": "c3RhbGU="}}
    )
    assert stale["immutable"] is True
    told = osm_gitops("status")
    assert f"Secret {key[1]}/{key[2]} and the OperatingSystemConfig are from different states of the pool" in told.out
    _apply()
    healed = client.get(path_of(right))
    assert _content(healed) == _content(right)
    assert healed["metadata"]["uid"] != stale["metadata"]["uid"]
    assert "from different states" not in osm_gitops("status").out


def test_a_changed_pool_is_written_in_spite_of_immutable_secrets(loaded: AfterOsm) -> None:
    client = loaded.management.client()
    body = loaded.objects["MachineDeployment", "kube-system", "pool-00000"]
    template = body["spec"]["template"]
    template["spec"]["versions"]["kubelet"] = "1.34.3"
    revision = {"machinedeployment.clusters.k8s.io/revision": "2"}
    client.merge(path_of(body), {"metadata": {"annotations": revision}, "spec": {"template": template}})
    loaded.machine_set("pool-00000", revision="2", template=template)
    ran = osm_gitops("apply", "--yes", "--from", "cluster", "--to", "cluster", *_settings())
    assert ran.code == 0, ran.err
    found = {}
    for part in ("bootstrap", "provisioning"):
        body = loaded.objects["Secret", "cloud-init-settings", f"pool-00000-kube-system-{part}-config"]
        found[part] = client.get(path_of(body))
        assert found[part]["metadata"]["annotations"][_REVISION] == "2"
        assert body["immutable"] is True
    assert found["provisioning"].get("immutable") is not True


def _settings() -> tuple[str, ...]:
    return "--external-cloud-provider", "--kubernetes-ca-bundle", "ca/default/kubernetes.pem"


def test_in_the_split_mode_both_clusters_are_named_and_taken_over(
    management: Cluster, worker: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kubeconfigs = [str(each.kubeconfig(tmp_path / each.name)) for each in (management, worker)]
    loaded = with_machine_sets(after_osm(management, worker))
    management.client().create(osm("-namespace=kube-system", "-external-cloud-provider", replicas=0))
    named = ("--kubeconfig", kubeconfigs[0], "--worker-cluster-kubeconfig", kubeconfigs[1])
    ran = osm_gitops("init", "nodes", "--from", "cluster", *named)
    assert ran.code == 0, ran.err
    assert "5 of 5 OperatingSystemConfigs are rendered as they are" in ran.err
    monkeypatch.chdir(tmp_path / "nodes")
    _apply()
    (cluster,) = json.loads(osm_gitops("status", "-o", "json").out)["clusters"]
    assert [host.split(" ", 1)[0] for host in cluster["hosts"]] == ["management", "worker"]
    assert [pool["trouble"] for pool in cluster["pools"]] == [False] * 5
    config = loaded.objects["OperatingSystemConfig", "kube-system", "pool-00000-kube-system-config"]
    labels = management.client().get(path_of(config))["metadata"]["labels"]
    assert labels["app.kubernetes.io/managed-by"] == "osm-gitops"
