"""The API servers of a run: one connection each, shared by all clusters of the fleet."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from osm_gitops.config.spec import ClusterSpec, LiveTarget
from osm_gitops.errors import Code, InputError, OsmGitopsError, Problem, input_error
from osm_gitops.model.desired import Side
from osm_gitops.model.settings import Settings

if TYPE_CHECKING:
    from osm_gitops.context_ref import ContextRef
    from osm_gitops.kube.api import Api, Clusters


def refuse_server(spec: ClusterSpec, part: str) -> None:
    """Raise InputError if the tree is untrusted; ``part`` is the part of the fleet file that names a server."""
    if spec.trust.untrusted:
        raise input_error(
            Code.SERVER_IN_UNTRUSTED_RUN,
            f"{part} is a cluster, and an untrusted run must not access servers",
            fix="Name a tree instead, select other clusters with --cluster, or, if you trust the tree, run "
            "without --untrusted and --without-keys",
        )


class Connections:
    """Opens the connections of clusters on first use. ``environment`` is that of the process.

    Makes no request. Raises InputError for unusable kubeconfigs, and for clusters of an untrusted tree, whose
    kubeconfigs are not read.
    """

    def __init__(
        self,
        environment: Mapping[str, str],
        opened: dict[ContextRef, Api] | None = None,
        check: Callable[[], None] | None = None,
    ) -> None:
        self._environment = environment
        self._open: dict[ContextRef, Api] = {} if opened is None else opened
        self._check = check
        self._checked: dict[ContextRef, Api] = {}

    def checked(self, check: Callable[[], None]) -> Connections:
        """The same connections; ``check`` is called before each attempt of a write."""
        return Connections(self._environment, self._open, check)

    def management(self, spec: ClusterSpec) -> Api:
        """The cluster of profiles and OSCs."""
        refuse_server(spec, "its management cluster")
        return self._api(spec.management)

    def worker(self, spec: ClusterSpec) -> Api:
        """The cluster of all other objects; may be the same as :meth:`management`."""
        refuse_server(spec, "its worker cluster")
        return self._api(spec.worker)

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

    def close(self) -> None:
        """Close all connections. A later use opens new ones."""
        for api in self._open.values():
            api.close()
        self._open.clear()

    def _api(self, access: ContextRef) -> Api:
        from osm_gitops.kube.api import connect  # noqa: PLC0415 - not needed for runs from trees to git

        if access not in self._open:
            self._open[access] = connect(access, self._environment)
        if self._check is None:
            return self._open[access]
        return self._checked.setdefault(access, self._open[access].checked(self._check))


def check_live_targets(specs: Iterable[ClusterSpec], connections: Connections) -> None:
    """Raise InputError if several desired states have the same cluster: they would prune each other."""
    live = [spec for spec in specs if isinstance(spec.target, LiveTarget)]
    problems = list(_shared_targets(live, connections)) if len(live) > 1 else []
    if problems:
        raise InputError(problems)


def _shared_targets(specs: Iterable[ClusterSpec], connections: Connections) -> Iterator[Problem]:
    workers: dict[str, str] = {}
    namespaces: dict[tuple[str, str], str] = {}
    for spec in specs:
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


def _namespace(spec: ClusterSpec) -> str:
    named = (str(setting.value) for setting in spec.settings if setting.name == "namespace")
    return next(named, Settings().namespace)
