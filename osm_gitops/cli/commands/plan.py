"""``osm-gitops plan``: show what apply would do."""

from __future__ import annotations

from typing import Annotated

import typer

from osm_gitops.cli.clusters import clusters_of
from osm_gitops.cli.config_repo import with_config_repo
from osm_gitops.cli.options import Request, with_request
from osm_gitops.cli.reports import Format, FullReportAt, MaxLength, Output, ReportFiles, Reports, show_trouble
from osm_gitops.cli.run_options import (
    DEFAULT_MAX_DELETE,
    AgeRecipients,
    AllowEmpty,
    MaxChangedPools,
    MaxDelete,
    limits,
    run_options,
)
from osm_gitops.fleet.run import plan_clusters


@with_request
@with_config_repo
def plan(
    request: Request,
    output: Output = Format.TEXT,
    detailed_exitcode: Annotated[
        bool,
        typer.Option(
            "--detailed-exitcode", help="Exit with 2 when there are changes.", envvar="OSM_GITOPS_DETAILED_EXITCODE"
        ),
    ] = False,
    report: ReportFiles = None,
    max_length: MaxLength = None,
    full_report_at: FullReportAt = "",
    age_recipients: AgeRecipients = None,
    allow_empty: AllowEmpty = False,
    max_delete: MaxDelete = DEFAULT_MAX_DELETE,
    max_changed_pools: MaxChangedPools = None,
) -> int:
    """Show what apply would do.

    Per object the action and its reason, and what changes in the files inside. Reads sources and
    target and changes nothing. Secrets are masked.

    Examples:
      osm-gitops plan                                   # the fleet of osm-gitops.yaml
      osm-gitops plan --cluster prod-eu --only 'gpu-*'  # some pools of one cluster
      osm-gitops plan --detailed-exitcode               # exit with 2 when there are changes
      osm-gitops plan --output json > plan.json         # for programs; see schema plan
      osm-gitops plan --report plan.html                # a page to hand round, beside the text
      osm-gitops plan --from cluster-dump --to config-repo/clusters
    """
    reports = Reports(
        form=output,
        verbose=request.verbose,
        files=tuple(report or ()),
        max_length=max_length,
        whole_at=full_report_at,
    )
    reports.check()
    options = run_options(request, limits(max_delete, max_changed_pools, allow_empty=allow_empty), age_recipients)
    outcome = plan_clusters(clusters_of(request, needs_target=True), options)
    reports.show(outcome)
    show_trouble(outcome)
    if outcome.failed:
        return 1
    return 2 if detailed_exitcode and outcome.plan.has_changes else 0
