"""IP addresses as Go reads and prints them; expectations from osm-behaviour.md, "IP addresses" and from Go 1.26."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from osm_gitops.gocompat.fault import GoError
from osm_gitops.gocompat.net import ip_bytes, parse_address, parse_ip


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("10.96.0.10", "10.96.0.10"),
        ("0.0.0.0", "0.0.0.0"),
        ("::ffff:1.2.3.4", "1.2.3.4"),
        ("::FFFF:0102:0304", "1.2.3.4"),
        ("FD00:0:0:0::A", "fd00::a"),
        ("fd00::1.2.3.4", "fd00::102:304"),
        ("1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0"),
        ("1:0:0:4:0:0:7:8", "1::4:0:0:7:8"),
        ("1:0:0:4:0:0:0:8", "1:0:0:4::8"),
        ("::", "::"),
        ("::1", "::1"),
        ("0:0:0:0:0:0:0:1", "::1"),
    ],
)
def test_an_address_is_printed_canonically(text: str, printed: str) -> None:
    assert parse_ip(text) == printed


@pytest.mark.parametrize(
    "text",
    [
        "", " ", "10.0.0", "10.0.0.0.1", "010.0.0.1", "10.0.0.256", "10.0.0.1 ", "10.0.0.0/8", "1.2.3.", "localhost",
        "::1::", "1:2:3:4:5:6:7:8:9", "1:2:3:4:5:6:7:8::", "fe80::1%eth0", "[::1]", "12345::", ":1", "1.2.3.4::",
        "٣.2.3.4", "1.2.3.4%eth0", "::1.2.3.04",
    ],
)  # fmt: skip
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(GoError, match="IP"):
        parse_ip(text)


def test_ipv4_is_held_in_sixteen_bytes() -> None:
    assert ip_bytes("1.2.3.4") == ip_bytes("::ffff:1.2.3.4") == bytes(10) + b"\xff\xff\x01\x02\x03\x04"


def test_ipv6_is_held_in_sixteen_bytes() -> None:
    assert ip_bytes("fd00::a") == b"\xfd\x00" + bytes(13) + b"\x0a"


def test_a_zone_may_hold_anything_but_cannot_be_empty() -> None:
    assert parse_address("fe80::1%e n%") == (IPv6Address("fe80::1"), "e n%")
    with pytest.raises(GoError, match=r'ParseAddr\("fe80::1%"\)'):
        parse_address("fe80::1%")


def test_an_ipv4_address_has_no_zone() -> None:
    assert parse_address("1.2.3.4") == (IPv4Address("1.2.3.4"), "")


@given(st.ip_addresses(v=6))
def test_a_printed_address_reads_as_itself(address: IPv6Address) -> None:
    printed = parse_ip(str(address))
    assert parse_ip(printed) == printed
    assert ip_bytes(printed) == address.packed
