"""A seed of the Kubermatic Kubernetes Platform (KKP) with user clusters, as KKP's controllers leave it.

Nothing of KKP runs here: what its controllers would do, such as to scale a Deployment, a test does itself. Several user
clusters may be on one API server; they then have the same objects.
"""

from __future__ import annotations

import copy
from base64 import b64encode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import yaml

from osm_gitops.commands.boot.lane.definitions import definition
from tests.apiserver.client import Object, path_of
from tests.apiserver.cluster import ADMIN, Cluster
from tests.apiserver.inventory import ATTEMPTS
from tests.apiserver.osm_deployment import osm_in_kkp, run_osm

NAMESPACE: Final = "kubermatic"
KUBECONFIG_SECRET: Final = "internal-admin-kubeconfig"
GETTER_TOKEN: Final = "getter-token-of-a-user-cluster"
DATACENTER: Final = "hetzner-fsn1"
_API: Final = "kubermatic.k8c.io"
OSM_FLAGS: Final = (
    *("-namespace", "kube-system", "-container-runtime", "containerd"),
    *("-cluster-dns", "169.254.20.10", "-external-cloud-provider=true"),
)
"""What KKP passes to Operating System Manager of a cluster as :meth:`Seed.user_cluster` makes it."""
_REPLICAS: Final = "/spec/componentsOverride/operatingSystemManager/replicas"
_UP: Final = "HealthStatusUp"
HEALTHY: Final[Mapping[str, str]] = dict.fromkeys(
    (
        *("apiserver", "scheduler", "controller", "etcd", "machineController", "cloudProviderInfrastructure"),
        *("userClusterControllerManager", "operatingSystemManager"),
    ),
    _UP,
)
"""``status.extendedHealth`` of a cluster on which all is well."""


def definitions() -> tuple[Object, ...]:
    """The kinds of a seed, as small as the tests can do with (``running`` has those of user clusters)."""
    clusters = definition(_API, "Cluster", name="v1", subresources={"status": {}})
    others = [definition(_API, kind, name="v1") for kind in ("ClusterTemplate", "Project")]
    for each in (clusters, *others):
        each["spec"]["scope"] = "Cluster"
    return (
        *(clusters, *others),
        *(definition(_API, kind, name="v1") for kind in ("Seed", "KubermaticConfiguration")),
        definition("operatingsystemmanager.k8c.io", "CustomOperatingSystemProfile"),
    )


@dataclass(frozen=True, slots=True)
class UserCluster:
    """A user cluster: ``name`` is its id, ``namespace`` its own on the seed, ``server`` where it runs."""

    name: str
    namespace: str
    server: Cluster

    @property
    def path(self) -> str:
        """Of its Cluster on the seed."""
        return f"/apis/{_API}/v1/clusters/{self.name}"

    @property
    def deployment(self) -> str:
        """The path of its Operating System Manager on the seed."""
        return f"/apis/apps/v1/namespaces/{self.namespace}/deployments/operating-system-manager"


@dataclass(frozen=True, slots=True)
class Seed:
    """A seed: the API ``server``, and its user clusters by name."""

    server: Cluster
    clusters: dict[str, UserCluster] = field(default_factory=dict)

    def create(self, kind: str, name: str, *, namespace: str = NAMESPACE, **body: Any) -> Object:
        """Create an object of KKP's kinds; ``namespace`` is empty for those of no namespace."""
        metadata = {"name": name} | ({"namespace": namespace} if namespace else {}) | body.pop("metadata", {})
        return self.server.client().create({"apiVersion": f"{_API}/v1", "kind": kind, "metadata": metadata, **body})

    def user_cluster(
        self,
        name: str,
        server: Cluster,
        *,
        spec: Mapping[str, Any] | None = None,
        status: Mapping[str, Any] | None = None,
        osm: Object | None = None,
        address: str = "",
        **metadata: Any,
    ) -> UserCluster:
        """Add a user cluster that runs on ``server``, and its Operating System Manager, which ``osm`` replaces.

        ``spec`` and ``status`` are merged over those of a cluster that runs and is healthy, ``None`` removes a key;
        ``address`` is the one in its kubeconfig, if not that of ``server``. ``metadata``: labels, annotations,
        finalizers. Its objects of ``kube-system`` and others are those of :func:`fill`.
        """
        namespace = self.server.namespace(f"cluster-{name}")
        # The user of the kubeconfig that people download has no rights here.
        for secret, user in ((KUBECONFIG_SECRET, ADMIN), ("admin-kubeconfig", "applier")):
            text = kubeconfig(server, name, address, user)
            self.server.client().create(_secret(secret, namespace, {"kubeconfig": text}))
        made = UserCluster(name, namespace, server)
        run_osm(self.server, osm or osm_in_kkp(*OSM_FLAGS, namespace=namespace))
        body = _merged(_cluster_spec(name), spec or {})
        self.create("Cluster", name, namespace="", metadata=metadata, spec=body)
        self.report(made, _merged(_cluster_status(made), status or {}))
        self.clusters[name] = made
        return made

    def report(self, cluster: UserCluster, status: Mapping[str, Any]) -> Object:
        """Change the status of a user cluster, as its controllers do."""
        return self.server.client().merge(f"{cluster.path}/status", {"status": dict(status)})

    def change(self, cluster: UserCluster, spec: Mapping[str, Any], **metadata: Any) -> Object:
        """Change the spec of a user cluster, as its owner does."""
        return self.server.client().merge(cluster.path, {"spec": dict(spec), "metadata": metadata})

    def scale(self, cluster: UserCluster, replicas: int) -> None:
        """Do what KKP and a controller manager do about a number of replicas of Operating System Manager."""
        client = self.server.client()
        client.merge(cluster.deployment, {"spec": {"replicas": replicas}})
        counts = dict.fromkeys(("replicas", "readyReplicas", "availableReplicas"), replicas)
        client.merge(f"{cluster.deployment}/status", {"status": counts})

    def pods(self, cluster: UserCluster, *names: str) -> list[str]:
        """Create pods in the namespace of a user cluster, labelled as Deployments do it; their paths."""
        created = []
        for name in names:
            labels = {"app": name.rpartition("-")[0]}
            metadata = {"name": name, "namespace": cluster.namespace, "labels": labels}
            spec = {"containers": [{"name": "main", "image": "image"}]}
            body = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
            created.append(path_of(self.server.client().create(body)))
        return created

    @contextmanager
    def filling_empty_replicas(self, default: int) -> Iterator[None]:
        """Do with the override what KKP's webhook does: 0 is empty, so a default fills it."""
        api = "admissionregistration.k8s.io/v1"
        replicas = "object.spec.?componentsOverride.?operatingSystemManager.?replicas"
        patch = f'[JSONPatch{{op: "replace", path: "{_REPLICAS}", value: {default}}}]'
        rule = {"apiGroups": [_API], "apiVersions": ["v1"], "resources": ["clusters"], "operations": ["UPDATE"]}
        policy = {
            "failurePolicy": "Fail",
            "reinvocationPolicy": "Never",
            "matchConstraints": {"resourceRules": [rule]},
            "matchConditions": [{"name": "empty", "expression": f"{replicas}.orValue(1) == 0"}],
            "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": patch}}],
        }
        specs = {"MutatingAdmissionPolicy": policy, "MutatingAdmissionPolicyBinding": {"policyName": "defaults"}}
        bodies = [
            {"apiVersion": api, "kind": kind, "metadata": {"name": "defaults"}, "spec": spec}
            for kind, spec in specs.items()
        ]
        for body in bodies:
            self.server.client().create(body)
        cluster = next(iter(self.clusters.values()))
        assert any(self._fills(cluster, default) for _ in range(ATTEMPTS)), "the policy does not count"
        try:
            yield
        finally:
            for body in bodies:
                self.server.client().delete(path_of(body))
            assert any(not self._fills(cluster, default) for _ in range(ATTEMPTS)), "the policy still counts"

    def _fills(self, cluster: UserCluster, default: int) -> bool:
        change = {"spec": {"componentsOverride": {"operatingSystemManager": {"replicas": 0}}}}
        found = self.server.client().merge(f"{cluster.path}?dryRun=All", change)
        return bool(found["spec"]["componentsOverride"]["operatingSystemManager"]["replicas"] == default)


def make_seed(
    server: Cluster,
    *,
    datacenters: Mapping[str, Any] | None = None,
    seed: Mapping[str, Any] | None = None,
    configuration: Mapping[str, Any] | None = None,
) -> Seed:
    """Make a server that has KKP's kinds a seed: its namespace, one Seed and one KubermaticConfiguration.

    ``datacenters`` are those of the Seed, ``seed`` and ``configuration`` are further fields of their specs.
    """
    server.namespace(NAMESPACE)
    made = Seed(server)
    places = dict(datacenters or {DATACENTER: {"country": "DE", "location": "Falkenstein", "spec": {"hetzner": {}}}})
    made.create("Seed", NAMESPACE, spec={"datacenters": places, **(seed or {})})
    made.create("KubermaticConfiguration", NAMESPACE, spec=dict(configuration or {}))
    return made


def kubeconfig(server: Cluster, name: str, address: str = "", user: str = ADMIN) -> str:
    """A kubeconfig as KKP writes it: all by the id of the cluster, and the user named default."""
    trust = b64encode(server.authority.encode()).decode()
    cluster = {"server": address or server.server, "certificate-authority-data": trust}
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": cluster}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": "default"}}],
        "users": [{"name": "default", "user": {"token": server.tokens[user]}}],
        "current-context": name,
    }
    return str(yaml.safe_dump(config))


def fill(server: Cluster, *objects: Object) -> None:
    """Create what KKP puts into each user cluster and rendering reads, and further objects."""
    settings = server.namespace("cloud-init-settings")
    getter = "cloud-init-getter"
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": getter, "namespace": settings}}
    for each in (account, *_facts(server), *objects):
        server.client().create(each)


def _facts(server: Cluster) -> Iterator[Object]:
    cluster = {"server": server.server, "certificate-authority-data": b64encode(server.authority.encode()).decode()}
    config = {"apiVersion": "v1", "kind": "Config", "clusters": [{"name": "", "cluster": cluster}]}
    yield {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "cluster-info", "namespace": "kube-public"},
        "data": {"kubeconfig": yaml.safe_dump(config)},
    }
    yield _secret("cloud-init-getter-token", "cloud-init-settings", {"token": GETTER_TOKEN})


def _secret(name: str, namespace: str, data: Mapping[str, str]) -> Object:
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": dict(data)}


def _cluster_spec(name: str) -> Object:
    return {
        "humanReadableName": f"the cluster {name}",
        "version": "1.34.2",
        "cloud": {"dc": DATACENTER, "providerName": "hetzner", "hetzner": {"network": "n"}},
        "clusterNetwork": {
            "services": {"cidrBlocks": ["10.240.16.0/20"]},
            "pods": {"cidrBlocks": ["172.25.0.0/16"]},
            "dnsDomain": "cluster.local",
            "proxyMode": "ebpf",
        },
        "containerRuntime": "containerd",
        "exposeStrategy": "NodePort",
        "features": {"externalCloudProvider": True},
    }


def _cluster_status(cluster: UserCluster) -> Object:
    host = f"apiserver-external.{cluster.namespace}.svc.cluster.local."
    return {
        "namespaceName": cluster.namespace,
        "phase": "Running",
        "address": {"url": cluster.server.server, "internalURL": host, "port": 443, "adminToken": "an.admin-token"},
        "extendedHealth": dict(HEALTHY),
        "conditions": {"ClusterInitialized": {"status": "True"}, "SeedResourcesUpToDate": {"status": "True"}},
        "versions": {"controlPlane": "1.34.2", "apiserver": "1.34.2"},
        "userEmail": "owner@example.com",
    }


def _merged(base: Object, change: Mapping[str, Any]) -> Object:
    """A JSON merge patch."""
    merged = copy.deepcopy(base)
    for key, value in change.items():
        if value is None:
            merged.pop(key, None)
        elif isinstance(value, Mapping):
            before = merged.get(key)
            merged[key] = _merged(before if isinstance(before, dict) else {}, value)
        else:
            merged[key] = value
    return merged
