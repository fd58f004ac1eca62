"""The provider config of a MachineDeployment, decoded strictly (osm-behaviour.md, "MachineDeployment" and "JSON
decoding")."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from osm_gitops.errors import Code, InputError, Problem
from osm_gitops.model.objects import Json
from osm_gitops.model.provider import PROVIDER_CONFIG_FIELD, Network, ProviderConfig
from osm_gitops.render.resolve.json_fields import Reader, optional, raw, read_struct, string, strings, struct

_NETWORK: Final[Mapping[str, Reader]] = {
    "cidr": string,
    "gateway": string,
    "dns": struct({"servers": strings}, strict=True),
    "ipFamily": string,
}
_FIELDS: Final[Mapping[str, Reader]] = {
    "sshPublicKeys": strings,
    "caPublicKey": string,
    "cloudProvider": string,
    "cloudProviderSpec": raw,
    "operatingSystem": string,
    "operatingSystemSpec": raw,
    "network": optional(struct(_NETWORK, strict=True)),
    "overwriteCloudConfig": optional(string),
}


def decode_provider_config(value: Json) -> ProviderConfig:
    """Decode ``spec.template.spec.providerSpec.value``.

    Raises InputError with every unknown key and wrong type, each with its field path.
    Whether the profile supports the system and the provider is checked elsewhere.
    """
    if value is None:
        raise InputError(
            [
                Problem(
                    Code.UNCODED,
                    "the MachineDeployment has no provider config",
                    field=PROVIDER_CONFIG_FIELD,
                    fix="Set at least cloudProvider, cloudProviderSpec and operatingSystem there",
                )
            ]
        )
    problems: list[Problem] = []
    config = _decode(value, problems)
    if problems:
        raise InputError(problems)
    return config


def readable_provider_config(value: Json) -> ProviderConfig:
    """What can be read of a provider config that :func:`decode_provider_config` refuses.

    With it the other checks of a pool still run, so that all of its problems come at once.
    """
    return _decode(value, [])


def _decode(value: Json, problems: list[Problem]) -> ProviderConfig:
    found = read_struct(value, PROVIDER_CONFIG_FIELD, _FIELDS, problems, strict=True)
    network = found.get("network")
    return ProviderConfig(
        ssh_keys=found.get("sshPublicKeys", ()),
        provider=found.get("cloudProvider", ""),
        provider_spec=found.get("cloudProviderSpec"),
        os=found.get("operatingSystem", ""),
        os_spec=found.get("operatingSystemSpec"),
        network=None if network is None else _network(network),
        overwrite_cloud_config=found.get("overwriteCloudConfig"),
    )


def _network(found: Mapping[str, Json]) -> Network:
    return Network(
        cidr=found.get("cidr", ""),
        gateway=found.get("gateway", ""),
        dns_servers=found.get("dns", {}).get("servers", ()),
        ip_family=found.get("ipFamily", ""),
    )
