"""What a MachineDeployment says of its machines: the provider config, decoded strictly, the operating system and the
version of the kubelet (osm-behaviour.md, "MachineDeployment", "JSON decoding", "Profile selection", "Operating system
spec", "RHEL subscription" and "Kubelet version").
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from osm_gitops.errors import Code, InputError, Problem, did_you_mean, input_error
from osm_gitops.gocompat.fault import GoError
from osm_gitops.gocompat.semver import Version, parse_constraint, parse_version
from osm_gitops.model.machine import EMPTY_OS_SPEC, PROVIDER_CONFIG_FIELD, Network, OsSpec, ProviderConfig
from osm_gitops.model.objects import Json
from osm_gitops.render.resolve.json_fields import (
    Reader,
    boolean,
    optional,
    raw,
    read_struct,
    string,
    strings,
    struct,
)

_NETWORK: Final[Mapping[str, Reader]] = {
    "cidr": string,
    "gateway": string,
    "dns": struct({"servers": strings}, strict=True),
    "ipFamily": string,
}
_FIELDS: Final[Mapping[str, Reader]] = {
    "sshPublicKeys": strings,
    "caPublicKey": string,
    "cloudProvider": string,
    "cloudProviderSpec": raw,
    "operatingSystem": string,
    "operatingSystemSpec": raw,
    "network": optional(struct(_NETWORK, strict=True)),
    "overwriteCloudConfig": optional(string),
}


def decode_provider_config(value: Json) -> ProviderConfig:
    """Decode ``spec.template.spec.providerSpec.value``.

    Raises InputError with every unknown key and wrong type, each with its field path. Whether the profile supports the
    system and the provider is checked elsewhere.
    """
    if value is None:
        raise input_error(
            Code.MISSING_KEY,
            "the MachineDeployment has no provider config",
            field=PROVIDER_CONFIG_FIELD,
            fix="Set at least cloudProvider, cloudProviderSpec and operatingSystem there",
        )
    problems: list[Problem] = []
    config = _decode(value, problems)
    if problems:
        raise InputError(problems)
    return config


def readable_provider_config(value: Json) -> ProviderConfig:
    """What can be read of a provider config that :func:`decode_provider_config` refuses.

    With it the other checks of a pool still run, so that all of its problems come at once.
    """
    return _decode(value, [])


def _decode(value: Json, problems: list[Problem]) -> ProviderConfig:
    found = read_struct(value, PROVIDER_CONFIG_FIELD, _FIELDS, problems, strict=True)
    network = found.get("network")
    return ProviderConfig(
        ssh_keys=found.get("sshPublicKeys", ()),
        provider=found.get("cloudProvider", ""),
        provider_spec=found.get("cloudProviderSpec"),
        os=found.get("operatingSystem", ""),
        os_spec=found.get("operatingSystemSpec"),
        network=None if network is None else _network(network),
        overwrite_cloud_config=found.get("overwriteCloudConfig"),
    )


def _network(found: Mapping[str, Json]) -> Network:
    return Network(
        cidr=found.get("cidr", ""),
        gateway=found.get("gateway", ""),
        dns_servers=found.get("dns", {}).get("servers", ()),
        ip_family=found.get("ipFamily", ""),
    )


CLOUD_INIT: Final = "cloud-init"
IGNITION: Final = "ignition"
OS_SPEC_FIELD: Final = f"{PROVIDER_CONFIG_FIELD}.operatingSystemSpec"

# JSON key: (attribute of OsSpec, reader), for each operating system that OSM knows.
_Fields = Mapping[str, tuple[str, Reader]]
_UPGRADE: Final[_Fields] = {"distUpgradeOnBoot": ("dist_upgrade_on_boot", boolean)}
_SPEC_FIELDS: Final[Mapping[str, _Fields]] = {
    "amzn2": _UPGRADE,
    "rockylinux": _UPGRADE,
    "ubuntu": _UPGRADE,
    "flatcar": {
        "disableAutoUpdate": ("disable_auto_update", boolean),
        "disableLocksmithD": ("disable_locksmith_d", boolean),
        "disableUpdateEngine": ("disable_update_engine", boolean),
        "provisioningUtility": ("provisioning_utility", string),
    },
    "rhel": {
        **_UPGRADE,
        "rhelSubscriptionManagerUser": ("rhel_subscription_manager_user", string),
        "rhelSubscriptionManagerPassword": ("rhel_subscription_manager_password", string),
        "rhsmOfflineToken": ("rhsm_offline_token", string),
        "attachSubscription": ("attach_subscription", boolean),
        "rhelUseSatelliteServer": ("rhel_use_satellite_server", boolean),
        "rhelSatelliteServer": ("rhel_satellite_server", string),
        "rhelOrganizationName": ("rhel_organization_name", string),
        "rhelActivationKey": ("rhel_activation_key", string),
    },
}
OS_SPEC_KEYS: Final = {os: tuple(fields) for os, fields in _SPEC_FIELDS.items()}
"""The keys of ``operatingSystemSpec`` by operating system."""


def decode_os_spec(os: str, value: Json) -> OsSpec:
    """Decode ``operatingSystemSpec`` of operating system ``os``; unknown keys are passed over.

    Raises InputError for wrong types and for an operating system that OSM does not know.
    """
    if os not in _SPEC_FIELDS:
        what = f'unknown operating system "{os}"' if os else "no operating system is named"
        raise input_error(
            Code.UNKNOWN_OPERATING_SYSTEM,
            what,
            field=f"{PROVIDER_CONFIG_FIELD}.operatingSystem",
            fix=did_you_mean(os, _SPEC_FIELDS),
        )
    found = _decode_spec(_SPEC_FIELDS[os], value)
    return OsSpec(**found) if found else EMPTY_OS_SPEC


def dist_upgrade(value: Json) -> bool:
    """``distUpgradeOnBoot`` of an ``operatingSystemSpec``, which cloud-init obeys on any system (osm-behaviour.md,
    "User-data")."""
    return bool(_decode_spec(_UPGRADE, value).get("dist_upgrade_on_boot", False))


def provisioning_utility(os: str, os_spec: OsSpec) -> str:
    """The utility that machines boot with: flatcar's choice, ignition by default, cloud-init elsewhere."""
    if os != "flatcar":
        return CLOUD_INIT
    return os_spec.provisioning_utility or IGNITION


def rh_subscription(spec: OsSpec) -> dict[str, str]:
    """cloud-init's module ``rh_subscription`` for RHEL (osm-behaviour.md, "RHEL subscription")."""
    if spec.rhel_use_satellite_server:
        return {
            "org": spec.rhel_organization_name,
            "activation-key": spec.rhel_activation_key,
            "server-hostname": spec.rhel_satellite_server,
            "rhsm-baseurl": f"https://{spec.rhel_satellite_server}/pulp/repos",
        }
    return {
        "username": spec.rhel_subscription_manager_user,
        "password": spec.rhel_subscription_manager_password,
        "auto-attach": "true" if spec.attach_subscription else "false",
    }


def _decode_spec(fields: _Fields, value: Json) -> dict[str, Json]:
    if value is None or value == {}:  # as that of most pools
        return {}
    problems: list[Problem] = []
    found = read_struct(value, OS_SPEC_FIELD, {key: reader for key, (_, reader) in fields.items()}, problems)
    if problems:
        raise InputError(problems)
    return {fields[key][0]: entry for key, entry in found.items()}


KUBELET_FIELD: Final = "spec.template.spec.versions.kubelet"

_WITHOUT_IN_TREE_PROVIDERS: Final = ">= 1.29"


def kube_version(text: str) -> str:
    """``versions.kubelet`` for templates: ``1.30`` becomes ``v1.30.0``. Raises InputError."""
    return f"v{_parse(text)}"


def satisfies(text: str, constraint: str) -> bool:
    """Whether ``versions.kubelet`` satisfies a semver constraint; a pre-release satisfies hardly any."""
    return parse_constraint(constraint).check(_parse(text))


def needs_no_cloud_config(text: str) -> bool:
    """Whether the kubelet is too new for in-tree cloud providers (``1.29.0-rc.1`` is not: osm-behaviour.md, "Quirks",
    quirk 16)."""
    return satisfies(text, _WITHOUT_IN_TREE_PROVIDERS)


def _parse(text: str) -> Version:
    try:
        return parse_version(text)
    except GoError:
        what = f'"{text}" is not a version of a kubelet' if text else "the version of the kubelet is missing"
        problem = Problem(
            Code.KUBELET_VERSION_INVALID,
            what,
            field=KUBELET_FIELD,
            fix="Write one to three numbers with dots, such as 1.33.4",
        )
        raise InputError([problem]) from None
