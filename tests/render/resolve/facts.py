"""Facts as tests write them: plain text in, records out."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Mapping
from typing import Any

from osm_gitops.model.inputs import ConfigMapFact, Facts, SecretFact, ServiceAccountFact
from osm_gitops.model.machine import MachineDeployment
from osm_gitops.model.objects import Manifest, ObjectRef, Origin

ORIGIN = Origin("facts.yaml", 1)


def secret(
    name: str,
    data: Mapping[str, str | bytes],
    *,
    namespace: str = "kube-system",
    kind: str = "Opaque",
    labels: Mapping[str, str] | None = None,
) -> SecretFact:
    decoded = {key: value.encode() if isinstance(value, str) else value for key, value in data.items()}
    return SecretFact(namespace, name, kind, decoded, labels or {}, ORIGIN)


def facts(
    *secrets: SecretFact,
    cluster_info: str | None = None,
    endpoint_slices: tuple[Mapping[str, Any], ...] = (),
    service_accounts: tuple[ServiceAccountFact, ...] = (),
) -> Facts:
    config_maps = {}
    if cluster_info is not None:
        config_map = ConfigMapFact("kube-public", "cluster-info", {"kubeconfig": cluster_info}, ORIGIN)
        config_maps[config_map.namespace, config_map.name] = config_map
    return Facts(
        {(item.namespace, item.name): item for item in secrets},
        config_maps,
        {(item.namespace, item.name): item for item in service_accounts},
        endpoint_slices,
    )


def machine(name: str = "workers", namespace: str = "kube-system") -> MachineDeployment:
    ref = ObjectRef("MachineDeployment", namespace, name)
    return MachineDeployment(
        name, namespace, {}, "1.34.2", {}, {}, deleting=False, manifest=Manifest(ref, {}, ORIGIN, {})
    )


def facts_of_case(objects: list[dict[str, Any]]) -> Facts:
    """The facts among the objects of a conformance case."""
    secrets = [
        secret(
            item["metadata"]["name"],
            {key: b64decode(value) for key, value in item["data"].items()},
            namespace=item["metadata"]["namespace"],
            kind=item.get("type", "Opaque"),
            labels=item["metadata"].get("labels"),
        )
        for item in objects
        if item["kind"] == "Secret"
    ]
    config_maps = [item for item in objects if item["kind"] == "ConfigMap"]
    cluster_info = next((item for item in config_maps if item["metadata"]["name"] == "cluster-info"), None)
    return facts(
        *secrets,
        cluster_info=cluster_info["data"]["kubeconfig"] if cluster_info else None,
        endpoint_slices=tuple(item for item in objects if item["kind"] == "EndpointSlice"),
    )
