"""Requests and answers on the connections of urllib3, within limits of time and size.

Timeouts of sockets start again with each byte, so a server that sends a byte a second could block a request forever.
Each read and write on these connections checks the limits of the :class:`Exchange` that it belongs to.
"""

from __future__ import annotations

import io
import re
import socket
import ssl
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cached_property
from http import HTTPStatus
from http.client import HTTPException, HTTPResponse
from threading import Event
from typing import TYPE_CHECKING, Any, Final

from httptools import HttpParserCallbackError, HttpParserError, HttpParserUpgrade, HttpResponseParser

from osm_gitops.bounded.files import shown_size

if TYPE_CHECKING:
    from urllib3 import HTTPConnectionPool
    from urllib3.util.ssltransport import SSLTransport


_HEAD: Final = 256 << 10
"""Limit in bytes of status lines and headers, including those of 1xx answers and of a proxy."""

_PIECE: Final = 64 << 10
_LOOK: Final = 1.0  # seconds between checks for an interruption
_LENGTHS: Final = frozenset({b"content-length", b"transfer-encoding"})  # without them a body ends with the connection
_UNKNOWN: Final = -1
_UNSENDABLE: Final = re.compile(r"[^\t -~\x80-\xff]")


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

    def request(self, target: str, headers: Iterable[tuple[str, str]]) -> bytes:
        """The bytes of an HTTP/1.1 request. Raises LostError if they would be more than one request."""
        lines = [f"{self.method} {target} HTTP/1.1", *(f"{name}: {value}" for name, value in headers)]
        if self.body is not None:
            lines += [f"Content-Type: {self.content_type}", f"Content-Length: {len(self.body)}"]
        if " " in target or any(map(_UNSENDABLE.search, lines)):
            raise LostError("its path or a header has a character that HTTP does not allow", sent=False, final=True)
        return "\r\n".join((*lines, "", "")).encode("latin-1") + (self.body or b"")


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
    """An answer whose head was read. Its body can be read once.

    Its parser calls the methods ``on_…``, which raise nothing: it would hide what they raise.
    """

    def __init__(self, connection: _Connection, pool: Any) -> None:
        self.status = _UNKNOWN
        self._headers: dict[bytes, bytes] = {}
        self._body = bytearray()  # what was received and not asked for yet
        self._complete = self._reusable = False
        self._connection = connection
        self._pool = pool
        self._exchange = _CURRENT.get()
        self._exchange.head_begins()
        self._parser = HttpResponseParser(self)
        while self.status == _UNKNOWN:
            self._receive()
        if self.status < 100:
            raise _not_http()
        self._exchange.body_begins()

    def on_message_begin(self) -> None:
        self._reusable = False  # it is the answer, or more than the answer

    def on_header(self, name: bytes, value: bytes) -> None:
        if self.status == _UNKNOWN:  # otherwise it comes after the body
            self._headers.setdefault(name.lower(), value)

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        if self._complete:
            return
        if 100 <= status < 200 and status != HTTPStatus.SWITCHING_PROTOCOLS:
            self._headers.clear()  # the answer comes after it
        else:
            self.status = status

    def on_body(self, data: bytes) -> None:
        if not self._complete:
            self._body += data

    def on_message_complete(self) -> None:
        if self.status != _UNKNOWN and not self._complete:
            self._complete, self._reusable = True, self._parser.should_keep_alive()

    def header(self, name: str) -> str:
        """Its first value, or an empty text."""
        return self._headers.get(name.lower().encode(), b"").decode("latin-1").strip()

    def read(self) -> bytes:
        """The rest of the body. Raises LostError at a limit of the exchange."""
        most = self._exchange.most
        while not self._complete and len(self._body) <= most:
            self._receive()
        self._exchange.check_length(len(self._body))
        return self._taken()

    def read_some(self) -> bytes:
        """The next bytes of the body, as soon as there are any; empty at the end."""
        while not self._complete and not self._body:
            self._receive()
        return self._taken()

    def _taken(self) -> bytes:
        taken = bytes(self._body)
        self._body.clear()
        return taken

    def _receive(self) -> None:
        buffer = self._connection.buffer
        count = self._exchange.receive(self._connection.sock, buffer)
        if count == 0:
            if self.status == _UNKNOWN or not _LENGTHS.isdisjoint(self._headers):
                raise LostError("the connection broke off")
            self._complete = True  # without a length it ends with the connection
            return
        try:
            self._parser.feed_data(buffer[:count])
        except HttpParserCallbackError as failure:
            # A signal came while it called a method, or there was no memory.
            raise MemoryError if isinstance(failure.__context__, MemoryError) else KeyboardInterrupt from failure
        except (HttpParserError, HttpParserUpgrade):
            self._reusable = False
            if not self._complete:
                raise _not_http() from None

    def close(self) -> None:
        """Let other requests have the connection. It is closed unless the whole answer was read."""
        self._body.clear()  # a traceback may keep this object
        self.__dict__.pop("_parser", None)  # they refer to each other
        if not self._reusable:
            self._connection.close()
        self._pool._put_conn(self._connection)


def _not_http() -> LostError:
    return LostError("the answer is not HTTP", final=True)


class _Connection:
    """Mixed into urllib3's connections, which it opens and closes. What is sent and received here is not left to
    urllib3 and http.client: reading the heads of answers took them a sixth of a run that sends thousands of requests.
    """

    sock: Any
    close: Callable[[], None]

    @cached_property
    def buffer(self) -> memoryview:
        return memoryview(bytearray(_PIECE))

    def send(self, data: bytes) -> None:
        """Send it in one piece, as each gives up the interpreter's lock, for which the other threads of a run wait."""
        exchange, left = _CURRENT.get(), memoryview(data)
        while left:
            left = left[exchange.transmit(self.sock, left[:_PIECE]) :]


class _Pool:
    """Mixed into urllib3's pools, which open connections, also through proxies, and keep them.

    What it calls has an underscore, as urllib3 means it for subclasses: tests of ``kube`` notice what changes there.
    """

    def ask(self, request: bytes, connect: float) -> Reply:
        from urllib3 import exceptions  # noqa: PLC0415 - slow

        pool: Any = self
        left = _CURRENT.get().left()
        connection = pool._get_conn(timeout=left)
        try:
            if connection.is_closed:
                connection.timeout = min(left, connect)
                if pool.proxy is not None and pool.scheme == "https":
                    pool._prepare_proxy(connection)
                else:
                    connection.connect()
            with suppress(BrokenPipeError, ConnectionResetError):  # it may have answered before it hung up
                connection.send(request)
            return Reply(connection, pool)
        except BaseException as fault:
            # Without a tunnel urllib3 has closed the connection, which then counts as not connected.
            before_server = connection.proxy and not connection.has_connected_to_proxy
            connection.close()
            pool._put_conn(connection)
            # http.client reads only what proxies say.
            faults = (HTTPException, OSError, exceptions.HTTPError) if before_server else HTTPException
            if isinstance(fault, faults):
                raise exceptions.ProxyError("unreachable", fault) from fault
            raise


def bounded(pool: type[HTTPConnectionPool]) -> type[HTTPConnectionPool]:
    """A class of pools whose connections check the limits of the current exchange."""
    connection = type("Connection", (_Connection, pool.ConnectionCls), {"response_class": _ProxyResponse})
    return type("Pool", (_Pool, pool), {"ConnectionCls": connection})


class Socket(ssl.SSLSocket):
    """A socket whose timeout is only set if it changes, as that is a system call."""

    def settimeout(self, value: float | None) -> None:
        if value != self.gettimeout():
            super().settimeout(value)


class _ProxyResponse(HTTPResponse):
    """A proxy's answer to CONNECT, which http.client reads, through the exchange."""

    def __init__(self, sock: socket.socket, *args: Any, **more: Any) -> None:
        super().__init__(sock, *args, **more)
        exchange = _CURRENT.get()
        exchange.head_begins()
        self.fp: io.BufferedReader = io.BufferedReader(_Wire(sock, self.fp.detach(), exchange))


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
