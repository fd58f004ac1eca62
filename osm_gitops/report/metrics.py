"""Metrics of a run in Prometheus' text format, for a Pushgateway or the node exporter's textfile collector.

Times are timestamps, not ages: an alert that compares them with ``time()`` still works if runs stop.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain
from typing import Final

from osm_gitops import __version__
from osm_gitops.model.plan import Action
from osm_gitops.model.record import FinishedRun

JOB: Final = "osm-gitops"
_NOT_STARTED: Final = "# osm-gitops could not start: "
_LAST_GOOD: Final = "osm_gitops_last_good_run_timestamp_seconds"

METRICS: Final[Mapping[str, str]] = {
    "osm_gitops_run_success": "Whether the last run succeeded (1) or something failed (0).",
    "osm_gitops_run_timestamp_seconds": "When the last run ended.",
    "osm_gitops_run_duration_seconds": "How long the last run took.",
    _LAST_GOOD: "When the last run without failures ended.",
    "osm_gitops_pools": "Pools by their state in the last run: desired, changed, failed, left for later, "
    "stuck (left by two runs in a row).",
    "osm_gitops_objects": "Objects by the action that the last run planned for them.",
    "osm_gitops_errors": "Errors of the last run by their code: of the cluster, and of each failed pool.",
    "osm_gitops_api_requests": "Requests to API servers that the last run made.",
    "osm_gitops_token_end_timestamp_seconds": "When the first of the bootstrap tokens expires.",
    "osm_gitops_info": "The version of osm-gitops in the last run.",
}
"""All metrics with their help texts; all are gauges."""


@dataclass(frozen=True, slots=True)
class Measured:
    """A run, and when the last good one ended, if that is known. ``known`` are the errors that the record of the run
    before has, as it shows them; ``recorded``: runs leave a record there."""

    ran: FinishedRun
    last_good: datetime | None = None
    known: frozenset[str] = frozenset()
    recorded: bool = False


def exposition(runs: Iterable[Measured], earlier: str = "", others: Iterable[str] = ()) -> str:
    """The metrics of a run of some clusters, and of ``others`` those of an ``earlier`` text of ours."""
    samples: dict[str, list[str]] = {name: [] for name in METRICS}
    starts = tuple(f"{_labels({'cluster': cluster})}" for cluster in others)
    for line in earlier.splitlines() if starts else ():
        name, _, rest = line.partition("{")
        if name in samples and rest.startswith(starts):
            samples[name].append(f"{line}\n")
    for run in runs:
        for name, labels, value in _samples(run):
            samples[name].append(f"{name}{{{_labels({'cluster': run.ran.cluster, **labels})}}} {_number(value)}\n")
    return "".join(
        f"# HELP {name} {METRICS[name]}\n# TYPE {name} gauge\n{''.join(lines)}"
        for name, lines in samples.items()
        if lines
    )


def last_good_runs(text: str) -> Mapping[str, datetime]:
    """When the last good runs ended, by cluster, from an earlier text of ours."""
    found = re.findall(rf'^{_LAST_GOOD}{{cluster="([^"\\]*)"}} (\d+(?:\.\d+)?)$', text, re.MULTILINE)
    return {cluster: datetime.fromtimestamp(float(moment), UTC) for cluster, moment in found}


def known_codes(text: str) -> Mapping[str, frozenset[str]]:
    """The codes of errors, by cluster, from an earlier text of ours."""
    found: dict[str, set[str]] = {}
    for cluster, code in re.findall(r'^osm_gitops_errors{cluster="([^"\\]*)",code="(OG\d+)"}', text, re.MULTILINE):
        found.setdefault(cluster, set()).add(code)
    return {cluster: frozenset(codes) for cluster, codes in found.items()}


def not_started_codes(text: str) -> frozenset[str]:
    """The codes of errors with which runs could not start since the last metrics were written."""
    found = re.search(rf"^{_NOT_STARTED}(.*)$", text, re.MULTILINE)
    return frozenset(found[1].split()) if found else frozenset()


def with_not_started(text: str, codes: Iterable[str]) -> str:
    """Earlier metrics with a comment that a run could not start. The metrics stay: those of the last run."""
    kept = "".join(f"{line}\n" for line in text.splitlines() if not line.startswith(_NOT_STARTED))
    return f"{kept}{_NOT_STARTED}{' '.join(sorted(codes))}\n"


def _samples(run: Measured) -> Iterator[tuple[str, Mapping[str, str], float]]:
    ran, none = run.ran, dict[str, str]()
    yield "osm_gitops_run_success", none, float(ran.good)
    yield "osm_gitops_run_timestamp_seconds", none, ran.ended.timestamp()
    yield "osm_gitops_run_duration_seconds", none, ran.took.total_seconds()
    if run.last_good is not None:
        yield _LAST_GOOD, none, run.last_good.timestamp()
    if ran.plan is not None:
        counts = {
            "desired": ran.plan.pools.desired,
            "changed": len(ran.changed),
            "failed": len(ran.failed),
            "left": len(ran.left) - len(ran.stuck),
            "stuck": len(ran.stuck),
        }
        for state, number in counts.items():
            yield "osm_gitops_pools", {"state": state}, number
        planned = Counter(change.action for change in ran.plan.changes if not change.upkeep)
        for action in Action:
            yield "osm_gitops_objects", {"action": action.value}, planned[action]
    errors = Counter(problem.code.value for problem in (*ran.troubles, *chain(*ran.failed.values())))
    for code, number in sorted(errors.items()):
        yield "osm_gitops_errors", {"code": code}, number
    yield "osm_gitops_api_requests", none, ran.requests
    if ran.tokens_end is not None:
        yield "osm_gitops_token_end_timestamp_seconds", none, ran.tokens_end.timestamp()
    yield "osm_gitops_info", {"version": __version__}, 1


def _labels(labels: Mapping[str, str]) -> str:
    escape = str.maketrans({"\\": r"\\", "\n": r"\n", '"': r"\""})
    return ",".join(f'{name}="{value.translate(escape)}"' for name, value in labels.items())


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else f"{value:.3f}"
