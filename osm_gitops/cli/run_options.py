"""Options of runs: guards, encryption, live clusters, metrics, and the confirmation before a write."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from datetime import timedelta
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from osm_gitops.bounded.files import SMALL, read_file
from osm_gitops.cli.console import ClusterTally, Progress, console
from osm_gitops.cli.options import WORK_PANEL, Request, option
from osm_gitops.errors import Code, Problem, input_error
from osm_gitops.forge.place import ForgeKind
from osm_gitops.gocompat.duration import parse_duration
from osm_gitops.gocompat.fault import GoError
from osm_gitops.report.visible import many

if TYPE_CHECKING:
    from osm_gitops.model.live import WriteOptions
    from osm_gitops.model.plan import Plan
    from osm_gitops.pipeline.metrics import MetricSinks
    from osm_gitops.pipeline.notifying import Notifier
    from osm_gitops.pipeline.options import ForgeOptions, GitOptions, LiveOptions, RunOptions
    from osm_gitops.plan.guards import Limits

_GUARDS = "Guards"

AllowEmpty = Annotated[bool, option("--allow-empty", "Allow an empty source to delete everything.", panel=_GUARDS)]
MaxDelete = Annotated[
    str,
    option("--max-delete", "Maximum number, or share, of pools to delete per cluster.", metavar="N|P%", panel=_GUARDS),
]
MaxChangedPools = Annotated[
    int | None,
    option("--max-changed-pools", "Maximum number of pools to change per cluster.", metavar="N", min=0, panel=_GUARDS),
]
Strict = Annotated[bool, option("--strict", "Treat warnings as errors; apply then writes nothing.", panel=_GUARDS)]
RequireClean = Annotated[
    bool,
    option(
        "--require-clean",
        "Refuse input from a git work tree that is not committed. Use it in pipelines and CronJobs.",
        panel=_GUARDS,
    ),
]
PlaintextSecrets = Annotated[
    bool,
    option(
        "--dangerously-plaintext-secrets",
        "Write Secrets into git in plain text. Tokens and passwords then stay in its history.",
        panel=_GUARDS,
    ),
]
AgeRecipients = Annotated[
    list[str] | None,
    option(
        "--age-recipient",
        "Encrypt for this age recipient instead of those in .sops.yaml. May be repeated.",
        metavar="AGE",
    ),
]
DEFAULT_MAX_DELETE = "50%"


def forbidden_warnings(plan: Plan) -> tuple[Problem, ...]:
    """With ``--strict``: one error for each cluster with warnings, which the plan shows. Uncommitted input does not
    count, because ``--require-clean`` refuses it."""
    counts = {each.cluster: len(set(each.warnings) - set(each.uncommitted)) for each in plan.clusters}
    return tuple(
        Problem(
            Code.WARNINGS_NOT_ALLOWED,
            f"the plan has {many(count, 'warning')}, and --strict allows none",
            about=f"cluster {cluster}",
            fix="Fix their causes, or run without --strict",
        )
        for cluster, count in counts.items()
        if count
    )


def limits(max_delete: str, max_changed_pools: int | None, *, allow_empty: bool, require_clean: bool) -> Limits:
    """The guards of a plan as the options set them; raises InputError."""
    from osm_gitops.plan.guards import Limits, parse_max_delete  # noqa: PLC0415 - slow

    return Limits(
        allow_empty=allow_empty,
        max_delete=parse_max_delete(max_delete),
        max_changed_pools=max_changed_pools,
        require_clean=require_clean,
    )


def run_options(
    request: Request,
    limits: Limits,
    age_recipients: list[str] | None,
    *,
    plaintext_secrets: bool = False,
    git: GitOptions | None = None,
    without_keys: bool = False,
) -> RunOptions:
    """The options of a run. The process's environment is read only here.

    ``without_keys``: read encrypted sources with placeholders for their values; only for reports.
    """
    from osm_gitops.pipeline.compiling import CompiledTexts  # noqa: PLC0415 - slow
    from osm_gitops.pipeline.options import GitOptions, RunOptions  # noqa: PLC0415 - slow
    from osm_gitops.plan.guards import PlanOptions  # noqa: PLC0415 - slow
    from osm_gitops.sops.keys import KeySearch  # noqa: PLC0415 - slow

    console.verbose = request.verbose
    environment = request.environment
    return RunOptions(
        environment=environment,
        keys=KeySearch(environment, without_keys=without_keys),
        note=console.note,
        tell=console.say,
        advance=Progress,
        tally=ClusterTally,
        only=request.only,
        plan=PlanOptions(limits=limits),
        plaintext_secrets=plaintext_secrets,
        age_recipients=tuple(age_recipients or ()),
        connections=request.connections,
        git=replace(git or GitOptions(), token=request.token, clone=request.clone),
        # An untrusted tree must not leave anything that a later run trusts.
        compiled=None if request.no_cache or request.untrusted else CompiledTexts(environment),
    )


Jobs = Annotated[
    int | None,
    option(
        "--jobs",
        "Number of clusters to work on at the same time. Without it, as many as the machine has cores, if there are "
        "enough clusters.",
        metavar="N",
        min=1,
        max=64,
        panel=WORK_PANEL,
        show_default=False,
    ),
]
ClusterTimeout = Annotated[
    str,
    option(
        "--cluster-timeout",
        "Give up a cluster whose reading and planning takes longer, and go on with the others. Nothing is written "
        "for it.",
        metavar="DURATION",
        panel=WORK_PANEL,
        show_default=False,
    ),
]


def side_by_side(options: RunOptions, jobs: int | None, cluster_timeout: str) -> RunOptions:
    """The options with how clusters are planned side by side; raises InputError."""
    flag = "--cluster-timeout"
    timeout = duration(cluster_timeout, flag) if cluster_timeout else None
    if timeout is not None and timeout < timedelta(seconds=1):
        what = f'"{cluster_timeout}" is less than a second'
        raise input_error(Code.INVALID_OPTION, what, where=flag, fix='Write for example "5m"')
    return replace(options, jobs=jobs, cluster_timeout=timeout)


_LIVE_PANEL = "Writing to clusters"

Settle = Annotated[
    str,
    option(
        "--settle",
        "How long to wait for pools without a revision from machine-controller; the next run does the rest.",
        metavar="DURATION",
        panel=_LIVE_PANEL,
    ),
]
LockTimeout = Annotated[
    str,
    option(
        "--lock-timeout",
        "How long to wait for another run on the same clusters to end.",
        metavar="DURATION",
        panel=_LIVE_PANEL,
    ),
]
Concurrency = Annotated[
    int,
    option(
        "--concurrency", "Number of pools to write at the same time.", metavar="N", min=1, max=64, panel=_LIVE_PANEL
    ),
]
ForceConflicts = Annotated[
    bool, option("--force-conflicts", "Take over fields that other field managers own.", panel=_LIVE_PANEL)
]
Finalizers = Annotated[
    bool,
    option(
        "--finalizers/--no-finalizers",
        "Keep deleted MachineDeployments until the objects made for them are gone.",
        panel=_LIVE_PANEL,
    ),
]
Nudge = Annotated[
    bool,
    option(
        "--nudge/--no-nudge",
        "Annotate Machines that waited for their bootstrap Secret, so that they continue.",
        panel=_LIVE_PANEL,
    ),
]
BesideOsm = Annotated[
    bool,
    option(
        "--beside-osm", "Write even if Operating System Manager runs and writes the same objects.", panel=_LIVE_PANEL
    ),
]
DEFAULT_SETTLE = "30s"
DEFAULT_LOCK_TIMEOUT = "90s"
DEFAULT_CONCURRENCY = 8


def live_options(settle: str, lock_timeout: str, write: WriteOptions, *, beside_osm: bool = False) -> LiveOptions:
    """How a run writes to clusters; raises InputError."""
    from osm_gitops.pipeline.options import LiveOptions  # noqa: PLC0415 - slow

    return LiveOptions(
        settle=duration(settle, "--settle"),
        lock_timeout=duration(lock_timeout, "--lock-timeout"),
        write=write,
        beside_osm=beside_osm,
    )


def duration(text: str, flag: str) -> timedelta:
    """A duration in Go's format (``90s``, ``1m30s``); raises InputError."""
    try:
        nanoseconds = parse_duration(text)
    except GoError:
        nanoseconds = -1
    if nanoseconds < 0:
        raise input_error(
            Code.INVALID_OPTION, f'"{text}" is not a duration', where=flag, fix='Write for example "30s" or "2m"'
        )
    return timedelta(microseconds=nanoseconds / 1000)


_WATCH_PANEL = "Runs that go on"

WatchFlag = Annotated[
    bool,
    option(
        "--watch",
        "Do not end: run again when something has changed that runs depend on, and each --interval.",
        panel=_WATCH_PANEL,
    ),
]
QuietTime = Annotated[
    str,
    option(
        "--quiet-time",
        "How long no other change may come before a run starts; at most ten times as long after the first one.",
        metavar="DURATION",
        panel=_WATCH_PANEL,
    ),
]
Poll = Annotated[
    str,
    option("--poll", "How often to ask for new commits in --repo.", metavar="DURATION", panel=_WATCH_PANEL),
]
AliveFile = Annotated[
    Path | None,
    option(
        "--alive-file",
        "Touch this file at least every minute, except during a run. For the probes of a pod.",
        metavar="FILE",
        panel=_WATCH_PANEL,
        show_default=False,
    ),
]
DEFAULT_QUIET_TIME = "300ms"
DEFAULT_POLL = "30s"

_METRICS_PANEL = "Metrics"

MetricsFile = Annotated[
    Path | None,
    option(
        "--metrics-file",
        "Write metrics of the run to this file, for the textfile collector of Prometheus' node exporter.",
        metavar="FILE",
        panel=_METRICS_PANEL,
        show_default=False,
    ),
]
PushgatewayAddress = Annotated[
    str | None,
    option(
        "--pushgateway",
        "Send metrics of the run to this Prometheus Pushgateway.",
        metavar="URL",
        panel=_METRICS_PANEL,
        show_default=False,
    ),
]


def metric_sinks(file: Path | None, address: str | None, fleet: tuple[str, ...] = ()) -> MetricSinks:
    """Where to write metrics; raises InputError before the run starts. The file keeps those of the clusters of
    ``fleet``."""
    from osm_gitops.pipeline.metrics import MetricSinks  # noqa: PLC0415 - slow

    if not address:
        return MetricSinks(file, fleet=fleet)
    from osm_gitops.kube.pushgateway import Pushgateway  # noqa: PLC0415 - slow

    return MetricSinks(file, Pushgateway.at(address), os.environ, fleet)


_NOTIFY_PANEL = "Notifications"


class NoticeFormat(Enum):
    JSON = "json"
    SLACK = "slack"


NotifyUrlFile = Annotated[
    Path | None,
    option(
        "--notify-url-file",
        "File with the address of a webhook for changes and new errors. Without it, OSM_GITOPS_NOTIFY_URL.",
        metavar="FILE",
        panel=_NOTIFY_PANEL,
        show_default=False,
    ),
]
NotifyFormat = Annotated[NoticeFormat, option("--notify-format", "Format of its messages.", panel=_NOTIFY_PANEL)]


def notifier(url_file: Path | None, form: NoticeFormat, metrics_file: Path | None) -> Notifier:
    """The webhook of a run; raises InputError before the run starts. Its address is in no option, since it is a
    secret."""
    from osm_gitops.pipeline.notifying import Notifier  # noqa: PLC0415 - slow

    variable = "OSM_GITOPS_NOTIFY_URL"
    address = os.environ.get(variable, "").strip()
    where = variable if url_file is None else "--notify-url-file"
    if url_file is not None:
        try:
            address = read_file(url_file, SMALL).decode("utf-8", "replace").partition("\n")[0].strip()
        except OSError as fault:
            what = f"cannot be read: {fault.strerror}"
            raise input_error(Code.FILE_UNREADABLE, what, where=f"{where} {url_file}") from fault
    elif not address:
        return Notifier()
    from osm_gitops.kube.webhook import Webhook  # noqa: PLC0415 - slow
    from osm_gitops.report.notices import json_payload, slack_payload  # noqa: PLC0415 - slow

    payload = slack_payload if form is NoticeFormat.SLACK else json_payload
    return Notifier(Webhook.at(address, where), payload, metrics_file, dict(os.environ))


_FORGE_PANEL = "Pull requests"

KeepPullRequest = Annotated[
    bool | None,
    option(
        "--pull-request/--no-pull-request",
        "Push to a branch and keep one pull request for it, or not. Without it, as the fleet file says.",
        panel=_FORGE_PANEL,
        show_default=False,
    ),
]
ForgeName = Annotated[
    ForgeKind | None,
    option(
        "--forge",
        "What the repository is at. Without it, as the name of its host says.",
        panel=_FORGE_PANEL,
        show_default=False,
    ),
]
ForgeAddress = Annotated[
    str,
    option(
        "--forge-api",
        "Address of the forge's API, if it is not the usual one of the repository's host.",
        metavar="URL",
        panel=_FORGE_PANEL,
        show_default=False,
    ),
]
ForgeTokenFile = Annotated[
    Path | None,
    option(
        "--forge-token-file",
        "File with a token for the forge's API. Without it, OSM_GITOPS_FORGE_TOKEN, or the token for git.",
        metavar="FILE",
        panel=_FORGE_PANEL,
        show_default=False,
    ),
]


def forge_options(request: Request, kind: ForgeKind | None, api: str, token_file: Path | None) -> ForgeOptions:
    """The forge of a run's pull requests."""
    from osm_gitops.forge.token import ForgeToken  # noqa: PLC0415 - slow
    from osm_gitops.pipeline.options import ForgeOptions  # noqa: PLC0415 - slow

    return ForgeOptions(kind=kind, api=api, token=ForgeToken(token_file, dict(os.environ), request.token))


Yes = Annotated[bool, option("--yes,-y", "Do not ask for confirmation. Required where stdin is not a terminal.")]


def require_answer(command: str, *, confirmed: bool, otherwise: str = "") -> None:
    """Raise InputError unless the run is ``confirmed`` in advance or stdin is a terminal.

    Output may go through a pipe to a log, so only stdin counts. ``CI=true`` is not a confirmation. ``otherwise`` names
    an alternative to ``--yes``.
    """
    if confirmed or sys.stdin.isatty():
        return
    fix = "Add --yes to write without asking" + (f", or {otherwise}" if otherwise else "")
    raise input_error(
        Code.NO_TERMINAL, "stdin is not a terminal, so the run cannot be confirmed", where=command, fix=fix
    )


def ask(question: str) -> bool:
    """Ask on stderr; only ``y`` or ``yes`` on stdin confirms."""
    return ask_for(f"{question} [y/N]").lower() in {"y", "yes"}


def ask_for(what: str) -> str:
    """Ask on stderr for a line of stdin; empty at the end of input."""
    try:
        sys.stderr.write(f"{what}: ")
        sys.stderr.flush()
        answer = sys.stdin.readline()
    except KeyboardInterrupt:
        sys.stderr.write("\n")
        raise
    if not answer.endswith("\n"):
        sys.stderr.write("\n")
    return answer.strip()
