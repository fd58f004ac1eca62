from __future__ import annotations

from dataclasses import replace

import pytest

from osm_gitops.errors import Code, Problem
from osm_gitops.model.profile import ConfigHalf, File, Modules, OperatingSystemConfig, Unit
from osm_gitops.render.user_data import user_data_warnings
from tests.conformance_data import load_case, outside_names
from tests.faults import Expected, placed
from tests.render.test_user_data_conformance import config_of

EMPTY = ConfigHalf()


def _warnings(half: ConfigHalf, utility: str) -> list[Problem]:
    config = OperatingSystemConfig("c", "n", "flatcar", "1", "aws", {}, utility, EMPTY, half)
    found = user_data_warnings(config, utility)
    assert all(warning.field.startswith("spec.provisioningConfig") for warning in found)
    return [replace(warning, field=warning.field.removeprefix("spec.provisioningConfig")) for warning in found]


@pytest.mark.conformance
@pytest.mark.parametrize("name", [name for name in outside_names() if name.startswith("default-")])
def test_osms_own_profiles_give_no_warnings(name: str) -> None:
    spec = load_case(name)["expected"]["objects"][0]["spec"]
    assert user_data_warnings(config_of("c", spec), spec["provisioningUtility"]) == ()


@pytest.mark.parametrize("utility", ["cloud-init", "ignition"])
@pytest.mark.parametrize("content", ["x", "x\n\n\n", "", "\n\nx\r\n", "x\n   \n", "a\n  b\n"])
def test_plain_content_gives_no_warning(utility: str, content: str) -> None:
    assert _warnings(ConfigHalf((File("/a", content),)), utility) == []


@pytest.mark.parametrize(
    ("utility", "code"), [("cloud-init", Code.CLOUD_INIT_BREAKS), ("ignition", Code.IGNITION_LOSES_CONTENT)]
)
@pytest.mark.parametrize("content", ["  x\n  y", "  x\n# lost"])
def test_lost_text_is_told(utility: str, code: Code, content: str) -> None:
    (warning,) = _warnings(ConfigHalf((File("/a", content),)), utility)
    assert warning == Expected(code, ".files[0]: ", "/a")


def test_encoded_content_loses_nothing_with_cloud_init() -> None:
    assert _warnings(ConfigHalf((File("/a", "  x\ny", 644, "b64"),)), "cloud-init") == []


def test_long_permissions_are_decimal_with_ignition_alone() -> None:
    half = ConfigHalf((File("/a", "x", 1755),))
    assert _warnings(half, "cloud-init") == []
    assert _warnings(half, "ignition")[0] == Expected(Code.IGNITION_LOSES_CONTENT, "1755", "/a", "3333")


def test_modules_are_lost_with_ignition() -> None:
    assert _warnings(ConfigHalf(modules=Modules()), "ignition") == []
    assert _warnings(ConfigHalf(modules=Modules(runcmd=("x",))), "ignition")[0] == Expected(Code.IGNITION_LOSES_CONTENT)


@pytest.mark.parametrize(
    ("half", "field"),
    [
        (ConfigHalf(units=(Unit("a.service"),)), ""),
        (ConfigHalf(ssh_keys=("it's",)), ""),
        (ConfigHalf((File("/it's", "x"),)), ".files[0]"),
        (ConfigHalf((File("/a", "  x\ny"),)), ".files[0]"),
        (ConfigHalf(modules=Modules(runcmd=("ok", "echo a: b"))), ".modules.runcmd[1]"),
        (ConfigHalf(modules=Modules(bootcmd=("echo # b",))), ".modules.bootcmd[0]"),
        (ConfigHalf(modules=Modules(rh_subscription={"password": "a: b"})), ".modules.rh_subscription.password"),
        (ConfigHalf(modules=Modules(yum_repos={"r": {"name": "@x"}})), ".modules.yum_repos.r.name"),
    ],
)
def test_what_breaks_the_yaml_of_cloud_init_is_told(half: ConfigHalf, field: str) -> None:
    (warning,) = _warnings(half, "cloud-init")
    assert placed([warning]) == [(Code.CLOUD_INIT_BREAKS, field)]
    assert "a: b" not in str(warning)


@pytest.mark.parametrize("text", ["[ls, -l]", '"a: b"', "'a # b'", "a#b", "a:b", "true", "", "~"])
def test_values_that_yaml_takes_give_no_warning(text: str) -> None:
    assert _warnings(ConfigHalf(modules=Modules(runcmd=(text,))), "cloud-init") == []
