"""Runs over live clusters that have to wait, or in which something else comes in between."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from osm_gitops.config.spec import ClusterSpec, LiveRef, LiveTarget, SourceSpec, TreeRef
from osm_gitops.context_ref import ContextRef
from osm_gitops.errors import Code
from osm_gitops.model.plan import Plan, unwatched
from osm_gitops.pipeline.connections import Connections
from osm_gitops.pipeline.options import LiveOptions, Outcome, RunOptions
from osm_gitops.pipeline.run import apply_clusters, plan_clusters
from osm_gitops.plan.guards import Limits, PlanOptions
from osm_gitops.sops.keys import KeySearch
from tests.apiserver.after_osm import REVISION
from tests.apiserver.client import Object
from tests.apiserver.cluster import Cluster
from tests.cli.scenes import facts, profile, write_tree
from tests.cli.scenes import pool as pool_body
from tests.faults import Expected
from tests.targets.cluster.scene import SCRIPT, Scene, machine_path, ref, scene, secret_path, whys

_NOW = datetime(2030, 1, 31, 12, tzinfo=UTC)
_TOKENS = "/api/v1/namespaces/kube-system/secrets?labelSelector=machinedeployment.k8s.io/name"
_REVISION = "k8c.io/machine-deployment-revision"
_PRINTS = "#!/bin/sh\necho '{{ .BootstrapKubeconfig }}'\n"


@dataclass(slots=True)
class Applying:
    """Runs of ``apply`` with pools of the cluster and profiles of a tree; ``meanwhile`` happens when a run waits, one
    after the other, ``asked`` when it shows its plan."""

    scene: Scene
    folder: Path
    script: str = SCRIPT
    pools: tuple[Object, ...] = ()
    meanwhile: list[Callable[[], object]] = field(default_factory=list)
    asked: Callable[[Plan], object] = lambda _plan: None
    waited: list[float] = field(default_factory=list)

    def run(
        self,
        now: Callable[[], datetime] = lambda: _NOW,
        limits: Limits | None = None,
        only: tuple[str, ...] = (),
        **live: object,
    ) -> Outcome:
        options = self._options(now, limits or Limits(), only, **live)

        def confirm(plan: Plan) -> bool:
            self.asked(plan)
            return True

        outcome = apply_clusters(lambda: [self._spec()], options, confirm)
        options.connections.close()
        return outcome

    def plan(self) -> Outcome:
        options = self._options(lambda: _NOW, Limits(), ())
        outcome = plan_clusters([self._spec()], options)
        options.connections.close()
        return outcome

    def _spec(self) -> ClusterSpec:
        tree = write_tree(self.folder / "profiles", profile(script=self.script), *self.pools)
        part, ours = LiveRef(), TreeRef(tree, str(tree))
        clusters = (self.scene.management, self.scene.worker)
        accesses = [ContextRef(str(each.kubeconfig(self.folder / f"kubeconfig-{each.name}"))) for each in clusters]
        return ClusterSpec("prod", SourceSpec(ours if self.pools else part, ours, part), (), LiveTarget(), *accesses)

    def _options(
        self, now: Callable[[], datetime], limits: Limits, only: tuple[str, ...], **live: object
    ) -> RunOptions:
        return RunOptions(
            environment={},
            keys=KeySearch({}),
            note=lambda _text: None,
            tell=lambda _text: None,
            advance=lambda *_: unwatched,
            connections=Connections({}),
            only=only,
            plan=PlanOptions(limits=limits),
            live=replace(LiveOptions(now=now, wait=self._wait), **live),  # type: ignore[arg-type]
        )

    def _wait(self, seconds: float) -> None:
        self.waited.append(seconds)
        if self.meanwhile:
            self.meanwhile.pop(0)()

    def number(self, name: str, revision: str) -> None:
        """machine-controller comes to a pool: its MachineSet, its revision."""
        self.scene.change(name, {"metadata": {"annotations": {REVISION: revision}}})
        self.scene.osm.objects["MachineDeployment", "kube-system", name] = self.scene.get(machine_path(name))
        self.scene.osm.machine_set(name)

    def revision(self, name: str) -> str | None:
        """That of the bootstrap Secret, if there is one."""
        found = self.scene.find(secret_path(name))
        return found["metadata"]["annotations"][_REVISION] if found else None


@pytest.fixture
def applying(management: Cluster, worker: Cluster, tmp_path: Path) -> Applying:
    applied = Applying(scene(management, worker, tmp_path), tmp_path)
    for body in facts():
        worker.client().create(body)
    return applied


def _kubelet(version: str) -> Object:
    return {"spec": {"template": {"spec": {"versions": {"kubelet": version}}}}}


def test_a_pool_is_written_as_soon_as_machine_controller_has_come_to_it(applying: Applying) -> None:
    applying.scene.pool("a", revision=None)
    applying.meanwhile = [lambda: None, lambda: applying.number("a", "1")]
    outcome = applying.run(as_shown=True)
    assert (outcome.problems, outcome.deliveries["prod"].left) == ((), {})
    assert (applying.waited, applying.revision("a")) == ([1.0, 2.0], "1")


def test_settling_ends_in_time_however_long_looking_takes(applying: Applying) -> None:
    applying.scene.pool("a", revision=None)
    clock = [_NOW]

    def clock_on() -> datetime:
        clock[0] += timedelta(seconds=1)
        return clock[0]

    outcome = applying.run(clock_on, settle=timedelta(seconds=8))
    assert list(outcome.deliveries["prod"].left) == [ref("a")]
    assert len(applying.waited) < 4
    assert sum(applying.waited) < 8


def test_what_somebody_said_yes_to_is_all_that_is_written_after_waiting(applying: Applying) -> None:
    applying.scene.pool("a", revision=None)

    def another_template() -> None:
        applying.scene.change("a", _kubelet("1.35.0"))
        applying.number("a", "1")

    applying.meanwhile = [another_template]
    outcome = applying.run(as_shown=True)
    assert whys(outcome.deliveries["prod"].left) == {ref("a"): "it differs from the plan that was shown"}
    assert (applying.revision("a"), applying.waited) == (None, [1.0])
    applying.run()  # nobody was asked, so what is desired now is written
    assert applying.revision("a") == "1"


def test_a_pool_that_is_deleted_while_it_is_waited_for_is_the_next_runs_business(applying: Applying) -> None:
    applying.scene.pool("a", revision=None)
    applying.meanwhile = [lambda: applying.scene.worker.client().delete(machine_path("a"))]
    outcome = applying.run()
    assert (outcome.problems, applying.waited) == ((), [1.0])
    assert applying.scene.find(machine_path("a")) is not None
    # It was the last one: that nothing is left is meant.
    assert applying.run().problems == ()
    assert applying.scene.find(machine_path("a")) is None


def test_guards_count_the_pools_of_the_plan_and_none_that_change_while_it_settles(applying: Applying) -> None:
    applying.scene.pool("b")
    applying.run()
    applying.scene.pool("a", revision=None)

    def both() -> None:
        applying.scene.roll("b", "2", "1.35.0")
        applying.number("a", "1")

    applying.meanwhile = [both]
    outcome = applying.run(limits=Limits(max_changed_pools=1))
    assert (outcome.problems, applying.revision("a"), applying.revision("b")) == ((), "1", "1")


def test_with_tokens_in_place_of_stand_ins_nothing_is_written_that_was_not_shown(applying: Applying) -> None:
    applying.script = _PRINTS
    applying.scene.pool("a")
    shown: list[Plan] = []

    def meanwhile(plan: Plan) -> None:
        shown.append(plan)
        applying.scene.pool("b")
        applying.scene.worker.client().delete(machine_path("gone"))

    applying.scene.pool("gone")
    applying.asked = meanwhile
    outcome = applying.run(settle=timedelta())
    assert outcome.problems == ()
    assert {change.group for change in outcome.plan.clusters[0].effective if change.group} == {
        "a-kube-system",
        "gone-kube-system",
    }
    assert applying.revision("a") == "1"
    assert (applying.revision("b"), applying.revision("gone")) == (None, None)
    tokens = applying.scene.get(_TOKENS)["items"]
    assert {each["metadata"]["labels"]["machinedeployment.k8s.io/name"] for each in tokens} == {
        "kube-system-a",
        "kube-system-gone",
    }


def test_where_all_tokens_are_there_a_profile_that_prints_them_takes_no_second_look(applying: Applying) -> None:
    applying.script = _PRINTS
    applying.scene.pool("a")
    requests = [applying.run().measured[0].ran.requests for _ in range(3)]
    applying.script = SCRIPT
    assert requests[1] == requests[2] < requests[0]


def test_a_plan_that_is_refused_still_keeps_the_tokens_that_machines_join_with(applying: Applying) -> None:
    for name in ("a", "b"):
        applying.scene.pool(name)
    applying.run()
    for name in ("a", "b"):
        applying.scene.roll(name, "2", "1.35.0")
    before = _ends(applying)
    outcome = applying.run(lambda: _NOW + timedelta(hours=20), Limits(max_changed_pools=1))
    assert outcome.problems[0] == Expected(Code.TOO_MANY_CHANGES, "2")
    assert _ends(applying).isdisjoint(before)
    assert (applying.revision("a"), outcome.deliveries["prod"].written) == ("1", ())


def _ends(applying: Applying) -> set[str]:
    return {token["data"]["expiration"] for token in applying.scene.get(_TOKENS)["items"]}


def test_a_paused_pool_of_a_tree_that_has_all_it_needs_is_no_change(applying: Applying) -> None:
    body = pool_body("a")
    body["spec"]["template"]["metadata"] = {"labels": {"pool": "a"}}
    applying.pools = (body,)
    applying.scene.pool("a")
    applying.run()
    applying.scene.change("a", {"spec": {"paused": True}})
    outcome = applying.plan()
    assert (outcome.problems, outcome.plan.has_changes, dict(outcome.plan.clusters[0].left)) == ((), False, {})
