"""Read MachineDeployments, ConfigMaps, Secrets, ServiceAccounts and EndpointSlices: the fields that boot configurations
depend on (osm-behaviour.md, "MachineDeployment", "Getter token", "Registry credentials", "Config variables" and
"Bootstrap kubeconfig").
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from osm_gitops.errors import Code, Problem
from osm_gitops.gocompat.basetext import decode_base64
from osm_gitops.model.inputs import ConfigMapFact, SecretFact, ServiceAccountFact
from osm_gitops.model.machine import REVISION_ANNOTATION, MachineDeployment
from osm_gitops.model.objects import Json, Manifest, ObjectRef, authored_annotations
from osm_gitops.sources.schema import Checked, Reading

_TEMPLATE: Final = "spec.template"
_MACHINE: Final = "spec.template.spec"


def read_machine(manifest: Manifest) -> Checked[MachineDeployment]:
    """The MachineDeployment of ``manifest``. Fields that OSM does not read are not checked."""
    reading = Reading(manifest)
    metadata = reading.mapping(manifest.body, "", "metadata")
    spec = _required(reading, manifest.body, "", "spec")
    template = _required(reading, spec, "spec", "template")
    machine = _required(reading, template, _TEMPLATE, "spec")
    return reading.result(
        MachineDeployment(
            name=manifest.ref.name,
            namespace=manifest.ref.namespace,
            annotations=_annotations(reading, metadata),
            kubelet=_kubelet(reading, machine),
            provider_spec=_provider_spec(reading, machine),
            template=template,
            deleting=metadata.get("deletionTimestamp") is not None,
            manifest=manifest,
        )
    )


@dataclass(frozen=True, slots=True)
class Authored:
    """MachineDeployments of a tree as their authors wrote them."""

    machines: tuple[MachineDeployment, ...]
    broken: Mapping[ObjectRef, tuple[Problem, ...]]
    warnings: tuple[Problem, ...]


def as_authored(found: Iterable[MachineDeployment]) -> Authored:
    """MachineDeployments of a tree without server-side additions.

    Annotations of controllers and kubectl are removed. A revision is a warning: it would be wrong after the next change
    of the template. A pool with a deletion timestamp in its file is broken, since its objects would be deleted.
    """
    machines, broken, numbered = [], {}, []
    for machine in found:
        if REVISION_ANNOTATION in (machine.annotations or {}):
            numbered.append(machine.manifest)
        if machine.deleting:
            broken[machine.ref] = (_deleted(machine.manifest),)
        else:
            machines.append(without_server_annotations(machine))
    return Authored(tuple(machines), broken, (_numbered(numbered),) if numbered else ())


def without_server_annotations(machine: MachineDeployment) -> MachineDeployment:
    """The MachineDeployment without the annotations of controllers and kubectl."""
    # An empty map has another hash than none, so without such annotations nothing changes.
    return replace(machine, annotations=authored_annotations(machine.annotations)) if machine.annotations else machine


def _deleted(manifest: Manifest) -> Problem:
    field = "metadata.deletionTimestamp"
    return Problem(
        Code.DELETION_TIMESTAMP_IN_FILE,
        "only an API server sets this; with it the pool would count as deleted",
        where=manifest.line_of(field),
        about=str(manifest.ref),
        field=field,
        fix="Remove the file to delete the pool, or this field to keep it",
    )


def _numbered(manifests: Sequence[Manifest]) -> Problem:
    """One warning for all MachineDeployments."""
    field = f"metadata.annotations.{REVISION_ANNOTATION}"
    first, *others = manifests
    return Problem(
        Code.SERVER_FIELD_IN_FILE,
        "machine-controller sets this in the cluster, so the value of a file is ignored",
        where=first.line_of(field),
        about=f"{first.ref} and {len(others)} more" if others else str(first.ref),
        field=field,
        fix="Remove it: osm-gitops import writes manifests without server-side additions",
    )


def _required(reading: Reading, parent: Mapping[str, Json] | None, path: str, key: str) -> Mapping[str, Json] | None:
    """A mapping inside of ``parent``; ``None`` if it or its parent has a problem, which is reported once."""
    if parent is None:
        return None
    known = len(reading.problems)
    found = reading.mapping(parent, path, key, required=True)
    return found if len(reading.problems) == known else None


def _annotations(reading: Reading, metadata: Mapping[str, Json]) -> Mapping[str, str] | None:
    if metadata.get("annotations") is None:
        return None
    return reading.string_map(metadata, "metadata", "annotations")


def _kubelet(reading: Reading, machine: Mapping[str, Json] | None) -> str:
    versions = _required(reading, machine, _MACHINE, "versions")
    return "" if versions is None else reading.string(versions, f"{_MACHINE}.versions", "kubelet")


def _provider_spec(reading: Reading, machine: Mapping[str, Json] | None) -> Json:
    """The raw provider config; resolving decodes it with other rules (osm-behaviour.md, "JSON decoding")."""
    provider_spec = _required(reading, machine, _MACHINE, "providerSpec")
    if provider_spec is None:
        return None
    value = provider_spec.get("value")
    if value is None:
        reading.fault(
            Code.MISSING_KEY,
            f"{_MACHINE}.providerSpec.value",
            "is missing",
            "It is the provider config",
        )
    return value


CREDENTIAL_VARIABLES: Final = (
    *("AZURE_CLIENT_ID", "AZURE_CLIENT_SECRET", "AZURE_SUBSCRIPTION_ID", "AZURE_TENANT_ID"),
    *("GOOGLE_SERVICE_ACCOUNT", "KUBEVIRT_KUBECONFIG", "POD_NAMESPACE"),
    *("OS_APPLICATION_CREDENTIAL_ID", "OS_APPLICATION_CREDENTIAL_SECRET", "OS_AUTH_URL", "OS_DOMAIN_NAME"),
    *("OS_PASSWORD", "OS_PROJECT_ID", "OS_PROJECT_NAME", "OS_REGION_NAME", "OS_TENANT_ID", "OS_TENANT_NAME"),
    "OS_USER_NAME",
    *("VSPHERE_ADDRESS", "VSPHERE_ALLOW_INSECURE", "VSPHERE_PASSWORD", "VSPHERE_USERNAME"),
)
"""Environment variables that OSM uses as a fallback for cloud credentials (osm-behaviour.md, "Cloud-config by
provider")."""

SERVICE_LABEL: Final = "kubernetes.io/service-name"


def credential_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Only the credential variables of ``environment``."""
    return {name: environment[name] for name in CREDENTIAL_VARIABLES if name in environment}


def read_secret(manifest: Manifest) -> Checked[SecretFact]:
    """A Secret with decoded data; ``stringData`` takes precedence, as in the API server."""
    reading = Reading(manifest)
    body = manifest.body
    data: dict[str, bytes] = {}
    for key, text in reading.string_map(body, "", "data").items():
        value = decode_base64(text)
        if value is None:
            reading.fault(
                Code.INVALID_VALUE, f"data.{key}", "is not base64", "Encode it, or write the text under stringData"
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
