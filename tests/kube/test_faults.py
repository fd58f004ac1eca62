"""Requests through a proxy that does what networks and busy servers do."""

from __future__ import annotations

import socket
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from osm_gitops.context_ref import ContextRef
from osm_gitops.errors import ClusterError, Code, ConflictError, LostLockError, Problem, WebhookError
from osm_gitops.kube import api as api_module
from osm_gitops.kube import connections, wire
from osm_gitops.kube.api import Api, connect
from osm_gitops.kube.kinds import CONFIG_MAP, MACHINE_DEPLOYMENT, PROFILE, SECRET
from osm_gitops.kube.transport import RetryPolicy
from tests.apiserver.cluster import Cluster
from tests.apiserver.proxy import Fault, Proxy, answer, cut, drop, during, lose, text
from tests.faults import Expected, refused

Behind = Callable[[Cluster], Proxy]


def _map(name: str, **data: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": dict(data)}


def _api(cluster: Cluster, folder: Path) -> Api:
    return connect(ContextRef(str(cluster.kubeconfig(folder / "config"))), {})


@pytest.fixture
def proxy(worker: Cluster, through: Behind) -> Proxy:
    return through(worker)


@pytest.fixture
def api(proxy: Proxy, tmp_path: Path, patient: list[float]) -> Api:
    assert not patient
    api = _api(proxy.cluster, tmp_path)
    api.get(CONFIG_MAP, "default", "known")  # it has answered before
    proxy.clear()
    return api


MAPS = "/api/v1/namespaces/default/configmaps"
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
    api.apply(_map("b", one="1"))
    assert worker.client().get(f"{MAPS}/b")["data"] == {"one": "1"}
    proxy.when(fault, times=2)
    assert api.merge(CONFIG_MAP, "default", "a", {"data": {"two": "2"}})["metadata"]["name"] == "a"
    proxy.when(fault, times=2)
    assert api.delete(CONFIG_MAP, "default", "a")
    assert len(proxy.seen) == 5 * 3


def test_a_write_is_not_tried_again_once_it_must_not(api: Api, proxy: Proxy) -> None:
    asked = iter(range(2))

    def check() -> None:
        if next(asked, None) is None:
            raise LostLockError([Problem(Code.INVALID_VALUE, "somebody else holds the Lease")])

    proxy.when(answer(503), times=5)
    with pytest.raises(LostLockError):
        api.checked(check).apply(_map("b"))
    assert len(proxy.writes) == 2
    with pytest.raises(LostLockError):
        api.checked(check).delete(CONFIG_MAP, "default", "b")
    assert len(proxy.writes) == 2
    assert api.checked(check).get(CONFIG_MAP, "default", "b") is None


# --- waiting ---


def test_waits_grow_and_are_bounded(api: Api, proxy: Proxy, patient: list[float]) -> None:
    proxy.when(answer(503), times=None)
    with refused(Expected(Code.REQUEST_REFUSED, "configmaps", "default", "503"), kind=ClusterError):
        api.get(CONFIG_MAP, "default", "a")
    assert patient == [0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0]
    assert len(proxy.seen) == 8


@pytest.mark.parametrize("status", [429, 503])
def test_a_server_says_how_long_to_wait(api: Api, proxy: Proxy, patient: list[float], status: int) -> None:
    proxy.when(answer(status, retry_after="7"))
    proxy.when(answer(status, retry_after="100000"))
    proxy.when(answer(status, retry_after="soon"))
    proxy.when(answer(status, retry_after="Mon, 01 Jan 2001 00:00:00 GMT"))
    assert api.get(CONFIG_MAP, "default", "a") is None
    assert patient == [7.25, 60.25, 1.0, 2.0]


def test_a_date_to_wait_for_is_understood() -> None:
    retries = RetryPolicy(chance=lambda: 0.0, today=lambda: datetime(2026, 11, 21, 10, 0, 0, tzinfo=UTC))
    assert retries.pause(1, "Sat, 21 Nov 2026 10:00:09 GMT") == 9.0
    assert retries.pause(1, "Sat, 21 Nov 2026 10:00:09 -0000") == 9.0
    assert retries.pause(1, "Sat, 21 Nov 2026 09:00:00 GMT") == 0.125


def test_many_clients_do_not_come_back_at_the_same_moment() -> None:
    waits = [RetryPolicy(chance=chance).pause(3) for chance in (lambda: 0.0, lambda: 0.5, lambda: 1.0)]
    assert waits == [0.5, 0.75, 1.0]


def test_all_tries_together_have_a_time(proxy: Proxy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[float] = []
    retries = RetryPolicy(clock=lambda: sum(waited), sleep=waited.append, chance=lambda: 0.0)
    monkeypatch.setattr(api_module, "RETRY_POLICY", retries)
    api = _api(proxy.cluster, tmp_path)
    proxy.when(answer(429, retry_after="50"), times=None)
    with refused(Expected(Code.REQUEST_REFUSED, "429"), kind=ClusterError):
        api.get(CONFIG_MAP, "default", "a")
    assert waited == [50.0, 50.0, 50.0]


def test_a_server_that_does_not_answer_is_given_up(
    proxy: Proxy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[float] = []
    monkeypatch.setattr(api_module, "RETRY_POLICY", RetryPolicy(connect=0.05, read=0.05, sleep=waited.append))
    with socket.create_server(("127.0.0.1", 0)) as silent:  # takes connections, and says nothing
        address = f"https://127.0.0.1:{silent.getsockname()[1]}"
        api = _api(replace(proxy.cluster, server=address), tmp_path)
        with refused(Expected(Code.API_SERVER_UNREACHABLE, "3"), kind=ClusterError):
            api.get(CONFIG_MAP, "default", "a")
    assert len(waited) == 2


def test_an_answer_that_never_ends_is_given_up(proxy: Proxy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = iter(range(0, 10_000, 100))
    monkeypatch.setattr(api_module, "RETRY_POLICY", RetryPolicy(clock=lambda: next(ticks), sleep=lambda _: None))
    monkeypatch.setattr(connections, "_CONNECTIONS", 1)
    monkeypatch.setattr(wire, "_PIECE", 10)
    api = _api(proxy.cluster, tmp_path)
    for _ in range(2):  # its connection is given up too, and its place is free for the next request
        with refused(Code.API_SERVER_UNREACHABLE, kind=ClusterError):
            api.get(CONFIG_MAP, "default", "a")


def test_an_address_where_nobody_listens_is_given_up_soon(proxy: Proxy, tmp_path: Path, patient: list[float]) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        address = f"https://127.0.0.1:{closed.getsockname()[1]}"
        api = _api(replace(proxy.cluster, server=address), tmp_path)
        with pytest.raises(ClusterError) as caught:
            api.list(SECRET, lambda item: item, "kube-system")
    assert list(caught.value.problems) == [
        Expected(Code.API_SERVER_UNREACHABLE, address, "/api/v1/namespaces/kube-system/secrets", "3")
    ]
    assert (caught.value.status, patient) == (0, [0.25, 0.5])


# --- lost answers ---


def test_what_was_created_by_a_try_without_answer_is_found_to_exist(api: Api, proxy: Proxy) -> None:
    proxy.when(lose, method="POST")
    with pytest.raises(ClusterError) as caught:
        api.create(_map("a"))
    assert caught.value.status == 409
    assert api.get(CONFIG_MAP, "default", "a") is not None


def test_what_was_replaced_by_a_try_without_answer_has_moved(api: Api, proxy: Proxy) -> None:
    found = api.create(_map("a"))
    proxy.when(lose, method="PUT")
    with pytest.raises(ConflictError):
        api.replace(found | {"data": {"one": "1"}})
    again = api.get(CONFIG_MAP, "default", "a")
    assert again is not None
    assert again["data"] == {"one": "1"}


def test_what_was_deleted_by_a_try_without_answer_counts_as_deleted(api: Api, proxy: Proxy) -> None:
    api.create(_map("a"))
    proxy.when(lose, method="DELETE")
    assert api.delete(CONFIG_MAP, "default", "a")
    assert not api.delete(CONFIG_MAP, "default", "a")


# --- lists ---


@pytest.fixture
def crowd(worker: Cluster, tmp_path: Path) -> list[str]:
    """Names of 1,001 ConfigMaps, every tenth of which has a label."""
    api = _api(worker, tmp_path)
    names = [f"m{number:04}" for number in range(1001)]

    def create(name: str) -> None:
        body = _map(name)
        body["metadata"]["labels"] = {"tenth": "yes"} if name.endswith("0") else {}
        api.create(body)

    with ThreadPoolExecutor(8) as pool:
        deque(pool.map(create, names), maxlen=0)
    return names


def test_lists_come_in_pages_and_start_again_when_they_expire(
    api: Api, proxy: Proxy, worker: Cluster, crowd: list[str]
) -> None:
    def name(item: dict[str, Any]) -> str | None:
        assert (item["apiVersion"], item["kind"]) == ("v1", "ConfigMap")
        return None if item["metadata"]["name"] == "m0500" else item["metadata"]["name"]

    assert api.list(CONFIG_MAP, name, "default") == [each for each in crowd if each != "m0500"]
    assert [request.query["limit"] for request in proxy.seen] == ["500"] * 3
    proxy.clear()
    proxy.when(answer(410), fits=lambda request: "continue" in request.query, nth=2)
    found = api.list(CONFIG_MAP, lambda item: (item["metadata"]["name"], "data" in item), "default", metadata_only=True)
    assert found == [(each, False) for each in crowd]
    assert [request.status for request in proxy.seen] == [200, 200, 410, 200, 200, 200]
    proxy.clear()
    proxy.when(cut(-100), fits=lambda request: "continue" in request.query, times=2)
    assert len(api.list(CONFIG_MAP, lambda _: 1, "default", labels="tenth=yes")) == 101
    assert len(api.list(CONFIG_MAP, lambda _: 1, "default", labels="tenth!=yes")) == 900
    assert api.list(CONFIG_MAP, name, "default", fields="metadata.name=m0007") == ["m0007"]
    proxy.when(answer(410), fits=lambda request: "continue" in request.query, times=None)
    with refused(Expected(Code.LIST_EXPIRED, "configmaps", "5"), kind=ClusterError):
        api.list(CONFIG_MAP, name)
    worker.client().delete(MAPS)


# --- refusals ---


def test_a_refusal_that_no_other_try_changes_is_final(api: Api, proxy: Proxy, patient: list[float]) -> None:
    for status in (400, 403, 404, 405, 413, 422):
        proxy.when(answer(status))
        with refused(Expected(Code.REQUEST_REFUSED, status), kind=ClusterError) as caught:
            api.get(CONFIG_MAP, "default", "a")
        assert caught.value.status == status
    assert patient == []


def test_what_is_no_answer_of_an_api_server_is_no_absence(api: Api, proxy: Proxy) -> None:
    proxy.when(text(404, "<html>no such page</html>"))
    with refused(Expected(Code.REQUEST_REFUSED, "ConfigMap", "v1"), kind=ClusterError):
        api.get(CONFIG_MAP, "default", "a")
    proxy.when(text(200, "<html>please log in</html>"))
    with refused(Code.NOT_AN_API_SERVER, kind=ClusterError):
        api.get(CONFIG_MAP, "default", "a")
    proxy.when(text(302, "", {"Location": "https://elsewhere.example.com/"}))
    with refused(Expected(Code.REQUEST_REFUSED, "302"), kind=ClusterError):
        api.get(CONFIG_MAP, "default", "a")


def test_what_a_server_says_of_secrets_is_not_told(api: Api, proxy: Proxy) -> None:
    body = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "a", "namespace": "default"},
        "data": {"password": "hunter2 is not base64"},
    }
    with pytest.raises(ClusterError) as caught:
        api.apply(body)
    assert "hunter2" not in str(caught.value)
    causes = [{"reason": "FieldValueInvalid", "message": 'Invalid value: "hunter2"', "field": "data[password]"}]
    for status in (400, 403, 422, 500):
        proxy.when(answer(status, message="hunter2", details={"causes": causes}), times=None)
        with pytest.raises(ClusterError) as caught:
            api.apply(body)
        assert "hunter2" not in str(caught.value)
        proxy.clear()
    proxy.when(answer(422, details={"causes": causes}))
    with refused(Expected(Code.REQUEST_REFUSED, "422", "data[password]", "FieldValueInvalid"), kind=ClusterError):
        api.apply(body)


def test_a_field_that_does_not_fit_is_named_at_once(api: Api, patient: list[float]) -> None:
    body = {
        "apiVersion": PROFILE.api_version,
        "kind": PROFILE.name,
        "metadata": {"name": "a", "namespace": "default"},
        "spec": {"osName": 5},
    }
    with refused(Expected(Code.REQUEST_REFUSED, ".spec.osName"), kind=ClusterError):
        api.apply(body)
    body["spec"] = {"hunter2": "hunter2"}
    with refused(Expected(Code.REQUEST_REFUSED, ".spec.hunter2"), kind=ClusterError):
        api.apply(body)
    assert patient == []


def test_what_a_server_says_of_profiles_is_told(api: Api, proxy: Proxy) -> None:
    proxy.when(answer(422, message="spec is immutable per version"))
    with refused(Expected(Code.REQUEST_REFUSED, "422"), kind=ClusterError):
        api.get(PROFILE, "default", "a")


def test_an_admission_rule_is_named(api: Api, proxy: Proxy) -> None:
    policy = "ValidatingAdmissionPolicy 'only-us' with binding 'b' denied request: hunter2"
    webhook = 'admission webhook "only-us" denied the request: hunter2'
    for message, rule in ((policy, "ValidatingAdmissionPolicy only-us"), (webhook, "webhook only-us")):
        proxy.when(answer(403, message=message))
        with refused(Expected(Code.REQUEST_REFUSED, rule, "403"), kind=ClusterError) as caught:
            api.delete(SECRET, "default", "a")
        assert "hunter2" not in str(caught.value)


_UNCALLED = (
    'Internal error occurred: failed calling webhook "osc.example.com": failed to call webhook: Post '
    '"https://osm.kube-system.svc:443/x?timeout=10s": hunter2: dial tcp 10.0.0.1:443: connect: connection refused'
)


def test_a_webhook_that_cannot_be_called_is_final(api: Api, proxy: Proxy, patient: list[float]) -> None:
    proxy.when(answer(500, message=_UNCALLED), method="PATCH")
    with pytest.raises(WebhookError) as caught:
        api.apply(_map("a"))
    assert list(caught.value.problems) == [
        Expected(
            Code.WEBHOOK_UNREACHABLE,
            api.display,
            "configmaps",
            "default",
            "osc.example.com",
            "500",
        )
    ]
    assert (len(proxy.writes), patient) == (1, [])


def test_who_may_not_list_configurations_is_told_of_the_webhook_all_the_same(
    proxy: Proxy, tmp_path: Path, patient: list[float]
) -> None:
    api = connect(ContextRef(str(proxy.cluster.kubeconfig(tmp_path / "applier", "applier"))), {})
    proxy.when(answer(500, message=_UNCALLED), method="PATCH")
    with refused(Expected(Code.WEBHOOK_UNREACHABLE, "osc.example.com", "500"), kind=WebhookError):
        api.apply(_map("a"))
    assert patient == []


def test_a_namespace_that_is_missing_or_going_is_named(api: Api, worker: Cluster) -> None:
    body = _map("a")
    body["metadata"]["namespace"] = "later"
    with refused(Expected(Code.REQUEST_REFUSED, "later", "404"), kind=ClusterError):
        api.apply(body)
    worker.namespace("later")
    worker.client().delete("/api/v1/namespaces/later")
    with refused(Expected(Code.REQUEST_REFUSED, "later", "403"), kind=ClusterError):
        api.apply(body)


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "a%2fb"])
def test_a_name_that_leads_elsewhere_is_refused_before_anybody_is_asked(api: Api, proxy: Proxy, name: str) -> None:
    for ask in (
        lambda: api.delete(SECRET, "default", name),
        lambda: api.get(SECRET, "default", name),
        lambda: api.apply(_map(name)),
    ):
        with refused(Code.OBJECT_NAME, kind=ClusterError):
            ask()
    with refused(Expected(Code.OBJECT_NAME, "MachineDeployment"), kind=ClusterError):
        api.get(MACHINE_DEPLOYMENT, "", "a")
    assert proxy.seen == []


def test_a_name_with_odd_characters_is_asked_for_as_it_is(api: Api, proxy: Proxy) -> None:
    assert api.get(SECRET, "default", "a?b#c d") is None
    assert proxy.seen[0].path == "/api/v1/namespaces/default/secrets/a%3Fb%23c%20d"


# --- the proxy itself ---


def test_something_may_happen_while_a_request_is_under_way(api: Api, proxy: Proxy, worker: Cluster) -> None:
    worker.client().create(_map("a", one="1"))
    proxy.when(during(lambda: worker.client().delete(f"{MAPS}/a")), method="PATCH")
    api.apply(_map("a", two="2"))
    assert worker.client().get(f"{MAPS}/a")["data"] == {"two": "2"}
    proxy.when(during(lambda: worker.client().delete(f"{MAPS}/a"), after=True), method="PATCH")
    assert api.apply(_map("a", three="3")) is not None
    assert api.get(CONFIG_MAP, "default", "a") is None
    assert [request.method for request in proxy.writes] == ["PATCH", "PATCH"]
