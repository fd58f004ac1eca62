"""Show the state of each pool and any blockers.

Reads clusters and changes nothing. Compares configuration and Secrets of each pool with what would be
rendered now. Shows whether machine-controller can create machines and which wait, the life of tokens,
the last run, and what remains of Operating System Manager. Without a fleet file and --from, shows the
pools of the cluster.

Examples:
  osm-gitops status                                 # the fleet's clusters
  osm-gitops status --only 'gpu-*' -o json          # some pools, for programs
  osm-gitops status --context prod-eu               # a cluster without any configuration
"""

from __future__ import annotations

from typing import Annotated

from osm_gitops.cli.clusters import compared_clusters, names_clusters
from osm_gitops.cli.console import console
from osm_gitops.cli.options import Form, Request, option, with_live
from osm_gitops.cli.run_options import run_options
from osm_gitops.plan.guards import Limits
from osm_gitops.report.mask import Masker

_PROBLEMS_FOUND = 2
_DEFAULTS = (
    "There is no fleet file and no setting: pools are compared with a rendering with Operating System Manager's "
    "defaults. Pass its flags, or write a fleet file with osm-gitops init --from cluster."
)


@with_live
def status(
    request: Request,
    output: Annotated[Form, option("--output,-o", "Format of the status.")] = Form.TEXT,
    detailed_exitcode: Annotated[bool, option("--detailed-exitcode", "Exit with 2 if there are problems.")] = False,
) -> int:
    from osm_gitops.commands.status.report import status_json, status_text  # noqa: PLC0415
    from osm_gitops.pipeline.status.reading import statuses  # noqa: PLC0415 - slow

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
