"""What a run asks of API servers: the tables from which roles are made.

Server-side apply of an object that may not exist takes ``create`` beside ``patch``. No role can tell Secrets apart
by type or label, so whoever lists bootstrap tokens may list every Secret in kube-system.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from osm_gitops.fleet.install.install_plan import InstallPlan
from osm_gitops.kubedoor.kinds import (
    CONFIG,
    CONFIG_MAP,
    ENDPOINT_SLICE,
    EVENT,
    LEASE,
    MACHINE,
    MACHINE_DEPLOYMENT,
    MACHINE_SET,
    PROFILE,
    SECRET,
    SERVICE_ACCOUNT,
    Kind,
)
from osm_gitops.model.objects import CLOUD_INIT_NAMESPACE
from osm_gitops.resolve.named_facts import MOST_GETS, by_namespace

_SYSTEM = "kube-system"


@dataclass(frozen=True, slots=True)
class Right:
    """Verbs on one kind, with blanks between them; in the whole cluster, in a namespace, or for some names in it."""

    kind: Kind
    verbs: str
    namespace: str = ""
    names: tuple[str, ...] = ()
    subresource: str = ""


def management_reads(plan: InstallPlan) -> tuple[Right, ...]:
    """What ``plan`` and ``status`` read in the management cluster."""
    return (
        *(Right(PROFILE, "list", namespace) for namespace in (plan.namespace, *plan.profile_namespaces)),
        Right(CONFIG, "get list", plan.namespace),
    )


def management_writes(plan: InstallPlan) -> tuple[Right, ...]:
    """What a run writes in the management cluster besides."""
    records = Right(CONFIG_MAP, "create", plan.namespace)
    leases = (Right(LEASE, "create", plan.namespace), Right(LEASE, "get update", plan.namespace, ("osm-gitops",)))
    status = Right(CONFIG_MAP, "patch", plan.namespace, ("osm-gitops-status",))
    if plan.into_git:
        return (*leases, records, status)
    return (
        *(Right(PROFILE, "create patch", plan.namespace), Right(CONFIG, "create patch delete", plan.namespace)),
        *(*leases, records, status),
    )


def worker_reads(plan: InstallPlan) -> tuple[Right, ...]:
    """What ``plan`` and ``status`` read in the worker cluster."""
    return (
        Right(MACHINE_DEPLOYMENT, "list"),
        Right(MACHINE_SET, "list"),
        Right(MACHINE, "list"),
        Right(ENDPOINT_SLICE, "list", "default"),
        Right(SECRET, "get list", CLOUD_INIT_NAMESPACE),
        *_tokens(plan, "list"),
        *_named(SECRET, {*plan.named.secrets, *plan.more}),
        *_named(CONFIG_MAP, plan.named.config_maps),
    )


def worker_writes(plan: InstallPlan) -> tuple[Right, ...]:
    """What a run writes in the worker cluster besides."""
    return (
        Right(MACHINE_DEPLOYMENT, "patch"),
        Right(MACHINE, "patch"),
        Right(EVENT, "create patch"),
        Right(SECRET, "create patch delete", CLOUD_INIT_NAMESPACE),
        *_tokens(plan, "create patch delete"),
    )


def _tokens(plan: InstallPlan, verbs: str) -> tuple[Right, ...]:
    """Bootstrap tokens; with a ServiceAccount in their place there are none."""
    if plan.named.service_account is None:
        return (Right(SECRET, verbs, _SYSTEM),)
    namespace, name = plan.named.service_account
    if verbs == "list":
        return (Right(SERVICE_ACCOUNT, "get", namespace, (name,)),)
    return (Right(SERVICE_ACCOUNT, "create", namespace, (name,), "token"),)


def _named(kind: Kind, keys: Iterable[tuple[str, str]]) -> Iterator[Right]:
    """Objects that are got by their names; so many of one namespace that they are listed take the right to that."""
    for namespace, names in by_namespace(keys).items():
        if kind is SECRET and namespace == CLOUD_INIT_NAMESPACE:
            continue  # read with all others there
        yield Right(kind, "list", namespace) if len(names) > MOST_GETS else Right(kind, "get", namespace, tuple(names))
