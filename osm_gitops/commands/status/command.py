"""Show the state of each pool and any blockers.

Reads clusters and changes nothing. Compares configuration and Secrets of each pool with what would be
rendered now. Shows whether machine-controller can create machines and which wait, the life of tokens,
the last run, and what remains of Operating System Manager. Without a fleet file and --from, shows the
pools of the cluster. With --runs, shows how the last runs of all shards ended instead.

Examples:
  osm-gitops status                                 # the fleet's clusters
  osm-gitops status --only 'gpu-*' -o json          # some pools, for programs
  osm-gitops status --context prod-eu               # a cluster without any configuration
  osm-gitops status --runs osm-gitops               # the last runs of all shards
  osm-gitops status --runs osm-gitops -o html       # the same as a page
"""

from __future__ import annotations

from datetime import UTC, datetime
from enum import Enum
from typing import Annotated

from osm_gitops.cli.console import console
from osm_gitops.cli.options import Request, option, with_live
from osm_gitops.cli.run_options import run_options
from osm_gitops.errors import Code, input_error

_PROBLEMS_FOUND = 2


class Form(Enum):
    TEXT = "text"
    JSON = "json"
    HTML = "html"


_DEFAULTS = (
    "There is no fleet file and no setting: pools are compared with a rendering with Operating System Manager's "
    "defaults. Pass its flags, or write a fleet file with osm-gitops init --from cluster."
)


@with_live
def status(
    request: Request,
    output: Annotated[Form, option("--output,-o", "Format of the status; html only with --runs.")] = Form.TEXT,
    detailed_exitcode: Annotated[bool, option("--detailed-exitcode", "Exit with 2 if there are problems.")] = False,
    runs: Annotated[
        str,
        option(
            "--runs",
            "Show the results that runs have left in this namespace with --result-in. Looks at no pool.",
            metavar="NAMESPACE",
            show_default=False,
        ),
    ] = "",
) -> int:
    if runs:
        return _show_runs(request, runs, output, detailed_exitcode=detailed_exitcode)
    if output is Form.HTML:
        raise input_error(
            Code.OPTIONS_CONFLICT,
            "only the results of runs are shown as a page",
            where="--output html",
            fix="Add --runs NAMESPACE, or use osm-gitops report --output html for pools",
        )
    from osm_gitops.cli.clusters import compared_clusters, names_clusters  # noqa: PLC0415 - slow
    from osm_gitops.commands.status.report import status_json, status_text  # noqa: PLC0415
    from osm_gitops.pipeline.status.reading import statuses  # noqa: PLC0415 - slow
    from osm_gitops.plan.guards import Limits  # noqa: PLC0415 - slow
    from osm_gitops.report.mask import Masker  # noqa: PLC0415 - slow

    if not names_clusters(request) and not request.settings:
        console.say(_DEFAULTS)
    options = run_options(request, Limits(), None)
    found = tuple(statuses(compared_clusters(request, options), options))
    masker = Masker(value for cluster in found for value in cluster.sensitive)
    console.out(status_json(found, masker, request.left_out) if output is Form.JSON else status_text(found, masker))
    unread = [problem for cluster in found for problem in cluster.problems]
    console.problems(unread, masker=masker)
    if unread:
        return 1
    return _PROBLEMS_FOUND if detailed_exitcode and any(cluster.is_in_trouble for cluster in found) else 0


def _show_runs(request: Request, namespace: str, output: Form, *, detailed_exitcode: bool) -> int:
    from osm_gitops.commands.status.runs import merged, runs_json, runs_text  # noqa: PLC0415 - slow
    from osm_gitops.commands.status.runs_html import runs_html  # noqa: PLC0415
    from osm_gitops.targets.cluster.results import read_results  # noqa: PLC0415 - slow

    results, unread = read_results(request.connections.home(request.management), namespace)
    runs, now = merged(results), datetime.now(UTC)
    if output is Form.HTML:
        console.out("".join(runs_html(namespace, runs, now)))
    else:
        console.out(runs_json(runs) if output is Form.JSON else runs_text(namespace, runs, now))
    console.problems(unread)
    if unread:
        return 1
    good = bool(runs) and all(each.good for each in runs)
    return 0 if good or not detailed_exitcode else _PROBLEMS_FOUND
