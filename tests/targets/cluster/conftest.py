"""Scenes of delivery."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.apiserver.cluster import Cluster
from tests.targets.cluster.scene import Scene, scene


@pytest.fixture
def single(worker: Cluster, tmp_path: Path) -> Scene:
    """One cluster for all, so that resourceVersions tell the order of writes."""
    return scene(worker, worker, tmp_path)


@pytest.fixture
def split(management: Cluster, worker: Cluster, tmp_path: Path) -> Scene:
    """OSCs and profiles in one cluster, Secrets and machines in the other."""
    return scene(management, worker, tmp_path)
