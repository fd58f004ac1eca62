"""Revision stamps on what came through git, in real clusters."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from osm_gitops.errors import Code
from osm_gitops.model.live import Delivery, LivePool, WriteOptions
from osm_gitops.model.objects import ObjectRef
from osm_gitops.model.settings import Settings
from osm_gitops.pipeline.rendering import render_cluster
from osm_gitops.plan.machines import digests_as_written
from osm_gitops.plan.stamps import Stamping, is_stamped, stamping_of
from osm_gitops.sources.tree import read_tree
from osm_gitops.sources.walk import Folder, in_no_git
from osm_gitops.targets.cluster.pools import read_pools
from osm_gitops.targets.cluster.stamping import read_stampables, read_templates, stamp_pools
from osm_gitops.targets.cluster.writing import Control
from tests.apiserver.after_osm import REVISION as MACHINE_REVISION
from tests.apiserver.client import Object, path_of
from tests.cli.scenes import pool as pool_body
from tests.cli.scenes import profile, write_tree
from tests.faults import Expected
from tests.targets.cluster.scene import (
    MACHINES,
    Counting,
    EndedError,
    Scene,
    config_path,
    machine_path,
    ref,
    secret_path,
    whys,
)

_STAMP = "k8c.io/machine-deployment-revision"
_FLUX = "kustomize-controller"
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def tree_pool(name: str = "a", **more: Any) -> Object:
    body = pool_body(name, **more)
    body["spec"]["template"]["metadata"] = {"labels": {"pool": name}}
    return body


def from_git(scene: Scene, *pools: Object, flux: str = _FLUX, applies_pools: bool = True, **spec: Any) -> None:
    """What Flux applies of a tree: MachineDeployments, and what was rendered of them; ``spec`` is of the profile."""
    tree = write_tree(scene.folder, profile(script=scene.script, **spec), *pools)
    inputs = read_tree(Folder(tree, str(tree), in_no_git), management_namespace="kube-system", environment={})
    desired = render_cluster("prod", inputs, Settings()).desired
    for pool in pools if applies_pools else ():
        scene.worker.client().apply(pool, flux)
    for each in desired.objects:
        if each.pool is not None:
            cluster = scene.management if each.ref.kind == "OperatingSystemConfig" else scene.worker
            cluster.client().apply(dict(each.body), flux)


def machine_controller(scene: Scene, name: str = "a", revision: str = "1") -> None:
    scene.change(name, {"metadata": {"annotations": {MACHINE_REVISION: revision}}})
    scene.osm.objects["MachineDeployment", "kube-system", name] = scene.get(machine_path(name))
    scene.osm.machine_set(name)


def look(scene: Scene) -> tuple[Mapping[ObjectRef, LivePool], Mapping[ObjectRef, Stamping]]:
    machines = scene.machines()
    pools = read_pools(scene.live.worker, machines)
    objects = read_stampables(scene.live, pools, "kube-system")
    doubtful = [
        each
        for each in machines
        if not is_stamped(pools[each.ref], objects[each.ref], digests_as_written(each.template))
    ]
    templates = read_templates(scene.live, doubtful)
    return pools, {each.ref: stamping_of(pools[each.ref], objects[each.ref], templates[each.ref]) for each in doubtful}


def run(scene: Scene) -> Delivery:
    return stamp_pools(scene.live, *look(scene), WriteOptions(), Control(lambda: None))


def stamps(scene: Scene, name: str = "a") -> list[str | None]:
    """Of OSC, provisioning and bootstrap Secret."""
    client = scene.management.client()
    found = [
        client.get(config_path(name)),
        *(scene.get(secret_path(name, half)) for half in ("provisioning", "bootstrap")),
    ]
    return [(each["metadata"].get("annotations") or {}).get(_STAMP) for each in found]


def test_what_came_from_git_is_stamped_in_both_clusters(split: Scene) -> None:
    from_git(split, tree_pool())
    assert stamps(split) == [None, None, None]
    assert whys(run(split).left) == {ref("a"): "machine-controller has not given it a revision yet"}
    machine_controller(split)
    delivery = run(split)
    assert (delivery.written, delivery.left, delivery.failed) == ((ref("a"),), {}, {})
    assert stamps(split) == ["1", "1", "1"]
    before = split.live.worker.requests
    assert look(split)[1] == {}
    assert split.live.worker.requests - before == 3  # MachineSets, Machines, Secrets


def test_the_bootstrap_secret_is_stamped_last(single: Scene) -> None:
    from_git(single, tree_pool())
    machine_controller(single)
    since = single.now()
    run(single)
    assert single.events(since) == [
        ("MODIFIED", "a-config"),
        ("MODIFIED", "a-provisioning-config"),
        ("MODIFIED", "a-bootstrap-config"),
    ]


def test_flux_and_the_stamp_leave_each_other_alone(single: Scene) -> None:
    from_git(single, tree_pool())
    machine_controller(single)
    run(single)
    before = single.get(secret_path("a"))
    from_git(single, tree_pool())  # Flux applies again, by force
    assert single.get(secret_path("a")) == before
    owner = next(each for each in before["metadata"]["managedFields"] if each["manager"] == "osm-gitops-refresh")
    assert owner["operation"] == "Apply"
    assert list(owner["fieldsV1"]) == ["f:metadata"]


def test_new_content_loses_its_stamp_until_machine_controller_has_got_there(single: Scene) -> None:
    from_git(single, tree_pool())
    machine_controller(single)
    run(single)
    from_git(single, tree_pool(kubelet="1.35.0"))
    assert whys(run(single).left) == {ref("a"): "the MachineSet of its revision 1 has another template"}
    assert stamps(single)[1:] == [None, None]
    machine_controller(single, revision="2")
    run(single)
    assert stamps(single) == ["2", "2", "2"]


def test_what_git_is_behind_with_keeps_its_stamp(single: Scene) -> None:
    from_git(single, tree_pool())
    machine_controller(single)
    run(single)
    single.roll("a", "2", "1.35.0")
    assert whys(run(single).left) == {ref("a"): "what came from git was made from another template than it has"}
    assert stamps(single) == ["1", "1", "1"]


def test_defaults_of_webhooks_do_not_hold_a_stamp_up(single: Scene) -> None:
    from_git(single, tree_pool())
    value = {"operatingSystemSpec": {"distUpgradeOnBoot": False}, "cloudProviderSpec": {"network": "default"}}
    template = {"spec": {"providerSpec": {"value": value}}}
    single.change("a", {"spec": {"template": template}})
    machine_controller(single)
    assert run(single).written == (ref("a"),)
    assert stamps(single) == ["1", "1", "1"]


@pytest.mark.parametrize("applied", ["server-side", "client-side", "created"])
def test_flatcar_is_stamped_with_the_default_that_machine_controllers_webhook_adds(single: Scene, applied: str) -> None:
    body = tree_pool(operatingSystem="flatcar", cloudProviderSpec={"serverType": {"value": "cx22"}, "networks": []})
    if applied == "created":
        body = tree_pool(operatingSystem="flatcar")
    made = json.loads(json.dumps(body))
    if applied == "client-side":
        made["metadata"]["annotations"][_LAST_APPLIED] = json.dumps(body)
    if applied != "server-side":
        single.worker.client().create(made)
    of_system = {"osName": "flatcar", "provisioningUtility": "ignition"}
    from_git(single, body, applies_pools=applied == "server-side", **of_system)
    config: Object = {"operatingSystemSpec": {"provisioningUtility": "ignition", "disableAutoUpdate": False}}
    if applied != "created":  # what the provider adds is told by nothing but what was applied
        config["cloudProviderSpec"] = {"serverType": "cx22", "networks": ["default"]}
        config["cloudProviderSpec"] |= {"serverType": {"value": "cx22"}} if applied == "server-side" else {}
    single.change("a", {"spec": {"template": {"spec": {"providerSpec": {"value": config}}}}})
    machine_controller(single)
    assert run(single).left == {}
    assert stamps(single) == ["1", "1", "1"]
    assert run(single) == Delivery()


def test_the_field_is_named_that_was_changed_in_the_cluster(single: Scene) -> None:
    from_git(single, tree_pool())
    spec = {"distUpgradeOnBoot": True}
    single.change("a", {"spec": {"template": {"spec": {"providerSpec": {"value": {"operatingSystemSpec": spec}}}}}})
    machine_controller(single)
    field = "spec.template.spec.providerSpec.value.operatingSystemSpec.distUpgradeOnBoot"
    why = f"what came from git was made from another template than it has ({field} was changed in the cluster)"
    assert whys(run(single).left) == {ref("a"): why}


def test_waiting_machines_are_woken_even_by_the_run_after_one_that_was_ended(single: Scene) -> None:
    from_git(single, tree_pool())
    machine_controller(single)
    machine_set = single.osm.objects["MachineSet", "kube-system", "a-1"]
    single.osm.machine(machine_set, "waits", waits=True)
    path = f"{MACHINES}/namespaces/kube-system/machines/waits"
    stamp_pools(single.live, *look(single), WriteOptions(nudge=False), Control(lambda: None))
    assert "osm-gitops.io/nudged" not in (single.get(path)["metadata"].get("annotations") or {})
    assert run(single).notes == ("woke 1 Machines that waited for their bootstrap Secret",)
    assert single.get(path)["metadata"]["annotations"]["osm-gitops.io/nudged"] == "1"
    assert run(single).notes == ()


def with_revision(scene: Scene, revision: str, manager: str, how: str) -> None:
    """A revision on all objects of pool ``a``, as ``manager`` writes it: declared by git, or once by a person."""
    client = scene.management.client()
    for path in (config_path("a"), secret_path("a", "provisioning"), secret_path("a")):
        body = client.get(path)
        annotations = {_STAMP: revision}
        metadata = {key: body["metadata"][key] for key in ("name", "namespace", "labels", "annotations")}
        metadata["annotations"] = metadata["annotations"] | annotations
        metadata["annotations"].pop("osm-gitops.io/stamped-template", None)
        declared = {**body, "metadata": metadata}
        if how == "server-side":
            client.apply(declared, manager)
            continue
        if how == "client-side":
            annotations = annotations | {_LAST_APPLIED: json.dumps(declared)}
        client.merge(f"{path}?fieldManager={manager}", {"metadata": {"annotations": annotations}})


_DECLARED = [
    ("kustomize-controller", "server-side"),
    ("argocd-controller", "server-side"),
    ("argocd-controller", "client-side"),
    ("kubectl-client-side-apply", "client-side"),
]


@pytest.mark.parametrize(("manager", "how"), _DECLARED)
def test_a_revision_from_git_is_taken_over_and_told(single: Scene, manager: str, how: str) -> None:
    """Repositories of earlier versions carry it."""
    from_git(single, tree_pool(), flux=manager)
    with_revision(single, "1", manager, how)
    machine_controller(single, revision="2")
    delivery = run(single)
    assert stamps(single) == ["2", "2", "2"]
    assert (delivery.written, delivery.left) == ((ref("a"),), {})
    assert list(delivery.failed[ref("a")]) == [
        Expected(Code.REVISION_DECLARED, ref("a"), "revision 1", manager, "revision 2")
    ]
    assert run(single) == Delivery()
    with_revision(single, "1", manager, how)
    assert ref("a") in run(single).failed
    assert stamps(single) == ["2", "2", "2"]


def test_a_revision_that_somebody_annotated_is_written_over(single: Scene) -> None:
    from_git(single, tree_pool())
    with_revision(single, "1", "kubectl-annotate", "once")
    machine_controller(single, revision="2")
    delivery = run(single)
    assert (delivery.written, delivery.failed) == ((ref("a"),), {})
    assert stamps(single) == ["2", "2", "2"]
    assert run(single) == Delivery()


def test_a_revision_stays_when_git_does_not_carry_it_any_more(single: Scene) -> None:
    """No machine has to wait for the next run after the commit of the version that left it out."""
    from_git(single, tree_pool())
    with_revision(single, "1", _FLUX, "server-side")
    machine_controller(single)
    assert (run(single).written, stamps(single)) == ((ref("a"),), ["1", "1", "1"])
    from_git(single, tree_pool())
    assert stamps(single) == ["1", "1", "1"]
    assert run(single) == Delivery()


@pytest.mark.parametrize(("manager", "how"), [*_DECLARED, ("osm-controller", "once")])
def test_a_revision_with_the_content_of_another_template_goes(single: Scene, manager: str, how: str) -> None:
    """A paused pool keeps its revision and its MachineSet: a scale-up must not boot with the new template."""
    from_git(single, tree_pool())
    machine_controller(single)
    run(single)
    single.change("a", {"spec": {"paused": True}})
    from_git(single, tree_pool(kubelet="1.35.0"), flux=manager)
    with_revision(single, "1", manager, how)
    delivery = run(single)
    assert stamps(single)[1:] == [None, None]
    assert whys(delivery.left) == {ref("a"): "it is paused"}
    assert (ref("a") in delivery.failed) is (how != "once")


def test_a_paused_pool_is_stamped_where_its_machine_set_has_its_template(single: Scene) -> None:
    from_git(single, tree_pool())
    machine_controller(single)
    single.change("a", {"spec": {"paused": True}})
    machine_set = single.osm.objects["MachineSet", "kube-system", "a-1"]
    single.osm.machine(machine_set, "waits", waits=True)
    delivery = run(single)
    assert (delivery.written, delivery.left) == ((ref("a"),), {})
    assert delivery.notes == ("woke 1 Machines that waited for their bootstrap Secret",)
    assert stamps(single) == ["1", "1", "1"]


def test_a_paused_pool_with_a_new_template_keeps_the_stamp_of_what_git_has_of_the_old_one(single: Scene) -> None:
    from_git(single, tree_pool())
    machine_controller(single)
    run(single)
    template = {"spec": {"versions": {"kubelet": "1.35.0"}}}
    single.change("a", {"spec": {"paused": True, "template": template}})
    assert whys(run(single).left) == {ref("a"): "it is paused"}
    assert stamps(single) == ["1", "1", "1"]


def test_after_a_direct_apply_the_stamp_takes_over_and_back(single: Scene) -> None:
    single.pool("a")
    single.run()
    assert stamps(single) == ["1", "1", "1"]
    machine_controller(single, revision="2")  # rolled back and forth: the same template has another revision
    assert run(single).written == (ref("a"),)
    assert stamps(single) == ["2", "2", "2"]
    machine_controller(single, revision="3")
    single.run()
    assert stamps(single) == ["3", "3", "3"]
    managers = {each["manager"] for each in single.get(secret_path("a"))["metadata"]["managedFields"]}
    assert managers == {"osm-gitops"}


def test_an_object_that_changed_after_it_was_looked_at_is_not_stamped(single: Scene) -> None:
    from_git(single, tree_pool())
    machine_controller(single)
    pools, stampings = look(single)
    from_git(single, tree_pool(kubelet="1.35.0"))
    delivery = stamp_pools(single.live, pools, stampings, WriteOptions(), Control(lambda: None))
    assert whys(delivery.left) == {ref("a"): "it changed during this run"}
    single.worker.client().delete(machine_path("a"))
    single.worker.client().delete(secret_path("a"))
    assert stamps_of_what_is_there(single) == [None]


def stamps_of_what_is_there(scene: Scene) -> list[str | None]:
    found = scene.find(secret_path("a", "provisioning"))
    assert found is not None
    return [(found["metadata"].get("annotations") or {}).get(_STAMP)]


@pytest.mark.parametrize("last", [1, 2, 3])
def test_a_run_that_is_ended_at_any_stamp_is_finished_by_the_next(single: Scene, last: int) -> None:
    from_git(single, tree_pool())
    machine_controller(single)
    pools, stampings = look(single)
    counting = Counting(single.live.worker, last, done=True)
    live = type(single.live)(counting.as_api, counting.as_api)
    with pytest.raises(EndedError):
        stamp_pools(live, pools, stampings, WriteOptions(), Control(lambda: None))
    assert [stamp for stamp in stamps(single) if stamp] == ["1"] * last
    run(single)
    assert stamps(single) == ["1", "1", "1"]


def test_one_pool_that_cannot_be_stamped_stops_no_other(single: Scene) -> None:
    from_git(single, tree_pool("a"), tree_pool("b"))
    for name in ("a", "b"):
        machine_controller(single, name)
    pools, stampings = look(single)
    single.worker.client().delete(
        path_of(single.get(secret_path("a", "provisioning")) | {"apiVersion": "v1", "kind": "Secret"})
    )
    delivery = stamp_pools(single.live, pools, stampings, WriteOptions(), Control(lambda: None))
    assert whys(delivery.left) == {ref("a"): "it changed during this run"}
    assert delivery.written == (ref("b"),)
    assert single.find(secret_path("a", "provisioning")) is None
