"""MachineDeployment: the fields that a boot configuration depends on (contract §1.4)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from osm_gitops.model.machine import MachineDeployment
from osm_gitops.model.objects import Json, Manifest
from osm_gitops.sources.schema import Checked, Reading

_TEMPLATE: Final = "spec.template"
_MACHINE: Final = "spec.template.spec"


def read_machine(manifest: Manifest) -> Checked[MachineDeployment]:
    """The MachineDeployment that ``manifest`` holds; what OSM does not read is left alone."""
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


def _required(reading: Reading, parent: Mapping[str, Json] | None, path: str, key: str) -> Mapping[str, Json] | None:
    """A mapping inside of ``parent``; ``None`` where it or its parent has a problem, which is then named once."""
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
    """The provider config as it stands; resolving decodes it with its own rules (contract §2.1)."""
    provider_spec = _required(reading, machine, _MACHINE, "providerSpec")
    if provider_spec is None:
        return None
    value = provider_spec.get("value")
    if value is None:
        reading.fault(f"{_MACHINE}.providerSpec.value", "is missing", "It holds the provider config of the pool")
    return value
