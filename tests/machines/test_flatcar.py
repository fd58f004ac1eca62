"""Machines of Flatcar: by the real Ignition, which runs twice, and by Flatcar's own cloud-init."""

from __future__ import annotations

from typing import Any

import pytest

from osm_gitops.commands.boot.lane.machine import Machine
from tests.machines.checks import is_well, says_what_the_pool_says
from tests.machines.site import Site

pytestmark = pytest.mark.boot


@pytest.mark.parametrize("provider", ["openstack", "vsphere"])
def test_ignition_runs_twice_and_the_machine_joins(site: Site, provider: str) -> None:
    site.pool("workers", "osp-flatcar", operatingSystem="flatcar", cloudProvider=provider, cloudProviderSpec={})
    site.apply()
    name = f"workers-{provider}"
    with site.machine("workers", name, system="flatcar") as machine:
        machine.boot()
        says_what_the_pool_says(site.joined(machine, name), name)
        is_well(machine)
        console = machine.console.read_text("utf-8")
        assert console.count("Ignition finished successfully") == 4  # two stages of each boot
        assert not machine.has("/etc/systemd/system/bootstrap.service")
        _keeps_nothing_secret(site, machine)
        _switches_docker_off(machine)


def test_flatcars_cloud_init_runs_at_each_boot_and_the_machine_joins_once(site: Site) -> None:
    system = {"operatingSystem": "flatcar", "operatingSystemSpec": {"provisioningUtility": "cloud-init"}}
    config: dict[str, Any] = {"cloudProvider": "anexia", "cloudProviderSpec": {}, **system}
    site.pool("workers", "osp-flatcar-cloud-init", **config)
    site.apply()
    with site.machine("workers", "workers-anexia", system="flatcar") as machine:
        machine.boot()
        says_what_the_pool_says(site.joined(machine, "workers-anexia"), "workers-anexia")
        is_well(machine)
        _keeps_nothing_secret(site, machine)
        _switches_docker_off(machine)
        machine.shut_down()
        site.net.forget()
        machine.boot()
        machine.until(
            "a kubelet that runs again", lambda: machine.run("systemctl", "is-active", "kubelet").returncode == 0
        )
        is_well(machine)
        assert site.net.asked == []


def _keeps_nothing_secret(site: Site, machine: Machine) -> None:
    """What was fetched is gone when it is applied, and the journal has no token."""
    assert not machine.has("/oem/config.ign")
    assert list((machine.folder / "oem").iterdir()) == []
    assert not machine.has("/run/provisioning/cloud-config")
    assert site.getter_token not in machine.journal()


def _switches_docker_off(machine: Machine) -> None:
    assert machine.run("systemctl", "is-enabled", "docker.socket").stdout.strip() == "masked"
    assert machine.run("touch", "/usr/bin/x").returncode != 0  # as everything below /usr
