"""Give a cluster back to Operating System Manager.

Removes osm-gitops' labels, annotations and field ownership from OSPs, OSCs and Secrets, and deletes
the Lease and the status of runs. All content stays, tokens and kubeconfigs too, so that Operating
System Manager takes over without rendering again; pools that it would render are named. Shows what
it will do and asks for confirmation; if stdin is not a terminal, --yes is required. Stop all runs
first: CronJobs, Flux, Argo CD.

Examples:
  osm-gitops uninstall                          # the cluster of osm-gitops.yaml, or of the kubeconfig
  osm-gitops uninstall --cluster prod-eu --yes
  osm-gitops uninstall --finalizers remove      # if OSM does not come back to clean up
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from enum import Enum
from typing import TYPE_CHECKING, Annotated

from osm_gitops.cli.console import console
from osm_gitops.cli.options import Request, option, with_whole_cluster
from osm_gitops.cli.run_options import (
    DEFAULT_LOCK_TIMEOUT,
    LockTimeout,
    Yes,
    ask,
    live_options,
    require_answer,
    run_options,
)
from osm_gitops.errors import Code, input_error
from osm_gitops.report.visible import many, visible

if TYPE_CHECKING:
    from osm_gitops.commands.uninstall.release import Release
    from osm_gitops.model.objects import ObjectRef


class Finalizers(Enum):
    """What to do with the finalizer on MachineDeployments, which OSM uses too."""

    AUTO = "auto"
    KEEP = "keep"
    REMOVE = "remove"


def release_text(release: Release, *, verbose: bool = False) -> str:
    """What uninstall will do; with ``verbose`` a line for each object."""
    return "".join(f"{visible(line)}\n" for line in _lines(release, verbose=verbose))


def _lines(release: Release, *, verbose: bool) -> Iterator[str]:
    from osm_gitops.model.live import CLEANUP_FINALIZER  # noqa: PLC0415 - slow

    yield from release.hosts
    if release.is_empty:
        yield "There is nothing of osm-gitops in this cluster."
        return
    finalizer = f"the finalizer {CLEANUP_FINALIZER}"
    groups = (
        ("~ remove label, annotations and field ownership from", [each.ref for each in release.released], ""),
        ("- delete", [each.ref for each in release.deleted], ""),
        (f"~ remove {finalizer} from", [each.ref for each in release.unheld], f", {release.reason}"),
        ("~ remove our annotation from", [each.ref for each in release.woken], ""),
        (f"  keep {finalizer} on", release.held, f", {release.reason}"),
        ("- delete", release.records, ""),
    )
    for what, refs, why in groups:
        if refs:
            yield f"  {what} {_counted(refs)}{why}"
            yield from (f"      {ref}" for ref in refs if verbose)
    yield ""
    yield "No object changes its content, and no machine is affected."


def _counted(refs: Iterable[ObjectRef]) -> str:
    kinds = Counter(ref.kind for ref in refs)
    return ", ".join(many(number, kind) for kind, number in sorted(kinds.items()))


@with_whole_cluster
def uninstall(
    request: Request,
    yes: Yes = False,
    finalizers: Annotated[
        Finalizers,
        option(
            "--finalizers",
            (
                "Whether MachineDeployments keep the finalizer, which Operating System Manager uses too. auto: if "
                "its Deployment exists, which then cleans up."
            ),
        ),
    ] = Finalizers.AUTO,
    lock_timeout: LockTimeout = DEFAULT_LOCK_TIMEOUT,
) -> int:
    from osm_gitops.cli.clusters import live_clusters_of  # noqa: PLC0415 - slow
    from osm_gitops.commands.uninstall.run import plan_uninstall  # noqa: PLC0415 - slow
    from osm_gitops.commands.uninstall.run import uninstall as give_back  # noqa: PLC0415
    from osm_gitops.model.live import WriteOptions  # noqa: PLC0415 - slow
    from osm_gitops.plan.guards import Limits  # noqa: PLC0415 - slow

    require_answer("uninstall", confirmed=yes)
    specs = live_clusters_of(request)
    if len(specs) > 1:
        names = ", ".join(spec.name for spec in specs)
        raise input_error(
            Code.SEVERAL_CLUSTERS, "the fleet has several clusters", fix=f"Choose one with --cluster: {names}"
        )
    options = run_options(request, Limits(), None)
    live = live_options("0s", lock_timeout, WriteOptions())
    try:
        release = plan_uninstall(specs[0], options.connections, finalizers)
        console.out(release_text(release, verbose=request.verbose))
        console.problems(release.warnings, label="Warning")
        console.problems(release.refusals)
        if release.refusals:
            return 1
        if release.is_empty:
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
        console.say("Done. The manifests of install are still applied; docs/how-to/install.md says how to remove them.")
    return 1 if failed else 0
