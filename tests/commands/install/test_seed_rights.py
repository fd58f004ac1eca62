"""The rights on a KKP seed: enough for every run over its user clusters, and not one verb more."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from osm_gitops.commands.install.install_plan import INSTALLED, WRITER, InstallPlan, Jobs, Part
from osm_gitops.commands.install.manifests import manifests
from osm_gitops.commands.install.rights import seed_profiles, seed_reads, seed_switches
from osm_gitops.model.desired import Side
from tests.apiserver.after_osm import AfterOsm
from tests.apiserver.cluster import Cluster
from tests.cli.running import Ran, osm_gitops
from tests.cli.scenes import profile
from tests.commands.install.growing import Growing, granted, grants, grow, until_granted
from tests.git.repos import new_repository, pin_git
from tests.kkp.scene import SCRIPT, Scene, add_pool, user_cluster
from tests.kkp.seed import DATACENTER, fill, make_seed

_HOME = "osm-gitops"
_PLAN = InstallPlan(on_seed=True, jobs=Jobs(image="registry.example.com/osm-gitops:1"))
_PASSWORD = "swordfish"
# Kubelets as old as this have a cloud-config, with credentials that are on the seed.
_VSPHERE: dict[str, Any] = {
    "kubelet": "1.28.0",
    "cloudProvider": "vsphere",
    "cloudProviderSpec": {"cluster": "c", "datacenter": "d", "datastore": "s", "folder": "f", "vmNetName": "n"},
}


@pytest.fixture
def scene(seed_server: Cluster, worker: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scene:
    """A user cluster whose Operating System Manager does not run, and an account on the seed that may do nothing."""
    pin_git(monkeypatch)
    place = {"country": "DE", "location": "x", "spec": {"vsphere": {"endpoint": "https://vsphere.example.com"}}}
    seed = make_seed(seed_server, datacenters={DATACENTER: place}, seed={"defaultClusterTemplate": "usual"})
    seed.create("ClusterTemplate", "usual", namespace="", spec={})
    spec = {"cloud": {"providerName": "vsphere"}, "features": None}
    cluster = user_cluster(seed, worker, spec=spec)
    metadata = {"name": "cloud-credentials", "namespace": cluster.namespace}
    data = {"username": "us", "password": _PASSWORD}
    seed_server.client().create({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": data})
    both = [{"name": "hetzner"}, {"name": "vsphere"}]
    fill(worker, profile(script=SCRIPT, supportedCloudProviders=both))
    loaded = AfterOsm(worker, worker)
    add_pool(loaded, "workers")
    add_pool(loaded, "old", **_VSPHERE)
    made = Scene(seed, new_repository(tmp_path / "fleet"))
    made.fleet()
    metadata = {"name": WRITER, "namespace": seed_server.namespace(_HOME)}
    seed_server.client().create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata})
    seed_server.kubeconfig(tmp_path / "seed.yaml", seed_server.account(_HOME, WRITER))
    return made


def _ran(scene: Scene, command: str) -> tuple[bool, str]:
    ran = scene.run(command, *(("--yes",) if command == "uninstall" else ()))
    assert _PASSWORD not in ran.out + ran.err
    return ran.code == 0, ran.out + ran.err


def _switch(scene: Scene, word: str) -> Ran:
    fleet = str(scene.folder / "osm-gitops.yaml")
    return osm_gitops("kkp", f"switch-{word}", "*", "--fleet", fleet, "--yes", "--timeout", "0s")


def _switched(scene: Scene) -> tuple[bool, str]:
    ran = _switch(scene, "off")
    return ran.code == 0, ran.out + ran.err


def test_runs_need_exactly_these(scene: Scene) -> None:
    account = Growing(scene.seed.server, _HOME, WRITER, grants(seed_reads()))
    for command in ("plan", "status", "doctor", "apply", "refresh", "uninstall"):
        grow([account], partial(_ran, scene, command))
    assert account.given == account.expected


@pytest.mark.exhaustive
def test_switching_needs_exactly_these_in_addition(scene: Scene) -> None:
    account = Growing(scene.seed.server, _HOME, WRITER, grants((*seed_reads(), *seed_switches())))
    account.give(grants(seed_reads()))
    grow([account], partial(_switched, scene))
    assert account.given == account.expected


@pytest.mark.exhaustive
def test_every_command_works_with_what_is_printed_for_it(scene: Scene) -> None:
    server = scene.seed.server
    bodies = [
        *manifests(_PLAN, Side.MANAGEMENT, INSTALLED),
        *manifests(_PLAN, Side.MANAGEMENT, frozenset({Part.SWITCH})),
    ]
    for body in bodies:
        server.client().apply(body, "installer")
    until_granted(server, server.account(_HOME, WRITER), granted(bodies, WRITER))
    runs = [(command, scene.run(command)) for command in ("plan", "status", "doctor", "apply", "refresh")]
    runs.append(("switch-off", _switch(scene, "off")))
    runs.append(("validate", osm_gitops("validate", "--fleet", str(scene.folder / "osm-gitops.yaml"))))
    for command, ran in runs:
        assert (ran.code, "forbidden" in ran.out + ran.err) == (0, False), (command, ran)


def test_profiles_need_exactly_these_in_addition(scene: Scene) -> None:
    folder = scene.folder / "osps"
    folder.mkdir()
    scene.fleet(profiles="osps")
    scene.seed.server.kubeconfig(scene.folder.parent / "seed.yaml", scene.seed.server.account(_HOME, WRITER))
    (folder / "mine.yaml").write_text(json.dumps(profile("osp-mine")), "utf-8")
    fleet = str(scene.folder / "osm-gitops.yaml")

    def applied() -> tuple[bool, str]:
        ran = osm_gitops("kkp", "apply-profiles", "--fleet", fleet, "--yes")
        return ran.code == 0, ran.out + ran.err

    listing = {each for each in grants(seed_reads()) if each.resource == "customoperatingsystemprofiles"}
    account = Growing(scene.seed.server, _HOME, WRITER, listing | grants(seed_profiles()))
    grow([account], applied)
    assert account.given == account.expected
