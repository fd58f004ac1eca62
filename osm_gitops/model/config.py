"""OperatingSystemConfig: what one MachineDeployment gets (osm-behaviour.md, "OperatingSystemConfig")."""

from __future__ import annotations

from dataclasses import dataclass

from osm_gitops.model.objects import Json
from osm_gitops.model.profile import File, Modules, Unit


@dataclass(frozen=True, slots=True)
class ConfigHalf:
    """One half of a configuration (bootstrap or provisioning) after rendering."""

    files: tuple[File, ...] = ()
    units: tuple[Unit, ...] = ()
    ssh_keys: tuple[str, ...] = ()
    modules: Modules | None = None


@dataclass(frozen=True, slots=True)
class OperatingSystemConfig:
    """A rendered configuration. ``provider_spec`` is the MachineDeployment's, verbatim."""

    name: str
    namespace: str
    os_name: str
    os_version: str
    provider: str
    provider_spec: Json
    provisioning_utility: str
    bootstrap: ConfigHalf
    provisioning: ConfigHalf
