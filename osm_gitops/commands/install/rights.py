"""What a run asks of API servers: the tables from which roles are made.

Server-side apply of an object that may not exist takes ``create`` beside ``patch``. MachineDeployments may be in any
namespace, so what is done to them, their MachineSets and Machines is allowed in all. No role can tell Secrets apart by
type or label, so whoever lists bootstrap tokens may list every Secret in kube-system.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from osm_gitops.commands.install.install_plan import InstallPlan
from osm_gitops.kube.kinds import (
    CONFIG,
    CONFIG_MAP,
    DEPLOYMENT,
    ENDPOINT_SLICE,
    EVENT,
    LEASE,
    MACHINE,
    MACHINE_DEPLOYMENT,
    MACHINE_SET,
    MUTATING_WEBHOOKS,
    NAMESPACE,
    PROFILE,
    SECRET,
    SERVICE_ACCOUNT,
    VALIDATING_WEBHOOKS,
    Kind,
)
from osm_gitops.model.objects import CLOUD_INIT_NAMESPACE
from osm_gitops.render.resolve.bootstrap_token import NAMESPACE as TOKEN_NAMESPACE
from osm_gitops.render.resolve.cluster_info import CLUSTER_INFO
from osm_gitops.render.resolve.named_facts import MOST_GETS, by_namespace
from osm_gitops.sources.osm_deployment import OSM_LEASE
from osm_gitops.targets.cluster.lease import LEASE_NAME
from osm_gitops.targets.cluster.record import STATUS_NAME


@dataclass(frozen=True, slots=True)
class Right:
    """Verbs on one kind, with blanks between them; in the whole cluster, in a namespace, or for some names in it."""

    kind: Kind
    verbs: str
    namespace: str = ""
    names: tuple[str, ...] = ()
    subresource: str = ""


def management_reads(plan: InstallPlan) -> tuple[Right, ...]:
    """What ``plan`` reads in the management cluster."""
    return (
        *(Right(PROFILE, "list", namespace) for namespace in plan.profile_namespaces),
        Right(CONFIG, "get list", plan.namespace),
        Right(VALIDATING_WEBHOOKS, "list"),
        *_osm(plan),
    )


def management_status(plan: InstallPlan) -> tuple[Right, ...]:
    """What ``status`` reads besides: what runs left behind, and what of OSM is in the way."""
    return (
        *_webhooks(plan.namespace),
        Right(LEASE, "get", plan.namespace, (LEASE_NAME,)),
        Right(CONFIG_MAP, "get", plan.namespace, (STATUS_NAME,)),
    )


def management_writes(plan: InstallPlan) -> tuple[Right, ...]:
    """What ``apply`` does besides."""
    return (
        *_written_profiles(plan),
        Right(CONFIG, "create patch delete", plan.namespace),
        *_records(plan),
    )


def _osm(plan: InstallPlan) -> tuple[Right, ...]:
    """Whether OSM's controller runs, which every run looks at first."""
    return Right(DEPLOYMENT, "list", plan.namespace), Right(LEASE, "get", plan.namespace, (OSM_LEASE,))


def _written_profiles(plan: InstallPlan) -> Iterator[Right]:
    """Profiles are written where they come from elsewhere: from a repository, or with this program."""
    if plan.repo is not None:
        yield from (Right(PROFILE, "get create patch delete", each) for each in plan.profile_namespaces)
    elif plan.default_profiles:
        yield Right(PROFILE, "get create patch", plan.namespace)


def management_refreshes(plan: InstallPlan) -> tuple[Right, ...]:
    """What ``refresh`` does, where all else comes through git."""
    return (Right(CONFIG, "get list patch delete", plan.namespace), *_osm(plan), *_records(plan))


def management_inits(plan: InstallPlan) -> tuple[Right, ...]:
    """What ``init --from cluster`` reads besides what ``plan`` reads: the objects that the pod of OSM's controller gets
    its flags from have any name."""
    return Right(SECRET, "get", plan.namespace), Right(CONFIG_MAP, "get", plan.namespace)


def management_uninstalls(plan: InstallPlan) -> tuple[Right, ...]:
    """What ``uninstall`` does."""
    return (
        *(Right(PROFILE, "list patch delete", namespace) for namespace in plan.profile_namespaces),
        Right(CONFIG, "list patch", plan.namespace),
        Right(DEPLOYMENT, "list", plan.namespace),
        Right(LEASE, "create", plan.namespace),
        Right(LEASE, "get update delete", plan.namespace, (LEASE_NAME,)),
        Right(CONFIG_MAP, "get delete", plan.namespace, (STATUS_NAME,)),
    )


def worker_uninstalls(_: InstallPlan) -> tuple[Right, ...]:
    """What ``uninstall`` does."""
    return (
        Right(MACHINE_DEPLOYMENT, "list patch"),
        Right(MACHINE, "list patch"),
        *(Right(SECRET, "list patch", namespace) for namespace in (CLOUD_INIT_NAMESPACE, TOKEN_NAMESPACE)),
    )


def worker_reads(plan: InstallPlan) -> tuple[Right, ...]:
    """What ``plan`` reads in the worker cluster."""
    secrets = {key for key in (*plan.named.secrets, *plan.more) if key[0] != CLOUD_INIT_NAMESPACE}
    return (
        *_pools(),
        Right(ENDPOINT_SLICE, "list", "default"),
        Right(SECRET, "get list", CLOUD_INIT_NAMESPACE),
        *_tokens(plan, Right(SECRET, "list", TOKEN_NAMESPACE), "get"),
        *_named(SECRET, secrets),
        *_named(CONFIG_MAP, plan.named.config_maps),
    )


def worker_status(plan: InstallPlan) -> tuple[Right, ...]:
    """What ``status`` reads besides."""
    # The management namespace of KKP, in which OSM's webhook is, is none of the worker cluster.
    namespace = TOKEN_NAMESPACE if plan.split else plan.namespace
    return (*_webhooks(namespace), Right(NAMESPACE, "get", CLOUD_INIT_NAMESPACE, (CLOUD_INIT_NAMESPACE,)))


def worker_writes(plan: InstallPlan) -> tuple[Right, ...]:
    """What ``apply`` does besides."""
    return (
        Right(MACHINE_DEPLOYMENT, "get create patch" if plan.applies_machines else "get patch"),
        Right(MACHINE, "patch"),
        Right(EVENT, "create"),
        Right(SECRET, "create patch delete", CLOUD_INIT_NAMESPACE),
        *_tokens(plan, Right(SECRET, "create patch delete", TOKEN_NAMESPACE), "create", "token"),
    )


def worker_refreshes(plan: InstallPlan) -> tuple[Right, ...]:
    """What ``refresh`` does, where all else comes through git."""
    return (
        *_pools(),
        Right(MACHINE_DEPLOYMENT, "get patch"),
        Right(MACHINE, "patch"),
        Right(EVENT, "create"),
        Right(ENDPOINT_SLICE, "list", "default"),
        *_named(CONFIG_MAP, [CLUSTER_INFO]),
        Right(SECRET, "get list create patch delete", CLOUD_INIT_NAMESPACE),
        *_tokens(plan, Right(SECRET, "list", TOKEN_NAMESPACE), "get"),
        *_tokens(plan, Right(SECRET, "create patch delete", TOKEN_NAMESPACE), "create", "token"),
    )


def _pools() -> tuple[Right, ...]:
    return tuple(Right(kind, "list") for kind in (MACHINE_DEPLOYMENT, MACHINE_SET, MACHINE))


def _records(plan: InstallPlan) -> tuple[Right, ...]:
    """The Lease that a run holds, and what it leaves behind to be seen."""
    return (
        Right(LEASE, "create", plan.namespace),
        Right(LEASE, "get update", plan.namespace, (LEASE_NAME,)),
        Right(CONFIG_MAP, "create", plan.namespace),
        Right(CONFIG_MAP, "get patch", plan.namespace, (STATUS_NAME,)),
    )


def _webhooks(namespace: str) -> tuple[Right, ...]:
    """Those of OSM, and whether somebody answers them."""
    return (
        Right(VALIDATING_WEBHOOKS, "list"),
        Right(MUTATING_WEBHOOKS, "list"),
        Right(ENDPOINT_SLICE, "list", namespace),
    )


def _tokens(plan: InstallPlan, tokens: Right, verb: str, subresource: str = "") -> tuple[Right, ...]:
    """Bootstrap tokens; where machines join with the token of a ServiceAccount, a right to that in their place."""
    account = plan.named.service_account
    if account is None:
        return (tokens,)
    return (Right(SERVICE_ACCOUNT, verb, account[0], account[1:], subresource),)


def _named(kind: Kind, keys: Iterable[tuple[str, str]]) -> Iterator[Right]:
    """Objects that are got by their names; so many of one namespace that they are listed take the right to that."""
    for namespace, names in by_namespace(keys).items():
        yield Right(kind, "list", namespace) if len(names) > MOST_GETS else Right(kind, "get", namespace, tuple(names))
