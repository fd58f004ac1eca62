"""Plans carried out in real API servers: what is written, in which order, and what is left alone."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Callable
from dataclasses import replace
from threading import Lock
from typing import Any

import pytest

from osm_gitops.errors import ClusterError, Code, ConflictError, LostLockError, Problem
from osm_gitops.kube.api import Clusters
from osm_gitops.kube.kinds import MACHINE_DEPLOYMENT, SECRET, Kind
from osm_gitops.model.live import CLEANUP_FINALIZER, WriteOptions
from osm_gitops.model.objects import ObjectRef
from osm_gitops.targets.cluster.writing import Control, deliver
from tests.apiserver.after_osm import REVISION
from tests.apiserver.client import Object
from tests.faults import Expected
from tests.targets.cluster.scene import Counting, Scene, config_path, machine_path, ref, secret_path, whys


def _counted(there: Scene) -> Counting:
    """The scene's only API, whose writes are counted from now on."""
    counting = Counting(there.live.worker)
    there.live = Clusters(counting.as_api, counting.as_api)
    return counting


def test_a_new_pool_gets_finalizer_configuration_provisioning_and_bootstrap_in_this_order(single: Scene) -> None:
    single.pool("a")
    delivery = single.run()
    assert (delivery.written, delivery.failed, delivery.left) == ((None, ref("a")), {}, {})
    paths = (machine_path("a"), config_path("a"), secret_path("a", "provisioning"), secret_path("a"))
    written = [int(single.get(path)["metadata"]["resourceVersion"]) for path in paths]
    assert written == sorted(written)
    assert single.get(machine_path("a"))["metadata"]["finalizers"] == [CLEANUP_FINALIZER]


def test_configurations_go_to_the_management_cluster_and_secrets_to_the_worker(split: Scene) -> None:
    split.pool("a")
    split.run()
    assert split.management.client().get(config_path("a"))["spec"]["osName"] == "ubuntu"
    assert "cloud-config" in split.get(secret_path("a"))["data"]
    assert split.find(config_path("a")) is None


def test_a_run_without_changes_writes_nothing(single: Scene) -> None:
    for name in ("a", "b"):
        single.pool(name)
    single.run()
    counting = _counted(single)
    delivery = single.run()
    assert counting.writes == []
    assert (delivery.written, delivery.failed, delivery.left) == ((), {}, {})


def test_an_update_leaves_no_moment_without_a_secret(single: Scene) -> None:
    single.pool("a")
    single.run()
    since = single.now()
    single.roll("a", "2", "1.35.0")
    assert single.run().written == (None, ref("a"))[1:]
    assert single.events(since) == [
        ("MODIFIED", "a-config"),
        ("MODIFIED", "a-provisioning-config"),
        ("MODIFIED", "a-bootstrap-config"),
    ]
    assert single.get(secret_path("a"))["metadata"]["annotations"]["k8c.io/machine-deployment-revision"] == "2"


def test_immutable_secrets_are_replaced_behind_a_shut_gate(single: Scene) -> None:
    single.pool("a")
    single.osm_wrote("a")
    since = single.now()
    assert single.run().failed == {}
    assert single.events(since) == [
        ("DELETED", "a-bootstrap-config"),
        ("ADDED", "a-config"),
        ("DELETED", "a-provisioning-config"),
        ("ADDED", "a-provisioning-config"),
        ("ADDED", "a-bootstrap-config"),
    ]
    made = single.get(secret_path("a"))
    assert (made.get("immutable"), set(made["data"])) == (None, {"cloud-config"})


def test_a_gate_is_shut_for_a_provisioning_secret_alone(single: Scene) -> None:
    single.pool("a")
    single.run()
    path = secret_path("a", "provisioning")
    single.worker.client().merge(path, {"immutable": True, "data": {"cloud-config": b64encode(b"old").decode()}})
    since = single.now()
    assert single.run(force_conflicts=True).failed == {}
    assert single.events(since) == [
        ("DELETED", "a-bootstrap-config"),
        ("DELETED", "a-provisioning-config"),
        ("ADDED", "a-provisioning-config"),
        ("ADDED", "a-bootstrap-config"),
    ]


def test_a_configuration_behind_osms_webhook_is_replaced_and_secrets_need_no_gap_for_it(single: Scene) -> None:
    single.pool("a")
    single.run()
    single.roll("a", "2", "1.35.0")
    since = single.now()
    single.run(plan=single.plan(guarded=True))
    assert single.events(since) == [
        ("DELETED", "a-config"),
        ("ADDED", "a-config"),
        ("MODIFIED", "a-provisioning-config"),
        ("MODIFIED", "a-bootstrap-config"),
    ]


def test_a_strangers_immutable_secret_is_not_deleted(single: Scene) -> None:
    single.pool("a")
    body = single.osm.create(
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "immutable": True,
            "metadata": {"name": "a-kube-system-bootstrap-config", "namespace": "cloud-init-settings"},
            "data": {"theirs": "eA=="},
        },
        "kubectl",
    )
    delivery = single.run()
    (problem,) = delivery.failed[ref("a")]
    assert problem == Expected(Code.OBJECT_NOT_OURS)
    assert single.get(secret_path("a"))["metadata"]["uid"] == body["metadata"]["uid"]


def test_what_osm_wrote_and_is_not_desired_any_more_goes(single: Scene) -> None:
    single.pool("a")
    single.osm_wrote("a", immutable=False)
    delivery = single.run()
    assert delivery.failed == {}
    assert "Secret cloud-init-settings/a-kube-system-bootstrap-config: took over fields of osm-controller" in (
        delivery.notes
    )
    for half in ("provisioning", "bootstrap"):
        found = single.get(secret_path("a", half))
        assert set(found["data"]) == {"cloud-config"}
        owners = {(entry["manager"], entry["operation"]) for entry in found["metadata"]["managedFields"]}
        assert owners == {("osm-gitops", "Apply")}


def test_a_secret_of_osm_that_is_right_is_taken_over_in_place_and_stays_immutable(single: Scene) -> None:
    single.pool("a")
    single.run()
    there = [single.get(secret_path("a", half)) for half in ("provisioning", "bootstrap")]
    for body in there:
        single.worker.client().delete(secret_path("a", body["metadata"]["name"].split("-")[-2]))
        annotations = {key: text for key, text in body["metadata"]["annotations"].items() if key.startswith("k8c.io")}
        kept = {"name": body["metadata"]["name"], "namespace": "cloud-init-settings", "annotations": annotations}
        single.osm.create(
            {"apiVersion": "v1", "kind": "Secret", "immutable": True, "metadata": kept, "data": body["data"]}
        )
    since = single.now()
    assert single.run().failed == {}
    assert {kind for kind, _ in single.events(since)} == {"MODIFIED"}
    assert single.get(secret_path("a"))["immutable"] is True
    counting = _counted(single)
    single.run()
    assert counting.writes == []


def test_what_a_plain_write_left_under_our_name_goes_too(single: Scene) -> None:
    single.pool("a")
    single.run()
    path = f"{config_path('a')}?fieldManager=osm-gitops"
    single.worker.client().merge(path, {"spec": {"bootstrapConfig": {"userSSHKeys": ["ssh-ed25519 AAAA old"]}}})
    assert single.run().failed == {}
    assert "userSSHKeys" not in single.get(config_path("a"))["spec"]["bootstrapConfig"]


def test_fields_of_others_fail_one_pool_with_their_name_and_are_taken_over_when_asked_for(single: Scene) -> None:
    for number in range(6):
        single.pool(f"pool-{number}")
    single.run()
    edited = {"data": {"cloud-config": b64encode(b"#edited").decode()}}
    single.worker.client().merge(f"{secret_path('pool-3')}?fieldManager=kubectl-edit", edited)
    for number in range(6):
        single.roll(f"pool-{number}", "2", "1.35.0")
    delivery = single.run()
    assert set(delivery.failed) == {ref("pool-3")}
    assert set(delivery.written) == {ref(f"pool-{number}") for number in (0, 1, 2, 4, 5)}
    (problem,) = delivery.failed[ref("pool-3")]
    assert problem == Expected(Code.REQUEST_REFUSED, "kubectl-edit")
    assert "--force-conflicts" in problem.fix
    assert single.get(secret_path("pool-3"))["data"] == edited["data"]
    assert single.run(force_conflicts=True).written == (ref("pool-3"),)
    assert b64decode(single.get(secret_path("pool-3"))["data"]["cloud-config"]).startswith(b"#cloud-config")


def test_what_others_add_is_named_until_it_may_be_removed_and_holds_nothing_up(single: Scene) -> None:
    single.pool("a")
    single.run()
    labelled = {"data": {"more": "eA=="}, "metadata": {"labels": {"team": "x"}}}
    single.worker.client().merge(f"{secret_path('a')}?fieldManager=kubectl-edit", labelled)
    units = {"spec": {"bootstrapConfig": {"units": [{"name": "x.service"}]}}}
    single.worker.client().merge(f"{config_path('a')}?fieldManager=kubectl-edit", units)
    single.roll("a", "2", "1.35.0")
    for _ in range(2):
        problems = single.run().failed[ref("a")]
        assert list(problems) == [Expected(Code.FIELDS_OF_OTHERS, "kubectl-edit")] * 2
    assert single.get(secret_path("a"))["metadata"]["annotations"]["k8c.io/machine-deployment-revision"] == "2"
    assert single.run(force_conflicts=True).failed == {}
    found = single.get(secret_path("a"))
    assert (set(found["data"]), found["metadata"]["labels"]["team"]) == ({"cloud-config"}, "x")
    assert "units" not in single.get(config_path("a"))["spec"]["bootstrapConfig"]
    assert not [change for change in single.plan()[0].effective if not change.upkeep]


def test_finalizers_of_others_stay_and_the_list_is_as_osm_leaves_it(single: Scene) -> None:
    single.pool("a")
    single.change("a", {"metadata": {"finalizers": ["z.example.com/z", "a.example.com/a"]}})
    single.run()
    expected = ["a.example.com/a", CLEANUP_FINALIZER, "z.example.com/z"]
    assert single.get(machine_path("a"))["metadata"]["finalizers"] == expected


def test_without_finalizers_none_is_set(single: Scene) -> None:
    single.pool("a")
    assert single.run(finalizers=False).written == (None, ref("a"))
    assert "finalizers" not in single.get(machine_path("a"))["metadata"]


def test_a_status_that_machine_controller_writes_meanwhile_hinders_nothing(single: Scene) -> None:
    single.pool("a")
    planned = single.plan()
    single.worker.client().merge(f"{machine_path('a')}/status", {"status": {"readyReplicas": 1}})
    assert single.run(plan=planned).written == (None, ref("a"))
    assert single.get(machine_path("a"))["metadata"]["finalizers"] == [CLEANUP_FINALIZER]


def _template(there: Scene) -> None:
    there.change("a", {"spec": {"template": {"spec": {"versions": {"kubelet": "1.35.0"}}}}})


def _revision(there: Scene) -> None:
    there.change("a", {"metadata": {"annotations": {REVISION: "2"}}})


def _deleted(there: Scene) -> None:
    there.change("a", {"metadata": {"finalizers": ["foregroundDeletion"]}})
    there.worker.client().delete(machine_path("a"))


def _gone(there: Scene) -> None:
    there.worker.client().delete(machine_path("a"))


def _replaced(there: Scene) -> None:
    there.worker.client().delete(machine_path("a"))
    there.pool("a", machine_set=False)


@pytest.mark.parametrize("finalizers", [True, False])
@pytest.mark.parametrize("happens", [_template, _revision, _deleted, _gone, _replaced])
def test_a_pool_that_changed_since_it_was_read_is_left(
    single: Scene, happens: Callable[[Scene], None], finalizers: bool
) -> None:
    single.pool("a")
    single.pool("b")
    planned = single.plan()
    happens(single)
    delivery = single.run(plan=planned, finalizers=finalizers)
    assert whys(delivery.left) == {ref("a"): "it changed during this run"}
    assert delivery.written == (None, ref("b"))
    assert [single.find(path) for path in (config_path("a"), secret_path("a"))] == [None, None]
    if happens in {_deleted, _replaced}:
        held = single.get(machine_path("a"))["metadata"].get("finalizers", [])
        assert CLEANUP_FINALIZER not in held


class _Vanishing(Counting):
    """Somebody deletes the pool when its provisioning Secret is written."""

    def apply(self, body: Object, **more: Any) -> Object | None:
        if body["metadata"]["name"].endswith("provisioning-config"):
            self._api.delete(MACHINE_DEPLOYMENT, "kube-system", "a")
        applied: Object | None = self._api.apply(body, **more)
        return applied


def test_a_pool_that_goes_meanwhile_leaves_a_successor_no_bootstrap_secret(single: Scene) -> None:
    single.pool("a")
    api = _Vanishing(single.live.worker).as_api
    single.live = Clusters(api, api)
    assert whys(single.run(finalizers=False).left) == {ref("a"): "it changed during this run"}
    assert single.find(secret_path("a")) is None


def test_a_pool_that_is_held_stays_until_it_is_cleaned_up_after(single: Scene) -> None:
    single.pool("a")
    there, api = single.live, _Vanishing(single.live.worker).as_api
    single.live = Clusters(api, api)
    assert single.run().written == (None, ref("a"))
    assert single.get(machine_path("a"))["metadata"]["deletionTimestamp"]
    single.live = there
    single.run()
    assert [single.find(path) for path in (machine_path("a"), secret_path("a"))] == [None, None]


def test_a_pool_that_waits_gets_its_finalizer_and_its_tokens_but_no_configuration(single: Scene) -> None:
    single.pool("new", revision=None)
    single.pool("paused")
    single.change("paused", {"spec": {"paused": True}})
    delivery = single.run()
    assert whys(delivery.left) == {
        ref("new"): "machine-controller has not given it a revision yet",
        ref("paused"): "it is paused",
    }
    for name in ("new", "paused"):
        assert single.get(machine_path(name))["metadata"]["finalizers"] == [CLEANUP_FINALIZER]
        assert single.find(secret_path(name)) is None


class _Keeper:
    """Tokens of which one cannot be had; the others' are noted together with what was there by then."""

    makes_tokens = True

    def __init__(self, there: Scene) -> None:
        self._there, self._lock = there, Lock()
        self.brought: dict[str, bool] = {}

    def bring(self, pool: ObjectRef) -> None:
        if pool.name == "b":
            raise ClusterError([Problem(Code.INVALID_VALUE, "create secrets: it is forbidden (403)")], 403)
        with self._lock:
            self.brought[pool.name] = self._there.find(config_path(pool.name)) is None


def test_tokens_come_before_what_machines_boot_with_and_one_that_fails_stops_no_other_pool(single: Scene) -> None:
    for name in ("a", "b", "c"):
        single.pool(name)
    plan, pools = single.plan()
    tokens = [
        replace(change, ref=ObjectRef("Secret", "kube-system", f"bootstrap-token-{change.ref.name}"))
        for change in plan.changes
        if change.upkeep
    ]
    keeper = _Keeper(single)
    delivery = single.run(keeper, plan=(replace(plan, changes=(*plan.changes, *tokens)), pools))
    assert keeper.brought == {"a": True, "c": True}
    assert delivery.written == (None, ref("a"), ref("c"))
    (problem,) = delivery.failed[ref("b")]
    assert problem == Expected(Code.INVALID_VALUE, "MachineDeployment kube-system/b: ", "create secrets", "403")
    assert single.find(secret_path("b")) is None


def test_a_lease_that_is_lost_ends_the_run_and_the_next_one_does_the_rest(single: Scene) -> None:
    for number in range(6):
        single.pool(f"pool-{number}")
    lock, allowed = Lock(), iter(range(10))

    def check() -> None:
        with lock:
            if next(allowed, None) is None:
                raise LostLockError([Problem(Code.INVALID_VALUE, "somebody else holds the Lease")])

    counting = _counted(single)
    with pytest.raises(LostLockError):
        single.run(check=check, concurrency=2)
    assert len(counting.writes) == 10
    assert single.run().failed == {}
    assert all(single.find(secret_path(f"pool-{number}")) for number in range(6))


def test_an_interruption_ends_the_run_after_the_pools_that_are_under_way(single: Scene) -> None:
    for number in range(9):
        single.pool(f"pool-{number}")

    def interrupt(done: int, _total: int) -> None:
        if done == 2:  # the profile, and the first pool
            raise KeyboardInterrupt

    plan, pools = single.plan()
    with pytest.raises(KeyboardInterrupt):
        deliver(single.live, plan, pools, None, WriteOptions(concurrency=2), Control(lambda: None, interrupt))
    halves = [
        [single.find(secret_path(f"pool-{number}", half)) is not None for half in ("provisioning", "bootstrap")]
        for number in range(9)
    ]
    assert all(one == other for one, other in halves)
    # Two threads may have begun all four that were drawn in advance before the first result is taken.
    assert 1 <= sum(one for one, _ in halves) <= 2 * 2


def test_progress_counts_profiles_and_pools(single: Scene) -> None:
    for name in ("a", "b"):
        single.pool(name)
    told: list[tuple[int, int]] = []
    plan, pools = single.plan()
    control = Control(lambda: None, lambda done, total: told.append((done, total)))
    deliver(single.live, plan, pools, None, WriteOptions(), control)
    assert told == [(1, 3), (2, 3), (3, 3)]


def test_a_profile_that_is_refused_stops_no_pool(single: Scene) -> None:
    single.pool("a")
    plan, pools = single.plan()
    broken = [
        replace(change, after={**(change.after or {}), "metadata": {"name": "osp-a", "namespace": "nowhere"}})
        if change.ref.kind == "OperatingSystemProfile"
        else change
        for change in plan.changes
    ]
    delivery = single.run(plan=(replace(plan, changes=tuple(broken)), pools))
    assert delivery.written == (ref("a"),)
    assert delivery.failed[None][0] == Expected(Code.REQUEST_REFUSED, "nowhere")


class _Busy(Counting):
    """Somebody writes the bootstrap Secret right before each of our patches."""

    def merge(self, kind: Kind, namespace: str, name: str, patch: Object) -> Object:
        self.writes.append(("merge", name))
        if kind is SECRET:
            self._api.merge(kind, namespace, name, {"metadata": {"labels": {"moved": f"{len(self.writes)}-times"}}})
        return self._api.merge(kind, namespace, name, patch)


class _Forgetful(Counting):
    """Carries a patch of a Secret out, and tells what it would tell of the second try after a lost answer."""

    def merge(self, kind: Kind, namespace: str, name: str, patch: Object) -> Object:
        answer: Object = self._api.merge(kind, namespace, name, patch)
        if kind is SECRET:
            raise ConflictError([Problem(Code.INVALID_VALUE, "it was changed or replaced meanwhile (409)")])
        return answer


def test_a_take_over_whose_answer_was_lost_is_done(single: Scene) -> None:
    single.pool("a")
    single.run()
    again = {"data": {"cloud-config": b64encode(b"#osm").decode(), "more": "eA=="}}
    single.worker.client().merge(f"{secret_path('a')}?fieldManager=osm-controller", again)
    api = _Forgetful(single.live.worker).as_api
    single.live = Clusters(api, api)
    assert single.run().failed == {}
    found = single.get(secret_path("a"))["data"]
    assert (set(found), found["cloud-config"] != again["data"]["cloud-config"]) == ({"cloud-config"}, True)


def test_an_object_that_others_write_all_the_time_is_given_up_with_a_sentence(single: Scene) -> None:
    single.pool("a")
    single.osm_wrote("a", immutable=False)
    busy = _Busy(single.live.worker).as_api
    single.live = Clusters(busy, busy)
    (problem,) = single.run().failed[ref("a")]
    assert problem == Expected(Code.WRITTEN_BY_OTHERS)
