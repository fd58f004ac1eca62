"""Switch Operating System Manager (OSM) of KKP user clusters off and on, by the override of their Clusters.

KKP scales the Deployment as ``spec.componentsOverride.operatingSystemManager.replicas`` of the Cluster says; a
Deployment that somebody else scales is put back at once. KKP fills empty overrides with the defaults of the Seed and of
its ClusterTemplate whenever a Cluster is written, and takes the number 0 for an empty one. So the override is read
again after it was written, and while OSM stops.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import Enum
from typing import Final

from osm_gitops.commands.uninstall.release import records
from osm_gitops.config.kkp_settings import NAMESPACE
from osm_gitops.errors import ClusterError, Code, OsmGitopsError, Problem, some
from osm_gitops.kube.api import Api
from osm_gitops.kube.kinds import CLUSTER_TEMPLATE, DEPLOYMENT, POD, USER_CLUSTER
from osm_gitops.model.objects import Json
from osm_gitops.pipeline.options import LiveOptions
from osm_gitops.pipeline.osm_activity import read_osm_activity
from osm_gitops.sources.kkp.records import Cluster, ClusterState, Seed
from osm_gitops.sources.kkp.seed import SeedInventory, read_one_cluster
from osm_gitops.sources.osm_deployment import NAME

FIELD: Final = "spec.componentsOverride.operatingSystemManager.replicas"
_PODS: Final = f"app={NAME}"
_PAUSE: Final = 3.0  # seconds between two looks
_SHOWN: Final = 3


class Switch(Enum):
    """What OSM of a user cluster shall be; the value is the number of its replicas.

    On is a number too, not an empty override: a default of the seed would fill that.
    """

    OFF = 0
    ON = 1


@dataclass(frozen=True, slots=True)
class Switched:
    """A user cluster before OSM is switched: ``name`` in the fleet, ``seed`` and ``worker`` are its API servers."""

    name: str
    cluster: Cluster
    seed: Api
    worker: Api

    def at(self, problem: Problem) -> Problem:
        """A problem with the name of this cluster."""
        return problem.at(where=f"cluster {self.name}")


def obstacles(
    each: Switched, switch: Switch, inventory: SeedInventory, templates: Mapping[str, int | None]
) -> Iterator[Problem]:
    """Why KKP would not switch OSM of a cluster, or not for long. ``templates`` are the numbers of replicas in the
    ClusterTemplates of :func:`read_templates`."""
    cluster = each.cluster
    if cluster.state is not ClusterState.READY:
        reasons = cluster.pause_reason if cluster.paused else ", ".join(cluster.unhealthy_parts())
        what = (
            f"the Cluster is {cluster.state.value}{f' ({reasons})' if reasons else ''}: KKP might not act on a change"
        )
        fix = "Unpause it first" if cluster.paused else "Wait until it is healthy, or leave it out"
        yield each.at(Problem(Code.KKP_CLUSTER_NOT_READY, what, about=str(cluster), fix=fix))
    if switch is Switch.ON:
        return
    found = inventory.datacenter(cluster.datacenter)
    for about, field, replicas in _defaults(found[0], templates) if found else ():
        if replicas:
            what = f"KKP fills empty overrides of Clusters with this default of {replicas}, and takes 0 for empty"
            fix = "Remove the default, or set it to 0 (on the master cluster, whose Seeds are copied to the seeds)"
            yield each.at(Problem(Code.OSM_SWITCHED_ON_BY_DEFAULT, what, about=about, field=field, fix=fix))


def _defaults(seed: Seed, templates: Mapping[str, int | None]) -> Iterator[tuple[str, str, int | None]]:
    """Where KKP takes the replicas of empty overrides from: object, field, number."""
    yield f"Seed {seed.name}", "spec.defaultComponentSettings.operatingSystemManager.replicas", seed.osm_replicas
    if seed.default_template in templates:
        yield f"{CLUSTER_TEMPLATE.name} {seed.default_template}", FIELD, templates[seed.default_template]


def read_templates(seed: Api, inventory: SeedInventory) -> dict[str, int | None]:
    """The number of OSM's replicas in each ClusterTemplate that is the default of a Seed. Raises ClusterError."""
    found = {}
    for name in sorted({each.default_template for each in inventory.seeds} - {""}):
        body = seed.get(CLUSTER_TEMPLATE, "", name)
        if body is not None:  # KKP refuses new clusters without it, and existing ones keep what they have
            found[name] = _replicas(body)
    return found


def _replicas(template: Mapping[str, Json]) -> int | None:
    found: Json = template
    for key in FIELD.split("."):
        found = found.get(key) if isinstance(found, dict) else None
    return found if isinstance(found, int) else None


def leftovers(each: Switched) -> Iterator[Problem]:
    """What osm-gitops still has in a cluster that is to be given back. Raises ClusterError."""
    found = records(each.worker, NAMESPACE)
    if found:
        what = f"osm-gitops has not given the cluster back: there is still {', '.join(map(str, found))}"
        fix = (
            f"Stop the runs for it, and run osm-gitops uninstall --cluster {each.name} first; or add --allow-leftovers"
        )
        yield Problem(Code.NOT_GIVEN_BACK, what, about=f"cluster {each.name}", fix=fix)


def is_done(each: Switched, switch: Switch, options: LiveOptions) -> bool:
    """Whether the override says so and OSM is so. Raises OsmGitopsError."""
    return each.cluster.osm_replicas == switch.value and not lacking(each, switch, options)


def set_replicas(each: Switched, switch: Switch) -> None:
    """Write the override, and read it again. Raises OsmGitopsError, also if it did not hold."""
    override = {"operatingSystemManager": {"replicas": switch.value}}
    each.seed.merge(USER_CLUSTER, "", each.cluster.id, {"spec": {"componentsOverride": override}})
    _check_override(each, switch)


def _check_override(each: Switched, switch: Switch) -> None:
    cluster = read_one_cluster(each.seed, each.cluster.id)
    if cluster is None:
        what = "the Cluster was deleted in the meantime"
        raise ClusterError([each.at(Problem(Code.KKP_CLUSTER_NOT_READY, what, about=str(each.cluster)))])
    if cluster.osm_replicas != switch.value:
        now = "empty" if cluster.osm_replicas is None else cluster.osm_replicas
        what = f"it was set to {switch.value}, and is {now} now: a webhook or another program has changed it back"
        fix = (
            "Look for a default in spec.defaultComponentSettings of the Seed and in its defaultClusterTemplate, and "
            "for a program that applies this Cluster"
        )
        problem = Problem(Code.OSM_OVERRIDE_NOT_KEPT, what, about=str(each.cluster), field=FIELD, fix=fix)
        raise ClusterError([each.at(problem)])


def lacking(each: Switched, switch: Switch, options: LiveOptions) -> tuple[str, ...]:
    """What is still to happen until OSM is off or on, as clauses. Raises OsmGitopsError."""
    namespace = each.cluster.namespace
    about = f"Deployment {namespace}/{NAME}"
    deployment = each.seed.get(DEPLOYMENT, namespace, NAME)
    wanted = 0 if deployment is None else (deployment.get("spec") or {}).get("replicas")  # None is 1
    status = (deployment or {}).get("status") or {}
    if switch is Switch.ON:
        return () if status.get("readyReplicas") else (f"no replica of {about} is ready",)
    found = [] if wanted == 0 else [f"{about} is not scaled down"]
    pods = each.seed.list(POD, lambda body: str(body["metadata"]["name"]), namespace, labels=_PODS, metadata_only=True)
    if pods:
        found.append(f"pods are still there: {some(sorted(pods), _SHOWN)}")
    elif status.get("replicas"):
        found.append(f"{about} still has pods")
    activity = read_osm_activity(each.worker, NAMESPACE, options.now())
    found += [f"{problem.about} was renewed less than a minute ago" for problem in activity.running]
    return (*found, *(problem.what for problem in activity.unknown))


def wait_for(
    switched: Sequence[Switched], switch: Switch, timeout: timedelta, options: LiveOptions
) -> dict[str, tuple[Problem, ...]]:
    """Wait until OSM of all clusters is off or on; return what failed, by name. Reads each override again, too."""
    until = options.now() + timeout
    left, failed = list(switched), {}
    while left:
        lacks: dict[str, tuple[str, ...]] = {}
        for each in left:
            try:
                _check_override(each, switch)
                lacks[each.name] = lacking(each, switch, options)
            except OsmGitopsError as failure:
                failed[each.name] = tuple(map(each.at, failure.problems))
        left = [each for each in left if lacks.get(each.name)]
        if left and options.now() >= until:
            return failed | {each.name: (_late(each, switch, lacks[each.name]),) for each in left}
        if left:
            options.wait(_PAUSE)
    return failed


def _late(each: Switched, switch: Switch, lacks: Sequence[str]) -> Problem:
    state = f"the override is {switch.value}, but Operating System Manager is not {switch.name.lower()} yet"
    fix = "Look at the seed controller manager of KKP, and run the command again to wait longer"
    what = f"{state}: {'; '.join(lacks)}"
    return each.at(Problem(Code.OSM_NOT_SWITCHED, what, about=str(each.cluster), fix=fix))
