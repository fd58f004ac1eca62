"""The steps of ``uninstall``: Operating System Manager then finds the objects that it would have made itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from osm_gitops.commands.uninstall.command import Finalizers
from osm_gitops.commands.uninstall.release import (
    OwnObject,
    Release,
    Releasing,
    held_machines,
    other_appliers,
    own_objects,
    records,
    woken_machines,
)
from osm_gitops.config.spec import ClusterSpec
from osm_gitops.errors import Code, InputError, Problem, some
from osm_gitops.gocompat.gojson import annotations_hash
from osm_gitops.kube.api import Clusters
from osm_gitops.kube.kinds import CONFIG, CONFIG_MAP, LEASE, PROFILE
from osm_gitops.model.machine import (
    PROFILE_ANNOTATION,
    REVISION_ANNOTATION,
    MachineDeployment,
)
from osm_gitops.model.objects import Json, ObjectRef
from osm_gitops.model.profile import JINJA2_V1, TEMPLATE_ANNOTATION
from osm_gitops.pipeline.connections import Connections
from osm_gitops.pipeline.load import load_settings
from osm_gitops.render.manifests import ANNOTATIONS_HASH, PROFILE_VERSION, REVISION
from osm_gitops.render.resolve.named_facts import named_profiles
from osm_gitops.render.resolve.pools import wanted_profile
from osm_gitops.sources.cluster import read_machines
from osm_gitops.sources.osm_deployment import OsmDeployment, find_reachable_osm
from osm_gitops.targets.cluster.lease import LEASE_NAME, holder_name, lease
from osm_gitops.targets.cluster.record import STATUS_NAME

_OSM_PROFILES: Final = frozenset(
    {"osp-amzn2", "osp-flatcar", "osp-flatcar-cloud-init", "osp-rhel", "osp-rockylinux", "osp-ubuntu"}
)
_SHOWN: Final = 5


@dataclass(frozen=True, slots=True)
class Profile:
    """What matters to OSM of a live profile."""

    version: str
    jinja: bool
    uid: str


def plan_uninstall(spec: ClusterSpec, connections: Connections, finalizers: Finalizers) -> Release:
    """Plan how to give a cluster back. Changes nothing. Raises InputError and ClusterError."""
    settings = load_settings(spec)
    live = connections.clusters(spec)
    read = read_machines(live.worker)
    if read.unreadable:
        raise InputError(read.unreadable)
    named = named_profiles(read.machines, settings.namespace)
    namespaces = frozenset({settings.namespace, *(namespace for namespace, _ in named)})
    ours = list(own_objects(live, settings.namespace, namespaces))
    profiles = dict(_profiles(live, namespaces))
    stays, reason = _decision(_osm(spec, connections, settings.namespace), finalizers)
    held = held_machines(live.worker)
    release = Release(
        hosts=connections.hosts(spec),
        released=tuple(ours),
        unheld=() if stays else tuple(held),
        woken=tuple(woken_machines(live.worker)),
        held=tuple(each.ref for each in held) if stays else (),
        reason=reason,
        records=records(live.management, settings.namespace),
        warnings=(*_appliers(ours), *_leaving(held, stays=stays)),
    )
    release = _without_jinja(release, profiles, read.machines, settings.namespace)
    configs = _configs(live, settings.namespace)
    rotated = _rotations(read.machines, configs, profiles, settings.namespace)
    return replace(release, warnings=(*release.warnings, *rotated))


def uninstall(
    spec: ClusterSpec,
    connections: Connections,
    finalizers: Finalizers,
    note: Callable[[str], None],
    lock_timeout: float,
) -> tuple[Problem, ...]:
    """Give a cluster back while holding its Lease; return what failed. The records of runs stay if something failed."""
    live = connections.clusters(spec)
    namespace = load_settings(spec).namespace
    with lease(live.management, namespace, holder=holder_name(), timeout=lock_timeout, note=note) as held:
        release = plan_uninstall(spec, connections, finalizers)  # again: with the Lease held no other run writes
        failed = release.refusals or Releasing(live, held.check).carry_out(release)
        if failed:
            return failed
        held.check()
        live.management.delete(CONFIG_MAP, namespace, STATUS_NAME)
    live.management.delete(LEASE, namespace, LEASE_NAME)
    return ()


def _osm(spec: ClusterSpec, connections: Connections, namespace: str) -> OsmDeployment | None:
    """The Deployment of OSM that will clean up in the cluster; with KKP it is on the seed. Raises ClusterError."""
    if spec.kkp is not None:
        return connections.osm_of(spec.kkp)
    return next(iter(find_reachable_osm(connections.management(spec), namespace)), None)


def _decision(osm: OsmDeployment | None, finalizers: Finalizers) -> tuple[bool, str]:
    """Whether finalizers stay, and why, as a clause."""
    if finalizers is not Finalizers.AUTO:
        return finalizers is Finalizers.KEEP, f"because of --finalizers {finalizers.value}"
    if osm is not None:
        return True, f"because {osm} cleans up"
    return False, "because there is no Deployment of Operating System Manager to clean up: deletions would hang"


def _profiles(live: Clusters, namespaces: frozenset[str]) -> Iterator[tuple[tuple[str, str], Profile]]:
    for namespace in sorted(namespaces):

        def keep(body: Mapping[str, Json], namespace: str = namespace) -> tuple[tuple[str, str], Profile]:
            metadata = body["metadata"]
            jinja = (metadata.get("annotations") or {}).get(TEMPLATE_ANNOTATION) == JINJA2_V1
            version = (body.get("spec") or {}).get("version", "")
            return (namespace, metadata["name"]), Profile(version, jinja, metadata["uid"])

        yield from live.management.list(PROFILE, keep, namespace)


def _configs(live: Clusters, namespace: str) -> Mapping[str, Mapping[str, str]]:
    """Annotations of configurations by name."""

    def keep(body: Mapping[str, Json]) -> tuple[str, Mapping[str, str]]:
        return body["metadata"]["name"], body["metadata"].get("annotations") or {}

    return dict(live.management.list(CONFIG, keep, namespace, metadata_only=True))


def _appliers(ours: Sequence[OwnObject]) -> Iterator[Problem]:
    others = sorted({name for each in ours for name in other_appliers(each.metadata)})
    if others:
        yield Problem(
            Code.APPLIED_ELSEWHERE,
            f"{', '.join(others)} applies some of these objects, and would restore our labels",
            fix="First remove them from what it applies",
        )


def _leaving(held: Sequence[OwnObject], *, stays: bool) -> Iterator[Problem]:
    leaving = [each.ref for each in held if each.metadata.get("deletionTimestamp")]
    if leaving and not stays:
        yield Problem(
            Code.DELETION_UNDER_WAY,
            f"{some(leaving, _SHOWN)} is being deleted, and the objects made for it would remain",
            fix="First run osm-gitops apply --from cluster --to cluster",
        )


def _without_jinja(
    release: Release,
    profiles: Mapping[tuple[str, str], Profile],
    machines: Sequence[MachineDeployment],
    namespace: str,
) -> Release:
    """Handle Jinja2 profiles, which OSM cannot read. Ours are deleted if OSM has one of the same name for their
    pools."""
    jinja = {key for key, profile in profiles.items() if profile.jinja}
    users: dict[tuple[str, str], list[ObjectRef]] = {}
    for machine in machines:
        key = wanted_profile(machine, namespace)
        if key is not None:
            users.setdefault(key, []).append(machine.ref)
    own = [
        each
        for each in release.released
        if each.ref.kind == PROFILE.name and (each.ref.namespace, each.ref.name) in jinja
    ]
    ours = {(each.ref.namespace, each.ref.name) for each in own}
    warnings, refusals = [], []
    for key in sorted(jinja & users.keys()):
        about, pools = f"{PROFILE.name} {'/'.join(key)}", some(users[key], _SHOWN)
        if key in ours and key[1] in _OSM_PROFILES:
            what = f"is deleted; Operating System Manager installs its own, and renders {pools} again with that"
            warnings.append(Problem(Code.PROFILE_REPLACED_BY_OSM, what, about=about))
        else:
            what = f"Operating System Manager cannot read its Jinja2 templates, and {pools} uses it"
            fix = "First give these pools a profile with Go templates"
            refusals.append(Problem(Code.JINJA_PROFILE_BESIDE_OSM, what, about=about, fix=fix))
    return replace(
        release,
        released=tuple(each for each in release.released if each not in own),
        deleted=tuple(own),
        warnings=(*release.warnings, *warnings),
        refusals=(*release.refusals, *refusals),
    )


def _rotations(
    machines: Sequence[MachineDeployment],
    configs: Mapping[str, Mapping[str, str]],
    profiles: Mapping[tuple[str, str], Profile],
    namespace: str,
) -> Iterator[Problem]:
    """Pools that OSM would render again, or skip (osm-behaviour.md, "Profile selection" and "Rotation")."""
    for machine in machines:
        if machine.deleting:
            continue
        if not machine.annotation(PROFILE_ANNOTATION):
            what = "names no profile, so Operating System Manager skips it until its webhook has set one"
            fix = f"Annotate it with {PROFILE_ANNOTATION}, which renders it again, or update it once OSM runs"
            yield Problem(Code.RENDERED_ANEW_BY_OSM, what, about=str(machine.ref), fix=fix)
            continue
        profile = profiles.get(wanted_profile(machine, namespace) or ("", ""))
        found = configs.get(machine.config_name)
        wanted = {
            REVISION: machine.annotation(REVISION_ANNOTATION),
            ANNOTATIONS_HASH: annotations_hash(machine.annotations),
            PROFILE_VERSION: profile.version if profile else "",
        }
        if found is None or any(found.get(key, "") != value for key, value in wanted.items()):
            what = "its configuration is missing or outdated, so Operating System Manager will render it again"
            fix = "First run osm-gitops apply --from cluster --to cluster"
            yield Problem(Code.RENDERED_ANEW_BY_OSM, what, about=str(machine.ref), fix=fix)
