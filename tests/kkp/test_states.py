"""What runs do in a user cluster, by the state that KKP has it in."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Final

import pytest

from osm_gitops.errors import Code
from tests.apiserver.cluster import Cluster
from tests.apiserver.osm_deployment import lease_of_osm
from tests.apiserver.proxy import Proxy, during
from tests.faults import Expected, told
from tests.git.repos import git
from tests.kkp.scene import ID, Scene, add_pool, fill_with_pool, secrets_of, user_cluster

_POOL: Final = "/apis/cluster.k8s.io/v1alpha1/namespaces/kube-system/machinedeployments/workers"
_CREATING: Final = {"namespaceName": None, "phase": "Creating", "extendedHealth": None, "conditions": None}
_DOWN: Final = {"extendedHealth": {"apiserver": "HealthStatusDown"}}
_BOOT: Final = {"workers-kube-system-bootstrap-config", "workers-kube-system-provisioning-config"}
_KUBECONFIG: Final = "kube-system-workers-kubelet-bootstrap-config"
_KEPT_BY_KKP: Final = "kubermatic.k8c.io/cleanup"
"""A finalizer on Clusters, which stay while they are being deleted."""


def machine_of(server: Cluster) -> Mapping[str, Any]:
    found: Mapping[str, Any] = server.client().get(_POOL)
    return found


@pytest.mark.parametrize("to", ["to: cluster", "to: {git: {path: clusters}}"])
def test_a_cluster_that_kkp_is_creating_is_left_out_without_an_error(scene: Scene, worker: Cluster, to: str) -> None:
    user_cluster(scene.seed, worker, status=_CREATING)
    scene.fleet(to)
    for command in ("plan", "apply", "refresh", "status"):
        ran = scene.run(command)
        assert (ran.code, told(ran.err)) == (0, []), command
        assert f"{ID}: left out: it is not ready" in ran.err
    document = json.loads(scene.run("status", "--output", "json").out)
    assert [(each["name"], each["reason"].partition(":")[0]) for each in document["leftOut"]] == [
        (ID, "it is not ready")
    ]


def test_an_unhealthy_cluster_is_an_error_and_stops_no_other(
    scene: Scene, management: Cluster, worker: Cluster
) -> None:
    user_cluster(scene.seed, management, "sick", status=_DOWN)
    user_cluster(scene.seed, worker)
    fill_with_pool(management)
    fill_with_pool(worker)
    scene.fleet()
    for command in ("plan", "apply", "refresh", "status"):
        ran = scene.run(command)
        sick = Expected(Code.KKP_CLUSTER_UNHEALTHY, "cluster sick", "apiserver Down", scene.seed.server.server)
        assert ran.code == 1
        assert told(ran.err) == [sick], command
    assert secrets_of(worker).keys() == {*_BOOT, _KUBECONFIG}
    assert secrets_of(management) == {}


def test_an_unhealthy_cluster_keeps_what_git_has_of_it(scene: Scene, worker: Cluster) -> None:
    found = user_cluster(scene.seed, worker)
    fill_with_pool(worker)
    scene.fleet("to: {git: {path: clusters}}")
    assert scene.run("apply").code == 0
    before = sorted((scene.folder / "clusters" / ID).rglob("*"))
    scene.seed.report(found, _DOWN)
    ran = scene.run("apply")
    assert ran.code == 1
    assert told(ran.err) == [Expected(Code.KKP_CLUSTER_UNHEALTHY, ID)]
    assert sorted((scene.folder / "clusters" / ID).rglob("*")) == before
    assert before


def test_a_cluster_that_is_being_updated_is_worked_on(scene: Scene, worker: Cluster) -> None:
    updating = {"phase": "Updating", "conditions": {"UpdateProgress": {"status": "True", "reason": "OldNodes"}}}
    user_cluster(scene.seed, worker, status=updating)
    fill_with_pool(worker)
    scene.fleet()
    assert scene.run("apply").code == 0
    assert secrets_of(worker).keys() == {*_BOOT, _KUBECONFIG}


def test_a_paused_cluster_is_planned_and_not_written(scene: Scene, worker: Cluster) -> None:
    user_cluster(scene.seed, worker, spec={"pause": True, "pauseReason": "moving"})
    fill_with_pool(worker)
    scene.fleet()
    plan, ran = scene.plan()
    assert ran.code == 0
    assert plan[ID]["summary"]["create"] == 5
    assert [each["code"] for each in plan[ID]["warnings"]] == [Code.KKP_CLUSTER_PAUSED.value]
    for command in ("apply", "refresh"):
        ran = scene.run(command)
        assert (ran.code, told(ran.err)) == (0, []), command
        assert f"{ID}: left out: it is paused in KKP (moving)" in ran.err
    assert secrets_of(worker) == {}
    assert scene.run("status").code == 0


def test_tokens_of_a_paused_cluster_can_be_renewed_without_anything_else(scene: Scene, worker: Cluster) -> None:
    found = user_cluster(scene.seed, worker)
    loaded = fill_with_pool(worker)
    scene.fleet()
    assert scene.run("apply").code == 0
    scene.seed.change(found, {"pause": True})
    add_pool(loaded, "new")
    worker.client().delete(f"/api/v1/namespaces/cloud-init-settings/secrets/{_KUBECONFIG}")
    scene.fleet(whilePaused="renew")
    assert scene.run("apply").code == 0
    # The new pool gets a token and a kubeconfig, but no configuration.
    assert secrets_of(worker).keys() == {*_BOOT, _KUBECONFIG, "kube-system-new-kubelet-bootstrap-config"}
    worker.client().delete(f"/api/v1/namespaces/cloud-init-settings/secrets/{_KUBECONFIG}")
    assert scene.run("refresh").code == 0
    assert _KUBECONFIG in secrets_of(worker)


@pytest.mark.parametrize("command", ["apply", "refresh"])
def test_a_cluster_that_is_paused_in_mid_run_is_not_written(
    scene: Scene, worker: Cluster, through: Callable[[Cluster], Proxy], command: str
) -> None:
    proxy = through(worker)
    found = user_cluster(scene.seed, proxy.cluster)
    fill_with_pool(worker)
    scene.fleet()
    pause = during(lambda: scene.seed.change(found, {"pause": True, "pauseReason": "moving"}))
    proxy.when(pause, path="/machinedeployments")
    ran = scene.run(command)
    assert ran.code == 1
    paused = Expected(Code.KKP_STATE_CHANGED, ID, "was ready", "is paused now (moving)")
    assert told(ran.err) == [paused]
    assert secrets_of(worker) == {}
    scene.seed.change(found, {"pause": False})
    assert scene.run(command).code == 0
    assert secrets_of(worker)


@pytest.mark.parametrize("commit", ["cluster", "run"])
def test_git_is_not_written_for_clusters_that_are_paused_or_go_in_mid_run(
    scene: Scene, management: Cluster, worker: Cluster, through: Callable[[Cluster], Proxy], commit: str
) -> None:
    proxy = through(worker)
    found, gone = user_cluster(scene.seed, proxy.cluster), user_cluster(scene.seed, proxy.cluster, "gone")
    user_cluster(scene.seed, management, "other")
    fill_with_pool(worker)
    fill_with_pool(management)

    def change() -> None:
        scene.seed.change(found, {"pause": True})
        scene.seed.server.client().delete(gone.path)

    scene.fleet(f"to: {{git: {{path: clusters, commit: {commit}}}}}")
    proxy.when(during(change), path="/machinedeployments")
    ran = scene.run("apply", "--jobs", "1")
    assert ran.code == 1
    paused = Expected(Code.KKP_STATE_CHANGED, f"cluster {ID}", "is paused now")
    assert told(ran.err) == [paused, Expected(Code.KKP_STATE_CHANGED, "cluster gone", "is gone now")]
    assert {each.name for each in (scene.folder / "clusters").iterdir()} == {"other"}


def test_a_paused_cluster_can_be_written(scene: Scene, worker: Cluster) -> None:
    user_cluster(scene.seed, worker, spec={"pause": True})
    fill_with_pool(worker)
    scene.fleet(whilePaused="write")
    ran = scene.run("apply")
    assert (ran.code, told(ran.err)) == (0, [])
    assert secrets_of(worker).keys() == {*_BOOT, _KUBECONFIG}


def test_git_is_not_written_for_a_paused_cluster(scene: Scene, worker: Cluster) -> None:
    user_cluster(scene.seed, worker, spec={"pause": True})
    fill_with_pool(worker)
    for paused in ("plan", "renew"):
        scene.fleet("to: {git: {path: clusters}}", whilePaused=paused)
        assert scene.run("apply").code == 0
        assert not (scene.folder / "clusters").exists()
    scene.fleet("to: {git: {path: clusters}}", whilePaused="write")
    assert scene.run("apply").code == 0
    assert (scene.folder / "clusters" / ID).is_dir()


def test_a_cluster_that_is_being_deleted_is_only_cleaned_up(scene: Scene, worker: Cluster) -> None:
    found = user_cluster(scene.seed, worker, finalizers=[_KEPT_BY_KKP])
    loaded = fill_with_pool(worker)
    scene.fleet()
    assert scene.run("apply").code == 0
    add_pool(loaded, "new")
    client = worker.client()
    scene.seed.server.client().delete(found.path)
    try:
        before = secrets_of(worker)
        ran = scene.run("apply")
        assert (ran.code, told(ran.err)) == (0, [])
        assert secrets_of(worker) == before  # nothing for the new pool, not even a token
        assert not client.get(_POOL.replace("workers", "new"))["metadata"].get("finalizers")
        plan, _ = scene.plan()
        assert plan[ID]["changes"] == []
        assert [each["code"] for each in plan[ID]["warnings"]] == [Code.KKP_CLUSTER_DELETED.value]
        client.delete(_POOL)
        assert machine_of(worker)["metadata"]["deletionTimestamp"]
        plan, _ = scene.plan()
        assert {each["action"] for each in plan[ID]["changes"]} == {"delete", "update"}
        assert scene.run("refresh").code == 0
        assert secrets_of(worker) == {}
        names = [each["metadata"]["name"] for each in client.get(_POOL.rpartition("/")[0])["items"]]
        assert names == ["new"]
    finally:
        scene.seed.server.client().merge(found.path, {"metadata": {"finalizers": None}})


def test_git_keeps_what_it_has_of_a_cluster_that_is_being_deleted(scene: Scene, worker: Cluster) -> None:
    found = user_cluster(scene.seed, worker, finalizers=[_KEPT_BY_KKP])
    fill_with_pool(worker)
    scene.fleet("to: {git: {path: clusters}}")
    assert scene.run("apply").code == 0
    before = sorted((scene.folder / "clusters" / ID).rglob("*"))
    worker.client().delete(_POOL)
    scene.seed.server.client().delete(found.path)
    try:
        ran = scene.run("apply")
        assert (ran.code, told(ran.err)) == (0, [])
        assert f"{ID}: left out: it is being deleted" in ran.err
        scene.seed.report(found, _DOWN)
        ran = scene.run("apply")
        assert (ran.code, told(ran.err)) == (0, [])
        assert "its API server is not up" in ran.err
    finally:
        scene.seed.server.client().merge(found.path, {"metadata": {"finalizers": None}})
    assert sorted((scene.folder / "clusters" / ID).rglob("*")) == before


def test_a_cluster_that_is_gone_is_no_error_and_git_keeps_its_folder(
    scene: Scene, management: Cluster, worker: Cluster
) -> None:
    found = user_cluster(scene.seed, worker)
    user_cluster(scene.seed, management, "other")
    fill_with_pool(worker)
    fill_with_pool(management)
    scene.fleet("to: {git: {path: clusters}}")
    assert scene.run("apply").code == 0
    scene.seed.server.client().delete(found.path)
    left = Expected(Code.KKP_FOLDER_WITHOUT_CLUSTER, f"clusters/{ID}", f"cluster {ID}", "git rm")
    for ran in (scene.plan()[1], scene.run("apply")):
        assert ran.code == 0
        assert told(ran.err) == [left]
    assert {each.name for each in (scene.folder / "clusters").iterdir()} == {ID, "other"}
    # What a run works on is not what the fleet has.
    assert told(scene.plan("--cluster", "other")[1].err) == [left]
    git(scene.folder, "rm", "-r", "--quiet", f"clusters/{ID}")
    assert told(scene.plan()[1].err) == []


def test_a_cluster_of_another_seed_controller_is_worked_on_only_if_asked_for(scene: Scene, worker: Cluster) -> None:
    user_cluster(scene.seed, worker, labels={"worker-name": "alice"})
    fill_with_pool(worker)
    scene.fleet()
    ran = scene.run("apply")
    assert (ran.code, told(ran.err)) == (0, [])
    assert f"{ID}: left out: its label worker-name is alice" in ran.err
    assert secrets_of(worker) == {}
    scene.fleet(select={"labels": {"worker-name": "alice"}})
    assert scene.run("apply").code == 0
    assert secrets_of(worker).keys() == {*_BOOT, _KUBECONFIG}


@pytest.mark.parametrize("to", ["to: cluster", "to: {git: {path: clusters}}"])
def test_beside_operating_system_manager_runs_only_plan(scene: Scene, worker: Cluster, to: str) -> None:
    found = user_cluster(scene.seed, worker, replicas=1)
    fill_with_pool(worker)
    scene.fleet(to)
    plan, ran = scene.plan()
    assert ran.code == 0
    assert [each["code"] for each in plan[ID]["warnings"]] == [Code.OSM_RUNS.value]
    ran = scene.run("apply")
    running = Expected(Code.OSM_RUNS, ID, f"Deployment {found.namespace}/operating-system-manager", "switch-off")
    assert ran.code == 1
    assert told(ran.err) == [running]
    assert secrets_of(worker) == {}
    assert not (scene.folder / "clusters").exists()
    scene.seed.scale(found, 0)
    assert scene.run("apply").code == 0


def test_replicas_that_kkp_wants_count_as_running(scene: Scene, worker: Cluster) -> None:
    found = user_cluster(scene.seed, worker)
    scene.seed.server.client().merge(found.deployment, {"spec": {"replicas": 1}})
    fill_with_pool(worker)
    scene.fleet()
    ran = scene.run("apply")
    assert ran.code == 1
    assert told(ran.err) == [Expected(Code.OSM_RUNS, ID, "0 of 1 replicas")]
    assert secrets_of(worker) == {}


def test_a_lease_that_is_renewed_in_the_cluster_counts_as_running(scene: Scene, worker: Cluster) -> None:
    user_cluster(scene.seed, worker)
    fill_with_pool(worker)
    worker.client().create(lease_of_osm(datetime.now(UTC)))
    scene.fleet()
    ran = scene.run("apply")
    assert ran.code == 1
    assert told(ran.err) == [Expected(Code.OSM_RUNS, ID, "Lease kube-system/operating-system-manager")]
    assert secrets_of(worker) == {}
