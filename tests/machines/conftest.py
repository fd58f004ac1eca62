"""One site for all tests of a run: it has the names, addresses and interfaces that there is only one of."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from osm_gitops.commands.boot.lane.architectures import AMD64, ARM64
from osm_gitops.commands.boot.lane.binaries import Binaries
from osm_gitops.commands.boot.lane.needs import missing
from osm_gitops.errors import LaneError
from tests.machines.site import Site, site
from tests.machines.store import STORE


@pytest.fixture(scope="session")
def _site(
    binaries: Binaries, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Site]:
    # What is missing is named, and the tests fail: they are never skipped.
    asked = {ARM64 for each in request.session.items if each.get_closest_marker("arm64")}
    lacking = missing(STORE.folder, virtual=(AMD64, *asked), built=STORE.is_complete)
    if lacking:
        raise LaneError(lacking)
    with ExitStack() as stack:
        with request.config.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
            found = stack.enter_context(site(tmp_path_factory.mktemp("site"), binaries, STORE))
        STORE.complete()
        yield found


@pytest.fixture(name="site")
def _site_of_a_test(_site: Site) -> Iterator[Site]:
    """The site without what tests before left."""
    yield _site
    _site.forget()
