"""Which objects that came through git get which revision."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from osm_gitops.model.desired import PAUSED, Side
from osm_gitops.model.live import Gate, LivePool
from osm_gitops.model.objects import LAST_APPLIED, ObjectRef
from osm_gitops.plan.machines import digests_as_written
from osm_gitops.plan.stamps import LiveTemplates, PoolObjects, Stampable, is_stamped, live_templates, stamping_of
from osm_gitops.render.resolve.pools import template_digest

_TEMPLATES = LiveTemplates(frozenset({"new"}))
_POOL = LivePool(
    ref=ObjectRef("MachineDeployment", "kube-system", "a"),
    uid="1",
    resource_version="1",
    revision="2",
    finalizers=(),
    gate=Gate.READY,
)


def _object(part: str, **more: Any) -> Stampable:
    given = {"revision": None, "template": "new", "stamped": None} | more
    kind = "OperatingSystemConfig" if part == "config" else "Secret"
    name = "a-kube-system-config" if part == "config" else f"a-kube-system-{part}-config"
    side = Side.MANAGEMENT if part == "config" else Side.WORKER
    if part == "config":
        given["template"] = None
    return Stampable(ref=ObjectRef(kind, "x", name), side=side, uid="1", resource_version="1", **given)


def _objects(**more: Any) -> PoolObjects:
    return PoolObjects(*(_object(part, **more) for part in ("config", "provisioning", "bootstrap")))


def _told(pool: LivePool, objects: PoolObjects) -> tuple[list[tuple[str, str | None]], str]:
    stamping = stamping_of(pool, objects, _TEMPLATES)
    stamps = [(stamp.target.ref.name.removeprefix("a-kube-system-"), stamp.revision) for stamp in stamping.stamps]
    return stamps, stamping.left.why if stamping.left else ""


def test_all_objects_get_the_revision_and_the_bootstrap_secret_comes_last() -> None:
    stamps = [("config", "2"), ("provisioning-config", "2"), ("bootstrap-config", "2")]
    assert _told(_POOL, _objects()) == (stamps, "")
    assert _told(_POOL, _objects(revision="1", stamped="old")) == (stamps, "")
    assert [stamp.opens for stamp in stamping_of(_POOL, _objects(), _TEMPLATES).stamps] == [False, False, True]


def test_a_run_that_was_ended_between_two_objects_is_finished() -> None:
    done = _object("config", revision="2", stamped="new")
    objects = replace(_objects(), config=done)
    assert not is_stamped(_POOL, objects, _TEMPLATES.digests)
    assert _told(_POOL, objects) == ([("provisioning-config", "2"), ("bootstrap-config", "2")], "")


def test_what_has_its_revision_is_not_looked_at_any_closer() -> None:
    for stamped in ("new", None):  # None: a direct apply wrote it, or git has it
        assert is_stamped(_POOL, _objects(revision="2", stamped=stamped), _TEMPLATES.digests)
    assert is_stamped(_POOL, PoolObjects(), _TEMPLATES.digests)
    assert not is_stamped(replace(_POOL, revision=None), _objects(), _TEMPLATES.digests)
    assert not is_stamped(_POOL, _objects(revision="2", stamped="new"), frozenset({"another"}))


@pytest.mark.parametrize(
    ("objects", "why"),
    [
        (_objects(template="old"), "what came from git was made from another template than it has"),
        (replace(_objects(), bootstrap=None), "its bootstrap Secret has not come from git yet"),
        (replace(_objects(), provisioning=None), "its provisioning Secret has not come from git yet"),
        (
            replace(_objects(), provisioning=_object("provisioning", template="old")),
            "its two Secrets were made from different templates: one of them has not come from git yet",
        ),
    ],
)
def test_what_does_not_fit_is_left_with_a_reason(objects: PoolObjects, why: str) -> None:
    assert _told(_POOL, objects) == ([], why)


@pytest.mark.parametrize("gate", [Gate.WAITING, Gate.PAUSED])
def test_a_pool_that_is_not_ready_is_left_with_its_reason(gate: Gate) -> None:
    assert _told(replace(_POOL, gate=gate, left=replace(PAUSED, why="of a reason")), _objects()) == ([], "of a reason")


def test_a_stamp_goes_where_other_content_came_after_it() -> None:
    """Else machines of an older revision would boot with what is meant for the next."""
    came = _objects(revision="1", stamped="old")
    waiting = replace(_POOL, gate=Gate.WAITING, left=replace(PAUSED, why="later"))
    assert _told(waiting, came) == ([("bootstrap-config", None), ("provisioning-config", None)], "later")
    reasons = [stamp.reason for stamp in stamping_of(waiting, came, _TEMPLATES).stamps]
    assert set(reasons) == {"what it holds is not of revision 1"}


def test_a_stamp_goes_where_the_revision_was_given_anew() -> None:
    """A MachineDeployment that was deleted and made again begins at revision 1 too."""
    left = "what came from git was made from another template than it has"
    before = _objects(revision="2", template="old", stamped="old")
    assert _told(_POOL, before) == ([("bootstrap-config", None), ("provisioning-config", None)], left)
    assert _told(replace(_POOL, gate=Gate.WAITING), before) == ([], left)
    assert _told(_POOL, _objects(revision="2", template="old")) == ([], left)  # not our stamp


def test_a_stamp_stays_right_while_git_is_behind() -> None:
    """Machines of the older revision still get what is theirs."""
    behind = _objects(revision="1", template="old", stamped="old")
    assert _told(_POOL, behind) == ([], "what came from git was made from another template than it has")


_TREE: dict[str, Any] = {
    "metadata": {"labels": {"pool": "a"}},
    "spec": {
        "versions": {"kubelet": "1.34.2"},
        "taints": [{"key": "a", "effect": "NoSchedule"}],
        "providerSpec": {"value": {"cloudProvider": "aws", "cloudProviderSpec": {"zone": "a"}, "sshPublicKeys": []}},
    },
}
_OWNED = {
    "f:metadata": {"f:labels": {".": {}, "f:pool": {}}},
    "f:spec": {
        "f:versions": {"f:kubelet": {}},
        "f:taints": {},
        "f:providerSpec": {
            "f:value": {
                "f:cloudProvider": {},
                "f:cloudProviderSpec": {"f:zone": {}},
                "f:sshPublicKeys": {},
            }
        },
    },
}


def _defaulted(**config: Any) -> dict[str, Any]:
    """The template as webhooks leave it."""
    live = json.loads(json.dumps(_TREE))
    value = live["spec"]["providerSpec"]["value"]
    value["cloudProviderSpec"]["diskType"] = "gp3"
    value["operatingSystemSpec"] = {"distUpgradeOnBoot": False}
    live["spec"]["metadata"] = {"creationTimestamp": None}
    value |= config
    assert isinstance(live, dict)
    return live


def _last_applied(template: Any) -> dict[str, Any]:
    return {"annotations": {LAST_APPLIED: json.dumps({"spec": {"template": template}})}}


def _managed(fields: Any, operation: str = "Apply") -> dict[str, Any]:
    entry = {"manager": "kustomize-controller", "operation": operation}
    return {"managedFields": [entry | {"fieldsV1": {"f:spec": {"f:template": fields}}}]}


@pytest.mark.parametrize("metadata", [_last_applied(_TREE), _managed(_OWNED)], ids=["kubectl", "server-side"])
def test_a_template_with_defaults_of_webhooks_is_known_by_what_was_applied(metadata: dict[str, Any]) -> None:
    assert template_digest(_TREE) in live_templates(_defaulted(), metadata).digests
    assert template_digest(_TREE) in live_templates(_TREE, {}).digests


def test_a_map_that_was_applied_empty_is_known_too() -> None:
    tree = json.loads(json.dumps(_TREE))
    tree["spec"]["providerSpec"]["value"]["operatingSystemSpec"] = {}
    owned = json.loads(json.dumps(_OWNED))
    owned["f:spec"]["f:providerSpec"]["f:value"]["f:operatingSystemSpec"] = {}
    assert template_digest(tree) in live_templates(_defaulted(), _managed(owned)).digests


@pytest.mark.parametrize(
    "metadata",
    [
        {},
        {"annotations": {LAST_APPLIED: "no JSON"}},
        {"annotations": {LAST_APPLIED: "[]"}},
        {"annotations": {LAST_APPLIED: '{"spec": 1}'}},
        _managed(_OWNED, "Update"),
    ],
)
def test_nobodys_word_makes_no_template(metadata: dict[str, Any]) -> None:
    assert live_templates(_defaulted(), metadata).digests == digests_as_written(_defaulted())


def test_what_is_empty_or_false_makes_no_other_template() -> None:
    live = _defaulted()
    del live["spec"]["providerSpec"]["value"]["cloudProviderSpec"]["diskType"]
    assert template_digest(_TREE) in live_templates(live, {}).digests


def test_a_template_that_was_edited_after_it_was_applied_is_another() -> None:
    edited = _defaulted()
    edited["spec"]["versions"]["kubelet"] = "1.35.0"
    assert template_digest(_TREE) not in live_templates(edited, _last_applied(_TREE)).digests
    upgrade = {"distUpgradeOnBoot": True}
    for added in (_defaulted(network={"cidr": "10.0.0.0/8"}), _defaulted(operatingSystemSpec=upgrade)):
        for metadata in (_last_applied(_TREE), _managed(_OWNED)):
            assert template_digest(_TREE) not in live_templates(added, metadata).digests
