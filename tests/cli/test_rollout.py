"""``osm-gitops rollout``: which machines have an old configuration, and replacing them, on a real API server."""

from __future__ import annotations

import time
from typing import Any

import pytest

from osm_gitops.errors import Code
from tests.apiserver.client import Object
from tests.cli.adopted import Adopted
from tests.cli.running import Ran, osm_gitops
from tests.cli.schemas import checked
from tests.faults import Expected, told

_MACHINES = "/apis/cluster.k8s.io/v1alpha1/namespaces/kube-system"
_POOL = "pool-00001"


def _rollout(adopted: Adopted, *more: str, user: str = "admin") -> Ran:
    kubeconfig = adopted.osm.management.kubeconfig(adopted.folder / f"kubeconfig-{user}", user)
    settings = ("--external-cloud-provider", "--kubernetes-ca-bundle", str(adopted.folder / "ca.pem"))
    return osm_gitops("rollout", "--kubeconfig", str(kubeconfig), *settings, *more)


def _pool(adopted: Adopted, *more: str, name: str = _POOL) -> dict[str, Any]:
    ran = _rollout(adopted, "-o", "json", "--only", name, *more)
    assert ran.code == 0, ran.err
    (cluster,) = checked("rollout", ran.out)["clusters"]
    (pool,) = cluster["pools"]
    return dict(pool)


def _machine(adopted: Adopted, name: str, *, pool: str = _POOL, ready: bool | None = True) -> None:
    """A Machine of a pool, with a Node unless ``ready`` is ``None``."""
    client = adopted.osm.worker.client()
    machine_set = client.get(f"{_MACHINES}/machinesets/{pool}-1")
    adopted.osm.machine(machine_set, name)
    if ready is None:
        return
    condition = {"type": "Ready", "status": "True" if ready else "False"}
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": {"conditions": [condition]}}
    client.create(node)
    client.merge(f"{_MACHINES}/machines/{name}/status", {"status": {"nodeRef": {"kind": "Node", "name": name}}})


def _template(adopted: Adopted, pool: str = _POOL) -> Object:
    body = adopted.osm.worker.client().get(f"{_MACHINES}/machinedeployments/{pool}")
    return dict(body["spec"]["template"])


@pytest.fixture
def changed(adopted: Adopted) -> Adopted:
    """A pool with a machine that is older than its configuration, and one that is not."""
    assert adopted.run("apply").code == 0
    _machine(adopted, "older")
    time.sleep(1.1)  # creation times have seconds
    assert adopted.run("apply", "--cluster-dns", "10.0.0.9").code == 0
    _machine(adopted, "newer")
    return adopted


def test_machines_that_are_older_than_the_configuration_are_counted(changed: Adopted) -> None:
    _machine(changed, "broken", ready=False)
    pool = _pool(changed, "--cluster-dns", "10.0.0.9", "--late", "0s")
    assert [machine["name"] for machine in pool["old"]] == ["older"]
    assert [machine["name"] for machine in pool["late"]] == ["broken"]
    assert (pool["machines"], pool["joined"], pool["canRoll"], pool["obstacle"]) == (3, 1, True, None)
    assert _pool(changed, "--cluster-dns", "10.0.0.9")["late"] == []
    text = _rollout(changed, "--cluster-dns", "10.0.0.9", "--late", "0s").out
    assert "1 machine of 1 pool with an old configuration" in text
    assert f"kube-system/{_POOL}" in text
    assert "forceRestart" in text


def test_a_pool_is_rolled_only_with_its_new_configuration_in_the_cluster_and_within_the_bound(changed: Adopted) -> None:
    # Rendered with other settings, its configuration would be another one, which the cluster does not have.
    undelivered = _pool(changed, "--cluster-dns", "10.0.0.10")
    assert not undelivered["canRoll"]
    assert "not in the cluster yet" in undelivered["obstacle"]
    before = _template(changed)
    assert _rollout(changed, "--cluster-dns", "10.0.0.10", "--roll", "5", "--yes").code == 0
    _machine(changed, "newest")
    assert _template(changed) == before
    ran = _rollout(changed, "--cluster-dns", "10.0.0.9", "--roll", "5", "--yes")
    assert ran.code == 0, ran.err
    assert f"machine-controller replaces 1 machine of kube-system/{_POOL}" in ran.err
    assert "by the next run: osm-gitops apply, and with a git target osm-gitops refresh" in ran.err
    assert _template(changed)["metadata"]["annotations"].keys() == {"forceRestart"}
    others = [name for name in changed.osm.pools() if name != _POOL]
    assert not any("forceRestart" in str(_template(changed, name)) for name in others)
    # machine-controller has to number the new template first, and then it replaces them already.
    again = _template(changed)
    assert _rollout(changed, "--cluster-dns", "10.0.0.9", "--roll", "5", "--yes").code == 0
    assert _template(changed) == again


def test_a_pool_with_more_old_machines_than_the_bound_is_left(changed: Adopted) -> None:
    before = _template(changed)
    assert _rollout(changed, "--cluster-dns", "10.0.0.9", "--roll", "0").code == 1
    time.sleep(1.1)
    assert changed.run("apply", "--cluster-dns", "10.0.0.11").code == 0
    ran = _rollout(changed, "--cluster-dns", "10.0.0.11", "--roll", "1", "--yes")
    assert ran.code == 0, ran.err
    assert f"kube-system/{_POOL} has 2 old machines, more than --roll 1" in ran.err
    assert _template(changed) == before


def test_nothing_is_rolled_without_an_answer(changed: Adopted) -> None:
    before = _template(changed)
    ran = _rollout(changed, "--cluster-dns", "10.0.0.9", "--roll", "5")
    assert told(ran.err) == [Expected(Code.NO_TERMINAL, "rollout --roll", "--yes")]
    assert _template(changed) == before


def test_who_may_not_read_is_told_so_and_nothing_is_rolled(changed: Adopted) -> None:
    ran = _rollout(changed, "--roll", "5", "--yes", user="reader")
    assert ran.code == 1
    assert Code.REQUEST_REFUSED in {code for code, _ in told(ran.err)}
    assert "could not be read" in ran.out
