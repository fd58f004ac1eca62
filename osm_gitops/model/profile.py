"""OperatingSystemProfile, and OperatingSystemConfig, its rendering for one MachineDeployment (osm-behaviour.md,
"OperatingSystemProfile" and "OperatingSystemConfig")."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from osm_gitops.model.objects import Json, Manifest, ObjectRef

DEFAULT_PERMISSIONS = 644
DEFAULT_UTILITY = "cloud-init"
OVERLAY_BASE_ANNOTATION = "osm-gitops.io/overlay-base"
"""On a patched profile: the SHA-256 of the spec of the original profile, in hexadecimal."""
TEMPLATE_ANNOTATION = "osm-gitops.io/template"
JINJA2_V1 = "jinja2/v1"
BUILT_IN_ANNOTATION = "osm-gitops.io/built-in"
"""On a built-in profile: its version."""


@dataclass(frozen=True, slots=True)
class File:
    """A file on the node. ``permissions`` is a decimal number of octal digits (644)."""

    path: str
    content: str
    permissions: int = DEFAULT_PERMISSIONS
    encoding: str = ""

    def __hash__(self) -> int:
        return hash(self.content)  # what files differ in; caches ask for it a dozen times for each pool


@dataclass(frozen=True, slots=True)
class DropIn:
    """A systemd drop-in of a unit."""

    name: str
    content: str


@dataclass(frozen=True, slots=True)
class Unit:
    """A systemd unit; ``None`` means "not set", which differs from false in OSM's output."""

    name: str
    enable: bool | None = None
    mask: bool | None = None
    content: str | None = None
    drop_ins: tuple[DropIn, ...] = ()


@dataclass(frozen=True, slots=True)
class Modules:
    """cloud-init modules, inserted verbatim (osm-behaviour.md, "Kinds and shared types")."""

    bootcmd: tuple[str, ...] = ()
    rh_subscription: Mapping[str, str] = field(default_factory=dict)
    runcmd: tuple[str, ...] = ()
    yum_repos: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    yum_repo_dir: str = ""


@dataclass(frozen=True, slots=True)
class ContainerRuntime:
    """Files and templates that a profile adds for one container runtime."""

    name: str
    files: tuple[File, ...] = ()
    templates: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ProfileConfig:
    """One half of a profile (bootstrap or provisioning); ``modules`` may be set but empty."""

    runtimes: tuple[ContainerRuntime, ...] = ()
    templates: Mapping[str, str] = field(default_factory=dict)
    units: tuple[Unit, ...] = ()
    files: tuple[File, ...] = ()
    modules: Modules | None = None


@dataclass(frozen=True, slots=True)
class OperatingSystemProfile:
    """A profile with the CRD's defaults, from ``manifest``. ``built_in`` is the version of a built-in profile, else
    empty."""

    name: str
    namespace: str
    os_name: str
    os_version: str
    version: str
    providers: tuple[str, ...]
    provisioning_utility: str
    bootstrap: ProfileConfig
    provisioning: ProfileConfig
    manifest: Manifest
    jinja: bool = False
    built_in: str = ""

    @property
    def overlaid(self) -> bool:
        """Whether overlays have patched it."""
        annotations = self.manifest.body.get("metadata", {}).get("annotations") or {}
        return OVERLAY_BASE_ANNOTATION in annotations


@dataclass(frozen=True, slots=True)
class ProfileUse:
    """A profile of a cluster, and the pools that use it, sorted by name."""

    cluster: str
    profile: OperatingSystemProfile
    pools: tuple[ObjectRef, ...]

    @property
    def name(self) -> str:
        """The profile's namespace and name with a slash between them."""
        return f"{self.profile.namespace}/{self.profile.name}"


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
