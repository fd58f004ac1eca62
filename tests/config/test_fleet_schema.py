"""The JSON schema of the fleet file says yes where the reader does, and no where it does."""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from osm_gitops.config.fleet_file import read_fleet
from osm_gitops.config.fleet_keys import (
    CLUSTER,
    GIT,
    KKP,
    KKP_CLUSTER,
    MACHINES,
    MANAGEMENT,
    OVERRIDE,
    PULL_REQUEST,
    SEED,
    SELECT,
    SOURCE,
    TARGET,
    TOP,
    WORKER,
    Keys,
    fleet_schema,
)
from osm_gitops.config.setting_names import SETTINGS, Kind
from osm_gitops.config.spec import ClusterSpec, KkpEntry
from osm_gitops.errors import InputError
from osm_gitops.pipeline.load import load_settings

ROOT = Path(__file__).resolve().parent.parent.parent
_SCHEMA = fleet_schema()
_VALIDATOR = Draft202012Validator(_SCHEMA)
_HEAD = {"apiVersion": "osm-gitops.io/v1alpha1", "kind": "Fleet"}
_VALUES: tuple[Any, ...] = (
    *("text", "", "10.0.0.1", "a=true", "r=https://m", "true", "7", "0", "cluster"),
    *(True, 7, 0, -1, 1.5, None),
    *("internal", "renew", "{cluster}", "a-{cluster}", "{cluster}-{x}"),
    *([], ["10.0.0.1"], ["a=b"], [7], {}, {"a": True}, {"a": "b"}, {"a": ["b"]}, {"a": 7}),
)


def _reader_takes(tmp_path: Path, fleet: Mapping[str, Any]) -> bool:
    file = tmp_path / "osm-gitops.yaml"
    file.write_text(yaml.safe_dump(fleet), "utf-8")
    try:
        read = read_fleet(file, "osm-gitops.yaml")
        clusters = (*read.clusters, *(spec for entry in read.kkp for spec in _specs(entry)))
        for cluster in clusters:
            load_settings(replace(cluster, overlays=()))  # whether they are there is no matter of the schema
    except InputError:
        return False
    return True


def _specs(entry: KkpEntry) -> tuple[ClusterSpec, ...]:
    return entry.template, *entry.overrides.values()


def _kkp(given: Any = None, **entry: Any) -> dict[str, Any]:
    return {**_HEAD, "clusters": [{"kkp": {} if given is None else given, **entry}]}


def _fleet(**cluster: Any) -> dict[str, Any]:
    return {**_HEAD, "clusters": [{"name": "a", "from": "tree", **cluster}]}


def test_the_schema_is_a_schema_and_bears_the_version_of_the_file() -> None:
    Draft202012Validator.check_schema(_SCHEMA)
    assert _SCHEMA["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert _HEAD["apiVersion"] in _SCHEMA["$id"]


def test_the_fleet_files_of_documents_and_demo_are_valid() -> None:
    pages = "".join(path.read_text("utf-8") for path in sorted((ROOT / "docs").rglob("*.md")))
    fleets = r"^apiVersion: osm-gitops.io/v1alpha1\nkind: Fleet\n.*?(?=^(?:END|```)$)"
    texts = re.findall(fleets, pages, re.MULTILINE | re.DOTALL)
    assert texts
    for text in (*texts, (ROOT / "overlays" / "demo" / "osm-gitops.yaml").read_text("utf-8")):
        assert list(_VALIDATOR.iter_errors(yaml.safe_load(text))) == []


_LEVELS: tuple[tuple[Keys, Any], ...] = (
    (TOP, lambda key, value: _fleet() | {key: value}),
    (CLUSTER, lambda key, value: _fleet(**{key: value})),
    (CLUSTER, lambda key, value: {**_HEAD, "clusters": [{"name": "a"}], "defaults": {"from": "tree", key: value}}),
    (SOURCE, lambda key, value: _fleet(**{"from": {"machineDeployments": "tree", key: value}})),
    (MACHINES, lambda key, value: _fleet(**{"from": {"machineDeployments": {"path": "tree", key: value}}})),
    (TARGET, lambda key, value: _fleet(to={"git": {"path": "x"}, key: value})),
    (GIT, lambda key, value: _fleet(to={"git": {"path": "x", key: value}})),
    (PULL_REQUEST, lambda key, value: _fleet(to={"git": {"path": "x", "pullRequest": {key: value}}})),
    (MANAGEMENT, lambda key, value: _fleet(management={key: value})),
    (WORKER, lambda key, value: _fleet(worker={key: value})),
    (KKP_CLUSTER, lambda key, value: _kkp(**{key: value})),
    (KKP, lambda key, value: _kkp({key: value})),
    (SEED, lambda key, value: _kkp({"seed": {key: value}})),
    (SELECT, lambda key, value: _kkp({"select": {key: value}})),
    (OVERRIDE, lambda key, value: _kkp(overrides={"abc": {key: value}})),
)


@pytest.mark.parametrize(("keys", "placed"), _LEVELS)
def test_schema_and_reader_agree_on_every_key_and_what_it_may_hold(tmp_path: Path, keys: Keys, placed: Any) -> None:
    for key in (*keys, "surprise"):
        for value in _VALUES:
            fleet = placed(key, value)
            assert _VALIDATOR.is_valid(fleet) == _reader_takes(tmp_path, fleet), (key, value)


_RIGHT: Mapping[Kind, tuple[Any, ...]] = {
    Kind.BOOLEAN: (True, "true", "F"),
    Kind.GATES: ("A=true,B=false", {"A": False}, {}),
    Kind.MIRRORS: ("r=https://m", ["r=https://m"], [], {"r": "https://m"}, {"r": ["https://m", "https://n"]}),
    Kind.COUNT: (1, 20, "7"),
    Kind.FILE: ("ca.pem", ""),
    Kind.DURATION: ("2h", "1h45m", "100.5m"),
}
_RIGHT_TEXTS: Mapping[str, str] = {
    "clusterDNS": "10.0.0.1",
    "containerRuntime": "containerd",
    "profilesVersion": "v2.0.0",
    "nodeRegistryCredentialsSecret": "a/b",
    "bootstrapTokenServiceAccountName": "a/b",
}


def _certificate() -> bytes:
    """The CA of the demo's cluster."""
    text = (ROOT / "overlays" / "demo" / "dev" / "facts.yaml").read_text("utf-8")
    found = re.search(r"certificate-authority-data: (\S+)", text)
    assert found
    return b64decode(found[1])


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.key)
def test_schema_and_reader_agree_on_every_setting(tmp_path: Path, setting: Any) -> None:
    """What the reader takes is valid, and what is of the wrong type is neither."""
    (tmp_path / "ca.pem").write_bytes(_certificate())
    text = _RIGHT_TEXTS.get(setting.key, "some-text")
    lists = (text, [text]) if setting.kind is Kind.TEXTS else (text,)
    for value in _RIGHT.get(setting.kind, lists):
        fleet = _fleet(settings={setting.key: value})
        assert _reader_takes(tmp_path, fleet), value
        assert _VALIDATOR.is_valid(fleet), value
    for value in _VALUES:
        fleet = _fleet(settings={setting.key: value})
        if _reader_takes(tmp_path, fleet):
            assert _VALIDATOR.is_valid(fleet), value
    for value in (7.5, None, [[]], {"a": {}}):
        fleet = _fleet(settings={setting.key: value})
        assert not _reader_takes(tmp_path, fleet), value
        assert not _VALIDATOR.is_valid(fleet), value


def _described(schema: Any) -> list[bool]:
    if not isinstance(schema, dict):
        return []
    own = ["description" in each or "$ref" in each for each in schema.get("properties", {}).values()]
    return own + [told for each in schema.values() for told in _described(each)]


def test_every_key_is_described() -> None:
    assert all(_described(_SCHEMA))
    assert set(_SCHEMA["$defs"]["settings"]["properties"]) == {setting.key for setting in SETTINGS}
