"""Connections to one server: TLS, proxies, keep-alive, and limits of time and size for each request.

Timeouts of sockets start again with each byte, and http.client reads 1xx answers without end: a server that sends a
byte a second could block a request forever. So each read and write on these connections checks the limits of the
:class:`Exchange` that it belongs to.
"""

from __future__ import annotations

import io
import re
import socket
import ssl
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from http.client import HTTPResponse
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlencode, urlsplit, urlunsplit

from osm_gitops.bounded.files import shown_size
from osm_gitops.errors import Code, InputError, input_error
from osm_gitops.kube.credentials import Identity, content
from osm_gitops.kube.kubeconfig import Entry

if TYPE_CHECKING:
    from urllib3 import BaseHTTPResponse, HTTPConnectionPool, PoolManager
    from urllib3.util.ssltransport import SSLTransport


_HEAD: Final = 256 << 10
"""Limit in bytes of status lines and headers, including those of 1xx answers and of a proxy."""

_PIECE: Final = 64 << 10
_LOOK: Final = 1.0  # seconds between checks for an interruption


OBJECT: Final = 16 << 20
"""Limit in bytes of an answer with one object: etcd accepts at most 1.5 MiB."""


@dataclass(frozen=True, slots=True)
class Call:
    """A request: ``body`` is JSON text, ``accept`` and ``content_type`` are media types, ``most`` is the limit of the
    answer in bytes. With ``most`` 0 only its status is wanted, and the rest is not read."""

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = field(default=None, repr=False)
    content_type: str = "application/json"
    accept: str = "application/json"
    most: int = OBJECT


class LostError(Exception):
    """There is no complete answer. ``what`` is the reason, as part of a sentence.

    ``sent``: the server may have received the request. ``final``: a retry is useless. ``oversized``: the answer is too
    large.
    """

    def __init__(
        self, what: str, *, sent: bool = True, final: bool = False, oversized: bool = False, fix: str = ""
    ) -> None:
        super().__init__(what)
        self.what = what
        self.sent = sent
        self.final = final
        self.oversized = oversized
        self.fix = fix


@dataclass(slots=True)
class Exchange:
    """One request and its answer. It ends at ``until`` by ``clock``; the server may pause for ``wait`` seconds.

    ``most`` is the limit of a body in bytes. After ``interrupted`` a running request has ``grace`` seconds; that is
    noticed within ``look`` seconds.
    """

    clock: Callable[[], float]
    until: float
    wait: float
    most: int
    interrupted: Event
    grace: float = 2.0
    look: float = _LOOK
    _left: int = _HEAD
    _in_body: bool = False

    def head_begins(self) -> None:
        self._left, self._in_body = _HEAD, False

    def body_begins(self) -> None:
        self._left, self._in_body = self.most + 1, True

    def left(self) -> float:
        """Seconds until the end, more than 0."""
        left = self.until - self.clock()
        if self.interrupted.is_set() and self.grace:
            left = min(left, self.grace)
        return max(0.001, left)

    def receive(self, sock: socket.socket, buffer: memoryview) -> int:
        """Read bytes of the answer; 0 at its end. Raises LostError at a limit."""
        if self._left <= 0:
            raise self._oversized()
        count = self._patiently(sock, lambda: sock.recv_into(buffer[: self._left]), self.look)
        self._left -= count
        return count

    def transmit(self, sock: socket.socket | SSLTransport, piece: memoryview) -> int:
        """Send bytes of the request; returns how many were sent. Raises LostError at a limit."""
        # urllib3's TLS to a proxy cannot be asked again: it may have sent a part.
        look = self.look if isinstance(sock, socket.socket) else self.wait
        return self._patiently(sock, lambda: sock.send(piece), look)  # type: ignore[arg-type]  # takes any buffer

    def _patiently(self, sock: socket.socket | SSLTransport, call: Callable[[], int], look: float) -> int:
        silent = self.clock() + self.wait
        while True:
            sock.settimeout(min(look, self._remaining(silent)))
            try:
                return call()
            except TimeoutError:
                continue

    def check_length(self, announced: int) -> None:
        """Raise LostError if the announced body is too large."""
        if announced > self.most:
            raise self._oversized()

    def _remaining(self, silent: float) -> float:
        now = self.clock()
        if self.interrupted.is_set() and self.grace:
            self.until = min(self.until, now + self.grace)
            self.grace = 0.0  # once: each further look would shorten it
        if now >= self.until:
            raise LostError("the answer took too long")
        if now >= silent:
            raise LostError("no answer within the time limit")
        return max(0.001, min(self.until, silent) - now)

    def _oversized(self) -> LostError:
        if not self._in_body:
            return LostError(f"the head of the answer is larger than {shown_size(_HEAD)}", final=True)
        return LostError(f"the answer is larger than {shown_size(self.most)}", final=True, oversized=True)


_CURRENT: ContextVar[Exchange] = ContextVar("exchange")


@contextmanager
def exchanging(exchange: Exchange) -> Iterator[None]:
    """Apply the limits of ``exchange`` to connections that this thread uses."""
    before = _CURRENT.set(exchange)
    try:
        yield
    finally:
        _CURRENT.reset(before)


def bound(pool: PoolManager) -> None:
    """Make new connections of a pool check the limits of the current exchange."""
    classes: dict[str, Any] = pool.pool_classes_by_scheme
    pool.pool_classes_by_scheme = {
        scheme: type(f"Bounded{each.__name__}", (each,), {"ConnectionCls": _bounded(each.ConnectionCls)})
        for scheme, each in classes.items()
    }


def _bounded(connection: Any) -> Any:
    """A class of connections that check the limits of the current exchange.

    A request is sent as one piece, and timeouts are set where they change: each such call gives up the interpreter's
    lock, for which the other threads of a run wait.
    """

    class Bounded(connection):  # type: ignore[misc]
        response_class = _Response
        held: bytearray | None = None

        def request(self, *request: Any, **more: Any) -> None:
            if self.sock is not None:
                self.timeout = self.sock.gettimeout()  # it is set for each piece
            self.held = bytearray()
            try:
                super().request(*request, **more)
                whole = self.held
            finally:
                self.held = None
            self.send(whole)

        def send(self, data: Any) -> None:
            if self.held is not None:
                self.held += data  # heads and bodies are bytes here
                return
            if self.sock is None:
                self.connect()
            exchange, left = _CURRENT.get(), memoryview(data)
            while left:
                left = left[exchange.transmit(self.sock, left[:_PIECE]) :]

    return Bounded


class _Socket(ssl.SSLSocket):
    """A socket whose timeout is only set if it changes, as that is a system call."""

    def settimeout(self, value: float | None) -> None:
        if value != self.gettimeout():
            super().settimeout(value)


class _Response(HTTPResponse):
    """An answer that is read through its exchange."""

    def __init__(self, sock: socket.socket, *args: Any, **more: Any) -> None:
        super().__init__(sock, *args, **more)
        self._exchange = _CURRENT.get()
        self._exchange.head_begins()
        self.fp: io.BufferedReader = io.BufferedReader(_Wire(sock, self.fp.detach(), self._exchange))

    def begin(self) -> None:
        super().begin()
        self._exchange.body_begins()


class _Wire(io.RawIOBase):
    """The bytes of a socket. ``held`` is http.client's reader, which keeps the socket open until it is closed."""

    def __init__(self, sock: socket.socket, held: io.RawIOBase, exchange: Exchange) -> None:
        self._sock = sock
        self._held = held
        self._exchange = exchange

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        return self._exchange.receive(self._sock, memoryview(buffer))

    def close(self) -> None:
        self._held.close()
        super().close()


_CONNECTIONS = 64


@dataclass(frozen=True, slots=True)
class Server:
    """A server of a kubeconfig. ``proxy`` may be empty; ``authority`` is PEM, empty for the system's. ``url`` has no
    userinfo."""

    url: str
    authority: bytes = field(repr=False)
    name: str
    insecure: bool
    proxy: str = field(repr=False)
    no_proxy: str

    @classmethod
    def of(cls, cluster: Entry, environment: Mapping[str, str]) -> Server:
        """Raises InputError for an invalid address or an unreadable authority file."""
        url = _address(cluster)
        given = cluster.text("proxy-url")
        from_environment, no_proxy = ("", "") if given else proxy_for(url, environment)
        return cls(
            url,
            content(cluster, "certificate-authority"),
            cluster.text("tls-server-name"),
            cluster.body.get("insecure-skip-tls-verify") is True,
            given or from_environment,
            no_proxy,
        )


def _address(cluster: Entry) -> str:
    text = cluster.text("server").rstrip("/")
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), None
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.query or parts.fragment:
        what = "the server is not an address such as https://10.0.0.1:6443"
        raise input_error(Code.SERVER_ADDRESS, what, where=str(cluster.path), field="clusters[].cluster.server")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{parts.scheme}://{host}{f':{port}' if port else ''}{parts.path}"


def proxy_for(url: str, environment: Mapping[str, str]) -> tuple[str, str]:
    """The proxy from the environment, as Go reads it: never for the local host."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if host == "localhost" or host.startswith("127.") or host == "::1":
        return "", ""
    names = (f"{parts.scheme}_proxy".upper(), f"{parts.scheme}_proxy")
    proxy = next((environment[name] for name in names if environment.get(name)), "")
    if proxy and "://" not in proxy:
        proxy = f"http://{proxy}"
    return proxy, environment.get("NO_PROXY") or environment.get("no_proxy") or ""


class ServerConnections:
    """Connections to one server, opened on demand and kept. A request waits if all are busy. Raises InputError for
    settings that no connection can be opened with."""

    def __init__(self, server: Server) -> None:
        self._manager = _open_manager(server)
        self._url = server.url
        parts = urlsplit(server.url)
        # Only such a proxy is told the whole address.
        absolute = self._manager.proxy is not None and parts.scheme == "http"
        self._prefix = server.url if absolute else urlunsplit(("", "", parts.path, parts.query, ""))
        self._pool: HTTPConnectionPool | None = None

    def open(self, call: Call, headers: Mapping[str, str], exchange: Exchange, connect: float) -> BaseHTTPResponse:
        """Send a request, and read the head of its answer. A new connection may take ``connect`` seconds."""
        from urllib3 import Timeout  # noqa: PLC0415 - slow

        pool = self._pool
        if pool is None:
            # Asked once: the manager would parse the address for each request.
            pool = self._pool = self._manager.connection_from_url(self._url)
        left = exchange.left()
        query = f"?{urlencode(call.query)}" if call.query else ""
        with exchanging(exchange):
            return pool.urlopen(
                call.method,
                f"{self._prefix}{call.path}{query}" or "/",
                body=call.body,
                headers=headers,
                retries=False,
                redirect=False,
                assert_same_host=False,
                timeout=Timeout(connect=min(left, connect), read=exchange.look),
                pool_timeout=left,  # type: ignore[arg-type]  # urllib3 takes fractions, too
                preload_content=False,
                decode_content=False,
            )

    def close(self) -> None:
        """Close the connections. A later request opens new ones."""
        self._pool = None
        self._manager.clear()

    def present(self, identity: Identity, where: str) -> None:
        """Use the identity's certificate for new connections. Raises InputError."""
        context = self._manager.connection_pool_kw.get("ssl_context")
        if not identity.certificate or context is None:
            return
        # Python reads them only from files. These are deleted before the first request.
        with tempfile.TemporaryDirectory() as folder:
            certificate, key = Path(folder, "certificate"), Path(folder, "key")
            certificate.write_bytes(identity.certificate)
            key.touch(mode=0o600)
            key.write_bytes(identity.key)
            try:
                context.load_cert_chain(certificate, key, password="")  # otherwise Python asks on the terminal
            except (ssl.SSLError, ValueError):
                raise _unusable(where) from None


def _open_manager(server: Server) -> PoolManager:
    import urllib3  # noqa: PLC0415 - slow

    # urllib3 would print warnings: about disabled verification, which the user chose, and about SOCKS proxies.
    urllib3.disable_warnings(urllib3.exceptions.InsecureRequestWarning)
    urllib3.disable_warnings(urllib3.exceptions.DependencyWarning)
    # Imported only for proxies: loading the kubernetes client takes as long as planning a thousand pools.
    pool = _proxied_pool(server) if server.proxy else urllib3.PoolManager(maxsize=_CONNECTIONS)
    bound(pool)
    pool.connection_pool_kw |= {"block": True}
    if server.url.startswith("https"):
        pool.connection_pool_kw["ssl_context"] = _trust(server)
        if server.name:
            pool.connection_pool_kw["server_hostname"] = server.name
    return pool


def _proxied_pool(server: Server) -> PoolManager:
    import urllib3  # noqa: PLC0415 - slow
    from kubernetes.client import Configuration  # noqa: PLC0415 - slow
    from kubernetes.client.rest import RESTClientObject  # noqa: PLC0415 - slow

    # Without a proxy it would search for one in the environment of the process.
    # A host that ends with a dot has the same name without it, and no entry of NO_PROXY has one.
    host = re.sub(r"\.(?=[:/]|$)", "", server.url)
    settings = Configuration(host=host, proxy=server.proxy, no_proxy=server.no_proxy)
    settings.verify_ssl = not server.insecure
    settings.connection_pool_maxsize = _CONNECTIONS
    try:
        userinfo = urlsplit(server.proxy).netloc.rpartition("@")[0]
        if userinfo:
            settings.proxy_headers = urllib3.make_headers(proxy_basic_auth=userinfo)
        pool: PoolManager = RESTClientObject(settings).pool_manager
    except ImportError:
        raise input_error(
            Code.PROXY_UNUSABLE, "a SOCKS proxy needs the package PySocks", fix="Install it, or name an HTTP proxy"
        ) from None
    except (urllib3.exceptions.HTTPError, ValueError):
        raise input_error(
            Code.PROXY_UNUSABLE, "the proxy's address is invalid", fix="Correct proxy-url or HTTPS_PROXY"
        ) from None
    return pool


def _trust(server: Server) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.sslsocket_class = _Socket
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    # As in Go, authorities need neither be roots nor have all extensions.
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if server.insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    elif server.authority:
        try:
            context.load_verify_locations(cadata=_certificates(server.authority))
        except (ssl.SSLError, ValueError):
            raise input_error(
                Code.SERVER_CA_INVALID, "certificate-authority is not a PEM certificate", about=server.url
            ) from None
    else:
        context.load_default_certs()
    return context


def _certificates(text: bytes) -> str:
    """Only the certificates: such files may contain comments in any encoding."""
    blocks = re.findall(rb"-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", text, re.DOTALL)
    return "\n".join(block.decode("latin-1") for block in blocks)


def _unusable(where: str) -> InputError:
    what = "the client certificate or its key is not PEM, they do not match, or the key has a password"
    return input_error(Code.CREDENTIALS_UNUSABLE, what, where=where)
