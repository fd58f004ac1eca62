"""The demo fleet as docs/how-to/flux.md and argocd.md describe it: annotations, layout, and the real tools."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.apiserver.after_osm import AfterOsm
from tests.apiserver.cluster import Cluster
from tests.cli.running import osm_gitops
from tests.demo_fleet import DEMO, DEMO_KEY
from tests.git.repos import git, new_repository, pin_git
from tests.real_tools import real_tool

_ROOT = Path(__file__).resolve().parent.parent
_ANNOTATIONS = ("kustomize.toolkit.fluxcd.io/", "argocd.argoproj.io/")
_SIDES = ("management", "worker")


def _document(name: str) -> str:
    return (_ROOT / "docs" / "how-to" / f"{name}.md").read_text("utf-8")


def _examples(name: str) -> Iterator[dict[str, Any]]:
    for block in re.findall(r"^```yaml\n((?:.*\n)*?)```$", _document(name), re.MULTILINE):
        yield from yaml.safe_load_all(block)


def _objects(text: str) -> dict[tuple[str, str, str], dict[str, Any]]:
    bodies = [body for body in yaml.safe_load_all(text) if body]
    return {(body["kind"], body["metadata"].get("namespace", ""), body["metadata"]["name"]): body for body in bodies}


@pytest.fixture
def fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The demo fleet in a repository, with its desired state committed and encrypted."""
    pin_git(monkeypatch)
    for name in os.environ:
        if name.startswith(("OSM_GITOPS_", "SOPS_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("SOPS_AGE_KEY_FILE", DEMO_KEY["SOPS_AGE_KEY_FILE"])
    root = new_repository(tmp_path / "fleet")
    shutil.copytree(DEMO, root, dirs_exist_ok=True)
    git(root, "add", ".")
    git(root, "commit", "--quiet", "-m", "fleet")
    monkeypatch.chdir(root)
    ran = osm_gitops("apply", "--yes")
    assert ran.code == 0, ran.err
    return root


def _folders(root: Path) -> list[Path]:
    found = sorted(path.parent for path in root.glob("clusters/*/*/kustomization.yaml"))
    assert [folder.name for folder in found] == [*_SIDES] * 3
    return found


# --- the documents ---


@pytest.mark.parametrize(("name", "kind"), [("flux", "Kustomization"), ("argocd", "Application")])
def test_all_folders_of_a_cluster_are_pointed_to_and_worker_comes_last(name: str, kind: str) -> None:
    chosen = [example for example in _examples(name) if example["kind"] == kind]
    paths = [(each["spec"].get("source") or each["spec"])["path"].removeprefix("./") for each in chosen]
    assert paths == ["pools/prod-eu", *(f"clusters/prod-eu/{side}" for side in _SIDES)]
    pools, management, worker = chosen
    if name == "flux":
        names = [each["metadata"]["name"] for each in (management, pools)]
        assert worker["spec"]["dependsOn"] == [{"name": each} for each in names]
        assert all(each["spec"]["prune"] and each["spec"]["wait"] for each in (management, worker))
        # Machines would go with a file; and machines of a new pool wait for what comes after it.
        assert not pools["spec"]["prune"]
        assert not pools["spec"]["wait"]
        assert pools["spec"]["kubeConfig"] == worker["spec"]["kubeConfig"]
        assert {each["spec"]["decryption"]["provider"] for each in chosen} == {"sops"}
    else:
        plugin = next(example for example in _examples(name) if example["kind"] == "ConfigMap")
        own = yaml.safe_load(plugin["data"]["plugin.yaml"])["metadata"]["name"]
        assert {each["spec"]["source"]["plugin"]["name"] for each in chosen} == {own}
        assert all("ServerSideApply=true" in each["spec"]["syncPolicy"]["syncOptions"] for each in chosen)
        assert [each["spec"]["syncPolicy"]["automated"]["prune"] for each in chosen] == [False, True, True]
        assert pools["spec"]["destination"] == worker["spec"]["destination"]


@pytest.mark.usefixtures("fleet")
def test_every_annotation_that_is_written_for_them_is_explained_and_the_reverse() -> None:
    told = set(re.findall(r"^\| `([^`]+)` \|", _document("flux") + _document("argocd"), re.MULTILINE))
    written = set()
    for flags in ((), ("--immutable-secrets",)):
        for body in _objects(osm_gitops("render", "--to", "-", *flags).out).values():
            annotations = body["metadata"]["annotations"]
            assert annotations["kustomize.toolkit.fluxcd.io/substitute"] == "disabled"
            assert "app.kubernetes.io/instance" not in body["metadata"]["labels"]
            for name, value in annotations.items():
                if name.startswith(_ANNOTATIONS):
                    written.add(f"{name}: {json.dumps(value) if value.isdigit() else value}")
    assert written == told


def test_argo_cd_creates_what_starts_machines_last(fleet: Path) -> None:
    waves: dict[str, set[str]] = {}
    for path in fleet.glob("clusters/*/*/*/**/*.yaml"):
        body = yaml.safe_load(path.read_text("utf-8"))
        kind = next((end for end in ("provisioning", "bootstrap") if f"-{end}-config" in path.name), body["kind"])
        waves.setdefault(kind, set()).add(body["metadata"]["annotations"]["argocd.argoproj.io/sync-wave"])
    assert waves["OperatingSystemProfile"] == waves["provisioning"] == {"0"}
    assert waves["OperatingSystemConfig"] == waves["bootstrap"] == {"1"}


# --- the real tools ---


def _run(*command: str | Path, text: str = "", cwd: Path | None = None) -> str:
    done = subprocess.run(
        [str(each) for each in command], input=text, cwd=cwd, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def _by_cluster(folders: list[Path], objects: Callable[[Path], dict[Any, dict[str, Any]]]) -> dict[str, dict[Any, Any]]:
    """What the two folders of each cluster hold; a profile of one name may differ between clusters."""
    found: dict[str, dict[Any, Any]] = {}
    for folder in folders:
        found.setdefault(folder.parent.name, {}).update(objects(folder))
    return found


def _plain(clusters: Iterable[str]) -> dict[str, dict[Any, Any]]:
    return {name: _objects(osm_gitops("render", "--cluster", name, "--to", "-").out) for name in clusters}


@pytest.mark.oracle
def test_kustomize_builds_both_folders_of_every_cluster_and_changes_no_value(fleet: Path) -> None:
    for folder in _folders(fleet):
        files = [path for path in folder.rglob("*.yaml") if path.name != "kustomization.yaml"]
        built = _objects(_run(real_tool("kustomize"), "build", folder))
        assert built == _objects("---\n".join(path.read_text("utf-8") for path in files))


@pytest.mark.oracle
def test_what_kustomize_built_is_opened_object_by_object_as_flux_does_it(fleet: Path) -> None:
    """Flux decrypts each object after the build, as JSON in an order of its own, so it leaves the MAC alone."""
    options = ("decrypt", "--ignore-mac", "--input-type", "json", "--output-type", "json", "/dev/stdin")

    def opened(body: dict[str, Any]) -> dict[str, Any]:
        assert ("sops" in body) == (body["kind"] != "OperatingSystemProfile")
        return json.loads(_run(real_tool("sops"), *options, text=json.dumps(body))) if "sops" in body else body

    def built(folder: Path) -> dict[Any, dict[str, Any]]:
        objects = _objects(_run(real_tool("kustomize"), "build", folder))
        return {key: opened(body) for key, body in objects.items()}

    found = _by_cluster(_folders(fleet), built)
    assert found == _plain(found)


@pytest.mark.oracle
def test_the_plug_in_for_argo_cd_prints_every_object_in_plain_text(
    fleet: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = next(example for example in _examples("argocd") if example["kind"] == "ConfigMap")
    generate = yaml.safe_load(config["data"]["plugin.yaml"])["spec"]["generate"]
    monkeypatch.setenv("PATH", f"{real_tool('sops').parent}{os.pathsep}{os.environ['PATH']}")
    command = [*generate["command"], *generate["args"]]
    printed = _by_cluster(_folders(fleet), lambda folder: _objects(_run(*command, cwd=folder)))
    assert printed == _plain(printed)
    monkeypatch.delenv("SOPS_AGE_KEY_FILE")
    failed = subprocess.run(command, cwd=_folders(fleet)[0], capture_output=True, check=False)
    assert failed.returncode != 0  # nothing is synchronised by halves


@pytest.mark.oracle
def test_a_cluster_that_has_become_empty_still_builds(fleet: Path) -> None:
    (fleet / "dev" / "playground.yaml").unlink()
    git(fleet, "commit", "--quiet", "--all", "-m", "no pool")
    ran = osm_gitops("apply", "--yes", "--cluster", "dev", "--allow-empty", "--max-delete", "100%")
    assert ran.code == 0, ran.err
    for side in _SIDES:
        assert _run(real_tool("kustomize"), "build", fleet / "clusters" / "dev" / side) == ""


def _as_flux(folder: Path, scratch: Path) -> list[dict[str, Any]]:
    """The objects of a folder, decrypted. Flux lists the manifests itself where there is no kustomization.yaml."""
    shutil.copytree(folder, scratch)
    if not (scratch / "kustomization.yaml").exists():
        _run(real_tool("kustomize"), "create", "--autodetect", "--recursive", cwd=scratch)
    found = []
    for body in _objects(_run(real_tool("kustomize"), "build", scratch)).values():
        options = ("decrypt", "--ignore-mac", "--input-type", "json", "--output-type", "json", "/dev/stdin")
        found.append(json.loads(_run(real_tool("sops"), *options, text=json.dumps(body))) if "sops" in body else body)
    return found


@pytest.mark.oracle
def test_flux_applies_the_pools_of_a_new_repo_and_refresh_stamps_what_they_boot_with(
    management: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pin_git(monkeypatch)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in os.environ:
        if name.startswith(("OSM_GITOPS_", "SOPS_", "XDG_")):
            monkeypatch.delenv(name)
    root = tmp_path / "nodes"
    assert osm_gitops("init", str(root), "--cluster", "prod").code == 0
    monkeypatch.setenv("SOPS_AGE_KEY_FILE", str(tmp_path / "home/.config/sops/age/keys.txt"))
    monkeypatch.chdir(root)
    git(root, "add", ".")
    git(root, "commit", "--quiet", "-m", "pools")
    ran = osm_gitops("apply", "--yes")
    assert ran.code == 0, ran.err
    management.namespace("cloud-init-settings")
    client = management.client()
    client.create(yaml.safe_load((root / "facts/prod/cluster-info.yaml").read_text("utf-8")))
    paths = [each["spec"]["path"] for each in _examples("flux") if each["kind"] == "Kustomization"]
    folders = [path.removeprefix("./").replace("prod-eu", "prod") for path in paths]

    def flux(number: int) -> None:
        for folder in folders:
            for body in _as_flux(root / folder, tmp_path / f"{number}-{folder.replace('/', '-')}"):
                client.apply(body, "kustomize-controller")

    flux(1)
    machine = "/apis/cluster.k8s.io/v1alpha1/namespaces/kube-system/machinedeployments/example"
    osm = AfterOsm(management, management)
    revision = {"machinedeployment.clusters.k8s.io/revision": "1"}
    found = client.merge(machine, {"metadata": {"annotations": revision}})
    osm.objects["MachineDeployment", "kube-system", "example"] = found
    osm.machine_set("example")
    where = ("--kubeconfig", str(management.kubeconfig(tmp_path / "kubeconfig")))
    ran = osm_gitops("refresh", *where, "--settle", "0s")
    assert (ran.code, "left" in ran.err) == (0, False), ran.err
    flux(2)  # it takes nothing away
    secret = client.get("/api/v1/namespaces/cloud-init-settings/secrets/example-kube-system-bootstrap-config")
    assert secret["metadata"]["annotations"]["k8c.io/machine-deployment-revision"] == "1"
    # The repository and the cluster agree; from here on a difference is told.
    assert "Worth knowing" not in osm_gitops("status", *where).out
    client.merge(machine, {"spec": {"template": {"spec": {"versions": {"kubelet": "1.35.0"}}}}})
    told = "pools/prod: the cluster has other values in MachineDeployment kube-system/example"
    assert f"{told}: spec.template.spec.versions.kubelet" in osm_gitops("status", *where).out
