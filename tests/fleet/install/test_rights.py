"""The rights of our accounts: enough for every run, and not one verb more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from osm_gitops.fleet.install.accounts import READER, WRITER
from osm_gitops.fleet.install.install_plan import Part
from osm_gitops.fleet.install.rights import (
    Right,
    management_reads,
    management_refreshes,
    management_status,
    management_writes,
    worker_reads,
    worker_refreshes,
    worker_status,
    worker_writes,
)
from tests.apiserver.after_osm import after_osm, recorded_authority, with_machine_sets
from tests.apiserver.cluster import Cluster
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
    here.dispensable = {Grant("", "apps", "deployments", "list")}
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
