"""``operatingSystemSpec``: what a MachineDeployment asks of its operating system (osm-behaviour.md, "Profile selection"
and "Operating system spec" and "RHEL subscription")."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from osm_gitops.errors import Code, InputError, Problem
from osm_gitops.model.objects import Json
from osm_gitops.model.provider import PROVIDER_CONFIG_FIELD, OsSpec
from osm_gitops.render.resolve.json_fields import Reader, boolean, did_you_mean, read_struct, string

CLOUD_INIT: Final = "cloud-init"
IGNITION: Final = "ignition"
OS_SPEC_FIELD: Final = f"{PROVIDER_CONFIG_FIELD}.operatingSystemSpec"

# JSON key: (attribute of OsSpec, reader), for each operating system that OSM knows.
_Fields = Mapping[str, tuple[str, Reader]]
_UPGRADE: Final[_Fields] = {"distUpgradeOnBoot": ("dist_upgrade_on_boot", boolean)}
_FIELDS: Final[Mapping[str, _Fields]] = {
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


def decode_os_spec(os: str, value: Json) -> OsSpec:
    """Decode ``operatingSystemSpec`` of operating system ``os``; unknown keys are passed over.

    Raises InputError for wrong types and for an operating system that OSM does not know.
    """
    if os not in _FIELDS:
        what = f'unknown operating system "{os}"' if os else "no operating system is named"
        raise InputError(
            [
                Problem(
                    Code.UNCODED, what, field=f"{PROVIDER_CONFIG_FIELD}.operatingSystem", fix=did_you_mean(os, _FIELDS)
                )
            ]
        )
    return OsSpec(**_decode(_FIELDS[os], value))


def dist_upgrade(value: Json) -> bool:
    """``distUpgradeOnBoot`` of an ``operatingSystemSpec``, which cloud-init obeys on any system (osm-behaviour.md,
    "User-data")."""
    return bool(_decode(_UPGRADE, value).get("dist_upgrade_on_boot", False))


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


def _decode(fields: _Fields, value: Json) -> dict[str, Json]:
    problems: list[Problem] = []
    found = read_struct(value, OS_SPEC_FIELD, {key: reader for key, (_, reader) in fields.items()}, problems)
    if problems:
        raise InputError(problems)
    return {fields[key][0]: entry for key, entry in found.items()}
