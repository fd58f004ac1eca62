"""Read OperatingSystemProfiles with the schema and defaults of the CRD and the rules of the webhook (osm-behaviour.md,
"Kinds and shared types", "OperatingSystemProfile" and "Webhooks")."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from osm_gitops.errors import Code
from osm_gitops.gocompat.regex import compile_pattern
from osm_gitops.model.objects import OPERATING_SYSTEMS, Json, Manifest
from osm_gitops.model.profile import (
    DEFAULT_PERMISSIONS,
    DEFAULT_UTILITY,
    JINJA2_V1,
    TEMPLATE_ANNOTATION,
    ContainerRuntime,
    DropIn,
    File,
    Modules,
    OperatingSystemProfile,
    ProfileConfig,
    Unit,
)
from osm_gitops.render.resolve.cloudconfig import PROVIDERS
from osm_gitops.sources.schema import Checked, Reading

FORMER_PROVIDERS: Final = ("equinixmetal", "packet", "vultr")
"""Providers of machine-controller that OSM's CRD no longer has (osm-behaviour.md, "MachineDeployment"), but released
profiles of OSM still list."""

RUNTIMES: Final = ("docker", "containerd")
UTILITIES: Final = ("cloud-init", "ignition")

# The pattern of the CRD, osm-behaviour.md, "OperatingSystemProfile": unanchored at the start.
VERSION_PATTERN: Final = (
    r"v(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)"
    r"(?:-((?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)(?:\.(?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*))*))?"
    r"(?:\+([0-9a-zA-Z-]+(?:\.[0-9a-zA-Z-]+)*))?$"
)
_TOP: Final = ("apiVersion", "kind", "metadata", "spec", "status")
_SPEC: Final = (
    "osName",
    "osVersion",
    "version",
    "supportedCloudProviders",
    "bootstrapConfig",
    "provisioningConfig",
    "provisioningUtility",
)
_CONFIG: Final = ("supportedContainerRuntimes", "templates", "units", "files", "modules")
_MODULES: Final = ("bootcmd", "rh_subscription", "runcmd", "yum_repos", "yum_repo_dir")


def read_profile(manifest: Manifest) -> Checked[OperatingSystemProfile]:
    """The profile of ``manifest``, with the defaults of the API server."""
    reading = Reading(manifest)
    body = manifest.body
    reading.only(body, "", _TOP)
    spec = reading.mapping(body, "", "spec", required=True)
    if not isinstance(body.get("spec"), dict):
        return Checked(None, tuple(reading.problems), tuple(reading.warnings))
    reading.only(spec, "spec", _SPEC)
    os_name = reading.string(spec, "spec", "osName", among=OPERATING_SYSTEMS)
    profile = OperatingSystemProfile(
        name=manifest.ref.name,
        namespace=manifest.ref.namespace,
        os_name=os_name,
        os_version=reading.string(spec, "spec", "osVersion"),
        version=_version(reading, spec),
        providers=_providers(reading, spec),
        provisioning_utility=reading.optional_string(spec, "spec", "provisioningUtility", among=UTILITIES)
        or DEFAULT_UTILITY,
        bootstrap=_config(reading, spec, "bootstrapConfig", os_name),
        provisioning=_config(reading, spec, "provisioningConfig", os_name),
        manifest=manifest,
        jinja=_is_jinja(reading, body),
    )
    return reading.result(profile)


def _version(reading: Reading, spec: Mapping[str, Json]) -> str:
    before = len(reading.problems)
    version = reading.string(spec, "spec", "version")
    if len(reading.problems) == before and not compile_pattern(VERSION_PATTERN).matches(version):
        reading.fault(
            Code.INVALID_VALUE,
            "spec.version",
            "is not a version of the form v1.2.3",
            "Write v, three numbers, and a suffix if any",
        )
    return version


def _providers(reading: Reading, spec: Mapping[str, Json]) -> tuple[str, ...]:
    names = []
    for path, provider in reading.entries(spec, "spec", "supportedCloudProviders", required=True):
        reading.only(provider, path, ("name", "spec"))
        name = reading.string(provider, path, "name", among=(*PROVIDERS, *FORMER_PROVIDERS))
        if name in FORMER_PROVIDERS:
            reading.warn(
                Code.API_SERVER_REFUSES,
                f"{path}.name",
                f"OSM's CRD no longer knows {name}; the API server refuses it",
                "Remove it",
            )
        names.append(name)
        reading.mapping(provider, path, "spec")
    return tuple(names)


def _is_jinja(reading: Reading, body: Mapping[str, Json]) -> bool:
    annotations = reading.mapping(reading.mapping(body, "", "metadata"), "metadata", "annotations")
    language = annotations.get(TEMPLATE_ANNOTATION)
    if language is not None and language != JINJA2_V1:
        path = f"metadata.annotations.{TEMPLATE_ANNOTATION}"
        reading.fault(
            Code.UNKNOWN_TEMPLATE_LANGUAGE,
            path,
            "names a template language that this version does not support",
            f"It supports {JINJA2_V1}",
        )
    return bool(language == JINJA2_V1)


def _config(reading: Reading, spec: Mapping[str, Json], key: str, os_name: str) -> ProfileConfig:
    path = f"spec.{key}"
    config = reading.mapping(spec, "spec", key, required=True)
    reading.only(config, path, _CONFIG)
    units = tuple(_unit(reading, unit, place) for place, unit in reading.entries(config, path, "units"))
    if units and os_name != "flatcar":
        # OSM renders them; only its admission webhook refuses them (osm-behaviour.md, "Webhooks").
        reading.warn(
            Code.API_SERVER_REFUSES,
            f"{path}.units",
            f"OSM's webhook refuses units in a profile for {os_name}: only flatcar has them",
        )
    return ProfileConfig(
        runtimes=tuple(
            _runtime(reading, runtime, place)
            for place, runtime in reading.entries(config, path, "supportedContainerRuntimes")
        ),
        templates=reading.string_map(config, path, "templates"),
        units=units,
        files=_files(reading, config, path),
        modules=_modules(reading, config, path),
    )


def _runtime(reading: Reading, runtime: Mapping[str, Json], path: str) -> ContainerRuntime:
    reading.only(runtime, path, ("name", "files", "templates"))
    return ContainerRuntime(
        name=reading.string(runtime, path, "name", among=RUNTIMES),
        files=_files(reading, runtime, path, required=True),
        templates=reading.string_map(runtime, path, "templates"),
    )


def _files(reading: Reading, parent: Mapping[str, Json], path: str, *, required: bool = False) -> tuple[File, ...]:
    return tuple(
        _file(reading, file, place) for place, file in reading.entries(parent, path, "files", required=required)
    )


def _file(reading: Reading, file: Mapping[str, Json], path: str) -> File:
    reading.only(file, path, ("path", "permissions", "content"))
    place = reading.string(file, path, "path")
    content = reading.mapping(file, path, "content", required=True)
    reading.only(content, f"{path}.content", ("inline",))
    inline = content.get("inline")
    text = encoding = ""
    if isinstance(inline, dict):
        at = f"{path}.content.inline"
        reading.only(inline, at, ("encoding", "data"))
        text = reading.string(inline, at, "data")
        encoding = reading.optional_string(inline, at, "encoding") or ""
    elif isinstance(file.get("content"), dict):
        if inline is None:
            reading.fault(
                Code.MISSING_KEY, f"{path}.content", "has no inline content", "Add inline.data; there is no other kind"
            )
        else:
            reading.mapping(content, f"{path}.content", "inline")
    return File(place, text, reading.int32(file, path, "permissions", DEFAULT_PERMISSIONS), encoding)


def _unit(reading: Reading, unit: Mapping[str, Json], path: str) -> Unit:
    reading.only(unit, path, ("name", "enable", "mask", "content", "dropIns"))
    return Unit(
        name=reading.string(unit, path, "name"),
        enable=reading.boolean(unit, path, "enable"),
        mask=reading.boolean(unit, path, "mask"),
        content=reading.optional_string(unit, path, "content"),
        drop_ins=tuple(_drop_in(reading, drop_in, place) for place, drop_in in reading.entries(unit, path, "dropIns")),
    )


def _drop_in(reading: Reading, drop_in: Mapping[str, Json], path: str) -> DropIn:
    reading.only(drop_in, path, ("name", "content"))
    return DropIn(reading.string(drop_in, path, "name"), reading.string(drop_in, path, "content"))


def _modules(reading: Reading, config: Mapping[str, Json], parent: str) -> Modules | None:
    modules = reading.mapping(config, parent, "modules")
    if not isinstance(config.get("modules"), dict):
        return None
    path = f"{parent}.modules"
    reading.only(modules, path, _MODULES)
    repos = reading.mapping(modules, path, "yum_repos")
    return Modules(
        bootcmd=reading.strings(modules, path, "bootcmd"),
        rh_subscription=reading.string_map(modules, path, "rh_subscription"),
        runcmd=reading.strings(modules, path, "runcmd"),
        yum_repos={name: reading.string_map(repos, f"{path}.yum_repos", name) for name in repos},
        yum_repo_dir=reading.optional_string(modules, path, "yum_repo_dir") or "",
    )
