"""Watches of a real API server, through a proxy where something goes wrong."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from queue import Queue
from typing import Any

import pytest

from osm_gitops.context_ref import ContextRef
from osm_gitops.errors import Code, Problem
from osm_gitops.kube.api import Api, Subject, connect
from osm_gitops.kube.kinds import CONFIG_MAP, MACHINE, SECRET
from osm_gitops.kube.watch import Changed, Listed, Lost, Opened, Report, Watch, WatchPace
from tests.apiserver.cluster import Cluster
from tests.apiserver.proxy import Proxy, Request, answer, drop, text
from tests.apiserver.rights import allow, rule
from tests.faults import Expected

Through = Callable[[Cluster], Proxy]
_MAPS = "/api/v1/namespaces/default/configmaps"
_SECONDS = 60
_QUICK = WatchPace(first=0.001, longest=0.001, chance=lambda: 1.0)


@dataclass(slots=True)
class Watched:
    """A watch that reports names and contents to a queue."""

    cluster: Cluster
    folder: Path
    user: str = "admin"
    connections: list[Api] = field(default_factory=list)
    reports: Queue[Report[tuple[str, str]]] = field(default_factory=Queue)
    watches: list[Watch[tuple[str, str]]] = field(default_factory=list)

    def start(self, subject: Subject) -> None:
        watch = Watch(subject, self._connect, _seen, self.reports.put, _QUICK)
        self.watches.append(watch)
        watch.start()

    def _connect(self, failed: Api | None) -> Api:
        if failed is not None or not self.connections:
            path = self.cluster.kubeconfig(self.folder / f"kubeconfig-{len(self.connections)}", self.user)
            self.connections.append(connect(ContextRef(str(path)), {}))
        return self.connections[-1]

    def next(self) -> Report[tuple[str, str]]:
        return self.reports.get(timeout=_SECONDS)

    def losses(self) -> Iterator[Problem]:
        """The problems of reports until the watch is open again."""
        while isinstance(report := self.next(), Lost):
            yield from report.problems
        assert report == Opened()


def _seen(body: dict[str, Any]) -> tuple[str, str] | None:
    name = body["metadata"]["name"]
    return None if name == "kube-root-ca.crt" else (name, (body.get("data") or {}).get("one", "-"))


def _map(name: str, one: str = "1") -> dict[str, Any]:
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"one": one}}


@pytest.fixture
def watched(worker: Cluster, tmp_path: Path) -> Iterator[Callable[..., Watched]]:
    made: list[Watched] = []

    def make(cluster: Cluster = worker, user: str = "admin") -> Watched:
        made.append(Watched(cluster, tmp_path, user))
        return made[-1]

    yield make
    for each in made:
        for watch in each.watches:
            watch.stop()


def test_what_is_there_comes_first_and_then_each_change(worker: Cluster, watched: Callable[..., Watched]) -> None:
    worker.client().create(_map("a"))
    it = watched()
    it.start(Subject(CONFIG_MAP, "default", whole=True))
    assert [it.next(), it.next()] == [Listed((("a", "1"),)), Opened()]
    worker.client().create(_map("b"))
    worker.client().merge(f"{_MAPS}/a", {"data": {"one": "2"}})
    worker.client().delete(f"{_MAPS}/b")
    assert [it.next() for _ in range(3)] == [
        Changed(("b", "1")),
        Changed(("a", "2")),
        Changed(("b", "1"), gone=True),
    ]


def test_one_object_takes_only_the_rights_to_get_and_to_watch_it_and_its_content_is_not_sent(
    worker: Cluster, watched: Callable[..., Watched]
) -> None:
    allow(worker, "applier", [rule("get watch", "configmaps", ["a"])], "default")
    it = watched(user="applier")
    it.start(Subject(CONFIG_MAP, "default", "a"))
    assert [it.next(), it.next()] == [Listed(()), Opened()]
    worker.client().create(_map("b"))
    worker.client().create(_map("a"))
    worker.client().delete(f"{_MAPS}/a")
    assert [it.next(), it.next()] == [Changed(("a", "-")), Changed(("a", "-"), gone=True)]


def test_a_missing_right_is_a_loss_that_names_it(worker: Cluster, watched: Callable[..., Watched]) -> None:
    allow(worker, "applier", [rule("list", "configmaps")], "default")
    it = watched(user="applier")
    it.start(Subject(CONFIG_MAP, "default"))
    assert it.next() == Listed(())
    (lost,) = [it.next()]
    assert isinstance(lost, Lost)
    assert list(lost.problems) == [Expected(Code.REQUEST_REFUSED, worker.server, "watch configmaps", "403", "applier")]


def test_a_broken_connection_is_continued_where_it_ended(
    worker: Cluster, through: Through, watched: Callable[..., Watched]
) -> None:
    proxy = through(worker)
    it = watched(proxy.cluster)
    it.start(Subject(CONFIG_MAP, "default", whole=True))
    assert [it.next(), it.next()] == [Listed(()), Opened()]
    worker.client().create(_map("a"))
    assert it.next() == Changed(("a", "1"))
    proxy.when(drop, fits=lambda request: request.is_watch)  # so that there is a gap
    assert proxy.hang_up() == 1
    worker.client().create(_map("b"))
    assert {problem.code for problem in it.losses()} == {Code.API_SERVER_UNREACHABLE}
    assert it.next() == Changed(("b", "1"))
    assert len([request for request in proxy.seen if not request.is_watch]) == 1  # the list, once


def _expired(request: Request) -> bool:
    return request.is_watch and "resourceVersion" in request.query


_EVENT = json.dumps({"type": "ERROR", "object": {"kind": "Status", "code": 410, "reason": "Expired", "message": "old"}})


@pytest.mark.parametrize("fault", [answer(410), text(200, _EVENT + "\n")], ids=["as status", "as event"])
def test_a_version_that_is_too_old_has_everything_listed_again(
    worker: Cluster, through: Through, watched: Callable[..., Watched], fault: Any
) -> None:
    proxy = through(worker)
    it = watched(proxy.cluster)
    it.start(Subject(CONFIG_MAP, "default", whole=True))
    assert [it.next(), it.next()] == [Listed(()), Opened()]
    proxy.when(fault, fits=_expired)
    proxy.hang_up()
    worker.client().create(_map("a"))
    reports: list[Report[tuple[str, str]]] = []
    while not reports or not isinstance(reports[-1], Listed):
        reports.append(it.next())
    assert reports[-1] == Listed((("a", "1"),))
    assert it.next() == Opened()


def test_a_server_that_refuses_is_asked_again_with_a_new_connection(
    worker: Cluster, through: Through, watched: Callable[..., Watched]
) -> None:
    proxy = through(worker)
    it = watched(proxy.cluster)
    proxy.when(answer(429), times=3, fits=lambda request: request.is_watch)
    it.start(Subject(MACHINE))
    assert it.next() == Listed(())
    assert [problem.code for problem in it.losses()] == [Code.REQUEST_REFUSED] * 3
    assert len(it.connections) == 4


def test_credentials_that_are_refused_are_read_again(
    worker: Cluster, through: Through, watched: Callable[..., Watched]
) -> None:
    proxy = through(worker)
    it = watched(proxy.cluster)
    it.start(Subject(SECRET, "default"))
    assert [it.next(), it.next()] == [Listed(()), Opened()]
    proxy.when(answer(401), fits=lambda request: request.is_watch)
    proxy.hang_up()
    assert {problem.code for problem in it.losses()} <= {Code.REQUEST_REFUSED, Code.API_SERVER_UNREACHABLE}
    assert len(it.connections) >= 2


def test_what_is_no_event_is_a_loss(worker: Cluster, through: Through, watched: Callable[..., Watched]) -> None:
    proxy = through(worker)
    it = watched(proxy.cluster)
    proxy.when(text(200, '{"type": "ODD", "object": {}}\n'), fits=lambda request: request.is_watch)
    proxy.when(text(200, "gateway\n"), nth=2, fits=lambda request: request.is_watch)
    it.start(Subject(SECRET, "default"))
    assert [it.next(), it.next()] == [Listed(()), Opened()]
    lost = it.next()
    assert isinstance(lost, Lost)
    assert list(lost.problems) == [Expected(Code.NOT_AN_API_SERVER, "watch secrets", "default")]


def test_pauses_grow_to_a_limit_with_jitter() -> None:
    low, high = WatchPace(chance=lambda: 0.0), WatchPace(chance=lambda: 1.0)
    assert [high.pause(tried) for tried in (1, 2, 3, 7, 99)] == [1, 2, 4, 60, 60]
    assert [low.pause(tried) for tried in (1, 99)] == [0.5, 30]
    assert (low.life(), high.life()) == (300, 600)
