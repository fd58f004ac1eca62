"""OpenStack (osm-behaviour.md, "Cloud-config by provider")."""

from __future__ import annotations

from typing import Any

import pytest

from osm_gitops.errors import Code
from tests.faults import placed
from tests.render.resolve.cloudconfig.helpers import facts, problems, text

SPEC = {
    "identityEndpoint": "https://k/v3", "username": "u", "password": 'p"w\\d', "projectName": "pn", "projectID": "pi",
    "domainName": "Default", "region": "eu", "trustDevicePath": True, "nodeVolumeAttachLimit": 25,
}  # fmt: skip


def test_a_password_login_with_every_line() -> None:
    assert text("openstack", SPEC) == (
        "[Global]\n"
        'auth-url    = "https://k/v3"\n'
        'username    = "u"\n'
        'password    = "p\\"w\\\\d"\n'
        'tenant-name = "pn"\n'
        'tenant-id   = "pi"\n'
        'domain-name = "Default"\n'
        'region      = "eu"\n'
        "\n"
        "[LoadBalancer]\n"
        "manage-security-groups = true\n"
        "\n"
        "[BlockStorage]\n"
        "ignore-volume-az  = true\n"
        "trust-device-path = true\n"
        'bs-version        = "auto"\n'
        "node-volume-attach-limit = 25\n"
    )


def test_an_application_credential_replaces_the_login() -> None:
    spec = {**SPEC, "applicationCredentialID": "id", "applicationCredentialSecret": "s"}
    assert text("openstack", spec).splitlines()[:6] == [
        "[Global]",
        'auth-url    = "https://k/v3"',
        'application-credential-id     = "id"',
        'application-credential-secret = "s"',
        'region      = "eu"',
        "",
    ]


@pytest.mark.parametrize(
    ("kubelet", "groups", "zones"),
    [
        ("1.28.9", True, True),
        ("1.12", True, True),
        ("1.11.1", True, True),
        ("1.11.0", False, True),
        ("1.10.6", True, True),
        ("1.9.10", True, True),
        ("1.9.9", False, True),
        ("1.8.15", False, False),
        ("1", False, False),
        ("1.28.0-rc.1", False, False),
        ("v1.28.0+k3s1", True, True),
    ],
)
def test_two_lines_depend_on_the_kubelets_version(kubelet: str, groups: bool, zones: bool) -> None:
    made = text("openstack", SPEC, kubelet=kubelet)
    assert ("manage-security-groups = true\n" in made) is groups
    assert ("ignore-volume-az  = true\n" in made) is zones
    assert "[LoadBalancer]\n" in made


def test_everything_comes_from_the_environment() -> None:
    names = [
        "OS_AUTH_URL",
        "OS_USER_NAME",
        "OS_PASSWORD",
        "OS_PROJECT_NAME",
        "OS_PROJECT_ID",
        "OS_DOMAIN_NAME",
        "OS_REGION_NAME",
    ]
    made = text("openstack", {}, facts(environment={name: name for name in names}))
    assert [line.split('"')[1] for line in made.splitlines()[1:8]] == names


def test_a_project_may_be_called_a_tenant() -> None:
    environment = {"OS_PROJECT_NAME": "env-name", "OS_TENANT_ID": "env-id"}
    spec = {"tenantName": "tn", "tenantID": ""}
    lines = text("openstack", spec, facts(environment=environment)).splitlines()
    assert lines[4:6] == ['tenant-name = "env-name"', 'tenant-id   = "env-id"']
    assert text("openstack", spec).splitlines()[4] == 'tenant-name = "tn"'


@pytest.mark.parametrize(("limit", "line"), [(0, ""), (None, ""), (1, "1"), (25.0, "25"), (2**64 - 1, str(2**64 - 1))])
def test_a_volume_limit_of_zero_is_none(limit: Any, line: str) -> None:
    made = text("openstack", {**SPEC, "nodeVolumeAttachLimit": limit})
    assert made.partition("node-volume-attach-limit = ")[2].strip() == line


@pytest.mark.parametrize("limit", [-1, 1.5, "25", True, 2**64, 1e30, [], {}])
def test_a_volume_limit_is_a_whole_number(limit: Any) -> None:
    found = problems("openstack", {**SPEC, "nodeVolumeAttachLimit": limit})
    assert placed(found) == [(Code.WRONG_TYPE, ".nodeVolumeAttachLimit")]
