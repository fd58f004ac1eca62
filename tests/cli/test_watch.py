"""``--watch`` as a process of its own, and what it refuses. What it does is in tests/pipeline/test_watching.py."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from osm_gitops.errors import Code
from tests.apiserver.after_osm import REVISION, AfterOsm
from tests.apiserver.cluster import Cluster
from tests.apiserver.proxy import Proxy, Request, during
from tests.cli.running import osm_gitops
from tests.cli.scenes import facts, pool, profile
from tests.faults import told

_SECRETS = "/api/v1/namespaces/cloud-init-settings/secrets"
_LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/osm-gitops"
_SECONDS = 60


@contextmanager
def _watching(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "osm_gitops", *arguments, "--watch"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def _scene(cluster: Cluster, *pools: str) -> None:
    cluster.namespace("cloud-init-settings")
    for body in (*facts(), profile()):
        cluster.client().create(body)
    for name in pools:
        _pool(cluster, name)


def _pool(cluster: Cluster, name: str) -> None:
    body = pool(name, annotations={REVISION: "1"})
    body["spec"]["template"]["metadata"] = {"labels": {"pool": name}}
    osm = AfterOsm(cluster, cluster)
    osm.create(body, "kubectl")
    osm.machine_set(name)


def _arguments(cluster: Cluster, folder: Path) -> tuple[str, ...]:
    kubeconfig = str(cluster.kubeconfig(folder / "kubeconfig"))
    return ("apply", "--yes", "--from", "cluster", "--to", "cluster", "--kubeconfig", kubeconfig)


def _await(cluster: Cluster, name: str) -> None:
    cluster.client().wait(f"{_SECRETS}/{name}-kube-system-bootstrap-config", lambda body: body is not None)


def test_it_reacts_to_a_new_pool_and_ends_well_when_it_is_told_to(worker: Cluster, tmp_path: Path) -> None:
    _scene(worker, "old")
    alive = tmp_path / "alive"
    with _watching(*_arguments(worker, tmp_path), "--alive-file", str(alive)) as process:
        _await(worker, "old")
        _pool(worker, "new")
        _await(worker, "new")
        assert alive.exists()
        process.send_signal(signal.SIGTERM)
        assert process.wait(_SECONDS) == 0
        assert process.stderr is not None
        said = process.stderr.read()
    assert "Traceback" not in said
    assert worker.client().get(_LEASE)["spec"]["holderIdentity"] in {"", None}


def test_sigterm_in_a_run_completes_the_pool_that_is_written_and_gives_the_lease_back(
    worker: Cluster, tmp_path: Path, through: Callable[[Cluster], Proxy]
) -> None:
    _scene(worker, *(f"pool-{number}" for number in range(9)))
    proxy = through(worker)
    with _watching(*_arguments(proxy.cluster, tmp_path), "--concurrency", "1") as process:
        proxy.when(
            during(lambda: os.kill(process.pid, signal.SIGTERM)), method="PATCH", path="-provisioning-config", nth=2
        )
        assert process.wait(_SECONDS) == 0
    names = {item["metadata"]["name"] for item in worker.client().get(_SECRETS)["items"]}
    provisioned = {name.partition("-kube-")[0] for name in names if name.endswith("-provisioning-config")}
    complete = {name.partition("-kube-")[0] for name in names if name.endswith("system-bootstrap-config")}
    assert provisioned == complete
    assert 2 <= len(complete) <= 3
    assert worker.client().get(_LEASE)["spec"]["holderIdentity"] in {"", None}


def _releases(request: Request) -> bool:
    return request.method == "PUT" and b'"holderIdentity":""' in request.body


def _acquires(request: Request) -> bool:
    return request.method == "POST"


@pytest.mark.parametrize("fits", [_acquires, _releases])
@pytest.mark.parametrize(
    "after",
    [
        pytest.param(False, id="before it is carried out"),
        pytest.param(True, id="after it was carried out", marks=pytest.mark.exhaustive),
    ],
)
def test_sigterm_while_the_lease_is_taken_or_released_leaves_it_free(
    worker: Cluster,
    tmp_path: Path,
    through: Callable[[Cluster], Proxy],
    fits: Callable[[Request], bool],
    after: bool,
) -> None:
    _scene(worker)
    proxy = through(worker)
    with _watching(*_arguments(proxy.cluster, tmp_path)) as process:
        terminate = during(lambda: os.kill(process.pid, signal.SIGTERM), after=after)
        proxy.when(terminate, path="/leases", fits=fits)
        assert process.wait(_SECONDS) == 0
    assert worker.client().get(_LEASE)["spec"]["holderIdentity"] in {"", None}


@pytest.mark.parametrize(
    ("code", "arguments"),
    [
        (Code.NO_TERMINAL, ("apply", "--watch", "--from", "cluster", "--to", "cluster")),
        (Code.OPTIONS_CONFLICT, ("apply", "plan.json", "--watch")),
        (Code.OPTIONS_CONFLICT, ("apply", "--yes", "--watch", "--changed-since", "HEAD~1")),
        (Code.OPTIONS_CONFLICT, ("apply", "--yes", "--alive-file", "alive")),
        (Code.OPTIONS_CONFLICT, ("refresh", "--poll", "1m")),
        (Code.INVALID_OPTION, ("refresh", "--watch", "--quiet-time", "soon")),
    ],
)
def test_options_that_do_not_fit_are_refused(code: Code, arguments: tuple[str, ...]) -> None:
    ran = osm_gitops(*arguments)
    assert ran.code == 1
    assert [found for found, _ in told(ran.err)] == [code]
