"""The kubeconfig with which a kubelet asks for its certificate (osm-behaviour.md, "Bootstrap kubeconfig")."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from osm_gitops.errors import Code, input_error
from osm_gitops.gocompat.fault import GoError
from osm_gitops.gocompat.net import parse_ip
from osm_gitops.gocompat.yaml2 import encode
from osm_gitops.model.facts import Facts
from osm_gitops.model.objects import Json
from osm_gitops.model.settings import Settings
from osm_gitops.render.resolve.certificate_authority import certificate_authority
from osm_gitops.render.resolve.cluster_info import (
    CLUSTER_INFO_NAME,
    Cluster,
    Kubeconfig,
    UnreadableClusterInfo,
    cluster_info,
    only_cluster,
)

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
    """From cluster-info, or where that cannot be read from the EndpointSlices of the API server.

    Raises InputError where neither serves.
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
            Code.UNCODED,
            "the bootstrap kubeconfig cannot be written as YAML",
            fix="Look for control characters in the API server's URL, in cluster-info and in the bootstrap token",
        ) from None


def _members(cluster: Cluster) -> dict[str, Json]:
    data = {"certificate-authority-data": b64encode(cluster.ca_data).decode()} if cluster.ca_data else {}
    return {**cluster.other, **data, "server": cluster.server}


def _found(settings: Settings, facts: Facts) -> Kubeconfig:
    try:
        return cluster_info(facts)
    except UnreadableClusterInfo as fault:
        server = next(_ready_servers(facts), None)
        if server is None:
            raise input_error(
                Code.UNCODED,
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
