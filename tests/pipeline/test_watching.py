"""The loop of ``--watch`` on real API servers: ``apply`` and ``refresh`` as the command line runs them.

The clock stands still until a test moves it. What clusters report is waited for, and never timed.
"""

from __future__ import annotations

import json
import re
from base64 import b64decode
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from osm_gitops.cli import watching as command
from osm_gitops.commands.boot.lane.binaries import Binaries
from osm_gitops.errors import Code
from osm_gitops.kube.watch import Changed, Opened
from osm_gitops.pipeline.schedule import Batch, Schedule
from osm_gitops.pipeline.watching import FromWatch, Message, Moved, Watching
from tests.apiserver.after_osm import REVISION, AfterOsm
from tests.apiserver.client import Object
from tests.apiserver.cluster import Cluster
from tests.apiserver.proxy import Proxy, answer, drop, during
from tests.apiserver.server import restartable
from tests.cli.running import Ran, osm_gitops
from tests.cli.scenes import facts, pool, profile, secret, write_fleet
from tests.faults import told
from tests.git.repos import git, new_repository, pin_git
from tests.kkp.seed import Seed
from tests.kube.inbox import opened_inbox

_SECRETS = "/api/v1/namespaces/cloud-init-settings/secrets"
_MACHINES = "/apis/cluster.k8s.io/v1alpha1/namespaces/kube-system/machinedeployments"
_PROFILES = "/apis/operatingsystemmanager.k8c.io/v1alpha1/namespaces/kube-system/operatingsystemprofiles"
_CONFIGS = "/apis/operatingsystemmanager.k8c.io/v1alpha1/namespaces/kube-system/operatingsystemconfigs"
_LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/osm-gitops"
_SECONDS = 60
_INTERVAL = 1800.0
_SOON = 30.0


@dataclass(slots=True)
class Loop:
    """A loop in the hands of a test."""

    watching: Watching
    schedule: Schedule
    now: float = 1000.0
    runs: list[Batch] = field(default_factory=list)

    def start(self) -> None:
        self.watching.start()

    def until(self, fits: Callable[[Message], bool]) -> None:
        """Take messages until one fits."""
        while True:
            message = self.watching.messages.get(timeout=_SECONDS)
            self.watching.take(message)
            if fits(message):
                return

    def until_seen(self, kind: str, name: str, *, gone: bool = False) -> None:
        """Until a watch has reported a change of an object."""

        def fits(message: Message) -> bool:
            report = message.report if isinstance(message, FromWatch) else None
            if not isinstance(report, Changed):
                return False
            return (report.found.ref.kind, report.found.ref.name, report.gone) == (kind, name, gone)

        self.until(fits)

    def until_created(self, *pools: str) -> None:
        """Until pools and their MachineSets have been seen, of which there are watches of their own."""
        missing = {("MachineDeployment", name) for name in pools} | {("MachineSet", f"{name}-1") for name in pools}

        def fits(message: Message) -> bool:
            report = message.report if isinstance(message, FromWatch) else None
            if isinstance(report, Changed):
                missing.discard((report.found.ref.kind, report.found.ref.name))
            return not missing

        self.until(fits)

    def until_watched(self, name: str) -> None:
        """Until an object is watched by its name."""

        def fits(message: Message) -> bool:
            if not isinstance(message, FromWatch) or not isinstance(message.report, Opened):
                return False
            return message.place.subject.name == name

        self.until(fits)

    def until_due(self) -> None:
        """Until something has been seen that a run is due for."""
        while self.wait > _SOON:
            self.until(lambda _: True)

    @property
    def wait(self) -> float:
        """Seconds until the next run."""
        return self.schedule.next() - self.now

    def run(self) -> Batch:
        """Let time pass until the next run, which is carried out."""
        self.now = max(self.now, self.schedule.next())
        known = len(self.runs)
        while len(self.runs) == known:
            self.watching.step()
        (batch,) = self.runs[known:]
        return batch


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Ran]:
    """Run a command with ``--watch`` while a scenario happens to its clusters."""

    def run(scenario: Callable[[Loop], None], *arguments: str) -> Ran:
        loops: list[Loop] = []
        failures: list[Exception] = []

        def drive(watching: Watching) -> None:
            loop = Loop(watching, watching._schedule)
            loops.append(loop)
            take = Schedule.take

            def taken(self: Schedule, now: float) -> tuple[Batch, ...]:
                batches = take(self, now)
                loop.runs.extend(batches)
                return batches

            with monkeypatch.context() as patched:
                patched.setattr(Schedule, "take", taken)
                try:
                    scenario(loop)
                except Exception as failure:  # noqa: BLE001 - the command line would report it as a bug
                    failures.append(failure)

        monkeypatch.setattr(command, "drive", drive)
        monkeypatch.setattr(command, "clock", lambda: loops[0].now if loops else 0.0)
        ran = osm_gitops(*arguments, "--watch", "--settle", "0s", "--lock-timeout", "0s")
        for failure in failures:
            raise failure
        assert loops, ran.err
        return ran

    return run


@dataclass(slots=True)
class Scene:
    """A cluster with facts, a profile, and pools as machine-controller numbers them."""

    cluster: Cluster
    folder: Path

    def __post_init__(self) -> None:
        self.cluster.namespace("cloud-init-settings")
        providers = [{"name": "hetzner"}, {"name": "vsphere"}]
        script = "#!/bin/sh\necho {{ .KubeVersion }}\n"
        for body in (*facts(), profile(script=script, supportedCloudProviders=providers)):
            self.cluster.client().create(body)

    @property
    def arguments(self) -> tuple[str, ...]:
        return ("apply", "--yes", "--from", "cluster", "--to", "cluster", *self.connection(self.cluster))

    def connection(self, seen_as: Cluster) -> tuple[str, ...]:
        name = f"kubeconfig-{seen_as.server.rpartition(':')[2]}"
        return ("--kubeconfig", str(seen_as.kubeconfig(self.folder / name)))

    def pool(self, name: str, **more: Any) -> None:
        body = pool(name, annotations={REVISION: "1"} | more.pop("annotations", {}), **more)
        body["spec"]["template"]["metadata"] = {"labels": {"pool": name}}
        osm = AfterOsm(self.cluster, self.cluster)
        osm.create(body, "kubectl")
        osm.machine_set(name)

    def merge(self, path: str, patch: Mapping[str, Any]) -> None:
        self.cluster.client().merge(path, dict(patch))

    def has(self, name: str) -> bool:
        items = self.cluster.client().get(_SECRETS)["items"]
        return any(item["metadata"]["name"] == f"{name}-kube-system-bootstrap-config" for item in items)

    def config(self, name: str) -> Object:
        return self.cluster.client().get(f"{_CONFIGS}/{name}-kube-system-config")

    def revision(self, name: str) -> str | None:
        found = self.cluster.client().get(f"{_SECRETS}/{name}-kube-system-bootstrap-config")
        annotation: str | None = found["metadata"]["annotations"].get("k8c.io/machine-deployment-revision")
        return annotation

    def unstamp(self, name: str) -> None:
        """Take the revision away from the bootstrap Secret."""
        annotations = {"k8c.io/machine-deployment-revision": None, "osm-gitops.io/stamped-template": None}
        self.merge(f"{_SECRETS}/{name}-kube-system-bootstrap-config", {"metadata": {"annotations": annotations}})

    def touch(self, name: str) -> None:
        """Something that no run reads: afterwards all that came before on the same watch has been seen."""
        self.merge(f"{_MACHINES}/{name}", {"spec": {"replicas": 7}, "metadata": {"finalizers": ["example.com/other"]}})


@pytest.fixture
def scene(worker: Cluster, tmp_path: Path) -> Scene:
    return Scene(worker, tmp_path)


def test_a_user_cluster_of_kkp_is_watched_with_its_own_kubeconfig(
    seed: Seed, scene: Scene, watch: Callable[..., Ran], tmp_path: Path
) -> None:
    scene.pool("old")
    seed.scale(seed.user_cluster("abcdefghij", scene.cluster), 0)
    fleet = write_fleet(tmp_path / "fleet", "clusters: [{kkp: {seed: {kubeconfig: seed.yaml}}, to: cluster}]")
    seed.server.kubeconfig(fleet.parent / "seed.yaml")

    def scenario(loop: Loop) -> None:
        loop.start()
        scene.pool("new")
        loop.until_created("new")
        assert loop.run() == Batch(("abcdefghij",), "MachineDeployment kube-system/new created", ("new",))
        assert scene.has("new")

    ran = watch(scenario, "apply", "--yes", "--fleet", str(fleet))
    assert (ran.code, "Warning" in ran.err) == (0, False), ran.err


def test_a_new_pool_is_written_by_a_run_of_its_own_and_then_there_is_no_other_run(
    scene: Scene, watch: Callable[..., Ran]
) -> None:
    scene.pool("old")

    def scenario(loop: Loop) -> None:
        loop.start()
        assert [batch.reason for batch in loop.runs] == ["start"]
        scene.pool("new")
        loop.until_created("new")
        assert loop.run() == Batch(("default",), "MachineDeployment kube-system/new created", ("new",))
        assert scene.has("new")
        # The run has set its finalizer, and made a token.
        scene.touch("new")
        loop.until_seen("MachineDeployment", "new")
        assert loop.wait > _INTERVAL / 2

    assert watch(scenario, *scene.arguments).code == 0


def test_a_pool_waits_for_machine_controller_without_a_failure(scene: Scene, watch: Callable[..., Ran]) -> None:
    def scenario(loop: Loop) -> None:
        scene.pool("a")
        loop.start()
        scene.merge(f"{_MACHINES}/a", {"spec": {"template": {"spec": {"versions": {"kubelet": "1.35.0"}}}}})
        loop.until_due()
        assert loop.run().pools == ("a",)
        assert "1.35.0" not in str(scene.config("a"))
        osm = AfterOsm(scene.cluster, scene.cluster)
        scene.merge(f"{_MACHINES}/a", {"metadata": {"annotations": {REVISION: "2"}}})
        osm.objects["MachineDeployment", "kube-system", "a"] = scene.cluster.client().get(f"{_MACHINES}/a")
        osm.machine_set("a")
        loop.until_seen("MachineSet", "a-2")
        loop.until_due()
        assert loop.run().pools == ("a",)
        assert "1.35.0" in str(scene.config("a"))

    ran = watch(scenario, *scene.arguments)
    assert "Error" not in ran.err


def test_two_changes_in_one_quiet_time_are_one_run(scene: Scene, watch: Callable[..., Ran]) -> None:
    def scenario(loop: Loop) -> None:
        loop.start()
        scene.pool("one")
        scene.pool("two")
        loop.until_created("one", "two")
        assert loop.run().pools == ("one", "two")
        assert scene.has("one")
        assert scene.has("two")

    watch(scenario, *scene.arguments)


def test_a_changed_profile_and_a_changed_fact_reach_all_pools(scene: Scene, watch: Callable[..., Ran]) -> None:
    scene.pool("a")
    variable = {"secretKeyRef": {"namespace": "kube-system", "name": "cloud", "key": "token"}}

    def scenario(loop: Loop) -> None:
        loop.start()
        scene.merge(f"{_PROFILES}/osp-a", {"spec": {"version": "v1.0.1", "osVersion": "25.04"}})
        loop.until_due()
        assert loop.run() == Batch(("default",), "OperatingSystemProfile kube-system/osp-a changed")
        assert scene.config("a")["spec"]["osVersion"] == "25.04"
        info = "/api/v1/namespaces/kube-public/configmaps/cluster-info"
        text = scene.cluster.client().get(info)["data"]["kubeconfig"]
        scene.merge(info, {"data": {"jws-kubeconfig-abcdef": "a signature"}})  # as the controller manager does
        loop.until_seen("ConfigMap", "cluster-info")
        assert loop.wait > _INTERVAL / 2
        scene.merge(info, {"data": {"kubeconfig": text.replace("api.example.com", "new.example.com")}})
        loop.until_due()
        assert loop.run() == Batch(("default",), "ConfigMap kube-public/cluster-info changed")
        token = f"{_SECRETS}/cloud-init-getter-token"
        scene.merge(token, {"stringData": {"token": "another"}})
        loop.until_due()
        assert loop.run() == Batch(("default",), "Secret cloud-init-settings/cloud-init-getter-token changed")
        # What a pool names is watched from then on.
        scene.cluster.client().create(secret("cloud", "kube-system", {"token": "first"}))
        cloud = {"cloudProvider": "vsphere", "cloudProviderSpec": {"username": variable}}
        scene.pool("b", kubelet="1.28.0", **cloud)
        loop.until_seen("MachineDeployment", "b")
        loop.until_watched("cloud")
        assert loop.run().pools == ("b",)
        scene.merge("/api/v1/namespaces/kube-system/secrets/cloud", {"stringData": {"token": "second"}})
        loop.until_due()
        assert loop.run() == Batch(("default",), "Secret kube-system/cloud changed")

    watch(scenario, *scene.arguments)


def test_a_deleted_pool_is_cleaned_up_by_a_run_of_all(scene: Scene, watch: Callable[..., Ran]) -> None:
    scene.pool("a")
    scene.pool("b")

    def scenario(loop: Loop) -> None:
        loop.start()
        assert scene.has("b")
        scene.cluster.client().delete(f"{_MACHINES}/b")
        loop.until_due()
        assert loop.run() == Batch(("default",), "MachineDeployment kube-system/b changed")
        assert not scene.has("b")
        loop.until_seen("MachineDeployment", "b", gone=True)
        loop.run()  # of what was seen while it went
        scene.touch("a")
        loop.until_seen("MachineDeployment", "a")
        assert loop.wait > _INTERVAL / 2
        assert scene.has("a")

    watch(scenario, *scene.arguments)


def test_own_writes_of_profiles_start_one_more_run_and_no_other(scene: Scene, watch: Callable[..., Ran]) -> None:
    """The built-in profile of a pool is written to the cluster, and that is a profile which has changed."""
    scene.pool("a", annotations={"k8c.io/operating-system-profile": "osp-ubuntu"})

    def scenario(loop: Loop) -> None:
        loop.start()
        assert scene.has("a")
        loop.until_due()
        assert loop.run().reason == "OperatingSystemProfile kube-system/osp-ubuntu created"
        scene.merge(f"{_PROFILES}/osp-a", {"metadata": {"labels": {"another": "label"}}})
        loop.until_due()
        loop.run()
        scene.touch("a")
        loop.until_seen("MachineDeployment", "a")
        assert loop.wait > _INTERVAL / 2

    watch(scenario, *scene.arguments)


def test_what_changed_during_a_gap_is_found_when_everything_is_listed_again(
    scene: Scene, watch: Callable[..., Ran], through: Callable[[Cluster], Proxy]
) -> None:
    scene.pool("a")
    proxy = through(scene.cluster)

    def scenario(loop: Loop) -> None:
        loop.start()
        proxy.when(answer(410), path="/machinedeployments", fits=lambda request: request.is_watch)
        proxy.when(answer(410), path="/machinesets", fits=lambda request: request.is_watch)
        proxy.hang_up()
        scene.pool("b")
        loop.until_due()
        loop.until(lambda _: loop.schedule._clusters["default"].opened)
        assert loop.run().pools == ("b",)
        assert scene.has("b")

    ran = watch(scenario, *scene.arguments[:-2], *scene.connection(proxy.cluster))
    # The gap is named once, and its end.
    assert len(re.findall(r"^Warning: .*OG1711", ran.err, re.MULTILINE)) == 1
    assert "default: watched again" in ran.err


def test_a_failed_run_is_repeated_and_the_next_change_runs_before(scene: Scene, watch: Callable[..., Ran]) -> None:
    scene.pool("a", annotations={"k8c.io/operating-system-profile": "osp-none"})

    def scenario(loop: Loop) -> None:
        loop.start()
        assert 5.0 <= loop.wait <= 10.0
        assert loop.run() == Batch(("default",), "the last run failed")
        assert loop.wait >= 10.0
        scene.pool("b")
        loop.until_created("b")
        assert loop.wait <= 5.0
        assert loop.run().pools == ("b",)
        assert scene.has("b")

    watch(scenario, *scene.arguments)


def test_a_run_that_finds_the_lease_taken_is_repeated_when_it_is_free(scene: Scene, watch: Callable[..., Ran]) -> None:
    def scenario(loop: Loop) -> None:
        loop.start()
        scene.merge(_LEASE, {"spec": {"holderIdentity": "another replica", "leaseDurationSeconds": 60}})
        scene.pool("a")
        loop.until_created("a")
        loop.run()
        assert not scene.has("a")
        scene.merge(_LEASE, {"spec": {"holderIdentity": ""}})
        assert loop.run() == Batch(("default",), "the last run failed")
        assert scene.has("a")

    watch(scenario, *scene.arguments)


def test_a_token_is_renewed_in_time_without_a_change(scene: Scene, watch: Callable[..., Ran]) -> None:
    scene.pool("a")

    def scenario(loop: Loop) -> None:
        loop.start()
        _set_end(scene.cluster, timedelta(hours=1, minutes=20))
        scene.merge(f"{_PROFILES}/osp-a", {"metadata": {"labels": {"any": "change"}}})
        loop.until_due()
        loop.run()
        assert 19 * 60 < loop.wait <= 20 * 60
        _set_end(scene.cluster, timedelta(minutes=59))
        assert loop.run() == Batch(("default",), "a token is due")
        assert _end(scene.cluster) > datetime.now(UTC) + timedelta(hours=1, minutes=50)

    watch(scenario, *scene.arguments, "--token-life", "2h", "--interval", "30m")


def _token(cluster: Cluster) -> Object:
    items: list[Object] = cluster.client().get("/api/v1/namespaces/kube-system/secrets")["items"]
    (token,) = (each for each in items if each["type"] == "bootstrap.kubernetes.io/token")
    return token


def _set_end(cluster: Cluster, left: timedelta) -> None:
    end = (datetime.now(UTC) + left).strftime("%Y-%m-%dT%H:%M:%SZ")
    path = f"/api/v1/namespaces/kube-system/secrets/{_token(cluster)['metadata']['name']}"
    cluster.client().merge(path, {"stringData": {"expiration": end}})


def _end(cluster: Cluster) -> datetime:
    return datetime.fromisoformat(b64decode(_token(cluster)["data"]["expiration"]).decode())


def _fleet(folder: Path, clusters: Mapping[str, tuple[Cluster, Any]]) -> None:
    entries = []
    for name, (cluster, to) in clusters.items():
        kubeconfig = cluster.kubeconfig(folder.parent / f"kubeconfig-{name}")
        entries.append({"name": name, "from": "cluster", "to": to, "management": {"kubeconfig": str(kubeconfig)}})
    write_fleet(folder, json.dumps({"clusters": entries})[1:-1])


def test_a_cluster_that_is_down_holds_up_no_other_and_is_run_when_it_is_there_again(
    scene: Scene,
    management: Cluster,
    watch: Callable[..., Ran],
    through: Callable[[Cluster], Proxy],
    patient: list[float],
) -> None:
    other = Scene(management, scene.folder)
    scene.pool("a")
    proxy = through(management)
    proxy.when(drop, times=None)
    folder = scene.folder / "fleet"
    _fleet(folder, {"up": (scene.cluster, "cluster"), "down": (proxy.cluster, "cluster")})

    def scenario(loop: Loop) -> None:
        loop.start()
        assert loop.runs == [Batch(("up",), "start")]
        assert scene.has("a")
        scene.pool("b")
        loop.until_created("b")
        assert loop.run() == Batch(("up",), "MachineDeployment kube-system/b created", ("b",))
        assert loop.run() == Batch(("down",), "start")
        assert loop.wait > _INTERVAL / 2  # it is not tried again and again
        other.pool("c")
        proxy.clear()
        loop.until(lambda _: loop.schedule._clusters["down"].opened)
        assert loop.run().clusters == ("down",)
        assert other.has("c")

    ran = watch(scenario, "apply", "--yes", "--fleet", str(folder / "osm-gitops.yaml"))
    assert "down: watched again" in ran.err
    assert patient


def test_a_commit_of_others_in_the_git_source_is_a_run_of_all_clusters(
    scene: Scene, watch: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    pin_git(monkeypatch)
    scene.pool("a")
    origin = new_repository(scene.folder / "origin")
    git(origin, "config", "receive.denyCurrentBranch", "updateInstead")
    _fleet(origin, {"prod": (scene.cluster, {"git": {"path": "clusters", "push": True}})})
    git(origin, "add", ".")
    git(origin, "commit", "--quiet", "-m", "fleet")
    first = git(origin, "rev-parse", "HEAD")

    def scenario(loop: Loop) -> None:
        loop.start()
        made = git(origin, "rev-parse", "HEAD")
        assert made != first
        loop.until(lambda message: message == Moved(made))
        assert loop.wait > _INTERVAL / 2  # it is the run's own commit
        text = (origin / "osm-gitops.yaml").read_text("utf-8")
        (origin / "osm-gitops.yaml").write_text(f"{text}\n# a comment\n", "utf-8")
        git(origin, "commit", "--quiet", "-a", "-m", "other")
        loop.until_due()
        commit = git(origin, "rev-parse", "HEAD")
        assert loop.run() == Batch(("prod",), f"commit {commit[:12]}")

    arguments = ("apply", "--yes", "--repo", str(origin), "--poll", "10ms", "--dangerously-plaintext-secrets")
    watch(scenario, *arguments)


def test_a_refresh_follows_what_another_tool_applies_from_git(scene: Scene, watch: Callable[..., Ran]) -> None:
    scene.pool("a")
    assert osm_gitops(*scene.arguments).code == 0

    def scenario(loop: Loop) -> None:
        loop.start()
        assert scene.revision("a") == "1"
        scene.unstamp("a")  # as Flux applies it: with the digest of its template, and without a revision
        loop.until_due()
        assert loop.run().reason == "Secret cloud-init-settings/a-kube-system-bootstrap-config changed"
        assert scene.revision("a") == "1"
        loop.until_due()
        loop.run()  # of its own stamp
        scene.touch("a")
        loop.until_seen("MachineDeployment", "a")
        assert loop.wait > _INTERVAL / 2

    watch(scenario, "refresh", *scene.connection(scene.cluster))


@pytest.mark.exhaustive
def test_a_server_that_was_killed_and_started_again_is_watched_on(
    binaries: Binaries, tmp_path: Path, watch: Callable[..., Ran]
) -> None:
    with restartable("restarted", tmp_path, binaries) as (cluster, restart):
        scene = Scene(cluster, tmp_path)
        scene.pool("a")

        def scenario(loop: Loop) -> None:
            loop.start()
            assert scene.has("a")
            restart()
            scene.pool("b")
            loop.until_due()  # by a list, for the new server does not know the old versions
            loop.until(lambda _: loop.schedule._clusters["default"].opened)
            assert loop.run().pools == ("b",)
            assert scene.has("b")

        ran = watch(scenario, *scene.arguments)
        assert "default: watched again" in ran.err


def test_a_second_replica_gets_the_lease_only_after_the_first_and_then_finds_nothing_to_do(
    scene: Scene, watch: Callable[..., Ran], through: Callable[[Cluster], Proxy]
) -> None:
    """Both see the same change. The second one is in the middle of its run when the first one asks for the Lease."""
    scene.pool("a")
    proxy = through(scene.cluster)
    seconds: list[Ran] = []

    def scenario(loop: Loop) -> None:
        loop.start()
        scene.pool("b")
        loop.until_created("b")
        # What the other replica does, as soon as this one has the Lease: it has no time to wait for it.
        other = (*scene.arguments, "--settle", "0s", "--lock-timeout", "0s")
        proxy.when(during(lambda: seconds.append(osm_gitops(*other))), path="/machinesets")
        assert loop.run().pools == ("b",)
        assert scene.has("b")
        assert seconds[0].code == 1
        before = scene.cluster.client().get(_SECRETS)["items"]
        assert osm_gitops(*other).code == 0
        assert scene.cluster.client().get(_SECRETS)["items"] == before

    watch(scenario, *scene.arguments[:-2], *scene.connection(proxy.cluster))
    assert [code for code, _ in told(seconds[0].err)] == [Code.LOCK_NOT_TAKEN]


def test_a_configuration_that_cannot_be_read_is_told_to_the_webhook_once(
    scene: Scene, watch: Callable[..., Ran], tmp_path: Path
) -> None:
    folder = tmp_path / "fleet"
    _fleet(folder, {"one": (scene.cluster, "cluster")})
    good = (folder / "osm-gitops.yaml").read_text("utf-8")

    def broken_twice(loop: Loop) -> None:
        write_fleet(folder, "clusters: nothing\n")
        loop.run()
        loop.run()

    def scenario(loop: Loop) -> None:
        loop.start()
        broken_twice(loop)
        (folder / "osm-gitops.yaml").write_text(good, "utf-8")
        loop.run()
        broken_twice(loop)

    with opened_inbox() as inbox:
        (tmp_path / "url").write_text(f"http://{inbox.address}/\n", "utf-8")
        arguments = ("--fleet", str(folder / "osm-gitops.yaml"), "--notify-url-file", str(tmp_path / "url"))
        watch(scenario, "apply", "--yes", *arguments)
    texts = [json.loads(each.body)["text"] for each in inbox.sent]
    assert len(texts) == 2
    assert all(text.startswith("the run was not carried out: 1 error, 1 of them new") for text in texts)
