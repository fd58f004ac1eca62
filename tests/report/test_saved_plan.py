"""Saved plans: what they hold, and when they are stale."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from osm_gitops.errors import Code, InputError
from osm_gitops.model.desired import Side
from osm_gitops.model.objects import ObjectRef
from osm_gitops.model.plan import Action, Change, ClusterPlan, CurrentState, Plan
from osm_gitops.plan.compare import make_cluster_plan
from osm_gitops.plan.guards import PlanOptions
from osm_gitops.report.saved_plan import read_saved_plan, refuse_stale, saved_plan
from tests.faults import Expected, refused
from tests.plan.objects import current, desired


def _plan(script: str = "new\n", before: str | None = "old\n", **more: object) -> ClusterPlan:
    have = CurrentState() if before is None else current(desired({"a": before}, "v1.1.0"), live=True)
    wanted = desired({"a": script}, "v1.1.0", sources=("nodes@1a2b",))
    return replace(make_cluster_plan(wanted, have, PlanOptions()), **more)  # type: ignore[arg-type] # a test's own


def _stale(then: ClusterPlan, now: ClusterPlan, version: str = "1.0.0") -> str:
    saved = read_saved_plan(saved_plan(Plan((then,)), "1.0.0", {}).encode(), "plan.json")
    try:
        refuse_stale(saved, Plan((now,)), version, "plan.json")
    except InputError as refused:
        return str(refused)
    return ""


def test_the_same_plan_may_be_applied() -> None:
    assert _stale(_plan(), _plan()) == ""


def test_what_the_clock_brings_makes_no_plan_stale() -> None:
    token = Change(ObjectRef("Secret", "kube-system", "bootstrap-token-x"), Side.WORKER, Action.UPDATE, upkeep=True)
    assert _stale(_plan(), replace(_plan(), changes=(*_plan().changes, token))) == ""


@pytest.mark.parametrize(
    ("then", "now", "why"),
    [
        (_plan(), _plan("newer\n"), "the content of objects"),
        (_plan(), _plan(before="other\n"), "the content of objects"),
        (_plan(), _plan(before="new\n"), "no longer planned: update OperatingSystemConfig"),
        (_plan(), _plan(before=None), "new: create OperatingSystemConfig"),
        (_plan(), _plan(sources=("nodes@3c4d",)), "it was read from nodes@1a2b, now nodes@3c4d"),
        (_plan(hosts=("cluster a",)), _plan(hosts=("cluster b",)), "it was planned for cluster a, now cluster b"),
        (_plan(), _plan(cluster="other"), "cluster other is only in one of the two plans"),
    ],
)
def test_a_plan_that_moved_is_stale_and_says_why(then: ClusterPlan, now: ClusterPlan, why: str) -> None:
    assert why in _stale(then, now)


def test_another_version_may_plan_otherwise() -> None:
    assert "made by osm-gitops 1.0.0, this is 1.0.1" in _stale(_plan(), _plan(), "1.0.1")


def test_no_content_is_in_the_file() -> None:
    text = saved_plan(Plan((_plan(sensitive=frozenset({"hunter22"}), sources=("hunter22",)),)), "1.0.0", {})
    assert "hunter22" not in text
    assert set(json.loads(text)["clusters"][0]) == {"name", "fingerprint", "sources", "hosts", "changes"}


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b'{"kind": "Fleet"}', b'{"kind": "SavedPlan"}', b"\xff"])
def test_what_is_no_saved_plan_is_refused(text: bytes) -> None:
    with refused(Expected(Code.SAVED_PLAN_INVALID, "plan.json")):
        read_saved_plan(text, "plan.json")
