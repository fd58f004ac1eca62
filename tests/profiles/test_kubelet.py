"""The kubelet's unit and configuration, for every provider of every default profile, and what runs around it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from osm_gitops.errors import Code
from osm_gitops.model.settings import Settings
from tests.faults import Expected, refused
from tests.profiles.pools import every_node
from tests.profiles.rendering import Node, render
from tests.profiles.sandbox import Machine

_ANNOTATION: Final = "v1.kubelet-config.machine-controller.kubermatic.io"
_UNIT: Final = "/etc/systemd/system/kubelet.service"
_CONFIG: Final = "/etc/kubernetes/kubelet.conf"
_IN_TREE: Final = ("aws", "azure", "gce", "vsphere")
_FAMILIES: Final = ("", "IPv6", "IPv6+IPv4")


@cache
def _node(profile: str, provider: str, family: str = "", *, external: bool = False) -> Node:
    settings = Settings(external_cloud_provider=external)
    return render(profile, provider, settings=settings, network={"ipFamily": family})


def _flags(node: Node) -> dict[str, str]:
    """What the kubelet is started with."""
    (command,) = re.findall(r"^ExecStart=/opt/bin/kubelet((?: .*\\\n|.*\n)+?)(?=^\w)", node.file(_UNIT), re.MULTILINE)
    assert "\\\n" not in command.rstrip().rpartition("\n")[2]
    words = command.replace("\\\n", " ").split()
    return dict(word.removeprefix("--").split("=", 1) for word in words)


def _config(node: Node) -> dict[str, Any]:
    found = yaml.safe_load(node.file(_CONFIG))
    assert isinstance(found, dict)
    return found


def _annotated(**options: str) -> dict[str, Any]:
    """The configuration with options in the MachineDeployment's annotations."""
    annotations = {f"{_ANNOTATION}/{name}": value for name, value in options.items()}
    return _config(render("osp-flatcar", "openstack", annotations=annotations))


@every_node
def test_bug_536_a_restart_of_containerd_does_not_stop_the_kubelet(profile: str, provider: str) -> None:
    unit = _node(profile, provider).file(_UNIT)
    assert re.search(r"^Wants=.*\bcontainerd\.service", unit, re.MULTILINE)
    assert "Requires=" not in unit
    assert "BindsTo=" not in unit


@every_node
def test_bugs_184_196_216_217_and_242_the_kubelet_is_told_its_addresses_unless_a_provider_tells_both(
    profile: str, provider: str
) -> None:
    for external, family in product((False, True), _FAMILIES):
        node = _node(profile, provider, family, external=external)
        told = family not in ("IPv4+IPv6", "IPv6+IPv4") or not (external or provider in _IN_TREE)
        assert ("node-ip" in _flags(node)) == told
        assert ("$(retry address" in node.file("/opt/bin/prepare-kubelet")) == told


@every_node
def test_bug_577_a_node_has_the_name_that_its_cloud_provider_looks_for(profile: str, provider: str) -> None:
    for external in (False, True):
        flags = _flags(_node(profile, provider, external=external))
        own = provider == "openstack" or (provider == "aws" and not external)
        assert flags.get("hostname-override") == (None if own else "${KUBELET_HOSTNAME}")


@every_node
def test_bugs_191_348_and_353_only_an_external_provider_is_named_and_none_configured(
    profile: str, provider: str
) -> None:
    external = _flags(_node(profile, provider, external=True))
    assert external["cloud-provider"] == "external"
    assert "cloud-provider" not in _flags(_node(profile, provider))
    assert "cloud-config" not in external


@pytest.mark.parametrize("minor", range(31, 37))
def test_bugs_169_287_411_521_and_555_no_flag_is_used_that_some_kubelet_does_not_know(minor: int) -> None:
    settings = Settings(external_cloud_provider=True, initial_taints="a=b:NoSchedule", pause_image="r.example.com/p:1")
    flags = _flags(render("osp-flatcar", "azure", f"1.{minor}.0", settings=settings))
    assert set(flags) == {
        *("bootstrap-kubeconfig", "cert-dir", "cloud-provider", "config", "hostname-override", "kubeconfig"),
        *("node-ip", "register-with-taints"),
    }
    assert flags["register-with-taints"] == "a=b:NoSchedule"


def test_a_kubelet_with_cloud_providers_inside_is_refused() -> None:
    with refused(Expected(Code.TEMPLATE_REFUSES_POOL, "kubelet", "1.29")):
        render("osp-flatcar", "azure", "1.28.15")


@every_node
def test_bug_542_what_only_root_may_read_has_the_modes_of_the_cis_benchmark(profile: str, provider: str) -> None:
    node = _node(profile, provider)
    files = {**node.bootstrap, **node.provisioning}
    for path in (_UNIT, _CONFIG, "/etc/kubernetes/cloud-config", "/etc/containerd/config.toml"):
        assert files[path].permissions == 600, path
    for path in ("/opt/bin/fetch-secret", "/opt/bin/setup", "/opt/bin/bootstrap"):
        assert files[path].permissions == 700, path
    assert files["/etc/kubernetes/pki/ca.crt"].permissions == 644


@every_node
def test_the_configuration_is_complete_without_any_annotation(profile: str, provider: str) -> None:
    config = _config(_node(profile, provider))
    assert config["clusterDNS"] == ["10.10.10.10"]
    assert config["cgroupDriver"] == "systemd"
    assert config["containerRuntimeEndpoint"] == "unix:///run/containerd/containerd.sock"
    assert config["authentication"]["anonymous"] == {"enabled": False}
    assert config["authentication"]["x509"] == {"clientCAFile": "/etc/kubernetes/pki/ca.crt"}
    assert (config["rotateCertificates"], config["serverTLSBootstrap"], config["readOnlyPort"]) == (True, True, 0)
    assert config["protectKernelDefaults"] is True
    assert config["kubeReserved"] == {"cpu": "200m", "ephemeral-storage": "1Gi", "memory": "200Mi"}
    assert config["evictionHard"]["memory.available"] == "100Mi"
    assert (config["containerLogMaxSize"], config["containerLogMaxFiles"]) == ("100Mi", 5)
    assert not {"imageMinimumGCAge", "imageMaximumGCAge", "maxPods"} & set(config)


def test_annotations_of_the_machinedeployment_replace_what_else_applies() -> None:
    config = _annotated(
        KubeReserved="cpu=100m,memory=1Gi",
        SystemReserved="memory=500Mi",
        EvictionHard="memory.available<30Mi,nodefs.available<5%",
        MaxPods="250",
        ImageGCHighThresholdPercent="80",
        ImageGCLowThresholdPercent="60",
        ContainerLogMaxSize="10Mi",
        ContainerLogMaxFiles="3",
    )
    assert config["kubeReserved"] == {"cpu": "100m", "memory": "1Gi"}
    assert config["systemReserved"] == {"memory": "500Mi"}
    assert config["evictionHard"] == {"memory.available": "30Mi", "nodefs.available": "5%"}
    assert (config["maxPods"], config["containerLogMaxSize"], config["containerLogMaxFiles"]) == (250, "10Mi", 3)
    assert (config["imageGCHighThresholdPercent"], config["imageGCLowThresholdPercent"]) == (80, 60)


def test_ages_of_images_are_durations_where_osm_prints_a_struct() -> None:
    config = _annotated(ImageMinimumGCAge="90m", ImageMaximumGCAge="336h")
    assert (config["imageMinimumGCAge"], config["imageMaximumGCAge"]) == ("1h30m0s", "336h0m0s")


def test_every_name_server_of_the_cluster_is_used() -> None:
    node = render("osp-flatcar", "gce", settings=Settings(cluster_dns=("10.96.0.10", "fd00::a")))
    assert _config(node)["clusterDNS"] == ["10.96.0.10", "fd00::a"]


def test_what_people_write_stays_a_string() -> None:
    assert _annotated(KubeReserved="cpu=1,memory=1e3")["kubeReserved"] == {"cpu": "1", "memory": "1e3"}


def test_blanks_between_amounts_are_no_part_of_their_names() -> None:
    """A kubelet does not start when it shall reserve " memory"."""
    config = _annotated(
        KubeReserved="cpu=100m, memory = 1Gi", EvictionHard="memory.available<30Mi, nodefs.available< 5%"
    )
    assert config["kubeReserved"] == {"cpu": "100m", "memory": "1Gi"}
    assert config["evictionHard"] == {"memory.available": "30Mi", "nodefs.available": "5%"}


@pytest.mark.parametrize("rotates", [True, False])
def test_a_serving_certificate_is_asked_for_only_where_the_gate_allows_it(rotates: bool) -> None:
    gates: Mapping[str, bool] = {"RotateKubeletServerCertificate": rotates, "NodeSwap": False}
    config = _config(render("osp-flatcar", "gce", settings=Settings(feature_gates=gates)))
    assert config["featureGates"] == gates
    assert config["serverTLSBootstrap"] is rotates


def test_the_kernel_is_set_as_the_kubelet_expects_it() -> None:
    sysctl = render("osp-flatcar", "gce").file("/etc/sysctl.d/99-kubernetes.conf")
    protected = {"vm.overcommit_memory": 1, "vm.panic_on_oom": 0, "kernel.panic": 10, "kernel.panic_on_oops": 1}
    protected |= {"kernel.keys.root_maxkeys": 1_000_000, "kernel.keys.root_maxbytes": 25_000_000}
    assert all(f"\n{name} = {value}\n" in f"\n{sysctl}" for name, value in protected.items())
    assert "ipv6.conf" not in sysctl


@pytest.mark.parametrize("family", ["IPv6", "IPv4+IPv6", "IPv6+IPv4"])
def test_a_node_that_forwards_ipv6_keeps_listening_for_its_routers(family: str) -> None:
    node = render("osp-flatcar", "gce", network={"ipFamily": family})
    assert "net.ipv6.conf.all.forwarding = 1\n" in node.file("/etc/sysctl.d/99-kubernetes.conf")
    assert "net.ipv6.conf.all.accept_ra = 2\n" in node.file("/etc/sysctl.d/60-kubernetes-defaults.conf")


_ROUTES: Final = """
case "$*" in
  "-o -4 route get 192.0.2.1") echo '192.0.2.1 via 10.0.0.1 dev eth0 src 10.0.0.7 uid 0 \\    cache' ;;
  "-o -6 route get 2001:db8::1") echo '2001:db8::1 from :: via fe80::1 dev eth0 src fd00::7 metric 100 \\ cache' ;;
esac
"""


def _prepared(folder: Path, node: Node, routes: str = _ROUTES, **files: str) -> tuple[Machine, str]:
    """A machine after one run of prepare-kubelet, and the environment that the kubelet would get."""
    machine = Machine(folder)
    machine.command("ip", routes)
    machine.write("/etc/fstab", "LABEL=ROOT / ext4 defaults 0 1\n/dev/sdb1 none swap sw 0 0\n/dev/sdc1 /swap ext4 rw\n")
    for name, text in files.items():
        machine.write({"machine_name": "/etc/machine-name", "metadata": "/run/metadata/flatcar"}[name], text)
    result = machine.run(node.file("/opt/bin/prepare-kubelet"))
    assert result.returncode == 0, result.stderr
    return machine, machine.path("/etc/kubernetes/node.env").read_text()


@pytest.mark.parametrize(
    ("family", "addresses"),
    [
        ("", "10.0.0.7"),
        ("IPv4", "10.0.0.7"),
        ("IPv6", "fd00::7"),
        ("IPv4+IPv6", "10.0.0.7,fd00::7"),
        ("IPv6+IPv4", "fd00::7,10.0.0.7"),
    ],
)
def test_bugs_196_and_217_addresses_come_in_the_order_of_the_families(
    tmp_path: Path, family: str, addresses: str
) -> None:
    node = render("osp-flatcar", "kubevirt", network={"ipFamily": family})
    _, environment = _prepared(tmp_path, node, machine_name="node-a\n")
    assert environment == f"KUBELET_NODE_IP={addresses}\nKUBELET_HOSTNAME=node-a\n"


def test_the_kubelet_waits_for_an_address(tmp_path: Path) -> None:
    late = f'[ "$(grep -c "^ip" "$MACHINE/calls")" -gt 3 ] || exit 2\n{_ROUTES}'
    machine, environment = _prepared(tmp_path, render("osp-flatcar", "kubevirt"), late)
    assert "KUBELET_NODE_IP=10.0.0.7\n" in environment
    assert machine.called("sleep") == ["sleep 1", "sleep 2", "sleep 4"]


def test_without_a_default_route_the_node_has_the_address_that_reaches_the_api_server(tmp_path: Path) -> None:
    """Machines behind nothing but a private network never joined."""
    machine = Machine(tmp_path)
    machine.command("getent", '[ "$*" = "ahostsv4 api.example.com" ] && echo "10.1.0.1  STREAM api.example.com"')
    machine.command(
        "ip", '[ "$*" = "-o -4 route get 10.1.0.1" ] && echo "10.1.0.1 dev eth1 src 10.1.0.7 uid 0" || exit 2'
    )
    assert machine.run(render("osp-flatcar", "kubevirt").file("/opt/bin/prepare-kubelet")).returncode == 0
    assert machine.path("/etc/kubernetes/node.env").read_text().startswith("KUBELET_NODE_IP=10.1.0.7\n")


def test_a_node_without_a_name_from_its_provider_has_that_of_the_host(tmp_path: Path) -> None:
    _, environment = _prepared(tmp_path, render("osp-flatcar", "kubevirt"))
    assert environment.endswith("KUBELET_HOSTNAME=node.example.com\n")


def test_a_node_on_aws_has_the_name_that_ec2_gave_it(tmp_path: Path) -> None:
    node = render("osp-flatcar", "aws", settings=Settings(external_cloud_provider=True))
    (tmp_path / "usr/lib/systemd/system").mkdir(parents=True)
    (tmp_path / "usr/lib/systemd/system/coreos-metadata.service").touch()
    metadata = "COREOS_EC2_REGION=eu-west-1\nCOREOS_EC2_HOSTNAME=ip-10-0-0-7.eu-west-1.compute.internal\n"
    machine, environment = _prepared(tmp_path, node, metadata=metadata)
    assert environment.endswith("KUBELET_HOSTNAME=ip-10-0-0-7.eu-west-1.compute.internal\n")
    assert machine.called("systemctl") == ["systemctl start coreos-metadata.service"]


def test_swap_is_off_after_each_start_and_stays_off_after_a_reboot(tmp_path: Path) -> None:
    node = render("osp-flatcar", "kubevirt")
    machine, _ = _prepared(tmp_path, node)
    expected = "LABEL=ROOT / ext4 defaults 0 1\n#/dev/sdb1 none swap sw 0 0\n/dev/sdc1 /swap ext4 rw\n"
    assert machine.path("/etc/fstab").read_text() == expected
    assert machine.run(node.file("/opt/bin/prepare-kubelet")).returncode == 0
    assert machine.path("/etc/fstab").read_text() == expected
    assert machine.called("swapoff") == ["swapoff -a", "swapoff -a"]


def test_modules_are_there_before_their_settings(tmp_path: Path) -> None:
    machine, _ = _prepared(tmp_path, render("osp-flatcar", "kubevirt"))
    order = [call.split()[0] for call in machine.calls if call.startswith(("modprobe", "sysctl"))]
    assert order == ["modprobe", "modprobe", "sysctl"]
    assert machine.called("modprobe")[0] == "modprobe -a overlay br_netfilter nf_conntrack"


@pytest.mark.parametrize(("missing", "code"), [("ip_vs", 0), ("br_netfilter", 1)])
def test_a_kernel_without_ipvs_will_do_but_not_one_without_bridges(tmp_path: Path, missing: str, code: int) -> None:
    machine = Machine(tmp_path)
    machine.command("ip", _ROUTES)
    machine.command("modprobe", f'[[ " $* " != *" {missing} "* ]]')
    assert machine.run(render("osp-flatcar", "kubevirt").file("/opt/bin/prepare-kubelet")).returncode == code


def _monitored(folder: Path, unit: str, answers: str, *, active: bool = True, bootstrapped: bool = True) -> list[str]:
    """What a health monitor did in ten rounds; ``answers`` is the script of what it asks."""
    machine = Machine(folder)
    if bootstrapped:
        machine.write("/etc/kubernetes/pki/kubelet-client-current.pem", "a certificate\n")
    machine.command("curl", answers)
    machine.command("timeout", answers)
    machine.command("systemctl", "true" if active else '[ "$1" != is-active ]')
    machine.command("sleep", '[ "$(grep -c "^sleep" "$MACHINE/calls")" -lt 10 ]')
    result = machine.run(render("osp-flatcar", "gce").file("/opt/bin/health-monitor"), unit)
    assert result.returncode <= 1, result.stderr
    return [call for call in machine.calls if call.startswith("systemctl restart")]


@pytest.mark.parametrize("unit", ["kubelet", "containerd"])
def test_a_service_that_does_not_answer_three_times_is_restarted_and_given_time(tmp_path: Path, unit: str) -> None:
    assert _monitored(tmp_path, unit, "false") == [f"systemctl restart {unit}.service"] * 2


@pytest.mark.parametrize("unit", ["kubelet", "containerd"])
def test_a_service_that_answers_now_and_then_is_left_alone(tmp_path: Path, unit: str) -> None:
    now_and_then = '[ $(("$(grep -c "^curl\\|^timeout" "$MACHINE/calls")" % 3)) = 0 ]'
    assert _monitored(tmp_path, unit, now_and_then) == []


def test_a_service_that_somebody_stopped_stays_stopped(tmp_path: Path) -> None:
    assert _monitored(tmp_path, "kubelet", "false", active=False) == []


def test_a_kubelet_that_waits_for_its_certificate_is_not_restarted(tmp_path: Path) -> None:
    assert _monitored(tmp_path, "kubelet", "false", bootstrapped=False) == []


@pytest.mark.parametrize(("there", "restarts"), [("of the hour before", 1), ("the newest", 0)])
def test_a_kubelet_that_has_no_certificate_starts_again_with_a_newer_token(
    tmp_path: Path, there: str, restarts: int
) -> None:
    machine = Machine(tmp_path)
    machine.write("/etc/kubernetes/bootstrap-kubelet.conf", there)
    machine.install("/opt/bin/fetch-secret", 'mkdir -p /run/kubelet-token && echo "the newest" >"$3"')
    # What runs before each start of the kubelet.
    machine.command(
        "systemctl",
        f'[ "$1" = is-active ] || echo "the newest" >{machine.inside}/etc/kubernetes/bootstrap-kubelet.conf',
    )
    machine.command("sleep", '[ "$(grep -c "^sleep" "$MACHINE/calls")" -lt 5 ]')
    assert machine.run(render("osp-flatcar", "gce").file("/opt/bin/health-monitor"), "kubelet").returncode <= 1
    assert machine.called("systemctl restart") == ["systemctl restart kubelet.service"] * restarts


def test_a_monitor_of_nothing_says_how_it_is_used(tmp_path: Path) -> None:
    result = Machine(tmp_path).run(render("osp-flatcar", "gce").file("/opt/bin/health-monitor"))
    assert (result.returncode, result.stderr) == (64, "usage: health-monitor kubelet|containerd\n")
