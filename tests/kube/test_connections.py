"""Connections to a real API server: trust, proxies, and who asks."""

from __future__ import annotations

import json
import shlex
import socket
import ssl
import threading
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from osm_gitops import __version__
from osm_gitops.commands.boot.lane.authority import issue
from osm_gitops.context_ref import UNNAMED, ContextRef
from osm_gitops.errors import ClusterError, Code
from osm_gitops.kube import api as api_module
from osm_gitops.kube.api import Api, connect
from osm_gitops.kube.kinds import CONFIG_MAP
from osm_gitops.kube.transport import RetryPolicy
from osm_gitops.kube.wire import Call, LostError, Reply
from tests.apiserver.cluster import Cluster
from tests.apiserver.proxy import Proxy, answer
from tests.faults import Expected, refused
from tests.hostile.servers import hostile

Behind = Callable[[Cluster], Proxy]


def _edited(cluster: Cluster, path: Path, environment: dict[str, str] | None = None, /, **changes: Any) -> Api:
    """Connect with a kubeconfig of which entries ``cluster`` and ``user`` have changed; None removes."""
    config = json.loads(cluster.kubeconfig(path).read_text("utf-8"))
    for part, change in changes.items():
        entry = config[f"{part}s"][0][part]
        entry |= change
        config[f"{part}s"][0][part] = {key: value for key, value in entry.items() if value is not None}
    path.write_text(json.dumps(config), "utf-8")
    return connect(ContextRef(str(path)), environment or {})


def _plain(path: Path, cluster: dict[str, str]) -> ContextRef:
    """A kubeconfig for a server that is none of an API."""
    config = {
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "c"}}],
        "clusters": [{"name": "c", "cluster": cluster}],
        "users": [{"name": "c", "user": {"token": "t"}}],
    }
    path.write_text(json.dumps(config), "utf-8")
    return ContextRef(str(path))


def _ask(api: Api) -> None:
    assert api.get(CONFIG_MAP, "default", "none") is None


# --- trust ---


def test_an_authority_in_a_file_is_trusted(worker: Cluster, tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_bytes("# größer\n".encode("latin-1") + worker.authority.encode())
    change = {"certificate-authority-data": None, "certificate-authority": "ca.pem"}
    _ask(_edited(worker, tmp_path / "config", cluster=change))


def test_a_server_of_another_authority_gets_no_request(worker: Cluster, tmp_path: Path, patient: list[float]) -> None:
    issue(tmp_path, "other")
    other = b64encode((tmp_path / "ca.crt").read_bytes()).decode()
    api = _edited(worker, tmp_path / "config", cluster={"certificate-authority-data": other})
    with refused(Code.API_SERVER_UNREACHABLE, kind=ClusterError) as caught:
        _ask(api)
    assert (caught.value.status, patient) == (0, [])


def test_a_server_that_nobody_vouches_for_is_not_trusted(worker: Cluster, tmp_path: Path) -> None:
    with refused(Code.API_SERVER_UNREACHABLE, kind=ClusterError):
        _ask(_edited(worker, tmp_path / "config", cluster={"certificate-authority-data": None}))


def test_plain_http_to_a_server_that_speaks_https_is_told(worker: Cluster, tmp_path: Path) -> None:
    with refused(Expected(Code.REQUEST_REFUSED, "400"), kind=ClusterError):
        _ask(_edited(worker, tmp_path / "config", cluster={"server": worker.server.replace("https", "http")}))


def test_an_authority_that_is_none_is_told(worker: Cluster, tmp_path: Path) -> None:
    api = _edited(worker, tmp_path / "config", cluster={"certificate-authority-data": "bm9uZQ=="})
    with refused(Code.SERVER_CA_INVALID, kind=ClusterError):
        _ask(api)


def test_verification_can_be_left_out(worker: Cluster, tmp_path: Path) -> None:
    change = {"certificate-authority-data": None, "insecure-skip-tls-verify": True}
    _ask(_edited(worker, tmp_path / "config", cluster=change))


def test_a_server_may_have_another_name_in_its_certificate(worker: Cluster, tmp_path: Path) -> None:
    with refused(Code.API_SERVER_UNREACHABLE, kind=ClusterError):
        _ask(_edited(worker, tmp_path / "1", cluster={"server": worker.server, "tls-server-name": "other"}))
    _ask(_edited(worker, tmp_path / "2", cluster={"server": worker.server, "tls-server-name": "localhost"}))


def test_an_address_with_an_invalid_name_is_told(worker: Cluster, tmp_path: Path, patient: list[float]) -> None:
    api = _edited(worker, tmp_path / "config", cluster={"server": f"https://{'a' * 64}.example.com"})
    with refused(Expected(Code.API_SERVER_UNREACHABLE, "its address is invalid"), kind=ClusterError):
        _ask(api)
    assert patient == []


# --- proxies ---


class _Tunnel(threading.Thread):
    """A proxy that leads every CONNECT to one server, and remembers what it was asked. With a ``context`` it speaks TLS
    itself."""

    def __init__(self, server: str, context: ssl.SSLContext | None = None) -> None:
        super().__init__(daemon=True)
        self.asked: list[str] = []
        self._context = context
        self._to = int(server.rpartition(":")[2])
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._socket.getsockname()[1]}"

    def run(self) -> None:
        while True:
            try:
                client, _ = self._socket.accept()
            except OSError:
                return
            if self._context is not None:
                client = self._context.wrap_socket(client, server_side=True)
            head = b""
            while not head.endswith(b"\r\n\r\n"):
                head += client.recv(1)
            self.asked.append(head.decode())
            server = socket.create_connection(("127.0.0.1", self._to))
            client.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
            for one, other in ((client, server), (server, client)):
                threading.Thread(target=_pump, args=(one, other), daemon=True).start()

    def close(self) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()


def _pump(one: socket.socket, other: socket.socket) -> None:
    with one, suppress(OSError):  # when either side has ended, so has the other
        while data := one.recv(65536):
            other.sendall(data)
        other.shutdown(socket.SHUT_WR)


@pytest.fixture
def tunnel(worker: Cluster) -> Iterator[_Tunnel]:
    tunnel = _Tunnel(worker.server)
    tunnel.start()
    yield tunnel
    tunnel.close()
    tunnel.join()


def test_the_proxy_of_the_kubeconfig_is_used_with_its_credentials(
    worker: Cluster, tunnel: _Tunnel, tmp_path: Path
) -> None:
    _ask(_edited(worker, tmp_path / "config", cluster={"proxy-url": f"http://me:pass@{tunnel.address}"}))
    assert len(tunnel.asked) == 1
    assert "proxy-authorization: basic bwu6cgfzcw==" in tunnel.asked[0].lower()


def test_a_certificate_that_is_not_trusted_is_told_behind_a_proxy_too(
    worker: Cluster, tunnel: _Tunnel, tmp_path: Path, patient: list[float]
) -> None:
    issue(tmp_path, "other")
    other = b64encode((tmp_path / "ca.crt").read_bytes()).decode()
    change = {"certificate-authority-data": other, "proxy-url": f"http://{tunnel.address}"}
    with refused(Expected(Code.API_SERVER_UNREACHABLE, "its certificate is not trusted"), kind=ClusterError):
        _ask(_edited(worker, tmp_path / "config", cluster=change))
    assert (len(tunnel.asked), patient) == (1, [])


@pytest.mark.parametrize("said", [b"", b"HTTP/1.1 403 No\r\n\r\n", b"SSH-2.0-OpenSSH_9.6\r\n"])
def test_a_proxy_that_opens_no_tunnel_is_told(
    worker: Cluster, tmp_path: Path, patient: list[float], said: bytes
) -> None:
    def answer(connection: socket.socket, _number: int) -> None:
        connection.sendall(said)
        connection.shutdown(socket.SHUT_RDWR)

    with hostile(answer) as proxy:
        change = {"proxy-url": proxy.address}
        with refused(Expected(Code.API_SERVER_UNREACHABLE, "the proxy does not let it through"), kind=ClusterError):
            _ask(_edited(worker, tmp_path / "config", cluster=change))
    assert len(patient) == 2


def test_a_proxy_may_speak_tls_itself(worker: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """urllib3 speaks TLS within TLS. It takes a piece as a whole, so none may be offered twice."""
    issue(tmp_path, "proxy")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.crt"))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "server.crt", tmp_path / "server.key")
    tunnel = _Tunnel(worker.server, context)
    tunnel.start()
    api = _edited(worker, tmp_path / "config", cluster={"proxy-url": f"https://{tunnel.address}"})
    text = "x" * (1 << 19)
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "default"}}
    api.apply(body | {"data": {"text": text}})
    assert (api.get(CONFIG_MAP, "default", "a") or {})["data"]["text"] == text
    assert len(tunnel.asked) == 1
    tunnel.close()
    tunnel.join()


def test_the_proxy_of_the_environment_is_used_unless_the_host_needs_none(
    worker: Cluster, tunnel: _Tunnel, tmp_path: Path, patient: list[float]
) -> None:
    change = {"server": "https://cluster.invalid:6443", "tls-server-name": "localhost"}
    environment = {"HTTPS_PROXY": f"http://{tunnel.address}"}
    _ask(_edited(worker, tmp_path / "config", environment, cluster=change))
    assert tunnel.asked[0].startswith("CONNECT cluster.invalid:6443 HTTP/1.")
    with refused(Code.API_SERVER_UNREACHABLE, kind=ClusterError):
        _ask(_edited(worker, tmp_path / "config", environment | {"NO_PROXY": ".invalid"}, cluster=change))
    assert len(tunnel.asked) == 1
    assert len(patient) == 2


def test_a_host_that_ends_with_a_dot_needs_no_proxy_where_its_name_needs_none(
    worker: Cluster, tunnel: _Tunnel, tmp_path: Path, patient: list[float]
) -> None:
    change = {"server": "https://apiserver.cluster.invalid.:6443", "tls-server-name": "localhost"}
    environment = {"HTTPS_PROXY": f"http://{tunnel.address}", "NO_PROXY": ".cluster.invalid"}
    with refused(Code.API_SERVER_UNREACHABLE, kind=ClusterError):
        _ask(_edited(worker, tmp_path / "config", environment, cluster=change))
    assert tunnel.asked == []
    assert patient


def test_a_proxy_that_is_not_there_is_told_without_its_password(
    worker: Cluster, tmp_path: Path, patient: list[float]
) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        proxy = f"http://me:secret@127.0.0.1:{closed.getsockname()[1]}"
        with refused(Expected(Code.API_SERVER_UNREACHABLE, "the proxy"), kind=ClusterError) as caught:
            _ask(_edited(worker, tmp_path / "config", cluster={"proxy-url": proxy}))
    assert "secret" not in str(caught.value)
    assert len(patient) == 2


@pytest.mark.parametrize(
    "proxy",
    [
        "socks5://a",
        "x://a",
        "http://a@[::1",
    ],
)
def test_a_proxy_that_cannot_be_used_is_told(worker: Cluster, tmp_path: Path, proxy: str) -> None:
    with refused(Code.PROXY_UNUSABLE, kind=ClusterError):
        _ask(_edited(worker, tmp_path / "config", cluster={"proxy-url": proxy}))


def test_a_proxy_for_plain_http_is_told_the_whole_address_and_who_asks(tmp_path: Path) -> None:
    asked: list[tuple[str, str | None]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append((self.path, self.headers["Proxy-Authorization"]))
            self.send_response(404)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None: ...

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        proxy = f"http://me:pass@127.0.0.1:{server.server_port}"
        access = _plain(tmp_path / "config", {"server": "http://api.invalid/below", "proxy-url": proxy})
        assert not connect(access, {}).serves(CONFIG_MAP)
        server.shutdown()
    assert asked == [("http://api.invalid/below/api/v1", "Basic bWU6cGFzcw==")]


# --- the wire ---


def test_a_request_is_one_write_and_sets_no_timeout_that_is_set(
    worker: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each such call lets other threads run before it returns."""
    api = _edited(worker, tmp_path / "config")
    _ask(api)
    written, timeouts = [], []
    send, settimeout = ssl.SSLSocket.send, socket.socket.settimeout

    def counting_send(self: ssl.SSLSocket, data: memoryview, flags: int = 0) -> int:
        written.append(len(data))
        return send(self, data, flags)

    def counting_settimeout(self: socket.socket, value: float | None) -> None:
        timeouts.append(value)
        settimeout(self, value)

    monkeypatch.setattr(ssl.SSLSocket, "send", counting_send)
    monkeypatch.setattr(socket.socket, "settimeout", counting_settimeout)
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "default"}}
    api.apply(body | {"data": {"text": "x" * 10_000}})
    assert len(written) == 1
    assert written[0] > 10_000
    assert timeouts == []


@pytest.mark.parametrize("what", [KeyboardInterrupt, MemoryError])
def test_what_ends_a_run_is_not_hidden_by_the_parser(
    worker: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: type[BaseException]
) -> None:
    """A signal may come while it calls back."""
    api = _edited(worker, tmp_path / "config")
    _ask(api)

    def fail(*_: object) -> None:
        raise what

    with monkeypatch.context() as patch:
        patch.setattr(Reply, "on_body", fail)
        with pytest.raises(what):
            _ask(api)
    _ask(api)


@pytest.mark.parametrize("text", ["a\rb", "a\nb", "a\r\n\r\nGET /", "a\0b", "a\u4e00"])
def test_no_request_has_lines_of_another(text: str) -> None:
    call = Call("GET", "/")
    for target, header in ((text, "a"), ("/a b", "a"), ("/", text)):
        with pytest.raises(LostError):
            call.request(target, [("A", header)])
    assert call.request("/", [("A", "b: c")]) == b"GET / HTTP/1.1\r\nA: b: c\r\n\r\n"


def test_an_interruption_ends_a_request_that_the_server_does_not_take(tmp_path: Path) -> None:
    """The rest of it would be waited for as long as the retries allow: here, an hour."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        access = _plain(tmp_path / "config", {"server": f"http://127.0.0.1:{server.getsockname()[1]}"})
        api = connect(access, {}, RetryPolicy(read=3600, total=3600))
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "default"}}

        def send() -> None:
            with refused(Code.API_SERVER_UNREACHABLE, kind=ClusterError):
                api.create(body | {"data": {"text": "x" * (32 << 20)}})  # more than sockets hold
            ended.set()

        ended = threading.Event()
        threading.Thread(target=send, daemon=True).start()
        connection, _ = server.accept()
        with connection:
            queued = -1
            while queued != (queued := len(connection.recv(64 << 20, socket.MSG_PEEK))):
                ended.wait(0.2)  # until no more fits
            api.hurry()
            assert ended.wait(60)


# --- who asks ---


def test_requests_say_what_program_makes_them(worker: Cluster, through: Behind, tmp_path: Path) -> None:
    proxy = through(worker)
    api = connect(ContextRef(str(proxy.cluster.kubeconfig(tmp_path / "config"))), {})
    _ask(api)
    assert proxy.seen[0].headers["User-Agent"] == f"osm-gitops/{__version__}"
    assert api.requests == len(proxy.seen) == 1


def test_a_user_may_ask_as_another(worker: Cluster, through: Behind, tmp_path: Path) -> None:
    proxy = through(worker)
    acting = {"as": "Zoë", "as-groups": ["readers", "auditors"], "as-user-extra": {"why": ["tests"]}}
    with refused(Expected(Code.REQUEST_REFUSED, "Zoë", "default"), kind=ClusterError):
        _ask(_edited(proxy.cluster, tmp_path / "config", user=acting))
    assert proxy.seen[0].headers["Impersonate-Extra-why"] == "tests"
    _ask(_edited(proxy.cluster, tmp_path / "config", user=acting | {"as-groups": ["readers", "system:masters"]}))


def test_a_token_that_no_header_can_hold_is_told_without_it(worker: Cluster, tmp_path: Path) -> None:
    with refused(Expected(Code.CREDENTIALS_UNUSABLE, "Authorization"), kind=ClusterError) as caught:
        _ask(_edited(worker, tmp_path / "config", user={"token": "abc\ndef"}))
    assert "abc" not in str(caught.value)


def test_whoever_has_no_credentials_is_told_to_log_in(worker: Cluster, tmp_path: Path, patient: list[float]) -> None:
    with refused(Code.REQUEST_REFUSED, kind=ClusterError):
        _ask(_edited(worker, tmp_path / "1", user={"token": None}))
    with refused(Expected(Code.REQUEST_REFUSED, "401"), kind=ClusterError) as caught:
        _ask(_edited(worker, tmp_path / "2", user={"token": "expired"}))
    assert "expired" not in str(caught.value)
    assert patient == []


def test_a_token_comes_from_its_file_and_anew_when_it_is_refused(worker: Cluster, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("old\n", "utf-8")
    api = _edited(worker, tmp_path / "config", user={"token": "ignored", "tokenFile": "token"})
    with refused(Code.REQUEST_REFUSED, kind=ClusterError):
        _ask(api)
    token.write_text(f"{worker.tokens['admin']}\n", "utf-8")
    _ask(api)


def test_a_pod_asks_as_its_account(worker: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "token").write_text(worker.tokens["admin"], "utf-8")
    (tmp_path / "ca.crt").write_text(worker.authority, "utf-8")
    monkeypatch.setattr(api_module, "ACCOUNT", tmp_path)
    port = worker.server.rpartition(":")[2]
    _ask(connect(UNNAMED, {"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": port}))


class _Whoami(BaseHTTPRequestHandler):
    """Answers with the name in the client's certificate, or with that of basic authentication."""

    def do_GET(self) -> None:
        assert isinstance(self.connection, ssl.SSLSocket)
        shown: Any = self.connection.getpeercert() or {}
        name = dict(part for parts in shown.get("subject", ()) for part in parts).get("commonName", "")
        data = {"name": name, "authorization": self.headers.get("Authorization") or ""}
        body = json.dumps({"metadata": {"name": "me", "namespace": "default"}, "data": data}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - its name in http.server
        """Nothing."""


@contextmanager
def _whoami(folder: Path) -> Iterator[Cluster]:
    """A server that trusts client certificates of its own authority, which the tests' API servers do not."""
    issue(folder, "jane")
    trust = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=folder / "ca.crt")
    trust.load_cert_chain(folder / "server.crt", folder / "server.key")
    trust.verify_mode = ssl.CERT_OPTIONAL
    with HTTPServer(("127.0.0.1", 0), _Whoami) as server:
        server.socket = trust.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        address = f"https://127.0.0.1:{server.server_address[1]}"
        yield Cluster("whoami", address, (folder / "ca.crt").read_text("utf-8"), {"admin": "unused"}, folder)
        server.shutdown()
        thread.join()


def _name(api: Api) -> tuple[str, str]:
    found = api.get(CONFIG_MAP, "default", "me")
    assert found is not None
    return found["data"]["name"], found["data"]["authorization"]


def test_a_client_certificate_is_shown_and_lies_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, patient: list[float]
) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    with _whoami(tmp_path) as server:
        pair = {"client-certificate": "server.crt", "client-key": "server.key", "token": None}
        assert _name(_edited(server, tmp_path / "1", user=pair)) == ("jane", "")
        data = {f"{key}-data": b64encode((tmp_path / name).read_bytes()).decode() for key, name in pair.items() if name}
        assert _name(_edited(server, tmp_path / "2", user=data | {"token": None})) == ("jane", "")
        assert _name(_edited(server, tmp_path / "3", user={"token": None, "username": "joe", "password": "p"})) == (
            "",
            "Basic am9lOnA=",
        )
        broken = {"client-certificate": "server.crt", "client-key": "accounts.key", "token": None}
        with refused(Code.CREDENTIALS_UNUSABLE, kind=ClusterError):
            _name(_edited(server, tmp_path / "4", user=broken))
    assert [*scratch.iterdir()] == []
    assert patient == []


# --- credential plugins ---


def _plugin(folder: Path, status: dict[str, Any], version: str = "client.authentication.k8s.io/v1") -> dict[str, Any]:
    """A user whose plugin notes each run, with what it was told, in ``folder``/runs."""
    (folder / "status").write_text(
        json.dumps({"apiVersion": version, "kind": "ExecCredential", "status": status}), "utf-8"
    )
    script = folder / "bin" / "plugin"
    script.parent.mkdir(exist_ok=True)
    runs, answer_ = (shlex.quote(str(folder / name)) for name in ("runs", "status"))
    script.write_text(f'#!/bin/sh\necho "$1 $MORE $KUBERNETES_EXEC_INFO" >> {runs}\nexec cat {answer_}\n', "utf-8")
    script.chmod(0o700)
    plugin = {"apiVersion": version, "command": "bin/plugin", "args": ["go"], "env": [{"name": "MORE", "value": "x"}]}
    return {"token": None, "exec": plugin}


def _runs(folder: Path) -> list[str]:
    return (folder / "runs").read_text("utf-8").splitlines()


_PATH = {"PATH": "/usr/bin:/bin"}


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
def test_a_plugin_runs_once_as_long_as_its_token_lives(worker: Cluster, tmp_path: Path, version: str) -> None:
    status = {"token": worker.tokens["admin"], "expirationTimestamp": "2099-01-01T00:00:00Z"}
    user = _plugin(tmp_path, status, f"client.authentication.k8s.io/{version}")
    api = _edited(worker, tmp_path / "config", _PATH, user=user)
    for _ in range(5):
        _ask(api)
    (run,) = _runs(tmp_path)
    word, more, told = run.split(" ", 2)
    assert (word, more) == ("go", "x")
    assert json.loads(told)["spec"] == {"interactive": False}


def test_a_plugin_runs_again_when_its_token_has_expired_or_was_refused(
    worker: Cluster, through: Behind, tmp_path: Path
) -> None:
    status = {"token": worker.tokens["admin"], "expirationTimestamp": "2020-01-01T00:00:00Z"}
    proxy = through(worker)
    api = _edited(proxy.cluster, tmp_path / "config", _PATH, user=_plugin(tmp_path, status))
    _ask(api)
    _ask(api)
    assert len(_runs(tmp_path)) == 2
    _plugin(tmp_path, {"token": "revoked"})
    api = _edited(proxy.cluster, tmp_path / "config", _PATH, user=_plugin(tmp_path, {"token": "revoked"}))
    with refused(Code.REQUEST_REFUSED, kind=ClusterError):
        _ask(api)
    assert len(_runs(tmp_path)) == 4  # once more, which brought the same
    _plugin(tmp_path, {"token": worker.tokens["admin"]})
    _ask(api)
    proxy.when(answer(401))
    with refused(Code.REQUEST_REFUSED, kind=ClusterError):
        _ask(api)


def test_a_plugin_is_told_the_cluster_where_it_asks_for_it(worker: Cluster, tmp_path: Path) -> None:
    user = _plugin(tmp_path, {"token": worker.tokens["admin"]})
    user["exec"]["provideClusterInfo"] = True
    (tmp_path / "ca.pem").write_text(worker.authority, "utf-8")
    extension = {"name": "client.authentication.k8s.io/exec", "extension": {"audience": "a"}}
    cluster = {
        "certificate-authority-data": None,
        "certificate-authority": "ca.pem",
        "extensions": [extension],
    }
    _ask(_edited(worker, tmp_path / "config", _PATH, user=user, cluster=cluster))
    told = json.loads(_runs(tmp_path)[0].split(" ", 2)[2])["spec"]["cluster"]
    assert told == {
        "server": worker.server,
        "certificate-authority-data": b64encode(worker.authority.encode()).decode(),
        "config": {"audience": "a"},
    }


def test_a_plugin_may_issue_certificates(tmp_path: Path) -> None:
    with _whoami(tmp_path) as server:
        status = {
            "clientCertificateData": (tmp_path / "server.crt").read_text("utf-8"),
            "clientKeyData": (tmp_path / "server.key").read_text("utf-8"),
        }
        assert _name(_edited(server, tmp_path / "config", _PATH, user=_plugin(tmp_path, status))) == ("jane", "")


@pytest.mark.parametrize(
    ("script", "names"),
    [
        ("echo secret >&2; exit 3", ["3"]),
        ("echo secret", ["ExecCredential"]),
        ("echo '{}'", ["ExecCredential"]),
        ('echo \'{"apiVersion": "other", "status": {"token": "secret"}}\'', []),
    ],
)
def test_a_plugin_that_fails_is_told_without_what_it_said(
    worker: Cluster, tmp_path: Path, script: str, names: list[str]
) -> None:
    api = _edited(worker, tmp_path / "config", _PATH, user=_plugin(tmp_path, {}))
    (tmp_path / "bin" / "plugin").write_text(f"#!/bin/sh\n{script}\n", "utf-8")
    with refused(Expected(Code.CREDENTIAL_PLUGIN, "plugin", *names), kind=ClusterError) as caught:
        _ask(api)
    assert "secret" not in str(caught.value)


def test_a_plugin_that_fails_in_the_middle_of_a_run_ends_what_is_asked_alone(worker: Cluster, tmp_path: Path) -> None:
    api = _edited(worker, tmp_path / "config", _PATH, user=_plugin(tmp_path, {"token": "revoked"}))
    asked, status = (shlex.quote(str(tmp_path / name)) for name in ("asked", "status"))
    script = f"#!/bin/sh\n[ -e {asked} ] && exit 3\n: > {asked}\nexec cat {status}\n"
    (tmp_path / "bin" / "plugin").write_text(script, "utf-8")
    with refused(Expected(Code.CREDENTIAL_PLUGIN, "plugin", "3"), kind=ClusterError):
        _ask(api)


def test_a_plugin_that_cannot_serve_is_refused_at_once(worker: Cluster, tmp_path: Path) -> None:
    user = _plugin(tmp_path, {})
    user["exec"] |= {"interactiveMode": "Always"}
    with refused(Code.CREDENTIAL_PLUGIN):
        _edited(worker, tmp_path / "config", _PATH, user=user)
    user["exec"] |= {"apiVersion": "client.authentication.k8s.io/v1alpha1"}
    with refused(Code.CREDENTIAL_PLUGIN):
        _edited(worker, tmp_path / "config", _PATH, user=user)


def test_a_provider_of_old_kubeconfigs_gives_its_token(worker: Cluster, tmp_path: Path) -> None:
    parts = ({"alg": "none"}, {"exp": 4070908800})
    token = ".".join((*(b64encode(json.dumps(part).encode()).decode().strip("=") for part in parts), "sig"))
    user = {"token": None, "auth-provider": {"name": "oidc", "config": {"id-token": token}}}
    with refused(Code.REQUEST_REFUSED, kind=ClusterError):  # it was shown
        _ask(_edited(worker, tmp_path / "1", user=user))
    user = {"token": None, "auth-provider": {"name": "unheard", "config": {}}}
    with refused(Code.CREDENTIALS_UNUSABLE, kind=ClusterError):
        _ask(_edited(worker, tmp_path / "2", user=user))


@contextmanager
def _issuer(folder: Path) -> Iterator[tuple[str, list[str]]]:
    """An OpenID provider whose authority nobody knows, and what it was asked."""
    asked: list[str] = []

    class Issuer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self._say({"token_endpoint": f"https://{self.headers['Host']}/token"})

        def do_POST(self) -> None:
            asked.append(self.rfile.read(int(self.headers["Content-Length"])).decode())
            self._say({"access_token": "a", "token_type": "Bearer", "id_token": "e30.e30.new", "refresh_token": "r2"})

        def _say(self, body: dict[str, str]) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(json.dumps(body).encode())

        def log_message(self, *_: Any) -> None:
            pass

    issue(folder, "issuer")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "server.crt", folder / "server.key")
    with HTTPServer(("127.0.0.1", 0), Issuer) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"https://127.0.0.1:{server.server_port}", asked
        server.shutdown()


def test_an_issuer_of_tokens_that_no_known_authority_vouches_for_gets_no_refresh_token(
    worker: Cluster, tmp_path: Path
) -> None:
    parts = ({"alg": "none"}, {"exp": 1})
    token = ".".join((*(b64encode(json.dumps(part).encode()).decode().strip("=") for part in parts), "sig"))
    with _issuer(tmp_path) as (address, asked):
        config = {"id-token": token, "refresh-token": "r", "client-id": "c", "client-secret": "s"}
        config["idp-issuer-url"] = address
        user = {"token": None, "auth-provider": {"name": "oidc", "config": config}}
        with refused(Code.CREDENTIALS_UNUSABLE, kind=ClusterError):
            _ask(_edited(worker, tmp_path / "1", user=user))
        assert asked == []
        config["idp-certificate-authority-data"] = b64encode((tmp_path / "ca.crt").read_bytes()).decode()
        with refused(Code.REQUEST_REFUSED, kind=ClusterError):  # the new token was shown
            _ask(_edited(worker, tmp_path / "2", user=user))
    assert asked[0] == "/.well-known/openid-configuration"
    assert "refresh_token=r" in asked[1]
