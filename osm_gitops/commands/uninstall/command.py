"""``osm-gitops uninstall``: give a cluster back to Operating System Manager."""

from __future__ import annotations

from typing import Annotated

import typer

from osm_gitops.cli.clusters import live_clusters_of
from osm_gitops.cli.confirmation import Yes, ask, require_answer
from osm_gitops.cli.console import console
from osm_gitops.cli.live_options import DEFAULT_LOCK_TIMEOUT, LockTimeout, live_options
from osm_gitops.cli.options import Request, with_whole_cluster
from osm_gitops.cli.run_options import run_options
from osm_gitops.commands.uninstall.handover import Finalizers
from osm_gitops.errors import Code, input_error
from osm_gitops.plan.guards import Limits
from osm_gitops.targets.cluster.write_options import WriteOptions


@with_whole_cluster
def uninstall(
    request: Request,
    yes: Yes = False,
    finalizers: Annotated[
        Finalizers,
        typer.Option(
            "--finalizers",
            help="Whether MachineDeployments keep the finalizer, which is Operating System Manager's too; auto: where "
            "its Deployment is there to clean up.",
            envvar="OSM_GITOPS_FINALIZERS",
        ),
    ] = Finalizers.AUTO,
    lock_timeout: LockTimeout = DEFAULT_LOCK_TIMEOUT,
) -> int:
    """Give a cluster back to Operating System Manager.

    Takes our labels, annotations and field ownership from OSPs, OSCs and Secrets, and deletes the Lease
    and the status of runs. All content stays, tokens and kubeconfigs too, so that Operating System
    Manager takes over without rendering anything anew; pools that it would render are named. Shows what
    it will do and asks for confirmation; without a terminal on stdin --yes is required. First stop the
    runs, such as CronJobs, Flux or Argo CD.

    Examples:
      osm-gitops uninstall                          # the cluster of osm-gitops.yaml, or of the kubeconfig
      osm-gitops uninstall --cluster prod-eu --yes
      osm-gitops uninstall --finalizers remove      # nobody will clean up after MachineDeployments
    """
    from osm_gitops.commands.uninstall.report import handover_text  # noqa: PLC0415
    from osm_gitops.commands.uninstall.run import plan_uninstall  # noqa: PLC0415 - no other command needs it
    from osm_gitops.commands.uninstall.run import uninstall as give_back  # noqa: PLC0415

    require_answer("uninstall", confirmed=yes)
    specs = live_clusters_of(request)
    if len(specs) > 1:
        names = ", ".join(spec.name for spec in specs)
        raise input_error(Code.UNCODED, "the fleet has several clusters", fix=f"Choose one with --cluster: {names}")
    options = run_options(request, Limits(), None)
    live = live_options("0s", lock_timeout, WriteOptions())
    try:
        handover = plan_uninstall(specs[0], options.connections, finalizers)
        console.out(handover_text(handover, verbose=request.verbose))
        console.problems(handover.warnings, label="Warning")
        console.problems(handover.refusals)
        if handover.refusals:
            return 1
        if handover.is_empty:
            return 0
        if not (yes or ask("Give this cluster back?")):
            console.say("Not confirmed: nothing was changed.")
            return 1
        timeout = live.lock_timeout.total_seconds()
        failed = give_back(specs[0], options.connections, finalizers, console.note, timeout)
    finally:
        options.connections.close()
    console.problems(failed)
    if not failed:
        console.say(
            "Given back. What install has printed is still there; docs/how-to/install.md says how to remove it."
        )
    return 1 if failed else 0
