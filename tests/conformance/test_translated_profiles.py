"""OSM's released profiles: their translation, run as native Jinja2, prints what the Go templates print (design.md, "One
engine")."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from osm_gitops.gotemplate.assembly import compile_go_half, compile_jinja_half
from osm_gitops.gotemplate.engine import Engine
from osm_gitops.gotemplate.values import Int32, NilStringMap, Pointer, StringMap, nil
from osm_gitops.render.data import ROOT_TYPES, CloudProvider
from tests.conformance.template_data import base_data
from tests.conformance_data import released_profiles

pytestmark = pytest.mark.conformance

VARIANTS: tuple[Mapping[str, Any], ...] = (
    {},
    {"HTTPProxy": nil("string"), "NoProxy": nil("string"), "KubeVersion": "v1.28.4", "InTreeCCMAvailable": True},
    {"CloudProviderName": CloudProvider("aws"), "KubeReserved": Pointer(NilStringMap(), "map[string]string")},
    {"CloudProviderName": CloudProvider("vmware-cloud-director"), "NetworkIPFamily": "IPv4+IPv6", "HostCACert": "ca"},
    {
        "CloudProviderName": CloudProvider("nutanix"),
        "SystemReserved": Pointer(StringMap({"cpu": "1", "b": "2"}), "map[string]string"),
        "ImageGCLowThresholdPercent": Pointer(Int32(0), "int32"),
    },
)


@pytest.fixture(scope="module")
def engine() -> Engine:
    return Engine(ROOT_TYPES)


@pytest.mark.parametrize("path", released_profiles(), ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_the_translation_of_a_profile_prints_the_same(engine: Engine, path: Path) -> None:
    spec = yaml.safe_load(path.read_text("utf-8"))["spec"]
    for half in ("bootstrapConfig", "provisioningConfig"):
        templates, files = _sources(spec.get(half) or {})
        go = compile_go_half(engine, templates, files)
        jinja = compile_jinja_half(
            engine,
            {name: _translated(engine, name, text, templates) for name, text in templates.items()},
            [(path, _translated(engine, path, text, templates)) for path, text in files],
        )
        for variant in VARIANTS:
            data = {**base_data("x-1"), **variant}
            assert jinja.render(data) == go.render(data)


def _sources(config: Mapping[str, Any]) -> tuple[dict[str, str], list[tuple[str, str]]]:
    runtimes = [each for each in config.get("supportedContainerRuntimes") or [] if each["name"] == "containerd"]
    templates: dict[str, str] = {}
    files: list[tuple[str, str]] = []
    for part in (*runtimes, config):
        templates |= part.get("templates") or {}
        files += [(each["path"], each["content"]["inline"]["data"]) for each in part.get("files") or []]
    return templates, files


def _translated(engine: Engine, name: str, text: str, templates: Mapping[str, str]) -> str:
    return engine.translate(name, engine.parse(name, text), templates).text
