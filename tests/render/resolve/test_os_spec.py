"""``operatingSystemSpec`` (osm-behaviour.md, "Profile selection" and "Operating system spec" and "RHEL
subscription")."""

from __future__ import annotations

from typing import Any

import pytest

from osm_gitops.errors import Code, InputError
from osm_gitops.model.machine import OsSpec
from osm_gitops.render.resolve.machine_spec import decode_os_spec, dist_upgrade, provisioning_utility, rh_subscription
from tests.faults import Expected, refused

SYSTEMS = ("amzn2", "flatcar", "rhel", "rockylinux", "ubuntu")


@pytest.mark.parametrize("os", SYSTEMS)
@pytest.mark.parametrize("value", [None, {}, {"unknown": [1]}, {"distUpgradeOnBoot": None}])
def test_nothing_given_is_all_zero(os: str, value: Any) -> None:
    assert decode_os_spec(os, value) == OsSpec()


@pytest.mark.parametrize("os", ["amzn2", "rhel", "rockylinux", "ubuntu"])
def test_an_upgrade_can_be_asked_for(os: str) -> None:
    assert decode_os_spec(os, {"DISTUPGRADEONBOOT": True}) == OsSpec(dist_upgrade_on_boot=True)


def test_flatcar_has_fields_of_its_own() -> None:
    spec = {
        "disableAutoUpdate": True,
        "disableLocksmithD": True,
        "disableUpdateEngine": True,
        "provisioningUtility": "cloud-init",
        "distUpgradeOnBoot": "of no concern",
    }
    assert decode_os_spec("flatcar", spec) == OsSpec(
        disable_auto_update=True,
        disable_locksmith_d=True,
        disable_update_engine=True,
        provisioning_utility="cloud-init",
    )
    assert decode_os_spec("ubuntu", spec | {"distUpgradeOnBoot": False}) == OsSpec()


def test_a_field_of_the_wrong_type_is_refused_with_its_path() -> None:
    with pytest.raises(InputError) as error:
        decode_os_spec("ubuntu", {"distUpgradeOnBoot": "true"})
    (problem,) = error.value.problems
    assert problem.field == "spec.template.spec.providerSpec.value.operatingSystemSpec.distUpgradeOnBoot"
    assert problem == Expected(Code.WRONG_TYPE)


@pytest.mark.parametrize("value", [[], "x", 1, True])
def test_a_spec_that_is_no_object_is_refused(value: Any) -> None:
    with refused(Code.WRONG_TYPE):
        decode_os_spec("ubuntu", value)
    with refused(Code.WRONG_TYPE):
        dist_upgrade(value)


@pytest.mark.parametrize("os", ["", "centos", "sles", "Ubuntu"])
def test_an_unknown_operating_system_is_refused(os: str) -> None:
    with refused(Code.UNKNOWN_OPERATING_SYSTEM):
        decode_os_spec(os, {})


def test_cloud_init_upgrades_any_system() -> None:
    assert dist_upgrade({"distupgradeonboot": True, "other": 1}) is True
    assert dist_upgrade(None) is False
    with refused(Code.WRONG_TYPE):
        dist_upgrade({"distUpgradeOnBoot": 1})


def test_only_flatcar_has_a_choice_of_utility_and_it_is_not_checked() -> None:
    assert provisioning_utility("flatcar", OsSpec()) == "ignition"
    assert provisioning_utility("flatcar", OsSpec(provisioning_utility="cloud-init")) == "cloud-init"
    assert provisioning_utility("flatcar", OsSpec(provisioning_utility="x")) == "x"
    assert provisioning_utility("ubuntu", OsSpec(provisioning_utility="ignition")) == "cloud-init"


RHEL = {
    "rhelSubscriptionManagerUser": "u",
    "rhelSubscriptionManagerPassword": "p",
    "rhsmOfflineToken": "t",
    "attachSubscription": True,
    "rhelSatelliteServer": "sat.example.com",
    "rhelOrganizationName": "org",
    "rhelActivationKey": "key",
}


def test_rhel_subscribes_with_user_and_password() -> None:
    spec = decode_os_spec("rhel", RHEL)
    assert spec.rhsm_offline_token == "t"
    assert rh_subscription(spec) == {"username": "u", "password": "p", "auto-attach": "true"}
    assert rh_subscription(OsSpec()) == {"username": "", "password": "", "auto-attach": "false"}


def test_rhel_subscribes_at_a_satellite_server() -> None:
    assert rh_subscription(decode_os_spec("rhel", RHEL | {"rhelUseSatelliteServer": True})) == {
        "org": "org",
        "activation-key": "key",
        "server-hostname": "sat.example.com",
        "rhsm-baseurl": "https://sat.example.com/pulp/repos",
    }
