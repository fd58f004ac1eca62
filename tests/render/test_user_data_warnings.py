from __future__ import annotations

import pytest

from osm_gitops.model.profile import ConfigHalf, File, Modules, OperatingSystemConfig, Unit
from osm_gitops.render.user_data import user_data_warnings
from tests.conformance_data import load_case, outside_names
from tests.render.test_user_data_conformance import config_of

EMPTY = ConfigHalf()


def _warnings(half: ConfigHalf, utility: str) -> list[str]:
    config = OperatingSystemConfig("c", "n", "flatcar", "1", "aws", {}, utility, EMPTY, half)
    found = user_data_warnings(config, utility)
    assert all(warning.field.startswith("spec.provisioningConfig") for warning in found)
    return [f"{warning.field.removeprefix('spec.provisioningConfig')}: {warning.what}" for warning in found]


@pytest.mark.conformance
@pytest.mark.parametrize("name", [name for name in outside_names() if name.startswith("default-")])
def test_osms_own_profiles_give_no_warnings(name: str) -> None:
    spec = load_case(name)["expected"]["objects"][0]["spec"]
    assert user_data_warnings(config_of("c", spec), spec["provisioningUtility"]) == ()


@pytest.mark.parametrize("utility", ["cloud-init", "ignition"])
@pytest.mark.parametrize("content", ["x", "x\n\n\n", "", "\n\nx\r\n", "x\n   \n", "a\n  b\n"])
def test_plain_content_gives_no_warning(utility: str, content: str) -> None:
    assert _warnings(ConfigHalf((File("/a", content),)), utility) == []


@pytest.mark.parametrize(("utility", "reader"), [("cloud-init", "cloud-init"), ("ignition", "Ignition")])
@pytest.mark.parametrize("content", ["  x\n  y", "  x\n# lost"])
def test_lost_text_is_told(utility: str, reader: str, content: str) -> None:
    (warning,) = _warnings(ConfigHalf((File("/a", content),)), utility)
    assert warning == f".files[0]: {reader} gets the content of file /a without its indentation or its end"


def test_encoded_content_loses_nothing_with_cloud_init() -> None:
    assert _warnings(ConfigHalf((File("/a", "  x\ny", 644, "b64"),)), "cloud-init") == []


def test_long_permissions_are_decimal_with_ignition_alone() -> None:
    half = ConfigHalf((File("/a", "x", 1755),))
    assert _warnings(half, "cloud-init") == []
    assert "1755 of file /a as a decimal number, which is 3333 in octal" in _warnings(half, "ignition")[0]


def test_modules_are_lost_with_ignition() -> None:
    assert _warnings(ConfigHalf(modules=Modules()), "ignition") == []
    assert "left out" in _warnings(ConfigHalf(modules=Modules(runcmd=("x",))), "ignition")[0]


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
    assert warning.startswith(f"{field}: ")
    assert "a: b" not in warning


@pytest.mark.parametrize("text", ["[ls, -l]", '"a: b"', "'a # b'", "a#b", "a:b", "true", "", "~"])
def test_values_that_yaml_takes_give_no_warning(text: str) -> None:
    assert _warnings(ConfigHalf(modules=Modules(runcmd=(text,))), "cloud-init") == []
