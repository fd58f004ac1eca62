"""Blockers of ``status``: what remains of Operating System Manager in a cluster, and what is missing there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from osm_gitops.errors import ClusterError, Code, Problem, some
from osm_gitops.kube.api import Api, Clusters
from osm_gitops.kube.kinds import (
    CONFIG,
    ENDPOINT_SLICE,
    MACHINE,
    MACHINE_DEPLOYMENT,
    MACHINE_SET,
    MUTATING_WEBHOOKS,
    NAMESPACE,
    PROFILE,
    SECRET,
    VALIDATING_WEBHOOKS,
    Kind,
)
from osm_gitops.model.machine import PROFILE_ANNOTATION
from osm_gitops.model.objects import CLOUD_INIT_NAMESPACE, Json, ObjectRef
from osm_gitops.model.status import UNKNOWN, Finding
from osm_gitops.pipeline.osm_activity import OsmActivity
from osm_gitops.pipeline.status.snapshot import ClusterSnapshot, LiveObject
from osm_gitops.plan.compare import group_name, group_of
from osm_gitops.render.resolve.bootstrap_token import GETTER_SECRET
from osm_gitops.sources.machines import SERVICE_LABEL
from osm_gitops.sources.osm_deployment import NAME

_PATHS: Final = frozenset({"/mutate-v1alpha1-machinedeployment", "/operatingsystemprofile", "/operatingsystemconfig"})
"""Paths of OSM's webhooks (osm-behaviour.md, "Webhooks")."""
_NAMED: Final = 3


def find_blockers(live: Clusters, osm: OsmActivity, seen: ClusterSnapshot | None) -> Iterator[Finding]:
    """All findings. A failed read is a finding too, never an absence."""
    yield from (Finding("osm-running", problem) for problem in (*osm.running, *osm.starting))
    yield from (Finding(UNKNOWN, problem) for problem in osm.unknown)
    for findings in (_webhooks(live), _kinds(live), _getter_token(live.worker)):
        try:
            yield from findings
        except ClusterError as failure:
            yield from (Finding(UNKNOWN, problem) for problem in failure.problems)
    if seen is not None:
        yield from _of_pools(seen)


@dataclass(frozen=True, slots=True)
class _Hook:
    """One of OSM's webhooks; ``service`` is ``None`` if it has a URL instead."""

    kind: Kind
    configuration: str
    resources: tuple[str, ...]
    service: tuple[str, str] | None


def _webhooks(live: Clusters) -> Iterator[Finding]:
    apis = dict.fromkeys((live.worker, live.management))
    for api in apis:
        hooks = [hook for kind in (MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS) for hook in _hooks(api, kind)]
        answering = {service: _answers(api, *service) for hook in hooks if (service := hook.service)}
        groups: dict[tuple[Kind, str], list[_Hook]] = {}
        for hook in hooks:
            groups.setdefault((hook.kind, hook.configuration), []).append(hook)
        yield from (_webhook(members, answering) for members in groups.values())


def _webhook(hooks: list[_Hook], answering: Mapping[tuple[str, str], bool]) -> Finding:
    kind, name = hooks[0].kind, hooks[0].configuration
    resources = ", ".join(dict.fromkeys(resource for hook in hooks for resource in hook.resources))
    dead = any(hook.service is not None and not answering[hook.service] for hook in hooks)
    state = (
        f"its service has no endpoint, so every write of {resources} fails"
        if dead
        else f"it checks every write of {resources}"
    )
    what = f"a webhook of Operating System Manager has failurePolicy Fail: {state}"
    fix = f"After OSM is stopped, run kubectl delete {kind.name.lower()} {name}"
    return Finding("osm-webhook", Problem(Code.OSM_WEBHOOK, what, about=f"{kind.name} {name}", fix=fix), trouble=dead)


def _hooks(api: Api, kind: Kind) -> Iterator[_Hook]:
    for found in api.list(kind, lambda body: tuple(_hooks_of(kind, body))):
        yield from found


def _hooks_of(kind: Kind, body: Mapping[str, Json]) -> Iterator[_Hook]:
    for hook in body.get("webhooks") or ():
        client = hook.get("clientConfig") or {}
        service = client.get("service")
        path = service.get("path") if service else "/" + str(client.get("url") or "").rpartition("/")[2]
        host = service.get("name") if service else str(client.get("url") or "")
        # machine-controller has a webhook for MachineDeployments too.
        if hook.get("failurePolicy", "Fail") == "Fail" and (path in _PATHS or NAME in str(host)):
            resources = tuple(each for rule in hook.get("rules") or () for each in rule.get("resources") or ())
            where = (service["namespace"], service["name"]) if service else None
            yield _Hook(kind, body["metadata"]["name"], resources, where)


def _answers(api: Api, namespace: str, service: str) -> bool:
    """Whether a service has a ready endpoint."""

    def ready(body: Mapping[str, Json]) -> bool | None:
        endpoints = body.get("endpoints") or ()
        return True if any((each.get("conditions") or {}).get("ready", True) for each in endpoints) else None

    return bool(api.list(ENDPOINT_SLICE, ready, namespace, labels=f"{SERVICE_LABEL}={service}"))


def _kinds(live: Clusters) -> Iterator[Finding]:
    for api, kinds in ((live.management, (PROFILE, CONFIG)), (live.worker, (MACHINE_DEPLOYMENT, MACHINE_SET, MACHINE))):
        for kind in kinds:
            if not api.serves(kind):
                what = f"the API server does not know the kind {kind.name}"
                ours = kind in {PROFILE, CONFIG}
                fix = "Apply its CRD, which osm-gitops install prints" if ours else "Install machine-controller"
                yield Finding("no-kind", Problem(Code.KIND_MISSING, what, where=api.display, fix=fix))


def _getter_token(worker: Api) -> Iterator[Finding]:
    fix = "Apply what osm-gitops install prints"
    if worker.get(NAMESPACE, "", CLOUD_INIT_NAMESPACE, metadata_only=True) is None:
        what = "the namespace is missing from which machines fetch their configuration"
        yield Finding(
            "no-namespace", Problem(Code.GETTER_MISSING, what, about=f"Namespace {CLOUD_INIT_NAMESPACE}", fix=fix)
        )
        return
    token = worker.get(SECRET, *GETTER_SECRET)
    if token is None or not (token.get("data") or {}).get("token"):
        about = f"Secret {'/'.join(GETTER_SECRET)}"
        what = "is missing" if token is None else "has no token"
        what = f"{what}, so booting machines cannot fetch their configuration"
        yield Finding("no-getter-token", Problem(Code.GETTER_MISSING, what, about=about, fix=fix))


def _of_pools(seen: ClusterSnapshot) -> Iterator[Finding]:
    held = [machine for machine in seen.machines.values() if machine.held]
    for machine in held:
        what = f"is being deleted since {machine.deleting} and waits for a cleanup that Operating System Manager did"
        fix = "Run osm-gitops apply, which cleans up and removes the finalizer"
        yield Finding("held-deletion", Problem(Code.DELETION_HELD, what, about=str(machine.ref), fix=fix))
    named = seen.pools()
    for group, stale in _stale(seen):
        what = f"{stale} and the OperatingSystemConfig are from different states of the pool (OSM issue 567)"
        fix = "Run osm-gitops apply, which rewrites it"
        yield Finding("stale-secret", Problem(Code.SECRET_STALE, what, about=_pool(group, named), fix=fix))
    unnamed = [str(machine.ref) for machine in seen.machines.values() if not machine.has_profile]
    if unnamed:
        which = some(sorted(unnamed), _NAMED)
        what = f"{which} names no profile: OSM's webhook would have set one, and OSM skips such pools"
        fix = f"osm-gitops uses the same profile without setting it; to choose another, annotate {PROFILE_ANNOTATION}"
        yield Finding("no-profile", Problem(Code.POOL_WITHOUT_PROFILE, what, fix=fix), trouble=False)
    yield from _left_over(seen)
    known = {group_name(ref) for ref in seen.machines}
    foreign = known & {group_of(ref) for ref, each in seen.objects.items() if not each.ours}
    if foreign:
        pools = f"{len(foreign)} pool{'' if len(foreign) == 1 else 's'}"
        what = f"{pools} with objects that osm-gitops did not write, and therefore never deletes"
        problem = Problem(Code.NOT_TAKEN_OVER, what, fix="Run osm-gitops apply, which takes them over with a label")
        yield Finding("not-ours", problem, trouble=False)


def _stale(seen: ClusterSnapshot) -> Iterator[tuple[str, str]]:
    configs = {group_of(ref): each for ref, each in seen.objects.items() if ref.kind == CONFIG.name}
    for ref, each in seen.objects.items():
        config = configs.get(group_of(ref))
        if ref.kind == SECRET.name and config is not None and each.conflicts_with(config):
            yield group_of(ref), str(ref)


def _left_over(seen: ClusterSnapshot) -> Iterator[Finding]:
    groups: dict[str, list[LiveObject]] = {}
    for each in seen.left_over():
        groups.setdefault(group_of(each.ref), []).append(each)
    known = {group_name(ref) for ref in seen.machines}
    named = seen.pools()
    for group, members in sorted(groups.items()):
        if group in known:
            continue
        names = ", ".join(sorted(str(each.ref) for each in members))
        ours = all(each.ours for each in members)
        what = f"{names}: its MachineDeployment is gone, and a new one with that name would boot with it"
        fix = "Run osm-gitops apply, which deletes it" if ours else "If nothing needs it, delete it with kubectl"
        yield Finding("left-over", Problem(Code.OBJECTS_LEFT_OVER, what, about=_pool(group, named), fix=fix))


def _pool(group: str, pools: Mapping[str, ObjectRef | None]) -> str:
    pool = pools[group]
    return f"pool {pool.namespaced_name}" if pool else f"pool {group}"
