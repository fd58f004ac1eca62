"""Other profiles than the default ones boot as well: those of the demo, and OSM's released one."""

from __future__ import annotations

import pytest
import yaml

from tests.conformance_data import released_profiles
from tests.demo_fleet import DEMO
from tests.machines.checks import is_well, says_what_the_pool_says
from tests.machines.site import Site

pytestmark = pytest.mark.boot


@pytest.mark.conformance
def test_osms_released_ubuntu_joins(site: Site) -> None:
    """It lies outside of the repository; `make boot` boots it where it is at hand."""
    (profile,) = released_profiles("v1.11.2/osp-ubuntu.yaml")
    site.objects.create(yaml.safe_load(profile.read_text("utf-8")))
    site.pool("workers", "osp-ubuntu")
    site.apply()
    with site.machine("workers", "workers-18") as machine:
        machine.boot()
        says_what_the_pool_says(site.joined(machine, "workers-18"), "workers-18")
        is_well(machine, ["kubelet-healthcheck"])
        assert machine.has("/opt/bin/supervise.sh")  # which ours does not have


@pytest.mark.parametrize(
    ("profile", "system", "provider"),
    [
        ("demo-ubuntu", "ubuntu", "aws"),
        ("demo-rockylinux", "rockylinux", "azure"),
        ("demo-flatcar", "flatcar", "openstack"),
    ],
)
def test_a_profile_of_the_demo_joins(site: Site, profile: str, system: str, provider: str) -> None:
    body = yaml.safe_load((DEMO / "osps" / f"{profile}.yaml").read_text("utf-8"))
    body["metadata"]["namespace"] = "kube-system"
    site.objects.create(body)
    site.pool("workers", profile, operatingSystem=system, cloudProvider=provider, cloudProviderSpec={})
    site.apply()
    with site.machine("workers", profile, system=system) as machine:
        machine.boot()
        says_what_the_pool_says(site.joined(machine, profile), profile)
        is_well(machine, [])
