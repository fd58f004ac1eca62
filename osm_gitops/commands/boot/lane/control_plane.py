"""The control plane of a lane: etcd and the API server on loopback, kube-controller-manager, and kubectl to ask it."""

from __future__ import annotations

import json
import secrets
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic, sleep
from typing import Any, Final

from osm_gitops.commands.boot.lane import keeper
from osm_gitops.commands.boot.lane.authority import issue
from osm_gitops.commands.boot.lane.binaries import Binaries
from osm_gitops.commands.boot.lane.needs import output
from osm_gitops.errors import Code, LaneError, Problem
from osm_gitops.gocompat.basetext import encode_base64

ADMIN: Final = "admin"
SETTINGS_NAMESPACE: Final = "cloud-init-settings"
CLUSTER_INFO: Final = ("kube-public", "cluster-info")
# Who asked for what and got which answer, of ServiceAccounts only, written down before they get it.
_AUDIT: Final = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived", "ResponseStarted"],
    "rules": [{"level": "Metadata", "userGroups": ["system:serviceaccounts"]}, {"level": "None"}],
}
_OF_USERS: Final = ("--authorization-mode=RBAC",)
_OF_NODES: Final = (
    "--authorization-mode=Node,RBAC",
    "--client-ca-file=ca.crt",
    "--enable-admission-plugins=NodeRestriction",
)
CONTROLLERS: Final = (
    "certificatesigningrequest-approving-controller",
    "certificatesigningrequest-signing-controller",
    "node-lifecycle-controller",
    "token-cleaner-controller",
)
_GETTER: Final = f"system:serviceaccount:{SETTINGS_NAMESPACE}:cloud-init-getter"
_BINDINGS: Final = {
    "bootstrap": ("system:node-bootstrapper", "system:bootstrappers"),
    "approve-clients": ("system:certificates.k8s.io:certificatesigningrequests:nodeclient", "system:bootstrappers"),
    "approve-renewals": ("system:certificates.k8s.io:certificatesigningrequests:selfnodeclient", "system:nodes"),
}
"""What kubeadm allows joining machines: ClusterRole and group by the binding's name."""
_START: Final = 120
"""Seconds for what takes seconds on a machine that has nothing else to do."""
_RBAC: Final = "rbac.authorization.k8s.io"

Object = dict[str, Any]


def prepare(folder: Path, name: str, users: Mapping[str, Sequence[str]], host: str = "") -> Mapping[str, str]:
    """Write certificates, users with their groups and the audit policy of a server; the token of each user."""
    issue(folder, name, *([host] if host else []))
    tokens = {user: secrets.token_hex(16) for user in users}
    lines = [f'{tokens[user]},{user},{user},"{",".join(groups)}"\n' for user, groups in users.items()]
    (folder / "tokens.csv").write_text("".join(lines), "utf-8")
    (folder / "audit.json").write_text(json.dumps(_AUDIT), "utf-8")
    return tokens


@contextmanager
def reserved_port() -> Iterator[int]:
    """A port of loopback that only programs which share it on purpose can take."""
    with socket.socket() as holder:
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        holder.bind(("127.0.0.1", 0))
        yield holder.getsockname()[1]


def commands(binaries: Binaries, ports: Sequence[int], host: str = "") -> Mapping[str, Sequence[str]]:
    """The command lines of etcd and the API server, in a folder that is prepared. ``ports`` are that of the API server
    and two of etcd.

    With ``host``, the name or address that machines know the server by, kubelets can join: they have client
    certificates of its authority, and may do what a node may.
    """
    port, etcd, peers = ports[0], *(f"http://127.0.0.1:{number}" for number in ports[1:])
    etcd_flags = (
        *("--data-dir=etcd", "--unsafe-no-fsync", "--log-level=error", "--socket-reuse-port"),
        *(f"--listen-client-urls={etcd}", f"--advertise-client-urls={etcd}", f"--listen-peer-urls={peers}"),
    )
    access = (*_OF_NODES, f"--tls-sni-cert-key=api.crt,api.key:{host}") if host else _OF_USERS
    flags = (
        *(f"--etcd-servers={etcd}", "--bind-address=127.0.0.1", f"--secure-port={port}", "--permit-port-sharing"),
        *("--tls-cert-file=server.crt", "--tls-private-key-file=server.key"),
        *("--service-account-key-file=accounts.key", "--service-account-signing-key-file=accounts.key"),
        *("--service-account-issuer=https://kubernetes.default.svc", "--service-cluster-ip-range=10.96.0.0/16"),
        *(*access, "--token-auth-file=tokens.csv", "--enable-bootstrap-token-auth"),
        *("--disable-admission-plugins=ServiceAccount", "--endpoint-reconciler-type=none"),
        *("--audit-policy-file=audit.json", "--audit-log-path=audit.log"),
    )
    return {"etcd": (*binaries.etcd, *etcd_flags), "kube-apiserver": (*binaries.apiserver, *flags)}


@contextmanager
def kept(folder: Path, programs: Mapping[str, Sequence[str]]) -> Iterator[subprocess.Popen[bytes]]:
    """Programs that run in a folder, with logs ``NAME.log``, until this ends or the whole process does."""
    command = [sys.executable, "-I", keeper.__file__, str(folder), json.dumps(programs)]
    # In a session of its own: Ctrl-C is for this process, which then ends it.
    with subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True) as process:
        yield process


@contextmanager
def controllers(folder: Path, program: Path, kubeconfig: Path, authority: Path) -> Iterator[None]:
    """kube-controller-manager, which approves and signs kubelets' certificates; ``authority`` is the folder of the API
    server's."""
    flags = (
        *(f"--kubeconfig={kubeconfig}", "--leader-elect=false", "--secure-port=0"),
        *(f"--controllers={','.join(CONTROLLERS)}", f"--cluster-signing-cert-file={authority / 'ca.crt'}"),
        f"--cluster-signing-key-file={authority / 'ca.key'}",
    )
    with kept(folder, {"kube-controller-manager": (str(program), *flags)}):
        yield


@dataclass(frozen=True, slots=True)
class ControlPlane:
    """A running one. ``port`` is that of the API server on loopback, ``authority`` its PEM, ``audit`` the log of what
    ServiceAccounts asked it for."""

    port: int
    authority: str
    kubeconfig: Path
    audit: Path
    _kubectl: Path = field(repr=False)

    def create(self, *objects: Mapping[str, Any]) -> None:
        """Create objects. Raises LaneError with kubectl's words."""
        text = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
        path = self.kubeconfig.with_name("objects.json")
        path.touch(mode=0o600)
        path.write_text(text, "utf-8")
        try:
            self._run("create", "--filename", str(path))
        finally:
            path.unlink()

    def define(self, *definitions: Mapping[str, Any]) -> None:
        """Create CustomResourceDefinitions and wait until their kinds are served."""
        self.create(*definitions)
        names = (f"crd/{each['metadata']['name']}" for each in definitions)
        self._run("wait", "--for=condition=Established", f"--timeout={_START}s", *names)

    def get(self, kind: str, namespace: str = "", name: str = "") -> Object:
        """An object, or without a name the list of them. Raises LaneError if it is not there."""
        where = ("--namespace", namespace) if namespace else ()
        found: Object = json.loads(self._run("get", kind, *([name] if name else []), *where, "--output=json"))
        return found

    def token(self, namespace: str, account: str) -> str:
        """A new token of a ServiceAccount."""
        return self._run("create", "token", account, "--namespace", namespace).strip()

    def merge(self, kind: str, namespace: str, name: str, patch: Mapping[str, Any]) -> None:
        """JSON merge patch."""
        given = ("--namespace", namespace, "--type=merge", f"--patch={json.dumps(patch)}")
        self._run("patch", kind, name, *given)

    def is_ready(self) -> bool:
        """Whether it answers, and its first namespaces are there."""
        try:
            found = self.get("namespaces")["items"]
        except LaneError:
            return False
        names = {each["metadata"]["name"] for each in found}
        return names >= {"default", "kube-node-lease", "kube-public", "kube-system"}

    def _run(self, *words: str) -> str:
        return output(str(self._kubectl), f"--kubeconfig={self.kubeconfig}", "--request-timeout=60s", *words)


@contextmanager
def control_plane(folder: Path, binaries: Binaries, kubectl: Path, manager: Path, host: str) -> Iterator[ControlPlane]:
    """All of it, in an empty folder, known to machines by ``host``. Raises LaneError with logs if it does not start."""
    home, managers = folder / "server", folder / "controllers"
    for each in (home, managers):
        each.mkdir(parents=True)
    tokens = prepare(home, "lane", {ADMIN: ("system:masters",)}, host)
    authority = (home / "ca.crt").read_text("utf-8")
    with ExitStack() as stack:
        ports = [stack.enter_context(reserved_port()) for _ in range(3)]
        process = stack.enter_context(kept(home, commands(binaries, ports, host)))
        address = f"https://127.0.0.1:{ports[0]}"
        kubeconfig = _write_kubeconfig(folder / "kubeconfig", address, authority, tokens[ADMIN])
        found = ControlPlane(ports[0], authority, kubeconfig, home / "audit.log", kubectl)
        end = monotonic() + _START
        while not found.is_ready():
            if process.poll() is not None or monotonic() > end:
                logs = (
                    f"{log.name}: {log.read_text('utf-8', 'replace')[-1000:]}" for log in sorted(home.glob("*.log"))
                )
                what = f"the API server of the lane did not start: {' '.join(logs)}"
                raise LaneError([Problem(Code.BOOT_LANE_FAILED, what)])
            sleep(0.2)
        stack.enter_context(controllers(managers, manager, kubeconfig, home))
        yield found


def _write_kubeconfig(path: Path, server: str, authority: str, token: str) -> Path:
    trust = encode_base64(authority.encode())
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "lane", "cluster": {"server": server, "certificate-authority-data": trust}}],
        "users": [{"name": ADMIN, "user": {"token": token}}],
        "contexts": [{"name": "lane", "context": {"cluster": "lane", "user": ADMIN}}],
        "current-context": "lane",
    }
    path.touch(mode=0o600)
    path.write_text(json.dumps(config), "utf-8")
    return path


def cluster_info(server: str, authority: str) -> Object:
    """The ConfigMap by which machines find the API server, as kubeadm writes it."""
    trust = encode_base64(authority.encode())
    place = {"server": server, "certificate-authority-data": trust}
    config = {"apiVersion": "v1", "kind": "Config", "clusters": [{"name": "", "cluster": place}]}
    namespace, name = CLUSTER_INFO
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"kubeconfig": json.dumps(config)}}


def joining_rights() -> list[Object]:
    """Who may fetch user-data, and who may join: as every cluster of KKP has it, kubeadm's names replaced."""
    rules = [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}]
    getter = {"name": "cloud-init-getter", "namespace": SETTINGS_NAMESPACE}
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SETTINGS_NAMESPACE}},
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": getter},
        {"apiVersion": f"{_RBAC}/v1", "kind": "Role", "metadata": getter, "rules": rules},
        _binding("RoleBinding", getter, ("Role", getter["name"]), {"kind": "User", "name": _GETTER}),
        *(
            _binding(
                "ClusterRoleBinding", {"name": f"lane-{name}"}, ("ClusterRole", role), {"kind": "Group", "name": group}
            )
            for name, (role, group) in _BINDINGS.items()
        ),
    ]


def getter_secret(token: str) -> Object:
    """The Secret with the token by which machines fetch their user-data."""
    metadata = {"name": "cloud-init-getter-token", "namespace": SETTINGS_NAMESPACE}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": {"token": token}}


def _binding(kind: str, metadata: Mapping[str, str], role: tuple[str, str], subject: Mapping[str, str]) -> Object:
    return {
        "apiVersion": f"{_RBAC}/v1",
        "kind": kind,
        "metadata": dict(metadata),
        "roleRef": {"apiGroup": _RBAC, "kind": role[0], "name": role[1]},
        "subjects": [{"apiGroup": _RBAC, **subject}],
    }
