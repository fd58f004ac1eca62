"""What docs/flux.md and docs/argocd.md promise, on the demo fleet: annotations, layout, and what the real tools say."""

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

from tests.cli.running import osm_gitops
from tests.demo_fleet import DEMO, DEMO_KEY
from tests.gitdoor.repos import git, new_repository, pin_git
from tests.real_tools import real_tool

_ROOT = Path(__file__).resolve().parent.parent
_ANNOTATIONS = ("kustomize.toolkit.fluxcd.io/", "argocd.argoproj.io/")
_SIDES = ("management", "worker")


def _document(name: str) -> str:
    return (_ROOT / "docs" / f"{name}.md").read_text("utf-8")


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
def test_both_folders_of_a_cluster_are_pointed_to_and_worker_comes_last(name: str, kind: str) -> None:
    chosen = [example for example in _examples(name) if example["kind"] == kind]
    paths = [(each["spec"].get("source") or each["spec"])["path"].removeprefix("./") for each in chosen]
    assert paths == [f"clusters/prod-eu/{side}" for side in _SIDES]
    if name == "flux":
        assert chosen[1]["spec"]["dependsOn"] == [{"name": chosen[0]["metadata"]["name"]}]
        assert all(each["spec"]["prune"] and each["spec"]["wait"] for each in chosen)
        assert {each["spec"]["decryption"]["provider"] for each in chosen} == {"sops"}
    else:
        plugin = next(example for example in _examples(name) if example["kind"] == "ConfigMap")
        own = yaml.safe_load(plugin["data"]["plugin.yaml"])["metadata"]["name"]
        assert {each["spec"]["source"]["plugin"]["name"] for each in chosen} == {own}
        assert all("ServerSideApply=true" in each["spec"]["syncPolicy"]["syncOptions"] for each in chosen)


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
