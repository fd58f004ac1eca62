"""From a dump of a cluster to machines of a second template, through git: docs/tutorials/first-use.md."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
import yaml

from osm_gitops.sops.document import decrypt, is_encrypted
from osm_gitops.sops.keys import find_keys
from tests.apiserver.cluster import Cluster
from tests.cli.running import Ran, osm_gitops
from tests.cli.scenes import facts, profile
from tests.git.repos import git
from tests.targets.cluster.scene import SCRIPT, Scene, machine_path, scene
from tests.targets.cluster.test_stamping import machine_controller, stamps

_POOL = Path("pools/prod/kube-system/a.yaml")
_FLUX = "kustomize-controller"


@pytest.fixture
def dumped(management: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scene:
    """A cluster with one pool, its dump, and a config repository without the example, which is the folder."""
    made = scene(management, management, tmp_path)
    for body in facts():
        management.client().create(body)
    made.pool("a")
    dump = {"apiVersion": "v1", "kind": "List", "items": [made.get(machine_path("a")), profile(script=SCRIPT)]}
    (tmp_path / "dump.json").write_text(json.dumps(dump), "utf-8")
    (tmp_path / "facts.yaml").write_text(yaml.safe_dump_all(facts()), "utf-8")
    assert osm_gitops("init", "nodes", "--cluster", "prod").code == 0
    monkeypatch.chdir(tmp_path / "nodes")
    for path in (*Path("pools/prod").iterdir(), *Path("facts/prod").iterdir()):
        path.unlink()
    return made


def _good(ran: Ran) -> Ran:
    assert ran.code == 0, ran.out + ran.err
    return ran


def _apply(message: str) -> Ran:
    git(Path(), "add", ".")
    git(Path(), "commit", "--quiet", "--allow-empty", "--message", message)
    return _good(osm_gitops("apply", "--yes"))


def _bring(made: Scene) -> None:
    """What Flux applies: MachineDeployments from ``pools``, all else from ``clusters``."""
    for path in (*sorted(Path("pools").rglob("*.yaml")), *sorted(Path("clusters").rglob("*.yaml"))):
        body: dict[str, Any] = yaml.safe_load(path.read_text("utf-8"))
        if is_encrypted(body):
            (body,) = decrypt([body], find_keys(os.environ))
        if body["kind"] != "Kustomization":
            made.management.client().apply(body, _FLUX)


def _refresh(made: Scene) -> Ran:
    kubeconfig = made.management.kubeconfig(Path("../kubeconfig"))
    return _good(osm_gitops("refresh", "--kubeconfig", str(kubeconfig), "--settle", "0s"))


def test_machines_of_the_second_template_get_their_revision(dumped: Scene) -> None:
    _good(osm_gitops("import", "../dump.json", "--to", "pools/prod"))
    Path("pools/prod/kube-system/osp-a.yaml").rename("osps/osp-a.yaml")
    _good(osm_gitops("import", "../facts.yaml", "--to", "facts/prod"))
    assert "getter-token-1" not in "".join(path.read_text("utf-8") for path in Path("facts").rglob("*.yaml"))
    assert "Warning" not in _apply("first").out
    _bring(dumped)
    _refresh(dumped)
    assert stamps(dumped) == ["1", "1", "1"]
    _POOL.write_text(_POOL.read_text("utf-8").replace("1.34.2", "1.35.0"), "utf-8")
    _apply("Kubelet 1.35.0")
    _bring(dumped)
    machine_controller(dumped, revision="2")
    assert "Left for now" not in _refresh(dumped).out
    assert stamps(dumped) == ["2", "2", "2"]
    # Flux applies again, and takes nothing away.
    _bring(dumped)
    assert stamps(dumped) == ["2", "2", "2"]


def test_a_dump_that_is_copied_decides_nothing_and_is_named(dumped: Scene) -> None:
    _POOL.parent.mkdir()
    _POOL.write_text(yaml.safe_dump(dumped.get(machine_path("a"))), "utf-8")
    Path("osps/osp-a.yaml").write_text(yaml.safe_dump(profile(script=SCRIPT)), "utf-8")
    _good(osm_gitops("import", "../facts.yaml", "--to", "facts/prod"))
    assert f"{_POOL}:" in _apply("first").out
    _good(osm_gitops("import", "../dump.json", "--to", "../clean"))
    _POOL.write_bytes(Path("../clean/kube-system/a.yaml").read_bytes())
    ran = _apply("clean")
    assert "Warning" not in ran.out
    assert ran.out.splitlines()[-1] == "No changes."
