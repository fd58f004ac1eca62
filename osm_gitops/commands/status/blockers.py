"""What keeps a cluster from being osm-gitops' alone, and what it lacks: each with a sentence on what to do."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from osm_gitops.commands.status.seen import ClusterSnapshot, LiveObject
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
from osm_gitops.plan.compare import group_name, group_of
from osm_gitops.render.resolve.bootstrap_token import GETTER_SECRET
from osm_gitops.sources.machines import SERVICE_LABEL
from osm_gitops.sources.osm_deployment import NAME

_PATHS: Final = frozenset({"/mutate-v1alpha1-machinedeployment", "/operatingsystemprofile", "/operatingsystemconfig"})
"""Where OSM's webhooks are served (osm-behaviour.md, "Webhooks")."""
_NAMED: Final = 3


def find_blockers(live: Clusters, osm: OsmActivity, seen: ClusterSnapshot | None) -> Iterator[Finding]:
    """All findings. What could not be looked at is one too, and is never taken for an absence."""
    yield from (Finding("osm-running", problem) for problem in (*osm.running, *osm.starting))
    yield from (Finding(UNKNOWN, problem) for problem in osm.unknown)
    yield from _asked(lambda: _webhooks(live))
    yield from _asked(lambda: _kinds(live))
    yield from _asked(lambda: _getter_token(live.worker))
    if seen is not None:
        yield from _of_pools(seen)


def _asked(look: Callable[[], Iterator[Finding]]) -> Iterator[Finding]:
    try:
        yield from look()
    except ClusterError as failure:
        yield from (Finding(UNKNOWN, problem) for problem in failure.problems)


@dataclass(frozen=True, slots=True)
class _Hook:
    """One of OSM's webhooks: ``service`` is ``None`` where it is called by its address."""

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
    state = f"nobody answers, so every write of {resources} fails" if dead else f"it judges every write of {resources}"
    what = f"a webhook of Operating System Manager has failurePolicy Fail: {state}"
    fix = f"Once it is switched off, kubectl delete {kind.name.lower()} {name}"
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
    """Whether a service has an endpoint that is ready."""

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
                fix = "osm-gitops install prints its CRD" if ours else "machine-controller brings its CRD"
                yield Finding("no-kind", Problem(Code.KIND_MISSING, what, where=api.display, fix=fix))


def _getter_token(worker: Api) -> Iterator[Finding]:
    fix = "osm-gitops install prints it"
    if worker.get(NAMESPACE, "", CLOUD_INIT_NAMESPACE, metadata_only=True) is None:
        what = "the namespace is missing, in which machines look for their configuration"
        yield Finding(
            "no-namespace", Problem(Code.GETTER_MISSING, what, about=f"Namespace {CLOUD_INIT_NAMESPACE}", fix=fix)
        )
        return
    token = worker.get(SECRET, *GETTER_SECRET)
    if token is None or not (token.get("data") or {}).get("token"):
        what = "is missing" if token is None else "has no token"
        about = f"Secret {'/'.join(GETTER_SECRET)}"
        what = f"{what}, with which machines that boot fetch their configuration"
        yield Finding("no-getter-token", Problem(Code.GETTER_MISSING, what, about=about, fix=fix))


def _of_pools(seen: ClusterSnapshot) -> Iterator[Finding]:
    held = [machine for machine in seen.machines.values() if machine.held]
    for machine in held:
        what = f"is being deleted since {machine.deleting} and waits for a clean-up that Operating System Manager did"
        fix = "osm-gitops apply cleans up, and takes the finalizer away"
        yield Finding("held-deletion", Problem(Code.DELETION_HELD, what, about=str(machine.ref), fix=fix))
    named = seen.pools()
    for group, stale in _stale(seen):
        what = f"{stale} was made of another state of the pool than its OperatingSystemConfig (OSM issue 567)"
        fix = "osm-gitops apply writes it anew"
        yield Finding("stale-secret", Problem(Code.SECRET_STALE, what, about=_pool(group, named), fix=fix))
    unnamed = [str(machine.ref) for machine in seen.machines.values() if not machine.has_profile]
    if unnamed:
        which = some(sorted(unnamed), _NAMED)
        what = f"{which} names no profile: OSM's webhook would have put one there, and OSM passes such over"
        fix = f"osm-gitops takes that one, without writing it; to choose another, annotate {PROFILE_ANNOTATION}"
        yield Finding("no-profile", Problem(Code.POOL_WITHOUT_PROFILE, what, fix=fix), trouble=False)
    yield from _left_over(seen)
    known = {group_name(ref) for ref in seen.machines}
    foreign = known & {group_of(ref) for ref, each in seen.objects.items() if not each.ours}
    if foreign:
        pools = f"{len(foreign)} pool{'' if len(foreign) == 1 else 's'}"
        what = f"{pools} with objects that osm-gitops has not written so far, and so would never remove"
        yield Finding(
            "not-ours",
            Problem(Code.NOT_TAKEN_OVER, what, fix="osm-gitops apply takes them over by a label"),
            trouble=False,
        )


def _stale(seen: ClusterSnapshot) -> Iterator[tuple[str, str]]:
    configs = {group_of(ref): each for ref, each in seen.objects.items() if ref.kind == CONFIG.name}
    for ref, each in seen.objects.items():
        config = configs.get(group_of(ref))
        if ref.kind == SECRET.name and config is not None and each.is_of_another_time_than(config):
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
        what = f"{names}: there is no MachineDeployment for it, and a new one of that name would boot with it"
        fix = "osm-gitops apply removes it" if ours else "See that nothing needs it, and delete it with kubectl"
        yield Finding("left-over", Problem(Code.OBJECTS_LEFT_OVER, what, about=_pool(group, named), fix=fix))


def _pool(group: str, pools: Mapping[str, ObjectRef | None]) -> str:
    pool = pools[group]
    return f"pool {pool.namespaced_name}" if pool else f"pool {group}"
