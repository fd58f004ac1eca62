"""What a webhook is told of a run: changes, and each error once."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from osm_gitops.errors import Code, Problem
from osm_gitops.model.live import Delivery
from osm_gitops.model.objects import ObjectRef
from osm_gitops.model.plan import ClusterPlan
from osm_gitops.model.record import FinishedRun
from osm_gitops.report.metrics import Measured, exposition, known_codes
from osm_gitops.report.notices import Notice, json_payload, notices, slack_payload

_NOW = datetime(2026, 1, 1, tzinfo=UTC)
_LOST = Problem(Code.LOCK_LOST, "the Lease was taken", about="cluster prod")
_BROKEN = Problem(Code.TEMPLATE_FAILED, "password hunter2-secret in a template")


def _run(*problems: Problem, known: frozenset[str] = frozenset()) -> Measured:
    plan = ClusterPlan("prod", (), sensitive=frozenset({"hunter2-secret"}))
    ran = FinishedRun(cluster="prod", started=_NOW, ended=_NOW + timedelta(seconds=3), plan=plan, problems=problems)
    return Measured(ran, known=known)


def _kinds(run: Measured, known: frozenset[str] = frozenset()) -> list[str]:
    return [notice.kind for notice in notices([run], {"prod": known})]


def test_a_run_without_changes_and_errors_is_not_told() -> None:
    assert _kinds(_run()) == []


def test_a_new_error_is_told_once_and_its_end_too() -> None:
    assert list(notices([_run(_LOST)], {})) == [
        Notice("prod", "run", "prod: failed: 0 pools changed, 1 error, 1 of them new"),
        Notice("prod", "failure", f"prod: {_LOST}", "OG3204"),
    ]
    # By the record in the cluster, which cuts long errors, or by the codes of the metrics.
    for known in ({str(_LOST)}, {str(_LOST)[:30]}, {"x [OG3204]", "and 3 more"}):
        assert _kinds(_run(_LOST, known=frozenset(known))) == []
    assert _kinds(_run(_LOST), frozenset({"OG3204"})) == []
    assert _kinds(_run(known=frozenset({str(_LOST)}))) == ["recovery"]
    assert _kinds(_run(), frozenset({"OG3204"})) == ["recovery"]
    # A run of some pools does not know how the others are.
    some = _run(known=frozenset({str(_LOST)}))
    assert _kinds(replace(some, ran=replace(some.ran, narrowed=True))) == []


def test_another_error_beside_a_known_one_is_new() -> None:
    lines = list(notices([_run(_LOST, _BROKEN, known=frozenset({str(_LOST)}))], {}))
    assert [line.code for line in lines] == ["", _BROKEN.code.value]
    assert "2 errors, 1 of them new" in lines[0].text


def test_failed_pools_are_errors_and_secrets_are_masked() -> None:
    run = _run()
    assert run.ran.plan is not None
    failed = replace(
        run.ran,
        plan=replace(run.ran.plan, failed={ObjectRef("MachineDeployment", "kube-system", "a"): (_BROKEN,)}),
        delivery=Delivery(),
    )
    (_, line) = notices([Measured(failed)], {})
    assert line.code == _BROKEN.code.value
    for body in (json_payload([line]), slack_payload([line])):
        assert b"hunter2" not in body


def test_the_metrics_of_a_run_say_which_errors_the_next_one_knows() -> None:
    text = exposition([_run(_LOST, _BROKEN)])
    assert known_codes(text) == {"prod": {_LOST.code.value, _BROKEN.code.value}}
    assert known_codes(exposition([_run()])) == {}


def test_both_formats_have_a_line_for_each_and_an_end() -> None:
    lines = [Notice("prod", "failure", f"<{number}> & more", "OG1011") for number in range(50)]
    body = json.loads(json_payload(lines))
    assert (len(body["events"]), body["more"], body["tool"], body["version"]) == (40, 10, "osm-gitops", 1)
    assert body["events"][0] == {"cluster": "prod", "kind": "failure", "code": "OG1011", "text": "<0> & more"}
    assert body["text"].endswith("<39> & more\nand 10 more")
    slack = json.loads(slack_payload(lines))
    assert list(slack) == ["text"]
    assert slack["text"].startswith("&lt;0&gt; &amp; more\n")
