"""What the cloud-init profiles install on Ubuntu and on Red Hat's family, run on a machine of its own."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from osm_gitops.errors import Code, InputError
from osm_gitops.model.settings import Settings
from tests.cli.scenes import facts, secret
from tests.faults import Expected
from tests.profiles.pools import POOLS
from tests.profiles.rendering import Node, render
from tests.profiles.sandbox import Machine

PROFILES: Final = ("osp-ubuntu", "osp-rhel", "osp-rockylinux", "osp-amzn2")
_RED_HAT: Final = PROFILES[1:]
_DOCKER: Final = "https://download.docker.com/linux"
_RELEASES: Final = {
    "osp-ubuntu": 'ID=ubuntu\nVERSION_ID="24.04"\nVERSION_CODENAME=noble\n',
    "osp-rhel": 'ID="rhel"\nVERSION_ID="9.5"\n',
    "osp-rockylinux": 'ID="rocky"\nVERSION_ID="9.6"\n',
    "osp-amzn2": 'ID="amzn"\nVERSION_ID="2"\n',
}
_RHSM: Final = (
    "[server]\nhostname = subscription.rhsm.redhat.com\nproxy_user =\nproxy_password =\n[rhsm]\nmanage_repos = 1\n"
)
_REPOSITORY: Final = "[repository]\nenabled=1\n\n[source]\nenabled = 0\n"


_EVERY_POOL: Final = pytest.mark.parametrize(("profile", "provider"), [pool for pool in POOLS if pool[0] in PROFILES])
_EVERY_PROFILE: Final = pytest.mark.parametrize("profile", PROFILES)
_EVERY_RED_HAT: Final = pytest.mark.parametrize("profile", _RED_HAT)


def _provider(profile: str) -> str:
    return "aws" if profile == "osp-amzn2" else "openstack"


def _machine(folder: Path, profile: str, docker: str = f"{_DOCKER}/ubuntu") -> Machine:
    machine = Machine(folder)
    for name in ("apt-get", "apt-mark", "yum", "rpm", "nmcli", "cloud-init", "subscription-manager"):
        machine.command(name, "")
    machine.command("dpkg", "echo amd64")
    machine.serve(f"{docker}/gpg", b"-----BEGIN PGP PUBLIC KEY BLOCK-----\n")
    for path, text in (
        ("/etc/os-release", _RELEASES[profile]),
        ("/etc/apt/sources.list.d/ubuntu.sources", "Types: deb\n"),
        ("/etc/apt/sources.list", "deb http://archive.ubuntu.com/ubuntu noble main\n"),
        ("/etc/yum.repos.d/image.repo", _REPOSITORY),
        ("/etc/pki/rpm-gpg/RPM-GPG-KEY-image", "a key"),
        ("/etc/selinux/config", "SELINUX=enforcing\nSELINUXTYPE=targeted\n"),
        ("/etc/rhsm/rhsm.conf", _RHSM),
        ("/usr/local/share/ca-certificates/here", ""),
        ("/etc/pki/ca-trust/source/anchors/here", ""),
    ):
        machine.write(path, text)
    return machine


def _installs(node: Node) -> str:
    """The second stage until binaries are downloaded: tests/profiles/test_binaries.py goes on there."""
    script = node.file("/opt/bin/setup")
    return script[: script.index('case "$(uname -m)" in')]


def _run(machine: Machine, node: Node) -> None:
    done = machine.run(_installs(node))
    assert done.returncode == 0, done.stderr


# --- Ubuntu ---------------------------------------------------------------------------------------------------------


def test_bugs_402_405_453_and_455_the_key_of_dockers_repository_asks_nothing(tmp_path: Path) -> None:
    """OSM 418f1e6 #402, 6d8b1b7 #405, b3e440b #453, 50aa539 #455: gpg asked, and had no terminal."""
    node = render("osp-ubuntu", "openstack")
    machine = _machine(tmp_path, "osp-ubuntu")
    _run(machine, node)
    machine.serve(f"{_DOCKER}/ubuntu/gpg", b"the next key\n")
    _run(machine, node)
    assert machine.path("/etc/apt/keyrings/docker.asc").read_bytes() == b"the next key\n"
    assert machine.path("/etc/apt/keyrings/docker.asc").stat().st_mode & 0o777 == 0o644
    assert not re.search(r"\bgpg --|apt-key", node.texts)
    assert "DEBIAN_FRONTEND=noninteractive" in node.file("/opt/bin/setup")
    assert all(" --yes " in f"{call} " for call in machine.called("apt-get "))
    assert all("--force-confold" in call for call in machine.called("apt-get "))


@pytest.mark.parametrize(
    ("release", "architecture", "line"),
    [
        (_RELEASES["osp-ubuntu"], "amd64", "amd64 KEY] DOCKER/ubuntu noble"),
        (_RELEASES["osp-ubuntu"], "arm64", "arm64 KEY] DOCKER/ubuntu noble"),
        ("ID=ubuntu\nVERSION_CODENAME=jammy\n", "amd64", "amd64 KEY] DOCKER/ubuntu jammy"),
        ("ID=debian\nVERSION_CODENAME=trixie\n", "amd64", "amd64 KEY] DOCKER/debian trixie"),
    ],
)
def test_bugs_406_407_and_431_dockers_repository_is_that_of_the_machine(
    tmp_path: Path, release: str, architecture: str, line: str
) -> None:
    """OSM 75e6ecd #406, 5503e90 #407, 1949638 #431: another distribution's repository; lsb_release was not there."""
    machine = _machine(tmp_path, "osp-ubuntu")
    machine.serve(f"{_DOCKER}/debian/gpg", b"key")
    machine.write("/etc/os-release", release)
    machine.command("dpkg", f"echo {architecture}")
    for _ in range(2):
        _run(machine, render("osp-ubuntu", "openstack"))
    key = machine.path("/etc/apt/keyrings/docker.asc")
    expected = line.replace("KEY", f"signed-by={key}").replace("DOCKER", _DOCKER)
    assert machine.path("/etc/apt/sources.list.d/docker.list").read_text() == f"deb [arch={expected} stable\n"


@pytest.mark.parametrize(("version", "package"), [("", "2.2.*"), ("2.1", "2.1.*"), ("2.2.1", "2.2.1-*")])
def test_containerd_is_of_one_minor_release_and_held_there(tmp_path: Path, version: str, package: str) -> None:
    values = {"versions": {"containerd": version}} if version else {}
    machine = _machine(tmp_path, "osp-ubuntu")
    _run(machine, render("osp-ubuntu", "openstack", values=values))
    assert machine.called("apt-get ")[-1].endswith(f" containerd.io={package}")
    assert machine.calls[-1] == "apt-mark hold containerd.io"
    script = render("osp-rockylinux", "openstack", values=values).file("/opt/bin/setup")
    assert f"install 'containerd.io-{package}'" in script


def test_each_try_of_apt_reads_lists_again_and_completes_what_the_power_left_half(tmp_path: Path) -> None:
    """apt-get update ends well when lists did not come; a half-installed package keeps all others from coming."""
    machine = _machine(tmp_path, "osp-ubuntu")
    machine.command("apt-get", '[[ "$*" != *cifs-utils* || $(grep -c cifs-utils "$MACHINE/calls") -ge 3 ]]')
    machine.command("dpkg", "echo amd64; [[ $* != *--configure* ]]")
    _run(machine, render("osp-ubuntu", "openstack"))
    tools = [call for call in machine.calls if call.startswith(("dpkg --force", "apt-get", "sleep"))]
    steps = [call.split()[-1] if "cifs" not in call else "packages" for call in tools]
    one = ["-a", "update", "install", "packages"]
    assert steps == [*one, "1", *one, "2", *one, "-a", "update", "install", "containerd.io=2.2.*"]
    assert all("--force-confold" in call for call in machine.called("dpkg --force"))
    assert all(" --fix-broken install" in call for call in tools if call.endswith(" install"))


@pytest.mark.parametrize(("architecture", "folder"), [("amd64", "ubuntu"), ("arm64", "ubuntu-ports")])
def test_ubuntus_own_repositories_are_replaced_by_a_mirror(tmp_path: Path, architecture: str, folder: str) -> None:
    ubuntu = {"ubuntu": "http://mirror/ubuntu", "ubuntuPorts": "http://mirror/ubuntu-ports"}
    values = {"repositories": {**ubuntu, "docker": "http://mirror/docker"}}
    machine = _machine(tmp_path, "osp-ubuntu", "http://mirror/docker/ubuntu")
    machine.command("dpkg", f"echo {architecture}")
    _run(machine, render("osp-ubuntu", "openstack", values=values))
    keyring = machine.path("/usr/share/keyrings/ubuntu-archive-keyring.gpg")
    assert not machine.path("/etc/apt/sources.list.d/ubuntu.sources").exists()
    assert machine.path("/etc/apt/sources.list").read_text().splitlines() == [
        f"deb [signed-by={keyring}] http://mirror/{folder} {suite} main restricted universe"
        for suite in ("noble", "noble-updates", "noble-security")
    ]
    assert "http://mirror/docker/ubuntu noble" in machine.path("/etc/apt/sources.list.d/docker.list").read_text()


def test_bug_245_apt_has_the_proxy_before_cloud_init_upgrades_packages() -> None:
    """OSM 0250abe #245, KKP#11764: packages of the first boot went around the proxy."""
    node = render("osp-ubuntu", "openstack", settings=Settings(http_proxy="http://proxy:3128"))
    written = {file["path"]: file for file in yaml.safe_load(node.user_data["bootstrap"])["write_files"]}
    assert written["/etc/apt/apt.conf.d/95proxy"]["permissions"] == "0600"
    assert node.file("/etc/apt/apt.conf.d/95proxy").splitlines() == [
        'Acquire::http::Proxy "http://proxy:3128";',
        'Acquire::https::Proxy "http://proxy:3128";',
    ]


# --- Red Hat's family -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("version", "major"), [("9.5", "9"), ("10.1", "10"), ("8", "8")])
@pytest.mark.parametrize("profile", ["osp-rhel", "osp-rockylinux"])
def test_dockers_repository_is_that_of_the_major_release_and_no_upgrade_sees_it(
    tmp_path: Path, profile: str, version: str, major: str
) -> None:
    machine = _machine(tmp_path, profile)
    machine.write("/etc/os-release", f'VERSION_ID="{version}"\n')
    _run(machine, render(profile, "openstack"))
    lines = machine.path("/etc/yum.repos.d/docker-ce.repo").read_text().splitlines()
    assert lines[2:] == [
        f"baseurl={_DOCKER}/rhel/{major}/$basearch/stable",
        "enabled=0",
        "gpgcheck=1",
        f"gpgkey={_DOCKER}/rhel/gpg",
    ]
    assert machine.calls[-1] == "yum -y --enablerepo=docker-ce-stable install containerd.io-2.2.*"
    assert machine.path("/etc/yum.repos.d/image.repo").read_text() == _REPOSITORY


@_EVERY_RED_HAT
def test_the_repositories_of_an_image_are_replaced_as_a_whole(tmp_path: Path, profile: str) -> None:
    mirrors: Any = {name: f"http://mirror/$releasever/{name}/$basearch/os/" for name in ("AppStream", "BaseOS")}
    own = "http://mirror/" if profile == "osp-rockylinux" else mirrors
    machine = _machine(tmp_path, profile)
    machine.command("amazon-linux-extras", "")
    _run(machine, render(profile, _provider(profile), values={"repositories": {profile.removeprefix("osp-"): own}}))
    assert machine.path("/etc/yum.repos.d/image.repo").read_text() == _REPOSITORY.replace("=1", "=0")
    written = machine.path("/etc/yum.repos.d/mirrors.repo").read_text()
    assert [line for line in written.splitlines() if line.startswith(("[", "base", "enabled", "gpg"))] == [
        *("[AppStream]", f"baseurl={mirrors['AppStream']}", "enabled=1", "gpgcheck=1"),
        *("[BaseOS]", f"baseurl={mirrors['BaseOS']}", "enabled=1", "gpgcheck=1"),
    ]
    assert machine.called("rpm ") == ["rpm --import /etc/pki/rpm-gpg/RPM-GPG-KEY-image"]
    assert machine.called("amazon-linux-extras") == []


@pytest.mark.parametrize(
    ("offered", "reboots"), [("kernel-modules-extra-x86_64", 0), ("kernel kernel-modules-extra", 1)]
)
def test_images_from_release_10_on_get_the_modules_that_they_leave_out(
    tmp_path: Path, offered: str, reboots: int
) -> None:
    """On RHEL 10 and Rocky Linux 10 modprobe found no br_netfilter, and no kubelet ever started."""
    machine = _machine(tmp_path, "osp-rockylinux")
    machine.command("modprobe", '[ -e "$MACHINE/modules" ]')
    machine.command("yum", f'[[ "$*" != *" kernel"* || "$*" = *" {offered}" ]]')
    found_by = ("systemctl", "reboot") if reboots else ("yum", f"-y install {offered}")
    machine.command(found_by[0], f'[ "$*" != "{found_by[1]}" ] || touch "$MACHINE/modules"')
    for _ in range(2):
        _run(machine, render("osp-rockylinux", "openstack"))
    assert machine.called("systemctl reboot") == ["systemctl reboot"] * reboots
    assert machine.calls[-1].startswith("yum -y --enablerepo=docker-ce-stable")


@_EVERY_RED_HAT
def test_an_image_without_repositories_and_selinux_gets_those_of_values(tmp_path: Path, profile: str) -> None:
    """RHEL that was never registered has no file of repositories at all."""
    own: Any = "http://mirror/" if profile == "osp-rockylinux" else {"BaseOS": "http://mirror/BaseOS"}
    machine = _machine(tmp_path, profile)
    machine.path("/etc/yum.repos.d/image.repo").unlink()
    machine.path("/etc/selinux/config").unlink()
    _run(machine, render(profile, _provider(profile), values={"repositories": {profile.removeprefix("osp-"): own}}))
    assert "baseurl=http://mirror/" in machine.path("/etc/yum.repos.d/mirrors.repo").read_text()
    assert any("containerd" in call for call in machine.called("yum "))


@_EVERY_RED_HAT
def test_what_red_hat_switches_on_is_switched_off(tmp_path: Path, profile: str) -> None:
    machine = _machine(tmp_path, profile)
    _run(machine, render(profile, _provider(profile)))
    assert machine.path("/etc/selinux/config").read_text() == "SELINUX=permissive\nSELINUXTYPE=targeted\n"
    assert "setenforce 0" in machine.calls
    assert "systemctl disable --now firewalld" in machine.calls


@pytest.mark.parametrize("profile", ["osp-rhel", "osp-rockylinux"])
@pytest.mark.parametrize("family", ["IPv6", "IPv4+IPv6", "IPv6+IPv4"])
@pytest.mark.parametrize("method", ["disabled", "ignore", "auto"])
def test_bugs_196_and_242_ipv6_is_switched_on_by_networkmanager_where_it_is_off(
    tmp_path: Path, profile: str, family: str, method: str
) -> None:
    """OSM 068352b #196, 4f7c5a6 #242: it wrote ifcfg files, which nothing reads any more."""
    machine = _machine(tmp_path, profile)
    machine.command("ip", 'case "$*" in *-4*) echo "default via 10.0.0.1 dev ens3 proto dhcp" ;; esac')
    machine.command(
        "nmcli", f'case "$*" in *GENERAL*) echo "System ens3" ;; *ipv6.method\\ connection*) echo {method} ;; esac'
    )
    _run(machine, render(profile, "openstack", network={"ipFamily": family}))
    changes = [
        "nmcli connection modify System ens3 ipv6.method auto",
        "nmcli device reapply ens3",
    ]
    assert [call for call in machine.called("nmcli ") if "--get-values" not in call] == changes * (method != "auto")


@pytest.mark.parametrize("profile", ["osp-rhel", "osp-rockylinux"])
@pytest.mark.parametrize("family", ["", "IPv4"])
def test_the_network_of_machines_without_ipv6_is_left_alone(profile: str, family: str) -> None:
    assert "nmcli" not in render(profile, "openstack", network={"ipFamily": family}).texts


def test_rhel_registers_until_it_is_registered(tmp_path: Path) -> None:
    """cloud-init tries once, before there is a proxy."""
    spec = {"rhelSubscriptionManagerUser": "user", "rhelSubscriptionManagerPassword": "hush-hush"}
    settings = Settings(http_proxy="http://me:pw@proxy.example.com:3128", no_proxy=".svc")
    node = render("osp-rhel", "openstack", settings=settings, os_spec=spec)
    machine = _machine(tmp_path, "osp-rhel")
    machine.command(
        "subscription-manager",
        '[ "$1" != identity ] || { echo . >>"$MACHINE/tries"; [ "$(wc -l <"$MACHINE/tries")" -ge 4 ]; }',
    )
    _run(machine, node)
    config, *register = [call for call in machine.calls if call.startswith(("subscription-", "cloud-init"))]
    assert config.split()[2:] == [
        *("--server.no_proxy=.svc", "--server.proxy_scheme=http"),
        *("--server.proxy_hostname=proxy.example.com", "--server.proxy_port=3128"),
    ]
    attempt = [
        "subscription-manager identity",
        "cloud-init single --name rh_subscription --frequency always",
        "subscription-manager identity",
    ]
    assert register == [*attempt, *attempt]
    assert machine.called("sleep ") == ["sleep 1"]
    assert "hush-hush" not in node.texts
    assert "password: hush-hush" in node.user_data["bootstrap"].decode()


def test_the_password_of_the_proxy_is_in_no_list_of_processes(tmp_path: Path) -> None:
    spec = {"rhelUseSatelliteServer": True}
    node = render("osp-rhel", "vsphere", settings=Settings(http_proxy="http://me:hu$h@proxy:3128"), os_spec=spec)
    machine = _machine(tmp_path, "osp-rhel")
    for _ in range(2):
        _run(machine, node)
    assert machine.path("/etc/rhsm/rhsm.conf").read_text().splitlines() == [
        *("[server]", "proxy_user = me", "proxy_password = hu$h", "hostname = subscription.rhsm.redhat.com"),
        *("[rhsm]", "manage_repos = 1"),
    ]
    assert not any("hu$h" in call for call in machine.calls)


def test_rhel_of_a_cloud_that_pays_is_not_registered() -> None:
    assert "subscription-manager" not in render("osp-rhel", "aws").texts
    assert "retry register" in render("osp-rhel", "vsphere", os_spec={"rhelUseSatelliteServer": True}).texts


# --- Amazon Linux 2 -------------------------------------------------------------------------------------------------


def test_bugs_499_and_531_amazon_linux_2_gets_a_configuration_that_containerd_1_7_takes() -> None:
    """containerd 1.7 refuses version 3: `expected version = 2`; the registry's credentials have another name there."""
    settings = Settings(
        pause_image="registry.example.com/pause:3.10",
        device_ownership_from_security_context=True,
        registry_mirrors={"docker.io": ("https://mirror.example.com",)},
    )
    node = render("osp-amzn2", "aws", settings=settings)
    config = tomllib.loads(node.file("/etc/containerd/config.toml"))
    assert config["version"] == 2
    assert list(config["plugins"]) == ["io.containerd.grpc.v1.cri"]
    cri = config["plugins"]["io.containerd.grpc.v1.cri"]
    assert cri["sandbox_image"] == settings.pause_image
    assert cri["device_ownership_from_security_context"] is True
    assert cri["registry"] == {"config_path": "/etc/containerd/certs.d"}
    assert cri["containerd"]["runtimes"]["runc"]["options"] == {"SystemdCgroup": True}
    assert cri["cni"] == {"bin_dir": "/opt/cni/bin", "conf_dir": "/etc/cni/net.d"}
    assert "mirror.example.com" in node.file("/etc/containerd/certs.d/docker.io/hosts.toml")


def test_bug_573_credentials_of_registries_reach_containerd_1_7(monkeypatch: pytest.MonkeyPatch) -> None:
    """OSM 58d356e #573: credentials stand below registry.configs, by host."""
    logins = {
        "https://index.docker.io/v1/": '{"username": "me", "password": "a\\"b\\\\c"}',
        "quay.io": '{"auth": "bWU6cHc="}',
    }
    registries = secret("registries", "kube-system", logins)
    monkeypatch.setattr("tests.profiles.rendering.facts", lambda: [*facts(), registries])
    node = render("osp-amzn2", "aws", settings=Settings(registry_credentials_secret=("kube-system", "registries")))
    config = tomllib.loads(node.file("/etc/containerd/config.toml"))
    assert config["plugins"]["io.containerd.grpc.v1.cri"]["registry"]["configs"] == {
        "index.docker.io": {"auth": {"username": "me", "password": 'a"b\\c'}},
        "quay.io": {"auth": {"auth": "bWU6cHc="}},
    }


@_EVERY_PROFILE
def test_bug_560_each_operating_system_gets_the_configuration_of_its_containerd(profile: str) -> None:
    """OSM bae446b #560: packages of 2.2 and a configuration of version 2, or the reverse."""
    node = render(profile, _provider(profile))
    old = profile == "osp-amzn2"
    assert tomllib.loads(node.file("/etc/containerd/config.toml"))["version"] == (2 if old else 3)
    assert ("containerd-1.7*" in node.texts) is old


@pytest.mark.parametrize("minor", range(29, 37))
@_EVERY_PROFILE
def test_the_kubelet_is_told_of_cgroup_v1_where_there_is_no_other(profile: str, minor: int) -> None:
    """From 1.35 on it ends on `a host using cgroup v1` unless told so; 1.30 does not know the field."""
    node = render(profile, _provider(profile), f"1.{minor}.1")
    config: dict[str, Any] = yaml.safe_load(node.file("/etc/kubernetes/kubelet.conf"))
    expected = {"failCgroupV1": False} if profile == "osp-amzn2" and minor >= 31 else {}
    assert {key: value for key, value in config.items() if key == "failCgroupV1"} == expected


def test_amazon_linux_2_is_refused_where_it_cannot_boot() -> None:
    with pytest.raises(InputError) as refused:
        render("osp-amzn2", "aws", "1.37.0")
    (problem,) = refused.value.problems
    assert problem == Expected(Code.TEMPLATE_REFUSES_POOL, "Amazon Linux 2 ", "containerd 1.7", "1.37", "1.36")
    assert problem.where.startswith("builtin:osp-amzn2@v2.1.0:")


# --- all ------------------------------------------------------------------------------------------------------------


@_EVERY_PROFILE
def test_packages_are_asked_for_until_they_come(tmp_path: Path, profile: str) -> None:
    machine = _machine(tmp_path, profile)
    tool = "apt-get" if profile == "osp-ubuntu" else "yum"
    machine.command(tool, '[ "$(grep -c "^apt-get\\|^yum" "$MACHINE/calls")" -ge 3 ]')
    _run(machine, render(profile, _provider(profile)))
    assert machine.called("sleep ") == ["sleep 1", "sleep 2"]


@_EVERY_PROFILE
def test_an_upgraded_machine_boots_once_more_and_goes_on(tmp_path: Path, profile: str) -> None:
    node = render(profile, _provider(profile), os_spec={"distUpgradeOnBoot": True})
    machine = _machine(tmp_path, profile)
    machine.write("/run/reboot-required", "")
    machine.command("needs-restarting", "exit 1")
    _run(machine, node)
    assert machine.calls[-1] == "systemctl reboot"
    assert any(call.endswith(("dist-upgrade", "-y upgrade")) for call in machine.calls)
    first = len(machine.calls)
    _run(machine, node)
    assert "systemctl reboot" not in machine.calls[first:]
    assert any("containerd" in call for call in machine.calls[first:])
    untouched = render(profile, _provider(profile)).file("/opt/bin/setup")
    assert "upgrade()" not in untouched
    assert "/etc/upgrade-complete" not in untouched


@_EVERY_POOL
def test_guests_have_the_tools_of_their_provider(profile: str, provider: str) -> None:
    """OSM's KubeVirt guests had no agent until 1.10; Nutanix' volumes need iscsid."""
    script = render(profile, provider).file("/opt/bin/setup")
    expected = {
        "kubevirt": ("  qemu-guest-agent \\", "systemctl enable --now --no-block qemu-guest-agent"),
        "nutanix": ("  open-iscsi \\", "systemctl enable --now iscsid"),
        "vmware-cloud-director": ("  open-vm-tools \\",),
        "vsphere": (
            "  open-vm-tools \\",
            *(["systemctl enable --now --no-block vmtoolsd"] if profile in _RED_HAT else []),
        ),
    }
    tools = {line for lines in expected.values() for line in lines}
    assert {line for line in script.splitlines() if line in tools} == set(expected.get(provider, ()))


@_EVERY_PROFILE
@pytest.mark.parametrize("tool", ["update-ca-certificates", "update-ca-trust"])
def test_bugs_132_and_241_the_hosts_authorities_go_where_its_tool_looks_for_them(
    tmp_path: Path, profile: str, tool: str
) -> None:
    """OSM b4f319c #132, 192412d #241: its Amazon Linux 2 calls update-ca-certificates, which is not there; its RHEL
    writes into a folder that is not read."""
    machine = _machine(tmp_path, profile)
    other = {"update-ca-certificates", "update-ca-trust"} - {tool}
    node = render(profile, _provider(profile), settings=Settings(host_ca_bundle="FIRST\n\nSECOND\n"))
    script = _installs(node).replace(f"command -v {next(iter(other))}", "command -v no-such-command")
    (tmp_path / "bin" / next(iter(other))).unlink()
    done = machine.run(script)
    assert done.returncode == 0, done.stderr
    anchor = {
        "update-ca-certificates": "/usr/local/share/ca-certificates/host-ca.crt",
        "update-ca-trust": "/etc/pki/ca-trust/source/anchors/host-ca.pem",
    }[tool]
    assert machine.path(anchor).read_text() == "FIRST\n\nSECOND\n"
    asked = [number for number, call in enumerate(machine.calls) if call.startswith(("apt-get", "yum", "curl"))]
    assert machine.calls.index(f"{tool} ") < asked[0]


@_EVERY_PROFILE
def test_bug_245_every_step_and_service_that_asks_the_network_has_the_proxy(profile: str) -> None:
    """OSM#234, KKP#11764, 0250abe #245."""
    node = render(profile, _provider(profile), settings=Settings(http_proxy="http://proxy:3128"))
    for unit in (
        "/etc/systemd/system/bootstrap.service",
        "/etc/systemd/system/setup.service",
        "/etc/systemd/system/kubelet.service",
        "/etc/systemd/system/containerd.service.d/kubernetes.conf",
    ):
        assert "EnvironmentFile=-/etc/environment\n" in node.file(unit)


@_EVERY_POOL
def test_kkp_12467_with_mirrors_nothing_else_leaves_the_machine(profile: str, provider: str) -> None:
    """KKP#12467, K1#3467: binaries came from GitHub and dl.k8s.io, whatever was set."""
    downloads = {name: f"http://mirror/{name}" for name in ("kubernetes", "cni", "crictl")}
    repositories: dict[str, Any] = {name: f"http://mirror/{name}" for name in ("docker", "ubuntu", "rockylinux")}
    repositories |= {name: {"a": f"http://mirror/{name}"} for name in ("rhel", "amzn2")}
    values = {"downloads": downloads, "repositories": repositories, "dns": {"fallback": ""}}
    settings = Settings(registry_mirrors={"docker.io": ("https://mirror",)}, pause_image="mirror/pause:3.10")
    node = render(profile, provider, values=values, settings=settings)
    hosts = set(re.findall(r"https?://([^/\s\"']+)", node.texts))
    # registry-1.docker.io is what the mirror stands for, kubernetes.io the documentation that a unit names
    assert hosts == {"mirror", "api.example.com:6443", "registry-1.docker.io", "kubernetes.io", "127.0.0.1:10248"}
    repositories["docker"] += "/"
    assert render(profile, provider, values=values, settings=settings).texts == node.texts


@_EVERY_PROFILE
def test_packages_of_ones_own_are_installed_too(profile: str) -> None:
    script = render(profile, _provider(profile), values={"packages": {"extra": ["chrony", "ceph-common"]}})
    assert "  'chrony' \\\n  'ceph-common' \\\n" in script.file("/opt/bin/setup")


@_EVERY_POOL
@pytest.mark.parametrize("external", [False, True])
def test_bug_577_no_node_of_openstack_is_renamed_by_its_kubelet(profile: str, provider: str, external: bool) -> None:
    """OSM 556242d #577: the cloud provider did not find the node by that name."""
    unit = render(profile, provider, settings=Settings(external_cloud_provider=external)).file(
        "/etc/systemd/system/kubelet.service"
    )
    renamed = provider != "openstack" and (provider != "aws" or external)
    assert ("--hostname-override=" in unit) is renamed


@_EVERY_PROFILE
def test_bug_202_a_kubelet_that_has_not_joined_takes_the_newest_token(tmp_path: Path, profile: str) -> None:
    """OSM#202, MC#1732, KKP#10780: nodes joined only in the hour of the token that they had booted with."""
    node = render(profile, _provider(profile))
    machine = _machine(tmp_path, profile)
    machine.command("ip", 'echo "192.0.2.1 via 10.0.0.1 dev ens3 src 10.0.0.7 uid 0"')
    machine.install("/opt/bin/fetch-secret", 'echo "$*" >>/var/fetched; exit 1')
    # The kubelet writes its kubeconfig before it has a certificate, so that says nothing.
    for sign in ("/var/lib/kubelet/kubeconfig", "/etc/kubernetes/pki/kubelet-client-current.pem", "/var/never"):
        done = machine.run(node.file("/opt/bin/prepare-kubelet"))
        assert done.returncode == 0, done.stderr
        machine.write(sign, "there")
    fetched = machine.path("/var/fetched").read_text().splitlines()
    assert len(fetched) == 2
    assert all(each.startswith("kube-system-workers-kubelet-bootstrap-config kubeconfig ") for each in fetched)
