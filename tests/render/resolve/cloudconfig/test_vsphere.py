"""vSphere (osm-behaviour.md, "Cloud-config by provider")."""

from __future__ import annotations

import pytest

from osm_gitops.errors import Code
from tests.faults import Expected, placed
from tests.render.resolve.cloudconfig.helpers import facts, in_secret, made, problems, text

SPEC = {
    "vsphereURL": "https://vc.example.com:8443/sdk", "username": "u", "password": "p", "allowInsecure": True,
    "datacenter": "dc", "folder": "/dc/vm", "datastore": "ds", "cluster": "unused",
}  # fmt: skip
EXPECTED = """\
[Global]
user              = "u"
password          = "p"
port              = "8443"
insecure-flag     = true

[Disk]
scsicontrollertype = "pvscsi"

[Workspace]
server            = "vc.example.com"
datacenter        = "dc"
folder            = "/dc/vm"
default-datastore = "ds"


[VirtualCenter "vc.example.com"]
user = "u"
password = "p"
port = 8443
datacenters = "dc"

"""


def test_every_line_is_written() -> None:
    assert text("vsphere", SPEC) == EXPECTED


def test_the_folder_has_a_default_and_a_cluster_stands_in_for_the_datastore() -> None:
    spec = {**SPEC, "folder": "", "datastore": "", "datastoreCluster": "dsc"}
    assert text("vsphere", spec) == EXPECTED.replace('"ds"', '"dsc"')


@pytest.mark.parametrize(
    ("url", "server", "port"),
    [
        ("vc.example.com", "vc.example.com", ""),
        ("vc.example.com:443", "vc.example.com", "443"),
        ("https://[fd00::1]:443/x", "fd00::1", "443"),
        ("http://vc.example.com", "http", ""),
        ("", "", ""),
    ],
)
def test_the_server_and_port_are_those_of_the_url(url: str, server: str, port: str) -> None:
    lines = text("vsphere", {**SPEC, "vsphereURL": url}).splitlines()
    assert lines[3] == f'port              = "{port}"'
    assert lines[10] == f'server            = "{server}"'
    assert lines[16] == f'[VirtualCenter "{server}"]'
    assert lines[19] == f"port = {port}"


def test_a_url_with_http_is_warned_about() -> None:
    (warning,) = made("vsphere", {**SPEC, "vsphereURL": "http://vc"}).warnings
    assert placed([warning]) == [
        (Code.CLOUD_SPEC_VALUE, "spec.template.spec.providerSpec.value.cloudProviderSpec.vsphereURL")
    ]


def test_a_url_that_is_none_is_refused_and_not_shown() -> None:
    (problem,) = problems("vsphere", {**SPEC, "vsphereURL": "user:s3cret@v c"})
    assert placed([problem]) == [(Code.CLOUD_SPEC_VALUE, ".vsphereURL")]
    assert "s3cret" not in str(problem)


def test_credentials_and_flags_come_from_the_environment() -> None:
    environment = {
        "VSPHERE_ADDRESS": "https://vc.example.com:8443",
        "VSPHERE_USERNAME": "u",
        "VSPHERE_PASSWORD": "p",
        "VSPHERE_ALLOW_INSECURE": "T",
    }
    spec = {key: value for key, value in SPEC.items() if key not in {"vsphereURL", "username", "password"}}
    assert text("vsphere", {**spec, "allowInsecure": None}, facts(environment=environment)) == EXPECTED
    assert "insecure-flag     = false\n" in text("vsphere", {**spec, "allowInsecure": None})
    assert "insecure-flag     = false\n" in text(
        "vsphere", {**spec, "allowInsecure": False}, facts(environment=environment)
    )


def test_an_environment_variable_that_is_no_boolean_is_refused_only_where_it_decides() -> None:
    known = facts(environment={"VSPHERE_ALLOW_INSECURE": "maybe"})
    assert text("vsphere", SPEC, known) == EXPECTED
    (problem,) = problems("vsphere", {**SPEC, "allowInsecure": {}}, known)
    assert problem == Expected(Code.CLOUD_SPEC_VALUE, "VSPHERE_ALLOW_INSECURE")


def test_a_flag_that_lies_nowhere_falls_back_with_a_warning() -> None:
    config = made(
        "vsphere", {**SPEC, "allowInsecure": in_secret("k")}, facts(environment={"VSPHERE_ALLOW_INSECURE": "1"})
    )
    assert config.text == EXPECTED
    assert config.warnings[0] == Expected(Code.CLOUD_SPEC_REFERENCE, "Secret ns/s")


def test_the_cluster_is_not_used_but_must_resolve() -> None:
    assert problems("vsphere", {**SPEC, "cluster": in_secret("k")}) == [
        Expected(Code.CLOUD_SPEC_REFERENCE, ".cluster: ", "Secret ns/s")
    ]
