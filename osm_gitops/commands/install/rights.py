"""The rights that each command needs in API servers, from which roles are made.

Server-side apply of an object that may not exist needs ``create`` besides ``patch``. MachineDeployments may be in any
namespace, so rights on them, their MachineSets and Machines are for the whole cluster. RBAC cannot select Secrets by
type or label, so an account that lists bootstrap tokens may list every Secret in kube-system.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from osm_gitops.commands.install.install_plan import InstallPlan
from osm_gitops.kube.kinds import (
    CLUSTER_TEMPLATE,
    CONFIG,
    CONFIG_MAP,
    CUSTOM_PROFILE,
    DEPLOYMENT,
    ENDPOINT_SLICE,
    EVENT,
    KKP_CONFIGURATION,
    LEASE,
    MACHINE,
    MACHINE_DEPLOYMENT,
    MACHINE_SET,
    MUTATING_WEBHOOKS,
    NAMESPACE,
    NODE,
    POD,
    PROFILE,
    SECRET,
    SEED,
    SERVICE_ACCOUNT,
    USER_CLUSTER,
    VALIDATING_WEBHOOKS,
    Kind,
)
from osm_gitops.model.objects import CLOUD_INIT_NAMESPACE
from osm_gitops.render.resolve.bootstrap_token import NAMESPACE as TOKEN_NAMESPACE
from osm_gitops.render.resolve.cluster_info import CLUSTER_INFO
from osm_gitops.render.resolve.named_facts import MOST_GETS, by_namespace
from osm_gitops.sources.kkp.seed import CREDENTIALS_SECRET, KUBECONFIG_SECRET
from osm_gitops.sources.manifests import KKP_NAMESPACE
from osm_gitops.sources.osm_deployment import NAME, OSM_LEASE
from osm_gitops.targets.cluster.lease import LEASE_NAME
from osm_gitops.targets.cluster.record import STATUS_NAME
from osm_gitops.targets.cluster.results import result_name


@dataclass(frozen=True, slots=True)
class Right:
    """Verbs on one kind, separated by blanks; in the whole cluster, in a namespace, or for names in that namespace."""

    kind: Kind
    verbs: str
    namespace: str = ""
    names: tuple[str, ...] = ()
    subresource: str = ""


def management_reads(plan: InstallPlan) -> tuple[Right, ...]:
    """Rights of ``plan``."""
    return (
        *(Right(PROFILE, "list", namespace) for namespace in plan.profile_namespaces),
        Right(CONFIG, "get list", plan.namespace),
        Right(VALIDATING_WEBHOOKS, "list"),
        *_osm(plan),
    )


def management_status(plan: InstallPlan) -> tuple[Right, ...]:
    """Rights that ``status`` needs in addition: to read the records of runs, and OSM's webhooks."""
    return (
        *_webhooks(plan.namespace),
        Right(LEASE, "get", plan.namespace, (LEASE_NAME,)),
        Right(CONFIG_MAP, "get", plan.namespace, (STATUS_NAME,)),
    )


def management_writes(plan: InstallPlan) -> tuple[Right, ...]:
    """Rights that ``apply`` needs in addition."""
    return (
        *_written_profiles(plan),
        Right(CONFIG, "create patch delete", plan.namespace),
        *_records(plan),
    )


def _osm(plan: InstallPlan) -> tuple[Right, ...]:
    """To check whether OSM's controller runs, which every run does first."""
    return Right(DEPLOYMENT, "list", plan.namespace), Right(LEASE, "get", plan.namespace, (OSM_LEASE,))


def _written_profiles(plan: InstallPlan) -> Iterator[Right]:
    """To write profiles that come from a repository, or built-in ones."""
    if plan.repo is not None:
        yield from (Right(PROFILE, "get create patch delete", each) for each in plan.profile_namespaces)
    elif plan.default_profiles:
        yield Right(PROFILE, "get create patch", plan.namespace)


def management_refreshes(plan: InstallPlan) -> tuple[Right, ...]:
    """Rights of ``refresh``, if all else is applied from git."""
    return (Right(CONFIG, "get list patch delete", plan.namespace), *_osm(plan), *_records(plan))


def management_inits(plan: InstallPlan) -> tuple[Right, ...]:
    """Rights that ``init --from cluster`` needs in addition: the objects from which the pod of OSM's controller gets
    its flags can have any name."""
    return Right(SECRET, "get", plan.namespace), Right(CONFIG_MAP, "get", plan.namespace)


def management_uninstalls(plan: InstallPlan) -> tuple[Right, ...]:
    """Rights of ``uninstall``."""
    return (
        *(Right(PROFILE, "list patch delete", namespace) for namespace in plan.profile_namespaces),
        Right(CONFIG, "list patch", plan.namespace),
        Right(DEPLOYMENT, "list", plan.namespace),
        Right(LEASE, "create", plan.namespace),
        Right(LEASE, "get update delete", plan.namespace, (LEASE_NAME,)),
        Right(CONFIG_MAP, "get delete", plan.namespace, (STATUS_NAME,)),
    )


def worker_uninstalls(_: InstallPlan) -> tuple[Right, ...]:
    """Rights of ``uninstall``."""
    return (
        Right(MACHINE_DEPLOYMENT, "list patch"),
        Right(MACHINE, "list patch"),
        *(Right(SECRET, "list patch", namespace) for namespace in (CLOUD_INIT_NAMESPACE, TOKEN_NAMESPACE)),
    )


def worker_reads(plan: InstallPlan) -> tuple[Right, ...]:
    """Rights of ``plan``."""
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
    """Rights that ``status`` and ``rollout`` need in addition."""
    # In KKP, OSM's webhook runs in a namespace of the management cluster.
    namespace = TOKEN_NAMESPACE if plan.split else plan.namespace
    named = Right(NAMESPACE, "get", CLOUD_INIT_NAMESPACE, (CLOUD_INIT_NAMESPACE,))
    return (*_webhooks(namespace), named, Right(NODE, "list"))


def worker_writes(plan: InstallPlan) -> tuple[Right, ...]:
    """Rights that ``apply`` needs in addition."""
    return (
        Right(MACHINE_DEPLOYMENT, "get create patch" if plan.applies_machines else "get patch"),
        Right(MACHINE, "patch"),
        Right(EVENT, "create"),
        Right(SECRET, "create patch delete", CLOUD_INIT_NAMESPACE),
        *_tokens(plan, Right(SECRET, "create patch delete", TOKEN_NAMESPACE), "create", "token"),
    )


def worker_refreshes(plan: InstallPlan) -> tuple[Right, ...]:
    """Rights of ``refresh``, if all else is applied from git."""
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


def management_watches(plan: InstallPlan) -> tuple[Right, ...]:
    """Rights that ``apply --watch`` needs in addition."""
    return tuple(Right(PROFILE, "watch", namespace) for namespace in plan.profile_namespaces)


def worker_watches(plan: InstallPlan) -> tuple[Right, ...]:
    """Rights that ``apply --watch`` needs in addition."""
    return (
        *_watched_pools(),
        *_named(SECRET, plan.named.secrets, "watch", "watch"),
        *_named(CONFIG_MAP, plan.named.config_maps, "watch", "watch"),
        *_watched_server(plan),
    )


def management_watched_refreshes(plan: InstallPlan) -> tuple[Right, ...]:
    """Rights that ``refresh --watch`` needs in addition."""
    return (Right(CONFIG, "watch", plan.namespace),)


def worker_watched_refreshes(plan: InstallPlan) -> tuple[Right, ...]:
    """Rights that ``refresh --watch`` needs in addition."""
    return (
        *_watched_pools(),
        Right(SECRET, "watch", CLOUD_INIT_NAMESPACE),
        *_named(CONFIG_MAP, [CLUSTER_INFO], "watch", "watch"),
        *_watched_server(plan),
    )


def _watched_pools() -> tuple[Right, ...]:
    return tuple(Right(kind, "watch") for kind in (MACHINE_DEPLOYMENT, MACHINE_SET))


def _watched_server(plan: InstallPlan) -> tuple[Right, ...]:
    """The API server's address without cluster-info, and the ServiceAccount whose token machines join with."""
    account = plan.named.service_account
    accounts = (Right(SERVICE_ACCOUNT, "watch", account[0], account[1:]),) if account is not None else ()
    return (Right(ENDPOINT_SLICE, "watch", "default"), *accounts)


def leaves_results(plan: InstallPlan, *commands: str) -> tuple[Right, ...]:
    """To leave the results of shards beside the Jobs. Without shards, runs leave none."""
    count = plan.jobs.shards if plan.jobs is not None else 1
    if count == 1:
        return ()
    names = tuple(result_name(command, index, count) for command in commands for index in range(count))
    return Right(CONFIG_MAP, "create", plan.home), Right(CONFIG_MAP, "patch", plan.home, names)


def seed_reads() -> tuple[Right, ...]:
    """Rights of all runs on a KKP seed. In its user clusters they have those of ``internal-admin-kubeconfig``.

    Namespaces of user clusters come and go, so rights there are for the whole seed, and limited to names.
    """
    return (
        Right(USER_CLUSTER, "list"),
        *(Right(kind, "list", KKP_NAMESPACE) for kind in (SEED, KKP_CONFIGURATION, CUSTOM_PROFILE)),
        Right(SECRET, "get", names=(KUBECONFIG_SECRET, CREDENTIALS_SECRET)),
        Right(DEPLOYMENT, "get", names=(NAME,)),
    )


def seed_switches() -> tuple[Right, ...]:
    """Rights that ``kkp switch-off`` and ``switch-on`` need in addition."""
    return Right(USER_CLUSTER, "patch"), Right(CLUSTER_TEMPLATE, "get"), Right(POD, "list")


def seed_profiles() -> tuple[Right, ...]:
    """Rights that ``kkp apply-profiles`` needs in addition."""
    return (Right(CUSTOM_PROFILE, "create patch", KKP_NAMESPACE),)


def _pools() -> tuple[Right, ...]:
    return tuple(Right(kind, "list") for kind in (MACHINE_DEPLOYMENT, MACHINE_SET, MACHINE))


def _records(plan: InstallPlan) -> tuple[Right, ...]:
    """To hold the Lease of runs, and to write their status."""
    return (
        Right(LEASE, "create", plan.namespace),
        Right(LEASE, "get update", plan.namespace, (LEASE_NAME,)),
        Right(CONFIG_MAP, "create", plan.namespace),
        Right(CONFIG_MAP, "get patch", plan.namespace, (STATUS_NAME,)),
    )


def _webhooks(namespace: str) -> tuple[Right, ...]:
    """To read OSM's webhooks, and whether their services have endpoints."""
    return (
        Right(VALIDATING_WEBHOOKS, "list"),
        Right(MUTATING_WEBHOOKS, "list"),
        Right(ENDPOINT_SLICE, "list", namespace),
    )


def _tokens(plan: InstallPlan, tokens: Right, verb: str, subresource: str = "") -> tuple[Right, ...]:
    """``tokens``, the right on bootstrap tokens, or one on the ServiceAccount whose token machines join with."""
    account = plan.named.service_account
    if account is None:
        return (tokens,)
    return (Right(SERVICE_ACCOUNT, verb, account[0], account[1:], subresource),)


def _named(kind: Kind, keys: Iterable[tuple[str, str]], each: str = "get", many: str = "list") -> Iterator[Right]:
    """To get objects by name, or to list them where there are more than ``MOST_GETS`` in a namespace."""
    for namespace, names in by_namespace(keys).items():
        yield Right(kind, many, namespace) if len(names) > MOST_GETS else Right(kind, each, namespace, tuple(names))
