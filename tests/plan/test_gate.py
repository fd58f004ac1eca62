"""Whether a pool may be written, from what the cluster tells of it."""

from __future__ import annotations

from typing import Any

import pytest

from osm_gitops.model.live import Gate
from osm_gitops.model.objects import ObjectRef
from osm_gitops.plan.machines import template_difference
from osm_gitops.plan.stamps import (
    LiveMachineDeployment,
    MachineSetFact,
    annotations_key,
    gate_of,
    template_key,
)


def _machine(**more: Any) -> LiveMachineDeployment:
    given: dict[str, Any] = {
        "revision": "2",
        "paused": False,
        "deleting": False,
        "template": "b",
        "finalizers": (),
    } | more
    return LiveMachineDeployment(
        ref=ObjectRef("MachineDeployment", "kube-system", "a"),
        uid="1",
        resource_version="1",
        generation=1,
        annotations="",
        **given,
    )


_OLD = MachineSetFact("set-1", "1", "a")
_NEW = MachineSetFact("set-2", "2", "b")


def test_a_pool_is_ready_when_the_machine_set_of_its_revision_has_its_template() -> None:
    assert gate_of(_machine(), [_OLD, _NEW]) == (Gate.READY, None)


@pytest.mark.parametrize(
    ("machine", "sets", "gate", "why"),
    [
        (_machine(deleting=True, paused=True), [_NEW], Gate.DELETING, "it is being deleted"),
        (_machine(paused=True), [_NEW], Gate.PAUSED, "it is paused"),
        (_machine(revision=None), [_NEW], Gate.WAITING, "machine-controller has not given it a revision yet"),
        (_machine(revision=""), [_NEW], Gate.WAITING, "machine-controller has not given it a revision yet"),
        (_machine(), [_OLD], Gate.WAITING, "there is no MachineSet of its revision 2 yet"),
        (_machine(template="c"), [_NEW], Gate.WAITING, "the MachineSet of its revision 2 has another template"),
        (_machine(differs="spec.x"), [_NEW], Gate.WAITING, "the cluster has another template (spec.x)"),
        # Rolled back: machine-controller gives the old MachineSet a new number, and the pool that one a moment later.
        (_machine(template="a"), [_NEW, _OLD], Gate.WAITING, "the MachineSet of its revision 2 has another template"),
        (
            _machine(),
            [_NEW, MachineSetFact("set-3", "2", "c")],
            Gate.WAITING,
            "the MachineSet of its revision 2 has another template",
        ),
    ],
)
def test_a_pool_is_not_written_before_machine_controller_is_done_with_it(
    machine: LiveMachineDeployment, sets: list[MachineSetFact], gate: Gate, why: str
) -> None:
    found, left = gate_of(machine, sets)
    assert (found, left and left.why) == (gate, why)


def _template(labels: Any = None, provider: Any = None, **spec: Any) -> dict[str, Any]:
    value = {"cloudProvider": "aws", "operatingSystem": "ubuntu", **(provider or {})}
    metadata = {} if labels is None else {"metadata": {"labels": labels}}
    return metadata | {"spec": {"versions": {"kubelet": "1.34.2"}, "providerSpec": {"value": value}} | spec}


@pytest.mark.parametrize(
    "other",
    [
        _template({"pool": "a", "machine-template-hash": "10001"}),
        _template({"pool": "a"}, metadata={"creationTimestamp": None}, taints=None),
        _template({"pool": "a"}, metadata={}, taints=[]),
        _template({"pool": "a"}, unknown="to machine-controller"),
        {**_template({"pool": "a"}), "metadata": {"labels": {"pool": "a"}, "creationTimestamp": None}},
    ],
)
def test_templates_are_equal_that_machine_controller_takes_for_equal(other: Any) -> None:
    assert template_key(other) == template_key(_template({"pool": "a"}))


@pytest.mark.parametrize(
    "other",
    [
        _template({"pool": "b"}),
        _template({"pool": "a", "empty": ""}),
        _template({"pool": "a"}, {"network": None}),
        _template({"pool": "a"}, {"sshPublicKeys": []}),
        _template({"pool": "a"}, versions={"kubelet": "1.34.3"}),
        _template({"pool": "a"}, taints=[{"key": "a", "effect": "NoSchedule"}]),
        None,
    ],
)
def test_templates_differ_that_machine_controller_makes_another_machine_set_for(other: Any) -> None:
    assert template_key(other) != template_key(_template({"pool": "a"}))


@pytest.mark.parametrize(
    ("live", "same"),
    [
        (_template({"pool": "a"}), True),
        (_template({"pool": "a", "more": "by a webhook"}), True),
        (_template({"pool": "a"}, {"operatingSystemSpec": {"distUpgradeOnBoot": False}}), True),
        (_template({"pool": "a"}, {"network": None, "sshPublicKeys": []}), True),
        (_template({"pool": "a"}, {"network": {"cidr": "10.0.0.0/8"}}), False),
        (_template({"pool": "a"}, {"sshPublicKeys": ["ssh-ed25519 AAAA"]}), False),
        (_template({"pool": "a"}, versions={"kubelet": "1.34.3"}), False),
        (_template(), False),
        (None, False),
    ],
)
def test_a_template_of_a_tree_is_the_live_one_whatever_webhooks_added(live: Any, same: bool) -> None:
    assert (not template_difference(_template({"pool": "a"}), live)) is same


def test_a_list_of_a_tree_is_compared_whole() -> None:
    keys = _template(provider={"sshPublicKeys": ["one"]})
    assert not template_difference(keys, keys)
    assert template_difference(keys, _template(provider={"sshPublicKeys": ["one", "two"]}))
    assert template_difference(keys, _template(provider={"sshPublicKeys": ["two"]}))
    assert template_difference(_template(provider={"a": 1}), _template(provider={"a": True}))


def test_no_annotations_are_equal_to_an_empty_map() -> None:
    assert annotations_key(None) == annotations_key({})
    assert annotations_key({"a": "b", "c": "d"}) == annotations_key({"c": "d", "a": "b"})
    assert annotations_key({"a": "b"}) != annotations_key({"a": "c"})
