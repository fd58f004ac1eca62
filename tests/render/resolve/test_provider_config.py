"""The provider config, decoded as Go decodes it strictly (osm-behaviour.md, "JSON decoding")."""

from __future__ import annotations

from typing import Any

import pytest

from osm_gitops.errors import Code, InputError
from osm_gitops.model.machine import Network, ProviderConfig
from osm_gitops.render.resolve.machine_spec import decode_provider_config
from tests.faults import Expected, refused


def problems(value: Any) -> list[str]:
    with pytest.raises(InputError) as error:
        decode_provider_config(value)
    prefix = "spec.template.spec.providerSpec.value"
    return [f"{problem.field.removeprefix(prefix)}: {problem.what}" for problem in error.value.problems]


def test_every_field_is_read() -> None:
    raw = {"any": [1, None, {"deep": "x"}]}
    config = decode_provider_config(
        {
            "sshPublicKeys": ["a", " b "],
            "caPublicKey": "unused",
            "cloudProvider": "aws",
            "cloudProviderSpec": raw,
            "operatingSystem": "flatcar",
            "operatingSystemSpec": {"x": 1},
            "network": {"cidr": "c", "gateway": "g", "dns": {"servers": ["1", "2"]}, "ipFamily": "IPv4+IPv6"},
            "overwriteCloudConfig": "",
        }
    )
    assert config == ProviderConfig(
        ssh_keys=("a", " b "),
        provider="aws",
        provider_spec=raw,
        os="flatcar",
        os_spec={"x": 1},
        network=Network("c", "g", ("1", "2"), "IPv4+IPv6"),
        overwrite_cloud_config="",
    )


def test_an_empty_config_is_all_zero() -> None:
    assert decode_provider_config({}) == ProviderConfig()


def test_null_leaves_a_field_unset() -> None:
    keys = (
        "sshPublicKeys cloudProvider cloudProviderSpec operatingSystem operatingSystemSpec network overwriteCloudConfig"
    )
    assert decode_provider_config(dict.fromkeys(keys.split())) == ProviderConfig()
    network = decode_provider_config({"network": {"cidr": None, "dns": None}}).network
    assert network == Network()
    assert decode_provider_config({"network": {"dns": {"servers": None}}}).network == Network()


def test_a_null_among_strings_is_an_empty_string() -> None:
    assert decode_provider_config({"sshPublicKeys": ["a", None]}).ssh_keys == ("a", "")


def test_keys_match_without_regard_to_case() -> None:
    config = decode_provider_config(
        {"SSHPUBLICKEYS": ["a"], "operatingsystem": "ubuntu", "NetWork": {"IPFAMILY": "IPv6"}}
    )
    assert (config.ssh_keys, config.os, config.network) == (("a",), "ubuntu", Network(ip_family="IPv6"))
    assert decode_provider_config({"\u017f\u017fhPublic\u212aeys": ["k"]}).ssh_keys == ("k",)


def test_of_keys_that_differ_in_case_the_last_in_byte_order_counts() -> None:
    assert decode_provider_config({"cloudProvider": "b", "CloudProvider": "a"}).provider == "b"
    assert decode_provider_config({"CloudProvider": "a", "cloudProvider": None}).provider == "a"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"sshKeys": []}, '.sshKeys: unknown field "sshKeys"'),
        ({"network": {"mtu": 1}}, '.network.mtu: unknown field "mtu"'),
        ({"network": {"dns": {"search": []}}}, '.network.dns.search: unknown field "search"'),
        ({"sshPublicKeys": "a"}, ".sshPublicKeys: must be a list of strings, not a string"),
        ({"sshPublicKeys": ["a", 1]}, ".sshPublicKeys[1]: must be a string, not a number"),
        ({"cloudProvider": 1}, ".cloudProvider: must be a string, not a number"),
        ({"operatingSystem": True}, ".operatingSystem: must be a string, not a boolean"),
        ({"network": []}, ".network: must be an object, not a list"),
        ({"overwriteCloudConfig": {}}, ".overwriteCloudConfig: must be a string, not an object"),
        ([], ": must be an object, not a list"),
        ("text", ": must be an object, not a string"),
        (None, ": the MachineDeployment has no provider config"),
    ],
)
def test_what_go_would_not_decode_is_refused_with_its_path(value: Any, expected: str) -> None:
    assert problems(value) == [expected]


def test_all_problems_come_at_once() -> None:
    assert len(problems({"cloudProvider": 1, "sshKeys": [], "network": {"cidr": 2, "x": 3}})) == 4


def test_a_misspelt_key_gets_a_suggestion() -> None:
    with refused(Expected(Code.UNKNOWN_KEY, "sshPublicKeys?")):
        decode_provider_config({"sshPublicKey": []})
