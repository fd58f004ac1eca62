"""The API servers of a run: one connection each, shared by all clusters of the fleet."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from osm_gitops.config.spec import Address, ClusterSpec, LiveTarget
from osm_gitops.context_ref import UNNAMED, ContextRef
from osm_gitops.errors import ClusterError, Code, InputError, OsmGitopsError, Problem, input_error
from osm_gitops.model.desired import Side
from osm_gitops.model.settings import Settings

if TYPE_CHECKING:
    from osm_gitops.config.spec import UserCluster
    from osm_gitops.kube.api import Api, Clusters
    from osm_gitops.model.inputs import Inputs
    from osm_gitops.sources.kkp.seed import SeedInventory
    from osm_gitops.sources.osm_deployment import OsmDeployment


_Server: TypeAlias = ContextRef | tuple[ContextRef, str]
"""The key of a connection: a context, or a seed and the id of a user cluster."""


def refuse_server(spec: ClusterSpec, part: str) -> None:
    """Raise InputError if the tree is untrusted, or if nothing can be done for the cluster; ``part`` is the part of the
    fleet file that names a server."""
    if spec.problems:
        raise InputError(spec.problems)
    if spec.trust.untrusted:
        raise input_error(
            Code.SERVER_IN_UNTRUSTED_RUN,
            f"{part} is a cluster, and an untrusted run must not access servers",
            fix="Name a tree instead, select other clusters with --cluster, or, if you trust the tree, run "
            "without --untrusted and --without-keys",
        )


class Connections:
    """Opens the connections of clusters on first use. ``environment`` is that of the process.

    For a user cluster of KKP this takes a request to its seed, else none. Raises InputError for unusable kubeconfigs,
    and for clusters of an untrusted tree, whose kubeconfigs are not read; ClusterError for a seed that does not answer.
    """

    def __init__(
        self,
        environment: Mapping[str, str],
        opened: dict[_Server, Api] | None = None,
        check: Callable[[], None] | None = None,
        seeds: dict[ContextRef, _Seed] | None = None,
    ) -> None:
        self._environment = environment
        self._open: dict[_Server, Api] = {} if opened is None else opened
        self._check = check
        self._checked: dict[_Server, Api] = {}
        self._seeds: dict[ContextRef, _Seed] = {} if seeds is None else seeds

    def checked(self, check: Callable[[], None]) -> Connections:
        """The same connections; ``check`` is called before each attempt of a write."""
        return Connections(self._environment, self._open, check, self._seeds)

    def management(self, spec: ClusterSpec) -> Api:
        """The cluster of profiles and OSCs."""
        refuse_server(spec, "its management cluster")
        return self._user_cluster(spec.kkp) if spec.kkp is not None else self._api(spec.management)

    def worker(self, spec: ClusterSpec) -> Api:
        """The cluster of all other objects; may be the same as :meth:`management`."""
        refuse_server(spec, "its worker cluster")
        return self._user_cluster(spec.kkp) if spec.kkp is not None else self._api(spec.worker)

    def clusters(self, spec: ClusterSpec) -> Clusters:
        """Both sides."""
        from osm_gitops.kube.api import Clusters  # noqa: PLC0415 - not needed for runs from trees to git

        return Clusters(self.management(spec), self.worker(spec))

    def hosts(self, spec: ClusterSpec, sides: Collection[Side] = tuple(Side)) -> tuple[str, ...]:
        """The servers of these sides for plans, one per line."""
        if spec.worker == spec.management:
            return (f"cluster {self.management(spec).display}",) if sides else ()
        apis = {Side.MANAGEMENT: self.management, Side.WORKER: self.worker}
        return tuple(f"{side.value} cluster {apis[side](spec).display}" for side in Side if side in sides)

    def home(self, access: ContextRef = UNNAMED) -> Api:
        """The cluster that runs are in, or that a person names: kubectl's own choice is that of the pod, or of
        ``KUBECONFIG``."""
        return self._api(access)

    def seed(self, access: ContextRef) -> Api:
        """A seed of KKP."""
        return self._api(access)

    def inventory(self, access: ContextRef) -> SeedInventory:
        """The user clusters of a seed and what their settings depend on, read once. Raises ClusterError."""
        from osm_gitops.sources.kkp.seed import read_inventory  # noqa: PLC0415 - not needed without a seed

        seed = self._seeds.setdefault(access, _Seed())
        if seed.inventory is None:
            seed.inventory = read_inventory(self.seed(access))
        return seed.inventory

    def custom_profiles(self, access: ContextRef, namespace: str) -> Inputs:
        """The CustomOperatingSystemProfiles of a seed as profiles of ``namespace``, read once. Raises ClusterError."""
        from osm_gitops.sources.kkp.profiles import read_custom_profiles  # noqa: PLC0415 - not needed without a seed

        seed = self._seeds.setdefault(access, _Seed())
        if namespace not in seed.profiles:
            seed.profiles[namespace] = read_custom_profiles(self.seed(access), namespace)
        return seed.profiles[namespace]

    def credentials(self, found: UserCluster) -> Mapping[str, str]:
        """The environment with the cloud credentials of a user cluster, as Operating System Manager has it. Raises
        ClusterError."""
        from osm_gitops.sources.kkp.seed import read_credentials  # noqa: PLC0415 - not needed without a seed

        return read_credentials(self.seed(found.seed), found.cluster, found.datacenter)

    def osm_of(self, found: UserCluster) -> OsmDeployment | None:
        """The Deployment of Operating System Manager for a user cluster, which is on its seed. Raises ClusterError."""
        from osm_gitops.sources.osm_deployment import NAME, get_osm  # noqa: PLC0415 - not needed without a seed

        return get_osm(self.seed(found.seed), found.cluster.namespace, NAME)

    def close(self) -> None:
        """Close all connections. A later use opens new ones."""
        for api in self._open.values():
            api.close()
        self._open.clear()

    def _api(self, access: ContextRef) -> Api:
        from osm_gitops.kube.api import connect  # noqa: PLC0415 - not needed for runs from trees to git

        return self._opened(access, lambda: connect(access, self._environment))

    def _user_cluster(self, found: UserCluster) -> Api:
        from osm_gitops.kube.api import IN_CLUSTER, connect_inline  # noqa: PLC0415 - not needed without a seed
        from osm_gitops.sources.kkp.seed import KUBECONFIG_SECRET, read_kubeconfig_secret  # noqa: PLC0415 - as above

        def connect() -> Api:
            cluster, seed = found.cluster, self._api(found.seed)
            in_pod = seed.display.endswith(f"({IN_CLUSTER})")
            inside = found.address is Address.INTERNAL or (found.address is Address.AUTO and in_pod)
            where = f"Secret {cluster.namespace}/{KUBECONFIG_SECRET}"
            if not (inside or cluster.url):
                what = "its status has no external address"
                fix = "Wait until KKP has set status.address.url, or set kkp.address to internal in a pod of the seed"
                raise ClusterError(
                    [Problem(Code.KKP_KUBECONFIG_MISSING, what, where=cluster.where, about=str(cluster), fix=fix)]
                )
            return connect_inline(
                read_kubeconfig_secret(seed, cluster),
                where,
                self._environment,
                user=f"user cluster {cluster.id}",
                address="" if inside else cluster.url,
            )

        return self._opened((found.seed, found.cluster.id), connect)

    def _opened(self, server: _Server, connect: Callable[[], Api]) -> Api:
        if server not in self._open:
            self._open[server] = connect()
        if self._check is None:
            return self._open[server]
        return self._checked.setdefault(server, self._open[server].checked(self._check))


@dataclass(slots=True)
class _Seed:
    """What was read of a seed; profiles by namespace."""

    inventory: SeedInventory | None = None
    profiles: dict[str, Inputs] = field(default_factory=dict)


def check_live_targets(specs: Iterable[ClusterSpec], connections: Connections) -> None:
    """Raise InputError if several desired states have the same cluster: they would prune each other."""
    live = [spec for spec in specs if isinstance(spec.target, LiveTarget)]
    problems = list(_shared_targets(live, connections)) if len(live) > 1 else []
    if problems:
        raise InputError(problems)


def _shared_targets(specs: Sequence[ClusterSpec], connections: Connections) -> Iterator[Problem]:
    workers: dict[str, str] = {}
    namespaces: dict[tuple[str, str], str] = {}
    for spec in specs:
        if spec.kkp is not None or spec.problems:
            continue
        try:
            clusters = connections.clusters(spec)
        except OsmGitopsError:  # reported when the cluster is used; it stops no other
            continue
        worker, place = clusters.worker.host, (clusters.management.host, _namespace(spec))
        if worker in workers:
            other, display = workers[worker], clusters.worker.display
            what = f"it would be applied to the same worker cluster as cluster {other}: {display}"
            fix = "Use another context for each cluster, or select one of them with --cluster"
            yield Problem(Code.CLUSTERS_SHARE_TARGET, what, about=f"cluster {spec.name}", fix=fix)
        elif place in namespaces:
            what = (
                f"its configurations would be in namespace {place[1]} of {clusters.management.display}, "
                f"as those of cluster {namespaces[place]}"
            )
            yield Problem(
                Code.CLUSTERS_SHARE_TARGET,
                what,
                about=f"cluster {spec.name}",
                fix="Set another management.namespace for each cluster",
            )
        workers.setdefault(worker, spec.name)
        namespaces.setdefault(place, spec.name)
    user_clusters: dict[tuple[str, str], str] = {}
    for spec in specs:
        if spec.kkp is None:
            continue
        # Hundreds of kubeconfigs would have to be read to compare the servers in them.
        cluster, seed = spec.kkp.cluster, connections.seed(spec.kkp.seed)
        same = user_clusters.get((seed.host, cluster.id)) or workers.get(cluster.url)
        if same is not None:
            what = f"it would be applied to the same cluster as cluster {same}: {cluster} of {seed.display}"
            fix = "Select each Cluster in one entry of the fleet file, or select one of them with --cluster"
            yield Problem(Code.CLUSTERS_SHARE_TARGET, what, about=f"cluster {spec.name}", fix=fix)
        user_clusters.setdefault((seed.host, cluster.id), spec.name)


def _namespace(spec: ClusterSpec) -> str:
    named = (str(setting.value) for setting in spec.settings if setting.name == "namespace")
    return next(named, Settings().namespace)
