"""ConfigMaps, Secrets, ServiceAccounts, EndpointSlices: what rendering looks up in a cluster (osm-behaviour.md, "Getter
token" and "Registry credentials" and "Config variables" and "Bootstrap kubeconfig")."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from osm_gitops.errors import Code
from osm_gitops.gocompat.basetext import decode_base64
from osm_gitops.model.inputs import ConfigMapFact, SecretFact, ServiceAccountFact
from osm_gitops.model.objects import Json, Manifest
from osm_gitops.sources.schema import Checked, Reading

CREDENTIAL_VARIABLES: Final = (
    *("AZURE_CLIENT_ID", "AZURE_CLIENT_SECRET", "AZURE_SUBSCRIPTION_ID", "AZURE_TENANT_ID"),
    *("GOOGLE_SERVICE_ACCOUNT", "KUBEVIRT_KUBECONFIG", "POD_NAMESPACE"),
    *("OS_APPLICATION_CREDENTIAL_ID", "OS_APPLICATION_CREDENTIAL_SECRET", "OS_AUTH_URL", "OS_DOMAIN_NAME"),
    *("OS_PASSWORD", "OS_PROJECT_ID", "OS_PROJECT_NAME", "OS_REGION_NAME", "OS_TENANT_ID", "OS_TENANT_NAME"),
    "OS_USER_NAME",
    *("VSPHERE_ADDRESS", "VSPHERE_ALLOW_INSECURE", "VSPHERE_PASSWORD", "VSPHERE_USERNAME"),
)
"""The environment variables that OSM falls back to for cloud credentials (osm-behaviour.md, "Cloud-config by
provider")."""

SERVICE_LABEL: Final = "kubernetes.io/service-name"


def credential_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """The credential variables among ``environment``; nothing else of it is kept."""
    return {name: environment[name] for name in CREDENTIAL_VARIABLES if name in environment}


def read_secret(manifest: Manifest) -> Checked[SecretFact]:
    """A Secret with decoded data; ``stringData`` wins, as in the API server."""
    reading = Reading(manifest)
    body = manifest.body
    data: dict[str, bytes] = {}
    for key, text in reading.string_map(body, "", "data").items():
        value = decode_base64(text)
        if value is None:
            reading.fault(
                Code.INVALID_VALUE, f"data.{key}", "is no base64", "Encode it, or write the text under stringData"
            )
        else:
            data[key] = value
    for key, text in reading.string_map(body, "", "stringData").items():
        data[key] = text.encode()
    metadata = reading.mapping(body, "", "metadata")
    secret = SecretFact(
        namespace=manifest.ref.namespace,
        name=manifest.ref.name,
        type=reading.optional_string(body, "", "type") or "Opaque",
        data=data,
        labels=reading.string_map(metadata, "metadata", "labels"),
        origin=manifest.origin,
    )
    return reading.result(secret)


def read_config_map(manifest: Manifest) -> Checked[ConfigMapFact]:
    reading = Reading(manifest)
    data = reading.string_map(manifest.body, "", "data")
    return reading.result(ConfigMapFact(manifest.ref.namespace, manifest.ref.name, data, manifest.origin))


def read_service_account(manifest: Manifest) -> Checked[ServiceAccountFact]:
    reading = Reading(manifest)
    names = tuple(
        reading.optional_string(secret, path, "name") or ""
        for path, secret in reading.entries(manifest.body, "", "secrets")
    )
    return reading.result(ServiceAccountFact(manifest.ref.namespace, manifest.ref.name, names, manifest.origin))


def serves_api(body: Mapping[str, Json], namespace: str) -> bool:
    """Whether an EndpointSlice lists the API servers (osm-behaviour.md, "Base kubeconfig")."""
    metadata = body.get("metadata")
    labels = metadata.get("labels") if isinstance(metadata, dict) else None
    return namespace == "default" and isinstance(labels, dict) and labels.get(SERVICE_LABEL) == "kubernetes"
