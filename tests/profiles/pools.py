"""Every default profile with every provider that it supports: what a rule about all nodes is tested with."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import pytest

from osm_gitops.sources import builtin
from tests.profiles.rendering import read


def _pools() -> Iterator[tuple[str, str]]:
    for name in builtin.names(builtin.newest()):
        for provider in read(name).providers:
            yield name, provider


POOLS: Final = tuple(_pools())
"""Profile and provider of each."""

every_pool: Final = pytest.mark.parametrize(("profile", "provider"), POOLS)
"""Runs a test with each of them."""
