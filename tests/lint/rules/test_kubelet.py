"""What depends on the Kubernetes minor of a pool, and on its operating system."""

from __future__ import annotations

import pytest

from osm_gitops.lint.rules.kubelet import kubelet_remarks
from osm_gitops.lint.rules.kubelet_tables import GATES, NEWEST, OLDEST, gate_fault
from tests.lint.rules.mutations import KUBELET


def _messages(text: str, minor: int, *, cgroup_v1: bool = False) -> list[str]:
    return [remark.message for remark in kubelet_remarks(text, minor, cgroup_v1=cgroup_v1)]


@pytest.mark.parametrize("minor", [0, *range(OLDEST, NEWEST + 2)])
def test_what_every_kubelet_takes_has_no_finding_for_any(minor: int) -> None:
    assert _messages(KUBELET, minor) == []


def test_a_field_is_told_for_kubelets_that_are_older_than_it() -> None:
    text = f"{KUBELET}mergeDefaultEvictionSettings: true\n"

    assert _messages(text, 33) == []
    assert _messages(text, 32) == ["mergeDefaultEvictionSettings was added in Kubernetes 1.33, and the pool runs 1.32"]


def test_a_gate_is_told_before_it_came_after_it_went_and_where_it_is_locked() -> None:
    gate = next(each for each in GATES.values() if each.first > OLDEST and each.locked is None)
    gone = next(each for each in GATES.values() if each.last < NEWEST)
    locked = next(each for each in GATES.values() if each.locked is True and each.last == NEWEST)

    assert gate_fault(gate.name, gate.first, value=True) == ""
    assert gate_fault(gate.name, gate.first - 1, value=True) == f"it was added in Kubernetes 1.{gate.first}"
    assert gate_fault(gone.name, gone.last + 1, value=True) == f"it was removed in Kubernetes 1.{gone.last + 1}"
    assert gate_fault(locked.name, NEWEST, value=True) == ""
    assert "always true" in gate_fault(locked.name, NEWEST, value=False)
    assert gate_fault("Nobody", NEWEST, value=True) == "no kubelet knows it"
    assert gate_fault("Nobody", NEWEST + 1, value=True) == ""


def test_a_field_that_needs_a_gate_is_told_where_that_is_off() -> None:
    text = f"{KUBELET}crashLoopBackOff:\n  maxContainerRestartPeriod: 60s\n"

    assert _messages(text, 35) == []
    assert any("KubeletCrashLoopBackOffMax" in each for each in _messages(text, 34))
    on = text.replace("featureGates:\n", "featureGates:\n  KubeletCrashLoopBackOffMax: true\n")
    assert _messages(on, 34) == []


def test_a_kubelet_from_1_35_on_is_told_where_the_node_has_cgroup_v1_unless_it_was_told_to_go_on() -> None:
    assert _messages(KUBELET, 34, cgroup_v1=True) == []
    assert _messages(KUBELET, 35, cgroup_v1=True) != []
    assert _messages(f"{KUBELET}failCgroupV1: false\n", 35, cgroup_v1=True) == []


@pytest.mark.parametrize(
    ("value", "wrong"), [("0", False), ("5000000000", False), ("5s", False), ("true", True), ("x", True)]
)
def test_the_flush_frequency_is_a_duration_or_nanoseconds(value: str, wrong: bool) -> None:
    assert bool(_messages(f"{KUBELET}logging:\n  flushFrequency: {value}\n", 35)) is wrong


_BROKEN = {
    "a Go struct": "imageMinimumGCAge: &{2m0s 5} @\n",
    "an open quote": 'clusterDomain: "cluster.local\n',
    "bad indentation": "kubeReserved:\n  cpu: 200m\n memory: 5Mi\n",
    "a key that is there before": "cgroupDriver: systemd\n",
}


@pytest.mark.parametrize("broken", _BROKEN.values(), ids=_BROKEN)
def test_what_cannot_be_read_does_not_hide_other_mistakes_and_makes_none(broken: str) -> None:
    text = f"{KUBELET}{broken}maxPodss: 5\nregistryBurst: many\nreservedSystemCPUs: all\n"
    count = KUBELET.count("\n") + broken.count("\n")

    alone = [(remark.rule.id, remark.line) for remark in kubelet_remarks(f"{KUBELET}{broken}", 36)]
    with_others = [(remark.rule.id, remark.line) for remark in kubelet_remarks(text, 36)]

    assert {id_ for id_, _ in alone} == {"kubelet-syntax"}
    assert {each for each in with_others if each[0] != "kubelet-syntax"} == {
        ("kubelet-unknown-field", count + 1),
        ("kubelet-type", count + 2),
        ("kubelet-value", count + 3),
    }


def test_what_belongs_to_a_key_that_cannot_be_read_is_no_mistake() -> None:
    text = KUBELET.replace("evictionSoftGracePeriod:", "evictionSoftGracePeriod: '")
    assert text != KUBELET
    assert {remark.rule.id for remark in kubelet_remarks(text, 36)} == {"kubelet-syntax"}


def test_nothing_is_made_of_a_text_without_any_key() -> None:
    assert [remark.rule.id for remark in kubelet_remarks("- {\n?\n", 36)] == ["kubelet-syntax"]


def test_static_cpus_need_some_that_are_reserved() -> None:
    text = f"{KUBELET}cpuManagerPolicy: static\n"
    assert _messages(text, 36) == []
    assert len(_messages(text.replace("  cpu: 200m\n", "  pid: '1000'\n"), 36)) == 1
