"""Every conformance case through the command line, compared with what OSM itself wrote.

How to compare is told in the data's README: strings byte for byte, ``null`` equals absent.
"""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from osm_gitops.model.objects import Json
from tests.cli.running import osm_gitops
from tests.conformance_data import DATA, OUTSIDE, cases, load_case

_ANNOTATIONS = ("k8c.io/machine-deployment-revision", "k8c.io/mdannotations-hash", "k8c.io/osp-version")


def profile_text(case: dict[str, Any]) -> str:
    """The file that holds the case's profile, as a person wrote it."""
    if "manifests" in case:
        return str(case["manifests"])
    profile = case["osp"]
    if "inline" in profile:
        return json.dumps(profile["inline"])
    return Path(OUTSIDE, "profiles", profile["file"]).read_text("utf-8")


def _write_tree(case: dict[str, Any], folder: Path, text: str = "") -> None:
    """The case as a tree; ``text`` takes the place of the file that holds its profile."""
    text = text or profile_text(case)
    folder.mkdir()
    (folder / "objects.json").write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": case["objects"]}))
    if "manifests" in case:
        (folder / "manifests.yaml").write_bytes(text.encode())
        return
    (folder / "md.json").write_text(json.dumps(case["md"]))
    (folder / "osp.json").write_text(json.dumps(profile_of(case, text)))


def profile_of(case: dict[str, Any], text: str) -> dict[str, Any]:
    """The profile in ``text``, in the case's namespace."""
    body: dict[str, Any] = json.loads(text) if "inline" in case["osp"] else yaml.load(text, yaml.CSafeLoader)
    body["metadata"]["namespace"] = case["osp"].get("namespace", case["flags"].get("namespace", "kube-system"))
    return body


def flags_of(case: dict[str, Any]) -> list[str]:
    """OSM's own spelling, as its Deployment has it; file names start at the data's folder."""
    flags = []
    for name, value in case["flags"].items():
        for item in value if isinstance(value, list) else [value]:
            text = str(DATA / item) if name.endswith("ca-bundle") else item
            flags.append(f"-{name}={text}")
    return flags


def _without_nulls(value: Json) -> Json:
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    return [_without_nulls(item) for item in value] if isinstance(value, list) else value


def _text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return "base64:" + base64.b64encode(data).decode()


def _as_expected(body: dict[str, Any]) -> dict[str, Any]:
    metadata = body["metadata"]
    annotations = metadata.get("annotations", {})
    shown = {key: annotations[key] for key in _ANNOTATIONS if key in annotations}
    found = {"kind": body["kind"], "name": metadata["name"], "namespace": metadata["namespace"]}
    if body["kind"] == "OperatingSystemConfig":
        return {**found, "annotations": shown, "spec": _without_nulls(body["spec"])}
    found["type"] = body.get("type") or "Opaque"
    found["immutable"] = bool(body.get("immutable"))
    found["data"] = {key: _text(base64.b64decode(value)) for key, value in body["data"].items()}
    return {**found, "annotations": shown}


def _expected(body: dict[str, Any]) -> dict[str, Any]:
    wanted = _without_nulls(body)
    wanted.setdefault("annotations", {})
    if wanted["kind"] == "Secret":
        wanted["type"] = wanted.get("type") or "Opaque"
        wanted["immutable"] = bool(wanted.get("immutable"))
    return dict(wanted)


def _by_name(objects: list[dict[str, Any]]) -> dict[tuple[str, str], dict[str, Any]]:
    return {(each["kind"], each["name"]): each for each in objects}


def render_case(case: dict[str, Any], folder: Path, text: str = "") -> tuple[int, list[dict[str, Any]], str]:
    """Render a case by the command line: exit code, objects as the data writes them, what it said.

    ``text`` takes the place of the file that holds its profile.
    """
    _write_tree(case, folder / "tree", text)
    ran = osm_gitops("render", "--from", str(folder / "tree"), "--to", "-", "--immutable-secrets", *flags_of(case))
    return ran.code, objects_in(ran.out), ran.err


def objects_in(text: str) -> list[dict[str, Any]]:
    """The objects of a rendering, without profiles, as the data writes them."""
    bodies = [body for body in yaml.load_all(text, yaml.CSafeLoader) if body["kind"] != "OperatingSystemProfile"]
    return [_as_expected(body) for body in bodies]


def check_objects(case: dict[str, Any], objects: list[dict[str, Any]]) -> None:
    wanted = [_expected(each) for each in case["expected"]["objects"]]
    assert _by_name(objects) == _by_name(wanted)


@pytest.mark.parametrize("name", cases())
def test_a_case_renders_to_what_osm_wrote(name: str, tmp_path: Path) -> None:
    case = load_case(name)
    code, objects, said = render_case(case, tmp_path)
    if "refused" in case["expected"]:
        assert code == 1
        assert objects == []
        assert said.startswith("Error: ") or "\nError: " in said
        return
    assert code == 0, said
    check_objects(case, objects)
