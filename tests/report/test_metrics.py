"""Metrics as Prometheus reads them, and the alerts of docs/how-to/operations.md that are made of them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import yaml
from prometheus_client.parser import text_string_to_metric_families

from osm_gitops import __version__
from osm_gitops.errors import Code, Problem
from osm_gitops.model.desired import ABSENT, PAUSED, LeftReason, Side
from osm_gitops.model.live import Delivery
from osm_gitops.model.objects import ObjectRef
from osm_gitops.model.plan import Action, Change, ClusterPlan, PoolCounts
from osm_gitops.model.record import FinishedRun
from osm_gitops.report.metrics import METRICS, Measured, exposition, last_good_runs

STARTED = datetime(2026, 1, 5, 10, tzinfo=UTC)
OPERATIONS = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "operations.md"
POOL = ObjectRef("MachineDeployment", "kube-system", "a")
BROKEN = replace(POOL, name="b")


def change(action: Action, *, upkeep: bool = False) -> Change:
    return Change(
        ObjectRef("Secret", "cloud-init-settings", action.value), Side.WORKER, action, pool=POOL, upkeep=upkeep
    )


def run(cluster: str = "prod", **more: Any) -> FinishedRun:
    changes = (change(Action.UPDATE), change(Action.UNCHANGED), change(Action.UPDATE, upkeep=True))
    plan = ClusterPlan(cluster, changes, PoolCounts(desired=3), failed={BROKEN: (Problem(Code.INVALID_VALUE, "x"),)})
    given: dict[str, Any] = {
        "started": STARTED,
        "ended": STARTED + timedelta(seconds=2.5),
        "plan": plan,
        "requests": 12,
    }
    given |= {"cluster": cluster, "delivery": Delivery(written=(POOL,), left={POOL: PAUSED})}
    return FinishedRun(**given | more)


def parsed(text: str) -> Mapping[tuple[str, ...], float]:
    """Samples by name and values of labels, as an independent reader has them."""
    families = list(text_string_to_metric_families(text))
    assert {family.type for family in families} == {"gauge"}
    assert {family.name: family.documentation for family in families}.items() <= METRICS.items()
    return {(sample.name, *sample.labels.values()): sample.value for family in families for sample in family.samples}


def test_a_run_is_told_in_figures() -> None:
    good = datetime(2026, 1, 5, 9, tzinfo=UTC)
    text = exposition([Measured(run(tokens_end=STARTED + timedelta(days=1)), good)])
    assert parsed(text) == {
        ("osm_gitops_run_success", "prod"): 0,
        ("osm_gitops_run_timestamp_seconds", "prod"): STARTED.timestamp() + 2.5,
        ("osm_gitops_run_duration_seconds", "prod"): 2.5,
        ("osm_gitops_last_good_run_timestamp_seconds", "prod"): good.timestamp(),
        ("osm_gitops_pools", "prod", "desired"): 3,
        ("osm_gitops_pools", "prod", "changed"): 1,
        ("osm_gitops_pools", "prod", "failed"): 1,
        ("osm_gitops_pools", "prod", "left"): 1,
        ("osm_gitops_pools", "prod", "stuck"): 0,
        ("osm_gitops_objects", "prod", "create"): 0,
        ("osm_gitops_objects", "prod", "update"): 1,
        ("osm_gitops_objects", "prod", "replace"): 0,
        ("osm_gitops_objects", "prod", "delete"): 0,
        ("osm_gitops_objects", "prod", "unchanged"): 1,
        ("osm_gitops_errors", "prod", "OG1024"): 1,
        ("osm_gitops_api_requests", "prod"): 12,
        ("osm_gitops_token_end_timestamp_seconds", "prod"): STARTED.timestamp() + 86_400,
        ("osm_gitops_info", "prod", __version__): 1,
    }


def test_what_is_not_known_is_left_out() -> None:
    names = {name for name, *_ in parsed(exposition([Measured(run(plan=None))]))}
    assert names == {
        "osm_gitops_run_success",
        "osm_gitops_run_timestamp_seconds",
        "osm_gitops_run_duration_seconds",
        "osm_gitops_api_requests",
        "osm_gitops_info",
    }


def test_when_runs_were_good_is_read_back() -> None:
    ends = {"a": STARTED, "b.c": STARTED + timedelta(seconds=1.5)}
    text = exposition([Measured(run(cluster), end) for cluster, end in ends.items()])
    assert last_good_runs(text) == ends
    assert last_good_runs("") == {}


def test_clusters_stand_side_by_side_below_one_heading() -> None:
    text = exposition([Measured(run("a")), Measured(run("b", plan=None))])
    assert text.count("# TYPE osm_gitops_run_success gauge\n") == 1
    assert {labels[0] for _, *labels in parsed(text)} == {"a", "b"}


def test_names_cannot_break_out_of_their_quotes() -> None:
    odd = 'a"b\\c\nd'
    assert {labels[0] for _, *labels in parsed(exposition([Measured(run(odd))]))} == {odd}


def test_a_run_in_which_nothing_failed_is_a_success() -> None:
    plan = ClusterPlan("prod", (change(Action.UNCHANGED),))
    text = exposition([Measured(run(plan=plan, delivery=Delivery(left={POOL: PAUSED})))])
    assert parsed(text)["osm_gitops_run_success", "prod"] == 1


def test_a_run_that_leaves_pools_once_more_is_none() -> None:
    plan = ClusterPlan("prod", (change(Action.UNCHANGED),))
    stuck = run(plan=plan, delivery=Delivery(left={POOL: ABSENT, BROKEN: PAUSED}), stuck=frozenset({POOL}))
    told = parsed(exposition([Measured(stuck)]))
    assert told["osm_gitops_run_success", "prod"] == 0
    assert [told["osm_gitops_pools", "prod", state] for state in ("left", "stuck", "failed")] == [1, 1, 0]


def test_the_alerts_of_the_documentation_are_rules_over_metrics_that_there_are() -> None:
    fences = re.findall(r"^```yaml\n(.*?)^```$", OPERATIONS.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    groups = [document["groups"] for document in map(yaml.safe_load, fences) if "groups" in document]
    (rules,) = (group["rules"] for each in groups for group in each)
    assert [rule["alert"] for rule in rules] == [
        "OsmGitopsNoGoodRun",
        "OsmGitopsPoolsFailing",
        "OsmGitopsPoolsStuck",
        "OsmGitopsTokensEnd",
    ]
    for rule in rules:
        assert rule.keys() == {"alert", "expr", "for", "labels", "annotations"}
        assert re.fullmatch(r"\d+[smhd]", rule["for"])
        assert set(re.findall(r"osm_gitops_\w+", rule["expr"])) <= METRICS.keys()
        assert rule["expr"].count("(") == rule["expr"].count(")")
        assert {"summary", "description"} <= rule["annotations"].keys()


def test_the_table_of_the_documentation_has_all_metrics() -> None:
    table = re.findall(r"^\| `(osm_gitops_\w+)` \|.*\| (.*) \|$", OPERATIONS.read_text("utf-8"), re.MULTILINE)
    assert dict(table) == METRICS


def test_the_table_of_the_documentation_has_all_reasons_why_pools_are_left() -> None:
    table = re.findall(r"^\| `([a-z-]+)` \| .* \| (yes|no) \|$", OPERATIONS.read_text("utf-8"), re.MULTILINE)
    assert dict(table) == {each.code: "no" if each.lasts else "yes" for each in LeftReason}


def test_a_run_of_some_clusters_keeps_what_is_known_of_the_others_of_its_fleet() -> None:
    earlier = exposition([Measured(run(name)) for name in ("a", "ab", 'q"}', "gone")])
    now = Measured(run("ab", requests=7))
    assert parsed(exposition([now], earlier, ("a", 'q"}'))) == parsed(
        exposition([Measured(run("a")), Measured(run('q"}')), now])
    )
    assert exposition([now], earlier) == exposition([now])
