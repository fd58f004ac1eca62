"""One scene for all tests of a module: each trial begins anew."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from osm_gitops.kube import api as api_module
from osm_gitops.kube.transport import RetryPolicy
from tests.apiserver.cluster import Cluster
from tests.cluster_faults.scene import scenes
from tests.cluster_faults.trials import Trials


@pytest.fixture(scope="module")
def trials(_management: Cluster, _worker: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trials]:
    """Runs that do not wait between tries."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(api_module, "RETRY_POLICY", RetryPolicy(sleep=lambda _: None))
        with scenes(_management, _worker, tmp_path_factory.mktemp("scene")) as scene:
            yield Trials(scene)
    _management.restore()
    _worker.restore()
