"""Read a seed: its user clusters, and the objects beside them that boot configurations depend on.

A failed or forbidden read is an error of the seed. It never counts as a seed without clusters.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeVar

from osm_gitops.errors import ClusterError, Code, InputError, Problem, input_error
from osm_gitops.gocompat.basetext import decode_base64
from osm_gitops.kube.kinds import KKP_CONFIGURATION, SECRET, SEED, USER_CLUSTER, Kind
from osm_gitops.model.objects import Json, Manifest, ObjectRef, Origin
from osm_gitops.sources.kkp.records import (
    Cluster,
    Datacenter,
    KubermaticConfiguration,
    Seed,
    read_cluster,
    read_configuration,
    read_seed,
)
from osm_gitops.sources.manifests import KKP_NAMESPACE
from osm_gitops.sources.schema import Checked

if TYPE_CHECKING:
    from osm_gitops.kube.api import Api

KUBECONFIG_SECRET: Final = "internal-admin-kubeconfig"  # noqa: S105 - a name
"""The Secret in a cluster's namespace with the kubeconfig that KKP's own controllers use."""
KUBECONFIG_KEY: Final = "kubeconfig"
CREDENTIALS_SECRET: Final = "cloud-credentials"  # noqa: S105 - a name
"""The Secret in a cluster's namespace with its cloud credentials."""

_NAME_IT: Final = "Name the kubeconfig and the context of a seed"
_NOT_FOUND: Final = 404

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class SeedInventory:
    """What a seed has: ``clusters`` in order of their ids, those that cannot be read as ``broken`` by id, all Seeds,
    and KKP's configuration. ``display`` is its API server, for messages."""

    clusters: tuple[Cluster, ...]
    broken: Mapping[str, tuple[Problem, ...]]
    seeds: tuple[Seed, ...]
    configuration: KubermaticConfiguration
    display: str

    def datacenter(self, name: str) -> tuple[Seed, Datacenter] | None:
        """A datacenter and its Seed. Names of datacenters are unique over all Seeds."""
        found = ((seed, seed.datacenters[name]) for seed in self.seeds if name in seed.datacenters)
        return next(found, None)


def read_inventory(seed: Api) -> SeedInventory:
    """Read a seed in ⌈N/500⌉ + 2 requests. Raises ClusterError, and InputError if it is not a seed of KKP."""
    try:
        clusters = read_clusters(seed)
    except ClusterError as failure:
        if failure.status != _NOT_FOUND:
            raise
        what = f"the API server does not know the kind {USER_CLUSTER.name} of KKP, so it is not a seed"
        raise input_error(Code.NOT_A_SEED, what, where=seed.display, fix=_NAME_IT) from None
    seeds = _all(seed, SEED, read_seed)
    configurations = _all(seed, KKP_CONFIGURATION, read_configuration)
    if len(configurations) != 1:
        what = f"there are {len(configurations)} objects of this kind in namespace {KKP_NAMESPACE}, and KKP needs one"
        fix = "Check that it is a seed, and that KKP works there"
        raise input_error(Code.NOT_A_SEED, what, where=seed.display, about=KKP_CONFIGURATION.name, fix=fix)
    return SeedInventory(
        clusters=tuple(each.value for each in clusters.values() if each.value is not None),
        broken={name: each.problems for name, each in clusters.items() if each.value is None},
        seeds=seeds,
        configuration=configurations[0],
        display=seed.display,
    )


def read_clusters(seed: Api) -> Mapping[str, Checked[Cluster]]:
    """All user clusters by id, in order. Raises ClusterError."""
    found = seed.list(USER_CLUSTER, lambda body: (body["metadata"]["name"], read_cluster(_manifest(seed, body))))
    return dict(sorted(found))


def read_one_cluster(seed: Api, name: str) -> Cluster | None:
    """A user cluster as it is now; ``None`` if it is gone. Raises ClusterError, and InputError for wrong types.

    Runs may list Clusters, and not get them.
    """
    fields = f"metadata.name={name}"
    found = seed.list(USER_CLUSTER, lambda body: read_cluster(_manifest(seed, body)), fields=fields)
    return _checked(found[0]) if found else None


def read_kubeconfig_secret(seed: Api, cluster: Cluster) -> bytes:
    """The kubeconfig of KKP's own controllers for a user cluster. KKP renews its certificate, so it is read in every
    run. Raises ClusterError."""
    data = _secret(seed, cluster.namespace, KUBECONFIG_SECRET)
    found = (data or {}).get(KUBECONFIG_KEY)
    if not found:
        lacks = "does not exist" if data is None else f"has no key {KUBECONFIG_KEY}"
        what = f"the Secret with the kubeconfig of {cluster} {lacks}"
        about = f"Secret {cluster.namespace}/{KUBECONFIG_SECRET}"
        fix = "Check the cluster in KKP: its controllers create this Secret, and delete it with the cluster"
        raise ClusterError([Problem(Code.KKP_KUBECONFIG_MISSING, what, where=seed.display, about=about, fix=fix)])
    return found


def read_credentials(seed: Api, cluster: Cluster, datacenter: Datacenter) -> dict[str, str]:
    """The environment with cloud credentials that KKP gives to Operating System Manager for a cluster. Raises
    ClusterError, also if the credentials are missing."""
    keys = _VARIABLES.get(cluster.provider, {})
    if not keys:
        return {}
    data = _secret(seed, cluster.namespace, CREDENTIALS_SECRET)
    missing = [key for key in keys.values() if key not in (data or {}) and key not in _OPTIONAL]
    if data is None or missing:
        what = "does not exist" if data is None else f"has no key {', '.join(missing)}"
        about = f"Secret {cluster.namespace}/{CREDENTIALS_SECRET}"
        fix = "Check the credentials of the cluster in KKP, which copies them there"
        problem = Problem(Code.OSM_INPUT_MISSING, f"it {what}", where=seed.display, about=about, fix=fix)
        raise ClusterError([problem])
    found = {name: data[key].decode("utf-8", "surrogateescape") for name, key in keys.items() if key in data}
    if cluster.provider == "openstack":
        found["OS_AUTH_URL"] = datacenter.openstack_auth_url
    if cluster.provider == "vsphere":
        found["VSPHERE_ADDRESS"] = datacenter.vsphere_endpoint
    return found


_VARIABLES: Final[Mapping[str, Mapping[str, str]]] = {
    "azure": {
        "AZURE_CLIENT_ID": "clientID",
        "AZURE_CLIENT_SECRET": "clientSecret",
        "AZURE_TENANT_ID": "tenantID",
        "AZURE_SUBSCRIPTION_ID": "subscriptionID",
    },
    "openstack": {
        "OS_USER_NAME": "username",
        "OS_PASSWORD": "password",
        "OS_DOMAIN_NAME": "domain",
        "OS_PROJECT_NAME": "project",
        "OS_PROJECT_ID": "projectID",
        "OS_APPLICATION_CREDENTIAL_ID": "applicationCredentialID",
        "OS_APPLICATION_CREDENTIAL_SECRET": "applicationCredentialSecret",
    },
    "vsphere": {"VSPHERE_USERNAME": "username", "VSPHERE_PASSWORD": "password"},
    "gcp": {"GOOGLE_SERVICE_ACCOUNT": "serviceAccount"},
    "kubevirt": {"KUBEVIRT_KUBECONFIG": "kubeConfig"},
}
"""The variables of each provider, and the keys of their values in the Secret. Of a Tinkerbell cluster KKP sets one that
no cloud-config reads."""
_OPTIONAL: Final = frozenset({"project", "projectID", "applicationCredentialID", "applicationCredentialSecret"})


def _secret(seed: Api, namespace: str, name: str) -> Mapping[str, bytes] | None:
    body = seed.get(SECRET, namespace, name)
    return None if body is None else {key: decode_base64(text) or b"" for key, text in (body.get("data") or {}).items()}


def _all(seed: Api, kind: Kind, read: Callable[[Manifest], Checked[T]]) -> tuple[T, ...]:
    found = seed.list(kind, lambda body: read(_manifest(seed, body)), KKP_NAMESPACE)
    return tuple(map(_checked, found))


def _checked(found: Checked[T]) -> T:
    if found.value is None:
        raise InputError(found.problems)
    return found.value


def _manifest(seed: Api, body: dict[str, Json]) -> Manifest:
    metadata = body["metadata"]
    ref = ObjectRef(body["kind"], metadata.get("namespace") or "", metadata["name"])
    return Manifest(ref, body, Origin(seed.display), {})
