"""One request and its answer, with one deadline and limits in bytes over all of it.

Time limits of sockets begin anew with every byte, and http.client reads 1xx answers for ever: a server that sends a
byte a second holds a request as long as it likes. So every read and write of these connections looks at the exchange
that it is part of.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from http.client import HTTPResponse
from threading import Event
from typing import TYPE_CHECKING, Any, Final

from osm_gitops.bounded.files import shown_size

if TYPE_CHECKING:
    import socket

    from urllib3 import PoolManager

_HEAD: Final = 256 << 10
"""Bytes of status lines and headers, those of 1xx answers and of a proxy included."""

_PIECE: Final = 64 << 10
_LOOK: Final = 1.0  # seconds after which a wait looks whether the run was interrupted


class LostError(Exception):
    """No answer, half of one, or one that is not read to its end. ``what`` continues a sentence.

    ``sent``: the server may have got the request; ``final``: another try is no use; ``oversized``: a smaller answer
    would be read.
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
    """``until`` is when all of it must be over, by ``clock``; ``wait`` the seconds that a server may send nothing.

    ``most`` are the bytes of a body. ``interrupted`` leaves ``grace`` seconds to what is under way.
    """

    clock: Callable[[], float]
    until: float
    wait: float
    most: int
    interrupted: Event
    grace: float = 2.0
    _left: int = _HEAD
    _in_body: bool = False

    def head_begins(self) -> None:
        self._left, self._in_body = _HEAD, False

    def body_begins(self) -> None:
        self._left, self._in_body = self.most + 1, True

    def receive(self, sock: socket.socket, buffer: memoryview) -> int:
        """Bytes of the answer; 0 at its end. Raises LostError at a limit."""
        if self._left <= 0:
            raise self._oversized()
        begun = self.clock()
        while True:
            sock.settimeout(min(_LOOK, self._remaining(begun + self.wait)))
            try:
                count = sock.recv_into(buffer[: self._left])
            except TimeoutError:
                continue
            self._left -= count
            return count

    def limit(self, sock: socket.socket) -> None:
        """Set how long the next piece of the request may take to be sent."""
        sock.settimeout(self._remaining(self.clock() + self.wait))

    def check_length(self, announced: int) -> None:
        """Raise LostError for a body of too many bytes before any of it is read."""
        if announced > self.most:
            raise self._oversized()

    def _remaining(self, silent: float) -> float:
        now = self.clock()
        if self.interrupted.is_set():
            self.until = min(self.until, now + self.grace)
            self.grace = 0.0
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
    """What this thread does on connections of :func:`bound` is part of ``exchange``."""
    before = _CURRENT.set(exchange)
    try:
        yield
    finally:
        _CURRENT.reset(before)


def bound(pool: PoolManager) -> None:
    """Have all connections that a pool makes from now on look at the exchange that they are part of."""
    classes: dict[str, Any] = pool.pool_classes_by_scheme
    pool.pool_classes_by_scheme = {
        scheme: type(f"Bounded{each.__name__}", (each,), {"ConnectionCls": _bounded(each.ConnectionCls)})
        for scheme, each in classes.items()
    }


def _bounded(connection: Any) -> Any:
    """The class of a connection whose every byte is counted, and must come in time."""

    class Bounded(connection):  # type: ignore[misc]
        response_class = _Response

        def send(self, data: Any) -> None:
            if self.sock is None:
                self.connect()
            pieces = memoryview(data)  # heads and bodies are bytes here
            for start in range(0, len(pieces), _PIECE):
                _CURRENT.get().limit(self.sock)
                super().send(pieces[start : start + _PIECE])

    return Bounded


class _Response(HTTPResponse):
    """An answer that is read by way of its exchange."""

    def __init__(self, sock: socket.socket, *args: Any, **more: Any) -> None:
        super().__init__(sock, *args, **more)
        self._exchange = _CURRENT.get()
        self._exchange.head_begins()
        self.fp: io.BufferedReader = io.BufferedReader(_Wire(sock, self.fp.detach(), self._exchange))

    def begin(self) -> None:
        super().begin()
        self._exchange.body_begins()


class _Wire(io.RawIOBase):
    """The bytes of a socket. ``held`` is http.client's own reader, which keeps the socket open until it is closed."""

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
