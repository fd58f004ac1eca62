"""The provider config, decoded as Go decodes it strictly (osm-behaviour.md, "JSON decoding")."""

from __future__ import annotations

from typing import Any

import pytest

from osm_gitops.errors import Code, InputError
from osm_gitops.model.machine import Network, ProviderConfig
from osm_gitops.render.resolve.machine_spec import decode_provider_config
from tests.faults import Expected, refused


def problems(value: Any) -> list[tuple[Code, str]]:
    """Code and field, below the provider spec, of every problem."""
    with pytest.raises(InputError) as error:
        decode_provider_config(value)
    prefix = "spec.template.spec.providerSpec.value"
    return [(problem.code, problem.field.removeprefix(prefix)) for problem in error.value.problems]


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
    ("value", "code", "field"),
    [
        ({"sshKeys": []}, Code.UNKNOWN_KEY, ".sshKeys"),
        ({"network": {"mtu": 1}}, Code.UNKNOWN_KEY, ".network.mtu"),
        ({"network": {"dns": {"search": []}}}, Code.UNKNOWN_KEY, ".network.dns.search"),
        ({"sshPublicKeys": "a"}, Code.WRONG_TYPE, ".sshPublicKeys"),
        ({"sshPublicKeys": ["a", 1]}, Code.WRONG_TYPE, ".sshPublicKeys[1]"),
        ({"cloudProvider": 1}, Code.WRONG_TYPE, ".cloudProvider"),
        ({"operatingSystem": True}, Code.WRONG_TYPE, ".operatingSystem"),
        ({"network": []}, Code.WRONG_TYPE, ".network"),
        ({"overwriteCloudConfig": {}}, Code.WRONG_TYPE, ".overwriteCloudConfig"),
        ([], Code.WRONG_TYPE, ""),
        ("text", Code.WRONG_TYPE, ""),
        (None, Code.MISSING_KEY, ""),
    ],
)
def test_what_go_would_not_decode_is_refused_with_its_path(value: Any, code: Code, field: str) -> None:
    assert problems(value) == [(code, field)]


def test_all_problems_come_at_once() -> None:
    assert len(problems({"cloudProvider": 1, "sshKeys": [], "network": {"cidr": 2, "x": 3}})) == 4


def test_a_misspelt_key_gets_a_suggestion() -> None:
    with refused(Expected(Code.UNKNOWN_KEY, "sshPublicKeys?")):
        decode_provider_config({"sshPublicKey": []})
