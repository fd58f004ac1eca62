"""How nodes reach the API server: the kubeconfig in ConfigMap ``kube-public/cluster-info`` as client-go reads it, the
certificate authority, and the kubeconfig with which a kubelet asks for its certificate (osm-behaviour.md, "Base
kubeconfig", "Certificate authority" and "Bootstrap kubeconfig"; design.md, "Cluster facts").
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, ParamSpec, TypeVar

from osm_gitops.errors import Code, InputError, Problem, input_error
from osm_gitops.gocompat.basetext import decode_base64, encode_base64
from osm_gitops.gocompat.fault import GoError
from osm_gitops.gocompat.net import parse_ip
from osm_gitops.gocompat.text import runes
from osm_gitops.gocompat.yaml2 import encode
from osm_gitops.model.inputs import Facts
from osm_gitops.model.objects import Json
from osm_gitops.model.profile import File
from osm_gitops.model.settings import Settings
from osm_gitops.render.resolve.bootstrap_token import TokenIndex, getter_token, token_index
from osm_gitops.render.resolve.containerd import config_toml, hosts_files, registry_credentials
from osm_gitops.yaml.kubernetes import load_documents

CLUSTER_INFO: Final = ("kube-public", "cluster-info")
CLUSTER_INFO_NAME: Final = f"ConfigMap {'/'.join(CLUSTER_INFO)}"
_KEY: Final = "kubeconfig"


class UnreadableClusterInfo(ValueError):
    """cluster-info is absent or cannot be read; the message is a clause that says why."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """A cluster of a kubeconfig; ``other`` are further keys that are not at their default."""

    server: str
    ca_data: bytes = b""
    other: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Kubeconfig:
    """What survives of a kubeconfig: its clusters, and top-level keys such as ``extensions``."""

    clusters: tuple[Cluster, ...]
    other: Mapping[str, Json] = field(default_factory=dict)


def cluster_info(facts: Facts) -> Kubeconfig:
    """The kubeconfig of cluster-info; raises UnreadableClusterInfo for any fault in it.

    Raises InputError if it is unknown whether there is one.
    """
    config_map = facts.config_map(CLUSTER_INFO)
    if config_map is None:
        raise UnreadableClusterInfo(f"{CLUSTER_INFO_NAME} was not found")
    if _KEY not in config_map.data:
        raise UnreadableClusterInfo(f'{CLUSTER_INFO_NAME} has no key "{_KEY}"')
    try:
        documents = load_documents(config_map.data[_KEY], str(config_map.origin))
    except InputError as fault:
        raise UnreadableClusterInfo(f"its kubeconfig is not YAML: {fault.problems[0].what}") from fault
    return _kubeconfig(documents[0].value if documents else None)


def only_cluster(kubeconfig: Kubeconfig, facts: Facts) -> Cluster:
    """The one cluster; OSM would take a random one of several, and crash without one (osm-behaviour.md, "Quirks", quirk
    21)."""
    if len(kubeconfig.clusters) == 1:
        return kubeconfig.clusters[0]
    raise input_error(
        Code.CLUSTER_INFO_INVALID,
        f"its kubeconfig must have exactly one cluster, not {len(kubeconfig.clusters)}",
        where=str(facts.config_maps[CLUSTER_INFO].origin),
        about=CLUSTER_INFO_NAME,
        field=f"data.{_KEY}",
        fix="Keep the cluster that new machines join",
    )


def _kubeconfig(document: Json) -> Kubeconfig:
    config = _mapping(document, "the kubeconfig")
    for key, wanted in (("apiVersion", "v1"), ("kind", "Config")):
        if _text(config, key) not in ("", wanted):
            raise UnreadableClusterInfo(f"{key} of its kubeconfig is not {wanted}")
    _text(config, "current-context")
    for key in ("contexts", "users"):
        _named(config, key)
    clusters = tuple(
        _cluster(_mapping(item.get("cluster"), f"cluster {name}")) for name, item in _named(config, "clusters").items()
    )
    return Kubeconfig(clusters, _present({"extensions": _extensions(config), "preferences": _preferences(config)}))


def _cluster(cluster: Mapping[str, Json]) -> Cluster:
    texts = {key: _text(cluster, key) for key in ("certificate-authority", "proxy-url", "tls-server-name")}
    flags = {key: _flag(cluster, key) for key in ("disable-compression", "insecure-skip-tls-verify")}
    other = _present({**texts, **flags, "extensions": _extensions(cluster)})
    return Cluster(_text(cluster, "server"), _bytes(cluster, "certificate-authority-data"), other)


def _preferences(config: Mapping[str, Json]) -> Mapping[str, Json]:
    preferences = _mapping(config.get("preferences"), "preferences")
    return _present({"colors": _flag(preferences, "colors"), "extensions": _extensions(preferences)})


def _extensions(parent: Mapping[str, Json]) -> list[Json]:
    named = _named(parent, "extensions")
    return [{"extension": named[name].get("extension"), "name": name} for name in sorted(named, key=str.encode)]


def _named(parent: Mapping[str, Json], key: str) -> dict[str, Mapping[str, Json]]:
    """A list of objects with names that differ, by name."""
    value = parent.get(key)
    items = [] if value is None else value
    if not isinstance(items, list):
        raise UnreadableClusterInfo(f"{key} of its kubeconfig is not a list")
    named: dict[str, Mapping[str, Json]] = {}
    for item in items:
        entry = _mapping(item, f"an entry of {key}")
        name = _text(entry, "name")
        if name in named:
            raise UnreadableClusterInfo(f'{key} of its kubeconfig has the name "{name}" twice')
        named[name] = entry
    return named


def _present(values: Mapping[str, Json]) -> dict[str, Json]:
    """Without the values that Go leaves out because they are empty."""
    return {key: value for key, value in values.items() if value}


def _mapping(value: Json, what: str) -> Mapping[str, Json]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise UnreadableClusterInfo(f"{what} is not an object")
    return value


def _text(parent: Mapping[str, Json], key: str) -> str:
    value = parent.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise UnreadableClusterInfo(f"{key} in its kubeconfig is not a string")
    return value


def _flag(parent: Mapping[str, Json], key: str) -> bool:
    value = parent.get(key)
    if value is None:
        return False
    if not isinstance(value, bool):
        raise UnreadableClusterInfo(f"{key} in its kubeconfig is neither true nor false")
    return value


def _bytes(parent: Mapping[str, Json], key: str) -> bytes:
    decoded = decode_base64(_text(parent, key))
    if decoded is None:
        raise UnreadableClusterInfo(f"{key} in its kubeconfig is not base64")
    return decoded


_FIX = "Give it with --kubernetes-ca-bundle"


def certificate_authority(settings: Settings, facts: Facts) -> str:
    """The CA bundle of the settings, else that of a live source, else that of the only cluster in ``cluster-info``.

    A CA that is named as a file is the empty string. Raises InputError if there is none.
    """
    if settings.kubernetes_ca_bundle:
        return settings.kubernetes_ca_bundle
    if facts.certificate_authority is not None:
        return facts.certificate_authority
    try:
        kubeconfig = cluster_info(facts)
    except UnreadableClusterInfo as fault:
        raise input_error(
            Code.CLUSTER_CA_MISSING,
            f"there is no CA certificate for the cluster: {fault}",
            about=CLUSTER_INFO_NAME,
            fix=_FIX,
        ) from None
    return runes(only_cluster(kubeconfig, facts).ca_data.decode("utf-8", "surrogateescape"))


# A bootstrap token that needs no quotes for certain: no number has another letter than e.
_PLAIN_TOKEN: Final = re.compile(r"(?=.*[a-df-z])[a-z0-9]{6}\.[a-z0-9]{16}")


@dataclass(frozen=True, slots=True)
class BaseKubeconfig:
    """All of the kubeconfig but the token: made once per cluster.

    ``server`` is the URL of the API server as machines reach it.
    """

    server: str
    text: str = field(repr=False)

    def with_token(self, token: str) -> str:
        """The whole text. ``users`` is its last key, because keys are sorted."""
        if _PLAIN_TOKEN.fullmatch(token):
            return f"{self.text}users:\n- name: c\n  user:\n    token: {token}\n"
        return self.text + _encode({"users": [{"name": "c", "user": {"token": token}}]})


def base_kubeconfig(settings: Settings, facts: Facts) -> BaseKubeconfig:
    """The address from cluster-info, or if that is unreadable, from the EndpointSlices of the API server.

    Raises InputError if both fail.
    """
    kubeconfig = _found(settings, facts)
    cluster = only_cluster(kubeconfig, facts)
    if settings.override_bootstrap_kubelet_apiserver:
        cluster = replace(cluster, server=settings.override_bootstrap_kubelet_apiserver)
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": _members(cluster)}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "c"}}],
        "current-context": "c",
        **kubeconfig.other,
    }
    return BaseKubeconfig(cluster.server, _encode(document))


def _encode(document: dict[str, Json]) -> str:
    try:
        return encode(document)
    except GoError:
        raise input_error(
            Code.BOOTSTRAP_KUBECONFIG_INVALID,
            "the bootstrap kubeconfig cannot be written as YAML",
            fix="Look for control characters in the API server's URL, in cluster-info and in the bootstrap token",
        ) from None


def _members(cluster: Cluster) -> dict[str, Json]:
    data = {"certificate-authority-data": encode_base64(cluster.ca_data)} if cluster.ca_data else {}
    return {**cluster.other, **data, "server": cluster.server}


def _found(settings: Settings, facts: Facts) -> Kubeconfig:
    try:
        return cluster_info(facts)
    except UnreadableClusterInfo as fault:
        server = next(_ready_servers(facts), None)
        if server is None:
            raise input_error(
                Code.API_SERVER_UNKNOWN,
                f"the address of the API server is not known: {fault}, and {_why_no_server(facts)}",
                about=CLUSTER_INFO_NAME,
                fix="Add the ConfigMap, or the EndpointSlices of Service default/kubernetes, to the source",
            ) from None
    return Kubeconfig((Cluster(server, certificate_authority(settings, facts).encode()),))


def _why_no_server(facts: Facts) -> str:
    if not facts.endpoint_slices:
        return "there are no EndpointSlices of Service default/kubernetes"
    return "no EndpointSlice of Service default/kubernetes has a ready endpoint with an IP and a port named https"


def _ready_servers(facts: Facts) -> Iterator[str]:
    """URLs of the API server's ready endpoints, in order; entries of a wrong shape do not count."""
    for endpoint_slice in facts.endpoint_slices:
        port = _https_port(endpoint_slice)
        for endpoint in _objects(endpoint_slice, "endpoints") if port else ():
            conditions = endpoint.get("conditions")
            addresses = endpoint.get("addresses")
            if isinstance(conditions, Mapping) and conditions.get("ready") is True and isinstance(addresses, list):
                host = _host(addresses[0]) if addresses else ""
                if host:
                    yield f"https://{host}:{port}"


def _https_port(endpoint_slice: Mapping[str, Json]) -> int | None:
    """The first port that is named https and has a number."""
    numbers = (port.get("port") for port in _objects(endpoint_slice, "ports") if port.get("name") == "https")
    return next((number for number in numbers if isinstance(number, int)), None)


def _objects(parent: Mapping[str, Json], key: str) -> list[Mapping[str, Json]]:
    entries = parent.get(key)
    return [entry for entry in entries if isinstance(entry, Mapping)] if isinstance(entries, list) else []


def _host(address: Json) -> str:
    """The canonical address, an IPv6 one in brackets; empty for a name."""
    try:
        host = parse_ip(str(address))
    except GoError:
        return ""
    return f"[{host}]" if ":" in host else host


P = ParamSpec("P")
T = TypeVar("T")


class ErrorCollector:
    """Runs steps that may raise InputError, and keeps each problem once, in order."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []

    def run(self, step: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T | None:
        """The result of a step, or ``None`` if it failed."""
        try:
            return step(*args, **kwargs)
        except InputError as failure:
            self.problems += [problem for problem in failure.problems if problem not in self.problems]
            return None


@dataclass(frozen=True, slots=True)
class ClusterFacts:
    """A cluster's settings, and values derived from settings and facts."""

    settings: Settings
    facts: Facts
    tokens: TokenIndex
    kubeconfig: BaseKubeconfig
    ca_certificate: str
    getter_token: str
    containerd_config: str
    hosts_files: tuple[File, ...]
    warnings: tuple[Problem, ...]


def resolve_cluster(settings: Settings, facts: Facts) -> ClusterFacts:
    """Resolve what all pools share. Raises InputError with all problems."""
    faults = ErrorCollector()
    kubeconfig = faults.run(base_kubeconfig, settings, facts)
    authority = faults.run(certificate_authority, settings, facts)
    getter = faults.run(getter_token, facts)
    registries = faults.run(registry_credentials, settings, facts)
    if kubeconfig is None or authority is None or getter is None or registries is None:
        raise InputError(faults.problems)
    credentials, warnings = registries
    return ClusterFacts(
        settings=settings,
        facts=facts,
        tokens=token_index(settings, facts),
        kubeconfig=kubeconfig,
        ca_certificate=authority,
        getter_token=getter,
        containerd_config=config_toml(settings, credentials),
        hosts_files=hosts_files(settings),
        warnings=warnings if authority.strip() else (*warnings, _empty_authority(facts)),
    )


def _empty_authority(facts: Facts) -> Problem:
    found = facts.config_maps.get(CLUSTER_INFO)
    return Problem(
        Code.CLUSTER_CA_EMPTY,
        "there is no CA certificate in its kubeconfig, so nodes get an empty CA file",
        where=str(found.origin) if found else "",
        about=CLUSTER_INFO_NAME,
        field=f"data.{_KEY}",
        fix="Add certificate-authority-data, or give the certificate with --kubernetes-ca-bundle",
    )
