"""What goes wrong while a machine is made, or changes after: it joins when the cause is gone, and says what it is."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import pytest

from osm_gitops.commands.boot.lane.machine import content
from osm_gitops.commands.boot.lane.programs import KUBERNETES
from tests.machines.checks import is_well, overlay_of, says_what_the_pool_says, taints
from tests.machines.site import API, MIRROR, Site

pytestmark = pytest.mark.boot

_FETCHING: Final = f"cannot fetch cloud-config from https://{API}:6443/"
_LASTING: Final = ("/etc", "/opt", "/usr/local", "/var/cache/kubernetes")


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def test_a_mirror_with_a_certificate_of_an_own_authority_is_trusted_before_the_first_download(
    site: Site, tmp_path: Path
) -> None:
    authority = tmp_path / "authority.pem"
    authority.write_bytes(site.trust.authority)
    values = {"airGap": {"mirror": f"https://{MIRROR}"}}
    overlay = overlay_of(tmp_path / "mine", overlays=["builtin:air-gapped"], values=values)
    site.pool("workers")
    site.apply("--overlay", overlay, "--host-ca-bundle", str(authority))
    with site.machine("workers", "workers-7", trust=replace(site.trust, authority=b"")) as machine:
        assert not machine.has("/usr/local/share/ca-certificates/internet.crt")
        machine.remove("curl")
        with site.only_the_mirror():
            machine.boot()
            # Of an image without curl the first stage asks the mirror already.
            machine.until("curl of the first stage", lambda: "Setting up curl" in machine.journal("bootstrap"))
            site.joined(machine, "workers-7")
            is_well(machine)
            assert {host for host, _, _ in site.net.asked} == {MIRROR}


def test_a_secret_that_is_replaced_between_the_stages_is_the_one_that_counts(site: Site, tmp_path: Path) -> None:
    site.pool("workers")
    site.apply()
    with site.machine("workers", "workers-8") as machine:
        site.net.down.add(6443)
        machine.boot()
        machine.until("a first stage that waits", lambda: _FETCHING in machine.journal("bootstrap"))
        site.apply("--overlay", overlay_of(tmp_path / "mine", settings={"initialTaints": ["new=yes:NoSchedule"]}))
        site.net.down.clear()
        node = site.joined(machine, "workers-8")
        says_what_the_pool_says(node, "workers-8")
        assert "new=yes:NoSchedule" in taints(node)
        is_well(machine)


def test_a_machine_that_may_not_fetch_its_secret_says_so_and_joins_when_it_may(site: Site) -> None:
    site.pool("workers")
    site.apply()
    binding = "/apis/rbac.authorization.k8s.io/v1/namespaces/cloud-init-settings/rolebindings/cloud-init-getter"
    subjects = site.client.get(binding)["subjects"]
    site.client.merge(binding, {"subjects": None})
    try:
        with site.machine("workers", "workers-9") as machine:
            machine.boot()
            machine.until("what is not fetched", lambda: _FETCHING in machine.journal("bootstrap"))
            assert "403" in machine.journal("bootstrap")
            assert site.getter_token not in machine.journal()
            site.client.merge(binding, {"subjects": subjects})
            site.joined(machine, "workers-9")
    finally:
        site.client.merge(binding, {"subjects": subjects})


def test_a_full_disk_is_named_and_the_machine_joins_when_there_is_room(site: Site) -> None:
    site.pool("workers")
    site.apply()
    with site.machine("workers", "workers-10", room=128 << 20) as machine:
        machine.boot()
        full = "You don't have enough free space in /var/cache/apt/archives/"
        machine.until("a full disk in the journal", lambda: full in machine.journal("setup"))
        assert site.node("workers-10") is None
        machine.grow(8 << 30)
        says_what_the_pool_says(site.joined(machine, "workers-10"), "workers-10")
        is_well(machine)


def test_certificates_of_tomorrow_as_a_slow_clock_sees_them_are_named_and_only_take_time(site: Site) -> None:
    site.pool("workers")
    site.apply()
    with site.machine("workers", "workers-11") as machine:
        with site.web_from(datetime.now(UTC) + timedelta(days=1)):
            machine.boot()
            machine.until("a certificate of tomorrow", lambda: "not yet valid" in machine.journal("setup"))
        site.joined(machine, "workers-11")
        is_well(machine)


def test_an_upgrade_of_the_kubelet_is_for_new_machines_and_leaves_the_old_one_as_it_is(site: Site) -> None:
    minor, _, patch = KUBERNETES.rpartition(".")
    version = f"{minor}.{int(patch) + 1}"  # the same sources with another number
    site.pool("workers")
    site.apply()
    with site.machine("workers", "workers-12") as old:
        old.boot()
        site.joined(old, "workers-12")
        is_well(old)
        old.shut_down()
        before = content(old, _LASTING)
        site.publish_kubernetes(version)
        site.upgrade("workers", version)
        site.apply()
        with site.machine("workers", "workers-13") as new:
            new.boot()
            says_what_the_pool_says(site.joined(new, "workers-13"), "workers-13", version)
            is_well(new)
            new.shut_down()
        site.net.forget()
        begun = _now()
        old.boot()
        site.reports_since(old, "workers-12", begun)
        is_well(old)
        node = site.node("workers-12")
        assert node is not None
        says_what_the_pool_says(node, "workers-12", KUBERNETES)
        old.shut_down()
        after = content(old, _LASTING)
        assert {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)} == set()
        assert site.net.asked == []


def test_a_rotation_of_the_authority_takes_machines_along_that_knew_both(site: Site) -> None:
    site.pool("workers")
    with site.other_authority() as (authority, switch):
        site.apply_with_authorities(site.cluster.authority, authority)
        with site.machine("workers", "workers-14") as machine:
            machine.boot()
            site.joined(machine, "workers-14")
            machine.shut_down()
            switch()
            begun = _now()
            machine.boot()
            site.reports_since(machine, "workers-14", begun)
            is_well(machine)
            machine.shut_down()
        site.apply_with_authorities(authority)
        with site.machine("workers", "workers-15") as machine:
            machine.boot()
            says_what_the_pool_says(site.joined(machine, "workers-15"), "workers-15")
            is_well(machine)
