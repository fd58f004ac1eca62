"""``CloudConfig``: what in-tree cloud providers of old kubelets read (osm-behaviour.md, "Cloud provider" and
"Cloud-config").

Belongs here: one module per provider, the config variables that they share, and the rules on when there is a
cloud-config at all. May not come in: I/O, the environment (it comes with the facts), values of credentials in messages.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

from osm_gitops.errors import Code, InputError, Problem, did_you_mean, input_error
from osm_gitops.gocompat.semver import parse_version
from osm_gitops.model.inputs import Facts
from osm_gitops.model.machine import PROVIDER_CONFIG_FIELD, ProviderConfig
from osm_gitops.model.settings import Settings
from osm_gitops.render.resolve.cloudconfig import aws, azure, gce, kubevirt, openstack, vsphere
from osm_gitops.render.resolve.cloudconfig.cloud_spec import CloudSpec, Variable
from osm_gitops.render.resolve.json_fields import Reader, read_struct
from osm_gitops.render.resolve.machine_spec import KUBELET_FIELD, needs_no_cloud_config

CLOUD_SPEC_FIELD: Final = f"{PROVIDER_CONFIG_FIELD}.cloudProviderSpec"


class Provider(Protocol):
    """What a provider's module offers: the fields and environment variables that it reads, and the text."""

    @property
    def FIELDS(self) -> Mapping[str, Reader]: ...  # noqa: N802 - a module's constant

    @property
    def ENVIRONMENT(self) -> Collection[str]: ...  # noqa: N802 - a module's constant

    def render(self, spec: CloudSpec) -> str: ...


CLOUD_CONFIGS: Final[Mapping[str, Provider]] = {
    "aws": aws,
    "azure": azure,
    "gce": gce,
    "kubevirt": kubevirt,
    "openstack": openstack,
    "vsphere": vsphere,
}
"""Providers that OSM makes a cloud-config for."""
ENVIRONMENT: Final = tuple(sorted({name for provider in CLOUD_CONFIGS.values() for name in provider.ENVIRONMENT}))
"""Every environment variable that a cloud-config may fall back to; a source reads those that are set."""

_WITHOUT_CLOUD_CONFIG: Final = frozenset(
    {
        "alibaba", "anexia", "baremetal", "digitalocean", "edge", "hetzner", "linode", "nutanix", "opennebula",
        "scaleway", "vmware-cloud-director",
    }
)  # fmt: skip
PROVIDERS: Final = tuple(sorted({*CLOUD_CONFIGS, *_WITHOUT_CLOUD_CONFIG, "external", "fake"}))
"""Providers that a profile may support, as OSM's CRD names them (osm-behaviour.md, "OperatingSystemProfile")."""


@dataclass(frozen=True, slots=True)
class CloudConfig:
    """The text, empty where none is needed, and warnings about how OSM makes it."""

    text: str
    warnings: tuple[Problem, ...] = ()


def cloud_config(config: ProviderConfig, kubelet: str, settings: Settings, facts: Facts) -> CloudConfig:
    """The cloud-config of a MachineDeployment; ``kubelet`` is its version as written.

    Raises InputError with everything in the cloud provider spec that cannot be used.
    """
    if not _is_made(config, kubelet, settings):
        return CloudConfig(config.overwrite_cloud_config or "")
    if config.provider not in CLOUD_CONFIGS:
        raise InputError([_unknown_provider(config.provider)])
    return _render(CLOUD_CONFIGS[config.provider], config, kubelet, facts)


def makes_cloud_config(config: ProviderConfig, kubelet: str, settings: Settings) -> bool:
    """Whether OSM makes a cloud-config for a pool. Raises InputError where the kubelet's version is none."""
    return config.provider in CLOUD_CONFIGS and _is_made(config, kubelet, settings)


def variables(config: ProviderConfig, kubelet: str, settings: Settings) -> Iterator[Variable]:
    """The config variables that the cloud-config of a MachineDeployment is made of; none where it is not made.

    Raises InputError where the kubelet's version is none.
    """
    if config.provider_spec is not None and makes_cloud_config(config, kubelet, settings):
        fields = CLOUD_CONFIGS[config.provider].FIELDS
        yield from _variables(read_struct(config.provider_spec, CLOUD_SPEC_FIELD, fields, []))


def _variables(values: Mapping[str, Any]) -> Iterator[Variable]:
    for value in values.values():
        if isinstance(value, Variable):
            yield value
        elif isinstance(value, Mapping):
            yield from _variables(value)


def _is_made(config: ProviderConfig, kubelet: str, settings: Settings) -> bool:
    """Whether there is a cloud-config that OSM makes itself (osm-behaviour.md, "Cloud provider")."""
    if config.overwrite_cloud_config is not None or settings.external_cloud_provider:
        return False
    return not needs_no_cloud_config(kubelet) and config.provider not in _WITHOUT_CLOUD_CONFIG


def _render(provider: Provider, config: ProviderConfig, kubelet: str, facts: Facts) -> CloudConfig:
    if config.provider_spec is None:
        what = f"a kubelet {kubelet} on {config.provider} needs a cloud provider spec, and there is none"
        raise input_error(Code.MISSING_KEY, what, field=CLOUD_SPEC_FIELD, fix="Add cloudProviderSpec")
    problems: list[Problem] = []
    values = read_struct(config.provider_spec, CLOUD_SPEC_FIELD, provider.FIELDS, problems)
    if problems:
        raise InputError(problems)
    spec = CloudSpec(values, facts, kubelet)
    text = provider.render(spec)
    if spec.problems:
        raise InputError(spec.problems)
    return CloudConfig(text, (*_prerelease_warning(config.provider, kubelet), *spec.warnings))


def _prerelease_warning(provider: str, kubelet: str) -> tuple[Problem, ...]:
    """OSM's version checks pass over pre-releases (osm-behaviour.md, "Quirks", quirk 16)."""
    version = parse_version(kubelet)
    effects = []
    if (version.major, version.minor) >= (1, 29):
        effects.append("it gets a cloud-config")
    if provider == "openstack":
        effects.append("its cloud-config lacks manage-security-groups and ignore-volume-az")
    if not version.prerelease or not effects:
        return ()
    what = f"{kubelet} is a pre-release, which the version checks of OSM do not match: {' and '.join(effects)}"
    return (
        Problem(Code.KUBELET_PRERELEASE, what, field=KUBELET_FIELD, fix="Use a release, or set overwriteCloudConfig"),
    )


def _unknown_provider(provider: str) -> Problem:
    known = (*CLOUD_CONFIGS, *_WITHOUT_CLOUD_CONFIG)
    what = f'no cloud-config is known for cloud provider "{provider}"'
    field = f"{PROVIDER_CONFIG_FIELD}.cloudProvider"
    return Problem(
        Code.UNKNOWN_CLOUD_PROVIDER,
        what,
        field=field,
        fix=f"{did_you_mean(provider, known)}; or set --external-cloud-provider",
    )
