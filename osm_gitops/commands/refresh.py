"""Maintain in clusters what cannot be in git.

For clusters whose desired state Flux or Argo CD applies from git. Renews bootstrap tokens and
kubeconfigs of kubelets, annotates Secrets and OSCs with the revision that machine-controller waits
for, keeps deleted MachineDeployments until their objects are gone, and wakes waiting Machines. Run
it more often than --interval. If nothing is due, a run writes only its lock.

Examples:
  osm-gitops refresh                                   # the clusters of osm-gitops.yaml
  osm-gitops refresh --kubeconfig seed.yaml --worker-cluster-kubeconfig user.yaml
  osm-gitops refresh --repo https://git.example.com/nodes.git --cluster prod-eu
  osm-gitops refresh --token-life 12h --interval 1h -o json
"""

from __future__ import annotations

from dataclasses import replace

from osm_gitops.cli.console import console
from osm_gitops.cli.options import Request, with_live_clusters
from osm_gitops.cli.reports import Format, Output, ReportFiles, Reports, show_problems
from osm_gitops.cli.results import ResultIn, ResultPlace
from osm_gitops.cli.run_options import (
    DEFAULT_CONCURRENCY,
    DEFAULT_LOCK_TIMEOUT,
    DEFAULT_SETTLE,
    BesideOsm,
    ClusterTimeout,
    Concurrency,
    Finalizers,
    Jobs,
    LockTimeout,
    MetricsFile,
    NoticeFormat,
    NotifyFormat,
    NotifyUrlFile,
    Nudge,
    PushgatewayAddress,
    Settle,
    live_options,
    metric_sinks,
    notifier,
    run_options,
    side_by_side,
)
from osm_gitops.cli.watching import CommandResult, with_watch


@with_live_clusters
@with_watch(refreshes=True)
def refresh(
    request: Request,
    output: Output = Format.TEXT,
    report: ReportFiles = None,
    metrics_file: MetricsFile = None,
    pushgateway: PushgatewayAddress = None,
    notify_url_file: NotifyUrlFile = None,
    notify_format: NotifyFormat = NoticeFormat.JSON,
    settle: Settle = DEFAULT_SETTLE,
    lock_timeout: LockTimeout = DEFAULT_LOCK_TIMEOUT,
    concurrency: Concurrency = DEFAULT_CONCURRENCY,
    finalizers: Finalizers = True,
    nudge: Nudge = True,
    beside_osm: BesideOsm = False,
    jobs: Jobs = None,
    cluster_timeout: ClusterTimeout = "",
    result_in: ResultIn = "",
) -> CommandResult:
    from osm_gitops.cli.clusters import live_clusters_of  # noqa: PLC0415 - slow
    from osm_gitops.model.live import WriteOptions  # noqa: PLC0415 - slow
    from osm_gitops.pipeline.refresh import refresh_clusters  # noqa: PLC0415 - slow
    from osm_gitops.plan.guards import Limits  # noqa: PLC0415 - slow

    reports = Reports(command="refresh", form=output, verbose=request.verbose, files=tuple(report or ()))
    reports.check()
    result = ResultPlace("refresh", result_in)
    metrics = metric_sinks(metrics_file, pushgateway, request.watched)
    hook = notifier(notify_url_file, notify_format, metrics_file)
    write = WriteOptions(concurrency=concurrency, finalizers=finalizers, nudge=nudge)
    live = live_options(settle, lock_timeout, write, beside_osm=beside_osm)
    options = side_by_side(replace(run_options(request, Limits(), None), live=live), jobs, cluster_timeout)
    outcome = refresh_clusters(live_clusters_of(replace(request, writes=True)), options)
    reports.show(outcome)
    show_problems(outcome)
    reports.save(outcome)
    unsent = (*hook.notify(outcome.measured), *metrics.publish(outcome.measured), *result.leave(request, outcome))
    console.problems(unsent, label="Warning")
    for remark in outcome.remarks:
        console.say(remark)
    return CommandResult(1 if outcome.failed else 0, outcome)
