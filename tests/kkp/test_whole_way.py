"""The way of docs/how-to/kkp.md, from an empty folder to the CronJob on the seed, and a cluster that comes later."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import yaml

from osm_gitops.commands.install.install_plan import WRITER
from osm_gitops.errors import Code
from osm_gitops.kube import api as api_module
from tests.apiserver.cluster import Cluster
from tests.apiserver.proxy import Proxy, during
from tests.cli.running import Ran, osm_gitops
from tests.commands.install.growing import granted, until_granted
from tests.faults import Expected, told
from tests.git.repos import git, pin_git
from tests.kkp.scene import fill_with_pool, secrets_of
from tests.kkp.seed import Seed

_ID, _LATER = "abcdefghij", "bcdefghijk"


def _pod(seed: Cluster, folder: Path, account: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """From here on this process is a pod of the seed that runs with an account."""
    (folder / "account").mkdir()
    (folder / "account" / "token").write_text(seed.token(seed.account("osm-gitops", account)), "utf-8")
    (folder / "account" / "ca.crt").write_text(seed.authority, "utf-8")
    monkeypatch.setattr(api_module, "ACCOUNT", folder / "account")
    monkeypatch.delenv("KUBECONFIG")
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", seed.server.rpartition(":")[2])


def _container(bodies: list[dict[str, Any]]) -> dict[str, Any]:
    (job,) = (body for body in bodies if body["kind"] == "CronJob")
    (container,) = job["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"]
    assert isinstance(container, dict)
    return container


def _said(ran: Ran) -> tuple[int, list[tuple[Code, str]]]:
    return ran.code, told(ran.err)


def test_from_an_empty_folder_to_a_cronjob_on_the_seed(
    seed: Seed, worker: Cluster, management: Cluster, through: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pin_git(monkeypatch)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    for name in tuple(os.environ):
        if name.startswith("OSM_GITOPS_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("OSM_GITOPS_NO_CACHE", "true")
    proxy: Proxy = through(seed.server)
    monkeypatch.setenv("KUBECONFIG", str(proxy.cluster.kubeconfig(tmp_path / "kubeconfig")))
    cluster = seed.user_cluster(_ID, worker)
    fill_with_pool(worker)

    # A config repo, which others can clone.
    ran = osm_gitops("init", "nodes", "--from", "kkp")
    assert _said(ran) == (0, []), ran.err
    monkeypatch.chdir(tmp_path / "nodes")
    git(Path(), "add", "--all")
    git(Path(), "commit", "--quiet", "--message", "our user clusters")
    git(Path(), "clone", "--quiet", "--bare", ".", "../remote.git")

    # While Operating System Manager runs, it is planned for and nothing is written.
    ran = osm_gitops("plan")
    assert _said(ran) == (0, [])
    assert f"cluster-{_ID}/operating-system-manager: Operating System Manager runs" in ran.out
    ran = osm_gitops("apply", "--yes")
    assert (ran.code, secrets_of(worker)) == (1, {})
    assert told(ran.err) == [Expected(Code.OSM_RUNS, f"cluster-{_ID}")]

    # It is switched off by the owner of the seed.
    proxy.when(during(lambda: seed.scale(cluster, 0), after=True), method="PATCH", path=f"/clusters/{_ID}")
    ran = osm_gitops("kkp", "switch-off", _ID, "--yes")
    assert _said(ran) == (0, []), ran.err

    # What install prints is applied to the seed, and its CronJob run as a pod there.
    ran = osm_gitops("install", "--kkp", "--image", "osm-gitops:1", "--repo", f"file://{tmp_path}/remote.git")
    assert _said(ran) == (0, []), ran.err
    bodies = list(yaml.safe_load_all(ran.out))
    for body in bodies:
        seed.server.client().apply(body, "installer")
    until_granted(seed.server, seed.server.account("osm-gitops", WRITER), granted(bodies, WRITER))
    container = _container(bodies)
    for variable in container.get("env", ()):
        monkeypatch.setenv(variable["name"], variable["value"])
    _pod(seed.server, tmp_path, WRITER, monkeypatch)
    monkeypatch.chdir(tmp_path)
    ran = osm_gitops(*container["args"], "--settle", "0s")
    assert _said(ran) == (0, []), ran.err
    assert f"{_ID}: 1 pool written\n" in ran.err
    assert "workers-kube-system-bootstrap-config" in secrets_of(worker)

    # The next run has nothing to do there, and finds a cluster that KKP has made meanwhile.
    later = seed.user_cluster(_LATER, management)
    seed.scale(later, 0)
    fill_with_pool(management, "newcomers")
    ran = osm_gitops(*container["args"], "--settle", "0s")
    assert _said(ran) == (0, []), ran.err
    assert [line for line in ran.err.splitlines() if "written" in line] == [f"{_LATER}: 1 pool written"]
    assert "newcomers-kube-system-bootstrap-config" in secrets_of(management)
