"""Show the whole fleet: versions, sizes, drift, last changes.

Compares each cluster with its target, as plan does, and reads clusters that are their own target, as
status does; with --live all clusters. Changes nothing. Shows of each pool its versions, the size of its
user-data compared with the provider's limit, what a plan would change, and of the last commits what they
changed in boot configurations. Masks secrets. HTML is one page that loads nothing: filter, sort, print
and send it.

Examples:
  osm-gitops report                                 # one line for each cluster
  osm-gitops report --output html > fleet.html      # a page to look at
  osm-gitops report --live -o html > fleet.html     # with machines and tokens of all clusters
  osm-gitops report --cluster 'prod-*' -o json      # some clusters, for programs
"""

from __future__ import annotations

from enum import Enum
from typing import Annotated

from osm_gitops import __version__
from osm_gitops.cli.config_repo import with_config_repo
from osm_gitops.cli.console import console
from osm_gitops.cli.options import Request, option, with_request
from osm_gitops.cli.reports import page_time
from osm_gitops.cli.run_options import (
    DEFAULT_MAX_DELETE,
    AgeRecipients,
    ClusterTimeout,
    Jobs,
    PlaintextSecrets,
    limits,
    run_options,
    side_by_side,
)
from osm_gitops.errors import Code, input_error

_HISTORY = 5
_MOST_HISTORY = 50


class Form(Enum):
    TEXT = "text"
    JSON = "json"
    HTML = "html"


@with_request
@with_config_repo
def report(
    request: Request,
    output: Annotated[Form, option("--output,-o", "Format of the report.")] = Form.TEXT,
    live: Annotated[bool, option("--live", "Read all clusters, also those whose target is git.")] = False,
    history: Annotated[
        int,
        option(
            "--history",
            "Number of commits to show with what they changed; each takes some renderings. 0 shows none.",
            metavar="N",
            min=0,
            max=_MOST_HISTORY,
        ),
    ] = _HISTORY,
    plaintext_secrets: PlaintextSecrets = False,
    age_recipients: AgeRecipients = None,
    jobs: Jobs = None,
    cluster_timeout: ClusterTimeout = "",
) -> int:
    from osm_gitops.cli.clusters import clusters_of, pinned  # noqa: PLC0415 - slow
    from osm_gitops.commands.report.fleet import FleetReport  # noqa: PLC0415 - slow
    from osm_gitops.commands.report.gathering import gather  # noqa: PLC0415
    from osm_gitops.commands.report.history import last_revisions  # noqa: PLC0415

    if live and request.untrusted:
        raise input_error(
            Code.OPTIONS_CONFLICT,
            "an untrusted run connects to no cluster that the tree names",
            where="--live",
            fix="Leave out --live, or --untrusted",
        )
    now = page_time()
    request = pinned(request)
    guards = limits(DEFAULT_MAX_DELETE, None, allow_empty=False, require_clean=False)
    options = run_options(request, guards, age_recipients, plaintext_secrets=plaintext_secrets)
    options = side_by_side(options, jobs, cluster_timeout)
    specs = clusters_of(request, needs_target=True)
    found = gather(specs, options, live=live)
    revisions, no_history = last_revisions(request, specs, options, history, found.sensitive)
    fleet = FleetReport(
        clusters=found.clusters,
        problems=found.problems,
        revisions=revisions,
        no_history=no_history,
        now=now,
        version=__version__,
    )
    match output:
        case Form.JSON:
            from osm_gitops.commands.report.json_report import report_json  # noqa: PLC0415

            console.out(report_json(fleet))
        case Form.HTML:
            from osm_gitops.commands.report.html import report_html  # noqa: PLC0415

            for piece in report_html(fleet):
                console.out(piece)
        case Form.TEXT:
            from osm_gitops.commands.report.text import report_text  # noqa: PLC0415

            console.out(report_text(fleet))
    unplanned = [cluster for cluster in found.clusters if not cluster.planned]
    console.problems((*found.problems, *(problem for cluster in unplanned for problem in cluster.problems)))
    return 1 if found.problems or unplanned else 0
