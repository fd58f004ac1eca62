"""Which server and which user: kubeconfigs as kubectl resolves them. No request is made."""

from __future__ import annotations

import json
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest

from osm_gitops.context_ref import UNNAMED, ContextRef
from osm_gitops.errors import Code, InputError
from osm_gitops.kube import api as api_module
from osm_gitops.kube.api import connect
from osm_gitops.kube.connections import Server
from osm_gitops.kube.kubeconfig import Entry
from tests.faults import Expected, refused


def _config(path: Path, *names: str, current: str = "", **cluster: Any) -> Path:
    """A kubeconfig with a context, a cluster and a user of each name."""
    body = {
        "apiVersion": "v1",
        "kind": "Config",
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}} for name in names],
        "clusters": [{"name": name, "cluster": {"server": f"https://{path.name}.{name}", **cluster}} for name in names],
        "users": [{"name": name, "user": {"token": "secret"}} for name in names],
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(body | ({"current-context": current} if current else {})), "utf-8")
    return path


def _listed(*paths: Path) -> dict[str, str]:
    return {"KUBECONFIG": ":".join(map(str, paths))}


def test_of_several_files_the_first_current_context_counts(tmp_path: Path) -> None:
    files = (
        _config(tmp_path / "1", "a"),
        _config(tmp_path / "2", "b", current="b"),
        _config(tmp_path / "3", current="a"),
    )
    api = connect(UNNAMED, _listed(*files))
    assert (api.host, api.display) == ("https://2.b", "https://2.b (context b)")
    assert connect(ContextRef(context="a"), _listed(*files)).host == "https://1.a"


def test_of_two_entries_of_one_name_the_first_counts_as_a_whole(tmp_path: Path) -> None:
    ca = b64encode(b"mine").decode()
    first = _config(tmp_path / "1", "a", current="a")
    second = _config(tmp_path / "2", "a", **{"certificate-authority-data": ca})
    api = connect(UNNAMED, _listed(first, second))
    assert (api.host, api.certificate_authority) == ("https://1.a", b"")
    assert connect(UNNAMED, _listed(second, first)).certificate_authority == b"mine"


def test_parts_of_a_context_may_be_in_several_files(tmp_path: Path) -> None:
    (tmp_path / "contexts").write_text('{"current-context": "a", "contexts": [{"name": "a", "context": '
                                       '{"cluster": "b", "user": "c"}}]}')  # fmt: skip
    files = tmp_path / "contexts", _config(tmp_path / "2", "b"), _config(tmp_path / "3", "c")
    assert connect(UNNAMED, _listed(*files)).display == "https://2.b (context a)"


def test_files_of_the_list_that_are_missing_are_passed_over_and_empty_names_too(tmp_path: Path) -> None:
    files = tmp_path / "gone", _config(tmp_path / "2", "b", current="b")
    assert connect(UNNAMED, {"KUBECONFIG": f":{files[0]}::{files[1]}:"}).host == "https://2.b"


def test_a_file_that_is_named_is_the_only_one(tmp_path: Path) -> None:
    named, listed = _config(tmp_path / "named", "a", current="a"), _config(tmp_path / "listed", "b", current="b")
    assert connect(ContextRef(str(named)), _listed(listed)).host == "https://named.a"
    with refused(Expected(Code.CONTEXT_NOT_FOUND, '"b"')):
        connect(ContextRef(str(named), "b"), _listed(listed))
    with refused(Expected(Code.KUBECONFIG_NOT_FOUND, f"{tmp_path}/gone")):
        connect(ContextRef(str(tmp_path / "gone")), _listed(listed) | {"KUBERNETES_SERVICE_HOST": "10.96.0.1"})


def test_without_a_list_it_is_the_one_in_the_home(tmp_path: Path) -> None:
    _config(tmp_path / ".kube" / "config", "a", current="a")
    assert connect(UNNAMED, {"HOME": str(tmp_path)}).host == "https://config.a"
    assert connect(UNNAMED, {"HOME": str(tmp_path), "KUBECONFIG": ""}).host == "https://config.a"


def test_a_file_that_cannot_be_read_is_not_passed_over(tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.write_text("users: [{user: {token: secret}", "utf-8")
    with pytest.raises(InputError) as caught:
        connect(UNNAMED, _listed(broken, _config(tmp_path / "2", "b", current="b")))
    assert list(caught.value.problems) == [Expected(Code.KUBECONFIG_INVALID, broken)]


def test_without_a_choice_the_contexts_are_named(tmp_path: Path) -> None:
    path = _config(tmp_path / "1", "b", "a")
    with refused(Expected(Code.CONTEXT_NOT_FOUND, path)):
        connect(UNNAMED, _listed(path))


def test_all_that_a_context_lacks_is_told_at_once(tmp_path: Path) -> None:
    path = tmp_path / "config"
    user = {"exec": {"command": "no-such-program", "apiVersion": "client.authentication.k8s.io/v1"}}
    body = {
        "current-context": "a",
        "contexts": [{"name": "a", "context": {"cluster": "gone", "user": "u"}}],
        "users": [{"name": "u", "user": user | {"client-key": "gone.key"}}],
    }
    path.write_text(json.dumps(body), "utf-8")
    with pytest.raises(InputError) as caught:
        connect(UNNAMED, _listed(path))
    assert list(caught.value.problems) == [
        Expected(Code.KUBECONFIG_INVALID, "gone"),
        Expected(Code.KUBECONFIG_INVALID, "client-key"),
        Expected(Code.KUBECONFIG_INVALID, "no-such-program"),
    ]


@pytest.mark.parametrize(
    ("part", "change", "key"),
    [
        ("user", {"exec": [1]}, "exec"),
        ("user", {"exec": {"command": "true", "env": [1]}}, "exec"),
        ("user", {"exec": {"command": "true", "args": "a"}}, "exec"),
        ("user", {"as": "jane", "as-groups": 5}, "as-groups"),
        ("user", {"as": "jane", "as-user-extra": {"scopes": "all"}}, "as-user-extra"),
        ("cluster", {"extensions": [1]}, "extensions"),
    ],
)
def test_what_has_another_shape_is_told_without_what_it_is(
    tmp_path: Path, part: str, change: dict[str, Any], key: str
) -> None:
    path = _config(tmp_path / "1", "a", current="a")
    body = json.loads(path.read_text("utf-8"))
    body[f"{part}s"][0][part] |= change
    path.write_text(json.dumps(body), "utf-8")
    with pytest.raises(InputError) as caught:
        connect(UNNAMED, _listed(path) | {"PATH": "/usr/bin:/bin"})
    assert list(caught.value.problems) == [Expected(Code.KUBECONFIG_INVALID, key, part)]


@pytest.mark.parametrize("text", ["", "---\n", "{}\n"])
def test_a_kubeconfig_may_be_empty_as_new_ones_are(tmp_path: Path, text: str) -> None:
    (tmp_path / "new").write_text(text, "utf-8")
    assert connect(UNNAMED, _listed(tmp_path / "new", _config(tmp_path / "1", "a", current="a"))).host == "https://1.a"


# --- in a pod ---


def test_a_pod_without_kubeconfigs_takes_its_own_cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "ca.crt").write_bytes(b"its authority")
    monkeypatch.setattr(api_module, "ACCOUNT", tmp_path)
    pod = {"KUBERNETES_SERVICE_HOST": "10.96.0.1", "KUBERNETES_SERVICE_PORT": "6443", "HOME": str(tmp_path)}
    api = connect(UNNAMED, pod)
    assert (api.display, api.certificate_authority) == ("https://10.96.0.1:6443 (in-cluster)", b"its authority")
    assert connect(UNNAMED, pod | {"KUBERNETES_SERVICE_HOST": "fd00::1"}).host == "https://[fd00::1]:6443"
    assert connect(UNNAMED, pod | _listed(_config(tmp_path / "1", "a", current="a"))).host == "https://1.a"
    with refused(Expected(Code.KUBECONFIG_NOT_FOUND, ".kube/config")):
        connect(ContextRef(context="prod"), pod)


def test_outside_of_pods_there_has_to_be_a_kubeconfig(tmp_path: Path) -> None:
    for environment in ({"HOME": str(tmp_path)}, {}, _listed(tmp_path / "gone")):
        with refused(Code.KUBECONFIG_NOT_FOUND):
            connect(UNNAMED, environment)


# --- servers ---


@pytest.mark.parametrize("name", [".a", "a..b", "a" * 64])
def test_what_is_no_name_of_a_server_is_refused(name: str) -> None:
    with refused(Expected(Code.SERVER_ADDRESS, "tls-server-name")):
        _server({}, **{"tls-server-name": name})


def _server(environment: dict[str, str] | None = None, **cluster: Any) -> Server:
    return Server.of(Entry(Path("config"), {"server": "https://api.example.com:6443", **cluster}), environment or {})


def test_what_an_address_holds_beyond_the_host_is_kept_but_for_credentials() -> None:
    assert _server(server="https://u:p@Rancher.example.com/k8s/clusters/c-1/").url == (
        "https://rancher.example.com/k8s/clusters/c-1"
    )
    assert _server(server="https://[fd00::1]:6443").url == "https://[fd00::1]:6443"


@pytest.mark.parametrize(
    "address",
    ["", "10.0.0.1:6443", "ftp://a", "https://", "https://a:b", "https://a/?b", "https://a/b c", "https://a/ö"],
)
def test_what_is_no_address_is_refused(address: str) -> None:
    with refused(Expected(Code.SERVER_ADDRESS, "https://")):
        _server(server=address)


def test_a_proxy_comes_from_the_kubeconfig_else_from_the_environment() -> None:
    outside = {"HTTPS_PROXY": "proxy.example.com:3128", "HTTP_PROXY": "http://other", "NO_PROXY": "10.0.0.0/8,.local"}
    found = _server(outside)
    assert (found.proxy, found.no_proxy) == ("http://proxy.example.com:3128", "10.0.0.0/8,.local")
    assert _server({"https_proxy": "http://small"}).proxy == "http://small"
    assert _server(outside, server="http://plain.example.com").proxy == "http://other"
    given = _server(outside, **{"proxy-url": "http://own"})
    assert (given.proxy, given.no_proxy) == ("http://own", "")  # which NO_PROXY does not concern
    for here in ("https://localhost:6443", "https://127.0.0.1:6443", "https://[::1]:6443"):
        assert _server(outside, server=here).proxy == ""


def test_an_authority_is_the_data_else_the_file_beside_the_kubeconfig(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_bytes(b"of the file")
    path = _config(tmp_path / "1", "a", current="a", **{"certificate-authority": "ca.pem"})
    assert connect(UNNAMED, _listed(path)).certificate_authority == b""  # as OSM finds it: in the kubeconfig alone
    in_file = Entry(path, {"server": "https://a", "certificate-authority": "ca.pem"})
    assert Server.of(in_file, {}).authority == b"of the file"
    data = b64encode(b"data").decode()
    body = {"certificate-authority": "ca.pem", "certificate-authority-data": data}
    path = _config(tmp_path / "2", "a", current="a", **body)
    assert connect(UNNAMED, _listed(path)).certificate_authority == b"data"
    path = _config(tmp_path / "3", "a", current="a", **{"certificate-authority-data": "!"})
    with refused(Expected(Code.CREDENTIALS_UNUSABLE, path, "certificate-authority-data")):
        connect(UNNAMED, _listed(path))
