"""Azure (osm-behaviour.md, "Cloud-config by provider")."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.render.resolve.cloudconfig.helpers import facts, problems, text

SPEC = {
    "tenantID": "t", "subscriptionID": "s", "clientID": "c", "clientSecret": "<&>", "resourceGroup": "rg",
    "location": "l", "vnetName": "vn", "subnetName": "sn", "routeTableName": "rt", "securityGroupName": "sg",
    "vnetResourceGroup": "vrg", "loadBalancerSku": "basic", "availabilitySet": "as",
}  # fmt: skip


def test_one_line_of_json_in_gos_order_without_a_line_end() -> None:
    assert text("azure", SPEC) == (
        '{"cloud":"AZUREPUBLICCLOUD","tenantId":"t","subscriptionId":"s","aadClientId":"c",'
        '"aadClientSecret":"\\u003c\\u0026\\u003e","resourceGroup":"rg","location":"l","vnetName":"vn",'
        '"subnetName":"sn","routeTableName":"rt","securityGroupName":"sg","primaryAvailabilitySetName":"as",'
        '"vnetResourceGroup":"vrg","useInstanceMetadata":true,"loadBalancerSku":"basic"}'
    )


@pytest.mark.parametrize(("assign", "name"), [(None, "as"), (True, "as"), (False, "")])
def test_the_availability_set_may_be_left_unassigned(assign: bool | None, name: str) -> None:
    made = json.loads(text("azure", {**SPEC, "assignAvailabilitySet": assign}))
    assert made["primaryAvailabilitySetName"] == name


def test_credentials_come_from_the_environment() -> None:
    names = ("AZURE_TENANT_ID", "AZURE_SUBSCRIPTION_ID", "AZURE_CLIENT_ID", "AZURE_CLIENT_SECRET")
    made = json.loads(text("azure", {}, facts(environment={name: name for name in names})))
    assert [made[key] for key in ("tenantId", "subscriptionId", "aadClientId", "aadClientSecret")] == list(names)
    assert made["location"] == ""


@pytest.mark.parametrize("value", ["true", 1, {"value": True}])
def test_assigning_is_a_plain_boolean(value: Any) -> None:
    assert len(problems("azure", {"assignAvailabilitySet": value})) == 1
