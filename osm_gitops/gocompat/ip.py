"""IP addresses as Go's ``net`` and ``net/netip`` read and print them (osm-behaviour.md, "IP addresses")."""

from __future__ import annotations

from ipaddress import AddressValueError, IPv4Address, IPv6Address

from osm_gitops.gocompat.fault import GoError
from osm_gitops.gocompat.numbers import quote


def parse_ip(text: str) -> str:
    """``net.ParseIP`` and ``IP.String``: the canonical spelling of ``text``.

    An IPv4-mapped IPv6 address is spelled as IPv4. Raises GoError for anything
    that is no address, also for one with a zone or a prefix length.
    """
    address, zone = parse_address(text)
    if zone:
        raise GoError(f"ParseIP({quote(text)}): an IP address cannot have a zone here")
    if isinstance(address, IPv6Address):
        return str(address.ipv4_mapped or address)
    return str(address)


def ip_bytes(text: str) -> bytes:
    """The 16 bytes of ``net.ParseIP(text)``; IPv4 is held as IPv4-mapped IPv6."""
    address, _ = parse_address(parse_ip(text))
    return address.packed if isinstance(address, IPv6Address) else bytes(10) + b"\xff\xff" + address.packed


def format_ip(packed: bytes) -> str:
    """``IP.String`` of 4 or 16 bytes; other lengths print as Go prints what is no address."""
    if len(packed) == 16:
        address = IPv6Address(packed)
        return str(address.ipv4_mapped or address)
    if len(packed) == 4:
        return str(IPv4Address(packed))
    return f"?{packed.hex()}" if packed else "<nil>"


def parse_address(text: str) -> tuple[IPv4Address | IPv6Address, str]:
    """``netip.ParseAddr``: the address, and the zone of an IPv6 address or the empty string."""
    first = next((character for character in text if character in ".:%"), "")
    digits, percent, zone = text.partition("%") if first == ":" else (text, "", "")
    try:
        if percent and not zone:
            raise AddressValueError("the zone is empty")
        return (IPv6Address(digits) if first == ":" else IPv4Address(digits)), zone
    except AddressValueError:
        raise GoError(f"ParseAddr({quote(text)}): unable to parse IP") from None
