"""Live clusters as the source of commands: what OSM would read there, the same bytes, nothing but reads."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from tests.apiserver.after_osm import after_osm, recorded, recorded_authority
from tests.apiserver.cluster import Cluster
from tests.cli.running import Ran, osm_gitops
from tests.conformance_data import CONFORMANCE

_FLAGS = ("-namespace", "kube-system", "-external-cloud-provider", "--immutable-secrets")


def _rendered(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text("utf-8") for path in sorted(folder.rglob("*.yaml"))}


def _bundle(folder: Path) -> str:
    path = folder / "ca.pem"
    path.write_text(recorded_authority(), "utf-8")
    return str(path)


def _contents(objects: Mapping[str, Any]) -> dict[str, Any]:
    """What an OSC or a Secret of OSM holds that a machine gets, by kind and name."""
    kind, name = objects["kind"], objects["metadata"]["name"]
    annotations = {key: text for key, text in objects["metadata"]["annotations"].items() if "k8c.io" in key}
    if kind == "Secret":
        return {f"{kind} {name}": (annotations, {key: b64decode(text) for key, text in objects["data"].items()})}
    return {f"{kind} {name}": (annotations, objects["spec"])}


def _render(target: Path, *arguments: str, source: str = "cluster") -> Ran:
    return osm_gitops("render", "--from", source, "--to", str(target), *_FLAGS, *arguments)


def test_a_cluster_that_osm_has_run_on_renders_to_what_osm_wrote_there(management: Cluster, tmp_path: Path) -> None:
    after_osm(management)
    kubeconfig = str(management.kubeconfig(tmp_path / "config"))
    ran = _render(tmp_path / "live", "--kubeconfig", kubeconfig, "--kubernetes-ca-bundle", _bundle(tmp_path))
    assert (ran.code, "Error" in ran.err) == (0, False)
    live = _rendered(tmp_path / "live")
    wanted: dict[str, Any] = {}
    for body in recorded():
        if "k8c.io/osp-version" in body["metadata"].get("annotations", {}):
            wanted |= _contents(body)
    found: dict[str, Any] = {}
    for path, text in live.items():
        if "operatingsystemconfigs" in path or "secrets" in path:
            found |= _contents(yaml.safe_load(text))
    assert len(wanted) == 15
    assert found == wanted
    dump = str(CONFORMANCE / "cluster" / "after-osm.json")
    ran = _render(tmp_path / "tree", "--kubernetes-ca-bundle", _bundle(tmp_path), source=dump)
    assert ran.code == 0
    assert _rendered(tmp_path / "tree") == live
