"""Starts API servers, each with an etcd, on ports and in a folder of their own.

There is no controller manager: nobody fills in the Secrets of ServiceAccounts, empties namespaces that are deleted,
or carries MachineDeployments out.
"""

from __future__ import annotations

import secrets
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from http.client import HTTPException
from pathlib import Path

from osm_gitops.commands.boot.lane.binaries import Binaries
from osm_gitops.commands.boot.lane.control_plane import ADMIN, commands, kept, prepare, reserved_port
from tests.apiserver.client import Refused
from tests.apiserver.cluster import Cluster
from tests.apiserver.definitions import DEFINITIONS

# Users and their groups, fixed when the server starts. All but the first may do nothing until a test allows it.
USERS: Mapping[str, Sequence[str]] = {ADMIN: ("system:masters",), "applier": (), "reader": ("readers", "auditors")}

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
    tokens = prepare(folder, name, users, host)
    authority = (folder / "ca.crt").read_text("utf-8")
    with ExitStack() as stack:
        ports = [stack.enter_context(reserved_port()) for _ in range(3)]
        process = stack.enter_context(kept(folder, commands(binaries, ports, host)))
        store = f"http://127.0.0.1:{ports[1]}"
        cluster = Cluster(name, f"https://127.0.0.1:{ports[0]}", authority, tokens, folder / "audit.log", store)
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
    tokens = prepare(home, name, USERS)
    authority = (home / "ca.crt").read_text("utf-8")
    with ExitStack() as stack, ExitStack() as server:
        ports = [stack.enter_context(reserved_port()) for _ in range(3)]
        programs = commands(binaries, ports)
        data = folder / "data"
        data.mkdir()
        stack.enter_context(kept(data, {"etcd": programs["etcd"]}))
        cluster = Cluster(name, f"https://127.0.0.1:{ports[0]}", authority, tokens, folder / "audit.log")
        stack.callback(cluster.close)

        def restart() -> None:
            server.close()
            cluster.close()
            copy = Path(shutil.copytree(home, folder / secrets.token_hex(4)))  # it goes with the server
            process = server.enter_context(kept(copy, {"kube-apiserver": programs["kube-apiserver"]}))
            _await(cluster, process, copy)

        restart()
        cluster.define(*DEFINITIONS)
        yield cluster, restart


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
