"""``osm-gitops status``: how pools stand, for people and for programs, and nothing written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from osm_gitops.errors import Code
from tests.apiserver.after_osm import AfterOsm, after_osm, recorded_authority, with_machine_sets
from tests.apiserver.client import path_of
from tests.apiserver.cluster import Cluster
from tests.apiserver.osm_deployment import osm
from tests.cli.adopted import Adopted
from tests.cli.running import Ran, osm_gitops
from tests.cli.schemas import checked
from tests.faults import Expected, told

_SECRETS = "/api/v1/namespaces/cloud-init-settings/secrets"


@pytest.fixture
def loaded(management: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AfterOsm:
    """The recorded cluster, with MachineSets."""
    monkeypatch.setenv("KUBECONFIG", str(management.kubeconfig(tmp_path / "kubeconfig")))
    (tmp_path / "ca.pem").write_text(recorded_authority(), "utf-8")
    return with_machine_sets(after_osm(management))


def _status(*more: str) -> Ran:
    return osm_gitops("status", "--external-cloud-provider", "--kubernetes-ca-bundle", "ca.pem", *more)


def _told(*more: str) -> dict[str, Any]:
    ran = _status("-o", "json", *more)
    assert ran.code == 0, ran.err
    document = checked("status", ran.out)
    assert document["formatVersion"] == "2.1"
    (cluster,) = document["clusters"]
    return dict(cluster)


def _pool(cluster: dict[str, Any], name: str) -> dict[str, Any]:
    return dict(next(pool for pool in cluster["pools"] if pool["name"] == name))


def test_what_osm_left_is_in_step_with_what_would_be_rendered(loaded: AfterOsm) -> None:
    cluster = _told()
    assert [pool["name"] for pool in cluster["pools"]] == list(loaded.pools())
    for pool in cluster["pools"]:
        for part in ("config", "bootstrapSecret", "provisioningSecret"):
            assert (pool[part]["present"], pool[part]["inStep"]) == (True, True)
        assert (pool["kubeconfigSecret"]["present"], pool["kubeconfigSecret"]["inStep"]) == (True, None)
        assert pool["gate"] == {
            "accepts": True,
            "revision": "1",
            "secretRevision": "1",
            "state": "ready",
            "reason": "",
        }
        assert pool["token"]["secondsLeft"] == 0  # the recorded ones have ended
        assert pool["troubles"] == [trouble for trouble in pool["troubles"] if "its token expired" in trouble]
    assert [finding["kind"] for finding in cluster["findings"] if finding["trouble"]] == []
    assert (cluster["lastRun"], cluster["problems"]) == (None, [])
    assert [pool["name"] for pool in _told("--only", "*-0000[13]")["pools"]] == ["pool-00001", "pool-00003"]


def test_a_narrowed_status_tells_of_the_chosen_pools_alone(loaded: AfterOsm) -> None:
    client = loaded.management.client()
    for name in ("pool-00001", "pool-00002"):
        body = loaded.objects["MachineDeployment", "kube-system", name]
        client.merge(path_of(body), {"metadata": {"finalizers": None}})
        client.delete(path_of(body))
    changed = {"metadata": {"annotations": {"k8c.io/machine-deployment-revision": "2"}}}
    for name in ("pool-00003", "pool-00004"):
        client.merge(f"{_SECRETS}/{name}-kube-system-provisioning-config", changed)

    def of_pools(*arguments: str) -> set[tuple[str, str]]:
        found = {(each["kind"], each["object"]) for each in _told(*arguments)["findings"]}
        return {each for each in found if each[0] in {"left-over", "stale-secret"}}

    every = {("left-over", f"pool kube-system/pool-0000{n}") for n in (1, 2)}
    every |= {("stale-secret", f"pool kube-system/pool-0000{n}") for n in (3, 4)}
    assert of_pools() == every
    assert of_pools("--only", "*-0000[13]") == {each for each in every if each[1][-1] in "13"}


def test_people_get_a_table_and_sentences_and_scripts_an_exit_code(loaded: AfterOsm) -> None:
    loaded.management.client().create(osm())
    ran = _status("--detailed-exitcode")
    assert ran.code == 2, ran.err
    lines = ran.out.splitlines()
    assert lines[0] == "Cluster default: 5 pools, 5 with problems"
    assert "  no run of osm-gitops so far" in lines
    assert any(line.startswith("  - Deployment kube-system/operating-system-manager: Operating") for line in lines)
    head = next(line for line in lines if line.startswith("POOL"))
    assert head.split() == ["POOL", "OSC", "BOOTSTRAP", "PROVISIONING", "KUBECONFIG", "GATE", "MACHINES", "TOKEN"]
    row = next(line for line in lines if line.startswith("kube-system/pool-00000 "))
    assert row.split()[1:] == ["ok", "ok", "ok", "exists", "open", "0", "expired"]


def test_machines_that_machine_controller_would_refuse_are_counted(loaded: AfterOsm) -> None:
    sets = loaded.objects["MachineSet", "kube-system", "pool-00001-1"]
    loaded.machine(sets, "runs")
    path = path_of(loaded.objects["MachineDeployment", "kube-system", "pool-00001"])
    revision = {"machinedeployment.clusters.k8s.io/revision": "2"}
    loaded.management.client().merge(path, {"metadata": {"annotations": revision}})
    newer = loaded.machine_set("pool-00001", revision="2")
    waiting = loaded.machine(newer, "waits", waits=True)
    pool = _pool(_told(), "pool-00001")
    assert (pool["machines"], pool["trouble"]) == (2, True)
    assert pool["waitingMachines"] == [
        {
            "namespace": "kube-system",
            "name": "waits",
            "since": waiting["metadata"]["creationTimestamp"],
            "revision": "2",
        }
    ]
    assert (pool["gate"]["accepts"], pool["gate"]["secretRevision"], pool["gate"]["revision"]) == (False, "1", "2")
    text = " ".join(pool["troubles"])
    assert "its bootstrap Secret has revision 1, but Machines have revision 2" in text
    assert "1 of its Machines wait for an instance and cannot get one, the first since 20" in text


def test_machines_of_an_older_template_wait_in_vain_too(loaded: AfterOsm) -> None:
    older = loaded.machine_set("pool-00001", revision="0")
    loaded.machine(older, "old", waits=True)
    loaded.machine(loaded.objects["MachineSet", "kube-system", "pool-00001-1"], "new", waits=True)
    pool = _pool(_told(), "pool-00001")
    assert pool["gate"]["accepts"] is True
    assert [machine["name"] for machine in pool["waitingMachines"]] in (["new", "old"], ["old", "new"])
    assert any("1 of its Machines wait for an instance and cannot" in trouble for trouble in pool["troubles"])


def test_what_is_missing_and_what_differs_is_told(loaded: AfterOsm) -> None:
    client = loaded.management.client()
    client.delete(f"{_SECRETS}/pool-00002-kube-system-bootstrap-config")
    client.delete(f"{_SECRETS}/pool-00003-kube-system-provisioning-config")
    old = loaded.objects["Secret", "cloud-init-settings", "pool-00003-kube-system-provisioning-config"]
    metadata = {key: old["metadata"][key] for key in ("name", "namespace", "annotations")}
    client.create({**old, "metadata": metadata, "data": {"cloud-config": "b2xk"}})
    cluster = _told()
    missing, different = _pool(cluster, "pool-00002"), _pool(cluster, "pool-00003")
    assert (missing["bootstrapSecret"]["present"], missing["bootstrapSecret"]["inStep"]) == (False, False)
    assert "missing: bootstrap Secret" in missing["troubles"]
    assert different["provisioningSecret"]["inStep"] is False
    assert any("its provisioning Secret differs from what is rendered" in each for each in different["troubles"])


def test_a_missing_kubeconfig_of_kubelets_is_trouble(loaded: AfterOsm) -> None:
    """OSM creates many pools at once without it, and machines of such a pool never join."""
    client = loaded.management.client()
    client.delete(f"{_SECRETS}/kube-system-pool-00002-kubelet-bootstrap-config")
    cluster = _told()
    missing, there = _pool(cluster, "pool-00002"), _pool(cluster, "pool-00003")
    assert missing["kubeconfigSecret"]["present"] is False
    assert any("missing: kubelet bootstrap kubeconfig Secret" in each for each in missing["troubles"])
    assert not any("kubeconfig" in each for each in there["troubles"])
    ran = _status("--only", "*-00002")
    row = next(line for line in ran.out.splitlines() if line.startswith("kube-system/pool-00002 "))
    assert row.split()[4] == "missing"


def test_a_kubeconfig_that_somebody_has_changed_is_trouble(adopted: Adopted) -> None:
    adopted.run("apply")
    settings = ("--external-cloud-provider", "--kubernetes-ca-bundle", str(adopted.folder / "ca.pem"))
    where = ("--kubeconfig", str(adopted.folder / "kubeconfig-admin"), "-o", "json")

    def told() -> dict[str, Any]:
        (cluster,) = checked("status", osm_gitops("status", *where, *settings).out)["clusters"]
        return _pool(cluster, "pool-00002")

    assert (told()["kubeconfigSecret"]["inStep"], told()["trouble"]) == (True, False)
    name = "kube-system-pool-00002-kubelet-bootstrap-config"
    adopted.osm.worker.client().merge(f"{_SECRETS}/{name}", {"data": {"kubeconfig": "YQ=="}})
    assert told()["kubeconfigSecret"]["inStep"] is False
    assert any("its kubelet bootstrap kubeconfig must be rewritten" in each for each in told()["troubles"])


def test_a_pool_that_cannot_be_rendered_says_why(loaded: AfterOsm) -> None:
    path = path_of(loaded.objects["MachineDeployment", "kube-system", "pool-00004"])
    annotations = {"k8c.io/operating-system-profile": "osp-gone"}
    loaded.management.client().merge(path, {"metadata": {"annotations": annotations}})
    pool = _pool(_told(), "pool-00004")
    assert pool["troubles"][0] == "it cannot be rendered"
    assert "osp-gone" in pool["errors"][0]["message"]
    assert (pool["config"]["present"], pool["config"]["inStep"]) == (True, None)


def test_who_may_not_read_is_told_so_and_it_is_no_absence(loaded: AfterOsm, tmp_path: Path) -> None:
    kubeconfig = loaded.management.kubeconfig(tmp_path / "reader", "reader")
    ran = _status("--kubeconfig", str(kubeconfig))
    assert ran.code == 1
    assert Expected(Code.REQUEST_REFUSED, "machinedeployments") in told(ran.err)
    assert "Cluster default: its pools could not be read\n" in ran.out
    for absence in ("missing", "no run of osm-gitops", "Blockers"):
        assert absence not in ran.out


def test_nothing_is_written_and_no_secret_told(loaded: AfterOsm) -> None:
    def everything() -> list[str]:
        client = loaded.management.client()
        return [
            client.text(f"{path}?resourceVersion=0")
            for path in (_SECRETS, "/api/v1/namespaces/kube-system/secrets", "/api/v1/configmaps")
        ]

    before = [json.loads(text)["items"] for text in everything()]
    shown = [_status("-o", form).out for form in ("text", "json")]
    assert [json.loads(text)["items"] for text in everything()] == before
    for found in (each for items in before for each in items if each.get("type") == "bootstrap.kubernetes.io/token"):
        assert all(found["data"]["token-secret"] not in text for text in shown)
