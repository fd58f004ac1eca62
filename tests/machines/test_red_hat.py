"""Machines of Red Hat's family, with the real dnf and rpm."""

from __future__ import annotations

import pytest

from tests.machines.checks import is_well, says_what_the_pool_says
from tests.machines.site import LACKING, Site
from tests.machines.systems import RED_HAT

pytestmark = pytest.mark.boot


def test_a_mirror_that_lacked_a_package_is_seen_to_be_repaired_and_the_machine_joins(site: Site) -> None:
    """dnf keeps the index of a repository for two days, unless it cannot download what that names."""
    site.pool("workers", "osp-rockylinux", operatingSystem="rockylinux")
    site.apply()
    host = RED_HAT["rockylinux"].host
    lacking = {path: file for (name, path), file in site.net.files.items() if name == host and LACKING in path}
    site.net.broken |= {path.replace(LACKING, "AppStream"): file for path, file in lacking.items()}
    with site.machine("workers", "workers-16", system="rockylinux") as machine:
        machine.boot()
        machine.until("a package that is not there", lambda: "No match for argument: socat" in machine.journal("setup"))
        machine.until("another try", lambda: "xfsprogs failed, next try" in machine.journal("setup"))
        assert site.node("workers-16") is None
        site.net.broken.clear()
        says_what_the_pool_says(site.joined(machine, "workers-16"), "workers-16")
        is_well(machine)
        assert machine.says("rpm", "-q", "socat") == "socat-1.0-1.el9.x86_64"


def test_rhel_joins_on_another_provider(site: Site) -> None:
    site.pool("workers", "osp-rhel", operatingSystem="rhel", cloudProvider="openstack", cloudProviderSpec={})
    site.apply("--external-cloud-provider")
    with site.machine("workers", "workers-17", system="rhel", gzipped=True) as machine:
        machine.boot()
        says_what_the_pool_says(site.joined(machine, "workers-17"), "workers-17")
        is_well(machine)
        assert machine.says("rpm", "-q", "containerd.io").startswith("containerd.io-2.2.")
