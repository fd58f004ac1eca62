"""The kubeconfig in ConfigMap ``kube-public/cluster-info``, read as client-go does (osm-behaviour.md, "Base
kubeconfig")."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from osm_gitops.errors import Code, InputError, input_error
from osm_gitops.gocompat.basetext import decode_base64
from osm_gitops.model.facts import Facts
from osm_gitops.model.objects import Json
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

    Raises InputError where nobody can tell whether there is one.
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
        Code.UNCODED,
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
        raise UnreadableClusterInfo(f"{key} of its kubeconfig is no list")
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
        raise UnreadableClusterInfo(f"{what} is no object")
    return value


def _text(parent: Mapping[str, Json], key: str) -> str:
    value = parent.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise UnreadableClusterInfo(f"{key} in its kubeconfig is no string")
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
