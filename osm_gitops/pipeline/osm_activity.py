"""Detect whether Operating System Manager writes to a cluster too: by its Deployment, and the Lease of its controller.

Both are read from the management namespace. With KKP the Deployment is on the seed, and the user cluster has only the
Lease.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from osm_gitops.config.spec import ClusterSpec, LiveRef, UserCluster
from osm_gitops.errors import ClusterError, Code, Problem, UnsafePlanError
from osm_gitops.model.objects import Json
from osm_gitops.pipeline.load import load_settings
from osm_gitops.pipeline.options import LiveOptions, RunOptions

if TYPE_CHECKING:
    from osm_gitops.kube.api import Api
    from osm_gitops.sources.osm_deployment import OsmDeployment

RECENT: Final = timedelta(minutes=1)
"""A running controller renews its Lease every two seconds; the rest is for clock differences."""
_FORBIDDEN: Final = 403
_UNTIL_THEN: Final = "Until then, apply and refresh write only with --beside-osm"


@dataclass(frozen=True, slots=True)
class OsmActivity:
    """The state of OSM's controller, each as a problem about an object.

    ``running``: it writes. ``starting``: it is scaled up, but no replica is ready. ``unknown``: reading is forbidden.
    """

    running: tuple[Problem, ...] = ()
    starting: tuple[Problem, ...] = ()
    unknown: tuple[Problem, ...] = ()

    @property
    def warnings(self) -> tuple[Problem, ...]:
        return (*self.running, *self.starting, *self.unknown)

    def refuse(self, cluster: str, options: LiveOptions, *, unknown: bool = True) -> None:
        """Raise UnsafePlanError if the controller writes (``unknown``: or may write), unless the run may write beside
        it."""
        if options.beside_osm:
            return
        found = (*self.running, *(self.unknown if unknown else ()))
        if found:
            raise UnsafePlanError(problem.at(where=f"cluster {cluster}") for problem in found)


def osm_in_target(spec: ClusterSpec, options: RunOptions) -> OsmActivity:
    """The state of OSM's controller in the target of a run. Raises InputError and ClusterError."""
    if spec.kkp is not None:
        return _of_user_cluster(spec, spec.kkp, options)
    return read_osm_activity(options.connections.management(spec), load_settings(spec).namespace, options.live.now())


def osm_in_sources(spec: ClusterSpec, options: RunOptions) -> OsmActivity:
    """The same for a run to git, which accesses only servers that are sources. Raises InputError and ClusterError."""
    source, single = spec.source, spec.management == spec.worker
    asked = source.parts if single else (source.profiles,)
    return osm_in_target(spec, options) if any(isinstance(part, LiveRef) for part in asked) else OsmActivity()


def _of_user_cluster(spec: ClusterSpec, found: UserCluster, options: RunOptions) -> OsmActivity:
    """The same for a user cluster of KKP, with two requests: the Deployment is on the seed, the Lease in the cluster.
    KKP starts what it wants to run, so a Deployment with replicas counts as running."""
    unknown: list[Problem] = []
    running: list[Problem] = []
    try:
        osm = options.connections.osm_of(found)
        if osm is not None and (osm.ready or osm.replicas):
            running.append(_running(osm, f"Switch it off: osm-gitops kkp switch-off {spec.name}"))
    except ClusterError as failure:
        unknown += _forbidden(failure)
    if not running:
        management, namespace = options.connections.management(spec), load_settings(spec).namespace
        running += _lease_of(management, namespace, options.live.now(), unknown)
    return OsmActivity(running=tuple(running), unknown=() if running else tuple(map(_unknown, unknown)))


def read_osm_activity(management: Api, namespace: str, now: datetime) -> OsmActivity:
    """Search for OSM's controller with one or two requests.

    Forbidden reads are ``unknown``. Raises ClusterError if the server does not answer.
    """
    from osm_gitops.sources.osm_deployment import find_osm  # noqa: PLC0415 - not needed for runs from trees to git

    unknown: list[Problem] = []
    deployments: list[OsmDeployment] = []
    try:
        deployments = find_osm(management, namespace)
    except ClusterError as failure:
        unknown += _forbidden(failure)
    running = [_running(osm, _switch_off(osm)) for osm in deployments if osm.ready]
    if not running:
        running = _lease_of(management, namespace, now, unknown)
    return OsmActivity(
        running=tuple(running),
        starting=tuple(_starting(osm) for osm in deployments if osm.replicas and not osm.ready),
        unknown=() if running else tuple(map(_unknown, unknown)),
    )


def _lease_of(management: Api, namespace: str, now: datetime, unknown: list[Problem]) -> list[Problem]:
    """A problem if OSM's controller renews its Lease; reads that are forbidden are added to ``unknown``."""
    from osm_gitops.kube.kinds import LEASE  # noqa: PLC0415 - not needed for runs from trees to git
    from osm_gitops.sources.osm_deployment import OSM_LEASE  # noqa: PLC0415 - as above

    where = f"{LEASE.name} {namespace}/{OSM_LEASE}"
    try:
        lease = management.get(LEASE, namespace, OSM_LEASE)
        return [_leading(where)] if lease is not None and _is_renewed(lease, where, now) else []
    except ClusterError as failure:
        unknown += _forbidden(failure)
        return []


def _running(osm: OsmDeployment, fix: str) -> Problem:
    what = f"Operating System Manager runs ({osm.ready} of {osm.replicas} replicas ready) and writes the same objects"
    return Problem(Code.OSM_RUNS, what, about=str(osm), fix=f"{fix}. {_UNTIL_THEN}")


def _starting(osm: OsmDeployment) -> Problem:
    what = f"Operating System Manager is not switched off ({osm.ready} of {osm.replicas} replicas ready)"
    return Problem(
        Code.OSM_RUNS, f"{what}: once it starts, it writes the same objects", about=str(osm), fix=_switch_off(osm)
    )


def _switch_off(osm: OsmDeployment) -> str:
    scale = f"kubectl --namespace {osm.namespace} scale deployment {osm.name} --replicas 0"
    return f"Switch it off as docs/how-to/adoption.md says: {scale}"


def _leading(lease: str) -> Problem:
    what = "Operating System Manager runs, as its controller renews this Lease, and writes the same objects"
    fix = f"Switch it off where it runs, as docs/how-to/adoption.md says, and wait a minute. {_UNTIL_THEN}"
    return Problem(Code.OSM_RUNS, what, about=lease, fix=fix)


def _forbidden(failure: ClusterError) -> tuple[Problem, ...]:
    if failure.status != _FORBIDDEN:
        raise failure
    return failure.problems


def _unknown(problem: Problem) -> Problem:
    what = f"it is not known whether Operating System Manager runs: {problem.what}"
    return replace(problem, what=what, fix=f"{problem.fix}. {_UNTIL_THEN}" if problem.fix else _UNTIL_THEN)


def _is_renewed(lease: Mapping[str, Json], where: str, now: datetime) -> bool:
    """Whether a controller holds and recently renewed it. At its end a controller releases it or just stops."""
    spec = lease.get("spec") or {}
    if not (spec.get("holderIdentity") and spec.get("renewTime")):
        return False
    try:
        renewed = datetime.fromisoformat(spec["renewTime"]).astimezone(UTC)
    except (ValueError, OverflowError) as fault:
        what = f"spec.renewTime is not a time: {spec['renewTime']!r}"
        raise ClusterError([Problem(Code.LEASE_INVALID, what, about=where)]) from fault
    return now - renewed < RECENT
