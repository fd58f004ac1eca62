"""The rights of our accounts: enough for every run, and not one verb more."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from osm_gitops.fleet.install.accounts import READER, WRITER
from osm_gitops.fleet.install.install_plan import INSTALLED, Part
from osm_gitops.fleet.install.manifests import manifests
from osm_gitops.fleet.install.rights import (
    Right,
    management_reads,
    management_refreshes,
    management_status,
    management_uninstalls,
    management_writes,
    worker_reads,
    worker_refreshes,
    worker_status,
    worker_uninstalls,
    worker_writes,
)
from osm_gitops.model.desired import Side
from osm_gitops.resolve.bootstrap_token import NAMESPACE as TOKEN_NAMESPACE
from tests.apiserver.after_osm import after_osm, recorded, recorded_authority, with_machine_sets
from tests.apiserver.client import Refused
from tests.apiserver.cluster import Cluster
from tests.cli.scenes import profile
from tests.fleet.install.growing import Grant, Growing, grants, grow
from tests.fleet.install.installing import PLAN, install, until_allowed_to_list
from tests.fleet.install.story import (
    PROFILE_SCENES,
    SCENES,
    Scene,
    Story,
    renumbered,
    vanished,
    with_two_tokens,
    with_webhooks,
    without_cluster_info,
)

_HOME = "osm-gitops"
_LEASE = "/apis/coordination.k8s.io/v1/namespaces/{}/leases/osm-gitops"


def _story(management: Cluster, worker: Cluster, folder: Path, account: str) -> Story:
    """A cluster after OSM, and an account in both clusters that may do nothing."""
    (folder / "ca.pem").write_text(recorded_authority(), "utf-8")
    osm = with_machine_sets(after_osm(management, worker))
    for cluster in {management.name: management, worker.name: worker}.values():
        cluster.client().apply(
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": _HOME, "labels": {"a": "b"}}}
        )
        metadata = {"name": account, "namespace": _HOME}
        cluster.client().apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata})
        user = cluster.account(_HOME, account)
    settings = ("--external-cloud-provider", "--kubernetes-ca-bundle", str(folder / "ca.pem"))
    return Story(osm, folder, user, settings)


def _growing(cluster: Cluster, account: str, reads: Sequence[Right], writes: Sequence[Right] = ()) -> Growing:
    return Growing(cluster, _HOME, account, grants((*reads, *writes)))


def test_the_reader_has_what_looking_needs_and_nothing_else(
    management: Cluster, worker: Cluster, tmp_path: Path
) -> None:
    story = _story(management, worker, tmp_path, READER)
    here = _growing(management, READER, management_reads(PLAN), management_status(PLAN))
    there = _growing(worker, READER, worker_reads(PLAN), worker_status(PLAN))
    grow((here, there), partial(_looked, story, "plan"))
    without_cluster_info(story)
    with_webhooks(story)
    for command in ("plan", "status"):
        grow((here, there), partial(_looked, story, command))
    assert here.given == here.expected
    assert there.given == there.expected


def test_who_refreshes_has_what_that_needs_and_nothing_else(
    management: Cluster, worker: Cluster, tmp_path: Path
) -> None:
    story = _story(management, worker, tmp_path, WRITER)
    here = _growing(management, WRITER, management_refreshes(PLAN))
    there = _growing(worker, WRITER, worker_refreshes(PLAN))
    for scene in SCENES:
        scene.happens(story)
        grow((here, there), partial(_refreshed, story, *scene.settings))
    assert replace(story, user="admin").apply().code == 0  # as if through git
    renumbered(story)
    grow((here, there), partial(_refreshed, story))
    vanished(story)
    grow((here, there), partial(_refreshed, story))
    with_two_tokens(story)
    grow((here, there), partial(_refreshed, story, ends=1))
    assert here.given == here.expected
    assert there.given == there.expected


def test_the_writer_has_what_runs_need_and_nothing_else(management: Cluster, worker: Cluster, tmp_path: Path) -> None:
    story = _story(management, worker, tmp_path, WRITER)
    here = _growing(management, WRITER, management_reads(PLAN), management_writes(PLAN))
    there = _growing(worker, WRITER, worker_reads(PLAN), worker_writes(PLAN))
    # What plans need they need too, as the test above shows.
    here.give(grants(management_reads(PLAN)))
    there.give(grants(worker_reads(PLAN)))
    for scene in (*SCENES, *PROFILE_SCENES):
        scene.happens(story)
        assert scene.said in grow((here, there), partial(_applied, story, scene))
    assert here.given == here.expected
    assert there.given == there.expected


def test_one_cluster_is_run_with_what_is_installed(management: Cluster, tmp_path: Path) -> None:
    story = _story(management, management, tmp_path, WRITER)
    install(management, without=(Part.GETTER,))
    reader = replace(story, user=management.account(_HOME, READER))
    until_allowed_to_list(management.client(reader.user), "/api/v1/namespaces/kube-system/secrets")
    assert (reader.run("plan").code, reader.run("apply", "--yes").code) == (0, 1)
    for scene in (*SCENES, *PROFILE_SCENES):
        scene.happens(story)
        well, said = _applied(story, scene)
        assert well, said
        assert scene.said in said
        assert "forbidden" not in said


def _applied(story: Story, scene: Scene) -> tuple[bool, str]:
    ran = story.apply(*scene.settings)
    return ran.code == scene.ends, ran.err


def _looked(story: Story, command: str) -> tuple[bool, str]:
    ran = story.run(command)
    return ran.code == 0, ran.out + ran.err


def _refreshed(story: Story, *settings: str, ends: int = 0) -> tuple[bool, str]:
    ran = story.apply(*settings, command="refresh")
    return ran.code == ends, ran.err


def _given_back(story: Story, namespace: str) -> tuple[bool, str]:
    """Also where an earlier try could not give its Lease back."""
    with suppress(Refused):
        story.osm.management.client().delete(_LEASE.format(namespace))
    ran = story.run("uninstall", "--yes", "--lock-timeout", "0s")
    return ran.code == 0, ran.out + ran.err


def _to_give_back(management: Cluster, worker: Cluster, folder: Path, namespace: str = "kube-system") -> Story:
    """A cluster that a run of somebody else has taken over, with all that uninstall has to see to."""
    story = _story(management, worker, folder, WRITER)
    story.osm.machine(story.osm.machine_set("pool-00000", revision="2"), "waited", waits=True)
    machines = "/apis/cluster.k8s.io/v1alpha1/namespaces/kube-system/machines"
    worker.client().merge(f"{machines}/waited", {"metadata": {"annotations": {"osm-gitops.io/nudged": "1"}}})
    if namespace != "kube-system":  # KKP: what the management cluster has is in a namespace of the seed
        management.namespace(namespace)
        for body in recorded():
            if body["kind"].startswith("OperatingSystem"):
                metadata = {"name": body["metadata"]["name"], "namespace": namespace}
                metadata |= {key: body["metadata"].get(key, {}) for key in ("labels", "annotations")}
                management.client().create({**body, "metadata": metadata})
    where = ("--namespace", namespace)
    assert replace(story, user="admin", settings=(*story.settings, *where)).apply().code == 0
    labels = {"app.kubernetes.io/managed-by": "osm-gitops"}
    for name, marks in (("ours", {}), ("jinja", {"osm-gitops.io/template": "jinja2/v1"})):
        body = profile(name)
        body["metadata"] |= {"namespace": namespace, "labels": labels, "annotations": marks}
        management.client().create(body)
    return replace(story, settings=where)


@pytest.mark.parametrize("namespace", ["kube-system", "cluster-x"], ids=["split", "kkp"])
def test_who_uninstalls_has_what_that_needs_and_nothing_else(
    management: Cluster, worker: Cluster, tmp_path: Path, namespace: str
) -> None:
    story = _to_give_back(management, worker, tmp_path, namespace)
    plan = replace(PLAN, namespace=namespace, profile_namespaces=(namespace,), split=True)
    here = _growing(management, WRITER, management_uninstalls(plan))
    here.dispensable = {Grant("", "apps", "deployments", "list")}
    there = _growing(worker, WRITER, worker_uninstalls(plan))
    grow((here, there), partial(_given_back, story, namespace))
    assert here.given == here.expected
    assert there.given == there.expected


@pytest.mark.parametrize("mode", ["single", "split", "kkp"])
def test_a_cluster_is_given_back_with_what_is_printed(
    management: Cluster, worker: Cluster, tmp_path: Path, mode: str
) -> None:
    """The account of the runs has all that it needs, with the part that is printed by name only."""
    single, namespace = mode == "single", "cluster-x" if mode == "kkp" else "kube-system"
    story = _to_give_back(management, management if single else worker, tmp_path, namespace)
    plan = replace(PLAN, namespace=namespace, profile_namespaces=(namespace,), split=not single, jobs=None)
    parts = (INSTALLED | {Part.UNINSTALL}) - {Part.CRDS, Part.GETTER}
    for side, cluster in ((Side.MANAGEMENT, management), *(() if single else ((Side.WORKER, worker),))):
        for body in manifests(plan, side, parts):
            cluster.client().apply(body, "installer")
        last = f"/api/v1/namespaces/{TOKEN_NAMESPACE}/secrets"
        if cluster is not management or single:
            until_allowed_to_list(cluster.client(story.user), last)
        else:
            path = f"/apis/operatingsystemmanager.k8c.io/v1alpha1/namespaces/{namespace}/operatingsystemconfigs"
            until_allowed_to_list(cluster.client(story.user), path)
    well, said = _given_back(story, namespace)
    assert (well, "forbidden" in said) == (True, False), said
