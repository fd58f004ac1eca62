"""The verbs against a real API server."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from osm_gitops.context_ref import ContextRef
from osm_gitops.errors import ClusterError, Code, ConflictError
from osm_gitops.kube.api import Api, connect
from osm_gitops.kube.kinds import CONFIG_MAP, MACHINE, SECRET, SERVICE_ACCOUNT, Kind
from tests.apiserver.cluster import Cluster
from tests.apiserver.proxy import Proxy
from tests.faults import Expected, refused


def _api(cluster: Cluster, folder: Path, user: str = "admin") -> Api:
    return connect(ContextRef(str(cluster.kubeconfig(folder / f"{cluster.name}-{user}", user))), {})


def _map(name: str, **data: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "default"},
        "data": dict(data),
    }


def test_an_object_is_applied_read_changed_and_deleted(worker: Cluster, tmp_path: Path) -> None:
    api = _api(worker, tmp_path)
    assert api.get(CONFIG_MAP, "default", "a") is None
    assert not api.delete(CONFIG_MAP, "default", "a")
    assert api.apply(_map("a", one="1")) is None  # nothing of it is somebody else's
    assert api.get(CONFIG_MAP, "default", "a") is not None
    again = api.apply(_map("a", one="1"))
    assert again is not None
    assert (again["metadata"]["name"], "data" in again) == ("a", False)
    short = api.merge(CONFIG_MAP, "default", "a", {"data": {"two": "2"}})
    assert (short["kind"], short["apiVersion"], "data" in short) == ("ConfigMap", "v1", False)
    found = api.get(CONFIG_MAP, "default", "a")
    assert found is not None
    assert found["data"] == {"one": "1", "two": "2"}
    api.replace(found | {"data": {}})
    with refused(Code.REQUEST_REFUSED, kind=ConflictError):
        api.replace(found)
    with pytest.raises(ConflictError):
        api.delete(CONFIG_MAP, "default", "a", uid="another")
    assert api.delete(CONFIG_MAP, "default", "a", uid=found["metadata"]["uid"])
    assert api.get(CONFIG_MAP, "default", "a") is None


@pytest.mark.parametrize("character", ["\U0001f600", "\U0010ffff"])
def test_text_beyond_the_basic_plane_is_kept_by_all_writes(worker: Cluster, tmp_path: Path, character: str) -> None:
    """The API server reads a body of server-side apply as YAML, in which there are no surrogate pairs."""
    api = _api(worker, tmp_path)
    # A pair as text is no pair, and YAML would fold, drop or refuse the rest.
    text = f"{character} \\ud83d\\ude00 é\u0085\u2028\u2029\ufeff\x7f\x9f\ufffe\uffff\ttab\nend"
    api.apply(_map("a", one=text))
    assert (api.get(CONFIG_MAP, "default", "a") or {})["data"] == {"one": text}
    assert api.create(_map("b", one=text))["data"] == {"one": text}
    found = api.merge(CONFIG_MAP, "default", "b", {"data": {"two": text}}, metadata_only=False)
    assert found["data"] == {"one": text, "two": text}
    assert api.replace(found | {"data": {"two": text}})["data"] == {"two": text}


def test_an_apply_refuses_what_the_definition_does_not_have_though_it_asks_for_no_warnings(
    worker: Cluster, tmp_path: Path, through: Callable[[Cluster], Proxy]
) -> None:
    """A field that is there twice gets a warning, for which the server reads the body once more: none is asked for."""
    config = {
        "apiVersion": "operatingsystemmanager.k8c.io/v1alpha1",
        "kind": "OperatingSystemConfig",
        "metadata": {"name": "a", "namespace": "default"},
        "spec": {"osName": "ubuntu", "osVersion": "24.04", "unknown": 1},
    }
    proxy = through(worker)
    api = _api(proxy.cluster, tmp_path)
    for body, field in ((_map("a") | {"unknown": {}}, ".unknown"), (config, ".spec.unknown")):
        with refused(Expected(Code.REQUEST_REFUSED, f"{field} field not declared in schema"), kind=ClusterError):
            api.apply(body)
    assert [request.query["fieldValidation"] for request in proxy.writes] == ["Ignore", "Ignore"]


def test_who_owns_a_field_is_named(worker: Cluster, tmp_path: Path) -> None:
    api = _api(worker, tmp_path)
    worker.client().apply(_map("a", one="theirs"), manager="somebody")
    with refused(Expected(Code.REQUEST_REFUSED, "somebody", ".data.one"), kind=ConflictError) as caught:
        api.apply(_map("a", one="ours"))
    assert caught.value.managers == ("somebody",)
    assert worker.client().get("/api/v1/namespaces/default/configmaps/a")["data"] == {"one": "theirs"}
    api.apply(_map("a", one="ours"), force=True)
    assert worker.client().get("/api/v1/namespaces/default/configmaps/a")["data"] == {"one": "ours"}


def test_what_exists_is_not_created_again(worker: Cluster, tmp_path: Path) -> None:
    api = _api(worker, tmp_path)
    api.create(_map("a"))
    with refused(Expected(Code.REQUEST_REFUSED, "default"), kind=ClusterError) as caught:
        api.create(_map("a"))
    assert caught.value.status == 409


def test_a_missing_right_is_named_and_is_no_absence(worker: Cluster, tmp_path: Path) -> None:
    api = _api(worker, tmp_path, "applier")
    with pytest.raises(ClusterError) as caught:
        api.list(MACHINE, lambda item: item, "kube-system")
    assert list(caught.value.problems) == [
        Expected(Code.REQUEST_REFUSED, worker.server, "machines.cluster.k8s.io", "kube-system", "403", "applier")
    ]
    for ask in (
        lambda: api.get(SECRET, "kube-system", "a"),
        lambda: api.delete(SECRET, "kube-system", "a"),
        lambda: api.list(SECRET, lambda item: item),
    ):
        with refused(Expected(Code.REQUEST_REFUSED, "403"), kind=ClusterError):
            ask()


def test_a_kind_that_is_not_installed_is_no_absence(worker: Cluster, tmp_path: Path) -> None:
    api = _api(worker, tmp_path)
    unknown = Kind("cluster.k8s.io", "v1alpha1", "Unheard", "unheards")
    for ask in (lambda: api.list(unknown, lambda item: item), lambda: api.get(unknown, "default", "a")):
        with refused(Expected(Code.REQUEST_REFUSED, "Unheard", "cluster.k8s.io/v1alpha1"), kind=ClusterError):
            ask()


def test_an_account_gets_a_token(worker: Cluster, tmp_path: Path) -> None:
    api = _api(worker, tmp_path)
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "getter", "namespace": "default"}}
    api.create(account)
    token, expires = api.token("default", "getter", 3600)
    assert token.count(".") == 2
    assert expires.endswith("Z")
    assert [each["kind"] for each in api.list(SERVICE_ACCOUNT, lambda item: item, "default", metadata_only=True)] == [
        "ServiceAccount"
    ]
