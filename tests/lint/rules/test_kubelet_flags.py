"""Command lines of the kubelet: mistakes that platform teams make in them, and what our checks and the kubelet say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from osm_gitops.lint.rules.boot_file import BootDocument
from osm_gitops.lint.rules.kubelet_flags import (
    DEPRECATED_FLAGS,
    FIELDS,
    NEWEST,
    OLDEST,
    TYPES,
    UNTIL,
    command_lines,
)
from osm_gitops.model.finding import Finding
from osm_gitops.model.profile import ConfigHalf, File, Unit
from tests.judges import asking
from tests.lint.rules.documents import document, findings_of

_UNIT = """\
[Unit]
Description=kubelet
[Service]
Environment=PATH=/opt/bin:/usr/bin
ExecStart=/opt/bin/kubelet \\
  --bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubelet.conf \\
  --kubeconfig=/var/lib/kubelet/kubeconfig \\
  --config=/etc/kubernetes/kubelet.conf \\
  --cert-dir=/etc/kubernetes/pki{}
Restart=always
[Install]
WantedBy=multi-user.target
"""
_CONFIG = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\ncgroupDriver: systemd\n"
_CONTAINERD = """\
version = 3
[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
SystemdCgroup = true
"""
_SETUP = "#!/bin/sh\nfetch > /etc/kubernetes/bootstrap-kubelet.conf\n"
_FILES = {
    "/etc/kubernetes/kubelet.conf": _CONFIG,
    "/etc/containerd/config.toml": _CONTAINERD,
    "/opt/bin/setup": _SETUP,
}
_PATH = "/etc/systemd/system/kubelet.service"
_DROP_IN = f"{_PATH}.d/10.conf"
_FLAG_LINE = 10


def _node(unit: str, minor: int = 36, files: Mapping[str, str] = _FILES) -> BootDocument:
    half = ConfigHalf(
        files=tuple(File(path, text, 600) for path, text in files.items()),
        units=(Unit("kubelet.service", enable=True, mask=None, content=unit, drop_ins=()),),
    )
    return document(
        {"provisioning": half},
        {"bootstrap": b"", "provisioning": b""},
        utility="ignition",
        os="flatcar",
        kube_version=f"1.{minor}.1",
    )


def _found(unit: str, minor: int = 36, files: Mapping[str, str] = _FILES) -> list[Finding]:
    return [each for each in findings_of(_node(unit, minor, files)) if each.id.startswith("kubelet-")]


def _with(*arguments: str) -> str:
    return _UNIT.format("".join(f" \\\n  {each}" for each in arguments))


def _told(*arguments: str, minor: int = 36) -> list[tuple[str, str]]:
    return [(each.id, each.where) for each in _found(_with(*arguments), minor)]


SOUND = (
    (),
    ("--cloud-provider=external",),
    ("--cloud_provider=external",),
    ("--node-ip", "10.0.0.1"),
    ("--node-ip=10.0.0.1,fd00::1",),
    ("--hostname-override=worker-1.example.com",),
    ("--register-with-taints=a=b:NoSchedule,c:NoExecute",),
    ("--container-runtime-endpoint=unix:///run/containerd/containerd.sock",),
    ("--node-labels=a=b,node.kubernetes.io/pool=workers,example.com/a=",),
    ("--v=2",),
    ("-v=2",),
    ("-v", "2"),
    ("--exit-on-lock-contention", "--lock-file=/run/lock/kubelet.lock"),
    ("--seccomp-default=true",),
    ("--image-credential-provider-bin-dir=/opt/bin",),
)


@pytest.mark.parametrize("arguments", SOUND, ids=" ".join)
@pytest.mark.parametrize("minor", [31, 36])
def test_a_command_line_that_the_kubelet_takes_has_no_finding(arguments: Sequence[str], minor: int) -> None:
    assert _told(*arguments, minor=minor) == []


def test_values_of_variables_are_not_known_and_have_no_finding() -> None:
    assert _told("--node-ip=${KUBELET_NODE_IP}", "--hostname-override ${NAME}", "$KUBELET_EXTRA_ARGS") == []
    lines = "[Service]\nExecStart=/opt/bin/kubelet $KUBELET_ARGS\n"
    assert _found(lines) == []


MISTAKES = (
    # the arguments, and the id of the finding
    (("--container-runtime=remote",), "kubelet-flag"),
    (("--network-plugin=cni",), "kubelet-flag"),
    (("--cni-bin-dir=/opt/cni/bin",), "kubelet-flag"),
    (("--allow-privileged=true",), "kubelet-flag"),
    (("--logtostderr=true",), "kubelet-flag"),
    (("--alsologtostderr",), "kubelet-flag"),
    (("--dynamic-config-dir=/var/lib/kubelet/dynamic",), "kubelet-flag"),
    (("--master-service-namespace=default",), "kubelet-flag"),
    (("--pod-infra-container-image=registry.k8s.io/pause:3.10",), "kubelet-flag"),
    (("--cloud-config=/etc/kubernetes/cloud-config",), "kubelet-flag"),
    (("--register-schedulable=false",), "kubelet-flag"),
    (("--hostname-overide=a",), "kubelet-flag"),
    (("\N{EN DASH}v=2",), "kubelet-flag"),
    (("\N{EM DASH}node-ip=10.0.0.1",), "kubelet-flag"),
    (("--node-ip", "=", "10.0.0.1"), "kubelet-flag"),
    (("--nodeip=10.0.0.1",), "kubelet-flag"),
    (("--Node-IP=10.0.0.1",), "kubelet-flag"),
    (("--cgroupDriver=systemd",), "kubelet-flag"),
    (("-node-ip=10.0.0.1",), "kubelet-flag"),
    (("—node-ip=10.0.0.1",), "kubelet-flag"),
    (("node-ip=10.0.0.1",), "kubelet-flag"),
    (("--seccomp-default", "false"), "kubelet-flag"),
    (("--node-labels=a=b", "c=d"), "kubelet-flag"),
    (("--seccomp-default=yes",), "kubelet-flag-value"),
    (("--v=two",), "kubelet-flag-value"),
    (("--register-with-taints=a=b",), "kubelet-flag-value"),
    (("--register-with-taints=a=b:NoSchedul",), "kubelet-flag-value"),
    (("--node-labels=node-role.kubernetes.io/worker=",), "kubelet-flag-value"),
    (("--node-labels=kubernetes.io/role=worker",), "kubelet-flag-value"),
    (("--node-labels=a=b/c",), "kubelet-flag-value"),
)
NOT_BY_THE_PARSER = (
    (("--node-ip=10.0.0",), "kubelet-flag-value"),
    (("--node-ip",), "kubelet-flag"),
    (("--node-ip", "--v=2"), "kubelet-flag"),
    (("--cloud-provider=aws",), "kubelet-flag-value"),
    (("--hostname-override=Worker_1",), "kubelet-flag-value"),
    (("--root-dir=var/lib/kubelet",), "kubelet-flag-value"),
)
"""What only fails later, or depends on the arguments that follow."""


@pytest.mark.parametrize(("arguments", "rule"), [*MISTAKES, *NOT_BY_THE_PARSER], ids=str)
def test_a_mistake_in_a_command_line_is_told_at_its_line(arguments: Sequence[str], rule: str) -> None:
    place = f"{_PATH}:{_FLAG_LINE + len(arguments) - 1}"
    assert _told(*arguments) in ([(rule, f"{_PATH}:{_FLAG_LINE}")], [(rule, place)])


CONFIGURED = (
    ("--cgroup-driver=systemd", ["kubelet-flag-deprecated"]),
    ("--cluster-dns=10.96.0.10", ["kubelet-flag-deprecated"]),
    ("--max-pods=110", ["kubelet-flag-deprecated"]),
    ("--feature-gates=NodeSwap=true", ["kubelet-flag-deprecated"]),
    ("--kube-reserved=cpu=200m", ["kubelet-flag-deprecated"]),
    ("--maximum-dead-containers=5", ["kubelet-flag-deprecated"]),
    ("--cluster-dns=10.96.0.1000", ["kubelet-flag-value"]),
    ("--max-pods=many", ["kubelet-flag-value"]),
    ("--feature-gates=NodeSwapp=true", ["kubelet-flag-value"]),
    ("--kube-reserved=cpu=200x", ["kubelet-flag-value"]),
    ("--cgroup-driver=systemdd", ["kubelet-flag-value"]),
    ("--rotate-certificates=maybe", ["kubelet-flag-value"]),
    ("--sync-frequency=10", ["kubelet-flag-value"]),
)


@pytest.mark.parametrize(("argument", "rules"), CONFIGURED, ids=[each[0] for each in CONFIGURED])
def test_a_flag_that_belongs_into_the_configuration_is_told(argument: str, rules: Sequence[str]) -> None:
    assert [rule for rule, _ in _told(argument)] == rules


@pytest.mark.parametrize("flag", UNTIL)
def test_a_flag_is_told_for_the_versions_that_removed_it(flag: str) -> None:
    argument = f"--{flag}=false"
    assert _told(argument, minor=UNTIL[flag]) == []
    assert [rule for rule, _ in _told(argument, minor=UNTIL[flag] + 1)] == ["kubelet-flag"]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (_DROP_IN, '[Service]\nEnvironment="KUBELET_EXTRA_ARGS=--network-plugin=cni"\n'),
        (_DROP_IN, "[Service]\nExecStart=\nExecStart=/opt/bin/kubelet --network-plugin=cni\n"),
        ("/etc/default/kubelet", "# more\nKUBELET_EXTRA_ARGS=--network-plugin=cni\n"),
        ("/etc/sysconfig/kubelet", '# more\nKUBELET_EXTRA_ARGS="--v=2 --network-plugin=cni"\n'),
        ("/etc/systemd/system/own.service", "[Service]\nExecStart=/bin/sh -c 'exec kubelet --network-plugin=cni'\n"),
        ("/opt/bin/start", "#!/bin/sh\nexec kubelet --v=2 \\\n --network-plugin=cni \\\n $MORE 2>&1 | cat\n"),
    ],
    ids=["a variable of a drop-in", "a command of a drop-in", "Debian's file", "Red Hat's file", "a shell", "a script"],
)  # fmt: skip
def test_arguments_are_found_wherever_they_are(path: str, text: str) -> None:
    found = _found(_with(), files={**_FILES, path: text})
    line = next(number for number, each in enumerate(text.split("\n"), 1) if "--network-plugin" in each)
    assert [(each.id, each.where) for each in found if each.id == "kubelet-flag"] == [
        ("kubelet-flag", f"{path}:{line}")
    ]


@pytest.mark.parametrize(
    "line",
    [
        "kubelet --version",
        "systemctl restart kubelet now",
        "echo kubelet --network-plugin=cni",
        "kubelet --version > /dev/null && echo --network-plugin=cni",
        "# kubelet --network-plugin=cni",
        "cat <<EOF\nkubelet is started with flags\nEOF",
        "KUBELET=kubelet; $KUBELET --network-plugin=cni",
    ],
)
def test_another_command_of_a_script_has_no_finding(line: str) -> None:
    assert _found(_with(), files={**_FILES, "/opt/bin/a": f"#!/bin/sh\n{line}\n"}) == []


def test_a_command_that_only_names_the_kubelet_is_not_the_kubelet() -> None:
    assert list(command_lines("/etc/systemd/system/a.service", "[Service]\nExecStart=/bin/monitor kubelet --x\n")) != []
    assert (
        list(command_lines("/etc/systemd/system/a.service", "[Service]\nExecStart=/bin/monitor --of kubelet\n")) == []
    )


# --- with the other files of a node ---


@pytest.mark.parametrize(
    "flag", ["--kubeconfig=/var/lib/kubelet/kubeconfig \\\n", "--config=/etc/kubernetes/kubelet.conf \\\n"]
)
def test_a_flag_without_which_the_kubelet_does_not_join_is_missed(flag: str) -> None:
    assert [each.id for each in _found(_with().replace(f"  {flag}", ""))] == ["kubelet-flag-missing"]


@pytest.mark.parametrize(
    ("right", "wrong", "line"),
    [
        ("/etc/kubernetes/kubelet.conf", "/etc/kubernetes/kubelet.yaml", 8),
        ("/etc/kubernetes/bootstrap-kubelet.conf", "/etc/kubernetes/bootstrap.conf", 6),
    ],
)
def test_a_file_that_the_kubelet_reads_and_nothing_writes_is_told(right: str, wrong: str, line: int) -> None:
    unit = _with().replace(right, wrong)
    assert [(each.id, each.where) for each in _found(unit)] == [("kubelet-file", f"{_PATH}:{line}")]
    assert _found(unit, files={**_FILES, "/opt/bin/more": f"#!/bin/sh\ncat > {wrong}\n"}) == []


def test_a_certificate_that_the_configuration_names_and_nothing_writes_is_told() -> None:
    authority = "authentication:\n  x509:\n    clientCAFile: /etc/kubernetes/pki/ca.crt\n"
    files = {**_FILES, "/etc/kubernetes/kubelet.conf": _CONFIG + authority}
    assert [(each.id, each.where) for each in _found(_with(), files=files)] == [
        ("kubelet-file", "/etc/kubernetes/kubelet.conf:6")
    ]
    assert _found(_with(), files={**files, "/etc/kubernetes/pki/ca.crt": "a certificate"}) == []


@pytest.mark.parametrize("by_flag", [True, False], ids=["a flag", "the configuration"])
def test_another_socket_than_that_of_containerd_is_told(by_flag: bool) -> None:
    endpoint = "unix:///run/containerd.sock"
    unit = _with(f"--container-runtime-endpoint={endpoint}") if by_flag else _with()
    files = dict(_FILES)
    if not by_flag:
        files["/etc/kubernetes/kubelet.conf"] += f"containerRuntimeEndpoint: {endpoint}\n"
    where = f"{_PATH}:{_FLAG_LINE}" if by_flag else "/etc/kubernetes/kubelet.conf:4"
    assert [(each.id, each.where) for each in _found(unit, files=files)] == [("kubelet-endpoint", where)]
    files["/etc/containerd/config.toml"] += '[grpc]\naddress = "/run/containerd.sock"\n'
    assert _found(unit, files=files) == []


@pytest.mark.parametrize(
    ("kubelet", "containerd", "where"),
    [
        ("systemd", "SystemdCgroup = true", ""),
        ("cgroupfs", "SystemdCgroup = false", ""),
        ("cgroupfs", "", ""),
        ("cgroupfs", "SystemdCgroup = true", "/etc/kubernetes/kubelet.conf:3"),
        ("systemd", "SystemdCgroup = false", "/etc/containerd/config.toml:5"),
        ("systemd", "", "/etc/containerd/config.toml:4"),
    ],
)
def test_drivers_for_cgroups_that_differ_are_told(kubelet: str, containerd: str, where: str) -> None:
    changed = {
        "/etc/kubernetes/kubelet.conf": _CONFIG.replace("systemd", kubelet),
        "/etc/containerd/config.toml": _CONTAINERD.replace("SystemdCgroup = true", containerd),
    }
    found = [(each.id, each.where) for each in _found(_with(), files=_FILES | changed)]
    assert found == ([("kubelet-cgroup-driver", where)] if where else [])


def test_a_flag_for_the_driver_counts_more_than_the_configuration() -> None:
    found = [each.where for each in _found(_with("--cgroup-driver=cgroupfs")) if each.id == "kubelet-cgroup-driver"]
    assert found == [f"{_PATH}:{_FLAG_LINE}"]


# --- the kubelet as judge ---


_KINDS = {
    "ip": "address",
    "mapStringBool": "gates",
    "mapStringString": "pairs",
    "stringSlice": "texts",
    "Level": "level",
    "[]v1.Taint": "taints",
    "colonSeparatedMultimapStringString": "text",
    "pattern=N,...": "text",
    "reserved-memory": "text",
    "string": "text",
}
"""Our kind for a type of the kubelet's that has another name."""


@pytest.mark.oracle
@pytest.mark.parametrize("minor", range(OLDEST, NEWEST + 1))
def test_the_table_has_the_flags_of_each_kubelet(minor: int) -> None:
    flags = asking.kubelet_flags(minor)
    ours = {name: kind for name, kind in TYPES.items() if UNTIL.get(name, minor) >= minor}
    assert {name: _KINDS.get(flag["type"], flag["type"]) for name, flag in flags.items()} == ours
    deprecated = {name for name, flag in flags.items() if flag["deprecated"]}
    assert deprecated == (set(FIELDS) | DEPRECATED_FLAGS) & set(ours)


@pytest.mark.oracle
def test_the_kubelet_refuses_the_mistakes_and_takes_what_has_none() -> None:
    verdicts = asking.kubelet_arguments([arguments for arguments, _ in MISTAKES])
    assert [arguments for (arguments, _), verdict in zip(MISTAKES, verdicts, strict=True) if not verdict] == []
    sound = [*SOUND, *([argument] for argument, rules in CONFIGURED if "kubelet-flag-value" not in rules)]
    assert asking.kubelet_arguments(sound) == [[]] * len(sound)
    # Which drivers there are it asks only when it starts.
    wrong = [[argument] for argument, rules in CONFIGURED if "kubelet-flag-value" in rules]
    wrong.remove(["--cgroup-driver=systemdd"])
    assert all(asking.kubelet_arguments(wrong))
