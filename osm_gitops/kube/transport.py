"""Requests with timeouts, retries and renewed credentials."""

from __future__ import annotations

import random
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cached_property
from typing import Final

from osm_gitops import __version__
from osm_gitops.errors import ClusterError, Code, InputError, Problem
from osm_gitops.kube.connections import Server, ServerConnections
from osm_gitops.kube.credentials import Credentials, Identity
from osm_gitops.kube.wire import Call, Exchange, LostError, Reply

_LONGEST_RETRY_AFTER = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """Timeouts in seconds, and clocks that tests replace.

    ``connect`` limits opening a connection, ``read`` each wait for more bytes, ``total`` a request with all retries. A
    server that never answered gets only ``strange`` attempts: its address may be wrong. Without ``sleep`` a pause ends
    when the run is interrupted.
    """

    connect: float = 10.0
    read: float = 60.0
    total: float = 180.0
    tries: int = 8
    strange: int = 3
    first: float = 0.25
    longest: float = 15.0
    sleep: Callable[[float], None] | None = None
    clock: Callable[[], float] = time.monotonic
    chance: Callable[[], float] = random.random
    today: Callable[[], datetime] = lambda: datetime.now(UTC)

    def pause(self, tried: int, retry_after: str = "") -> float:
        """Seconds to wait before the next attempt: exponential, with jitter."""
        wait = min(self.longest, self.first * 2.0 ** (tried - 1))
        jittered = wait * (0.5 + self.chance() / 2)
        return max(jittered, self._asked(retry_after) + self.first * self.chance())

    def _asked(self, retry_after: str) -> float:
        """The seconds of a Retry-After header (seconds or a date), at most a minute; 0 if it is invalid."""
        text = retry_after.strip()
        if text.isascii() and text.isdigit():
            return min(float(text), _LONGEST_RETRY_AFTER)
        try:
            at = parsedate_to_datetime(text)
        except (ValueError, OverflowError):
            return 0.0
        moment = at if at.tzinfo else at.replace(tzinfo=UTC)
        return min(max(0.0, (moment - self.today()).total_seconds()), _LONGEST_RETRY_AFTER)


RETRY_POLICY = RetryPolicy()


_AGAIN = frozenset({429, 500, 502, 503, 504})
# Answers for which a retry is useless: an object that does not match its schema, and a webhook without pods.
_FINAL = (b"failed to create typed patch object", b"failed calling webhook")
_HEADERS = (("Accept-Encoding", "identity"), ("User-Agent", f"osm-gitops/{__version__}"))
_PLAIN = {"Content-Encoding": {"", "identity"}, "Transfer-Encoding": {"", "chunked"}}
_UNREACHED = "Check the address, the network, and that the API server runs"
_DISTRUSTED = "Check the address, and the certificate-authority and tls-server-name of the kubeconfig"
_LYING = "Check that the address is that of an API server"
_HEAD = 1000

PAGE_OF_OBJECTS: Final = 64 << 20
"""Limit in bytes of a page of a list."""


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer. ``unsure``: an earlier attempt got no answer, so the server may have executed it."""

    status: int
    data: bytes = field(repr=False)
    retry_after: str = ""
    unsure: bool = False


class OversizedError(ClusterError):
    """An answer is larger than the request allows."""


class Transport:
    """Sends requests to one server as one user. Thread-safe."""

    def __init__(self, server: Server, credentials: Credentials, retries: RetryPolicy, where: str) -> None:
        self.server = server
        self.requests = 0
        self._credentials = credentials
        self._retries = retries
        self._where = where
        self._lock = threading.Lock()
        self._presented: Identity | None = None
        self._known = False  # it has answered before
        self._interrupted = threading.Event()

    @cached_property
    def _connections(self) -> ServerConnections:
        return ServerConnections(self.server)

    def close(self) -> None:
        """Close the connections. A later request opens new ones."""
        connections = self.__dict__.get("_connections")
        if connections is not None:
            connections.close()

    def hurry(self) -> None:
        """After an interruption: give running requests two seconds, and stop retries."""
        self._interrupted.set()

    def send(self, call: Call, check: Callable[[], None] | None = None) -> Answer:
        """The answer, with any status, after retries. Raises ClusterError if there is none.

        ``check`` is called before each attempt of a write.
        """
        retries = self._retries
        until = retries.clock() + retries.total
        tried, unsure, renewed = 0, False, False
        while True:
            tried += 1
            identity = self._identity()
            if check is not None and call.method != "GET":
                check()
            try:
                answer = self._once(call, identity, until)
            except LostError as lost:
                unsure = unsure or lost.sent
                limit = retries.tries if self._known else retries.strange
                wait = retries.pause(tried)
                if lost.final or self._interrupted.is_set() or tried >= limit or retries.clock() + wait >= until:
                    raise self._unanswered(call, lost, tried) from None
            else:
                self._known = True
                if answer.status == 401 and not renewed and self._renew(identity):
                    renewed = True
                    continue
                final = answer.status not in _AGAIN or any(each in answer.data[:_HEAD] for each in _FINAL)
                final = final or self._interrupted.is_set() or tried >= retries.tries
                wait = 0.0 if final else retries.pause(tried, answer.retry_after)
                if final or retries.clock() + wait >= until:
                    return replace(answer, unsure=True) if unsure else answer
                unsure = unsure or answer.status != 429
            (retries.sleep or self._interrupted.wait)(wait)

    def _identity(self) -> Identity:
        """The current identity, after its certificate was given to the connections."""
        with _in_a_run():
            identity = self._credentials.get()
            self._present(identity)
        return identity

    def _renew(self, refused: Identity) -> bool:
        with _in_a_run():
            return self._credentials.renew(refused)

    def _present(self, identity: Identity) -> None:
        if identity is not self._presented:
            with self._lock:
                if identity is not self._presented:
                    if self._presented is not None and identity.certificate != self._presented.certificate:
                        self._connections.close()
                    self._connections.present(identity, self._where)
                    self._presented = identity

    def stream(self, call: Call, silence: float, total: float) -> tuple[Answer, Iterator[bytes]]:
        """An answer with its lines as they arrive, without retries; with another status than 200, its data.

        The answer may take ``total`` seconds, in which the server may pause for ``silence``. ``call.most`` limits a
        line. Raises ClusterError, while lines are read too.
        """
        clock = self._retries.clock
        exchange = Exchange(clock, clock() + total, silence, call.most, self._interrupted, look=silence)
        identity = self._identity()
        data = b""
        try:
            with self._explained():
                response = self._open(call, identity, exchange)
                if response.status == 401 and self._renew(identity):
                    _read(response, exchange)
                    response = self._open(call, self._identity(), exchange)
                if response.status != 200:
                    data = _read(response, exchange)
        except LostError as lost:
            raise self._unanswered(call, lost, 1) from None
        self._known = True
        lines = self._lines(call, response, exchange) if response.status == 200 else iter(())
        return Answer(response.status, data, response.header("Retry-After")), lines

    def _lines(self, call: Call, response: Reply, exchange: Exchange) -> Iterator[bytes]:
        rest = b""
        try:
            with self._explained():
                while chunk := response.read_some():
                    exchange.body_begins()  # the limit is that of a line
                    *lines, rest = (rest + chunk).split(b"\n")
                    if len(rest) > call.most:
                        raise LostError("a line of the answer is too large", final=True)
                    yield from filter(None, lines)
        except LostError as lost:
            raise self._unanswered(call, lost, 1) from None
        finally:
            response.close()

    def _once(self, call: Call, identity: Identity, until: float) -> Answer:
        exchange = Exchange(self._retries.clock, until, self._retries.read, call.most, self._interrupted)
        with self._explained():
            response = self._open(call, identity, exchange)
            retry_after = response.header("Retry-After")
            if call.most == 0:
                response.close()
                return Answer(response.status, b"", retry_after)
            return Answer(response.status, _read(response, exchange), retry_after)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Turn errors of libraries into LostErrors."""
        try:
            yield
        except KeyboardInterrupt:
            self.hurry()  # the end of the run may send more requests, which must not take minutes
            raise
        except Exception as fault:
            lost = _explain(fault)
            if lost is None:
                raise
            raise lost from None

    def _open(self, call: Call, identity: Identity, exchange: Exchange) -> Reply:
        """Send a request, and read the head of its answer."""
        with self._lock:
            self.requests += 1
        headers = (*_HEADERS, ("Accept", call.accept), *identity.headers)
        return self._connections.open(call, headers, exchange, self._retries.connect)

    def _unanswered(self, call: Call, lost: LostError, tried: int) -> ClusterError:
        times = "once" if tried == 1 else f"{tried} times"
        # No colon after the path: text after "…-token:" would be masked.
        what = f"{call.method} {call.path} failed, {lost.what} (tried {times})"
        fix = lost.fix or (_LYING if lost.final else _UNREACHED)
        return (OversizedError if lost.oversized else ClusterError)(
            [Problem(Code.API_SERVER_UNREACHABLE, what, where=self._where, fix=fix)]
        )


def _read(response: Reply, exchange: Exchange) -> bytes:
    """The whole body. Raises LostError at a limit of the exchange, and for an unexpected encoding."""
    try:
        exchange.check_length(int(response.header("Content-Length") or 0))
        for name, plain in _PLAIN.items():
            encoding = response.header(name)
            if encoding.lower() not in plain:
                raise LostError(f"the answer is encoded ({encoding[:40]}), which was not requested", final=True)
        return response.read()
    finally:
        response.close()


@contextmanager
def _in_a_run() -> Iterator[None]:
    """Turn an InputError into a ClusterError: credentials that fail during a run are not a fault of the input."""
    try:
        yield
    except InputError as failure:
        raise ClusterError(failure.problems) from None


def _explain(fault: Exception) -> LostError | None:
    """The reason of a failure, without the text of libraries, which may contain the proxy's password."""
    from urllib3 import exceptions  # noqa: PLC0415 - slow

    if isinstance(fault, LostError):
        return fault
    if isinstance(fault, exceptions.ProxyError):
        return LostError("the proxy does not let it through", sent=False)
    if isinstance(fault, ssl.SSLError):
        if not isinstance(fault, ssl.SSLCertVerificationError):
            return LostError("the encrypted connection broke off")
        what = f"its certificate is not trusted: {fault.verify_message}"
        return LostError(what, sent=False, final=True, fix=_DISTRUSTED)
    if isinstance(fault, exceptions.NameResolutionError):
        return LostError("its name cannot be resolved", sent=False)
    if isinstance(fault, exceptions.NewConnectionError):  # before timeouts: it is a subclass of them
        refused = isinstance(fault.__cause__, ConnectionRefusedError)
        return LostError("the connection is refused" if refused else "no route to host", sent=False)
    if isinstance(fault, (exceptions.ConnectTimeoutError, exceptions.EmptyPoolError)):
        return LostError("no connection within the time limit", sent=False)  # the latter: all were busy
    if isinstance(fault, TimeoutError):  # of TLS or of a proxy: the rest is limited by exchanges
        return LostError("no answer within the time limit")
    if isinstance(fault, exceptions.LocationValueError):
        return LostError("its address is invalid", sent=False, final=True, fix=_UNREACHED)
    outside = isinstance(fault, (exceptions.HTTPError, OSError))
    return LostError("the connection broke off") if outside else None
