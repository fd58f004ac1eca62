"""The alerts and the dashboard of the documents: their queries, asked of the metrics that real runs write."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from osm_gitops.model.plan import Action
from osm_gitops.model.record import FinishedRun
from osm_gitops.report.metrics import METRICS, Measured, exposition
from tests.cli.running import osm_gitops
from tests.cli.scenes import facts, pool, profile, write_fleet, write_tree
from tests.git.repos import git, new_repository, pin_git
from tests.real_tools import real_tool

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "monitoring"
_RULE = yaml.safe_load((FOLDER / "prometheus-rule.yaml").read_text("utf-8"))
_ALERTS = {rule["alert"]: rule["expr"] for group in _RULE["spec"]["groups"] for rule in group["rules"]}
_DASHBOARD = json.loads((FOLDER / "grafana-dashboard.json").read_text("utf-8"))
_PANELS = {
    panel["title"]: target["expr"].replace("$cluster", ".*")
    for panel in _DASHBOARD["panels"]
    for target in panel["targets"]
}
_STATES = {"desired", "changed", "failed", "left", "stuck"}


def test_queries_name_metrics_and_labels_that_there_are() -> None:
    for query in (*_ALERTS.values(), *_PANELS.values()):
        names = set(re.findall(r"osm_gitops_\w+", query))
        assert names, query
        assert names <= METRICS.keys(), query
        assert set(re.findall(r'state="(\w+)"', query)) <= _STATES
        assert set(re.findall(r'action!?="(\w+)"', query)) <= {action.value for action in Action}
    used = " ".join((*_ALERTS.values(), *_PANELS.values()))
    assert {name for name in METRICS if name not in used} == set()


def test_panels_use_the_data_source_that_is_chosen_and_do_not_overlap() -> None:
    cells: set[tuple[int, int]] = set()
    for panel in _DASHBOARD["panels"]:
        assert panel["datasource"]["uid"] == "${datasource}"
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24
        own = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not own & cells
        cells |= own


@dataclass(frozen=True, slots=True)
class _Asked:
    """What Prometheus' own parser and engine say of rules and queries."""

    faults: list[str]
    results: Mapping[str, Sequence[Mapping[str, Any]]]

    def clusters(self, query: str) -> list[str]:
        return sorted(sample["labels"]["cluster"] for sample in self.results[query])


def _ask(text: str, queries: Sequence[str], at: float) -> _Asked:
    """Ask queries of an exposition that was scraped at the time ``at``."""
    series: list[dict[str, Any]] = [
        {"labels": {"__name__": sample.name} | sample.labels, "samples": [[at, sample.value]]}
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    ]
    question = {"rules": yaml.safe_dump(_RULE["spec"]), "series": series, "queries": list(queries), "at": at}
    ran = subprocess.run(
        [real_tool("promql-judge")], input=json.dumps(question).encode(), capture_output=True, check=True
    )
    answer = json.loads(ran.stdout)
    return _Asked(answer["faults"], answer["results"])


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """What real runs into git write: of one cluster that is well, and of one with a pool that fails."""
    pin_git(monkeypatch)
    nodes = new_repository(tmp_path / "nodes")
    write_fleet(
        nodes, "defaults: {to: {git: {path: clusters}}}\nclusters: [{name: good, from: a}, {name: broken, from: b}]\n"
    )
    write_tree(nodes / "a", profile(), pool("a"), *facts())
    write_tree(nodes / "b", profile(), pool("a"), pool("b", operatingSystem="debian"), *facts())
    git(nodes, "add", ".")
    git(nodes, "commit", "--quiet", "-m", "pools")
    monkeypatch.chdir(nodes)
    ran = osm_gitops("apply", "--yes", "--dangerously-plaintext-secrets", "--metrics-file=../metrics.prom")
    assert ran.code == 1
    return (tmp_path / "metrics.prom").read_text("utf-8")


@pytest.mark.oracle
def test_each_alert_fires_where_it_should_and_nowhere_else(written: str) -> None:
    (moment,) = re.findall(r'^osm_gitops_run_timestamp_seconds{cluster="good"} ([\d.]+)$', written, re.MULTILINE)
    now = float(moment)
    alerts = _ALERTS
    assert len(_ask(written, ["sum(", "rate(osm_gitops_info)"], now).faults) == 2
    soon = _ask(written, list(alerts.values()), now + 60)
    assert soon.faults == []
    fired = {name: soon.clusters(query) for name, query in alerts.items() if soon.results[query]}
    assert fired == {"OsmGitopsRunFailed": ["broken"], "OsmGitopsPoolsFailed": ["broken"]}
    later = _ask(written, list(alerts.values()), now + 7 * 3600)
    assert later.clusters(alerts["OsmGitopsRunsStopped"]) == ["broken", "good"]
    assert later.clusters(alerts["OsmGitopsNoGoodRun"]) == ["good"]  # the other never had one
    worse = re.sub(r'^(osm_gitops_pools{cluster="good",state="stuck"}) .*$', r"\1 2", written, flags=re.MULTILINE)
    worse = re.sub(r'^(osm_gitops_run_duration_seconds{cluster="good"}) .*$', r"\1 700", worse, flags=re.MULTILINE)
    found = _ask(worse, list(alerts.values()), now + 60)
    assert found.clusters(alerts["OsmGitopsPoolsStuck"]) == ["good"]
    assert found.clusters(alerts["OsmGitopsRunSlow"]) == ["good"]
    # Only runs into clusters know tokens.
    at = datetime.fromtimestamp(now, UTC)
    tokens = exposition([Measured(FinishedRun(cluster="live", started=at, ended=at, tokens_end=at))])
    ending = alerts["OsmGitopsTokenEnds"]
    assert _ask(tokens, [ending], now - 1000).clusters(ending) == []
    assert _ask(tokens, [ending], now - 800).clusters(ending) == ["live"]


@pytest.mark.oracle
def test_each_panel_has_an_answer(written: str) -> None:
    (moment,) = re.findall(r'^osm_gitops_run_timestamp_seconds{cluster="good"} ([\d.]+)$', written, re.MULTILINE)
    asked = _ask(written, list(_PANELS.values()), float(moment) + 60)
    assert asked.faults == []
    empty = [title for title, query in _PANELS.items() if not asked.results[query]]
    assert empty == ["Shortest token life"]
    first = {title: asked.results[query][0]["value"] for title, query in _PANELS.items() if title not in empty}
    assert (first["Clusters"], first["Clusters with errors"], first["Failed pools"], first["Stuck pools"]) == (
        2,
        1,
        1,
        0,
    )
