"""Sizes of user-data against what providers take (docs/reference/platforms.md)."""

from __future__ import annotations

import gzip
from base64 import b64encode
from random import Random

import pytest

from osm_gitops.render.user_data import (
    SECRET_BYTES,
    Counted,
    bootstrap_size,
    longest_machine_name,
    provisioning_size,
    user_data_limit,
)


def _noise(length: int) -> str:
    chance = Random(7)  # bytes that do not compress
    return "".join(chance.choice("0123456789abcdefghijklmnopqrstuv") for _ in range(length))


@pytest.mark.parametrize(
    ("provider", "os", "size", "counted"),
    [
        ("aws", "ubuntu", 16_384, Counted.GZIP),
        ("aws", "flatcar", 16_384, Counted.RAW),
        ("azure", "rhel", 65_535, Counted.RAW),
        ("gce", "flatcar", 262_144, Counted.RAW),
        ("openstack", "flatcar", 65_535, Counted.BASE64),
        ("hetzner", "rockylinux", 32_768, Counted.RAW),
        ("digitalocean", "ubuntu", 65_536, Counted.RAW),
        ("alibaba", "ubuntu", 32_768, Counted.RAW),
        ("vsphere", "flatcar", 65_536, Counted.BASE64),
        ("kubevirt", "ubuntu", 1_048_576, Counted.RAW),
        ("kubevirt", "flatcar", 262_144, Counted.RAW),
        ("linode", "ubuntu", 65_520, Counted.BASE64),
    ],
)
def test_each_provider_counts_in_its_own_form(provider: str, os: str, size: int, counted: Counted) -> None:
    limit, why = user_data_limit(provider, os)
    assert limit is not None
    assert (limit.size, limit.counted, why) == (size, counted, "")
    assert limit.source


@pytest.mark.parametrize("provider", ["vsphere", "edge", "nutanix", "anexia", "scaleway", "baremetal", "of-tomorrow"])
def test_where_no_limit_is_known_a_clause_says_why(provider: str) -> None:
    limit, why = user_data_limit(provider, "ubuntu")
    assert limit is None
    assert why
    size = bootstrap_size("x", "workers", provider, "ubuntu")
    assert (size.counted, size.headroom, size.why) == (1, None, why)


def test_a_half_is_counted_raw_gzipped_or_in_base64() -> None:
    text = _noise(30_000)
    size = bootstrap_size(text, "workers", "aws", "ubuntu")
    assert (size.raw, size.base64) == (30_000, len(b64encode(text.encode())))
    assert abs(size.gzipped - len(gzip.compress(text.encode()))) < 64
    assert size.counted == size.gzipped
    assert bootstrap_size(text, "workers", "openstack", "ubuntu").counted == size.base64
    assert bootstrap_size(text, "workers", "hetzner", "ubuntu").counted == size.raw


def test_one_byte_too_many_leaves_no_headroom() -> None:
    assert bootstrap_size("x" * 32_768, "workers", "hetzner", "ubuntu").headroom == 0
    assert bootstrap_size("x" * 32_769, "workers", "hetzner", "ubuntu").headroom == -1
    # 49,151 bytes are 65,536 in base64.
    assert bootstrap_size("x" * 49_149, "workers", "openstack", "ubuntu").headroom == 3
    assert bootstrap_size("x" * 49_151, "workers", "openstack", "ubuntu").headroom == -1


def test_the_name_of_the_machine_is_counted_at_its_longest() -> None:
    text = "hostname: <MACHINE_NAME>\nurl: data:,%3CMACHINE_NAME%3E\n"
    name = longest_machine_name("workers")
    assert len(name) == len("workers-4294967295-abcde")
    assert bootstrap_size(text, "workers", "hetzner", "ubuntu").raw == len(f"hostname: {name}\nurl: data:,{name}\n")
    assert len(longest_machine_name("w" * 60)) == 63


def test_bytes_that_are_no_utf_8_count_as_they_are() -> None:
    assert bootstrap_size("\udcff", "workers", "hetzner", "ubuntu").raw == 1


def test_the_provisioning_half_counts_against_a_secret() -> None:
    size = provisioning_size("x" * (SECRET_BYTES + 1))
    assert (size.headroom, size.counted) == (-1, SECRET_BYTES + 1)
