"""Checks of the network of a MachineDeployment, which machines get before they reach anything."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final

from osm_gitops.gocompat.net import parse_address
from osm_gitops.lint.rules.boot_file import suggested_fix
from osm_gitops.lint.rules.cloud_specs import FieldRemark
from osm_gitops.lint.rules.values import is_address, network_of
from osm_gitops.model.finding import Rule, Severity
from osm_gitops.model.machine import PROVIDER_CONFIG_FIELD, Network, ProviderConfig
from osm_gitops.model.objects import Json

NETWORK: Final = Rule("pool-network", Severity.ERROR, "machines of a pool would have no network")
RULES: Final = (NETWORK,)

FAMILIES: Final = ("IPv4", "IPv6", "IPv4+IPv6", "IPv6+IPv4")
_AT: Final = f"{PROVIDER_CONFIG_FIELD}.network"
_CIDR_FIX: Final = "Write the machine's address and the length of its network, such as 192.0.2.10/24"


def network_remarks(config: ProviderConfig, replicas: Json, sealed: Collection[str]) -> Iterator[FieldRemark]:
    """What is wrong with the network of a pool. ``sealed`` are texts that were encrypted, which are not looked at."""
    network = config.network
    if network is None or any(each in sealed for each in (network.cidr, network.gateway, *network.dns_servers)):
        return
    family = network.ip_family
    if family and family not in FAMILIES:
        fix = suggested_fix(family, FAMILIES, f"Write {', '.join(FAMILIES)}")
        yield FieldRemark(NETWORK, f"{_AT}.ipFamily", f'"{family}" is not an IP family', fix)
    for index, server in enumerate(network.dns_servers):
        if not is_address(server):
            message = f'"{server}" is not an IP address'
            yield FieldRemark(NETWORK, f"{_AT}.dns.servers[{index}]", message, "Write an address")
    if network.cidr:
        yield from _address(network, replicas)
    elif network.gateway:
        message = "there is a gateway and no cidr"
        yield FieldRemark(NETWORK, f"{_AT}.gateway", message, "Set cidr, or remove the gateway")


def _address(network: Network, replicas: Json) -> Iterator[FieldRemark]:
    own = network_of(network.cidr)
    if own is None:
        message = f'"{network.cidr}" is not an address with the length of its network'
        yield FieldRemark(NETWORK, f"{_AT}.cidr", message, _CIDR_FIX)
        return
    range_ = own.network
    if own.version == 4 and range_.num_addresses > 2 and own.ip in (range_[0], range_[-1]):
        message = f"{network.cidr} is a network, not the address of a machine"
        yield FieldRemark(NETWORK, f"{_AT}.cidr", message, _CIDR_FIX)
    if network.ip_family in ("IPv4", "IPv6") and network.ip_family != f"IPv{own.version}":
        message = f"{network.cidr} is not an address of the family {network.ip_family}"
        yield FieldRemark(NETWORK, f"{_AT}.cidr", message, "Correct it, or ipFamily")
    if isinstance(replicas, int) and replicas > 1:
        message = f"{replicas} machines would have the same address {network.cidr}"
        yield FieldRemark(NETWORK, f"{_AT}.cidr", message, "Use a pool for each machine, or DHCP")
    gateway = network.gateway
    if not gateway:
        message = "a static address needs a gateway"
        yield FieldRemark(NETWORK, f"{_AT}.cidr", message, "Set gateway")
    elif not is_address(gateway):
        message = f'"{gateway}" is not an IP address'
        yield FieldRemark(NETWORK, f"{_AT}.gateway", message, "Write the address of the router")
    else:
        router, _ = parse_address(gateway)
        if router == own.ip:
            message = f"the gateway {gateway} is the address of the machine itself"
            yield FieldRemark(NETWORK, f"{_AT}.gateway", message, "Write the address of the router")
        elif not (router.version == 6 and router.is_link_local) and router not in range_:
            message = f"the gateway {gateway} is not in the network {range_}"
            yield FieldRemark(NETWORK, f"{_AT}.gateway", message, "Write the address of a router in the network")
