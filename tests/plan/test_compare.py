"""What a plan does to each object, and why."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from osm_gitops.errors import Code, InputError, Problem, UnsafePlanError
from osm_gitops.model.desired import Desired, Side
from osm_gitops.model.objects import ObjectRef
from osm_gitops.model.plan import Action, Change, ClusterPlan, CurrentObject, CurrentState
from osm_gitops.plan.compare import make_cluster_plan
from osm_gitops.plan.content import changed_texts
from osm_gitops.plan.guards import Limits, MaxDelete, PlanOptions, parse_max_delete, refuse_unsafe
from tests.faults import Expected, refused
from tests.plan.objects import current, desired, pool, secret

_ANY = PlanOptions(limits=Limits(allow_empty=True, max_delete=MaxDelete(100, percent=True)))


def _plan(wanted: Desired, have: CurrentState, options: PlanOptions = _ANY) -> ClusterPlan:
    return make_cluster_plan(wanted, have, options)


def _actions(plan: ClusterPlan) -> dict[str, int]:
    return {action.value: number for action, number in plan.count().items() if number}


def _one_secret(**more: Any) -> Desired:
    return Desired("prod", (secret("a", "bootstrap", "x\n", **more),), (pool("a"),))


def _change_body(state: CurrentState, **fields: Any) -> CurrentState:
    (ref, found), = state.objects.items()  # fmt: skip
    return replace(state, objects={ref: replace(found, body={**(found.body or {}), **fields})})


def test_everything_is_created_in_an_empty_target_because_the_pool_is_new() -> None:
    plan = _plan(desired({"a": "x\n"}), CurrentState())
    assert {(change.action, change.reason) for change in plan.changes} == {(Action.CREATE, "new pool")}
    assert plan.pools.changed == 1


def test_a_single_absent_object_is_missing_not_new() -> None:
    wanted = desired({"a": "x\n"})
    have = current(replace(wanted, objects=wanted.objects[:2]))
    assert [change.reason for change in _plan(wanted, have).effective] == ["missing"]


def test_an_equal_state_is_unchanged() -> None:
    wanted = desired({"a": "x\n", "b": "y\n"})
    assert _actions(_plan(wanted, current(wanted))) == {"unchanged": 6}


def test_identical_objects_are_not_even_looked_at() -> None:
    wanted = desired({"a": "x\n"})
    have = CurrentState(identical=frozenset(each.ref for each in wanted.objects))
    assert not _plan(wanted, have).has_changes


def test_an_update_names_the_profile_version_and_the_file() -> None:
    plan = _plan(desired({"a": "new\n"}, "v1.1.0"), current(desired({"a": "old\n"})))
    reasons = {change.ref.name: change.reason for change in plan.effective}
    assert reasons["a-kube-system-config"] == "profile version v1.0.0 → v1.1.0; changed: provisioning /opt/bin/setup"
    assert reasons["a-kube-system-provisioning-config"] == reasons["a-kube-system-config"]
    assert reasons["a-kube-system-bootstrap-config"] == "profile version v1.0.0 → v1.1.0"


def test_other_metadata_alone_is_named() -> None:
    wanted = _one_secret()
    have = _change_body(
        current(wanted), metadata={**wanted.objects[0].body["metadata"], "labels": {"x": "y"}}
    )  # fmt: skip
    (change,) = _plan(wanted, have).effective
    assert change.reason == (
        "only metadata: app.kubernetes.io/managed-by, x; not made by osm-gitops so far"
    )  # fmt: skip


def test_nulls_and_an_absent_type_of_a_secret_are_no_difference() -> None:
    wanted = _one_secret()
    body = {key: value for key, value in wanted.objects[0].body.items() if key != "type"}
    have = _change_body(current(wanted), type=None, extra=None, **{k: v for k, v in body.items() if k == "data"})
    assert not _plan(wanted, have).has_changes


def test_fields_that_a_server_adds_are_no_difference_in_a_cluster() -> None:
    wanted = _one_secret()
    metadata = wanted.objects[0].body["metadata"]
    live = {**metadata, "uid": "1", "labels": {**metadata["labels"], "other": "x"}, "managedFields": []}
    have = _change_body(current(wanted, live=True), metadata=live, status={})
    assert not _plan(wanted, have).has_changes


def test_a_number_is_not_a_boolean() -> None:
    wanted = _one_secret(extra=1)
    assert _plan(wanted, _change_body(current(wanted), extra=True)).has_changes


@pytest.mark.parametrize("live", [True, False])
def test_an_immutable_secret_with_other_data_is_replaced(live: bool) -> None:
    have = current(_one_secret(immutable=True), live=live)
    wanted = Desired("prod", (secret("a", "bootstrap", "y\n"),), (pool("a"),))
    assert _actions(_plan(wanted, have)) == {"replace": 1}


def test_other_metadata_of_an_immutable_secret_is_an_update() -> None:
    have = current(_one_secret(immutable=True, version="v0.9.0"), live=True)
    assert _actions(_plan(_one_secret(), have)) == {"update": 1}


def test_what_is_applied_to_a_cluster_is_all_of_it() -> None:
    wanted = _one_secret(version="v1.1.0")
    (change,) = _plan(wanted, current(_one_secret(), live=True)).effective
    assert change.after == wanted.objects[0].body
    assert change.digest == wanted.objects[0].digest


def test_a_change_of_metadata_alone_is_known_as_such() -> None:
    (change,) = _plan(_one_secret(version="v1.1.0"), current(_one_secret())).effective
    assert change.metadata_only
    other = Desired("prod", (secret("a", "bootstrap", "y\n"),), (pool("a"),))
    (change,) = _plan(other, current(_one_secret())).effective
    assert not change.metadata_only


def test_an_update_of_an_immutable_secret_leaves_it_immutable() -> None:
    have = current(_one_secret(immutable=True, version="v0.9.0"), live=True)
    (change,) = _plan(_one_secret(), have).effective
    assert dict(change.after or {}) == {**_one_secret().objects[0].body, "immutable": True}


def test_the_bootstrap_secret_is_replaced_with_any_other_secret_of_its_pool() -> None:
    wanted, before = desired({"a": "new\n", "b": "same\n"}), current(desired({"a": "old\n", "b": "same\n"}), live=True)
    immutable = {
        ref: replace(found, body={**(found.body or {}), "immutable": True}) if ref.kind == "Secret" else found
        for ref, found in before.objects.items()
    }
    plan = _plan(wanted, replace(before, objects=immutable))
    assert {(change.ref.name, change.action.value) for change in plan.effective} == {
        ("a-kube-system-config", "update"),
        ("a-kube-system-provisioning-config", "replace"),
        ("a-kube-system-bootstrap-config", "replace"),
    }
    (gate,) = (change for change in plan.effective if change.ref.name == "a-kube-system-bootstrap-config")
    assert "immutable" not in dict(gate.after or {})
    assert gate.reason == "it is removed while another Secret of the pool is replaced"


def _left_by_osm(name: str, *annotations: str) -> CurrentState:
    ref = ObjectRef("Secret", "cloud-init-settings", f"{name}-kube-system-bootstrap-config")
    metadata = {"name": ref.name, "namespace": ref.namespace, "annotations": dict.fromkeys(annotations, "x")}
    return CurrentState(objects={ref: CurrentObject(ref, Side.WORKER, {"metadata": metadata})}, live=True)


def test_what_osm_left_goes_only_with_a_machine_deployment_that_is_being_deleted() -> None:
    have, leaving = _left_by_osm("a", "k8c.io/mdannotations-hash"), replace(_ANY, leaving=frozenset({pool("a")}))
    assert _actions(_plan(Desired("prod", ()), have)) == {}
    assert _actions(_plan(Desired("prod", ()), have, leaving)) == {"delete": 1}
    assert _actions(_plan(Desired("prod", ()), _left_by_osm("a"), leaving)) == {}


def test_upkeep_is_no_change() -> None:
    ref = ObjectRef("Secret", "kube-system", "bootstrap-token-abcdef")
    due = Change(ref, Side.WORKER, Action.UPDATE, "4 h of 24 h left", upkeep=True)
    plan = ClusterPlan("prod", (due,))
    assert plan.effective == (due,)
    assert not plan.has_changes


def test_a_live_secret_that_differs_only_in_immutable_is_unchanged() -> None:
    assert _actions(_plan(_one_secret(), current(_one_secret(immutable=True), live=True))) == {"unchanged": 1}


def test_a_folder_follows_immutable_in_both_directions() -> None:
    assert _actions(_plan(_one_secret(immutable=True), current(_one_secret()))) == {"update": 1}
    assert _actions(_plan(_one_secret(), current(_one_secret(immutable=True)))) == {"replace": 1}


def test_a_kind_that_cannot_be_updated_is_replaced() -> None:
    have = replace(current(desired({"a": "old\n"}), live=True), immutable_kinds=frozenset({"OperatingSystemConfig"}))
    plan = _plan(desired({"a": "new\n"}), have)
    assert _actions(plan) == {"update": 1, "replace": 1, "unchanged": 1}


def test_what_is_not_desired_any_more_is_deleted_if_it_is_ours() -> None:
    plan = _plan(desired({"a": "x\n"}), current(desired({"a": "x\n", "b": "x\n"})))
    assert {(change.ref.name, change.reason) for change in plan.effective} == {
        ("b-kube-system-config", "pool is gone"),
        ("b-kube-system-provisioning-config", "pool is gone"),
        ("b-kube-system-bootstrap-config", "pool is gone"),
    }
    assert plan.pools.deleted == 1


def test_a_pool_that_is_gone_is_named_like_those_that_are_there() -> None:
    plan = _plan(desired({"a": "x\n"}), current(desired({"a": "x\n", "b": "x\n"})))
    assert {change.pool_name for change in plan.effective} == {"kube-system/b"}
    assert {change.pool for change in plan.effective} == {None}
    empty = _plan(Desired("prod", ()), current(desired({"b-c": "x\n"})))
    assert {change.pool_name for change in empty.effective} == {"kube-system/b-c"}


def test_a_pool_that_is_gone_is_not_guessed_where_two_namespaces_fit() -> None:
    wanted = replace(desired({"a": "x\n"}), failed={ObjectRef("MachineDeployment", "system", "x"): ()})
    plan = _plan(wanted, current(desired({"a": "x\n", "b": "x\n"})))
    assert {change.pool_name for change in plan.effective} == {"b-kube-system"}


def test_what_does_not_carry_our_label_is_never_deleted() -> None:
    ref = ObjectRef("Secret", "cloud-init-settings", "b-kube-system-bootstrap-config")
    have = CurrentState(objects={ref: CurrentObject(ref, Side.WORKER, {"kind": "Secret", "metadata": {}})})
    assert not _plan(Desired("prod", ()), have).has_changes


def test_objects_of_failed_and_left_out_pools_are_kept() -> None:
    have = current(desired({"a": "x\n", "b": "x\n", "c": "x\n"}))
    left_out = frozenset(ref for ref in have.objects if ref.name.startswith("c-"))
    wanted = replace(desired({"a": "x\n"}), failed={pool("b"): (Problem(Code.INVALID_VALUE, "broken"),)}, keep=left_out)
    plan = _plan(wanted, have)
    assert not plan.has_changes
    assert len(plan.kept) == 6


def test_a_document_that_could_not_be_read_forbids_deletion() -> None:
    wanted = replace(desired({"a": "x\n"}), no_deletion=(Problem(Code.INVALID_VALUE, "is no YAML", where="b.yaml:3"),))
    plan = _plan(wanted, current(desired({"a": "x\n", "b": "x\n"})))
    assert not plan.has_changes
    assert len(plan.not_deleted) == 3
    assert plan.no_deletion == wanted.no_deletion


def test_an_empty_desired_set_is_refused_unless_asked_for() -> None:
    have = current(desired({"a": "x\n"}))
    refusal, _too_many = make_cluster_plan(Desired("prod", ()), have, PlanOptions()).refusals
    assert "--allow-empty" in refusal.fix
    allowed = PlanOptions(limits=Limits(allow_empty=True))
    plan = make_cluster_plan(Desired("prod", ()), have, allowed)
    assert not plan.refusals
    assert _actions(plan) == {"delete": 3}


def test_where_nothing_is_to_be_deleted_an_empty_desired_set_is_not_refused() -> None:
    plan = make_cluster_plan(Desired("prod", ()), CurrentState(), PlanOptions())
    assert (plan.has_changes, plan.refusals) == (False, ())


@pytest.mark.parametrize(("gone", "refused"), [(1, False), (2, False), (3, True)])
def test_more_than_half_of_the_pools_are_not_deleted_unasked(gone: int, refused: bool) -> None:
    names = ["a", "b", "c", "d"]
    have = current(desired(dict.fromkeys(names, "x\n")))
    plan = make_cluster_plan(desired(dict.fromkeys(names[gone:], "x\n")), have, PlanOptions())
    assert bool(plan.refusals) is refused
    if refused:
        assert "--max-delete 3" in plan.refusals[0].fix


def test_a_pool_that_is_being_deleted_anyway_does_not_count() -> None:
    options = PlanOptions(leaving=frozenset({pool("b")}))
    plan = make_cluster_plan(desired({"a": "x\n"}), current(desired({"a": "x\n", "b": "x\n"})), options)
    assert not plan.refusals
    assert _actions(plan) == {"delete": 3, "unchanged": 3}
    without_changes = replace(options, limits=Limits(max_changed_pools=0))
    assert not make_cluster_plan(
        desired({"a": "x\n"}), current(desired({"a": "x\n", "b": "x\n"})), without_changes
    ).refusals


def test_the_last_pool_goes_unasked_where_it_is_being_deleted() -> None:
    options = PlanOptions(leaving=frozenset({pool("b")}))
    assert not make_cluster_plan(Desired("prod", ()), current(desired({"b": "x\n"})), options).refusals
    (refusal,) = make_cluster_plan(Desired("prod", ()), current(desired({"a": "x\n", "b": "x\n"})), options).refusals
    assert refusal == Expected(Code.TOO_MANY_DELETIONS, "1", "a-kube-system")


def test_max_delete_is_a_number_or_a_share() -> None:
    assert parse_max_delete("3") == MaxDelete(3)
    assert parse_max_delete("25%") == MaxDelete(25, percent=True)
    for wrong in ("", "x", "-1", "101%", "1.5", "٣"):
        with pytest.raises(InputError):
            parse_max_delete(wrong)


def test_max_delete_zero_forbids_every_deletion() -> None:
    options = PlanOptions(limits=Limits(max_delete=MaxDelete(0)))
    names = dict.fromkeys("abcde", "x\n")
    plan = make_cluster_plan(desired(dict.fromkeys("abcd", "x\n")), current(desired(names)), options)
    assert plan.refusals


def test_too_many_changed_pools_are_refused() -> None:
    options = PlanOptions(limits=Limits(max_changed_pools=1))
    plan = make_cluster_plan(desired({"a": "x\n", "b": "x\n"}), CurrentState(), options)
    with refused(Expected(Code.TOO_MANY_CHANGES, "2"), kind=UnsafePlanError):
        refuse_unsafe([plan])


def test_a_plan_does_not_print_what_objects_hold() -> None:
    plan = _plan(desired({"a": "top-secret-text\n"}), CurrentState())
    assert "top-secret" not in repr(plan)


def test_what_only_has_to_be_encrypted_is_written_but_changes_no_pool() -> None:
    wanted = _one_secret()
    (ref, found), = current(wanted).objects.items()  # fmt: skip
    have = CurrentState(objects={ref: replace(found, rewrite="in plain text so far")})
    plan = _plan(wanted, have, PlanOptions(limits=Limits(max_changed_pools=0)))
    (change,) = plan.effective
    assert (change.action, change.reason, change.same_content) == (Action.UPDATE, "in plain text so far", True)
    assert (plan.pools.changed, plan.refusals) == (0, ())
    assert changed_texts(change.before, change.after) == ()  # so reports show nothing as new


def test_of_an_object_that_no_key_opens_only_what_is_clear_is_compared_and_kept() -> None:
    wanted = _one_secret()
    (ref, found), = current(wanted).objects.items()  # fmt: skip
    body = {**(found.body or {}), "data": {"cloud-config": "ENC[AES256_GCM,data:x]"}}
    have = CurrentState(objects={ref: replace(found, body=body, hidden=True)})
    (change,) = _plan(wanted, have).effective
    assert change.reason == "encrypted content changed (visible with a private key)"
    assert change.texts == ()
    assert "data" not in (change.before or {})
    assert change.after == wanted.objects[0].body
    immutable = replace(found, body={**body, "immutable": True}, hidden=True)
    (change,) = _plan(wanted, CurrentState(objects={ref: immutable})).effective
    assert change.action is Action.REPLACE
    assert change.reason.startswith("gone: immutable; encrypted content changed")


def test_an_unreadable_file_is_written_anew_and_says_what_is_wrong_with_it() -> None:
    wanted = _one_secret()
    (ref, found), = current(wanted).objects.items()  # fmt: skip
    have = CurrentState(objects={ref: replace(found, body=None, trouble="its MAC does not match")})
    (change,) = _plan(wanted, have).effective
    assert change.reason == "the existing object could not be read: its MAC does not match"
