"""Pools of the default profiles that a rule about all nodes is tested with."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import pytest

from osm_gitops.sources import builtin
from tests.profiles.rendering import read

POOLS: Final = tuple((name, provider) for name in builtin.names(builtin.newest()) for provider in read(name).providers)
"""Profile and provider of each."""


def _covering() -> Iterator[tuple[str, str]]:
    seen: set[str] = set()
    for pool in POOLS:
        if not set(pool) <= seen:
            yield pool
        seen |= set(pool)


every_node: Final = pytest.mark.parametrize(("profile", "provider"), list(_covering()))
"""Runs a test with every profile and with every provider, but not with each pair of them."""
