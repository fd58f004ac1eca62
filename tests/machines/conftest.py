"""One site for all tests of a run: it has the names, addresses and interfaces that there is only one of."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.apiserver.binaries import Binaries
from tests.machines.images import images
from tests.machines.needs import CACHE, check
from tests.machines.programs import containerd_1, ignition, pod, programs
from tests.machines.site import Site, site


@pytest.fixture(scope="session")
def _site(binaries: Binaries, pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    check()
    with pytestconfig.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
        made, built, *_ = images(), programs(), containerd_1(), ignition(), pod()
        (CACHE / "complete").touch()
    with site(tmp_path_factory.mktemp("site"), binaries, built, made) as found:
        yield found


@pytest.fixture(name="site")
def _site_of_a_test(_site: Site) -> Iterator[Site]:
    """The site without what tests before left."""
    yield _site
    _site.forget()
