"""Requests through a proxy that does what networks and busy servers do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from osm_gitops.kubedoor.access import Access
from osm_gitops.kubedoor.api import Api
from osm_gitops.kubedoor.connecting import connect
from osm_gitops.kubedoor.kinds import CONFIG_MAP
from tests.apiserver.cluster import Cluster
from tests.apiserver.proxy import Fault, Proxy, answer, cut, drop, lose, text

Behind = Callable[[Cluster], Proxy]
MAPS = "/api/v1/namespaces/default/configmaps"


def _map(name: str, **data: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": dict(data)}


def _api(proxy: Proxy, folder: Path) -> Api:
    return connect(Access(str(proxy.cluster.kubeconfig(folder / "proxy"))), {})


@pytest.fixture
def proxy(worker: Cluster, through: Behind) -> Proxy:
    return through(worker)


@pytest.fixture
def api(proxy: Proxy, tmp_path: Path, patient: list[float]) -> Api:
    assert not patient
    api = _api(proxy, tmp_path)
    api.get(CONFIG_MAP, "default", "known")  # it has answered before
    proxy.clear()
    return api


FAULTS = {
    "429": answer(429),
    "429, wait 2 s": answer(429, retry_after="2"),
    "500": answer(500),
    "502": text(502, "<html>bad gateway</html>"),
    "503": answer(503),
    "503, wait 2 s": answer(503, retry_after="2"),
    "504": answer(504),
    "dropped before": drop,
    "dropped after": lose,
    "cut in the first line": cut(5),
    "cut in the head": cut(60),
    "cut at the end": cut(-10),
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_every_verb_gets_over_a_fault(api: Api, proxy: Proxy, worker: Cluster, fault: Fault) -> None:
    worker.client().create(_map("a", big="x" * 1000))
    proxy.when(fault, times=2)
    found = api.get(CONFIG_MAP, "default", "a")
    assert found is not None
    proxy.when(fault, times=2)
    assert len(api.list(CONFIG_MAP, lambda item: item, "default")) == 1
    proxy.when(fault, times=2)
    assert api.apply(_map("b", one="1"))["data"] == {"one": "1"}
    proxy.when(fault, times=2)
    assert api.merge(CONFIG_MAP, "default", "a", {"data": {"two": "2"}})["metadata"]["name"] == "a"
    proxy.when(fault, times=2)
    assert api.delete(CONFIG_MAP, "default", "a")
    assert len(proxy.seen) == 5 * 3
