"""What runs leave behind on real API servers: the status ConfigMap, Events, the times on the Lease."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from osm_gitops import __version__
from osm_gitops.context_ref import ContextRef
from osm_gitops.errors import Code, Problem
from osm_gitops.kube.api import Clusters, connect
from osm_gitops.model.desired import ABSENT, PAUSED, Left, LeftReason, Side
from osm_gitops.model.live import Delivery
from osm_gitops.model.objects import ObjectRef
from osm_gitops.model.plan import Action, Change, ClusterPlan
from osm_gitops.model.record import FinishedRun, PoolRecord, PoolState, RunRecord
from osm_gitops.report.mask import Masker
from osm_gitops.targets.cluster.lease import Held, lease
from osm_gitops.targets.cluster.record import Recorded, after_run, read_record, record_run
from tests.apiserver.cluster import Cluster
from tests.apiserver.rights import allow, rule
from tests.faults import Expected

MORNING = datetime(2026, 1, 5, 10, tzinfo=UTC)
STATUS = "/api/v1/namespaces/kube-system/configmaps/osm-gitops-status"
LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/osm-gitops"
EVENTS = "/apis/events.k8s.io/v1/namespaces/kube-system/events"
SECRET = "correct-horse-battery"
NOT_NUMBERED = Left(LeftReason.NOT_NUMBERED, "machine-controller has not given it a revision yet")
OLD_SET = Left(LeftReason.OLD_MACHINE_SET, "the MachineSet of its revision 1 has another template")

Run = Callable[[FinishedRun], Recorded]


def pool(name: str) -> ObjectRef:
    return ObjectRef("MachineDeployment", "kube-system", name)


A, B, C = pool("a"), pool("b"), pool("c")
UIDS = {ref: f"uid-{ref.name}" for ref in (A, B, C)}


def ran(*pools: ObjectRef, hour: int = 0, written: tuple[ObjectRef, ...] = (), **plan: Any) -> FinishedRun:
    """A run over pools of which some were written."""
    changes = tuple(
        Change(
            ObjectRef("OperatingSystemConfig", "kube-system", f"{ref.name}-kube-system-config"),
            Side.MANAGEMENT,
            Action.UPDATE if ref in written else Action.UNCHANGED,
            pool=ref,
        )
        for ref in pools
    )
    started = MORNING + timedelta(hours=hour)
    return FinishedRun(
        cluster="prod",
        started=started,
        ended=started + timedelta(seconds=5),
        plan=ClusterPlan("prod", changes, sensitive=frozenset({SECRET}), **plan),
        delivery=Delivery(written=written),
        known=pools,
    )


@contextmanager
def recording(
    management: Cluster, worker: Cluster, folder: Path, user: str = "admin"
) -> Iterator[tuple[Run, Clusters]]:
    apis = (
        connect(ContextRef(str(cluster.kubeconfig(folder / f"{cluster.name}-{user}", user))), {})
        for cluster in (management, worker)
    )
    live = Clusters(*apis)

    def record(each: FinishedRun) -> Recorded:
        with lease(live.management, "kube-system", holder="me", timeout=0, note=print) as held:
            return record_run(live, held, each, UIDS)

    yield record, live


@pytest.fixture
def both(management: Cluster, worker: Cluster, tmp_path: Path) -> Iterator[tuple[Run, Clusters]]:
    with recording(management, worker, tmp_path) as run:
        yield run


def status(management: Cluster) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(management.client().get(STATUS)["data"]["status.json"])
    return found


def events(worker: Cluster) -> list[tuple[str, str]]:
    found = worker.client().get(EVENTS)["items"]
    return sorted((each["regarding"]["name"], each["reason"]) for each in found)


def test_a_run_leaves_the_state_of_every_pool(management: Cluster, both: tuple[Run, Clusters]) -> None:
    record, live = both
    failed = {C: (Problem(Code.INVALID_VALUE, "it is broken", where="c.yaml:1", about=str(C)),)}
    first = ran(A, B, written=(A,), failed=failed)
    first = replace(first, delivery=replace(first.delivery, left={B: PAUSED}))
    assert record(first).warnings == ()
    assert status(management) == {
        "formatVersion": "1.2",
        "cluster": "prod",
        "toolVersion": __version__,
        "result": "failed",
        "lastRun": "2026-01-05T10:00:05Z",
        "lastGoodRun": "",
        "newerTimes": "annotations osm-gitops.io/last-run and osm-gitops.io/last-good-run of Lease osm-gitops",
        "errors": [],
        "count": {"ok": 1, "failed": 1, "left": 1, "stuck": 0},
        "pools": {
            "kube-system/a": {"state": "ok", "written": "2026-01-05T10:00:05Z"},
            "kube-system/b": {
                "state": "left",
                "code": "paused",
                "reason": "it is paused",
                "since": "2026-01-05T10:00:05Z",
            },
            "kube-system/c": {
                "state": "failed",
                "errors": [f"c.yaml:1: {C}: it is broken [OG1024]"],
                "since": "2026-01-05T10:00:05Z",
            },
        },
        "notListed": {},
    }
    found = read_record(live.management, "kube-system")
    assert found is not None
    assert found.pools["kube-system/b"].reason == "it is paused"
    assert found.count() == {PoolState.OK: 1, PoolState.FAILED: 1, PoolState.LEFT: 1, PoolState.STUCK: 0}


def leaving(left: Left | None, hour: int, pool: ObjectRef = A) -> FinishedRun:
    """A run over a pool that was passed over, or was not."""
    return replace(ran(pool, hour=hour), delivery=Delivery(left={pool: left} if left else {}))


def test_a_pool_that_is_left_twice_in_a_row_is_stuck(management: Cluster, both: tuple[Run, Clusters]) -> None:
    record, live = both
    first = record(leaving(NOT_NUMBERED, 0))
    assert (first.ran.good, first.ran.stuck, first.record.good) == (True, frozenset(), True)
    second = record(leaving(OLD_SET, 1))
    assert (second.ran.good, second.ran.stuck, second.record.good) == (False, frozenset({A}), False)
    assert second.record.last_good_run == "2026-01-05T10:00:05Z"
    told = status(management)
    assert (told["result"], told["count"]) == ("failed", {"ok": 0, "failed": 0, "left": 0, "stuck": 1})
    third = record(leaving(OLD_SET, 2))
    (left,) = third.ran.left.values()
    assert (left.reason, left.since, left.age) == (OLD_SET.reason, "2026-01-05T11:00:05Z", timedelta(hours=1))
    version = management.client().get(STATUS)["metadata"]["resourceVersion"]
    record(leaving(OLD_SET, 3))  # nothing but the time has changed
    assert management.client().get(STATUS)["metadata"]["resourceVersion"] == version
    assert record(leaving(None, 4)).ran.good
    assert record(leaving(NOT_NUMBERED, 5)).ran.good
    found = read_record(live.management, "kube-system")
    assert found is not None
    assert found.pools["kube-system/a"].code == "not-numbered"


@pytest.mark.parametrize("since", ["yesterday", "2026-01-05T10:00:05", 5])
def test_a_time_that_somebody_wrote_by_hand_counts_as_nothing(
    management: Cluster, both: tuple[Run, Clusters], since: object
) -> None:
    record, _ = both
    record(leaving(NOT_NUMBERED, 0))
    told = status(management)
    told["pools"]["kube-system/a"]["since"] = since
    management.client().merge(STATUS, {"data": {"status.json": json.dumps(told)}})
    found = record(leaving(NOT_NUMBERED, 1))
    assert (found.ran.stuck, found.record.pools["kube-system/a"].since) == (frozenset(), "2026-01-05T11:00:05Z")


def test_a_paused_pool_is_never_stuck(both: tuple[Run, Clusters]) -> None:
    record, _ = both
    for hour in range(3):
        assert record(leaving(PAUSED, hour)).ran.good
    assert record(leaving(NOT_NUMBERED, 3)).ran.good  # it was resumed just now
    assert record(leaving(NOT_NUMBERED, 4)).ran.stuck == {A}


def test_a_run_over_other_pools_does_not_make_a_pool_stuck(both: tuple[Run, Clusters]) -> None:
    record, _ = both
    record(leaving(NOT_NUMBERED, 0))
    other = record(replace(leaving(ABSENT, 1, B), narrowed=True))
    assert (other.ran.stuck, other.record.pools["kube-system/a"].state) == (frozenset(), PoolState.LEFT)
    assert record(replace(leaving(NOT_NUMBERED, 2), narrowed=True)).ran.stuck == {A}


def test_a_run_without_changes_writes_nothing_but_the_lease(
    management: Cluster, worker: Cluster, both: tuple[Run, Clusters]
) -> None:
    record, live = both
    record(ran(A, B, written=(A,)))
    before = management.client().get(STATUS)["metadata"]["resourceVersion"]
    record(ran(A, B, hour=1))
    assert management.client().get(STATUS)["metadata"]["resourceVersion"] == before
    annotations = management.client().get(LEASE)["metadata"]["annotations"]
    assert annotations["osm-gitops.io/last-good-run"] == "2026-01-05T11:00:05Z"
    assert annotations["osm-gitops.io/last-run"] == "2026-01-05T11:00:05Z"
    found = read_record(live.management, "kube-system")
    assert found is not None
    assert (found.last_run, found.last_good_run) == ("2026-01-05T11:00:05Z", "2026-01-05T11:00:05Z")
    assert events(worker) == []


def test_upkeep_is_no_change_of_a_pool(management: Cluster, both: tuple[Run, Clusters]) -> None:
    record, _ = both
    record(ran(A))
    before = management.client().get(STATUS)["metadata"]["resourceVersion"]
    due = Change(ObjectRef("Secret", "kube-system", "t"), Side.WORKER, Action.UPDATE, pool=A, upkeep=True)
    only_tokens = ran(A, hour=1)
    assert only_tokens.plan is not None
    plan = replace(only_tokens.plan, changes=(*only_tokens.plan.changes, due))
    record(replace(only_tokens, plan=plan, delivery=Delivery(written=(A,))))
    assert management.client().get(STATUS)["metadata"]["resourceVersion"] == before


def test_a_trouble_that_stays_keeps_its_times_and_is_told_once(
    management: Cluster, worker: Cluster, both: tuple[Run, Clusters]
) -> None:
    record, live = both
    broken = {B: (Problem(Code.INVALID_VALUE, "it is broken"),)}
    record(ran(A, B, written=(A, B)))
    record(ran(A, failed=broken, hour=1))
    version = management.client().get(STATUS)["metadata"]["resourceVersion"]
    for name in (each["metadata"]["name"] for each in worker.client().get(EVENTS)["items"]):
        worker.client().delete(f"{EVENTS}/{name}")  # as the API server does after an hour
    record(ran(A, failed=broken, hour=2))
    assert management.client().get(STATUS)["metadata"]["resourceVersion"] == version
    assert events(worker) == []
    found = read_record(live.management, "kube-system")
    assert found is not None
    assert found.pools["kube-system/b"] == PoolRecord(
        state=PoolState.FAILED,
        errors=("it is broken [OG1024]",),
        since="2026-01-05T11:00:05Z",
        written="2026-01-05T10:00:05Z",
        good="2026-01-05T10:00:05Z",
    )
    assert (found.good, found.last_good_run, found.last_run) == (
        False,
        "2026-01-05T10:00:05Z",
        "2026-01-05T12:00:05Z",
    )
    record(ran(A, failed={B: (Problem(Code.INVALID_VALUE, "it is broken otherwise"),)}, hour=3))
    assert events(worker) == [("b", "RenderingFailed")]
    record(ran(A, B, written=(B,), hour=4))
    assert status(management)["pools"]["kube-system/b"] == {"state": "ok", "written": "2026-01-05T14:00:05Z"}


def test_events_say_what_operating_system_manager_says_of_a_profile_that_does_not_fit(
    worker: Cluster, both: tuple[Run, Clusters]
) -> None:
    record, _ = both
    unfit = Problem(
        Code.PROFILE_DOES_NOT_FIT,
        'OperatingSystemProfile "p" does not support operating system "x"',
        fix="It is for ubuntu",
    )
    first = ran(A, failed={B: (unfit.at(where="b.yaml"), Problem(Code.INVALID_VALUE, "and more"))})
    failed = {
        A: (Problem(Code.INVALID_VALUE, "update secrets x: it is forbidden (403)"),),
        None: (Problem(Code.INVALID_VALUE, "no pool's"),),
    }
    record(replace(first, delivery=Delivery(failed=failed)))
    assert events(worker) == [("a", "ApplyFailed"), ("b", "OperatingSystemProfileError")]
    (found,) = (each for each in worker.client().get(EVENTS)["items"] if each["regarding"]["name"] == "b")
    assert found["note"] == (
        'failed to validate referenced OSP: OperatingSystemProfile "p" does not support operating system "x"'
    )
    assert found["type"] == "Warning"
    assert found["regarding"]["uid"] == "uid-b"
    # As `kubectl describe` looks for it.
    selector = "involvedObject.name=b,involvedObject.kind=MachineDeployment,involvedObject.uid=uid-b"
    described = worker.client().get(f"/api/v1/namespaces/kube-system/events?fieldSelector={selector}")["items"]
    assert [each["message"] for each in described] == [found["note"]]


def test_a_run_that_was_killed_between_event_and_status_does_not_tell_again(
    management: Cluster, worker: Cluster, both: tuple[Run, Clusters]
) -> None:
    record, _ = both
    failing = ran(A, failed={B: (Problem(Code.INVALID_VALUE, "it is broken"),)})
    record(failing)
    management.client().delete(STATUS)
    record(failing)
    assert events(worker) == [("b", "RenderingFailed")]


def test_a_mistake_that_hits_a_fleet_makes_a_hundred_events_at_most(
    worker: Cluster, both: tuple[Run, Clusters], monkeypatch: pytest.MonkeyPatch
) -> None:
    record, _ = both
    monkeypatch.setattr("osm_gitops.targets.cluster.record._MOST", 2)
    record(ran(failed=dict.fromkeys((A, B, C), (Problem(Code.INVALID_VALUE, "no cluster-info"),))))
    assert [name for name, _ in events(worker)] == ["a", "b"]


def test_no_secret_gets_out(management: Cluster, worker: Cluster, both: tuple[Run, Clusters]) -> None:
    record, _ = both
    encoded = b64encode(SECRET.encode()).decode()
    failing = ran(A, failed={B: (Problem(Code.INVALID_VALUE, f"cannot use {SECRET}", fix=f"Drop {encoded}"),)})
    left = Delivery(
        left={A: Left(LeftReason.ABSENT, f"it waits for {SECRET}")},
        failed={None: (Problem(Code.INVALID_VALUE, SECRET),), A: (Problem(Code.INVALID_VALUE, SECRET),)},
    )
    record(replace(failing, delivery=left, problems=(Problem(Code.INVALID_VALUE, f"x {SECRET}"),)))
    told = json.dumps([management.client().get(STATUS), worker.client().get(EVENTS)])
    assert SECRET not in told
    assert encoded not in told
    assert "cannot use ***" in told


def test_a_run_that_could_not_be_planned_keeps_what_was_known_of_pools(
    management: Cluster, both: tuple[Run, Clusters]
) -> None:
    record, live = both
    record(ran(A, B, written=(A,)))
    record(replace(ran(hour=1), plan=None, problems=(Problem(Code.INVALID_VALUE, "list secrets: no answer"),)))
    now = status(management)
    assert (now["result"], now["errors"], now["lastGoodRun"]) == (
        "failed",
        ["list secrets: no answer [OG1024]"],
        "2026-01-05T10:00:05Z",
    )
    assert list(now["pools"]) == ["kube-system/a"]
    assert now["count"] == {"ok": 2, "failed": 0, "left": 0, "stuck": 0}
    found = read_record(live.management, "kube-system")
    assert found is not None
    assert not found.good


def test_a_narrowed_run_keeps_the_other_pools_and_a_whole_one_forgets_those_that_are_gone(
    management: Cluster, both: tuple[Run, Clusters]
) -> None:
    record, _ = both
    record(ran(A, B, C, written=(A, B)))
    record(replace(ran(B, written=(B,), hour=1), narrowed=True))
    assert sorted(status(management)["pools"]) == ["kube-system/a", "kube-system/b"]
    assert status(management)["count"]["ok"] == 3
    record(ran(B, hour=2))
    assert status(management)["count"]["ok"] == 1


def test_a_narrowed_run_is_no_good_run_of_the_cluster(management: Cluster, both: tuple[Run, Clusters]) -> None:
    record, live = both
    record(ran(A, failed={B: (Problem(Code.INVALID_VALUE, "it is broken"),)}))
    assert not record(replace(ran(A, hour=1), narrowed=True)).record.good
    record(replace(ran(B, hour=2), narrowed=True))
    found = read_record(live.management, "kube-system")
    assert found is not None
    assert (found.good, found.last_run, found.last_good_run) == (True, "2026-01-05T12:00:05Z", "")
    record(ran(A, B, hour=3))
    assert management.client().get(LEASE)["metadata"]["annotations"]["osm-gitops.io/last-good-run"].startswith("2026")


@pytest.mark.parametrize("text", ["", "{", "[]", '{"pools": 7}', "null"])
def test_what_somebody_made_of_the_status_by_hand_is_written_anew(
    text: str, management: Cluster, both: tuple[Run, Clusters]
) -> None:
    record, live = both
    record(ran(A, written=(A,)))
    management.client().merge(STATUS, {"data": {"status.json": text}})
    found = read_record(live.management, "kube-system")
    assert found is not None
    assert found.last_good_run == "2026-01-05T10:00:05Z"
    record(ran(A, hour=1))
    assert status(management)["result"] == "ok"


def test_where_no_run_has_been_there_is_no_record(both: tuple[Run, Clusters]) -> None:
    _, live = both
    assert read_record(live.management, "kube-system") is None


def test_a_run_that_lost_its_lease_leaves_nothing(
    management: Cluster, worker: Cluster, both: tuple[Run, Clusters]
) -> None:
    _, live = both

    def stolen(held: Held) -> Recorded:
        management.client().merge(LEASE, {"spec": {"holderIdentity": "thief"}})
        held.renew()
        return record_run(live, held, ran(A, failed={B: (Problem(Code.INVALID_VALUE, "x"),)}), UIDS)

    with lease(live.management, "kube-system", holder="me", timeout=0, note=print) as held:
        recorded = stolen(held)
    assert recorded.warnings[0] == Expected(Code.LOCK_LOST)
    assert read_record(live.management, "kube-system") == RunRecord()
    assert events(worker) == []


def test_what_cannot_be_written_is_a_warning(management: Cluster, worker: Cluster, tmp_path: Path) -> None:
    rules = [
        rule("create get update", "leases.coordination.k8s.io"),
        rule("create", "configmaps"),
        rule("get patch", "configmaps", ["osm-gitops-status"]),
    ]
    allow(management, "applier", rules, "kube-system")
    failing = ran(A, failed={B: (Problem(Code.INVALID_VALUE, "it is broken"),)})
    with recording(management, worker, tmp_path, "applier") as (record, _):
        recorded = record(failing)
        assert recorded.warnings[0] == Expected(Code.REQUEST_REFUSED, "create", "events.events.k8s.io", "kube-system")
        assert status(management)["count"]["failed"] == 1
        management.client().delete(STATUS)
        allow(worker, "applier", [rule("create", "events.events.k8s.io")], "kube-system")
        assert record(failing).warnings == ()
    assert events(worker) == [("b", "RenderingFailed")]


def test_ten_thousand_failing_pools_fit_into_one_object() -> None:
    refs = [pool(f"a-rather-long-name-of-a-pool-{number:05}") for number in range(10_000)]
    bad = ran(
        *refs[:1], written=tuple(refs[:1]), failed=dict.fromkeys(refs[1:], (Problem(Code.INVALID_VALUE, "ö" * 400),))
    )
    record = after_run(RunRecord(), bad, Masker())
    assert record.count() == {PoolState.OK: 1, PoolState.FAILED: 9_999, PoolState.LEFT: 0, PoolState.STUCK: 0}
    assert 500 < len(record.pools) < 10_000
    text = json.dumps({name: each.errors for name, each in record.pools.items()}, ensure_ascii=False)
    assert len(text.encode()) < 1024 * 1024
    assert PoolState.OK not in {each.state for each in record.pools.values()}
