"""``refresh`` from the command line."""

from __future__ import annotations

from base64 import b64decode
from pathlib import Path

import pytest

from osm_gitops.commands.install.install_plan import WRITER
from osm_gitops.errors import Code
from tests.apiserver.cluster import Cluster
from tests.cli.running import Ran, osm_gitops
from tests.cli.scenes import facts, write_fleet
from tests.cli.schemas import checked
from tests.commands.install.installing import install, until_allowed_to_list
from tests.faults import Expected, told
from tests.targets.cluster.scene import Scene, machine_path, scene
from tests.targets.cluster.test_stamping import from_git, machine_controller, stamps, tree_pool

_TOKENS = "/api/v1/namespaces/kube-system/secrets?labelSelector=machinedeployment.k8s.io/name"


@pytest.fixture
def flux(management: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scene:
    """One cluster into which Flux has brought a pool."""
    monkeypatch.chdir(tmp_path)
    made = scene(management, management, tmp_path)
    cluster_info, _ = facts()
    management.client().create(cluster_info)
    from_git(made, tree_pool())
    machine_controller(made)
    return made


def _refresh(cluster: Cluster, *more: str, user: str = "admin") -> Ran:
    kubeconfig = cluster.kubeconfig(Path(f"kubeconfig-{user}"), user)
    return osm_gitops("refresh", "--kubeconfig", str(kubeconfig), "--settle", "0s", *more)


def test_a_kubeconfig_is_all_that_it_needs(flux: Scene) -> None:
    ran = _refresh(flux.management)
    assert (ran.code, ran.err) == (0, "")
    assert "Secret kube-system/bootstrap-token-(new): there is no token yet" in ran.out
    assert "MachineDeployment revision not set → 1" in ran.out
    assert stamps(flux) == ["1", "1", "1"]
    again = _refresh(flux.management)
    assert (again.code, again.out.splitlines()[-1], again.err) == (0, "No changes.", "")


def test_a_cluster_that_could_not_be_read_has_no_plan(flux: Scene) -> None:
    ran = _refresh(flux.management, user="reader")
    assert (ran.code, ran.out) == (1, "")
    assert Expected(Code.REQUEST_REFUSED, "deployments.apps", "kube-system", "403") in told(ran.err)


def test_it_tells_no_token(flux: Scene) -> None:
    ran = [_refresh(flux.management, "-v", "-o", form) for form in ("json", "text", "markdown", "html")]
    (token,) = flux.get(_TOKENS)["items"]
    data = {key: b64decode(value).decode() for key, value in token["data"].items()}
    told = "".join(each.out + each.err for each in ran)
    assert data["token-secret"] not in told
    (cluster,) = checked("plan", ran[0].out)["clusters"]
    assert {(change["upkeep"], change["diffs"]) for change in map(_hashable, cluster["changes"])} == {(True, ())}


def _hashable(change: dict[str, object]) -> dict[str, object]:
    diffs = change["diffs"]
    assert isinstance(diffs, list)
    return change | {"diffs": tuple(map(str, diffs))}


def test_the_account_that_install_makes_may_do_all_of_it(flux: Scene) -> None:
    install(flux.management)
    user = flux.management.account("osm-gitops", WRITER)
    until_allowed_to_list(flux.management.client(user), "/api/v1/namespaces/kube-system/secrets")
    ran = _refresh(flux.management, user=user)
    assert (ran.code, ran.err) == (0, "")
    assert stamps(flux) == ["1", "1", "1"]
    flux.worker.client().delete(machine_path("a"))
    ran = _refresh(flux.management, user=user)
    assert (ran.code, ran.err) == (0, "")
    assert flux.find(machine_path("a")) is None


def test_the_clusters_of_a_fleet_are_refreshed_wherever_they_are_applied_from(flux: Scene, tmp_path: Path) -> None:
    flux.management.kubeconfig(tmp_path / "admin.conf")
    part = "from: {machineDeployments: pools}\n  to: {git: {path: clusters}}\n  management: {kubeconfig: admin.conf"
    write_fleet(tmp_path, f"clusters:\n- name: prod\n  {part}}}\n  settings: {{tokenLife: 48h}}\n")
    ran = osm_gitops("refresh", "--settle", "0s")
    assert (ran.code, ran.err) == (0, "")
    assert "Cluster prod" in ran.out
    assert stamps(flux) == ["1", "1", "1"]
    write_fleet(tmp_path, "".join(["clusters:\n", *(f"- name: {name}\n  {part}}}\n" for name in ("one", "two"))]))
    ran = osm_gitops("refresh")
    assert ran.code == 1
    assert Expected(Code.CLUSTERS_SHARE_TARGET) in told(ran.err)


def test_what_is_left_is_named_and_no_failure(flux: Scene) -> None:
    flux.change("a", {"spec": {"paused": True, "template": {"spec": {"versions": {"kubelet": "1.35.0"}}}}})
    ran = _refresh(flux.management)
    assert (ran.code, ran.err) == (0, "")
    assert "Left for now: kube-system/a: it is paused" in ran.out
    assert stamps(flux) == [None, None, None]


def test_a_token_that_ends_between_two_runs_is_refused(flux: Scene) -> None:
    ran = _refresh(flux.management, "--token-life", "1h")
    assert ran.code == 1
    assert Expected(Code.TOKEN_LIFE_TOO_SHORT, "1", "30") in told(ran.err)
    assert flux.get(_TOKENS)["items"] == []
