"""Property tests never look at the clock, a busy machine is no failure; and real API servers for who asks for them."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
from hypothesis import HealthCheck, settings

from osm_gitops.commands.boot.lane.binaries import Binaries, find_binaries
from osm_gitops.kube import api as api_module
from osm_gitops.kube.transport import RetryPolicy
from tests.apiserver.cluster import Cluster
from tests.apiserver.proxy import Proxy, proxied
from tests.apiserver.server import running
from tests.kkp.seed import Seed, definitions, make_seed
from tests.machines.store import STORE

# No test may ask a cluster that this machine knows, or be a pod of the one that it runs in.
for _name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"):
    os.environ.pop(_name, None)
# A shell lets its background jobs ignore SIGINT, and they hand that on: tests that interrupt a run would wait for ever.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
# No test may take results from an earlier one, or leave any to the user of this machine.
os.environ["OSM_GITOPS_NO_CACHE"] = "true"

settings.register_profile("unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("unhurried")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes longest comes first: at the end one worker would be at the README, and the others idle."""
    items.sort(key=lambda item: item.path.name != "test_readme.py")


@pytest.fixture(scope="session")
def binaries(pytestconfig: pytest.Config) -> Binaries:
    """kube-apiserver and etcd, built where they are missing."""
    with pytestconfig.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
        return find_binaries(os.environ, STORE)


# One of each for every worker of a run, as tests look at whole clusters.
@pytest.fixture(scope="session")
def _management(binaries: Binaries, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with running("management", tmp_path_factory.mktemp("management"), binaries) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def _worker(binaries: Binaries, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with running("worker", tmp_path_factory.mktemp("worker"), binaries) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def _seed(binaries: Binaries, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with running("seed", tmp_path_factory.mktemp("seed"), binaries) as cluster:
        cluster.define(*definitions())
        cluster.remember()
        yield cluster


@pytest.fixture
def management(_management: Cluster) -> Iterator[Cluster]:
    """The management cluster, or the only one: with our kinds, empty, and emptied again afterwards."""
    yield _management
    _management.restore()


@pytest.fixture
def worker(_worker: Cluster) -> Iterator[Cluster]:
    """The worker cluster: with our kinds, empty, and emptied again afterwards."""
    yield _worker
    _worker.restore()


@pytest.fixture
def seed_server(_seed: Cluster) -> Iterator[Cluster]:
    """A third cluster, which has the kinds of KKP too: ``make_seed`` makes it a seed as a test wants it."""
    yield _seed
    _seed.restore()


@pytest.fixture
def seed(seed_server: Cluster) -> Seed:
    """A seed of KKP without user clusters: ``seed.user_cluster("abcdefghij", worker)`` adds one, ``fill(worker)`` what
    KKP puts into it."""
    return make_seed(seed_server)


@pytest.fixture
def through(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[Cluster], Proxy]]:
    """``through(worker)`` is a proxy in front of a cluster; ``through(worker).cluster`` the cluster as seen from there.

    What goes wrong is scripted (``tests/apiserver/proxy.py``): ``proxy.when(answer(503), method="PATCH", nth=3)``,
    ``proxy.when(lose, path="/secrets/")``, ``proxy.when(during(lambda: worker.client().delete(path)))``. What was asked
    is in ``proxy.seen`` and ``proxy.writes``. ``patient`` has retries not wait.
    """
    with ExitStack() as stack:
        yield lambda cluster: stack.enter_context(proxied(cluster, tmp_path_factory.mktemp("proxy")))


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Retries wait no time at all; how long they would have waited, in seconds."""
    waited: list[float] = []
    monkeypatch.setattr(api_module, "RETRY_POLICY", RetryPolicy(sleep=waited.append, chance=lambda: 1.0))
    return waited
