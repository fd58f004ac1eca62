"""The status of clusters as people and programs get it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from osm_gitops.commands.status.report import status_json, status_text
from osm_gitops.errors import Code, Problem
from osm_gitops.model.live import Gate, WaitingMachine
from osm_gitops.model.objects import ObjectRef
from osm_gitops.model.record import PoolRecord, PoolState, RunRecord
from osm_gitops.model.status import ClusterStatus, Finding, GateStatus, ObjectStatus, PoolStatus
from osm_gitops.report.mask import Masker
from tests.cli.schemas import checked

_NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
_OK = ObjectStatus(created="2026-01-01T00:00:00Z", difference="", ours=True)
_OPEN = GateStatus(gate=Gate.READY, revision="1", stamped="1", accepts=True)


def _pool(name: str = "a", **more: Any) -> PoolStatus:
    gate = more.pop("gate", _OPEN)
    return PoolStatus(ObjectRef("MachineDeployment", "kube-system", name), _OK, _OK, _OK, _OK, gate, **more)


def _text(**more: Any) -> list[str]:
    cluster = ClusterStatus(name="prod", now=_NOW, **more)
    return status_text([cluster], Masker(cluster.sensitive)).splitlines()


def test_a_pool_that_is_well_has_a_row_and_no_more() -> None:
    assert _text(pools=[_pool(machines=3, expires=_NOW + timedelta(hours=5))]) == [
        "Cluster prod: 1 pool, no problems",
        "  no run of osm-gitops so far",
        "",
        "POOL           OSC  BOOTSTRAP  PROVISIONING  KUBECONFIG  GATE  MACHINES  TOKEN",
        "kube-system/a  ok   ok         ok            ok          open  3         5 h left",
        "",
    ]


def test_words_of_a_row_say_what_is_the_matter() -> None:
    waiting = WaitingMachine(ref=ObjectRef("Machine", "kube-system", "m"), uid="u", revision="2", since="s")
    pools = [
        _pool("paused", gate=GateStatus(gate=Gate.PAUSED, accepts=True), token="missing"),
        _pool("deleting", gate=GateStatus(gate=Gate.DELETING), expires=_NOW - timedelta(hours=1)),
        _pool("shut", gate=GateStatus(gate=Gate.READY, accepts=False), machines=2, waiting=(waiting,)),
        _pool("young", gate=GateStatus(gate=Gate.WAITING), token="of ServiceAccount a/b"),
    ]
    rows = [line.split(maxsplit=5)[5] for line in _text(pools=pools) if line.startswith("kube-system/")]
    assert [" ".join(row.split()) for row in rows] == [
        "paused 0 missing",
        "deleting 0 expired",
        "closed 2 (1 wait)",
        "unknown 0 of ServiceAccount a/b",
    ]


def test_a_pool_in_trouble_says_why_and_what_the_last_run_met() -> None:
    recorded = PoolRecord(state=PoolState.FAILED, errors=("boom",), good="2026-01-01T00:00:00Z")
    failed = Problem(Code.INVALID_VALUE, "is wrong", about="MachineDeployment kube-system/a", fix="Correct it")
    lines = _text(pools=[_pool(troubles=("it cannot be rendered",), errors=(failed,), recorded=recorded)])
    assert lines[0] == "Cluster prod: 1 pool, 1 with problems"
    assert lines[-6:] == [
        "kube-system/a:",
        "  - it cannot be rendered",
        "    MachineDeployment kube-system/a: is wrong. Correct it [OG1024]",
        "    last error: boom",
        "    last successful run: 2026-01-01T00:00:00Z",
        "",
    ]


def test_the_last_run_is_told() -> None:
    good = RunRecord(cluster="prod", good=True, last_run="2026-01-02T00:00:00Z", last_good_run="2026-01-02T00:00:00Z")
    assert _text(record=good)[1] == "  last run 2026-01-02T00:00:00Z succeeded"
    bad = RunRecord(cluster="prod", good=False, errors=("no",), last_run="2026-01-02T00:00:00Z", last_good_run="")
    assert _text(record=bad)[1] == "  last run 2026-01-02T00:00:00Z failed, no run has succeeded so far; no"


def test_trouble_stands_apart_from_what_is_worth_knowing() -> None:
    findings = [
        Finding("a", Problem(Code.INVALID_VALUE, "is in the way", fix="Go")),
        Finding("b", Problem(Code.INVALID_VALUE, "is so"), trouble=False),
    ]
    lines = _text(findings=findings, problems=(Problem(Code.INVALID_VALUE, "is unreadable"),))
    assert lines[2:8] == [
        "Blockers:",
        "  - is in the way. Go [OG1024]",
        "Worth knowing:",
        "  - is so [OG1024]",
        "Could not be read:",
        "  - is unreadable [OG1024]",
    ]


def test_the_name_of_a_secret_before_a_colon_is_not_taken_for_one() -> None:
    problem = Problem(
        Code.INVALID_VALUE, "is missing", about="Secret cloud-init-settings/cloud-init-getter-token", fix="Make it"
    )
    leak = Problem(Code.INVALID_VALUE, "password: hunter2 was refused", about="pool a")
    cluster = ClusterStatus(name="prod", now=_NOW, findings=[Finding("x", problem), Finding("y", leak)])
    text = status_text([cluster], Masker(()))
    assert "  - Secret cloud-init-settings/cloud-init-getter-token: is missing. Make it [OG1024]\n" in text
    assert "  - pool a: password: *** was refused [OG1024]\n" in text


def test_programs_get_all_of_it_in_a_format_with_a_version() -> None:
    waiting = WaitingMachine(ref=ObjectRef("Machine", "kube-system", "m"), uid="u", revision="2", since="s")
    pool = _pool(expires=_NOW + timedelta(seconds=90), waiting=(waiting,), troubles=("no",), machines=1)
    cluster = ClusterStatus(
        name="prod", now=_NOW, pools=[pool], findings=[Finding("left-over", Problem(Code.INVALID_VALUE, "x", fix="y"))]
    )
    document = checked("status", status_json([cluster], Masker(()), {"other": "not ready"}))
    assert (document["formatVersion"], document["trouble"]) == ("2.1", True)
    assert document["leftOut"] == [{"name": "other", "reason": "not ready"}]
    (told,) = document["clusters"]
    assert told["at"] == "2026-01-02T03:04:05Z"
    assert told["findings"] == [
        {
            "kind": "left-over",
            "trouble": True,
            "code": "OG1024",
            "message": "x",
            "where": "",
            "object": "",
            "field": "",
            "fix": "y",
        }
    ]
    assert told["pools"][0]["token"] == {"expires": "2026-01-02T03:05:35Z", "secondsLeft": 90, "state": ""}
    assert told["pools"][0]["waitingMachines"] == [
        {"namespace": "kube-system", "name": "m", "since": "s", "revision": "2"}
    ]
    assert told["pools"][0]["config"] == {
        "present": True,
        "inStep": True,
        "ours": True,
        "created": "2026-01-01T00:00:00Z",
        "difference": "",
    }


def test_secrets_are_masked_in_both_forms() -> None:
    pool = _pool(troubles=("its Secret says hunter2-hunter2",))
    cluster = ClusterStatus(name="prod", now=_NOW, pools=[pool])
    masker = Masker({"hunter2-hunter2"})
    for written in (status_text([cluster], masker), status_json([cluster], masker, {})):
        assert "hunter2" not in written
