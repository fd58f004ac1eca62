"""The cloud-config of Azure: one line of JSON (osm-behaviour.md, "Cloud-config by provider")."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from osm_gitops.gocompat.gojson import Fields, encode
from osm_gitops.render.resolve.cloudconfig.cloud_spec import CloudSpec, text_variable
from osm_gitops.render.resolve.json_fields import Reader, boolean, optional

_CREDENTIALS: Final = {
    "tenantID": "AZURE_TENANT_ID",
    "subscriptionID": "AZURE_SUBSCRIPTION_ID",
    "clientID": "AZURE_CLIENT_ID",
    "clientSecret": "AZURE_CLIENT_SECRET",
}
_PLAIN: Final = (
    "resourceGroup", "location", "vnetName", "subnetName", "routeTableName", "securityGroupName",
    "vnetResourceGroup", "loadBalancerSku", "availabilitySet",
)  # fmt: skip
FIELDS: Final[Mapping[str, Reader]] = {
    **dict.fromkeys((*_CREDENTIALS, *_PLAIN), text_variable),
    "assignAvailabilitySet": optional(boolean),
}
ENVIRONMENT: Final[Collection[str]] = _CREDENTIALS.values()


def render(spec: CloudSpec) -> str:
    credentials = {name: spec.text_or_environment(name, variable) for name, variable in _CREDENTIALS.items()}
    plain = {name: spec.text(name) for name in _PLAIN}
    assigned = spec.values.get("assignAvailabilitySet") is not False
    return encode(
        Fields(
            cloud="AZUREPUBLICCLOUD",
            tenantId=credentials["tenantID"],
            subscriptionId=credentials["subscriptionID"],
            aadClientId=credentials["clientID"],
            aadClientSecret=credentials["clientSecret"],
            resourceGroup=plain["resourceGroup"],
            location=plain["location"],
            vnetName=plain["vnetName"],
            subnetName=plain["subnetName"],
            routeTableName=plain["routeTableName"],
            securityGroupName=plain["securityGroupName"],
            primaryAvailabilitySetName=plain["availabilitySet"] if assigned else "",
            vnetResourceGroup=plain["vnetResourceGroup"],
            useInstanceMetadata=True,
            loadBalancerSku=plain["loadBalancerSku"],
        )
    )
