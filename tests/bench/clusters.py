"""Clusters as source and target: MachineDeployments of a made-up fleet on a real API server.

The floor comes first: the writes that an apply of the same fleet makes, sent by as many threads from a client that does
nothing else, to a server of its own. Then Operating System Manager writes for the fleet, on another server.
"""

from __future__ import annotations

import http.client
import json
import os
import re
import resource
import ssl
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import local
from time import perf_counter
from urllib.parse import urlsplit
from urllib.request import urlopen

from osm_gitops.commands.boot.lane.binaries import Binaries, find_binaries
from tests.apiserver.after_osm import HAS_INSTANCE, REVISION
from tests.apiserver.client import Client, Object, path_of
from tests.apiserver.cluster import Cluster
from tests.apiserver.server import running
from tests.bench.fleets import CHANGE, PROFILES, read_fleet, write_fleet
from tests.bench.osm import OSM, OSM_VERSION, write_all
from tests.bench.usage import Row, Usage, peak, usage
from tests.machines.store import STORE

_THREADS = 8
_WRITTEN = (
    "/apis/operatingsystemmanager.k8c.io/v1alpha1/operatingsystemconfigs",
    "/api/v1/namespaces/cloud-init-settings/secrets",
    "/api/v1/namespaces/kube-system/secrets",
)
_REQUESTS = re.compile(r'^apiserver_request_total\{[^}]*verb="(?!WATCH)[^}]*\} (\d+)$', re.MULTILINE)
_CPU = re.compile(r"^process_cpu_seconds_total (\S+)$", re.MULTILINE)


def measures(count: int) -> Iterator[Row]:
    """Rows of the table, for a fleet of ``count`` MachineDeployments."""
    binaries = find_binaries(os.environ, STORE)
    fleet = f"{count:,} MDs"
    with _loaded(binaries, count) as (cluster, folder):
        arguments = _arguments(cluster, folder)
        plan = _measured(cluster, "plan", *arguments)
        cold = _measured(cluster, "apply", "--yes", *arguments, "--settle", "0s")
        same = _measured(cluster, "plan", *arguments)
        again = _measured(cluster, "apply", "--yes", *arguments, "--settle", "0s")
        bodies = _written(cluster)
        other = _measured(cluster, "plan", *arguments, *CHANGE)
        changed = _measured(cluster, "apply", "--yes", *arguments, *CHANGE, "--settle", "0s")
    with _loaded(binaries, count) as (cluster, folder):
        floor = _floor(cluster, folder, bodies)
    yield _row(f"the floor: the writes of {fleet}, without us", floor)
    theirs = f"the same by Operating System Manager {OSM_VERSION}"
    if OSM.exists():
        with _loaded(binaries, count) as (cluster, folder):
            found, missing = _osm(cluster, folder, count)
        yield _row(f"{theirs}, but for {missing} Secrets" if missing else theirs, found)
    else:
        yield theirs, "not built: its module could not be had", "", ""
    yield _row(f"plan of {fleet} against a cluster, cold", plan)
    yield _row(f"apply of {fleet} to a cluster, cold", cold, "half of OSM's CPU")
    yield _row(f"plan of {fleet} against a cluster, unchanged", same)
    yield _row(f"apply of {fleet} to a cluster, unchanged", again)
    yield _row(f"plan of {fleet} against a cluster, all changed", other)
    yield _row(f"apply of {fleet} to a cluster, all changed", changed, "8 s CPU")


@dataclass(frozen=True, slots=True)
class _Found:
    """What a client took, its requests, and the seconds of CPU of the API server and of etcd meanwhile."""

    used: Usage
    requests: int
    servers: float


def _row(name: str, found: _Found, wanted: str = "") -> Row:
    name, value, units, wanted = found.used.row(name, wanted)
    return name, f"{value}, {found.requests:,} requests, servers {found.servers:.1f} s CPU", units, wanted


def _arguments(cluster: Cluster, folder: Path) -> tuple[str, ...]:
    kubeconfig = str(cluster.kubeconfig(folder / "kubeconfig"))
    return ("--from", "cluster", "--to", "cluster", "--kubeconfig", kubeconfig, "--external-cloud-provider")


@contextmanager
def _loaded(binaries: Binaries, count: int) -> Iterator[tuple[Cluster, Path]]:
    """A cluster with a fleet that machine-controller has numbered, one Machine a pool."""
    with tempfile.TemporaryDirectory() as name:
        folder, data = Path(name, "fleet"), Path(name, "data")
        data.mkdir()
        write_fleet(folder, count, distinct=False, profiles=PROFILES)
        with running("bench", data, binaries) as cluster:
            cluster.namespace("cloud-init-settings")
            bodies = read_fleet(folder)
            for body in bodies:
                if body["kind"] == "MachineDeployment":
                    body["metadata"]["annotations"][REVISION] = "1"
            _in_threads(cluster, [("POST", path_of(body, named=False), body) for body in bodies])
            machines = cluster.client().get("/apis/cluster.k8s.io/v1alpha1/machinedeployments")["items"]
            sets = [_owned(each, "MachineSet", {REVISION: "1"}, each["spec"]) for each in machines]
            made = _in_threads(cluster, [("POST", path_of(body, named=False), body) for body in sets])
            for body in made:
                body["spec"] = body["spec"]["template"]["spec"]
            instances = [_owned(each, "Machine", {}, each["spec"], HAS_INSTANCE) for each in made]
            _in_threads(cluster, [("POST", path_of(body, named=False), body) for body in instances])
            yield cluster, Path(name)


def _owned(owner: Object, kind: str, annotations: Mapping[str, str], spec: Object, *finalizers: str) -> Object:
    metadata = owner["metadata"]
    reference = {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": metadata["name"]}
    more = {"uid": metadata["uid"], "controller": True}
    return {
        "apiVersion": owner["apiVersion"],
        "kind": kind,
        "metadata": {
            "name": f"{metadata['name']}-1",
            "namespace": metadata["namespace"],
            "annotations": dict(annotations),
            "finalizers": list(finalizers),
            "ownerReferences": [reference | more],
        },
        "spec": spec,
    }


def _measured(cluster: Cluster, *arguments: str) -> _Found:
    return _around(cluster, lambda: usage(*arguments))


def _around(cluster: Cluster, act: Callable[[], Usage]) -> _Found:
    requests, servers = _counted(cluster)
    used = act()
    more, longer = _counted(cluster)
    return _Found(used, more - requests - 1, longer - servers)  # the question itself


def _counted(cluster: Cluster) -> tuple[int, float]:
    """The requests that the API server has had so far, and the CPU that it and etcd have taken."""
    metrics = cluster.client().text("/metrics")
    with urlopen(f"{cluster.etcd}/metrics") as answer:  # its own address, on loopback
        store = answer.read().decode()
    cpu = sum(float(each) for text in (metrics, store) for each in _CPU.findall(text))
    return sum(map(int, _REQUESTS.findall(metrics))), cpu


def _osm(cluster: Cluster, folder: Path, count: int) -> tuple[_Found, int]:
    """What Operating System Manager took with the same settings and profiles, and how many Secrets it did not write."""
    missing = 0

    def write() -> Usage:
        nonlocal missing
        used, missing = write_all(cluster, folder, count, ["-external-cloud-provider"])
        return used

    found = _around(cluster, write)
    return found, missing


def _written(cluster: Cluster) -> list[Object]:
    """What an apply wrote, as it would be sent again; and the finalizers."""
    found = [body for path in _WRITTEN for body in _items(cluster.client(), path)]
    for body in found:
        kept = {key: body["metadata"].get(key) for key in ("name", "namespace", "labels", "annotations")}
        body["metadata"] = {key: value for key, value in kept.items() if value}
    return found


def _items(client: Client, path: str) -> list[Object]:
    answer = client.get(path)
    kind, version = answer["kind"].removesuffix("List"), answer["apiVersion"]
    ours: list[Object] = [
        body for body in answer["items"] if "osm-gitops" in json.dumps(body["metadata"].get("labels"))
    ]
    return [{"apiVersion": version, "kind": kind, **body} for body in ours]


def _floor(cluster: Cluster, folder: Path, bodies: Sequence[Object]) -> _Found:
    """The same writes and nothing else, in a process of its own, so that its CPU can be told."""
    path = folder / "writes.json"
    machines = cluster.client().get("/apis/cluster.k8s.io/v1alpha1/machinedeployments")["items"]
    hold = {"metadata": {"finalizers": ["kubermatic.io/cleanup-operating-system-configs"]}}
    writes = [("MERGE", path_of(each), hold) for each in machines]
    writes += [
        ("APPLY", f"{path_of(body)}?fieldManager=floor&force=true&fieldValidation=Ignore", body) for body in bodies
    ]
    path.write_text(json.dumps(writes), "utf-8")
    place = json.dumps([cluster.server, cluster.authority, cluster.tokens["admin"], str(path)])
    command = [sys.executable, "-m", "tests.bench.clusters"]

    def send() -> Usage:
        answer = subprocess.run(command, input=place, text=True, stdout=subprocess.PIPE, check=True).stdout
        return Usage(*json.loads(answer))

    return _around(cluster, send)


_CONTENT = {
    "APPLY": "application/apply-patch+yaml",
    "MERGE": "application/merge-patch+json",
    "POST": "application/json",
}


def _in_threads(cluster: Cluster, writes: Sequence[tuple[str, str, Object]]) -> list[Object]:
    sent = [(verb, path, json.dumps(body)) for verb, path, body in writes]
    answers = _send(cluster.server, cluster.authority, cluster.tokens["admin"], sent)
    return [json.loads(answer) for answer in answers]


def _send(server: str, authority: str, token: str, writes: Sequence[tuple[str, str, str]]) -> list[bytes]:
    """As many threads as we have, each with a connection of its own."""
    trust, mine = ssl.create_default_context(cadata=authority), local()

    def send(write: tuple[str, str, str]) -> bytes:
        if not hasattr(mine, "connection"):
            mine.connection = http.client.HTTPSConnection(urlsplit(server).netloc, context=trust)
        verb, path, body = write
        headers = {"Authorization": f"Bearer {token}", "Content-Type": _CONTENT[verb]}
        mine.connection.request("POST" if verb == "POST" else "PATCH", path, body, headers)
        with mine.connection.getresponse() as response:
            answer: bytes = response.read()
        if response.status >= 300:
            raise RuntimeError(answer.decode())
        return answer

    with ThreadPoolExecutor(_THREADS) as threads:
        return list(threads.map(send, writes))


def _only_send() -> None:
    server, authority, token, path = json.load(sys.stdin)
    writes = [(verb, place, json.dumps(body)) for verb, place, body in json.loads(Path(path).read_text("utf-8"))]
    before, started = resource.getrusage(resource.RUSAGE_SELF), perf_counter()
    _send(server, authority, token, writes)
    after, wall = resource.getrusage(resource.RUSAGE_SELF), perf_counter() - started
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(json.dumps([wall, cpu, peak(os.getpid())]))


if __name__ == "__main__":
    _only_send()
