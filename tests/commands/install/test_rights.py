"""The rights of our accounts: enough for every run, and not one verb more."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, count
from pathlib import Path
from typing import Any

import pytest

from osm_gitops.cli import watching
from osm_gitops.commands.install.install_plan import INSTALLED, READER, WRITER, ConfigRepo, InstallPlan, Part
from osm_gitops.commands.install.manifests import manifests
from osm_gitops.commands.install.rights import (
    Right,
    management_inits,
    management_reads,
    management_refreshes,
    management_status,
    management_uninstalls,
    management_watched_refreshes,
    management_watches,
    management_writes,
    worker_reads,
    worker_refreshes,
    worker_status,
    worker_uninstalls,
    worker_watched_refreshes,
    worker_watches,
    worker_writes,
)
from osm_gitops.model.desired import Side
from osm_gitops.pipeline.watching import Watching
from tests.apiserver.after_osm import after_osm, recorded, recorded_authority, with_machine_sets
from tests.apiserver.client import Refused
from tests.apiserver.cluster import Cluster
from tests.apiserver.osm_deployment import NAME, deploy_as_recorded
from tests.cli.running import Ran, osm_gitops
from tests.cli.scenes import profile, write_fleet
from tests.commands.install.growing import Grant, Growing, granted, grants, grow, until_granted
from tests.commands.install.installing import PLAN, install, until_allowed_to_list
from tests.commands.install.story import (
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
from tests.git.repos import new_repository, pin_git

_HOME = "osm-gitops"
_LEASE = "/apis/coordination.k8s.io/v1/namespaces/{}/leases/osm-gitops"


@dataclass(frozen=True, slots=True)
class Mode:
    """Where things are: in one cluster, in two, or as KKP has it, in a namespace of a seed cluster and in a user
    cluster."""

    single: bool = False
    namespace: str = "kube-system"

    def plan(self, **more: Any) -> InstallPlan:
        named = replace(PLAN, namespace=self.namespace, profile_namespaces=(self.namespace,), jobs=None, **more)
        return replace(named, split=not self.single)


_MODES = {"single": Mode(single=True), "split": Mode(), "kkp": Mode(namespace="cluster-x")}
_EVERY_MODE = pytest.mark.parametrize("mode", _MODES.values(), ids=_MODES.keys())
# What takes long is done in two clusters, where most can be missed, and elsewhere by hand.
_SPLIT_FIRST = pytest.mark.parametrize(
    "mode",
    [
        pytest.param(mode, id=name, marks=() if name == "split" else pytest.mark.exhaustive)
        for name, mode in _MODES.items()
    ],
)


def _story(management: Cluster, worker: Cluster, folder: Path, account: str, mode: Mode = _MODES["split"]) -> Story:
    """A cluster after OSM, and an account in both clusters that may do nothing."""
    (folder / "ca.pem").write_text(recorded_authority(), "utf-8")
    osm = with_machine_sets(after_osm(management, management if mode.single else worker))
    if mode.namespace != "kube-system":
        management.namespace(mode.namespace)
        for body in recorded():
            if body["kind"].startswith("OperatingSystem"):
                metadata = {"name": body["metadata"]["name"], "namespace": mode.namespace}
                metadata |= {key: body["metadata"].get(key, {}) for key in ("labels", "annotations")}
                management.client().create({**body, "metadata": metadata})
    for cluster in {each.name: each for each in (osm.management, osm.worker)}.values():
        cluster.client().apply(
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": _HOME, "labels": {"a": "b"}}}
        )
        metadata = {"name": account, "namespace": _HOME}
        cluster.client().apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata})
        user = cluster.account(_HOME, account)
    settings = ("--external-cloud-provider", "--kubernetes-ca-bundle", str(folder / "ca.pem"))
    return Story(osm, folder, user, (*settings, "--namespace", mode.namespace), mode.namespace)


def _growing(story: Story, account: str, here: Sequence[Right], there: Sequence[Right]) -> tuple[Growing, ...]:
    """The account in each cluster, with what it should have there in the end."""
    osm = story.osm
    if osm.worker is osm.management:
        return (Growing(osm.management, _HOME, account, grants((*here, *there))),)
    return tuple(
        Growing(cluster, _HOME, account, grants(rights))
        for cluster, rights in ((osm.management, here), (osm.worker, there))
    )


def _has_what_it_needs(accounts: Sequence[Growing]) -> None:
    for account in accounts:
        assert account.given == account.expected


@_SPLIT_FIRST
def test_the_reader_has_what_looking_needs_and_nothing_else(
    management: Cluster, worker: Cluster, tmp_path: Path, mode: Mode
) -> None:
    story, plan = _story(management, worker, tmp_path, READER, mode), mode.plan()
    here, there = (management_reads(plan), management_status(plan)), (worker_reads(plan), worker_status(plan))
    accounts = _growing(story, READER, [*chain(*here)], [*chain(*there)])
    grow(accounts, partial(_looked, story, "plan"))
    without_cluster_info(story)
    with_webhooks(story)
    for command in ("plan", "status", "rollout"):
        grow(accounts, partial(_looked, story, command))
    _has_what_it_needs(accounts)


@_EVERY_MODE
def test_who_writes_a_config_repo_has_what_that_needs_and_nothing_else(
    management: Cluster, worker: Cluster, tmp_path: Path, mode: Mode
) -> None:
    """Beyond what the reader has."""
    story, plan = _story(management, worker, tmp_path, READER, mode), mode.plan()
    _deploy_osm(management, mode)
    reads = (*management_reads(plan), *worker_reads(plan)) if mode.single else management_reads(plan)
    accounts = _growing(story, READER, (*management_inits(plan), *management_reads(plan)), worker_reads(plan))
    accounts[0].give(grants(reads))
    if not mode.single:
        accounts[1].give(grants(worker_reads(plan)))
    # It looks into all namespaces first, and then into the one that is named by default.
    accounts[0].dispensable = {Grant("", "apps", "deployments", "list")}
    folders = (str(tmp_path / f"nodes-{number}") for number in count())
    grow(accounts, lambda: _initialized(story, mode, next(folders)))
    _has_what_it_needs(accounts)


@_SPLIT_FIRST
def test_who_refreshes_has_what_that_needs_and_nothing_else(
    management: Cluster, worker: Cluster, tmp_path: Path, mode: Mode
) -> None:
    story, plan = _story(management, worker, tmp_path, WRITER, mode), mode.plan()
    accounts = _growing(story, WRITER, management_refreshes(plan), worker_refreshes(plan))
    for scene in SCENES:
        scene.happens(story)
        grow(accounts, partial(_refreshed, story, *scene.settings))
    assert replace(story, user="admin").apply().code == 0  # as if through git
    renumbered(story)
    grow(accounts, partial(_refreshed, story))
    vanished(story)
    grow(accounts, partial(_refreshed, story))
    with_two_tokens(story)
    grow(accounts, partial(_refreshed, story, ends=1))
    _has_what_it_needs(accounts)


@_SPLIT_FIRST
def test_the_writer_has_what_runs_need_and_nothing_else(
    management: Cluster, worker: Cluster, tmp_path: Path, mode: Mode
) -> None:
    story, plan = _story(management, worker, tmp_path, WRITER, mode), mode.plan()
    here, there = (management_reads(plan), management_writes(plan)), (worker_reads(plan), worker_writes(plan))
    accounts = _growing(story, WRITER, [*chain(*here)], [*chain(*there)])
    # What plans need they need too, as the test above shows.
    for account in accounts:
        reads = (*(here[0] if account.cluster is management else ()), *(there[0] if account is accounts[-1] else ()))
        account.give(grants(reads))
    for scene in (*SCENES, *PROFILE_SCENES):
        scene.happens(story)
        assert scene.said in grow(accounts, partial(_applied, story, scene))
    _has_what_it_needs(accounts)


@_SPLIT_FIRST
@pytest.mark.parametrize("command", ["apply", "refresh"])
def test_who_watches_has_what_that_needs_and_nothing_else(
    management: Cluster, worker: Cluster, tmp_path: Path, mode: Mode, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beyond what such runs need without it."""
    story, plan = _story(management, worker, tmp_path, WRITER, mode), mode.plan()
    without_cluster_info(story)
    here: tuple[Right, ...] = (*management_reads(plan), *management_writes(plan))
    there: tuple[Right, ...] = (*worker_reads(plan), *worker_writes(plan))
    watches = (management_watches(plan), worker_watches(plan))
    if command == "refresh":
        here, there = management_refreshes(plan), worker_refreshes(plan)
        watches = (management_watched_refreshes(plan), worker_watched_refreshes(plan))
    accounts = _growing(story, WRITER, (*here, *watches[0]), (*there, *watches[1]))
    for account in accounts:
        reads = (*(here if account.cluster is management else ()), *(there if account is accounts[-1] else ()))
        account.give(grants(reads))
    grow(accounts, partial(_watched, story, command, monkeypatch))
    _has_what_it_needs(accounts)


def _watched(story: Story, command: str, monkeypatch: pytest.MonkeyPatch) -> tuple[bool, str]:
    """The first run of a loop, before which it opens all of its watches."""
    opened: list[bool] = []

    def drive(loop: Watching) -> None:
        loop.start()
        opened.append(all(each.is_open for each in loop._clusters.values()))

    monkeypatch.setattr(watching, "drive", drive)
    ran = story.apply("--watch", command=command)
    return opened == [True], ran.err


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


def _deploy_osm(management: Cluster, mode: Mode) -> None:
    """OSM's Deployment, with flags of a Secret and of a ConfigMap; nothing carries it out."""
    name = {"name": "osm-settings"}
    metadata = {**name, "namespace": mode.namespace}
    data = {"PROXY": "http://proxy.example.com:3128"}
    management.client().create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})
    container = {"envFrom": [{"configMapRef": name}]}
    deploy_as_recorded(management, "-node-http-proxy=$(PROXY)", container=container, namespace=mode.namespace)


def _initialized(story: Story, mode: Mode, folder: str) -> tuple[bool, str]:
    recipient = "age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p"
    more = ("--osm-deployment", f"{mode.namespace}/{NAME}") if mode.namespace != "kube-system" else ()
    ran = osm_gitops("init", folder, "--from", "cluster", "--age-recipient", recipient, *story.connection(), *more)
    return ran.code == 0, ran.out + ran.err


def _to_give_back(management: Cluster, worker: Cluster, folder: Path, mode: Mode) -> Story:
    """A cluster that a run of somebody else has taken over, with all that uninstall has to see to."""
    story = _story(management, worker, folder, WRITER, mode)
    story.osm.machine(story.osm.machine_set("pool-00000", revision="2"), "waited", waits=True)
    machines = "/apis/cluster.k8s.io/v1alpha1/namespaces/kube-system/machines"
    change = {"metadata": {"annotations": {"osm-gitops.io/nudged": "1"}}}
    story.osm.worker.client().merge(f"{machines}/waited", change)
    assert replace(story, user="admin").apply().code == 0
    labels = {"app.kubernetes.io/managed-by": "osm-gitops"}
    for name, marks in (("ours", {}), ("jinja", {"osm-gitops.io/template": "jinja2/v1"})):
        body = profile(name)
        body["metadata"] |= {"namespace": mode.namespace, "labels": labels, "annotations": marks}
        management.client().create(body)
    return replace(story, settings=("--namespace", mode.namespace))


@_EVERY_MODE
def test_who_uninstalls_has_what_that_needs_and_nothing_else(
    management: Cluster, worker: Cluster, tmp_path: Path, mode: Mode
) -> None:
    story, plan = _to_give_back(management, worker, tmp_path, mode), mode.plan()
    accounts = _growing(story, WRITER, management_uninstalls(plan), worker_uninstalls(plan))
    accounts[0].dispensable = {Grant("", "apps", "deployments", "list")}
    grow(accounts, partial(_given_back, story, mode.namespace))
    _has_what_it_needs(accounts)


def _install_all(story: Story, plan: InstallPlan, parts: frozenset[Part]) -> None:
    """Apply what is printed to both clusters, and wait until it counts."""
    sides = {Side.MANAGEMENT: story.osm.management} | ({Side.WORKER: story.osm.worker} if plan.split else {})
    for side, cluster in sides.items():
        bodies = manifests(plan, side, parts - {Part.CRDS, Part.GETTER})
        for body in bodies:
            cluster.client().apply(body, "installer")
        for account in (READER, WRITER):
            until_granted(cluster, cluster.account(_HOME, account), granted(bodies, account))


@_EVERY_MODE
def test_every_command_works_with_what_is_printed_for_it(
    management: Cluster, worker: Cluster, tmp_path: Path, mode: Mode
) -> None:
    """None needs a right that install does not print, and every account is the one that the documents name."""
    writer, plan = _story(management, worker, tmp_path, WRITER, mode), mode.plan()
    _deploy_osm(management, mode)
    _install_all(writer, plan, INSTALLED)
    reader = replace(writer, user=management.account(_HOME, READER))
    source = ("--from", "cluster", *reader.connection())
    target = "\n  to: cluster\n  settings: {externalCloudProvider: true}\n"
    places = f"  management: {{kubeconfig: management, namespace: {mode.namespace}}}\n"
    places += "" if mode.single else "  worker: {kubeconfig: worker}\n"
    write_fleet(tmp_path, f"clusters:\n- name: prod\n  from: cluster{target}{places}")
    both = () if mode.single else ("--side", "both", "--worker-kubeconfig-secret", "workers")
    runs: list[tuple[str, Ran]] = [
        ("plan", reader.run("plan")),
        ("status", reader.run("status")),
        ("render", osm_gitops("render", *source, *reader.settings, "--to", str(tmp_path / "rendered"))),
        ("explain", osm_gitops("explain", "pool-00001", *source, *reader.settings)),
        ("validate", osm_gitops("validate", *source, *reader.settings)),
        ("osp list", osm_gitops("osp", "list", *source, "--namespace", mode.namespace)),
        ("install", osm_gitops("install", *source, *reader.settings, *both, "--image", "osm-gitops:1")),
    ]
    assert writer.connection()  # the fleet file's kubeconfigs are the writer's from here on
    runs += [
        ("doctor", osm_gitops("doctor", "--fleet", str(tmp_path / "osm-gitops.yaml"))),
        ("apply", writer.apply()),
        ("refresh", writer.apply(command="refresh")),
    ]
    _install_all(writer, plan, frozenset({Part.INIT}))
    well, said = _initialized(reader, mode, str(tmp_path / "nodes"))
    runs.append(("init", Ran(int(not well), "", said)))
    _install_all(writer, plan, frozenset({Part.UNINSTALL}))
    runs.append(("uninstall", replace(writer, settings=("--namespace", mode.namespace)).run("uninstall", "--yes")))
    for command, ran in runs:
        assert ran.code == 0, (command, ran)
        if command != "install":  # it prints what it may not look for
            assert "forbidden" not in ran.out + ran.err, (command, ran)


@_EVERY_MODE
def test_through_git_the_accounts_of_both_jobs_have_what_they_need(
    management: Cluster, worker: Cluster, tmp_path: Path, mode: Mode, monkeypatch: pytest.MonkeyPatch
) -> None:
    pin_git(monkeypatch)
    writer = _story(management, worker, tmp_path, WRITER, mode)
    _install_all(writer, mode.plan(repo=ConfigRepo("https://git.example.com/nodes.git"), into_git=True), INSTALLED)
    reader = replace(writer, user=management.account(_HOME, READER))
    repo = new_repository(tmp_path / "repo")
    into = ("--to", str(repo / "clusters"), "--dangerously-plaintext-secrets", "--yes")
    ran = osm_gitops("apply", "--from", "cluster", *reader.connection(), *reader.settings, *into)
    assert (ran.code, "forbidden" in ran.out + ran.err) == (0, False), ran
    ran = writer.apply(command="refresh")
    assert (ran.code, "forbidden" in ran.out + ran.err) == (0, False), ran
