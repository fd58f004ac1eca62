"""A proxy between a client and an API server that does what networks and busy servers do, when a test says so.

It ends TLS with a certificate of its own, passes requests on, and keeps a list of them. A test scripts what goes
wrong: ``proxy.when(lose, method="PATCH", path="/secrets/", nth=3)`` has the third such request carried out and its
answer lost.
"""

from __future__ import annotations

import http.client
import json
import socket
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from email.message import Message
from functools import partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from osm_gitops.commands.boot.lane.authority import issue
from tests.apiserver.cluster import Cluster

_SECONDS = 60
WRITES = frozenset({"POST", "PUT", "PATCH", "DELETE"})
_REASONS = {
    400: "BadRequest",
    403: "Forbidden",
    409: "Conflict",
    410: "Expired",
    422: "Invalid",
    429: "TooManyRequests",
    500: "InternalError",
    503: "ServiceUnavailable",
    504: "Timeout",
}
# What belongs to one connection, not to the message.
_OWN = frozenset({"connection", "content-length", "transfer-encoding", "host", "accept-encoding"})


@dataclass(frozen=True, slots=True)
class Request:
    """``path`` is without the query. ``body`` is what was sent, ``status`` what was answered: 0 for no whole answer."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)
    status: int = 0

    @property
    def is_write(self) -> bool:
        return self.method in WRITES

    @property
    def is_watch(self) -> bool:
        return self.query.get("watch") in {"1", "true"}


@dataclass(frozen=True, slots=True)
class Reply:
    """What the client gets, head and body. With ``cut`` it breaks off there, as a slice does."""

    status: int
    data: bytes = field(repr=False)
    cut: int | None = None


Forward = Callable[[], Reply]
Fault = Callable[[Request, Forward], Reply]


def drop(_request: Request, _forward: Forward) -> Reply:
    """The connection breaks, and the server never hears of the request."""
    return Reply(0, b"", 0)


def lose(_request: Request, forward: Forward) -> Reply:
    """The server carries the request out, and the connection breaks before its answer."""
    return Reply(0, forward().data, 0)


def cut(after: int) -> Fault:
    """The server carries the request out, and the connection breaks after so many bytes; negative: that many early."""
    return lambda _request, forward: Reply(0, forward().data, after)


def answer(status: int, *, retry_after: str = "", message: str = "no", details: Any = None) -> Fault:
    """An answer that the server did not give, a Status as it gives them; it never hears of the request."""
    body = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": _REASONS.get(status, "Unknown"),
        "details": details or {},
        "code": status,
    }
    headers = {"Content-Type": "application/json"} | ({"Retry-After": retry_after} if retry_after else {})
    return lambda _request, _forward: _reply(status, headers, json.dumps(body).encode())


def text(status: int, content: str, headers: Mapping[str, str] | None = None) -> Fault:
    """An answer as a gateway in between gives it."""
    return lambda _request, _forward: _reply(status, {"Content-Type": "text/html", **(headers or {})}, content.encode())


def during(action: Callable[[], Any], *, after: bool = False) -> Fault:
    """Something happens just before the request is passed on, or once it was carried out; then all goes well."""

    def act(_request: Request, forward: Forward) -> Reply:
        if not after:
            action()
            return forward()
        reply = forward()
        action()
        return reply

    return act


@dataclass(slots=True)
class _Rule:
    fault: Fault
    fits: Callable[[Request], bool]
    skip: int
    left: int | None

    def takes(self, request: Request) -> bool:
        """Whether this is one of those that it is for. To be asked once of each request."""
        if self.left == 0 or not self.fits(request):
            return False
        if self.skip:
            self.skip -= 1
            return False
        if self.left is not None:
            self.left -= 1
        return True


class Proxy:
    """``cluster`` is the cluster as it is seen through it: with another address and authority."""

    def __init__(self, behind: Cluster, folder: Path) -> None:
        issue(folder, "proxy")
        self.seen: list[Request] = []
        self._behind = behind
        self._rules: list[_Rule] = []
        self._lock = threading.Condition()
        self._busy = 0
        self._streams: set[ssl.SSLSocket] = set()
        trust = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        trust.load_cert_chain(folder / "server.crt", folder / "server.key")
        self.listener = _Listener(self, trust)
        authority = (folder / "ca.crt").read_text("utf-8")
        address = f"https://127.0.0.1:{self.listener.server_address[1]}"
        self.cluster = Cluster(behind.name, address, authority, behind.tokens, behind.audit)

    def when(
        self,
        fault: Fault,
        *,
        method: str = "",
        path: str = "",
        nth: int = 1,
        times: int | None = 1,
        fits: Callable[[Request], bool] = lambda _request: True,
    ) -> None:
        """From the nth request on of this method, with this in its path, that many have the fault; None: all."""

        def chosen(request: Request) -> bool:
            return method in ("", request.method) and path in request.path and fits(request)

        with self._lock:
            self._rules.append(_Rule(fault, chosen, nth - 1, times))

    def clear(self) -> None:
        """All goes well from now on, and the list of requests is empty."""
        with self._lock:
            self._rules.clear()
            self.seen.clear()

    @property
    def writes(self) -> list[Request]:
        return [request for request in self.seen if request.is_write]

    def reply_to(self, request: Request, forward: Forward) -> Reply:
        """What becomes of a request."""
        with self._lock:
            fault = next((rule.fault for rule in self._rules if rule.takes(request)), None)
            place = len(self.seen)
            self.seen.append(request)
            self._busy += not request.is_watch
        reply = Reply(0, b"", 0)
        try:
            reply = fault(request, forward) if fault else forward()
        finally:
            with self._lock:
                self._busy -= not request.is_watch
                self._lock.notify_all()
                if place < len(self.seen):
                    self.seen[place] = replace(request, status=reply.status)
        return reply

    def rest(self) -> None:
        """Wait until nothing is under way any more: what was sent by a client that is dead now."""
        with self._lock:
            assert self._lock.wait_for(lambda: not self._busy, _SECONDS)

    def pass_on(self, connection: http.client.HTTPSConnection, request: Request, target: str) -> Reply:
        """The server's own answer."""
        headers = {name: value for name, value in request.headers.items() if name.lower() not in _OWN}
        connection.request(request.method, target, request.body or None, headers)
        response = connection.getresponse()
        body = response.read()
        kept = {name: value for name, value in response.getheaders() if name.lower() not in _OWN}
        return _reply(response.status, kept, body)

    def stream(self, request: Request, target: str, client: ssl.SSLSocket) -> Reply:
        """The server's answer to a watch, passed on as it comes, until one side or :meth:`hang_up` ends it."""
        upstream = self.connect()
        with self._lock:
            self._streams.add(client)
        try:
            headers = {name: value for name, value in request.headers.items() if name.lower() not in _OWN}
            upstream.request(request.method, target, None, headers)
            response = upstream.getresponse()
            if response.status != HTTPStatus.OK:
                kept = {name: value for name, value in response.getheaders() if name.lower() not in _OWN}
                return _reply(response.status, kept, response.read())
            client.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n")
            with suppress(OSError):  # it hung up
                while piece := response.read1():
                    client.sendall(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
                client.sendall(b"0\r\n\r\n")
            return Reply(response.status, b"", 0)
        finally:
            with self._lock:
                self._streams.discard(client)
            upstream.close()

    def hang_up(self) -> int:
        """Break the connections of all watches; how many there were."""
        with self._lock:
            streams = list(self._streams)
        for client in streams:
            with suppress(OSError):
                socket.socket.shutdown(client, socket.SHUT_RDWR)
        return len(streams)

    def connect(self) -> http.client.HTTPSConnection:
        """A connection to the server behind."""
        trust = ssl.create_default_context(cadata=self._behind.authority)
        return http.client.HTTPSConnection(urlsplit(self._behind.server).netloc, timeout=_SECONDS, context=trust)


def _reply(status: int, headers: Mapping[str, str], body: bytes) -> Reply:
    phrase = HTTPStatus(status).phrase
    lines = [f"HTTP/1.1 {status} {phrase}", *(f"{name}: {value}" for name, value in headers.items())]
    head = "\r\n".join([*lines, f"Content-Length: {len(body)}", "", ""])
    return Reply(status, head.encode("latin-1") + body)


class _Listener(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(self, proxy: Proxy, trust: ssl.SSLContext) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.proxy = proxy
        self._trust = trust

    def get_request(self) -> tuple[socket.socket, Any]:
        connection, address = super().get_request()
        # The handshake is for the connection's own thread.
        return self._trust.wrap_socket(connection, server_side=True, do_handshake_on_connect=False), address

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that end in the middle are what it is for."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    timeout = _SECONDS
    server: _Listener
    headers: Message[str, str]

    def handle(self) -> None:
        self._upstream = self.server.proxy.connect()
        try:
            super().handle()
        finally:
            self._upstream.close()

    def _any(self) -> None:
        parts = urlsplit(self.path)
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        request = Request(self.command, parts.path, dict(parse_qsl(parts.query)), dict(self.headers.items()), body)
        proxy = self.server.proxy
        forward = partial(proxy.pass_on, self._upstream, request, self.path)
        if request.is_watch:
            forward = partial(proxy.stream, request, self.path, self.request)
        reply = proxy.reply_to(request, forward)
        self.wfile.write(reply.data[: reply.cut])
        if reply.cut is not None:
            self.close_connection = True
            with suppress(OSError):
                self.connection.shutdown(socket.SHUT_RDWR)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _any  # noqa: N815 - the names that http.server looks for

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - its name in http.server
        """Nothing: tests look at ``Proxy.seen``."""


@contextmanager
def proxied(cluster: Cluster, folder: Path) -> Iterator[Proxy]:
    """A proxy in front of a cluster, with its certificates in a folder."""
    proxy = Proxy(cluster, folder)
    thread = threading.Thread(target=proxy.listener.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield proxy
    finally:
        proxy.cluster.close()
        proxy.listener.shutdown()
        proxy.listener.server_close()
        thread.join()
