"""A forge of each kind, and what asks it without waiting."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from osm_gitops.forge.api import Access
from osm_gitops.forge.forge import Forge, forge_at
from osm_gitops.forge.place import ForgeKind
from osm_gitops.kube.transport import RetryPolicy
from tests.forge.repository import TOKEN, FakeForge
from tests.forge.servers import serving

KINDS = (ForgeKind.GITHUB, ForgeKind.GITLAB, ForgeKind.GITEA)
QUICK = RetryPolicy(connect=5.0, read=5.0, total=60.0, tries=3, sleep=lambda _: None, chance=lambda: 0.0)


@pytest.fixture(params=KINDS, ids=lambda kind: kind.value)
def server(request: pytest.FixtureRequest) -> Iterator[FakeForge]:
    with serving(request.param) as forge:
        yield forge


@pytest.fixture
def forge(server: FakeForge) -> Iterator[Forge]:
    found = forge_at(server.place, Access(lambda: TOKEN, retries=QUICK))
    yield found
    found.close()
