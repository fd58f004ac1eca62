"""Write the desired state: commit it, or apply it to clusters.

Makes one commit per cluster in git, or one per run (to.git.commit in the fleet file), and none
without changes. Shows the plan first and asks for confirmation, except with --yes or a saved plan;
if stdin is not a terminal, one of the two is required. Changes only what osm-gitops owns. A pool
that cannot be rendered keeps what it has.

Examples:
  osm-gitops apply                              # plan, ask, commit
  osm-gitops apply --yes --push                 # in a pipeline: commit and push
  osm-gitops apply --yes --pull-request --forge-token-file /run/forge/token
  osm-gitops apply --yes --repo https://git.example.com/nodes.git --git-token-file /run/git/token
  osm-gitops apply --yes --max-changed-pools 3  # refuse if more pools than that would change
  osm-gitops apply --from cluster-dump --to config-repo/clusters --cluster prod-eu
  osm-gitops apply --from cluster --to cluster   # what Operating System Manager did
  osm-gitops apply --from cluster --to cluster --yes --watch   # within seconds, as it did
  osm-gitops apply plan.json                     # exactly what plan --out saved, or nothing
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Annotated

from osm_gitops import __version__
from osm_gitops.cli.console import console
from osm_gitops.cli.options import Request, option, with_request
from osm_gitops.cli.reports import ReportFiles, Reports, show_problems
from osm_gitops.cli.results import ResultIn, ResultPlace
from osm_gitops.cli.run_options import (
    DEFAULT_CONCURRENCY,
    DEFAULT_LOCK_TIMEOUT,
    DEFAULT_MAX_DELETE,
    DEFAULT_SETTLE,
    AgeRecipients,
    AllowEmpty,
    BesideOsm,
    ClusterTimeout,
    Concurrency,
    Finalizers,
    ForceConflicts,
    ForgeAddress,
    ForgeName,
    ForgeTokenFile,
    Jobs,
    KeepPullRequest,
    LockTimeout,
    MaxChangedPools,
    MaxDelete,
    MetricsFile,
    NoticeFormat,
    NotifyFormat,
    NotifyUrlFile,
    Nudge,
    PlaintextSecrets,
    PushgatewayAddress,
    RequireClean,
    Settle,
    Strict,
    Yes,
    ask,
    forbidden_warnings,
    forge_options,
    limits,
    live_options,
    metric_sinks,
    notifier,
    require_answer,
    run_options,
    side_by_side,
)
from osm_gitops.cli.saved import PlanFile, as_asked, open_plan
from osm_gitops.cli.watching import CommandResult, with_watch
from osm_gitops.errors import Code, UnsafePlanError, input_error
from osm_gitops.report.visible import many

if TYPE_CHECKING:
    from osm_gitops.model.live import Delivery
    from osm_gitops.model.plan import Plan


@with_request
@with_watch(refreshes=False)
def apply(
    request: Request,
    plan_file: PlanFile = None,
    yes: Yes = False,
    push: Annotated[
        bool | None,
        option("--push/--no-push", "Push the commits, or not. Without it, as the fleet file says.", show_default=False),
    ] = None,
    branch: Annotated[
        str,
        option(
            "--branch",
            "Commit to this branch, for a pull request; {cluster} in it is the name of the cluster. The branch that is "
            "checked out does not change.",
            metavar="NAME",
        ),
    ] = "",
    pull_request: KeepPullRequest = None,
    forge: ForgeName = None,
    forge_api: ForgeAddress = "",
    forge_token_file: ForgeTokenFile = None,
    sign: Annotated[
        bool | None,
        option(
            "--sign/--no-sign",
            "Sign the commits with git's signing key, or not. Without it, as the fleet file or git says.",
            show_default=False,
        ),
    ] = None,
    report: ReportFiles = None,
    metrics_file: MetricsFile = None,
    pushgateway: PushgatewayAddress = None,
    notify_url_file: NotifyUrlFile = None,
    notify_format: NotifyFormat = NoticeFormat.JSON,
    settle: Settle = DEFAULT_SETTLE,
    lock_timeout: LockTimeout = DEFAULT_LOCK_TIMEOUT,
    concurrency: Concurrency = DEFAULT_CONCURRENCY,
    force_conflicts: ForceConflicts = False,
    finalizers: Finalizers = True,
    nudge: Nudge = True,
    beside_osm: BesideOsm = False,
    plaintext_secrets: PlaintextSecrets = False,
    age_recipients: AgeRecipients = None,
    allow_empty: AllowEmpty = False,
    max_delete: MaxDelete = DEFAULT_MAX_DELETE,
    max_changed_pools: MaxChangedPools = None,
    strict: Strict = False,
    require_clean: RequireClean = False,
    jobs: Jobs = None,
    cluster_timeout: ClusterTimeout = "",
    result_in: ResultIn = "",
) -> CommandResult:
    from osm_gitops.pipeline.rendered import prepare  # noqa: PLC0415 - slow

    if request.source is not None:  # one cluster: a fleet may be planned in several processes, each with a worker
        prepare()
    from osm_gitops.cli.clusters import clusters_of, pinned  # noqa: PLC0415 - slow
    from osm_gitops.model.live import WriteOptions  # noqa: PLC0415 - slow
    from osm_gitops.pipeline.options import GitOptions, Outcome  # noqa: PLC0415 - slow
    from osm_gitops.pipeline.run import apply_clusters  # noqa: PLC0415 - slow
    from osm_gitops.report.saved_plan import refuse_stale  # noqa: PLC0415 - slow

    confirmed = yes or plan_file is not None
    require_answer("apply", confirmed=confirmed, otherwise="apply a plan that plan --out has saved")
    reports = Reports(command="apply", verbose=request.verbose, files=tuple(report or ()))
    reports.check()
    result = ResultPlace("apply", result_in)
    metrics = metric_sinks(metrics_file, pushgateway, request.watched)
    hook = notifier(notify_url_file, notify_format, metrics_file)
    guards = limits(max_delete, max_changed_pools, allow_empty=allow_empty, require_clean=require_clean)
    _refuse_unpushed(request, push, pull_request=pull_request)
    saved = open_plan(plan_file) if plan_file is not None else None
    if saved is not None:
        request = as_asked(request, saved.options, str(plan_file))
    request = replace(pinned(request), allow_empty=allow_empty, writes=True)
    git = GitOptions(
        push=push,
        pull_request=pull_request,
        forge=forge_options(request, forge, forge_api, forge_token_file),
        sign=sign,
        own_branch=branch,
    )
    write = WriteOptions(concurrency=concurrency, force_conflicts=force_conflicts, finalizers=finalizers, nudge=nudge)
    as_shown = saved is not None or not yes
    live = replace(live_options(settle, lock_timeout, write, beside_osm=beside_osm), as_shown=as_shown)
    options = run_options(request, guards, age_recipients, plaintext_secrets=plaintext_secrets, git=git)
    options = replace(
        side_by_side(options, jobs, cluster_timeout), live=live, views=reports.views, saved=saved is not None
    )

    declined = False

    def confirm(plan: Plan) -> bool:
        nonlocal declined
        reports.show(Outcome(plan))
        forbidden = forbidden_warnings(plan) if strict else ()
        if forbidden:
            raise UnsafePlanError(forbidden)
        if saved is not None:
            refuse_stale(saved, plan, __version__, str(plan_file))
            return True
        if yes or not plan.can_change:
            return True
        declined = not ask("Apply this plan?")
        return not declined

    outcome = apply_clusters(partial(clusters_of, request, needs_target=True, waves=options), options, confirm)
    _show_commits(outcome.commits)
    for cluster, delivery in outcome.deliveries.items():
        if not delivery.commit:
            _show_delivery(cluster, delivery)
    for remote in outcome.pushed:
        console.say(f"pushed to {remote}")
    for remark in outcome.remarks:
        console.say(remark)
    if declined:
        console.say(f"Not confirmed: nothing {'more ' if outcome.commits else ''}was changed.")
    show_problems(outcome)
    reports.save(outcome)
    unsent = (*hook.notify(outcome.measured), *metrics.publish(outcome.measured), *result.leave(request, outcome))
    console.problems(unsent, label="Warning")
    return CommandResult(1 if declined or outcome.failed else 0, outcome)


def _show_commits(commits: Mapping[str, str]) -> None:
    together: dict[str, list[str]] = {}
    for cluster, commit in commits.items():
        together.setdefault(commit, []).append(cluster)
    for commit, clusters in together.items():
        if len(clusters) == 1:
            console.say(f"{clusters[0]}: committed {commit[:12]}", cluster=clusters[0], commit=commit)
        else:
            console.say(f"{len(clusters)} clusters: committed {commit[:12]}", clusters=clusters, commit=commit)


def _show_delivery(cluster: str, delivery: Delivery) -> None:
    from osm_gitops.report.outline import left_lines  # noqa: PLC0415 - slow

    pools = len([pool for pool in delivery.written if pool])
    # Profiles, and objects of pools that no longer exist.
    others = ["objects of no pool"] if None in delivery.written else []
    attempted = len({pool for pool in (*delivery.written, *delivery.failed, *delivery.left) if pool})
    written = f"{pools} of {many(attempted, 'pool')}" if delivery.failed else many(pools, "pool")
    if delivery.written or delivery.failed:
        parts = [*([written] if pools or delivery.failed else []), *others]
        console.say(f"{cluster}: {' and '.join(parts)} written", cluster=cluster, written=pools)
    for line in left_lines(delivery.left):
        console.say(f"{cluster}: left for now: {line}", cluster=cluster)


def _refuse_unpushed(request: Request, push: bool | None, *, pull_request: bool | None) -> None:
    if pull_request and push is False:
        raise input_error(
            Code.OPTIONS_CONFLICT,
            "a pull request needs a branch that is pushed",
            where="--no-push",
            fix="Leave it out, or use --no-pull-request",
        )
    if request.clone is not None and push is False:
        raise input_error(
            Code.OPTIONS_CONFLICT,
            "commits that are not pushed are lost with the clone",
            where="--no-push",
            fix="Leave it out, or use plan to see what would change",
        )
