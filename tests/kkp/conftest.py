"""A seed of KKP, and a repository with a fleet file for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.git.repos import new_repository
from tests.kkp.scene import Scene
from tests.kkp.seed import Seed


@pytest.fixture
def scene(seed: Seed, tmp_path: Path) -> Scene:
    return Scene(seed, new_repository(tmp_path / "fleet"))
