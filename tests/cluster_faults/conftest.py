"""One scene for a test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.apiserver.cluster import Cluster
from tests.cluster_faults.scene import scenes
from tests.cluster_faults.trials import Trials


@pytest.fixture
def trials(management: Cluster, worker: Cluster, tmp_path: Path, patient: list[float]) -> Iterator[Trials]:
    """Runs that do not wait between tries."""
    assert not patient
    with scenes(management, worker, tmp_path) as scene:
        yield Trials(scene)
