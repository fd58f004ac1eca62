"""GitHub, GitLab and Gitea as small servers on this machine, with faults at any request."""

from __future__ import annotations

import json
import re
import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from osm_gitops.forge.place import ForgeKind
from tests.forge.dialects import Dialect, GiteaDialect, GitHubDialect, GitLabDialect
from tests.forge.repository import TOKEN, Asked, FakeForge, Fault

Json = Any


def _answer(forge: FakeForge, asked: Asked) -> tuple[int, Json]:
    """Status and content of a request that is understood."""
    if asked.token != TOKEN:
        return 401, {"message": "Bad credentials"}
    dialects: dict[ForgeKind, Dialect] = {
        ForgeKind.GITHUB: GitHubDialect(forge),
        ForgeKind.GITLAB: GitLabDialect(forge),
    }
    for pattern, method, do in dialects.get(forge.kind, GiteaDialect(forge)).routes:
        found = re.fullmatch(pattern, asked.path)
        if found and method == asked.method:
            return do(asked, *(int(each) for each in found.groups()))
    return 404, {"message": "404 Not Found"}


def _bytes(fault: Fault, asked: Asked) -> bytes:
    # The worst that a server may say: the token that it was sent.
    return (
        b"<html>Sign in</html>" if fault is Fault.NOT_JSON else json.dumps({"message": f"no, {asked.token}"}).encode()
    )


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # head and body in one packet: the second would wait for an acknowledgement
    forge: FakeForge

    def _do(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        content = json.loads(self.rfile.read(length)) if length else None
        parts = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        token = self.headers.get("Authorization", "").rpartition(" ")[2]
        asked = Asked(self.command, unquote(parts.path), query, token, content, parts.path)
        self.forge.asked.append(asked)
        fault = self.forge.faults.get(len(self.forge.asked))
        if fault is not None:
            self._fail(fault, asked)
            return
        status, body = _answer(self.forge, asked)
        self._send(status, b"" if body is None else json.dumps(body).encode())

    def _fail(self, fault: Fault, asked: Asked) -> None:
        self.close_connection = fault in {Fault.RESET, Fault.UNSURE, Fault.TIMEOUT, Fault.HUGE}
        if fault is Fault.UNSURE:
            _answer(self.forge, asked)
        if fault in {Fault.RESET, Fault.UNSURE}:
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()
        elif fault is Fault.TIMEOUT:
            self.forge.hold.wait()
        elif fault is Fault.HUGE:
            self.send_response(200)
            self.send_header("Content-Length", str(1 << 40))
            self.end_headers()
        else:
            self._send(fault.value if isinstance(fault.value, int) else 200, _bytes(fault, asked))

    def _send(self, status: int, data: bytes) -> None:
        self.send_response(status)
        if status in {302, 429}:
            self.send_header("Location", f"{self.forge.elsewhere}{self.path}")
            self.send_header("Retry-After", "1")
        if status != 204:
            self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = _do  # noqa: N815 - the names that the base class calls

    def log_message(self, *_: object) -> None:
        """Nothing: the requests are kept."""


@contextmanager
def serving(kind: ForgeKind) -> Iterator[FakeForge]:
    """The server of a forge, until the end of the block."""
    forge = FakeForge(kind)
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"forge": forge}))
    server.daemon_threads = True
    forge.address = f"http://127.0.0.1:{server.server_port}"
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield forge
    finally:
        forge.hold.set()
        server.shutdown()
        server.server_close()
        thread.join()
