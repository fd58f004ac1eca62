"""``apply`` to git leaves pools whose machines are made of another template than what would be rendered."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tests.apiserver.cluster import Cluster
from tests.cli.running import Ran, osm_gitops
from tests.cli.scenes import facts, pool, profile, write_fleet, write_tree
from tests.git.repos import git, new_repository
from tests.targets.cluster.scene import Scene, scene
from tests.targets.cluster.test_stamping import machine_controller

_NEW = {"spec": {"versions": {"kubelet": "1.35.0"}}}


def _apply(repository: Path) -> Ran:
    return osm_gitops(
        "apply", "--fleet", str(repository / "osm-gitops.yaml"), "--yes", "--dangerously-plaintext-secrets"
    )


def _commits(repository: Path) -> int:
    return len(git(repository, "log", "--format=%H").splitlines())


def _secret(repository: Path, name: str = "a") -> str:
    return (repository / f"clusters/prod/worker/secrets/{name}-kube-system-provisioning-config.yaml").read_text("utf-8")


@pytest.fixture
def live(worker: Cluster, tmp_path: Path) -> tuple[Scene, Path]:
    """Live MachineDeployments, and a repository with what was rendered for one of them."""
    made = scene(worker, worker, tmp_path)
    for body in facts():
        worker.client().create(body)
    made.pool("a")
    repository = new_repository(tmp_path / "repository")
    write_tree(repository / "osps", profile())
    kubeconfig = worker.kubeconfig(tmp_path / "kubeconfig")
    source = "{machineDeployments: cluster, profiles: osps, facts: cluster}"
    target = f"{{git: {{path: clusters}}}}\n  management: {{kubeconfig: {kubeconfig}}}"
    write_fleet(repository, f"clusters:\n- name: prod\n  from: {source}\n  to: {target}\n")
    git(repository, "add", ".")
    git(repository, "commit", "--quiet", "--message", "fleet")
    assert _apply(repository).code == 0
    return made, repository


def test_a_paused_pool_with_a_new_template_keeps_what_git_has(live: tuple[Scene, Path]) -> None:
    cluster, repository = live
    before, commits = _secret(repository), _commits(repository)
    cluster.change("a", {"spec": {"paused": True, "template": _NEW}})
    ran = _apply(repository)
    assert (ran.code, ran.err) == (0, "")
    assert "Left for now: kube-system/a: it is paused" in ran.out
    assert (_secret(repository), _commits(repository)) == (before, commits)
    cluster.change("a", {"spec": {"paused": False}})
    ran = _apply(repository)
    assert "Left for now: kube-system/a: the MachineSet of its revision 1 has another template" in ran.out
    assert (_secret(repository), _commits(repository)) == (before, commits)
    machine_controller(cluster, revision="2")
    ran = _apply(repository)
    assert (ran.code, "Left for now" in ran.out, _commits(repository)) == (0, False, commits + 1)
    assert _secret(repository) != before


def test_a_pool_that_is_left_stops_no_other_and_a_new_one_is_written(live: tuple[Scene, Path]) -> None:
    cluster, repository = live
    before = _secret(repository)
    cluster.change("a", {"spec": {"paused": True, "template": _NEW}})
    cluster.pool("b", revision=None)  # machine-controller has not numbered it: nothing is made of it yet
    ran = _apply(repository)
    assert ran.code == 0, ran.err
    assert "Left for now: kube-system/a: it is paused" in ran.out
    assert _secret(repository) == before
    assert "cloud-config" in _secret(repository, "b")
    kustomization = yaml.safe_load((repository / "clusters/prod/worker/kustomization.yaml").read_text("utf-8"))
    assert len(kustomization["resources"]) == 4


def test_a_paused_pool_of_a_tree_keeps_what_git_has_until_it_is_resumed(tmp_path: Path) -> None:
    repository = new_repository(tmp_path / "repository")
    write_fleet(repository, "clusters:\n- {name: prod, from: pools, to: {git: {path: clusters}}}\n")

    def push(kubelet: str, *, paused: bool) -> Ran:
        body = pool("a", kubelet=kubelet)
        body["spec"]["paused"] = paused
        write_tree(repository / "pools", profile(), body)
        git(repository, "add", ".")
        git(repository, "commit", "--quiet", "--message", "pools")
        return _apply(repository)

    assert push("1.34.2", paused=True).code == 0  # what git lacks is made
    before = _secret(repository)
    ran = push("1.35.0", paused=True)
    assert (ran.code, "Left for now: kube-system/a: it is paused" in ran.out) == (0, True)
    assert _secret(repository) == before
    assert push("1.35.0", paused=False).code == 0
    assert _secret(repository) != before
