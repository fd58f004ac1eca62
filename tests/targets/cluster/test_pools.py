"""What a worker cluster tells of its pools."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from osm_gitops.model.live import CLEANUP_FINALIZER, Gate
from osm_gitops.model.objects import ObjectRef
from osm_gitops.targets.cluster.pools import read_pools, read_pools_of_tree
from tests.apiserver.after_osm import after_osm, with_machine_sets
from tests.apiserver.cluster import Cluster
from tests.targets.cluster.scene import MACHINES, Scene, api_of, machine_path, machines_of, ref


def test_a_pool_tells_its_gate_its_machines_and_which_of_them_wait(single: Scene) -> None:
    single.pool("a")
    old = single.osm.machine_set("a", revision="7")
    now = single.osm.objects["MachineSet", "kube-system", "a-1"]
    for machine_set, name, waits in ((now, "runs", False), (now, "waits", True), (old, "waits-for-7", True)):
        single.osm.machine(machine_set, name, waits=waits)
    single.osm.create(
        {
            "apiVersion": "cluster.k8s.io/v1alpha1",
            "kind": "Machine",
            "metadata": {"name": "stray", "namespace": "kube-system"},
            "spec": {},
        }
    )
    pool = read_pools(single.live.worker, single.machines())[ref("a")]
    found = single.get(machine_path("a"))["metadata"]
    assert (pool.uid, pool.resource_version, pool.generation) == (found["uid"], found["resourceVersion"], 1)
    assert (pool.gate, pool.revision, pool.machines) == (Gate.READY, "1", 3)
    assert pool.sets == (now["metadata"]["uid"],)
    assert {(each.ref.name, each.revision) for each in pool.waiting} == {("waits", "1"), ("waits-for-7", "7")}


def test_machine_sets_of_others_are_none_of_a_pool(single: Scene) -> None:
    single.pool("a", machine_set=False)
    single.pool("b")
    stolen = single.osm.objects["MachineSet", "kube-system", "b-1"]
    owner = single.get(machine_path("a"))["metadata"]["uid"]
    reference = stolen["metadata"]["ownerReferences"][0]
    # Owned, but not controlled: machine-controller would not take it for its own.
    second = reference | {"uid": owner, "name": "a", "controller": False, "blockOwnerDeletion": False}
    path = f"{MACHINES}/namespaces/kube-system/machinesets/b-1"
    single.worker.client().merge(path, {"metadata": {"ownerReferences": [reference, second]}})
    pools = read_pools(single.live.worker, single.machines())
    assert (pools[ref("a")].gate, pools[ref("b")].gate) == (Gate.WAITING, Gate.READY)


def test_all_pools_of_a_cluster_take_two_requests(single: Scene) -> None:
    for number in range(12):
        single.pool(f"pool-{number}")
    machines = single.machines()
    before = single.live.worker.requests
    pools = read_pools(single.live.worker, machines)
    assert single.live.worker.requests - before == 2
    assert {pool.gate for pool in pools.values()} == {Gate.READY}


def test_pools_that_osm_left_are_ready(worker: Cluster, tmp_path: Path) -> None:
    with_machine_sets(after_osm(worker))
    pools = read_pools(api_of(worker, tmp_path), machines_of(worker))
    assert [pool.gate for pool in pools.values()] == [Gate.READY] * 5
    assert {pool.finalizers for pool in pools.values()} == {(CLEANUP_FINALIZER,)}


def test_machine_deployments_of_a_tree_are_compared_with_the_live_ones(single: Scene) -> None:
    for name in ("same", "other", "only-here", "leaving"):
        single.pool(name)
    single.change("leaving", {"metadata": {"finalizers": [CLEANUP_FINALIZER]}})
    tree = [each for each in single.machines() if each.name in {"same", "other"}]
    tree.append(replace(tree[0], name="only-there"))
    single.change("other", {"spec": {"template": {"spec": {"versions": {"kubelet": "1.35.0"}}}}})
    single.worker.client().delete(machine_path("leaving"))
    before = single.live.worker.requests
    found = read_pools_of_tree(single.live.worker, tree)
    pools = found.pools
    assert single.live.worker.requests - before == 3
    assert {each.name: (pool.gate, pool.left and pool.left.why) for each, pool in pools.items()} == {
        "same": (Gate.READY, None),
        "other": (Gate.WAITING, "the cluster has another template (spec.template.spec.versions.kubelet)"),
        "only-there": (Gate.WAITING, "the cluster has no such MachineDeployment"),
        "leaving": (Gate.DELETING, "it is being deleted"),
    }
    assert pools[ref("only-there")].uid == ""
    assert pools[ref("other")].difference.fields == ("spec.template.spec.versions.kubelet",)
    assert not any(pool.difference for each, pool in pools.items() if each.name != "other")
    assert [(each.name, stray.gate) for each, stray in found.strays.items()] == [("only-here", Gate.READY)]


def test_a_machine_deployment_that_nothing_can_be_rendered_for_is_still_let_go(single: Scene) -> None:
    single.pool("a")
    metadata = {"name": "broken", "namespace": "kube-system", "finalizers": [CLEANUP_FINALIZER]}
    body = {"apiVersion": "cluster.k8s.io/v1alpha1", "kind": "MachineDeployment", "metadata": metadata, "spec": {}}
    single.osm.create(body, "kubectl")
    single.worker.client().delete(machine_path("broken"))
    machines = [each for each in single.machines() if each.name == "a"]
    broken = [ref("broken"), ref("gone"), ObjectRef("OperatingSystemProfile", "kube-system", "osp")]
    of_tree = read_pools_of_tree(single.live.worker, machines, broken).pools
    for pools in (read_pools(single.live.worker, machines, broken), of_tree):
        assert {each.name: pool.gate for each, pool in pools.items()} == {"a": Gate.READY, "broken": Gate.DELETING}
