"""Runs while Operating System Manager writes the same objects: plan warns, what writes refuses."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from osm_gitops.errors import Code
from tests.apiserver.after_osm import AfterOsm, after_osm, recorded_authority
from tests.apiserver.client import Object
from tests.apiserver.cluster import Cluster
from tests.apiserver.osm_deployment import NAME, lease_of_osm, osm, run_osm
from tests.apiserver.proxy import Proxy, answer
from tests.apiserver.rights import allow, rule
from tests.cli.adopted import Adopted
from tests.cli.running import Ran, osm_gitops
from tests.cli.scenes import write_fleet
from tests.faults import Expected, told
from tests.git.repos import git, new_repository

_COLLECTIONS = (
    "/api/v1/secrets",
    "/api/v1/configmaps",
    "/apis/events.k8s.io/v1/events",
    "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases",
    "/apis/operatingsystemmanager.k8c.io/v1alpha1/operatingsystemconfigs",
    "/apis/operatingsystemmanager.k8c.io/v1alpha1/operatingsystemprofiles",
    "/apis/cluster.k8s.io/v1alpha1/machinedeployments",
    "/apis/cluster.k8s.io/v1alpha1/machines",
)
_DEPLOYMENT = "Deployment kube-system/operating-system-manager"
_RUNS = f"{_DEPLOYMENT}: Operating System Manager runs (1 of 1 replicas ready) and writes the same objects"
_LEASE = "Lease kube-system/operating-system-manager"


def _everything(cluster: Cluster) -> list[Object]:
    """What a run could write. The server renews a Lease of its own each ten seconds."""
    client = cluster.client()
    bodies = [body for collection in _COLLECTIONS for body in client.get(collection)["items"]]
    return [body for body in bodies if not body["metadata"]["name"].startswith("apiserver-")]


def _ago(**time: float) -> datetime:
    return datetime.now(UTC) - timedelta(**time)


def _run(adopted: Adopted, command: str, *more: str, user: str = "admin") -> Ran:
    if command != "refresh":
        return adopted.run(command, *more, user=user)
    kubeconfig = adopted.osm.management.kubeconfig(adopted.folder / f"kubeconfig-{user}", user)
    return osm_gitops(command, "--kubeconfig", str(kubeconfig), "--settle", "0s", *more)


@pytest.mark.parametrize("command", ["apply", "refresh"])
def test_what_writes_to_the_cluster_refuses_beside_a_controller_that_runs(adopted: Adopted, command: str) -> None:
    run_osm(adopted.osm.management)
    before = _everything(adopted.osm.management)
    yes = ("--yes",) if command == "apply" else ()
    ran = _run(adopted, command, *yes)
    assert ran.code == 1
    assert Expected(Code.OSM_RUNS, _RUNS) in told(ran.err)
    assert Expected(Code.OSM_RUNS, "--namespace", "kube-system", NAME, "--replicas", "0") in told(ran.err)
    assert Expected(Code.OSM_RUNS) in told(ran.err)
    assert _everything(adopted.osm.management) == before
    ran = _run(adopted, command, *yes, "--beside-osm")
    assert ran.code == 0, ran.err
    assert Expected(Code.OSM_RUNS, _RUNS) in told(ran.out + ran.err)
    assert _everything(adopted.osm.management) != before


def test_a_plan_beside_a_controller_that_runs_warns(adopted: Adopted) -> None:
    run_osm(adopted.osm.management)
    ran = adopted.run("plan", "--output", "json")
    assert ran.code == 0, ran.err
    (cluster,) = json.loads(ran.out)["clusters"]
    (warning,) = cluster["warnings"]
    assert (warning["object"], "write only with --beside-osm" in warning["fix"]) == (_DEPLOYMENT, True)


def test_a_controller_that_is_wanted_and_not_ready_is_warned_about(adopted: Adopted) -> None:
    adopted.osm.management.client().create(osm())
    ran = adopted.run("apply", "--yes")
    assert ran.code == 0, ran.err
    assert Expected(Code.OSM_RUNS, _DEPLOYMENT, "0", "1") in told(ran.out + ran.err)


@pytest.mark.parametrize(
    ("holder", "renewed", "code"),
    [("osm-0", {"seconds": 2}, 1), ("osm-0", {"minutes": 10}, 0), ("", {"seconds": 2}, 0)],
    ids=["renewed", "old", "released"],
)
def test_the_lease_tells_of_a_controller_that_runs_elsewhere(
    adopted: Adopted, holder: str, renewed: dict[str, float], code: int
) -> None:
    """In KKP the Deployment is in the seed cluster."""
    adopted.osm.management.client().create(lease_of_osm(_ago(**renewed), holder))
    before = _everything(adopted.osm.management)
    for command in ("apply", "refresh"):
        ran = _run(adopted, command)
        assert ran.code == code, ran.err
        assert (Expected(Code.OSM_RUNS, _LEASE) in told(ran.err)) == bool(code)
    assert (_everything(adopted.osm.management) == before) == bool(code)
    ran = adopted.run("plan")
    assert ran.code == 0
    assert (Expected(Code.OSM_RUNS, _LEASE) in told(ran.out + ran.err)) == bool(code)


def test_what_may_not_be_read_is_said_and_never_taken_for_an_absence(adopted: Adopted) -> None:
    cluster = adopted.osm.management
    groups = ("", "cluster.k8s.io", "operatingsystemmanager.k8c.io", "admissionregistration.k8s.io")
    rights = [rule("*", f"*.{group}") for group in (*groups, "discovery.k8s.io", "events.k8s.io")]
    rights += [rule("get update", "leases.coordination.k8s.io", ["osm-gitops"])]
    allow(cluster, "applier", [*rights, rule("create", "leases.coordination.k8s.io")])
    before = _everything(cluster)
    forbidden = (
        "list deployments.apps in namespace kube-system",
        f"get leases.coordination.k8s.io {NAME} in namespace kube-system",
    )
    for command in ("apply", "refresh"):
        ran = _run(adopted, command, user="applier")
        assert ran.code == 1
        for each in forbidden:
            assert Expected(Code.REQUEST_REFUSED, each, "403") in told(ran.err)
        assert _everything(cluster) == before
    ran = adopted.run("plan", user="applier")
    assert ran.code == 0, ran.err
    assert all(each in ran.out for each in forbidden)
    assert _run(adopted, "apply", "--beside-osm", user="applier").code == 0


@pytest.mark.parametrize("profiles", ["cluster", "osps"])
def test_into_git_it_refuses_where_it_can_see_the_controller(
    management: Cluster, worker: Cluster, tmp_path: Path, profiles: str
) -> None:
    """Where only the worker cluster is read, nobody asks the management cluster."""
    after_osm(management, worker)
    run_osm(management)
    (tmp_path / "ca.pem").write_text(recorded_authority(), "utf-8")
    home = new_repository(tmp_path / "repo")
    if profiles == "osps":
        live = management.client().get("/apis/operatingsystemmanager.k8c.io/v1alpha1/operatingsystemprofiles")
        (home / "osps").mkdir()
        (home / "osps" / "all.yaml").write_text(json.dumps(live | {"kind": "List", "apiVersion": "v1"}), "utf-8")
    write_fleet(
        home,
        "clusters:\n- name: prod\n"
        f"  from: {{machineDeployments: cluster, profiles: {profiles}, facts: cluster}}\n"
        "  to: {git: {path: clusters}}\n"
        "  settings: {externalCloudProvider: true, kubernetesCABundle: ../ca.pem}\n"
        f"  management: {{kubeconfig: {management.kubeconfig(tmp_path / 'management')}}}\n"
        f"  worker: {{kubeconfig: {worker.kubeconfig(tmp_path / 'worker')}}}\n",
    )
    git(home, "add", ".")
    git(home, "commit", "--quiet", "-m", "fleet")
    fleet = ("--fleet", str(home / "osm-gitops.yaml"))
    plain = ("--dangerously-plaintext-secrets", "--yes")
    head = git(home, "rev-parse", "HEAD")
    sees = profiles == "cluster"
    ran = osm_gitops("plan", *fleet, plain[0])
    assert (ran.code, _RUNS in ran.out) == (0, sees)
    ran = osm_gitops("apply", *fleet, *plain)
    assert (ran.code, _RUNS in ran.err) == ((1, True) if sees else (0, False)), ran.err
    assert (git(home, "rev-parse", "HEAD") == head) == sees
    ran = osm_gitops("apply", *fleet, *plain, "--beside-osm")
    assert (ran.code, _RUNS in ran.out) == (0, sees), ran.err
    assert git(home, "rev-parse", "HEAD") != head


def test_a_server_that_fails_is_an_error_as_for_every_read(
    adopted: Adopted, through: Callable[[Cluster], Proxy], patient: list[float]
) -> None:
    proxy = through(adopted.osm.management)
    proxy.when(answer(503), path="/deployments", times=None)
    behind = Adopted(AfterOsm(proxy.cluster, proxy.cluster), adopted.folder)
    before = _everything(adopted.osm.management)
    ran = behind.run("apply", "--yes")
    assert (ran.code, patient != []) == (1, True)
    assert "list deployments.apps in namespace kube-system: " in ran.err
    assert "--beside-osm" not in ran.err
    assert _everything(adopted.osm.management) == before
