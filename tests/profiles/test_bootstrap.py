"""The first stage of the cloud-init profiles, run on a machine of its own: what OSM once got wrong stays right."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from osm_gitops.model.settings import Settings
from tests.apiserver.after_osm import recorded_authority
from tests.apiserver.cluster import ADMIN, Cluster
from tests.cli.scenes import GETTER_TOKEN
from tests.profiles.pools import POOLS
from tests.profiles.rendering import Node, read, render
from tests.profiles.sandbox import Machine

PROFILES: Final = ("osp-ubuntu", "osp-rhel", "osp-rockylinux", "osp-amzn2")
_PROXY: Final = Settings(http_proxy="http://user:p%40ss@proxy.example.com:3128", no_proxy=".svc,10.0.0.0/8")
_SECRET: Final = (
    "https://api.example.com:6443/api/v1/namespaces/cloud-init-settings/secrets/workers-kube-system-provisioning-config"
)
_CONFIG: Final = "#cloud-config\nwrite_files:\n- path: /opt/bin/setup\n"
# As cloud-init does it: --file behind the command from 24.1 on, before it in older ones; only the right one works.
_CLOUD_INIT: Final = r"""
case "$*" in
  "single --help") echo "usage: cloud-init single [--name NAME] NEW_FILE_OPTION"; exit ;;
  GOOD*) ;;
  *) echo "unrecognized arguments" >&2; exit 2 ;;
esac
echo '#!/bin/bash' >"$MACHINE/opt/bin/setup"
chmod 755 "$MACHINE/opt/bin/setup"
"""
_OLD: Final = _CLOUD_INIT.replace("NEW_FILE_OPTION", "").replace("GOOD", '"--file "')
_NEW: Final = _CLOUD_INIT.replace("NEW_FILE_OPTION", "[--file FILES]").replace("GOOD", '"single --name "')


_EVERY_POOL: Final = pytest.mark.parametrize(("profile", "provider"), [pool for pool in POOLS if pool[0] in PROFILES])
# Red Hat's family boots by one script: see the first test.
_EVERY_PROFILE: Final = pytest.mark.parametrize("profile", PROFILES[:2])


def _answer(config: str = _CONFIG, indent: int | None = None, **metadata: Any) -> bytes:
    data = {"cloud-config": b64encode(config.encode()).decode()}
    return json.dumps({"kind": "Secret", "metadata": metadata, "data": data}, indent=indent).encode()


def _machine(folder: Path, node: Node, cloud_init: str = _NEW, failures: int = 0) -> Machine:
    machine = Machine(folder)
    (folder / "etc/cloud").mkdir()
    machine.command("cloud-init", cloud_init)
    machine.serve(_SECRET, _answer(), failures)
    machine.install("/opt/bin/fetch-secret", node.bootstrap["/opt/bin/fetch-secret"].content)
    return machine


def _boot(machine: Machine, node: Node) -> None:
    done = machine.run(node.bootstrap["/opt/bin/bootstrap"].content)
    assert done.returncode == 0, done.stderr


def test_red_hats_family_boots_by_one_script() -> None:
    rhel, rocky, amazon = (render(profile, "aws", settings=_PROXY).bootstrap for profile in PROFILES[1:])
    assert rhel == rocky == amazon


@_EVERY_PROFILE
@pytest.mark.parametrize("cloud_init", [_OLD, _NEW], ids=["before-24.1", "from-24.1"])
def test_bug_381_the_provisioning_is_applied_by_old_and_new_cloud_init(
    tmp_path: Path, profile: str, cloud_init: str
) -> None:
    """OSM 0af4cf8 #381: the command line of cloud-init changed in 24.1."""
    node = render(profile, "aws")
    machine = _machine(tmp_path, node, cloud_init)
    _boot(machine, node)
    applied = [call for call in machine.called("cloud-init ") if "--help" not in call]
    assert len(applied) == 1
    assert "--name write_files --frequency always" in applied[0]
    assert machine.calls[-5:] == [
        "systemctl daemon-reload",
        "systemctl enable setup.service",
        "sync ",
        "systemctl disable bootstrap.service",
        "systemctl start --no-block setup.service",
    ]
    assert machine.path("/etc/cloud/cloud-init.disabled").exists()


@_EVERY_PROFILE
def test_bugs_273_and_365_a_second_boot_bootstraps_nothing(tmp_path: Path, profile: str) -> None:
    """OSM 07720b8 #273, 44cf897 #365: the bootstrap ran again, over a node that had joined."""
    node = render(profile, "aws")
    machine = _machine(tmp_path, node)
    _boot(machine, node)
    before = machine.calls
    _boot(machine, node)
    assert machine.calls == before
    assert "ConditionPathExists=!/etc/bootstrap-complete" in node.file("/etc/systemd/system/bootstrap.service")


@_EVERY_PROFILE
def test_a_reboot_in_the_middle_begins_again(tmp_path: Path, profile: str) -> None:
    node = render(profile, "aws")
    machine = _machine(tmp_path, node, 'case "$*" in *--help*) exit ;; esac\nkill -KILL $PPID')
    assert machine.run(node.bootstrap["/opt/bin/bootstrap"].content).returncode != 0
    assert not machine.path("/etc/bootstrap-complete").exists()
    assert not machine.path("/etc/cloud/cloud-init.disabled").exists()
    machine.command("cloud-init", _NEW)
    _boot(machine, node)
    assert machine.path("/etc/bootstrap-complete").exists()


@_EVERY_PROFILE
def test_bug_220_the_service_is_started_again_until_it_is_done(profile: str) -> None:
    """OSM 65a1828 #220: what failed once stayed failed."""
    node = render(profile, "aws")
    for service in ("bootstrap", "setup"):
        unit = node.file(f"/etc/systemd/system/{service}.service")
        assert "Restart=on-failure" in unit
        assert "WantedBy=multi-user.target" in unit
        assert "After=network-online.target" in unit
    assert read(profile).bootstrap.modules is not None
    assert "- systemctl enable bootstrap.service\n" in node.user_data["bootstrap"].decode()


@_EVERY_PROFILE
def test_bug_220_it_waits_longer_after_each_failure_of_the_api_server(tmp_path: Path, profile: str) -> None:
    """OSM 65a1828 #220; it asked every second, for ever."""
    node = render(profile, "aws")
    machine = _machine(tmp_path, node, failures=8)
    _boot(machine, node)
    assert machine.called("sleep ") == [f"sleep {pause}" for pause in (1, 2, 4, 8, 16, 32, 60, 60)]
    asked = (tmp_path / "curl.config").read_text()
    assert "connect-timeout = 10\n" in asked
    assert "max-time = 60\n" in asked


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"{}",
        b'{"kind": "Status", "code": 404}',
        _answer("")[:-9],
        _answer("#!/bin/sh\n"),
        b'{"data": {"cloud-config": "I2"}}',
    ],
    ids=["nothing", "no-data", "a-status", "cut", "no-cloud-config", "half-a-letter"],
)
def test_an_answer_that_is_no_cloud_config_is_not_applied_but_asked_for_again(tmp_path: Path, answer: bytes) -> None:
    node = render("osp-ubuntu", "hetzner")
    machine = _machine(tmp_path, node)
    machine.serve(_SECRET, answer)
    good = tmp_path / "good"
    good.write_bytes(_answer())
    machine.command(
        "sleep", f'for each in "$MACHINE"/served/*; do case $each in *.failures) ;; *) cp {good} "$each" ;; esac; done'
    )
    _boot(machine, node)
    assert machine.called("sleep ") == ["sleep 1"]
    assert len([call for call in machine.called("cloud-init ") if "write_files" in call]) == 1


def test_a_cloud_config_that_cloud_init_could_not_read_counts_as_failed(tmp_path: Path) -> None:
    """cloud-init only warns of a file that is no YAML and would apply the bootstrap once more."""
    node = render("osp-ubuntu", "hetzner")
    machine = _machine(tmp_path, node, 'case "$*" in *--help*) exit ;; esac')
    machine.write("opt/bin/setup", "of an earlier try")
    machine.command("sleep", "kill -KILL $PPID")
    machine.run(node.bootstrap["/opt/bin/bootstrap"].content)
    assert not machine.path("/etc/bootstrap-complete").exists()


@pytest.mark.parametrize("indent", [None, 2], ids=["compact", "pretty"])
def test_kkp_11155_the_secret_is_taken_apart_without_jq_and_python(tmp_path: Path, indent: int | None) -> None:
    """KKP#11155: jq: command not found. Text of annotations that looks like the key is not taken for it."""
    node = render("osp-ubuntu", "hetzner")
    machine = _machine(tmp_path, node)
    trap = json.dumps({"data": {"cloud-config": "AAAA"}})
    answer = _answer(indent=indent, annotations={"applied": trap}, managedFields=[{"f:data": {"f:cloud-config": {}}}])
    machine.serve(_SECRET, answer)
    done = machine.run(
        node.bootstrap["/opt/bin/fetch-secret"].content,
        *("workers-kube-system-provisioning-config", "cloud-config", str(tmp_path / "run/new/config")),
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "run/new/config").read_text() == _CONFIG
    assert (tmp_path / "run/new/config").stat().st_mode & 0o777 == 0o600
    assert [each.name for each in (tmp_path / "run/new").iterdir()] == ["config"]
    for command in ("jq", "python", "wget"):
        assert command not in node.file("/opt/bin/fetch-secret")


@_EVERY_PROFILE
def test_the_server_is_verified_and_the_token_is_in_no_list_of_processes_and_no_log(
    tmp_path: Path, profile: str
) -> None:
    """OSM's bootstrap said -k, gave the token as an argument, and wrote it to the journal by `set -x`."""
    node = render(profile, "aws", settings=Settings(kubernetes_ca_bundle="PEM\n"))
    machine = _machine(tmp_path, node)
    done = machine.run(node.bootstrap["/opt/bin/bootstrap"].content)
    config = (tmp_path / "curl.config").read_text()
    assert f'header = "Authorization: Bearer {GETTER_TOKEN}"' in config
    assert "cacert = " in config
    assert "insecure" not in config
    assert node.bootstrap["/etc/kubernetes/pki/ca.crt"].content == "PEM\n"
    assert GETTER_TOKEN not in done.stdout + done.stderr + "\n".join(machine.calls)
    assert "set -x" not in node.texts
    assert all(file.permissions == 700 for file in node.bootstrap.values() if GETTER_TOKEN in file.content)


def test_curl_and_a_real_api_server_understand_each_other(tmp_path: Path, worker: Cluster) -> None:
    """What the server prints for curl, with its certificate checked; by another authority it is not trusted."""
    worker.namespace("cloud-init-settings")
    metadata = {"name": "workers", "namespace": "cloud-init-settings", "annotations": {"x": '{"cloud-config": "AAAA"}'}}
    data = {"cloud-config": b64encode(_CONFIG.encode() * 500).decode(), "other": "AAAA"}
    worker.client().create({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data})
    node = render("osp-ubuntu", "hetzner")
    machine = Machine(tmp_path)
    (tmp_path / "bin/curl").unlink()
    script = node.file("/opt/bin/fetch-secret").replace("https://api.example.com:6443", worker.server)
    script = script.replace(GETTER_TOKEN, worker.tokens[ADMIN])
    fetched = machine.path("/run/fetched")
    for authority, complaint in ((worker.authority, ""), (recorded_authority(), "certificate")):
        fetched.unlink(missing_ok=True)
        machine.write("/etc/kubernetes/pki/ca.crt", authority)
        done = machine.run(script, "workers", "cloud-config", str(fetched))
        assert complaint in done.stderr
        assert (done.returncode == 0) is fetched.exists() is (not complaint)
        assert not complaint or fetched.parent.exists()
    absent = machine.run(script, "nobody", "cloud-config", str(fetched))
    assert absent.returncode != 0


@_EVERY_PROFILE
def test_verifying_the_server_is_switched_off_only_by_a_value(profile: str) -> None:
    node = render(profile, "aws", values={"apiServer": {"insecureSkipTLSVerify": True}})
    assert "\ninsecure\n" in node.file("/opt/bin/fetch-secret")


@_EVERY_PROFILE
def test_bug_245_the_proxy_comes_before_all_else_and_is_never_there_twice(tmp_path: Path, profile: str) -> None:
    """OSM 0250abe #245: the proxy was set after packages had been asked for; each retry appended it once more."""
    node = render(profile, "aws", settings=_PROXY)
    machine = _machine(tmp_path, node, failures=2)
    curl = tmp_path / "bin/curl"
    curl.write_text(curl.read_text().replace("\n", '\necho "$HTTPS_PROXY $no_proxy" >>"$0.seen"\n', 1))
    machine.write("/etc/environment", "LANG=C\nhttp_proxy=http://old:1\n")
    _boot(machine, node)
    machine.path("/etc/bootstrap-complete").unlink()
    _boot(machine, node)
    seen = (tmp_path / "bin/curl.seen").read_text().splitlines()
    assert set(seen) == {f"{_PROXY.http_proxy} {_PROXY.no_proxy}"}
    lines = machine.path("/etc/environment").read_text().splitlines()
    assert lines == [
        "LANG=C",
        *(f"{name}={_PROXY.http_proxy}" for name in ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy")),
        *(f"{name}={_PROXY.no_proxy}" for name in ("NO_PROXY", "no_proxy")),
    ]


@_EVERY_PROFILE
def test_bug_592_an_environment_that_is_a_link_to_a_file_of_the_image_is_replaced(tmp_path: Path, profile: str) -> None:
    """OSM e6a6915 #592: /etc/environment led to a read-only file, and the bootstrap ended there."""
    node = render(profile, "aws", settings=_PROXY)
    machine = _machine(tmp_path, node)
    machine.write("/usr/lib/pam/environment", "LANG=C\n")
    machine.path("/etc/environment").symlink_to(machine.path("/usr/lib/pam/environment"))
    _boot(machine, node)
    assert not machine.path("/etc/environment").is_symlink()
    assert machine.path("/etc/environment").read_text().startswith("LANG=C\nHTTP_PROXY=")
    assert machine.path("/usr/lib/pam/environment").read_text() == "LANG=C\n"


def test_settings_are_data_for_the_shell(tmp_path: Path) -> None:
    node = render("osp-ubuntu", "aws", settings=Settings(http_proxy="http://u:$(touch x)'`touch y`@p:1"))
    machine = _machine(tmp_path, node)
    _boot(machine, node)
    assert not (tmp_path / "x").exists()
    assert not (tmp_path / "y").exists()
    assert "HTTP_PROXY=http://u:$(touch x)'`touch y`@p:1\n" in machine.path("/etc/environment").read_text()


@_EVERY_POOL
def test_bugs_200_388_419_502_514_and_518_the_instance_that_booted_is_never_found_again(
    profile: str, provider: str
) -> None:
    """OSM e72bede #388 (Azure); 377421a #200, a5fa2ed #419, a4fda95 #502, bda745e #518, d54e050 #514 (Hetzner).

    `cloud-init clean` and a second `init` look for the datasource and write the network anew. Here is neither, so
    there is nothing to back up, to switch off or to restart.
    """
    script = render(profile, provider).bootstrap["/opt/bin/bootstrap"].content
    for word in ("cloud-init clean", "cloud-init init", "netplan", "NetworkManager", "systemd-networkd", "ip addr"):
        assert word not in script


def test_bugs_514_and_518_machines_of_hetzner_have_name_servers_to_fall_back_on(tmp_path: Path) -> None:
    """OSM bda745e #518, d54e050 #514: from Ubuntu 24.04 on, some had none. Each retry added a line once more."""
    node = render("osp-ubuntu", "hetzner")
    machine = _machine(tmp_path, node, failures=1)
    _boot(machine, node)
    drop_in = machine.path("/etc/systemd/resolved.conf.d/fallback.conf").read_text()
    assert drop_in == "[Resolve]\nFallbackDNS=1.1.1.1 2606:4700:4700::1111\n"
    assert machine.calls.index("systemctl restart systemd-resolved") < machine.calls.index("sleep 1")
    elsewhere = render("osp-ubuntu", "hetzner", values={"dns": {"fallback": "10.0.0.53"}})
    assert "FallbackDNS=10.0.0.53\n" in elsewhere.file("/opt/bin/bootstrap")
    none = render("osp-ubuntu", "hetzner", values={"dns": {"fallback": ""}})
    assert "FallbackDNS" not in none.texts


@_EVERY_POOL
def test_bugs_189_and_351_the_machine_gets_its_name_everywhere_but_on_aws(
    tmp_path: Path, profile: str, provider: str
) -> None:
    """OSM 52d93f2 #189: never on AWS, where the private DNS name counts; ac09af3 #351: edge has no Machines."""
    node = render(profile, provider)
    first = yaml.safe_load(node.user_data["bootstrap"])
    script = node.file("/opt/bin/setup")
    if provider == "aws":
        assert "hostname" not in first
        assert "hostnamectl" not in script
        return
    assert first["hostname"] == ("workers" if provider == "edge" else "<MACHINE_NAME>")
    machine = Machine(tmp_path)
    machine.write("/etc/machine-name", "  worker-7x2\n")
    lines = script.splitlines()
    begin = next(number for number, line in enumerate(lines) if "/etc/machine-name" in line)
    done = machine.run("\n".join(['retry() { "$@"; }', *lines[begin : begin + 3]]))
    assert done.returncode == 0, done.stderr
    assert machine.calls == ["hostnamectl set-hostname worker-7x2"]


@_EVERY_POOL
def test_mc_1055_user_data_is_far_below_what_providers_take(profile: str, provider: str) -> None:
    """MC#1055, KKP#5994: two RSA keys were too much for 16 KB on AWS."""
    keys = ["ssh-rsa " + "A" * 716 + " somebody@example.com", "ssh-rsa " + "B" * 716 + " somebody.else@example.com"]
    settings = Settings(http_proxy=_PROXY.http_proxy, kubernetes_ca_bundle="x" * 1800, host_ca_bundle="y" * 200_000)
    size = len(render(profile, provider, settings=settings, ssh_keys=keys).user_data["bootstrap"])
    assert size < 12_000


@_EVERY_PROFILE
def test_bugs_237_399_and_541_the_hosts_own_authorities_belong_to_the_second_stage(profile: str) -> None:
    """OSM 2de463c #237, 65ba1eb #399, 76d169d #541: there are two bundles; the host's may be too much for user-data."""
    node = render(profile, "aws", settings=Settings(host_ca_bundle="HOST-CA", kubernetes_ca_bundle="CLUSTER-CA"))
    assert all("HOST-CA" not in file.content for file in node.bootstrap.values())
    assert "HOST-CA" in node.file("/opt/bin/setup")
    assert node.file("/etc/kubernetes/pki/ca.crt") == "CLUSTER-CA\n"


def test_ubuntu_without_curl_installs_it_first(tmp_path: Path) -> None:
    node = render("osp-ubuntu", "openstack", values={"repositories": {"ubuntu": "http://mirror.example.com/ubuntu"}})
    script = node.bootstrap["/opt/bin/bootstrap"].content.replace("command -v curl", "command -v no-such-command")
    machine = _machine(tmp_path, node)
    machine.command("apt-get", "")
    machine.command("dpkg", "echo amd64")
    machine.write("/etc/os-release", "ID=ubuntu\nVERSION_CODENAME=noble\n")
    machine.write("/etc/apt/sources.list", "deb http://archive.ubuntu.com/ubuntu noble main\n")
    done = machine.run(script)
    assert done.returncode == 0, done.stderr
    update, repair, install = machine.called("apt-get ")
    assert update.endswith(" update")
    assert repair.endswith(" --fix-broken install")
    assert install.endswith(" install --no-install-recommends ca-certificates curl")
    assert machine.calls.index(install) < machine.calls.index(machine.called("curl ")[0])
    assert "http://mirror.example.com/ubuntu noble main" in machine.path("/etc/apt/sources.list").read_text()


def test_modules_that_a_user_adds_to_the_second_stage_run(tmp_path: Path) -> None:
    """OSM ran cloud-init's first stage only, so a runcmd of the provisioning never ran."""
    node = render("osp-ubuntu", "openstack")
    machine = _machine(tmp_path, node)
    machine.serve(_SECRET, _answer(_CONFIG + "yum_repos:\n  a: {}\nruncmd:\n- x\nbootcmd:\n- y\n"))
    _boot(machine, node)
    names = [call.split()[3] for call in machine.called("cloud-init single --name")]
    assert names == ["bootcmd", "write_files", "yum_add_repo", "runcmd", "scripts_user"]


@_EVERY_POOL
def test_edge_and_all_others_start_the_bootstrap_by_its_unit(profile: str, provider: str) -> None:
    """The script that OSM makes for edge enables and restarts bootstrap.service; nothing waits for nothing there."""
    node = render(profile, provider)
    first: Mapping[str, Any] = yaml.safe_load(node.user_data["bootstrap"])
    assert first["runcmd"] == [
        "systemctl daemon-reload",
        "systemctl enable bootstrap.service",
        "systemctl restart --no-block bootstrap.service",
    ]
    assert "Type=simple" in node.file("/etc/systemd/system/bootstrap.service")
