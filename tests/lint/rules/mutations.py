"""Mistakes of the kinds that were measured with the real tools, each in a text that has nothing wrong with it.

``by_tool`` is whether the real tool finds it as well; `make test-all` asks it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final


@dataclass(frozen=True)
class Mutation:
    """A text with one mistake; ``id`` is the finding that tells it."""

    name: str
    text: str
    id: str
    by_tool: bool = True


def _edited(base: str) -> Callable[..., Mutation]:
    def edit(name: str, old: str, new: str, finding: str, *, by_tool: bool = True) -> Mutation:
        assert old in base, old
        return Mutation(name, base.replace(old, new, 1), finding, by_tool)

    return edit


KUBELET: Final = """\
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
authentication:
  anonymous:
    enabled: false
  webhook:
    enabled: true
    cacheTTL: 2m0s
authorization:
  mode: Webhook
cgroupDriver: systemd
clusterDNS:
- 10.10.10.10
- fd00::10
clusterDomain: cluster.local
containerLogMaxFiles: 5
containerLogMaxSize: 100Mi
evictionHard:
  memory.available: 100Mi
  nodefs.available: 10%
evictionSoft:
  imagefs.available: 20%
evictionSoftGracePeriod:
  imagefs.available: 1m30s
featureGates:
  RotateKubeletServerCertificate: true
imageGCHighThresholdPercent: 85
imageGCLowThresholdPercent: 80
imageMinimumGCAge: 2m0s
kubeReserved:
  cpu: 200m
  memory: 200Mi
maxPods: 110
maxParallelImagePulls: 5
readOnlyPort: 0
registerWithTaints:
- key: a
  value: b
  effect: NoSchedule
resolvConf: /run/systemd/resolve/resolv.conf
rotateCertificates: true
serializeImagePulls: false
serverTLSBootstrap: true
staticPodPath: /etc/kubernetes/manifests
systemReserved:
  cpu: 200m
tlsCipherSuites:
- TLS_AES_128_GCM_SHA256
"""
_kubelet = _edited(KUBELET)
KUBELET_MUTATIONS: Final = (
    _kubelet("unknown field", "maxPods: 110", "maxPodz: 110", "kubelet-unknown-field"),
    _kubelet("wrong case", "maxPods: 110", "MaxPods: 110", "kubelet-unknown-field"),
    _kubelet("unknown field below", "    cacheTTL: 2m0s", "    cacheTtl: 2m0s", "kubelet-unknown-field"),
    _kubelet("duplicate key", "maxPods: 110", "maxPods: 110\nmaxPods: 111", "kubelet-syntax"),
    _kubelet("number as text", "maxPods: 110", 'maxPods: "110"', "kubelet-type"),
    _kubelet("text as number", "clusterDomain: cluster.local", "clusterDomain: 5", "kubelet-type"),
    _kubelet("bool as text", "rotateCertificates: true", 'rotateCertificates: "true"', "kubelet-type"),
    _kubelet("list as text", "clusterDNS:\n- 10.10.10.10\n- fd00::10", "clusterDNS: 10.10.10.10", "kubelet-type"),
    _kubelet("mapping as list", "systemReserved:\n  cpu: 200m", "systemReserved:\n- cpu", "kubelet-type"),
    _kubelet("number too large", "maxPods: 110", "maxPods: 3000000000", "kubelet-type"),
    _kubelet("invalid duration", "cacheTTL: 2m0s", "cacheTTL: 2 minutes", "kubelet-type"),
    _kubelet("duration as number", "imageMinimumGCAge: 2m0s", "imageMinimumGCAge: 120", "kubelet-type"),
    _kubelet("Go's duration", "2m0s\nkubeR", "&Duration{Duration:2m0s,}\nkubeR", "kubelet-syntax"),
    _kubelet("negative maxPods", "maxPods: 110", "maxPods: -1", "kubelet-type"),
    _kubelet("port", "readOnlyPort: 0", "readOnlyPort: 70000", "kubelet-type"),
    _kubelet("threshold over 100", "Percent: 85", "Percent: 185", "kubelet-type"),
    _kubelet("low over high", "LowThresholdPercent: 80", "LowThresholdPercent: 90", "kubelet-value"),
    _kubelet("negative age", "imageMinimumGCAge: 2m0s", "imageMinimumGCAge: -2m0s", "kubelet-value"),
    _kubelet(
        "oldest under youngest",
        "imageMinimumGCAge: 2m0s",
        "imageMinimumGCAge: 2m0s\nimageMaximumGCAge: 1m0s",
        "kubelet-value",
    ),
    _kubelet("serial and parallel", "serializeImagePulls: false", "serializeImagePulls: true", "kubelet-value"),
    _kubelet("log files", "containerLogMaxFiles: 5", "containerLogMaxFiles: 1", "kubelet-type"),
    _kubelet("taint effect", "effect: NoSchedule", "effect: NoScheduling", "kubelet-type"),
    _kubelet(
        "unknown gate",
        "RotateKubeletServerCertificate: true",
        "RotateKubeletServerCertificat: true",
        "kubelet-feature-gate",
    ),
    _kubelet(
        "locked gate",
        "  RotateKubeletServerCertificate",
        "  KubeletCgroupDriverFromCRI: false\n  RotateKubeletServerCertificate",
        "kubelet-feature-gate",
    ),
    _kubelet(
        "gate that is gone",
        "  RotateKubeletServerCertificate",
        "  AppArmor: true\n  RotateKubeletServerCertificate",
        "kubelet-feature-gate",
    ),
    _kubelet(
        "wrong kind", "kind: KubeletConfiguration", "kind: KubeletConfiguration\nmetadata: {}", "kubelet-unknown-field"
    ),
    _kubelet("wrong apiVersion", "io/v1beta1", "io/v1beta2", "kubelet-syntax"),
    _kubelet("YAML", "authorization:\n  mode", "authorization:\n mode: a\n  mode", "kubelet-syntax"),
    _kubelet("150 %", "10%", "150%", "kubelet-value"),
    _kubelet("bad eviction quantity", "100Mi\n  nodefs", "100MB\n  nodefs", "kubelet-value"),
    _kubelet("unknown signal", "memory.available", "memory.avail", "kubelet-value"),
    _kubelet("soft without grace", "evictionSoftGracePeriod:\n  imagefs.available: 1m30s\n", "", "kubelet-value"),
    _kubelet("hairpin", "maxPods: 110", "maxPods: 110\nhairpinMode: hairpin", "kubelet-type"),
    _kubelet("critical pods", "maxPods: 110", "maxPods: 110\nshutdownGracePeriodCriticalPods: 10s", "kubelet-value"),
    _kubelet("bad kubeReserved quantity", "  memory: 200Mi", "  memory: 200MB", "kubelet-value"),
    _kubelet("bad log size", "containerLogMaxSize: 100Mi", "containerLogMaxSize: 100MB", "kubelet-value"),
    _kubelet("cipher", "TLS_AES_128_GCM_SHA256", "TLS_AES_128_GCM", "kubelet-value"),
    _kubelet("clusterDNS", "10.10.10.10", "10.10.10", "kubelet-value"),
    _kubelet(
        "field without its gate",
        "maxPods: 110",
        "maxPods: 110\nmemoryReservationPolicy: TieredReservation",
        "kubelet-feature-gate",
    ),
    _kubelet(
        "enforced without a cgroup",
        "maxPods: 110",
        "maxPods: 110\nenforceNodeAllocatable: [pods, system-reserved]",
        "kubelet-value",
    ),
    _kubelet(
        "none among others", "maxPods: 110", "maxPods: 110\nenforceNodeAllocatable: [none, pods]", "kubelet-value"
    ),
    # What the kubelet does not say when it starts.
    _kubelet(
        "setting that is the node's",
        "maxPods: 110",
        "maxPods: 110\nallowedUnsafeSysctls: [vm.max_map_count]",
        "kubelet-value",
        by_tool=False,
    ),
    _kubelet("percent twice", "10%", "10%%", "kubelet-value", by_tool=False),
    _kubelet("unknown reserved resource", "  memory: 200Mi", "  memori: 200Mi", "kubelet-value", by_tool=False),
    _kubelet("clusterDomain", "cluster.local", "Cluster_Local", "kubelet-value", by_tool=False),
    _kubelet("cgroupDriver", "cgroupDriver: systemd", "cgroupDriver: systemdd", "kubelet-type", by_tool=False),
    _kubelet("authorization mode", "mode: Webhook", "mode: WebHook", "kubelet-type", by_tool=False),
    _kubelet(
        "relative staticPodPath",
        "/etc/kubernetes/manifests",
        "etc/kubernetes/manifests",
        "kubelet-value",
        by_tool=False,
    ),
    _kubelet(
        "second document",
        "- TLS_AES_128_GCM_SHA256\n",
        "- TLS_AES_128_GCM_SHA256\n---\na: b\n",
        "kubelet-syntax",
        by_tool=False,
    ),
)

CONTAINERD: Final = """\
version = 3
[metrics]
address = "127.0.0.1:1338"
[plugins]
[plugins."io.containerd.cri.v1.images"]
discard_unpacked_layers = false
[plugins."io.containerd.cri.v1.images".registry]
config_path = "/etc/containerd/certs.d"
[plugins."io.containerd.cri.v1.runtime".containerd]
default_runtime_name = "runc"
[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
SystemdCgroup = true
"""
_containerd = _edited(CONTAINERD)
CONTAINERD_MUTATIONS: Final = (
    _containerd("unknown top key", "version = 3", "version = 3\nroots = '/a'", "containerd-unknown-key"),
    _containerd("unknown table", "[metrics]", "[metric]", "containerd-unknown-key"),
    _containerd(
        "unknown key of a plugin", "discard_unpacked_layers", "discard_unpacked_layer", "containerd-unknown-key"
    ),
    _containerd("duplicate key", "version = 3", "version = 3\nversion = 3", "toml-syntax"),
    _containerd("duplicate table", "[plugins]", "[metrics]\n[plugins]", "toml-syntax"),
    _containerd("syntax", '"127.0.0.1:1338"', '"127.0.0.1:1338', "toml-syntax"),
    _containerd("version too high", "version = 3", "version = 9", "containerd-version"),
    _containerd(
        "plugin",
        "io.containerd.cri.v1.images",
        "io.containerd.cri.v1.image",
        "containerd-unknown-plugin",
        by_tool=False,
    ),
    _containerd("runc option", "SystemdCgroup", "SystemDCgroup", "containerd-runc-option", by_tool=False),
    _containerd(
        "type of a runc option",
        "SystemdCgroup = true",
        'SystemdCgroup = "true"',
        "containerd-runc-option",
        by_tool=False,
    ),
    _containerd("runtime type", "io.containerd.runc.v2", "runc", "containerd-value", by_tool=False),
    _containerd("version 2 with names of 3", "version = 3", "version = 2", "containerd-unknown-plugin", by_tool=False),
    _containerd("no version", "version = 3\n", "", "containerd-version", by_tool=False),
    _containerd(
        "no CRI",
        "version = 3\n",
        'version = 3\ndisabled_plugins = ["io.containerd.grpc.v1.cri"]\n',
        "containerd-value",
        by_tool=False,
    ),
    _containerd(
        "mirrors beside config_path",
        'config_path = "/etc/containerd/certs.d"\n',
        'config_path = "/etc/containerd/certs.d"\n'
        '[plugins."io.containerd.cri.v1.images".registry.mirrors."docker.io"]\n'
        'endpoint = ["https://mirror.example.com"]\n',
        "containerd-value",
        by_tool=False,
    ),
    _containerd(
        "snapshotter",
        "discard_unpacked_layers = false",
        'discard_unpacked_layers = false\nsnapshotter = "overlayf"',
        "containerd-value",
        by_tool=False,
    ),
    _containerd(
        "number as text",
        "discard_unpacked_layers = false",
        'discard_unpacked_layers = false\nmax_concurrent_downloads = "3"',
        "containerd-value",
    ),
    _containerd(
        "relative folder of CNI",
        '[plugins."io.containerd.cri.v1.runtime".containerd]',
        '[plugins."io.containerd.cri.v1.runtime".cni]\nbin_dir = "opt/cni/bin"\n'
        '[plugins."io.containerd.cri.v1.runtime".containerd]',
        "containerd-value",
        by_tool=False,
    ),
    _containerd("default runtime", '_name = "runc"', '_name = "rcun"', "containerd-value", by_tool=False),
)

HOSTS: Final = """\
server = "https://registry-1.docker.io"

[host."https://mirror.example.com"]
capabilities = ["pull", "resolve"]
skip_verify = true
"""
_hosts = _edited(HOSTS)
HOSTS_MUTATIONS: Final = (
    _hosts("syntax", '"pull", "resolve"]', '"pull", "resolve"', "toml-syntax"),
    _hosts("capability", '"resolve"', '"resolves"', "containerd-hosts"),
    _hosts("wrong type", '["pull", "resolve"]', '"pull"', "containerd-hosts"),
    _hosts(
        "duplicate host",
        "skip_verify = true\n",
        'skip_verify = true\n[host."https://mirror.example.com"]\n',
        "toml-syntax",
    ),
    _hosts("unknown key", "skip_verify", "skip_verfy", "containerd-hosts", by_tool=False),
    _hosts("hosts", "[host.", "[hosts.", "containerd-hosts", by_tool=False),
    _hosts("scheme", '[host."https', '[host."htps', "containerd-hosts", by_tool=False),
    _hosts(
        "no scheme, and a name that looks like one",
        "https://mirror.example.com",
        "httpbin.org",
        "containerd-hosts",
        by_tool=False,
    ),
)

UNIT: Final = """\
[Unit]
Description=kubelet
Wants=network-online.target
After=containerd.service network-online.target

[Service]
Environment=A=b
EnvironmentFile=-/etc/environment
ExecStartPre=/opt/bin/prepare
ExecStart=/opt/bin/kubelet \\
  --config=/etc/kubernetes/kubelet.conf
Restart=always
RestartSec=10
CPUAccounting=true

[Install]
WantedBy=multi-user.target
"""
_unit = _edited(UNIT)
UNIT_MUTATIONS: Final = (
    _unit("key", "RestartSec=10", "RestartSecs=10", "systemd-unknown-key"),
    _unit("key in the wrong section", "Description=kubelet", "Description=kubelet\nRestart=no", "systemd-unknown-key"),
    _unit("section", "[Service]", "[Servic]", "systemd-unknown-section"),
    _unit("value", "Restart=always", "Restart=allways", "systemd-value"),
    _unit("bool", "CPUAccounting=true", "CPUAccounting=ture", "systemd-value"),
    _unit("time", "RestartSec=10", "RestartSec=10x", "systemd-value"),
    _unit(
        "no ExecStart",
        "ExecStart=/opt/bin/kubelet \\\n  --config=/etc/kubernetes/kubelet.conf\n",
        "",
        "systemd-exec-start",
    ),
    _unit("two ExecStart", "Restart=always", "ExecStart=/bin/true\nRestart=always", "systemd-exec-start"),
    _unit("relative program", "ExecStart=/opt/bin/kubelet", "ExecStart=opt/bin/kubelet", "systemd-value"),
    _unit("lost backslash", "kubelet \\\n", "kubelet\n", "systemd-unknown-key"),
    _unit("quotation mark", "--config=", '"--config=', "systemd-value"),
    _unit("specifier", "--config=", "--config=%k", "systemd-value"),
    _unit("template", "Restart=always", "{{ .Restart }}", "systemd-syntax"),
    _unit("text before a section", "[Unit]\n", "Description=a\n[Unit]\n", "systemd-syntax"),
    _unit("service type", "Restart=always", "Restart=always\nType=simpel", "systemd-value"),
    _unit("name of a unit", "WantedBy=multi-user.target", "WantedBy=multi-user", "systemd-value", by_tool=False),
    _unit("list of units", "After=containerd.service", "After=containerd", "systemd-value"),
)

CLOUD_CONFIG: Final = """\
#cloud-config

ssh_pwauth: false

ssh_authorized_keys:
- 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIDE a@b'
write_files:
- path: '/etc/a'
  permissions: '0644'
  content: |-
    a: b

- path: '/opt/bin/b'
  permissions: '0755'
  encoding: 'b64'
  content: |-
    IyEvYmluL3NoCg==

runcmd:
- systemctl start a
"""
_cloud = _edited(CLOUD_CONFIG)
CLOUD_CONFIG_MUTATIONS: Final = (
    _cloud("header missing", "#cloud-config\n", "", "cloud-config-header"),
    _cloud("header", "#cloud-config", "#cloudconfig", "cloud-config-header"),
    _cloud("YAML", "ssh_pwauth: false", "ssh_pwauth: [false", "cloud-config-syntax"),
    _cloud("indentation", "    a: b", "  a b", "cloud-config-syntax"),
    _cloud("key of a file", "permissions: '0644'", "permission: '0644'", "cloud-config-write-files"),
    _cloud("permissions as a number", "'0644'", "644", "cloud-config-write-files"),
    _cloud("encoding", "'b64'", "'b65'", "cloud-config-write-files"),
    _cloud("no path", "- path: '/etc/a'\n  permissions", "- permissions", "cloud-config-write-files"),
    _cloud("command with a colon", "- systemctl start a", "- echo a: b", "cloud-config-command"),
    _cloud("no commands", "runcmd:\n- systemctl start a\n", "runcmd: []\n", "cloud-config-command"),
    _cloud("top-level key", "runcmd:", "runcmds:", "cloud-config-unknown-key"),  # by 25.1, not by 22.4
    _cloud("permissions", "'0644'", "'rw-r--r--'", "cloud-config-write-files", by_tool=False),
    _cloud("relative path", "'/etc/a'", "'etc/a'", "cloud-config-write-files", by_tool=False),
    _cloud("path twice", "/opt/bin/b", "/etc/a", "cloud-config-write-files", by_tool=False),
    _cloud("base64", "IyEvYmluL3NoCg==", "IyEvYmluL3NoCg", "cloud-config-write-files", by_tool=False),
    _cloud(
        "key twice", "ssh_pwauth: false", "ssh_pwauth: false\nssh_pwauth: true", "cloud-config-syntax", by_tool=False
    ),
    _cloud("SSH key", "ssh-ed25519 AAAA", "AAAA", "ssh-key", by_tool=False),
)

IGNITION: Final[dict[str, Any]] = {
    "ignition": {"version": "2.3.0", "config": {}, "timeouts": {}},
    "passwd": {"users": [{"name": "core", "sshAuthorizedKeys": ["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIDE a@b"]}]},
    "storage": {
        "files": [
            {"filesystem": "root", "path": "/etc/a", "mode": 420, "contents": {"source": "data:,a%20b"}},
            {"filesystem": "root", "path": "/opt/bin/b", "mode": 493, "contents": {"source": "data:;base64,YQ=="}},
        ],
        "directories": [{"filesystem": "root", "path": "/opt/c", "mode": 493}],
    },
    "systemd": {
        "units": [
            {
                "name": "a.service",
                "enabled": True,
                "contents": "[Service]\nExecStart=/bin/true\n[Install]\nWantedBy=multi-user.target\n",
                "dropins": [{"name": "10.conf", "contents": "[Service]\nRestart=no\n"}],
            }
        ]
    },
}


def ignition_text(*path: Any, value: Any = None, drop: bool = False, rename: str = "", again: bool = False) -> str:
    """The config with what stands at ``path`` set to ``value``, dropped, renamed, or (an entry of a list) twice."""
    config = json.loads(json.dumps(IGNITION))
    parent = config
    for step in path[:-1]:
        parent = parent[step]
    last = path[-1] if path else None
    if again:
        parent.append(json.loads(json.dumps(parent[last])))
    elif rename:
        parent[rename] = parent.pop(last)
    elif drop:
        del parent[last]
    elif path:
        parent[last] = value
    return json.dumps(config)


def _ignition(name: str, finding: str, *path: Any, by_tool: bool = True, **change: Any) -> Mutation:
    return Mutation(name, ignition_text(*path, **change), finding, by_tool)


_A, _B, _UNIT = ("storage", "files", 0), ("storage", "files", 1), ("systemd", "units", 0)
_TEXT = ignition_text()
IGNITION_MUTATIONS: Final = (
    _ignition("mode below zero", "ignition-mode", *_A, "mode", value=-1),
    _ignition("mode too high", "ignition-mode", *_A, "mode", value=10000),
    _ignition("relative path", "ignition-value", *_A, "path", value="etc/a"),
    _ignition("no path", "ignition-value", *_A, "path", drop=True),
    _ignition("no filesystem", "ignition-value", *_A, "filesystem", drop=True),
    _ignition("scheme", "ignition-value", *_A, "contents", "source", value="ftp://a/b"),
    _ignition("percent", "ignition-value", *_A, "contents", "source", value="data:,%zz"),
    _ignition("base64", "ignition-value", *_B, "contents", "source", value="data:;base64,YQ"),
    _ignition("compression", "ignition-value", *_A, "contents", "compression", value="xz"),
    _ignition("hash", "ignition-value", *_A, "contents", "verification", value={"hash": "sha512-1"}),
    _ignition("unit without suffix", "systemd-unit-name", *_UNIT, "name", value="a"),
    _ignition("unknown suffix", "systemd-unit-name", *_UNIT, "name", value="a.servise"),
    _ignition("drop-in", "ignition-value", *_UNIT, "dropins", 0, "name", value="10.cnf"),
    _ignition("unit with a broken section", "systemd-syntax", *_UNIT, "contents", value="[Service\nA=b\n"),
    Mutation("truncated", _TEXT[:-5], "ignition-syntax"),
    Mutation("trailing comma", f"{_TEXT[:-1]},}}", "ignition-syntax"),
    Mutation("trailing text", f"{_TEXT} a", "ignition-syntax"),
    Mutation("cloud-config", "#cloud-config\na: b\n", "ignition-syntax"),
    Mutation("script", "#!/bin/bash\n", "ignition-syntax"),
    Mutation("empty", "", "ignition-syntax"),
    *(
        _ignition(f"version {each}", "ignition-syntax", "ignition", "version", value=each)
        for each in ("2.4.0", "3.0.0")
    ),
    _ignition("no version", "ignition-syntax", "ignition", "version", drop=True),
    _ignition("mode as text", "ignition-schema", *_A, "mode", value="420"),
    _ignition("bool as text", "ignition-schema", *_UNIT, "enabled", value="true"),
    _ignition("float mode", "ignition-schema", *_A, "mode", value=1.5),
    _ignition("no mode", "ignition-mode", *_A, "mode", drop=True),
    _ignition("unknown key", "ignition-schema", *_A, "owner", value="root"),
    _ignition("wrong case", "ignition-schema", *_A, "mode", rename="Mode"),
    _ignition("filesystem", "ignition-value", *_A, "filesystem", value="rot"),
    _ignition(
        "enabled without [Install]", "ignition-value", *_UNIT, "contents", value="[Service]\nExecStart=/bin/true\n"
    ),
    # What Ignition's own reader does not say.
    _ignition("old version", "ignition-syntax", "ignition", "version", value="2.2.0", by_tool=False),
    _ignition("path twice", "ignition-duplicate", *_A, again=True, by_tool=False),
    _ignition("file and directory", "ignition-duplicate", *_A, "path", value="/opt/c", by_tool=False),
    _ignition("file below a file", "ignition-duplicate", *_A, "path", value="/opt/bin/b/c", by_tool=False),
    _ignition("unit twice", "ignition-duplicate", *_UNIT, again=True, by_tool=False),
    _ignition("drop-in twice", "ignition-duplicate", *_UNIT, "dropins", 0, again=True, by_tool=False),
    _ignition("user twice", "ignition-duplicate", "passwd", "users", 0, again=True, by_tool=False),
    Mutation(
        "key twice", _TEXT.replace('"mode": 420', '"mode": 420, "mode": 493', 1), "ignition-duplicate", by_tool=False
    ),
    *(_ignition(f"mode {each}", "ignition-mode", *_A, "mode", value=each, by_tool=False) for each in (755, 1755)),
    _ignition("unclean path", "ignition-value", *_A, "path", value="/etc//a/", by_tool=False),
    *(
        _ignition(f"unit {each!r}", "systemd-unit-name", *_UNIT, "name", value=each, by_tool=False)
        for each in ("a/b.service", "a b.service")
    ),
    _ignition(
        "key of a unit",
        "systemd-unknown-key",
        *_UNIT,
        "contents",
        value="[Service]\nExecStrat=/bin/true\n[Install]\nWantedBy=multi-user.target\n",
        by_tool=False,
    ),
    _ignition(
        "text before a section",
        "systemd-syntax",
        *_UNIT,
        "contents",
        value="A=b\n[Service]\nExecStart=/bin/true\n[Install]\nWantedBy=multi-user.target\n",
        by_tool=False,
    ),
    _ignition("empty user name", "ignition-value", "passwd", "users", 0, "name", value="", by_tool=False),
    _ignition("SSH key", "ssh-key", "passwd", "users", 0, "sshAuthorizedKeys", value=["abc"], by_tool=False),
)
