"""Both Secrets of every accepted conformance case, recomputed from the OSC that OSM made."""

from __future__ import annotations

from typing import Any

import pytest

from osm_gitops.model.profile import ConfigHalf, DropIn, File, Modules, OperatingSystemConfig, Unit
from osm_gitops.render.user_data import Kind, Pool, edge_script, user_data
from tests.conformance_data import accepted, cases, load_case, outside_names

KINDS: tuple[Kind, ...] = ("bootstrap", "provisioning")


def _half(spec: dict[str, Any]) -> ConfigHalf:
    files = tuple(
        File(
            file["path"],
            file["content"]["inline"]["data"],
            file["permissions"],
            file["content"]["inline"].get("encoding", ""),
        )
        for file in spec.get("files", ())
    )
    units = tuple(
        Unit(
            unit["name"],
            unit.get("enable"),
            unit.get("mask"),
            unit.get("content"),
            tuple(DropIn(item["name"], item["content"]) for item in unit.get("dropIns", ())),
        )
        for unit in spec.get("units", ())
    )
    modules = spec.get("modules")
    return ConfigHalf(files, units, tuple(spec.get("userSSHKeys", ())), None if modules is None else _modules(modules))


def _modules(spec: dict[str, Any]) -> Modules:
    return Modules(
        tuple(spec.get("bootcmd", ())),
        spec.get("rh_subscription", {}),
        tuple(spec.get("runcmd", ())),
        spec.get("yum_repos", {}),
        spec.get("yum_repo_dir", ""),
    )


def config_of(name: str, spec: dict[str, Any]) -> OperatingSystemConfig:
    return OperatingSystemConfig(
        name,
        "kube-system",
        spec["osName"],
        spec["osVersion"],
        spec["cloudProvider"]["name"],
        spec["cloudProvider"].get("spec"),
        spec["provisioningUtility"],
        _half(spec["bootstrapConfig"]),
        _half(spec["provisioningConfig"]),
    )


def _dist_upgrade(case: dict[str, Any]) -> bool:
    if "md" not in case:
        return "distUpgradeOnBoot: true" in case["manifests"]
    provider_config = case["md"]["spec"]["template"]["spec"]["providerSpec"]["value"]
    return bool((provider_config.get("operatingSystemSpec") or {}).get("distUpgradeOnBoot"))


@pytest.mark.parametrize("name", cases(accepted))
def test_user_data_is_what_osm_made_of_the_same_configuration(name: str) -> None:
    case = load_case(name)
    objects = {item["name"]: item for item in case["expected"]["objects"]}
    osc = next(item for item in objects.values() if item["kind"] == "OperatingSystemConfig")
    base = osc["name"].removesuffix("-config")
    secrets = [objects[f"{base}-{kind}-config"] for kind in KINDS]
    config = config_of(osc["name"], osc["spec"])
    machine = base.rsplit("-kube-system", 1)[0]
    pool = Pool(machine, config.provisioning_utility, _dist_upgrade(case))
    for kind, secret in zip(KINDS, secrets, strict=True):
        assert user_data(kind, config, getattr(config, kind), pool) == secret["data"]["cloud-config"]


@pytest.mark.conformance
@pytest.mark.parametrize("name", [name for name in outside_names() if name.endswith("-edge")])
def test_the_edge_script_is_osms(name: str) -> None:
    case = load_case(name)
    script = next(item for item in case["expected"]["objects"] if item["name"].startswith("edge-provider-script-"))
    base = script["name"].removeprefix("edge-provider-script-")
    expected = script["data"]["fetch-bootstrap-script"]
    assert edge_script(f"{base}-bootstrap-config", "getter-token-1", "https://foo.bar:6443") == expected
