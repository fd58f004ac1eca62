"""Live clusters as targets: whether they answer, and allow all that a run does there. Nothing is changed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from osm_gitops.commands.doctor.finding import Finding, fix, found, ok
from osm_gitops.commands.install.install_plan import InstallPlan
from osm_gitops.commands.install.planning import for_cluster
from osm_gitops.commands.install.rights import Right, management_reads, management_writes, worker_reads, worker_writes
from osm_gitops.config.spec import ClusterSpec
from osm_gitops.errors import OsmGitopsError
from osm_gitops.kube.api import Api
from osm_gitops.pipeline.connections import Connections

_HOW = "osm-gitops install prints roles with it"


def look_at_live_target(spec: ClusterSpec, connections: Connections) -> Iterator[Finding]:
    """A line for each of the cluster's servers, or for each right that is missing there.

    What MachineDeployments name beyond the settings is left to the run, which tells it by name.
    """
    area = f"target of cluster {spec.name}"
    try:
        plan = for_cluster(InstallPlan(), spec, ())
        management = (*management_reads(plan), *management_writes(plan))
        worker = (*worker_reads(plan), *worker_writes(plan))
        one, other = connections.management(spec), connections.worker(spec)
        if one is other:
            yield from _look(area, one, dict.fromkeys((*management, *worker)))
            return
        yield from _look(area, one, management)
        yield from _look(area, other, worker)
    except OsmGitopsError as failure:
        yield from found(area, failure.problems)


def _look(area: str, api: Api, rights: Iterable[Right]) -> Iterator[Finding]:
    missing = [finding for right in rights for finding in _missing(area, api, right)]
    yield from missing or [ok(area, f"{api.display} allows what a run does there")]


def _missing(area: str, api: Api, right: Right) -> Iterator[Finding]:
    kind = right.kind
    for name in right.names or ("",):
        verbs = [
            verb for verb in right.verbs.split() if not api.may(verb, kind, right.namespace, name, right.subresource)
        ]
        if verbs:
            resource = "/".join(filter(None, (kind.plural, right.subresource)))
            named = f" {name}" if name else ""
            place = f"namespace {right.namespace}" if right.namespace else "all namespaces"
            what = f"{api.display} does not allow {', '.join(verbs)} on {resource}{named} in {place}"
            yield fix(area, what, _HOW)
