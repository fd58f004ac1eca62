"""Starts API servers, each with an etcd, on ports and in a folder of their own.

There is no controller manager: nobody fills in the Secrets of ServiceAccounts, empties namespaces that are deleted,
or carries MachineDeployments out.
"""

from __future__ import annotations

import json
import secrets
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from http.client import HTTPException
from pathlib import Path
from typing import Final

from tests.apiserver import keeper
from tests.apiserver.authority import issue
from tests.apiserver.binaries import Binaries
from tests.apiserver.client import Refused
from tests.apiserver.cluster import ADMIN, Cluster
from tests.apiserver.definitions import DEFINITIONS

# Users and their groups, fixed when the server starts. All but the first may do nothing until a test allows it.
USERS: Mapping[str, Sequence[str]] = {ADMIN: ("system:masters",), "applier": (), "reader": ("readers", "auditors")}

# Who asked for what and got which answer, of ServiceAccounts only, written down before they get it.
_AUDIT = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived", "ResponseStarted"],
    "rules": [{"level": "Metadata", "userGroups": ["system:serviceaccounts"]}, {"level": "None"}],
}

# Two minutes for what takes seconds on a machine that has nothing else to do.
_TICKS, _TICK = 2400, 0.05
_NAMESPACES = {"default", "kube-node-lease", "kube-public", "kube-system"}


@contextmanager
def running(
    name: str, folder: Path, binaries: Binaries, users: Mapping[str, Sequence[str]] = USERS, *, host: str = ""
) -> Iterator[Cluster]:
    """A cluster with the kinds of DEFINITIONS; its folder is gone with it.

    With ``host``, the name that machines know it by, kubelets can join: they have client certificates of its authority
    (``ca.crt`` and ``ca.key`` in the folder), and may do what a node may.

    Raises AssertionError with both logs where it does not start.
    """
    tokens = _prepare(name, folder, users, host)
    authority = (folder / "ca.crt").read_text("utf-8")
    with ExitStack() as stack:
        port, etcd_port, peer_port = (stack.enter_context(_reserved_port()) for _ in range(3))
        access = (*_OF_NODES, f"--tls-sni-cert-key=api.crt,api.key:{host}") if host else _OF_USERS
        commands = _commands(binaries, access, port, etcd_port, peer_port)
        process = stack.enter_context(kept(folder, commands))
        store = f"http://127.0.0.1:{etcd_port}"
        cluster = Cluster(name, f"https://127.0.0.1:{port}", authority, tokens, folder / "audit.log", store)
        stack.callback(cluster.close)
        _await(cluster, process, folder)
        cluster.define(*DEFINITIONS)
        cluster.remember()
        yield cluster


@contextmanager
def restartable(name: str, folder: Path, binaries: Binaries) -> Iterator[tuple[Cluster, Callable[[], None]]]:
    """A cluster as of :func:`running`, and what kills its API server and starts it again, with the same data."""
    home = folder / "home"
    home.mkdir()
    tokens = _prepare(name, home, USERS)
    authority = (home / "ca.crt").read_text("utf-8")
    with ExitStack() as stack, ExitStack() as server:
        port, *etcd_ports = (stack.enter_context(_reserved_port()) for _ in range(3))
        commands = _commands(binaries, _OF_USERS, port, *etcd_ports)
        data = folder / "data"
        data.mkdir()
        stack.enter_context(kept(data, {"etcd": commands["etcd"]}))
        cluster = Cluster(name, f"https://127.0.0.1:{port}", authority, tokens, folder / "audit.log")
        stack.callback(cluster.close)

        def restart() -> None:
            server.close()
            cluster.close()
            copy = Path(shutil.copytree(home, folder / secrets.token_hex(4)))  # it goes with the server
            process = server.enter_context(kept(copy, {"kube-apiserver": commands["kube-apiserver"]}))
            _await(cluster, process, copy)

        restart()
        cluster.define(*DEFINITIONS)
        yield cluster, restart


def _prepare(name: str, folder: Path, users: Mapping[str, Sequence[str]], host: str = "") -> Mapping[str, str]:
    """Certificates, users and the audit policy of a server; the token of each user."""
    issue(folder, name, *([host] if host else []))
    tokens = {user: secrets.token_hex(16) for user in users}
    lines = [f'{tokens[user]},{user},{user},"{",".join(groups)}"\n' for user, groups in users.items()]
    (folder / "tokens.csv").write_text("".join(lines), "utf-8")
    (folder / "audit.json").write_text(json.dumps(_AUDIT), "utf-8")
    return tokens


@contextmanager
def _reserved_port() -> Iterator[int]:
    """A port of loopback that only programs which share it on purpose can take."""
    with socket.socket() as holder:
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        holder.bind(("127.0.0.1", 0))
        yield holder.getsockname()[1]


_OF_USERS: Final = ("--authorization-mode=RBAC",)
_OF_NODES: Final = (
    "--authorization-mode=Node,RBAC",
    "--client-ca-file=ca.crt",
    "--enable-admission-plugins=NodeRestriction",
)


def _commands(
    binaries: Binaries, access: Sequence[str], port: int, etcd_port: int, peer_port: int
) -> Mapping[str, Sequence[str]]:
    etcd, peers = (f"http://127.0.0.1:{number}" for number in (etcd_port, peer_port))
    etcd_flags = (
        *("--data-dir=etcd", "--unsafe-no-fsync", "--log-level=error", "--socket-reuse-port"),
        *(f"--listen-client-urls={etcd}", f"--advertise-client-urls={etcd}", f"--listen-peer-urls={peers}"),
    )
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
def kept(folder: Path, commands: Mapping[str, Sequence[str]]) -> Iterator[subprocess.Popen[bytes]]:
    """Programs that run in a folder, with logs ``NAME.log``, until this ends or the whole process does."""
    command = [sys.executable, "-I", keeper.__file__, str(folder), json.dumps(commands)]
    # In a session of its own: Ctrl-C is for the tests, which then end it.
    with subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True) as process:
        yield process


def _await(cluster: Cluster, process: subprocess.Popen[bytes], folder: Path) -> None:
    """Until the server is ready and has made its namespaces."""
    for _ in range(_TICKS):
        try:
            cluster.client().text("/readyz")
            found = cluster.client().get("/api/v1/namespaces")["items"]
            if {each["metadata"]["name"] for each in found} >= _NAMESPACES:
                return
        except (OSError, HTTPException, Refused):
            cluster.close()
        try:
            process.wait(_TICK)
        except subprocess.TimeoutExpired:
            continue
        break
    logs = (f"--- {log.name}\n{log.read_text('utf-8', 'replace')[-4000:]}" for log in sorted(folder.glob("*.log")))
    raise AssertionError("\n".join(("the API server of the tests did not start", *logs)))
