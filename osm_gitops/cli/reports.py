"""Showing plans: the reports of ``osm_gitops.report`` on the terminal."""

from __future__ import annotations

from enum import Enum

from osm_gitops.cli.console import console
from osm_gitops.fleet.run import Outcome
from osm_gitops.model.plan import Plan
from osm_gitops.report.json_report import plan_json
from osm_gitops.report.mask import Masker
from osm_gitops.report.text import Style, format_plan


class Format(Enum):
    """How a report is written."""

    TEXT = "text"
    JSON = "json"


def show_plan(plan: Plan, form: Format, *, verbose: bool) -> None:
    """Print a plan on stdout."""
    if form is Format.JSON:
        console.out(plan_json(plan, whole=verbose))
    elif plan.clusters:  # where no cluster could be planned, its problems say all
        console.out(format_plan(plan, Style(color=console.colours(), verbose=verbose)))


def show_trouble(outcome: Outcome) -> None:
    """Print on stderr what failed: whole clusters, and pools."""
    for cluster in outcome.plan.clusters:
        console.failures(cluster.cluster, cluster.failed, Masker(cluster.sensitive))
    console.problems(
        outcome.problems, masker=Masker(value for each in outcome.plan.clusters for value in each.sensitive)
    )
