"""Flatcar by Ignition and by its own cloud-init: what its bugs were, and what its two stages do on a machine."""

from __future__ import annotations

import json
from base64 import b64encode
from collections import Counter
from configparser import ConfigParser
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from osm_gitops.model.settings import Settings
from tests.profiles.rendering import Node, render
from tests.profiles.sandbox import Machine

_POOLS: Final = (
    *(("osp-flatcar", each) for each in ("aws", "azure", "gce", "kubevirt", "openstack")),
    *(("osp-flatcar", each) for each in ("vmware-cloud-director", "vsphere")),
    ("osp-flatcar-cloud-init", "anexia"),
)
_EVERY_POOL: Final = pytest.mark.parametrize(("profile", "provider"), _POOLS)
_BOTH: Final = pytest.mark.parametrize(("profile", "provider"), [_POOLS[0], _POOLS[-1]])
_PROXY: Final = Settings(http_proxy="http://proxy.example.com:3128")
_SECRET: Final = "https://api.example.com:6443/api/v1/namespaces/cloud-init-settings/secrets/workers-kube-system"


def _ignition(node: Node, half: str) -> Any:
    return json.loads(node.user_data["bootstrap" if half == "bootstrap" else "provisioning"])


def _secret(value: bytes, key: str = "cloud-config") -> bytes:
    """A Secret as the API server prints it."""
    metadata = {"name": "s", "managedFields": [{"fieldsV1": {"f:data": {f"f:{key}": {}}}}]}
    return json.dumps({"kind": "Secret", "metadata": metadata, "data": {key: b64encode(value).decode()}}).encode()


def _booted(folder: Path, node: Node, answer: bytes = b'{"ignition":{"version":"2.3.0"}}') -> Machine:
    """A machine with the files of the first stage, before anything ran; ``answer`` is what the second stage holds."""
    machine = Machine(folder)
    for path, file in node.bootstrap.items():
        machine.install(path, file.content)
    for name in ("oem", "boot"):
        (folder / name).mkdir()
    for path in ("/etc/machine-id", "/etc/systemd/system/bootstrap.service"):
        machine.write(path, "x\n")
    machine.serve(f"{_SECRET}-provisioning-config", _secret(answer))
    return machine


@_EVERY_POOL
def test_bugs_314_and_12690_no_file_is_also_a_unit_and_nothing_stands_twice(profile: str, provider: str) -> None:
    node = render(profile, provider)
    for half in (node.config.bootstrap, node.config.provisioning):
        paths = Counter(file.path for file in half.files)
        paths.update(f"/etc/systemd/system/{unit.name}" for unit in half.units)
        assert paths.most_common(1)[0][1] == 1


@_EVERY_POOL
def test_bug_357_nothing_of_torcx_is_left(profile: str, provider: str) -> None:
    node = render(profile, provider)
    assert "torcx" not in node.texts.lower()
    drop_in = node.file("/etc/systemd/system/containerd.service.d/20-flatcar.conf")
    assert "\nExecStart=\nExecStart=/usr/bin/containerd --config /etc/containerd/config.toml\n" in drop_in


@_EVERY_POOL
def test_no_file_goes_to_what_flatcar_mounts_read_only_or_makes_anew(profile: str, provider: str) -> None:
    node = render(profile, provider)
    for path in (*node.bootstrap, *node.provisioning):
        assert path.startswith(("/etc/", "/opt/")), path


@_BOTH
def test_bug_592_a_link_to_a_read_only_environment_is_replaced_and_its_lines_are_kept(
    tmp_path: Path, profile: str, provider: str
) -> None:
    node = render(profile, provider, settings=_PROXY)
    machine = _booted(tmp_path, node)
    vendor = machine.path("/usr/lib/pam/environment")
    machine.write("/usr/lib/pam/environment", "LANG=C.UTF-8\n")
    vendor.chmod(0o444)
    machine.path("/etc/environment").symlink_to(vendor)
    script = node.file("/opt/bin/bootstrap")
    for _ in range(2):
        machine.run(script.replace("retry fetch_config", "exit 0").replace("retry apply_config", "exit 0"))
        environment = machine.path("/etc/environment")
        assert not environment.is_symlink()
        lines = environment.read_text().replace("'", "").splitlines()
        assert lines[0] == "LANG=C.UTF-8"
        assert lines.count("https_proxy=http://proxy.example.com:3128") == 1
        assert lines.count("NO_PROXY=.svc,.cluster.local,localhost,127.0.0.1") == 1
    assert vendor.read_text() == "LANG=C.UTF-8\n"


@_BOTH
@pytest.mark.parametrize("stage", ["bootstrap", "setup"])
def test_bug_245_the_proxy_is_set_before_anything_asks_the_network(profile: str, provider: str, stage: str) -> None:
    script = render(profile, provider, settings=_PROXY).file(f"/opt/bin/{stage}")
    asking = [script.index(word) for word in ("/opt/bin/fetch-secret", "retry fetch ") if word in script]
    assert script.index("export https_proxy=") < min(asking)


def test_the_second_stage_is_where_ignition_looks_on_the_next_boot(tmp_path: Path) -> None:
    node = render("osp-flatcar", "aws")
    machine = _booted(tmp_path, node)
    result = machine.run(node.file("/opt/bin/bootstrap"))
    assert result.returncode == 0, result.stderr
    config = machine.path("/oem/config.ign")
    assert config.read_text() == '{"ignition":{"version":"2.3.0"}}'
    assert config.stat().st_mode & 0o077 == 0
    assert machine.path("/boot/flatcar/first_boot").exists()
    assert not machine.path("/etc/machine-id").exists()
    assert machine.calls[-2:] == ["sync ", "systemctl reboot"]


@pytest.mark.parametrize("steps", range(9))
def test_a_machine_whose_power_fails_begins_again_or_has_everything_that_ignition_needs(
    tmp_path: Path, steps: int
) -> None:
    node = render("osp-flatcar", "aws")
    machine = _booted(tmp_path, node)
    last = 'mv -f "$oem/config.new" "$oem/config.ign"'
    fails = f"left={steps}; trap '[ $left -gt 0 ] || kill -KILL $$; left=$((left - 1))' DEBUG\n{last}"
    assert machine.run(node.file("/opt/bin/bootstrap").replace(last, fails)).returncode == -9
    assert ("sync " in machine.calls) == (steps > 4)
    begins_again = machine.path("/etc/systemd/system/bootstrap.service").exists()
    waiting = ("/oem/config.ign", "/boot/flatcar/first_boot")
    complete = all(machine.path(path).exists() for path in waiting) and not machine.path("/etc/machine-id").exists()
    assert begins_again or complete
    assert complete or not machine.path("/boot/flatcar/first_boot").exists()


def test_a_machine_whose_oem_partition_is_not_mounted_does_not_boot_into_its_bootstrap_for_ever(tmp_path: Path) -> None:
    node = render("osp-flatcar", "aws")
    machine = _booted(tmp_path, node)
    machine.command("mountpoint", "false")
    assert machine.run(node.file("/opt/bin/bootstrap")).returncode == 0
    assert machine.called("mount ") == ["mount /dev/disk/by-label/OEM /oem"]
    machine.command("mount", "exit 32")
    machine.path("/oem/config.ign").unlink()
    assert machine.run(node.file("/opt/bin/bootstrap")).returncode == 32
    assert not machine.path("/oem/config.ign").exists()


def test_bug_273_the_bootstrap_of_ignition_has_no_unit_on_the_boot_that_applies_presets_again(tmp_path: Path) -> None:
    node = render("osp-flatcar", "aws")
    machine = _booted(tmp_path, node)
    assert machine.run(node.file("/opt/bin/bootstrap")).returncode == 0
    assert not machine.path("/etc/systemd/system/bootstrap.service").exists()
    assert "systemctl disable bootstrap.service" in machine.calls


@pytest.mark.parametrize("answer", [b"", b"{", b"<html>", b'{"kind":"Status"}'])
def test_bug_220_an_answer_that_ignition_could_not_read_is_asked_for_again(tmp_path: Path, answer: bytes) -> None:
    node = render("osp-flatcar", "aws")
    machine = _booted(tmp_path, node, answer)
    good = machine.folder / "good"
    machine.serve("https://good.example.com/", _secret(b'{"ignition":{"version":"2.3.0"}}'))
    machine.command("sleep", f'[ "$1" != 4 ] || touch "{good}"')
    curl = machine.path("/bin/curl").read_text()
    later = f'if [ -e "{good}" ]; then set -- "$@" https://good.example.com/; fi\n'
    machine.path("/bin/curl").write_text(curl.replace("config=\n", f"{later}config=\n", 1))
    result = machine.run(node.file("/opt/bin/bootstrap"))
    assert result.returncode == 0, result.stderr
    assert machine.path("/oem/config.ign").read_text() == '{"ignition":{"version":"2.3.0"}}'
    assert machine.called("sleep") == ["sleep 1", "sleep 2", "sleep 4"]


def test_the_token_is_in_no_list_of_processes(tmp_path: Path) -> None:
    node = render("osp-flatcar", "aws")
    machine = _booted(tmp_path, node)
    assert machine.run(node.file("/opt/bin/bootstrap")).returncode == 0
    assert not any("getter-token-1" in call for call in machine.calls)
    config = (tmp_path / "curl.config").read_text()
    assert 'header = "Authorization: Bearer getter-token-1"' in config
    assert f"cacert = {tmp_path}/etc/kubernetes/pki/ca.crt" in config


_SECOND: Final = "#cloud-config\nwrite_files: []\n"
_APPLIES: Final = """
file=${1#--from-file=}
cp "$file" "$MACHINE/applied"
touch "$MACHINE/opt/bin/setup"
chmod 755 "$MACHINE/opt/bin/setup"
"""


def test_flatcars_cloud_init_applies_the_second_stage_once(tmp_path: Path) -> None:
    node = render("osp-flatcar-cloud-init", "anexia")
    machine = _booted(tmp_path, node, _SECOND.encode())
    machine.command("coreos-cloudinit", _APPLIES)
    assert machine.run(node.file("/opt/bin/bootstrap")).returncode == 0
    assert (tmp_path / "applied").read_text() == _SECOND
    assert not machine.path("/run/provisioning/cloud-config").exists()
    assert "systemctl disable bootstrap.service" in machine.calls
    before = len(machine.calls)
    assert machine.run(node.file("/opt/bin/bootstrap")).returncode == 0
    assert machine.calls[before:] == []


def test_bug_365_user_data_that_is_read_at_every_boot_does_not_bootstrap_again() -> None:
    (unit,) = render("osp-flatcar-cloud-init", "anexia").config.bootstrap.units
    assert "\nConditionPathExists=!/etc/bootstrap-complete\n" in (unit.content or "")


def test_a_second_stage_that_cannot_be_applied_is_tried_again(tmp_path: Path) -> None:
    node = render("osp-flatcar-cloud-init", "anexia")
    machine = _booted(tmp_path, node, _SECOND.encode())
    machine.command("coreos-cloudinit", f'[ "$(grep -c "^coreos" "$MACHINE/calls")" -gt 2 ] || exit 1{_APPLIES}')
    assert machine.run(node.file("/opt/bin/bootstrap")).returncode == 0
    assert machine.called("sleep") == ["sleep 1", "sleep 2"]
    assert machine.path("/etc/bootstrap-complete").exists()


def test_bugs_272_and_283_flatcars_cloud_init_starts_units_as_it_knows_no_commands() -> None:
    node = render("osp-flatcar-cloud-init", "anexia", network={"cidr": "10.0.0.2/24", "gateway": "10.0.0.1"})
    for half, unit in (("bootstrap", "bootstrap.service"), ("provisioning", "setup.service")):
        found = yaml.safe_load(node.user_data["bootstrap" if half == "bootstrap" else "provisioning"])
        assert not {"runcmd", "bootcmd"} & set(found)
        (started,) = found["coreos"]["units"]
        assert (started["name"], started["command"], started["enable"]) == (unit, "start", True)


def test_flatcars_cloud_init_waits_for_no_script_as_it_is_killed_after_ten_minutes() -> None:
    node = render("osp-flatcar-cloud-init", "anexia")
    for unit in (*node.config.bootstrap.units, *node.config.provisioning.units):
        assert "\nType=simple\n" in (unit.content or "")


def test_flatcars_cloud_init_replaces_no_variable_in_a_file() -> None:
    """It knows ``$private_ipv4`` and the like, and would put an address there."""
    node = render("osp-flatcar-cloud-init", "anexia")
    for half in (node.bootstrap, node.provisioning):
        assert all(file.encoding == "b64" for path, file in half.items() if not path.endswith("/hosts.toml"))


def test_bug_269_the_kernel_is_not_set_by_files_below_proc() -> None:
    node = render("osp-flatcar-cloud-init", "anexia")
    assert not any(path.startswith("/proc") for path in (*node.bootstrap, *node.provisioning))
    assert "sysctl --quiet --load=/etc/sysctl.d/99-kubernetes.conf" in node.file("/opt/bin/prepare-kubelet")


@_EVERY_POOL
def test_mirrors_of_registries_reach_every_node_where_osm_forgot_those_of_cloud_init(
    profile: str, provider: str
) -> None:
    node = render(profile, provider, settings=Settings(registry_mirrors={"quay.io": ("https://mirror.example.com",)}))
    assert "https://mirror.example.com" in node.provisioning["/etc/containerd/certs.d/quay.io/hosts.toml"].content
    assert 'config_path = "/etc/containerd/certs.d"' in node.file("/etc/containerd/config.toml")


def _network(node: Node, path: str = "/etc/systemd/network/10-static.network") -> list[tuple[str, str, str]]:
    """Section, key and value of every line of a network's file, in order."""
    found, section = [], ""
    for line in node.bootstrap[path].content.splitlines():
        if line.startswith("["):
            section = line.strip("[]")
        elif line:
            key, _, value = line.partition("=")
            found.append((section, key, value))
    return found


@_BOTH
def test_bugs_232_and_443_a_static_network_has_all_its_lines(profile: str, provider: str) -> None:
    servers = {"servers": ["10.0.0.53", "fd00::53"]}
    network = {"cidr": "10.0.0.2/24", "gateway": "10.0.0.1", "dns": servers}
    lines = _network(render(profile, provider, network=network))
    assert [(key, value) for section, key, value in lines if section == "Network"] == [
        *(("DHCP", "no"), ("Address", "10.0.0.2/24"), ("Gateway", "10.0.0.1")),
        *(("DNS", "10.0.0.53"), ("DNS", "fd00::53")),
    ]
    assert ("Match", "Name", "en* eth*") in lines


def test_name_servers_alone_leave_addresses_to_dhcp() -> None:
    lines = _network(render("osp-flatcar", "vsphere", network={"dns": {"servers": ["10.0.0.53"]}}))
    assert ("Network", "DHCP", "yes") in lines
    assert ("DHCPv4", "UseDNS", "no") in lines


@_BOTH
def test_without_a_static_network_there_is_none(profile: str, provider: str) -> None:
    node = render(profile, provider, network={"ipFamily": "IPv4"})
    assert node.bootstrap["/etc/systemd/network/10-static.network"].content == ""
    assert "systemd-networkd" not in node.file("/opt/bin/bootstrap")


@_EVERY_POOL
def test_bug_198_flatcar_keeps_listening_for_routers_of_ipv6(profile: str, provider: str) -> None:
    drop_in = ConfigParser()
    drop_in.read_string(render(profile, provider).file("/etc/systemd/network/zz-default.network.d/10-ipv6.conf"))
    assert drop_in["Network"]["IPv6AcceptRA"] == "true"


_OVF: Final = """<?xml version="1.0" encoding="UTF-8"?>
<Environment xmlns:oe="http://schemas.dmtf.org/ovf/environment/1"><PropertySection>
<Property oe:key="vCloud_primaryNic" oe:value="{primary}"/>
<Property oe:key="vCloud_numnics" oe:value="{count}"/>
{properties}
</PropertySection></Environment>
"""


def _vcloud(folder: Path, modes: list[str], primary: int = 0, tools: str = "/oem/bin") -> Machine:
    """A machine of Cloud Director after its bootstrap, with a network interface for each of ``modes``."""
    properties = [
        f'<Property oe:key="vCloud_{key}_{nic}" oe:value="{value}"/>'
        for nic, mode in enumerate(modes)
        for key, value in (
            *(("bootproto", mode), ("ip", f"10.0.{nic}.7"), ("netmask", "255.255.240.0"), ("gateway", f"10.0.{nic}.1")),
            *(("macaddr", f"00:50:56:00:00:{nic:02x}"), ("dns1", "10.0.0.53"), ("dns2", "")),
        )
    ]
    node = render("osp-flatcar", "vmware-cloud-director")
    machine = _booted(folder, node)
    machine.write("/ovf.xml", _OVF.format(primary=primary, count=len(modes), properties="\n".join(properties)))
    machine.install(
        f"{tools}/vmtoolsd", f'#!/bin/bash\n[ "$*" = "--cmd info-get guestinfo.ovfEnv" ] && cat {folder}/ovf.xml\n'
    )
    result = machine.run(node.file("/opt/bin/bootstrap"))
    assert result.returncode == 0, result.stderr
    return machine


def _interface(machine: Machine, nic: int) -> str:
    return machine.path(f"/etc/systemd/network/10-vcloud-{nic}.network").read_text()


@pytest.mark.parametrize("tools", ["/oem/bin", "/usr/share/oem/bin"])
def test_bug_368_vmtoolsd_is_found_wherever_flatcar_has_it(tmp_path: Path, tools: str) -> None:
    assert "Address=10.0.0.7/20\n" in _interface(_vcloud(tmp_path, ["static"], tools=tools), 0)


def test_bugs_471_478_and_503_each_interface_has_its_address_and_the_primary_one_the_gateway(tmp_path: Path) -> None:
    machine = _vcloud(tmp_path, ["static", "dhcp", "static"], primary=2)
    assert _interface(machine, 0) == (
        "[Match]\nType=ether\nMACAddress=00:50:56:00:00:00\n\n[Network]\nDHCP=no\nAddress=10.0.0.7/20\n"
    )
    assert not machine.path("/etc/systemd/network/10-vcloud-1.network").exists()
    assert _interface(machine, 2).endswith("Address=10.0.2.7/20\nGateway=10.0.2.1\nDNS=10.0.0.53\n")
    assert "systemctl restart systemd-networkd.service" in machine.calls


@pytest.mark.parametrize(("routes", "code"), [("default via 10.0.0.1 dev eth0", 0), ("", 1)])
def test_without_an_ovf_environment_dhcp_will_do_but_not_nothing(tmp_path: Path, routes: str, code: int) -> None:
    """vmtoolsd fails where there are no properties: the machine asked it for ever, with a network that worked."""
    node = render("osp-flatcar", "vmware-cloud-director")
    machine = _booted(tmp_path, node)
    machine.command("vmtoolsd", "echo No value found >&2; exit 1")
    machine.command("ip", f"echo {routes}")
    assert machine.run(node.file("/opt/bin/bootstrap")).returncode == code
    assert machine.path("/oem/config.ign").exists() == (code == 0)


def test_the_tenth_interface_is_not_taken_for_the_first(tmp_path: Path) -> None:
    machine = _vcloud(tmp_path, ["static"] * 11, primary=1)
    assert "Address=10.0.1.7/20\nGateway=10.0.1.1\n" in _interface(machine, 1)
    assert _interface(machine, 10).endswith("Address=10.0.10.7/20\n")


@pytest.mark.parametrize(
    ("netmask", "prefix"), [("255.255.255.255", 32), ("255.255.255.128", 25), ("255.254.0.0", 15), ("0.0.0.0", 0)]
)
def test_a_netmask_becomes_the_length_of_its_prefix(tmp_path: Path, netmask: str, prefix: int) -> None:
    script = render("osp-flatcar", "vmware-cloud-director").file("/opt/bin/bootstrap")
    function = script[script.index("prefix()") : script.index("primary=$(")]
    assert Machine(tmp_path).run(f'set -euo pipefail\n{function}\nprefix "$1"\n', netmask).stdout == f"{prefix}\n"


@_EVERY_POOL
@pytest.mark.parametrize(
    ("os_spec", "masked"),
    [
        ({}, []),
        ({"disableUpdateEngine": True}, ["update-engine"]),
        ({"disableLocksmithD": True}, ["locksmithd"]),
        ({"disableAutoUpdate": True}, ["update-engine", "locksmithd"]),
    ],
)
def test_updates_are_as_the_machinedeployment_wants_them(
    profile: str, provider: str, os_spec: dict[str, bool], masked: list[str]
) -> None:
    script = render(profile, provider, settings=_PROXY, os_spec=os_spec).file("/opt/bin/setup")
    assert [
        service for service in ("update-engine", "locksmithd") if f"mask --now {service}.service" in script
    ] == masked
    assert ('Environment="ALL_PROXY=http://proxy.example.com:3128"' in script) == ("update-engine" not in masked)


@pytest.mark.parametrize("before", ["", "GROUP=beta\nSERVER=https://public.example.com/\n"])
def test_an_update_server_of_values_is_the_only_one_and_the_channel_stays(tmp_path: Path, before: str) -> None:
    values = {"repositories": {"flatcar": "https://updates.example.com/v1/update/"}}
    script = render("osp-flatcar", "gce", values=values).file("/opt/bin/setup")
    updates = script[script.index("mkdir -p /etc/flatcar") : script.index("mkdir -p /etc/polkit-1")]
    machine = Machine(tmp_path)
    machine.write("/etc/flatcar/update.conf", before)
    for _ in range(2):
        assert machine.run(f"set -euo pipefail\n{updates}").returncode == 0
        lines = machine.path("/etc/flatcar/update.conf").read_text().split()
        assert lines == [*before.split()[:1], "SERVER=https://updates.example.com/v1/update/"]
    assert machine.called("systemctl restart") == ["systemctl restart update-engine.service"] * 2


@pytest.mark.parametrize("provider", ["aws", "vmware-cloud-director"])
def test_bugs_1055_and_5994_user_data_is_within_what_aws_takes_with_keys_and_a_real_authority(provider: str) -> None:
    keys = [f"ssh-rsa {'A' * 716} person-{number}@example.com" for number in range(4)]
    authority = "-----BEGIN CERTIFICATE-----\n" + f"{'M+/B' * 16}\n" * 27 + "-----END CERTIFICATE-----\n"
    settings = Settings(kubernetes_ca_bundle=authority, http_proxy="http://user:password@proxy.example.com:3128")
    assert len(render("osp-flatcar", provider, settings=settings, ssh_keys=keys).user_data["bootstrap"]) < 14_000


@pytest.mark.parametrize("half", ["bootstrap", "provisioning"])
def test_ignition_gets_version_two_point_three_with_modes_as_written(half: str) -> None:
    node = render("osp-flatcar", "vsphere", ssh_keys=["ssh-ed25519 AAAA a@b", " ssh-ed25519 AAAA a@b\n"])
    document = _ignition(node, half)
    assert document["ignition"]["version"] == "2.3.0"
    modes = {file["path"]: file["mode"] for file in document["storage"]["files"]}
    files = node.bootstrap if half == "bootstrap" else node.provisioning
    assert all(modes[path] == int(str(file.permissions), 8) for path, file in files.items())
    assert all(unit["enabled"] and "[Install]" in unit["contents"] for unit in document["systemd"]["units"])


def test_bug_565_a_key_that_is_given_twice_is_written_once() -> None:
    node = render("osp-flatcar", "vsphere", ssh_keys=["ssh-ed25519 AAAA a@b", " ssh-ed25519 AAAA a@b\n"])
    assert _ignition(node, "bootstrap")["passwd"]["users"][0]["sshAuthorizedKeys"] == ["ssh-ed25519 AAAA a@b"]
