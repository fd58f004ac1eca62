"""Show what apply would do.

Shows for each object the action, its reason, and what changes in the files inside. Reads sources
and target, and changes nothing. Masks secrets. Exits with 1 if apply would refuse the plan.

Examples:
  osm-gitops plan                                   # the fleet of osm-gitops.yaml
  osm-gitops plan --cluster prod-eu --only 'gpu-*'  # some pools of one cluster
  osm-gitops plan --detailed-exitcode               # exit with 2 when there are changes
  osm-gitops plan --output json > plan.json         # for programs; see schema plan
  osm-gitops plan --report plan.html                # also as a page to share
  osm-gitops plan --against main --without-keys     # diff a branch without decryption keys
  osm-gitops plan --out plan.json                   # for apply plan.json: this plan or nothing
  osm-gitops plan --from cluster-dump --to config-repo/clusters
  osm-gitops plan --from cluster --to cluster --context prod
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from osm_gitops.cli.config_repo import with_config_repo
from osm_gitops.cli.options import Request, option, with_request
from osm_gitops.cli.reports import Format, FullReportAt, MaxLength, Output, ReportFiles, Reports, show_problems
from osm_gitops.cli.run_options import (
    DEFAULT_MAX_DELETE,
    AgeRecipients,
    AllowEmpty,
    ClusterTimeout,
    Jobs,
    MaxChangedPools,
    MaxDelete,
    PlaintextSecrets,
    RequireClean,
    Strict,
    forbidden_warnings,
    limits,
    run_options,
    side_by_side,
)
from osm_gitops.cli.saved import Out, save_plan
from osm_gitops.errors import Code, input_error


@with_request
@with_config_repo
def plan(
    request: Request,
    output: Output = Format.TEXT,
    detailed_exitcode: Annotated[bool, option("--detailed-exitcode", "Exit with 2 if there are changes.")] = False,
    against: Annotated[
        str,
        option(
            "--against",
            "Compare with what the sources render to at this git revision, instead of the target.",
            metavar="REV",
            show_default=False,
        ),
    ] = "",
    without_keys: Annotated[
        bool,
        option(
            "--without-keys",
            "With --against: like --untrusted, and decrypt nothing; placeholders show which values changed.",
        ),
    ] = False,
    out: Out = None,
    report: ReportFiles = None,
    max_length: MaxLength = None,
    full_report_at: FullReportAt = "",
    plaintext_secrets: PlaintextSecrets = False,
    age_recipients: AgeRecipients = None,
    allow_empty: AllowEmpty = False,
    max_delete: MaxDelete = DEFAULT_MAX_DELETE,
    max_changed_pools: MaxChangedPools = None,
    strict: Strict = False,
    require_clean: RequireClean = False,
    jobs: Jobs = None,
    cluster_timeout: ClusterTimeout = "",
) -> int:
    from osm_gitops.pipeline.rendered import prepare  # noqa: PLC0415 - slow

    if request.source is not None:  # one cluster: a fleet may be planned in several processes, each with a worker
        prepare()
    from osm_gitops.cli.clusters import clusters_at, clusters_of, pinned  # noqa: PLC0415 - slow
    from osm_gitops.pipeline.against import plan_against  # noqa: PLC0415 - slow
    from osm_gitops.pipeline.run import plan_clusters  # noqa: PLC0415 - slow

    if without_keys:  # a reader without keys reviews changes of others
        request = replace(request, untrusted=True)
    reports = Reports(
        form=output,
        verbose=request.verbose,
        files=tuple(report or ()),
        max_length=max_length,
        whole_at=full_report_at,
        untrusted=request.untrusted,
    )
    reports.check()
    if without_keys and not against:
        raise input_error(
            Code.OPTIONS_CONFLICT,
            "placeholders can only be compared with placeholders",
            where="--without-keys",
            fix="Add --against REV",
        )
    if against and out is not None:
        raise input_error(
            Code.OPTIONS_CONFLICT,
            "a plan against a revision cannot be applied",
            where="--out",
            fix="Leave out --against",
        )
    if against and request.promote:
        what = "a plan against a revision compares what the work tree has, without waves"
        fix = "Leave out --against to see what --promote changes"
        raise input_error(Code.OPTIONS_CONFLICT, what, where="--promote", fix=fix)
    without_keys = without_keys or bool(against and request.untrusted)
    guards = limits(max_delete, max_changed_pools, allow_empty=allow_empty, require_clean=require_clean)
    options = run_options(
        request, guards, age_recipients, plaintext_secrets=plaintext_secrets, without_keys=without_keys
    )
    options = replace(side_by_side(options, jobs, cluster_timeout), views=reports.views, saved=out is not None)
    request = replace(pinned(request), allow_empty=allow_empty)
    clusters = clusters_of(request, needs_target=not against, waves=None if against else options)
    if against:
        outcome = plan_against(clusters, clusters_at(request, against, clusters), against, options)
    else:
        outcome = plan_clusters(clusters, options)
    reports.save(outcome)
    reports.show(outcome)
    if out is not None:
        save_plan(out, outcome, request)
    # A pull request whose merge cannot be applied must not be green.
    forbidden = forbidden_warnings(outcome.plan) if strict else ()
    checked = replace(outcome, problems=(*outcome.problems, *outcome.plan.refusals, *forbidden))
    show_problems(checked)
    if checked.failed:
        return 1
    return 2 if detailed_exitcode and outcome.plan.has_changes else 0
