"""Servers on loopback that are slow, endless, lying or dead: what a client of HTTP may meet behind an address."""

from __future__ import annotations

import gzip
import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import yaml

Behaviour = Callable[[socket.socket, int], None]
"""What a server does with one connection, once it has read the head of a request; and the number of that request."""

_PIECE: Final = 1 << 16


class Hostile:
    """A server that does the same to every request. ``asked`` counts them."""

    def __init__(self, behaviour: Behaviour) -> None:
        self.asked = 0
        self._behaviour = behaviour
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self._open: list[socket.socket] = []
        self.address = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def kubeconfig(self, path: Path) -> Path:
        """A kubeconfig that leads here."""
        body = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "hostile",
            "contexts": [{"name": "hostile", "context": {"cluster": "it", "user": "it"}}],
            "clusters": [{"name": "it", "cluster": {"server": self.address}}],
            "users": [{"name": "it", "user": {"token": "a-token-of-nobody"}}],
        }
        path.write_text(yaml.safe_dump(body), "utf-8")
        return path

    def close(self) -> None:
        for each in (self._listener, *self._open):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                self._open.append(connection)
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        # A client that has had enough is what this is for.
        with connection, suppress(OSError), connection.makefile("rb") as reader:
            while head := _head(reader):
                reader.read(int(head.get(b"content-length", b"0")))
                self.asked += 1
                self._behaviour(connection, self.asked)


def _head(reader: Any) -> dict[bytes, bytes]:
    lines = iter(reader.readline, b"\r\n")
    found = {b"request": next(lines, b"")}
    if not found[b"request"]:
        return {}
    for line in lines:
        if not line:
            return {}
        name, _, value = line.partition(b":")
        found[name.strip().lower()] = value.strip()
    return found


@contextmanager
def hostile(behaviour: Behaviour) -> Iterator[Hostile]:
    """A server that ends with this context."""
    server = Hostile(behaviour)
    try:
        yield server
    finally:
        server.close()


def head(*lines: str, status: str = "200 OK") -> bytes:
    return "\r\n".join((f"HTTP/1.1 {status}", *lines, "", "")).encode("latin-1")


def whole(body: bytes, *lines: str, status: str = "200 OK") -> Behaviour:
    """One answer with the right length."""
    text = head(f"Content-Length: {len(body)}", *lines, status=status) + body
    return lambda connection, _: connection.sendall(text)


def says(value: Any) -> Behaviour:
    """An answer in JSON."""
    return whole(json.dumps(value).encode(), "Content-Type: application/json")


def once(text: bytes) -> Behaviour:
    """These bytes, and then the end of the connection."""

    def act(connection: socket.socket, _number: int) -> None:
        connection.sendall(text)
        connection.shutdown(socket.SHUT_RDWR)

    return act


def forever(start: bytes, again: bytes, pause: float = 0.0) -> Behaviour:
    """``start``, and then ``again`` and again; with a ``pause`` of seconds each time."""
    rest = threading.Event()  # never set: it waits and can be interrupted by the end of the process alone

    def act(connection: socket.socket, _number: int) -> None:
        connection.sendall(start)
        block = again if pause else again * max(1, _PIECE // len(again))
        while True:
            connection.sendall(block)
            if pause:
                rest.wait(pause)

    return act


def silent(connection: socket.socket, _number: int) -> None:
    """Not one byte, until the client hangs up."""
    connection.recv(1)


_BIG: Final = json.dumps({"metadata": {"name": "known", "namespace": "default"}, "data": {"a": "x" * 100}}).encode()
_CHUNKED: Final = head("Transfer-Encoding: chunked")
_DRIP: Final = 0.02


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


SLOW: Final[dict[str, Behaviour]] = {
    "dead": silent,
    "a byte of the first line now and then": forever(b"HTTP/1.1 200 ", b"O", _DRIP),
    "a header now and then": forever(b"HTTP/1.1 200 OK\r\n", b"A: b\r\n", _DRIP),
    "a byte of a header now and then": forever(b"HTTP/1.1 200 OK\r\nA: ", b"b", _DRIP),
    "100 Continue now and then": forever(b"", head(status="100 Continue"), _DRIP),
    "a byte of the body now and then": forever(head("Content-Length: 1000000"), b" ", _DRIP),
    "a body without length, now and then": forever(head(), b" ", _DRIP),
    "a chunk now and then": forever(_CHUNKED, chunk(b" "), _DRIP),
    "a byte of a chunk's length now and then": forever(_CHUNKED, b"0", _DRIP),
    "a trailer now and then": forever(_CHUNKED + b"0\r\n", b"A: b\r\n", _DRIP),
}
"""What holds a request as long as it likes, where only the wait for one byte has a limit."""

ENDLESS: Final[dict[str, tuple[Behaviour, str]]] = {
    "first line": (forever(b"HTTP/1.1 200 ", b"O"), "the head of the answer is larger than 256 KiB"),
    "status": (forever(b"HTTP/1.1 ", b"2"), "is not HTTP"),
    "headers": (forever(b"HTTP/1.1 200 OK\r\n", b"A: b\r\n"), "the head of the answer is larger than 256 KiB"),
    "one header": (
        forever(b"HTTP/1.1 200 OK\r\nA: ", b"b" * 1000),
        "the head of the answer is larger than 256 KiB",
    ),
    "100 Continue": (forever(b"", head(status="100 Continue")), "the head of the answer is larger than 256 KiB"),
    "102 Processing with headers": (
        forever(b"", head("A: b", status="100 Continue")),
        "the head of the answer is larger than 256 KiB",
    ),
    "announced body": (forever(head("Content-Length: 99999999999999"), b" "), "the answer is larger than 16 MiB"),
    "body": (forever(head(), b" " * 1000), "the answer is larger than 16 MiB"),
    "chunks": (forever(_CHUNKED, chunk(b" " * 1000)), "the answer is larger than 16 MiB"),
    "chunks of one byte": (forever(_CHUNKED, chunk(b" ")), "the answer is larger than 16 MiB"),
    "length of a chunk": (forever(_CHUNKED, b"0" * 1000), "the answer is larger than 16 MiB"),
    "extension of a chunk": (forever(_CHUNKED + b"1;", b"a" * 1000), "the answer is larger than 16 MiB"),
    "trailers": (forever(_CHUNKED + b"0\r\n", b"A: b\r\n"), "the answer is larger than 16 MiB"),
}
"""What never ends, and what is said of it."""

_LENGTH: Final = f"Content-Length: {len(_BIG)}"

FAIR: Final[dict[str, tuple[bytes, bool]]] = {
    "length": (head(_LENGTH) + _BIG, True),
    "chunks": (_CHUNKED + chunk(_BIG[:9]) + chunk(_BIG[9:]) + chunk(b""), True),
    "trailer": (_CHUNKED + chunk(_BIG) + b"0\r\nContent-Encoding: gzip\r\n\r\n", True),
    "names in capitals": (head(_LENGTH.upper(), "CONTENT-ENCODING: Identity") + _BIG, True),
    "100 Continue before it": (head(status="100 Continue") + head(_LENGTH) + _BIG, True),
    "103 Early Hints before it": (head("Content-Length: 5", status="103 Early Hints") + head(_LENGTH) + _BIG, True),
    "no length": (head() + _BIG, False),
    "the last on its connection": (head(_LENGTH, "Connection: close") + _BIG, False),
    "HTTP/1.0": ((head(_LENGTH) + _BIG).replace(b"/1.1", b"/1.0"), False),
}
"""Answers as the protocol allows them, and whether another one may follow on the connection."""

_BOMB: Final = gzip.compress(b" " * (64 << 20))

LYING: Final[dict[str, tuple[Behaviour, str]]] = {
    "more announced than sent": (once(head("Content-Length: 100000") + _BIG), "the connection broke off"),
    "a negative length": (once(head("Content-Length: -5") + _BIG), "is not HTTP"),
    "a length that is no number": (once(head("Content-Length: many") + _BIG), "is not HTTP"),
    "two lengths": (once(head("Content-Length: 5", "Content-Length: 6") + _BIG), "the answer is not HTTP"),
    "a length of 10,000 digits": (once(head(f"Content-Length: {'9' * 10_000}") + _BIG), "is not HTTP"),
    "a chunk whose length is no number": (once(_CHUNKED + b"zz\r\n" + _BIG), "is not HTTP"),
    "a negative chunk": (once(_CHUNKED + b"-5\r\n" + _BIG), "is not HTTP"),
    "a length, and chunks": (
        once(head(f"Content-Length: {len(_BIG)}", "Transfer-Encoding: chunked") + chunk(_BIG) + chunk(b"")),
        "is not HTTP",
    ),
    "chunks of gzip": (
        once(head("Transfer-Encoding: gzip, chunked") + chunk(_BIG) + chunk(b"")),
        r"the answer is encoded \(gzip, chunked\)",
    ),
    "gzip until the end": (once(head("Transfer-Encoding: gzip") + _BIG), r"the answer is encoded \(gzip\)"),
    "a status below 100": (once(head("Content-Length: 2", status="099 No") + b"{}"), "is not HTTP"),
    "a status of zeros": (once(head("Content-Length: 2", status="000 No") + b"{}"), "is not HTTP"),
    "lines that end with a line feed alone": (once(b"HTTP/1.1 200 OK\nContent-Length: 2\n\n{}"), "is not HTTP"),
    "half a head": (once(b"HTTP/1.1 200 OK\r\nContent-Le"), "the connection broke off"),
    "another protocol": (once(head("Upgrade: x", "Connection: upgrade", status="101 Yes") + _BIG), "101"),
    "gzip that was not asked for": (whole(_BOMB, "Content-Encoding: gzip"), r"the answer is encoded \(gzip\)"),
    "layers of gzip": (whole(_BOMB, "Content-Encoding: gzip, gzip"), r"the answer is encoded \(gzip, gzip\)"),
    "gzip, and more after it": (
        once(head(_LENGTH, "Content-Encoding: gzip") + _BIG + head(status="100 Continue")),
        r"the answer is encoded \(gzip\)",
    ),
    "an encoding that is none": (whole(_BIG, f"Content-Encoding: {'x' * 9000}"), r"the answer is encoded \(x{40}\)"),
    "HTML": (whole(b"<html>please log in</html>", "Content-Type: text/html"), "not a JSON object: it is not JSON"),
    "nothing of HTTP": (once(b"SSH-2.0-OpenSSH_9.6\r\n"), "is not HTTP"),
    "TLS": (once(b"\x15\x03\x01\x00\x02\x02\x16" * 100), "is not HTTP"),
    "a redirection to itself": (whole(b"", "Location: /", status="302 Found"), "a redirection"),
    "JSON that is a list": (says([]), "a list or a single value"),
    "JSON that is nested": (whole(b'{"a":' + b"[" * 400 + b"]" * 400 + b"}"), "is nested more than 150 deep"),
    "JSON that is nested without end": (whole(b"[" * 1_000_000), "is nested more than 150 deep"),
    "JSON that is no UTF-8": (whole(b'{"a": "\xff\xfe"}'), "is not UTF-8 text"),
    "half a surrogate pair": (whole(b'{"a": "\\ud800"}'), "contains a lone surrogate"),
    "half a surrogate pair in a key": (whole(b'{"\\udfff": 1}'), "contains a lone surrogate"),
    "a surrogate in UTF-8": (whole(b'{"a": "\xed\xa0\x80"}'), "is not UTF-8 text"),
    "an infinite number": (whole(b'{"a": 1e400}'), "is not JSON"),
    "a number of 10,000 digits": (whole(b'{"a": 1' + b"0" * 10_000 + b"}"), "is not JSON"),
    "NaN": (whole(b'{"a": NaN}'), "is not JSON"),
}
"""What is not what it says, and what is said of it."""
