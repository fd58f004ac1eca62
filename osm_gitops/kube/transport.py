"""Requests that survive what servers and networks do: time limits, retries with pauses, renewed credentials."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cached_property
from http.client import HTTPException, IncompleteRead, RemoteDisconnected
from typing import TYPE_CHECKING, Final
from urllib.parse import urlencode

from osm_gitops import __version__
from osm_gitops.errors import ClusterError, Code, InputError, Problem
from osm_gitops.kube.credentials import Credentials, Identity
from osm_gitops.kube.exchange import Exchange, LostError, exchanging
from osm_gitops.kube.pool import Server, open_pool, present

if TYPE_CHECKING:
    from urllib3 import BaseHTTPResponse, PoolManager


_LONGEST_RETRY_AFTER = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """Seconds, and ways to wait that tests replace.

    ``connect`` bounds making a connection, ``read`` every wait for more bytes, ``total`` a request with all of its
    tries to the last byte of the answer. A server that never answered is given up after ``strange`` tries: its address
    may be wrong. Without ``sleep`` a pause ends when the run is interrupted.
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
        """How long to wait after so many tries: twice as long each time, and never many clients at the same moment."""
        wait = min(self.longest, self.first * 2.0 ** (tried - 1))
        jittered = wait * (0.5 + self.chance() / 2)
        return max(jittered, self._asked(retry_after) + self.first * self.chance())

    def _asked(self, retry_after: str) -> float:
        """What a Retry-After asks for, seconds or a date; nothing that makes no sense, and never more than a minute."""
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
# Server-side apply answers the first to an object that does not fit its schema, and any write the second where a
# webhook has no pod: no other try helps.
_FINAL = (b"failed to create typed patch object", b"failed calling webhook")
_AGENT = f"osm-gitops/{__version__}"
_UNREACHED = "Check the address, the network between here and there, and that the API server runs"
_DISTRUSTED = "Check the address, and the certificate-authority and tls-server-name of the kubeconfig"
_LYING = "Check that the address is that of an API server"
_HEAD = 1000
_CHUNK = 1 << 20
_DIGITS = 20  # of a Content-Length

OBJECT: Final = 16 << 20
"""Bytes of an answer that is one object: etcd takes no larger ones than 1.5 MiB."""
PAGE_OF_OBJECTS: Final = 64 << 20
"""Bytes of a page of a list."""


@dataclass(frozen=True, slots=True)
class Call:
    """A request: ``body`` is JSON text, ``accept`` and ``content_type`` are media types, ``most`` bytes of an answer.

    An answer that is larger is not read.
    """

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = field(default=None, repr=False)
    content_type: str = "application/json"
    accept: str = "application/json"
    most: int = OBJECT


@dataclass(frozen=True, slots=True)
class Answer:
    """``unsure``: an earlier try got no answer, so that the server may have carried the request out before."""

    status: int
    data: bytes = field(repr=False)
    retry_after: str = ""
    unsure: bool = False


class OversizedError(ClusterError):
    """An answer that is larger than a request allows."""


class Transport:
    """Connections to one server as one user. Thread-safe."""

    def __init__(self, server: Server, credentials: Credentials, patience: RetryPolicy, where: str) -> None:
        self.server = server
        self.requests = 0
        self._credentials = credentials
        self._patience = patience
        self._where = where
        self._lock = threading.Lock()
        self._presented: Identity | None = None
        self._known = False  # it has answered before
        self._interrupted = threading.Event()

    @cached_property
    def _pool(self) -> PoolManager:
        return open_pool(self.server)

    def close(self) -> None:
        """End the connections; a further request makes new ones."""
        pool = self.__dict__.get("_pool")
        if pool is not None:
            pool.clear()

    def hurry(self) -> None:
        """The run was interrupted: what is under way gets two seconds more, and nothing is tried again."""
        self._interrupted.set()

    def send(self, call: Call, check: Callable[[], None] | None = None) -> Answer:
        """The answer, of whatever status, after all tries. Raises ClusterError where there is none.

        ``check`` may end it before each try of what changes something.
        """
        patience = self._patience
        until = patience.clock() + patience.total
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
                limit = patience.tries if self._known else patience.strange
                wait = patience.pause(tried)
                if lost.final or self._interrupted.is_set() or tried >= limit or patience.clock() + wait >= until:
                    raise self._unanswered(call, lost, tried) from None
            else:
                self._known = True
                if answer.status == 401 and not renewed and self._renew(identity):
                    renewed = True
                    continue
                wait = patience.pause(tried, answer.retry_after)
                final = answer.status not in _AGAIN or any(each in answer.data[:_HEAD] for each in _FINAL)
                final = final or self._interrupted.is_set()
                if final or tried >= patience.tries or patience.clock() + wait >= until:
                    return replace(answer, unsure=unsure)
                unsure = unsure or answer.status != 429
            (patience.sleep or self._interrupted.wait)(wait)

    def _identity(self) -> Identity:
        """As whom to ask, shown to the pool."""
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
                        self._pool.clear()
                    present(self._pool, identity, self._where)
                    self._presented = identity

    def _once(self, call: Call, identity: Identity, until: float) -> Answer:
        from urllib3 import HTTPHeaderDict, Timeout  # noqa: PLC0415 - slow

        with self._lock:
            self.requests += 1
        headers = HTTPHeaderDict(identity.headers, **{"User-Agent": _AGENT, "Accept": call.accept})
        if call.body is not None:
            headers["Content-Type"] = call.content_type
        url = f"{self.server.url}{call.path}{f'?{urlencode(call.query)}' if call.query else ''}"
        exchange = Exchange(self._patience.clock, until, self._patience.read, call.most, self._interrupted)
        left = max(0.001, until - self._patience.clock())
        if self._interrupted.is_set():
            left = min(left, exchange.grace)
        limits = Timeout(connect=min(left, self._patience.connect), read=min(left, self._patience.read))
        try:
            with exchanging(exchange):
                response = self._pool.urlopen(
                    call.method,
                    url,
                    body=call.body,
                    headers=headers,
                    retries=False,
                    redirect=False,
                    timeout=limits,
                    pool_timeout=left,
                    preload_content=False,
                    decode_content=False,
                )
                data = _read(response, exchange)
            return Answer(response.status, data, response.headers.get("Retry-After", ""))
        except KeyboardInterrupt:
            self.hurry()  # what ends the run may ask this server for more: not for minutes
            raise
        except Exception as fault:
            lost = _explain(fault)
            if lost is None:
                raise
            raise lost from None

    def _unanswered(self, call: Call, lost: LostError, tried: int) -> ClusterError:
        times = "once" if tried == 1 else f"{tried} times"
        # Without a colon behind the path: what follows "…-token:" would be masked.
        what = f"{call.method} {call.path} failed, {lost.what} (tried {times})"
        fix = lost.fix or (_LYING if lost.final else _UNREACHED)
        return (OversizedError if lost.oversized else ClusterError)(
            [Problem(Code.API_SERVER_UNREACHABLE, what, where=self._where, fix=fix)]
        )


def _read(response: BaseHTTPResponse, exchange: Exchange) -> bytes:
    """The whole body. Raises LostError at a limit of the exchange, and for an encoding that was not asked for."""
    data = bytearray()
    try:
        length = response.headers.get("Content-Length", "")
        # More digits than Python takes for a number are a length all the same.
        exchange.check_length(int(length[:_DIGITS]) if length.isascii() and length.isdecimal() else 0)
        encoding = response.headers.get("Content-Encoding", "").strip()
        if encoding.lower() not in {"", "identity"}:
            raise LostError(f"the answer is encoded ({encoding[:40]}), which was not asked for", final=True)
        for chunk in response.stream(_CHUNK, decode_content=False):
            data += chunk
    except BaseException:
        data.clear()  # the traceback would keep it, and that of the next try the next
        response.close()  # what is left of the answer must not be taken for the next one
        response.release_conn()  # and others may wait for the place of its connection
        raise
    response.release_conn()
    if not data and response.headers.get("Content-Length") != "0":
        raise LostError("the connection broke off")  # in the head, which the library takes for the whole
    return bytes(data)


@contextmanager
def _in_a_run() -> Iterator[None]:
    """Credentials that cannot be had in the middle of a run are no fault of input: raises ClusterError instead."""
    try:
        yield
    except InputError as failure:
        raise ClusterError(failure.problems) from None


def _explain(fault: Exception) -> LostError | None:
    """What became of a request, without what libraries write: it may hold the proxy's password."""
    from urllib3 import exceptions  # noqa: PLC0415 - slow

    if isinstance(fault, LostError):
        return fault
    if isinstance(fault, exceptions.SSLError):
        detail = getattr(fault.args[0] if fault.args else None, "verify_message", "")
        if detail:
            what = f"its certificate is not trusted: {detail}"
            return LostError(what, sent=False, final=True, fix=_DISTRUSTED)
        return LostError("the encrypted connection broke off")
    if isinstance(fault, exceptions.ProxyError):
        return LostError("the proxy does not let it through", sent=False)
    if isinstance(fault, exceptions.NameResolutionError):
        return LostError("its name cannot be resolved", sent=False)
    if isinstance(fault, exceptions.NewConnectionError):  # before timeouts, of which it is a kind
        refused = isinstance(fault.__cause__, ConnectionRefusedError)
        return LostError("the connection is refused" if refused else "there is no way to it", sent=False)
    if isinstance(fault, (exceptions.ConnectTimeoutError, exceptions.EmptyPoolError)):  # the latter: none became free
        return LostError("no connection within the time limit", sent=False)
    if isinstance(fault, exceptions.TimeoutError):
        return LostError("no answer within the time limit")
    # What http.client and urllib3 make of lines that they cannot read, and of a negative length.
    inner = fault.args[-1] if isinstance(fault, exceptions.ProtocolError) else None
    broken = isinstance(inner, (RemoteDisconnected, IncompleteRead))
    unreadable = isinstance(fault, ValueError) or (isinstance(inner, HTTPException) and not broken)
    if unreadable or isinstance(inner, exceptions.InvalidChunkLength) or "chunk size line" in str(inner):
        return LostError("the answer is not HTTP")
    return LostError("the connection broke off") if isinstance(fault, (exceptions.HTTPError, OSError)) else None
