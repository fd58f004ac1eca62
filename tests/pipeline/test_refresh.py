"""What cannot live in git, done in clusters that Flux and machine-controller have to themselves otherwise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from osm_gitops.config.spec import ClusterSpec, LiveRef, LiveTarget, SourceSpec
from osm_gitops.context_ref import ContextRef
from osm_gitops.errors import Code
from osm_gitops.kube.api import connect
from osm_gitops.model.live import CLEANUP_FINALIZER
from osm_gitops.model.plan import unwatched
from osm_gitops.model.record import PoolState
from osm_gitops.pipeline.connections import Connections
from osm_gitops.pipeline.options import LiveOptions, Outcome, RunOptions
from osm_gitops.pipeline.refresh import refresh_clusters
from osm_gitops.sops.keys import KeySearch
from osm_gitops.targets.cluster.lease import lease
from osm_gitops.targets.cluster.record import read_record
from tests.apiserver.client import Object, Refused
from tests.apiserver.cluster import Cluster
from tests.cli.scenes import facts
from tests.faults import Expected
from tests.targets.cluster.scene import MACHINES, Scene, config_path, machine_path, ref, scene, secret_path, whys
from tests.targets.cluster.test_stamping import from_git, machine_controller, stamps, tree_pool

_NOW = datetime(2030, 1, 31, 12, tzinfo=UTC)
_KUBELET = "/api/v1/namespaces/cloud-init-settings/secrets/kube-system-a-kubelet-bootstrap-config"
_STATUS = "/api/v1/namespaces/kube-system/configmaps/osm-gitops-status"
_TOKENS = "/api/v1/namespaces/kube-system/secrets?labelSelector=machinedeployment.k8s.io/name"


@dataclass(slots=True)
class Refreshing:
    """Runs of ``refresh`` over the clusters of a scene; ``meanwhile`` happens whenever a run waits."""

    scene: Scene
    folder: Path
    meanwhile: list[Callable[[], object]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    waited: list[float] = field(default_factory=list)

    def run(self, now: datetime = _NOW, only: tuple[str, ...] = (), **live: object) -> Outcome:
        part = LiveRef()
        spec = ClusterSpec("prod", SourceSpec(part, part, part), (), LiveTarget(), *self.accesses())
        options = RunOptions(
            environment={},
            keys=KeySearch({}),
            note=self.notes.append,
            tell=self.notes.append,
            advance=lambda *_: unwatched,
            connections=Connections({}),
            only=only,
            live=replace(LiveOptions(now=lambda: now, wait=self._wait), **live),  # type: ignore[arg-type]
        )
        outcome = refresh_clusters([spec], options)
        options.connections.close()
        return outcome

    def accesses(self) -> tuple[ContextRef, ContextRef]:
        clusters = (self.scene.management, self.scene.worker)
        found = [ContextRef(str(each.kubeconfig(self.folder / f"kubeconfig-{each.name}"))) for each in clusters]
        return found[0], found[1]

    def _wait(self, seconds: float) -> None:
        self.waited.append(seconds)
        if self.meanwhile:
            self.meanwhile.pop(0)()

    def state(self) -> list[Object]:
        """All that a run may have written but the Lease."""
        client = self.scene.management.client()
        kinds = ("/api/v1/secrets", f"{MACHINES}/machinedeployments", f"{MACHINES}/machines")
        configs = client.get("/apis/operatingsystemmanager.k8c.io/v1alpha1/operatingsystemconfigs")["items"]
        return [*configs, *(item for kind in kinds for item in self.scene.get(kind)["items"])]


@pytest.fixture
def refreshing(management: Cluster, worker: Cluster, tmp_path: Path) -> Refreshing:
    cluster_info, _ = facts()
    worker.client().create(cluster_info)
    return Refreshing(scene(management, worker, tmp_path), tmp_path)


def told(outcome: Outcome) -> list[str]:
    assert not outcome.problems
    return [f"{change.action.value} {change.ref.name}: {change.reason}" for change in outcome.plan.clusters[0].changes]


def test_a_pool_that_came_through_git_gets_all_that_git_cannot_carry(refreshing: Refreshing) -> None:
    live = refreshing.scene
    from_git(live, tree_pool())
    machine_controller(live)
    live.osm.machine(live.osm.objects["MachineSet", "kube-system", "a-1"], "waits", waits=True)
    outcome = refreshing.run()
    assert sorted(told(outcome)) == [
        "create bootstrap-token-(new): there is no token yet",
        "create kube-system-a-kubelet-bootstrap-config: there is no kubeconfig for kubelets yet",
        "update a-kube-system-bootstrap-config: MachineDeployment revision not set → 1",
        "update a-kube-system-config: MachineDeployment revision not set → 1",
        "update a-kube-system-provisioning-config: MachineDeployment revision not set → 1",
        f"update a: finalizer {CLEANUP_FINALIZER}",
    ]
    assert stamps(live) == ["1", "1", "1"]
    assert CLEANUP_FINALIZER in live.get(machine_path("a"))["metadata"]["finalizers"]
    live.get(_KUBELET)
    nudged = live.get(f"{MACHINES}/namespaces/kube-system/machines/waits")["metadata"]["annotations"]
    assert nudged == {"osm-gitops.io/nudged": "1"}
    assert not outcome.failed
    assert outcome.deliveries["prod"].written == (ref("a"),)


def test_a_run_without_anything_due_writes_nothing(refreshing: Refreshing) -> None:
    from_git(refreshing.scene, tree_pool())
    machine_controller(refreshing.scene)
    refreshing.run()
    before = refreshing.state()
    outcome = refreshing.run(_NOW + timedelta(hours=11))
    assert told(outcome) == []
    assert not outcome.plan.has_changes
    assert refreshing.state() == before


def test_tokens_are_renewed_in_their_second_half(refreshing: Refreshing) -> None:
    from_git(refreshing.scene, tree_pool())
    machine_controller(refreshing.scene)
    refreshing.run()
    (line,) = told(refreshing.run(_NOW + timedelta(hours=13)))
    assert line.endswith(": 11 h of 24 h left")


def test_a_pool_is_waited_for_until_machine_controller_has_numbered_it(refreshing: Refreshing) -> None:
    from_git(refreshing.scene, tree_pool())
    refreshing.meanwhile = [lambda: None, lambda: machine_controller(refreshing.scene)]
    outcome = refreshing.run()
    assert refreshing.waited == [1.0, 2.0]
    assert stamps(refreshing.scene) == ["1", "1", "1"]
    assert outcome.plan.clusters[0].left == {}


def test_a_pool_that_does_not_settle_is_left_and_named(refreshing: Refreshing) -> None:
    from_git(refreshing.scene, tree_pool())
    outcome = refreshing.run(settle=timedelta(seconds=10))
    assert refreshing.waited == [1.0, 2.0, 4.0, 3.0]
    assert whys(outcome.plan.clusters[0].left) == {ref("a"): "machine-controller has not given it a revision yet"}
    assert not outcome.failed
    outcome = refreshing.run(_NOW + timedelta(minutes=10), settle=timedelta())
    assert len(refreshing.waited) == 4
    (problem,) = outcome.problems
    assert (problem.code, problem.about) == (Code.POOLS_STUCK, "pool kube-system/a")
    assert problem == Expected(Code.POOLS_STUCK, "2030-01-31T12:00:00Z", "machine-controller", "not-numbered")
    (left,) = outcome.plan.clusters[0].left.values()
    assert left.age == timedelta(minutes=10)
    machine_controller(refreshing.scene)
    assert not refreshing.run(_NOW + timedelta(minutes=20)).failed


def test_a_paused_pool_is_kept_but_neither_stamped_nor_waited_for(refreshing: Refreshing) -> None:
    body = tree_pool()
    body["spec"]["paused"] = True
    from_git(refreshing.scene, body)
    outcome = refreshing.run()
    assert whys(outcome.plan.clusters[0].left) == {ref("a"): "it is paused"}
    assert refreshing.waited == []
    refreshing.scene.get(_KUBELET)


def test_what_was_made_for_a_pool_goes_with_it(refreshing: Refreshing) -> None:
    live = refreshing.scene
    from_git(live, tree_pool("a"), tree_pool("b"))
    for name in ("a", "b"):
        machine_controller(live, name)
    refreshing.run()
    live.worker.client().delete(machine_path("a"))
    assert live.find(machine_path("a")) is not None  # our finalizer holds it
    assert not refreshing.run().failed
    for path in (machine_path("a"), secret_path("a"), secret_path("a", "provisioning"), _KUBELET):
        assert live.find(path) is None
    with pytest.raises(Refused, match="404"):
        live.management.client().get(config_path("a"))
    (token,) = live.get(_TOKENS)["items"]
    assert token["metadata"]["labels"]["machinedeployment.k8s.io/name"] == "kube-system-b"
    assert stamps(live, "b") == ["1", "1", "1"]


def test_tokens_of_pools_that_went_unseen_go_too(refreshing: Refreshing) -> None:
    live = refreshing.scene
    from_git(live, tree_pool("a"), tree_pool("b"))
    machine_controller(live, "b")
    refreshing.run(settle=timedelta())
    live.change("a", {"metadata": {"finalizers": None}})
    live.worker.client().delete(machine_path("a"))
    lines = told(refreshing.run(settle=timedelta()))
    assert [line.rpartition(": ")[2] for line in lines] == ["its MachineDeployment is gone"] * 2
    assert live.find(_KUBELET) is None
    live.change("b", {"metadata": {"finalizers": None}})
    live.worker.client().delete(machine_path("b"))
    assert told(refreshing.run()) == []  # without any pool something else is wrong


def test_a_narrowed_run_keeps_to_its_pools(refreshing: Refreshing) -> None:
    live = refreshing.scene
    from_git(live, tree_pool("a"), tree_pool("b"))
    for name in ("a", "b"):
        machine_controller(live, name)
    refreshing.run(only=("b",))
    assert (stamps(live, "a"), stamps(live, "b")) == ([None] * 3, ["1"] * 3)
    assert len(live.get(_TOKENS)["items"]) == 1
    assert live.find(_KUBELET) is None


def test_where_no_server_is_known_all_else_is_done(refreshing: Refreshing) -> None:
    live = refreshing.scene
    live.worker.client().delete("/api/v1/namespaces/kube-public/configmaps/cluster-info")
    from_git(live, tree_pool())
    machine_controller(live)
    outcome = refreshing.run()
    (problem,) = outcome.problems
    assert problem.code is Code.API_SERVER_UNKNOWN
    assert stamps(live) == ["1", "1", "1"]
    assert live.get(_TOKENS)["items"] == []


def test_a_pool_that_cannot_be_read_is_told_and_keeps_its_token(refreshing: Refreshing) -> None:
    live = refreshing.scene
    from_git(live, tree_pool("a"), tree_pool("b"))
    refreshing.run(settle=timedelta())
    live.change("a", {"spec": {"template": None}})
    outcome = refreshing.run(settle=timedelta())
    assert outcome.failed
    assert list(outcome.plan.clusters[0].failed) == [ref("a")]
    assert len(live.get(_TOKENS)["items"]) == 2


def test_two_tokens_of_one_pool_fail_it_alone(refreshing: Refreshing) -> None:
    live = refreshing.scene
    from_git(live, tree_pool("a"), tree_pool("b"))
    for name in ("a", "b"):
        machine_controller(live, name)
    refreshing.run()
    token = next(each for each in live.get(_TOKENS)["items"] if each["metadata"]["labels"].get("x") is None)
    key = token["metadata"]["labels"]["machinedeployment.k8s.io/name"]
    metadata = {"name": "bootstrap-token-zzzzzz", "namespace": "kube-system", "labels": token["metadata"]["labels"]}
    live.worker.client().create({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": token["data"]})
    outcome = refreshing.run()
    name = key.removeprefix("kube-system-")
    assert list(outcome.plan.clusters[0].failed) == [ref(name)]
    assert not outcome.problems
    assert outcome.failed


def test_a_run_leaves_behind_what_it_came_to(refreshing: Refreshing) -> None:
    live = refreshing.scene
    from_git(live, tree_pool())
    machine_controller(live)
    outcome = refreshing.run()
    (measured,) = outcome.measured
    assert measured.ran.good
    assert measured.ran.tokens_end == _NOW + timedelta(hours=24)
    assert measured.last_good == _NOW
    found = read_record(connect(refreshing.accesses()[0], {}), "kube-system")
    assert found is not None
    assert found.count()[PoolState.OK] == 1
    # Tokens, stamps and finalizers are no change of what machines boot with.
    assert found.pools == {}
    before = live.management.client().get(_STATUS)
    refreshing.run(_NOW + timedelta(hours=13))
    assert live.management.client().get(_STATUS) == before


def test_a_refresh_that_another_run_locks_out_is_a_failed_one(refreshing: Refreshing) -> None:
    api = connect(refreshing.accesses()[0], {})
    with lease(api, "kube-system", holder="another", timeout=0, note=refreshing.notes.append):
        outcome = refreshing.run(lock_timeout=timedelta(0))
    assert outcome.problems[0] == Expected(Code.LOCK_NOT_TAKEN)
    (measured,) = outcome.measured
    assert not measured.ran.good
    assert measured.last_good is None
