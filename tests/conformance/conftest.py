"""Cases whose profile another case had before take what that one compiled: most of them."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(autouse=True)
def cached(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OSM_GITOPS_NO_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
