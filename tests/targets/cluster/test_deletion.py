"""Pools that go: what was made for them, then the finalizer, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from osm_gitops.kube.api import Clusters
from osm_gitops.model.live import CLEANUP_FINALIZER
from tests.apiserver.client import Object
from tests.cli.scenes import secret
from tests.targets.cluster.scene import (
    MACHINES,
    SETTINGS,
    Counting,
    EndedError,
    Scene,
    config_path,
    machine_path,
    ref,
    secret_path,
)

TOKENS = "/api/v1/namespaces/kube-system/secrets"


def _joins(there: Scene, name: str) -> tuple[str, str]:
    """The token and the kubeconfig of a pool as OSM makes them; their paths."""
    label = {"machinedeployment.k8s.io/name": f"kube-system-{name}"}
    token = f"bootstrap-token-{name[0] * 6}"
    there.osm.create(secret(token, "kube-system", {"token-id": "x"}, metadata={"labels": label}))
    kubeconfig = f"kube-system-{name}-kubelet-bootstrap-config"
    there.osm.create(secret(kubeconfig, "cloud-init-settings", {"kubeconfig": "x"}))
    return f"{TOKENS}/{token}", f"{SETTINGS}/{kubeconfig}"


def _delete(there: Scene, name: str, *others: str) -> Object:
    """Delete a MachineDeployment that is held by us and by others."""
    there.change(name, {"metadata": {"finalizers": [CLEANUP_FINALIZER, *others]}})
    return there.worker.client().delete(machine_path(name))


def test_a_pool_in_deletion_loses_all_that_was_made_for_it_the_bootstrap_secret_first(single: Scene) -> None:
    for name in ("a", "b"):
        single.pool(name)
    single.run()
    gone, stays = _joins(single, "b"), _joins(single, "a")
    since = single.now()
    _delete(single, "b")
    delivery = single.run()
    assert (delivery.written, delivery.failed) == ((ref("b"),), {})
    assert single.find(machine_path("b")) is None
    assert [single.find(path) for path in gone] == [None, None]
    assert all(single.find(path) for path in (*stays, secret_path("a"), config_path("a")))
    assert single.events(since) == [
        ("DELETED", "b-bootstrap-config"),
        ("DELETED", "b-config"),
        ("DELETED", "b-provisioning-config"),
        ("DELETED", "kube-system-b-kubelet-bootstrap-config"),
    ]


def test_our_finalizer_goes_alone_and_after_all_else(single: Scene) -> None:
    for name in ("a", "b"):  # one that needs the profile
        single.pool(name)
    single.run()
    _delete(single, "a", "foregroundDeletion", "a.example.com/other")
    counting = Counting(single.live.worker)
    single.live = Clusters(counting.as_api, counting.as_api)
    single.run()
    assert counting.writes[-1] == ("merge", "a")
    assert [verb for verb, _ in counting.writes[:-1]] == ["delete"] * 3
    kept = single.get(machine_path("a"))["metadata"]["finalizers"]
    assert kept == ["foregroundDeletion", "a.example.com/other"]
    counting.writes.clear()
    single.run()
    assert counting.writes == []


def test_what_osm_made_goes_and_a_strangers_secret_of_the_same_name_stays(single: Scene) -> None:
    single.pool("a")
    single.osm_wrote("a")
    edge = secret("edge-provider-script-a-kube-system", "cloud-init-settings", {"fetch-bootstrap-script": "x"})
    single.osm.create(edge)
    single.worker.client().delete(secret_path("a", "provisioning"))
    stranger = secret("a-kube-system-provisioning-config", "cloud-init-settings", {"theirs": "x"})
    single.osm.create(stranger, "kubectl")
    _delete(single, "a")
    delivery = single.run()
    assert single.find(machine_path("a")) is None
    assert single.find(secret_path("a")) is None
    assert single.find(f"{SETTINGS}/edge-provider-script-a-kube-system") is None
    assert single.find(secret_path("a", "provisioning")) is not None
    (note,) = delivery.notes
    assert note.startswith("Secret cloud-init-settings/a-kube-system-provisioning-config is not deleted")


def test_a_pool_that_stays_keeps_what_has_the_same_names(single: Scene) -> None:
    """``x-y`` in ``z`` and ``x`` in ``y-z`` share every name."""
    for namespace in ("y-z", "z"):
        single.worker.namespace(namespace)
    single.pool("x-y", namespace="z")
    single.run()
    single.pool("x", namespace="y-z", machine_set=False)
    path = "/apis/cluster.k8s.io/v1alpha1/namespaces/y-z/machinedeployments/x"
    single.worker.client().merge(path, {"metadata": {"finalizers": [CLEANUP_FINALIZER]}})
    single.worker.client().delete(path)
    single.run()
    assert single.find(path) is None
    assert single.find(f"{SETTINGS}/x-y-z-bootstrap-config") is not None


def test_a_pool_without_our_finalizer_is_pruned_once_it_is_gone(single: Scene) -> None:
    for name in ("a", "b"):
        single.pool(name)
    single.run(finalizers=False)
    single.worker.client().delete(machine_path("b"))
    since = single.now()
    assert single.run(finalizers=False).written[0] is None
    assert single.events(since) == [
        ("DELETED", "b-bootstrap-config"),
        ("DELETED", "b-config"),
        ("DELETED", "b-provisioning-config"),
    ]


def test_a_successor_of_the_same_name_meets_nothing_of_its_predecessor(single: Scene) -> None:
    single.pool("a")
    single.run()
    _delete(single, "a")
    planned = single.plan()
    single.change("a", {"metadata": {"finalizers": None}})  # somebody has no retries
    single.worker.client().delete(f"{MACHINES}/namespaces/kube-system/machinesets/a-1")
    single.pool("a")
    single.run(plan=planned)
    assert single.find(secret_path("a")) is None
    successor: dict[str, Any] = single.get(machine_path("a"))["metadata"]
    assert "finalizers" not in successor
    single.run()
    assert single.get(machine_path("a"))["metadata"]["uid"] == successor["uid"]
    assert single.find(secret_path("a")) is not None


@pytest.mark.parametrize("done", [False, True], ids=["before", "after"])
def test_a_clean_up_that_is_ended_at_any_write_is_finished_by_the_next_run(single: Scene, done: bool) -> None:
    single.pool("stays")
    for last in range(1, 7):
        name = f"{'abcdef'[last - 1]}-goes"
        single.pool(name)
        single.run()
        gone = _joins(single, name)
        _delete(single, name)
        there, api = single.live, single.live.worker
        counting = Counting(api, last, done=done)
        single.live = Clusters(counting.as_api, counting.as_api)
        with pytest.raises(EndedError):
            single.run()
        single.live = there
        assert single.run().failed == {}
        left = [*gone, machine_path(name), config_path(name), secret_path(name), secret_path(name, "provisioning")]
        assert [single.find(path) for path in left] == [None] * 6
