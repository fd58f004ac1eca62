"""Machines of Red Hat's family, with the real dnf and rpm."""

from __future__ import annotations

import pytest

from osm_gitops.commands.boot.lane.programs import CONTAINERD_1
from osm_gitops.commands.boot.lane.systems import RED_HAT
from tests.machines.checks import is_well, says_what_the_pool_says
from tests.machines.site import LACKING, Site

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


@pytest.mark.parametrize(
    ("system", "provider", "gzipped"),
    [("rhel", "openstack", True), ("rhel", "azure", False), ("rockylinux", "digitalocean", False)],
)
def test_red_hat_joins_on_other_providers(site: Site, system: str, provider: str, *, gzipped: bool) -> None:
    site.pool("workers", f"osp-{system}", operatingSystem=system, cloudProvider=provider, cloudProviderSpec={})
    site.apply("--external-cloud-provider")
    name = f"{system}-{provider}"
    with site.machine("workers", name, system=system, gzipped=gzipped) as machine:
        machine.boot()
        says_what_the_pool_says(site.joined(machine, name), name)
        is_well(machine)
        assert machine.says("rpm", "-q", "containerd.io").startswith("containerd.io-2.2.")


def test_amazon_linux_2_joins_with_its_older_containerd(site: Site) -> None:
    site.pool("workers", "osp-amzn2", operatingSystem="amzn2", cloudProvider="aws", cloudProviderSpec={})
    site.apply()
    with site.machine("workers", "ip-10-77-0-2.ec2.internal", system="amzn2", gzipped=True) as machine:
        machine.boot()
        node = site.joined(machine, "ip-10-77-0-2.ec2.internal")
        says_what_the_pool_says(node, "ip-10-77-0-2.ec2.internal", containerd=CONTAINERD_1)
        is_well(machine)
