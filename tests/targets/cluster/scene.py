"""A cluster with pools, for tests of delivery: what should be there is rendered, what is there is real."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import takewhile
from pathlib import Path
from typing import Any, cast

from osm_gitops.context_ref import ContextRef
from osm_gitops.kube.api import Api, Clusters, connect
from osm_gitops.model.desired import Left, Side
from osm_gitops.model.inputs import Inputs
from osm_gitops.model.live import CLEANUP_FINALIZER, Delivery, Gate, LivePool, WriteOptions
from osm_gitops.model.machine import MachineDeployment
from osm_gitops.model.objects import Manifest, ObjectRef, Origin
from osm_gitops.model.plan import Action, Change, ClusterPlan
from osm_gitops.model.settings import Settings
from osm_gitops.pipeline.rendering import render_cluster
from osm_gitops.plan.compare import group_name, make_cluster_plan
from osm_gitops.plan.guards import PlanOptions
from osm_gitops.sources.machines import read_machine
from osm_gitops.sources.tree import read_tree
from osm_gitops.sources.walk import Folder, in_no_git
from osm_gitops.targets.cluster.pools import read_pools
from osm_gitops.targets.cluster.target import Scope, read_state
from osm_gitops.targets.cluster.writing import Control, TokenKeeper, deliver
from tests.apiserver.after_osm import REVISION, AfterOsm
from tests.apiserver.client import Object
from tests.apiserver.cluster import Cluster
from tests.cli.scenes import pool as pool_body
from tests.cli.scenes import profile, write_tree

MACHINES = "/apis/cluster.k8s.io/v1alpha1"
SETTINGS = "/api/v1/namespaces/cloud-init-settings/secrets"
CONFIGS = "/apis/operatingsystemmanager.k8c.io/v1alpha1/namespaces/kube-system/operatingsystemconfigs"
_END = "the-end"
SCRIPT = "#!/bin/sh\necho {{ .KubeVersion }}\n"


def ref(name: str) -> ObjectRef:
    return ObjectRef("MachineDeployment", "kube-system", name)


def secret_path(name: str, half: str = "bootstrap") -> str:
    return f"{SETTINGS}/{name}-kube-system-{half}-config"


def config_path(name: str) -> str:
    return f"{CONFIGS}/{name}-kube-system-config"


def machine_path(name: str) -> str:
    return f"{MACHINES}/namespaces/kube-system/machinedeployments/{name}"


def whys(left: Mapping[ObjectRef, Left]) -> dict[ObjectRef, str]:
    """Why pools were left, as clauses."""
    return {ref: each.why for ref, each in left.items()}


@dataclass(slots=True)
class Scene:
    """Pools in one or two clusters. ``script`` is what the profile boots with, ``objects`` what machine-controller's
    part is played with."""

    management: Cluster
    worker: Cluster
    live: Clusters
    folder: Path
    script: str = SCRIPT
    version: str = "v1.0.0"
    osm: AfterOsm = field(init=False)

    def __post_init__(self) -> None:
        self.osm = AfterOsm(self.management, self.worker)
        self.worker.namespace("cloud-init-settings")

    def pool(self, name: str, *, revision: str | None = "1", machine_set: bool = True, **more: Any) -> Object:
        """A MachineDeployment, and its MachineSet as machine-controller makes it."""
        given = {} if revision is None else {REVISION: revision}
        body = pool_body(name, annotations=given, **more)
        body["spec"]["template"]["metadata"] = {"labels": {"pool": name}}
        created = self.osm.create(body, "kubectl")
        if machine_set and revision is not None:
            self.osm.machine_set(name, created["metadata"]["namespace"])
        return created

    def change(self, name: str, change: Object) -> Object:
        return self.worker.client().merge(machine_path(name), change)

    def roll(self, name: str, revision: str, kubelet: str) -> None:
        """A new template, and all that machine-controller does about it."""
        template = {"spec": {"versions": {"kubelet": kubelet}}}
        self.change(name, {"spec": {"template": template}, "metadata": {"annotations": {REVISION: revision}}})
        self.osm.objects["MachineDeployment", "kube-system", name] = self.get(machine_path(name))
        self.osm.machine_set(name)

    def inputs(self) -> Inputs:
        """Profile and facts of a tree, MachineDeployments of the worker cluster."""
        tree = write_tree(self.folder, profile(script=self.script, version=self.version))
        read = read_tree(Folder(tree, str(tree), in_no_git), management_namespace="kube-system", environment={})
        return replace(read, machines=self.machines())

    def machines(self) -> tuple[MachineDeployment, ...]:
        return machines_of(self.worker)

    def plan(self, *, guarded: bool = False) -> tuple[ClusterPlan, Mapping[ObjectRef, LivePool]]:
        inputs = self.inputs()
        pools = read_pools(self.live.worker, inputs.machines)
        desired = render_cluster("prod", inputs, Settings()).desired
        leaving = frozenset(each for each, pool in pools.items() if pool.gate is Gate.DELETING)
        state = read_state(self.live, desired, Scope("kube-system", frozenset({"kube-system"}), leaving))
        kinds = frozenset({"OperatingSystemConfig"} if guarded else ())
        plan = make_cluster_plan(desired, replace(state, immutable_kinds=kinds), PlanOptions(leaving=leaving))
        return replace(plan, changes=(*plan.changes, *_finalizers(pools.values()))), pools

    def run(
        self,
        tokens: TokenKeeper | None = None,
        check: Callable[[], None] = lambda: None,
        plan: tuple[ClusterPlan, Mapping[ObjectRef, LivePool]] | None = None,
        **options: Any,
    ) -> Delivery:
        planned, pools = plan or self.plan()
        return deliver(self.live, planned, pools, tokens or NoTokens(), WriteOptions(**options), Control(check))

    def osm_wrote(self, name: str, **more: Any) -> None:
        """The Secrets of a pool as OSM made them, of older content: immutable, and without a label."""
        for half in ("provisioning", "bootstrap"):
            metadata = {
                "name": f"{name}-kube-system-{half}-config",
                "namespace": "cloud-init-settings",
                "annotations": {"k8c.io/machine-deployment-revision": "1", "k8c.io/mdannotations-hash": "old"},
            }
            data = {"cloud-config": b64encode(f"#cloud-config\n# old {half}\n".encode()).decode(), "more": "eA=="}
            body = {"apiVersion": "v1", "kind": "Secret", "type": "Opaque", "immutable": True} | more
            self.osm.create({**body, "metadata": metadata, "data": data})

    def now(self) -> str:
        """The resourceVersion of the latest write."""
        return str(self.get(SETTINGS)["metadata"]["resourceVersion"])

    def get(self, path: str) -> Object:
        return self.worker.client().get(path)

    def find(self, path: str) -> Object | None:
        collection, _, name = path.rpartition("/")
        items = self.get(f"{collection}?fieldSelector=metadata.name%3D{name}")["items"]
        return items[0] if items else None

    def events(self, since: str) -> list[tuple[str, str]]:
        """What a watcher of Secrets and OSCs saw since a resourceVersion: what happened to which. Pool "a" is there."""
        client, found = self.worker.client(), []
        secret = {"apiVersion": "v1", "kind": "Secret"}
        for collection, body in ((SETTINGS, secret), (CONFIGS, self.get(config_path("a")))):
            space = collection.split("/namespaces/")[1].split("/")[0]
            client.create({**body, "metadata": {"name": _END, "namespace": space}})
            found += list(takewhile(_goes_on, client.events(collection, since)))
        found.sort(key=lambda event: int(event["object"]["metadata"]["resourceVersion"]))
        return [(event["type"], event["object"]["metadata"]["name"].replace("-kube-system", "")) for event in found]


def _goes_on(event: Object) -> bool:
    return bool(event["object"]["metadata"]["name"] != _END)


def scene(management: Cluster, worker: Cluster, folder: Path, user: str = "admin") -> Scene:
    """``management`` may be the same as ``worker``."""
    apis = {each.name: api_of(each, folder, user) for each in (management, worker)}
    return Scene(management, worker, Clusters(apis[management.name], apis[worker.name]), folder / "tree")


def api_of(cluster: Cluster, folder: Path, user: str = "admin") -> Api:
    return connect(ContextRef(str(cluster.kubeconfig(folder / f"{cluster.name}-{user}", user))), {})


class NoTokens:
    """Keeps tokens of which none is due."""

    makes_tokens = True

    def bring(self, pool: ObjectRef) -> None:
        """Nothing is."""


class EndedError(BaseException):
    """What a kill is to the code that it meets."""


class Counting:
    """An Api whose writes are counted, and end the run before or after the one that is told."""

    def __init__(self, api: Api, last: int = -1, *, done: bool = False) -> None:
        self._api, self.last, self.done = api, last, done
        self.writes: list[tuple[str, str]] = []

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._api, name)
        if name not in {"apply", "create", "replace", "merge", "delete"}:
            return found

        def write(*args: Any, **more: Any) -> Any:
            self.writes.append((name, args[0]["metadata"]["name"] if isinstance(args[0], Mapping) else args[2]))
            ends = len(self.writes) == self.last
            if ends and not self.done:
                raise EndedError
            answer = found(*args, **more)
            if ends:
                raise EndedError
            return answer

        return write

    @property
    def as_api(self) -> Api:
        return cast("Api", self)


def machines_of(cluster: Cluster) -> tuple[MachineDeployment, ...]:
    """The MachineDeployments of a cluster, as a source reads them."""
    found = (_machine(item) for item in cluster.client().get(f"{MACHINES}/machinedeployments")["items"])
    return tuple(each for each in found if each is not None)


def _machine(body: Object) -> MachineDeployment | None:
    metadata = body["metadata"]
    body = {"apiVersion": "cluster.k8s.io/v1alpha1", "kind": "MachineDeployment"} | body
    found = ObjectRef("MachineDeployment", metadata["namespace"], metadata["name"])
    manifest = Manifest(found, body, Origin("the cluster"), {})
    checked = read_machine(manifest)
    return None if checked.problems else checked.value


def _finalizers(pools: Iterable[LivePool]) -> Iterable[Change]:
    for pool in pools:
        if pool.uid and (CLEANUP_FINALIZER in pool.finalizers) == (pool.gate is Gate.DELETING):
            yield Change(pool.ref, Side.WORKER, Action.UPDATE, "finalizer", group_name(pool.ref), pool.ref, upkeep=True)
