"""When there is a cloud-config at all (osm-behaviour.md, "Cloud provider"), and OSM's own results."""

from __future__ import annotations

import pytest

from osm_gitops.errors import Code, InputError
from osm_gitops.model.inputs import Facts
from osm_gitops.model.machine import ProviderConfig
from osm_gitops.model.settings import Settings
from osm_gitops.render.resolve.cloudconfig import CLOUD_CONFIGS, ENVIRONMENT, cloud_config
from osm_gitops.render.resolve.machine_spec import decode_provider_config
from tests.conformance_data import load_case, outside_names
from tests.faults import Expected, placed, refused
from tests.render.resolve.cloudconfig.helpers import SPEC_FIELD, made, problems, text

AWS = {"availabilityZone": "z", "vpcId": "v", "subnetId": "s"}
CLOUD_CONFIG_FILE = "/etc/kubernetes/cloud-config"


def _cases_with_cloud_config() -> list[tuple[str, str]]:
    found = []
    for name in outside_names():
        case = load_case(name)
        for body in case["expected"].get("objects", []):
            files = body.get("spec", {}).get("provisioningConfig", {}).get("files", []) if "md" in case else []
            found += [(name, file["content"]["inline"]["data"]) for file in files if file["path"] == CLOUD_CONFIG_FILE]
    return found


@pytest.mark.conformance
@pytest.mark.parametrize(("name", "expected"), _cases_with_cloud_config())
def test_what_osm_wrote_is_written(name: str, expected: str) -> None:
    case = load_case(name)
    spec = case["md"]["spec"]["template"]["spec"]
    settings = Settings(external_cloud_provider=case["flags"]["external-cloud-provider"] == "true")
    config = decode_provider_config(spec["providerSpec"]["value"])
    assert cloud_config(config, spec["versions"]["kubelet"], settings, Facts()).text + "\n" == expected


@pytest.mark.parametrize("overwritten", ["", "mine\n"])
@pytest.mark.parametrize("external", [True, False])
def test_an_overwritten_cloud_config_wins_over_everything(overwritten: str, external: bool) -> None:
    config = ProviderConfig(provider="nonsense", overwrite_cloud_config=overwritten)
    settings = Settings(external_cloud_provider=external)
    assert cloud_config(config, "no version", settings, Facts()).text == overwritten


def test_an_external_cloud_provider_needs_none_whatever_else_is_wrong() -> None:
    config = ProviderConfig(provider="nonsense")
    assert cloud_config(config, "no version", Settings(external_cloud_provider=True), Facts()).text == ""


def test_a_kubelet_from_1_29_on_needs_none_of_any_provider() -> None:
    assert text("nonsense", None, kubelet="1.29.0") == ""


def test_the_version_is_read_before_the_provider_is_looked_at() -> None:
    with refused(Code.KUBELET_VERSION_INVALID):
        made("hetzner", {}, kubelet="1.30.x")


def test_a_prerelease_of_1_29_still_gets_one_and_a_warning() -> None:
    config = made("aws", AWS, kubelet="1.29.0-rc.1")
    assert config.text.startswith("[global]\n")
    assert config.warnings[0] == Expected(Code.KUBELET_PRERELEASE, "1.29.0-rc.1")
    assert not made("aws", AWS, kubelet="1.28.0-rc.1").warnings
    assert made("openstack", {}, kubelet="1.28.0-rc.1").warnings[0] == Expected(Code.KUBELET_PRERELEASE, "1.28.0-rc.1")


@pytest.mark.parametrize(
    "provider",
    [
        "alibaba",
        "anexia",
        "digitalocean",
        "hetzner",
        "linode",
        "scaleway",
        "nutanix",
        "vmware-cloud-director",
        "opennebula",
        "edge",
        "baremetal",
    ],
)
def test_some_providers_have_none(provider: str) -> None:
    assert text(provider, None) == ""


@pytest.mark.parametrize("provider", ["fake", "external", "equinixmetal", "packet", "vultr", "", "AWS"])
def test_others_are_refused(provider: str) -> None:
    with refused(Code.UNKNOWN_CLOUD_PROVIDER):
        made(provider, {})


@pytest.mark.parametrize("provider", CLOUD_CONFIGS)
def test_an_in_tree_provider_needs_a_spec_that_is_an_object(provider: str) -> None:
    assert placed(problems(provider, None)) == [(Code.MISSING_KEY, "")]
    assert placed(problems(provider, [1])) == [(Code.WRONG_TYPE, "")]


def test_unknown_keys_are_passed_over_and_known_ones_match_in_any_case() -> None:
    assert text("aws", {"AVAILABILITYZONE": "z", "other": {"x": 1}}).splitlines()[1] == 'Zone="z"'


def test_every_environment_variable_is_named_once() -> None:
    assert list(ENVIRONMENT) == sorted(set(ENVIRONMENT))
    assert {"AZURE_TENANT_ID", "GOOGLE_SERVICE_ACCOUNT", "OS_USER_NAME", "POD_NAMESPACE", "VSPHERE_ADDRESS"} < {
        *ENVIRONMENT
    }


def test_the_field_of_the_spec_is_named_in_full() -> None:
    with pytest.raises(InputError) as error:
        made("aws", {"vpcId": ["x"]})
    assert error.value.problems[0].field == f"{SPEC_FIELD}.vpcId"
