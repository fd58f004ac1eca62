"""Live clusters as a source: the same objects and checks as for a tree, in few requests (design.md, "Terms" and
"Performance").

A failed or forbidden read is an error of the cluster. It never counts as a missing object.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Final

from osm_gitops.errors import ClusterError, Code, Problem
from osm_gitops.gocompat.text import runes
from osm_gitops.kube.kinds import (
    CONFIG_MAP,
    CUSTOM_PROFILE,
    ENDPOINT_SLICE,
    MACHINE_DEPLOYMENT,
    PROFILE,
    SECRET,
    SERVICE_ACCOUNT,
    Kind,
)
from osm_gitops.model.inputs import Facts, Inputs
from osm_gitops.model.machine import MachineDeployment
from osm_gitops.model.objects import Json, Manifest, ObjectRef, Origin
from osm_gitops.model.settings import Settings
from osm_gitops.render.resolve.bootstrap_token import NAME_LABEL
from osm_gitops.render.resolve.bootstrap_token import NAMESPACE as TOKEN_NAMESPACE
from osm_gitops.render.resolve.cluster_info import CLUSTER_INFO, UnreadableClusterInfo, cluster_info
from osm_gitops.render.resolve.named_facts import MOST_GETS, by_namespace, named_facts, named_profiles
from osm_gitops.sources.inputs_builder import InputsBuilder
from osm_gitops.sources.machines import SERVICE_LABEL, credential_environment, read_config_map, read_machine
from osm_gitops.sources.manifests import KKP_NAMESPACE, RawObject, identify

if TYPE_CHECKING:
    from osm_gitops.kube.api import Api

_FORBIDDEN: Final = 403
API_SERVICE: Final = ("default", f"{SERVICE_LABEL}=kubernetes")
"""Namespace and label of the EndpointSlices that name the API server."""


def read_machines(worker: Api) -> Inputs:
    """The MachineDeployments of all namespaces, as OSM watches them."""
    live = _Live(worker)
    live.list(MACHINE_DEPLOYMENT)
    return live.inputs()


def live_machine(body: dict[str, Json]) -> MachineDeployment | None:
    """A MachineDeployment as a server gives it; ``None`` if it is invalid, which runs report."""
    manifest = identify(RawObject(body, Origin(""), {}), "")
    return None if isinstance(manifest, Problem) else read_machine(manifest).value


def read_profiles(
    management: Api,
    machines: Iterable[MachineDeployment],
    namespace: str,
    at_hand: frozenset[tuple[str, str]] = frozenset(),
) -> Inputs:
    """The profiles in the management ``namespace``, and in namespaces that MachineDeployments name.

    A missing profile that is not ``at_hand`` is searched among KKP's CustomOperatingSystemProfiles, if the server has
    this kind. (In user clusters, KKP copies them to OperatingSystemProfiles.) Without the right to read them, only
    pools that need one fail.
    """
    live = _Live(management, namespace)
    needed = named_profiles(machines, namespace)
    namespaces = {namespace, *(each for each, _ in needed)}
    for each in sorted(namespaces):
        live.list(PROFILE, each)
    if not live.has_all(PROFILE, needed - at_hand) and management.serves(CUSTOM_PROFILE):
        return _with_custom_profiles(live, {*namespaces, KKP_NAMESPACE})
    return live.inputs()


def _with_custom_profiles(live: _Live, namespaces: Iterable[str]) -> Inputs:
    for each in sorted(namespaces):
        try:
            live.list(CUSTOM_PROFILE, each)
        except ClusterError as failure:
            if failure.status != _FORBIDDEN:
                raise
            live.builder.unreadable += failure.problems
    return live.inputs()


def read_facts(
    worker: Api,
    machines: Iterable[MachineDeployment],
    settings: Settings,
    environment: Mapping[str, str],
    *,
    tokens: bool = True,
) -> Inputs:
    """The facts that rendering needs for these MachineDeployments. ``tokens``: include bootstrap tokens.

    Of ``environment`` only the credential variables are kept.
    """
    live = _Live(worker)
    named = named_facts(machines, settings)
    live.named(SECRET, named.secrets)
    live.named(CONFIG_MAP, named.config_maps)
    if settings.bootstrap_token_service_account is None and tokens:
        live.list(SECRET, TOKEN_NAMESPACE, labels=NAME_LABEL)
    elif named.service_account is not None:
        live.service_account(*named.service_account)
    return _with_server(live, worker, settings, credential_environment(environment))


def read_server(worker: Api, settings: Settings) -> Inputs:
    """The facts for bootstrap kubeconfigs only (osm-behaviour.md, "Base kubeconfig")."""
    live = _Live(worker)
    live.named(CONFIG_MAP, [CLUSTER_INFO])
    return _with_server(live, worker, settings, {})


def _with_server(live: _Live, worker: Api, settings: Settings, environment: Mapping[str, str]) -> Inputs:
    if not live.has_cluster_info:
        # As in OSM (osm-behaviour.md, "Base kubeconfig").
        live.list(ENDPOINT_SLICE, API_SERVICE[0], labels=API_SERVICE[1])
    authority = runes(worker.certificate_authority.decode("utf-8", "surrogateescape"))
    live.builder.certificate_authority = authority
    if not authority and not settings.kubernetes_ca_bundle:
        live.builder.warnings.append(_no_authority(worker))
    return live.inputs(environment)


class _Live:
    """Collects the objects of one server."""

    def __init__(self, api: Api, management_namespace: str = "") -> None:
        self._api = api
        self._namespace = management_namespace
        self._origin = Origin(api.display)
        self.builder = InputsBuilder()
        self._known: set[ObjectRef] = set()
        self.has_cluster_info = False

    def inputs(self, environment: Mapping[str, str] | None = None) -> Inputs:
        return self.builder.inputs(environment or {}, (f"cluster {self._api.host}",))

    def has_all(self, kind: Kind, keys: Iterable[tuple[str, str]]) -> bool:
        """Whether all these objects of a kind were read."""
        return all(ObjectRef(kind.name, *key) in self._known for key in keys)

    def list(self, kind: Kind, namespace: str = "", *, labels: str = "", names: Collection[str] | None = None) -> None:
        """Read all objects of a kind, or those with some ``names``."""

        def keep(body: dict[str, Json]) -> Manifest | None:
            return self._manifest(body) if names is None or body["metadata"]["name"] in names else None

        for manifest in self._api.list(kind, keep, namespace, labels=labels):
            self._add(manifest)

    def named(self, kind: Kind, keys: Iterable[tuple[str, str]]) -> None:
        """Read objects by namespace and name, if they exist."""
        for namespace, names in by_namespace(keys).items():
            if len(names) > MOST_GETS:
                self.list(kind, namespace, names=frozenset(names))
            else:
                for name in names:
                    self._get(kind, namespace, name)

    def service_account(self, namespace: str, name: str) -> None:
        """Read a ServiceAccount and the Secrets that it lists."""
        body = self._get(SERVICE_ACCOUNT, namespace, name)
        listed = (body or {}).get("secrets") or []
        self.named(SECRET, {(namespace, each["name"]) for each in listed if each.get("name")})

    def _get(self, kind: Kind, namespace: str, name: str) -> Mapping[str, Json] | None:
        body = self._api.get(kind, namespace, name)
        if body is not None:
            self._add(self._manifest(body))
        return body

    def _manifest(self, body: dict[str, Json]) -> Manifest:
        """The object without managed fields and status."""
        body["metadata"].pop("managedFields", None)
        body.pop("status", None)
        manifest = identify(RawObject(body, self._origin, {}), self._namespace)
        if isinstance(manifest, Problem):  # API servers have no such objects
            raise ClusterError([manifest])
        return manifest

    def _add(self, manifest: Manifest) -> None:
        if manifest.ref not in self._known:
            self._known.add(manifest.ref)
            self.builder.add(manifest)
        if manifest.ref == ObjectRef(CONFIG_MAP.name, *CLUSTER_INFO):
            self.has_cluster_info = _is_readable(manifest)


def _no_authority(worker: Api) -> Problem:
    return Problem(
        Code.CLUSTER_CA_UNKNOWN,
        "the kubeconfig does not contain the CA certificate inline, so KubernetesCACert is empty, as with OSM",
        where=worker.display,
        fix="Give it with --kubernetes-ca-bundle if a profile prints it",
    )


def _is_readable(manifest: Manifest) -> bool:
    """Whether cluster-info has the address of the API server."""
    found = read_config_map(manifest).value
    try:
        cluster_info(Facts(config_maps={CLUSTER_INFO: found} if found else {}))
    except UnreadableClusterInfo:
        return False
    return True
