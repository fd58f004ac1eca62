"""Requests and answers on the connections of urllib3, within limits of time and size.

Timeouts of sockets start again with each byte, and http.client reads 1xx answers without end: a server that sends a
byte a second could block a request forever. So each read and write on these connections checks the limits of the
:class:`Exchange` that it belongs to.
"""

from __future__ import annotations

import io
import socket
import ssl
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException, HTTPResponse, IncompleteRead
from threading import Event
from typing import TYPE_CHECKING, Any, Final

from osm_gitops.bounded.files import shown_size

if TYPE_CHECKING:
    from urllib3 import HTTPConnectionPool
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


class Reply:
    """An answer whose head was read. Its body can be read once."""

    def __init__(self, response: HTTPResponse, connection: Any, pool: Any) -> None:
        self.status = response.status
        self._response = response
        self._connection = connection
        self._pool = pool

    def header(self, name: str) -> str:
        """Its value, or an empty text."""
        return self._response.headers.get(name, "")

    def read(self, size: int) -> bytes:
        """The next ``size`` bytes, or what is left; empty at the end."""
        return self._checked(self._response.read(size))

    def read_some(self, size: int) -> bytes:
        """At most ``size`` bytes, as soon as there are any; empty at the end."""
        return self._checked(self._response.read1(size))

    def _checked(self, data: bytes) -> bytes:
        if not data and self._response.length:
            raise IncompleteRead(data, self._response.length)
        return data

    def close(self, *, whole: bool = False) -> None:
        """Let other requests have the connection. Unless the body was read as a ``whole``, it is closed."""
        self._response.close()
        if not whole:
            self._connection.close()
        self._pool._put_conn(self._connection)


class _Connection:
    """Mixed into urllib3's connections: requests and answers by http.client alone.

    urllib3's own do the same once more and take twice the time. A request is sent as one piece, as each piece gives up
    the interpreter's lock, for which the other threads of a run wait.
    """

    sock: Any
    connect: Any
    _held: bytearray | None = None

    def ask(self, call: Call, target: str, headers: Mapping[str, str]) -> HTTPResponse:
        connection: Any = self
        self._held = bytearray()
        try:
            HTTPConnection.request(connection, call.method, target, call.body, headers)
            whole = self._held
        finally:
            self._held = None
        with suppress(BrokenPipeError, ConnectionResetError):  # it may have answered before it hung up
            self.send(whole)
        return HTTPConnection.getresponse(connection)

    def send(self, data: Any) -> None:
        if self._held is not None:
            self._held += data  # heads and bodies are bytes here
            return
        if self.sock is None:
            self.connect()
        exchange, left = _CURRENT.get(), memoryview(data)
        while left:
            left = left[exchange.transmit(self.sock, left[:_PIECE]) :]


class _Pool:
    """Mixed into urllib3's pools, which open connections, also through proxies, and keep them.

    What it calls has an underscore, as urllib3 means it for subclasses: tests of ``kube`` notice what changes there.
    """

    def ask(self, call: Call, target: str, headers: Mapping[str, str], connect: float) -> Reply:
        from urllib3 import exceptions  # noqa: PLC0415 - slow

        pool: Any = self
        left = _CURRENT.get().left()
        connection = pool._get_conn(timeout=left)
        try:
            connection.timeout = min(left, connect)
            if connection.is_closed:
                if pool.proxy is not None and pool.scheme == "https":
                    pool._prepare_proxy(connection)
                pool._validate_conn(connection)
            return Reply(connection.ask(call, target, headers), connection, pool)
        except BaseException as fault:
            connection.close()
            pool._put_conn(connection)
            before_proxy = connection.proxy and not connection.has_connected_to_proxy
            if before_proxy and isinstance(fault, (OSError, HTTPException, exceptions.HTTPError)):
                raise exceptions.ProxyError("unreachable", fault) from fault
            raise


def bounded(pool: type[HTTPConnectionPool]) -> type[HTTPConnectionPool]:
    """A class of pools whose connections check the limits of the current exchange."""
    connection = type("Connection", (_Connection, pool.ConnectionCls), {"response_class": _Response})
    return type("Pool", (_Pool, pool), {"ConnectionCls": connection})


class Socket(ssl.SSLSocket):
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
        if len(set(self.headers.get_all("Content-Length", ()))) > 1:
            raise HTTPException("two lengths")
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
