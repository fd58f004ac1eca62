"""A recorded API server: what a real one answered, with one value put in the place of another."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import yaml

from tests.apiserver.proxy import Fault, Forward, Proxy, Reply, Request

Answers = dict[str, Any]
"""JSON by what was asked."""


def recording(into: Answers) -> Fault:
    """Every good answer to a GET, written down on its way."""

    def note(request: Request, forward: Forward) -> Reply:
        reply = forward()
        if request.method == "GET" and reply.status == 200:
            into[_key(request.path, request.query, request.headers)] = json.loads(reply.data.partition(b"\r\n\r\n")[2])
        return reply

    return note


def record(proxy: Proxy) -> Answers:
    """What is asked of a cluster from now on."""
    found: Answers = {}
    proxy.when(recording(found), times=None)
    return found


def _key(path: str, query: Mapping[str, str], headers: Mapping[str, str]) -> str:
    """What makes an answer another one: which objects, and whether their metadata alone."""
    asked = {name: query[name] for name in sorted(query) if name.endswith("Selector")}
    return f"{path} {asked} {'Partial' in headers.get('Accept', '')}"


class Replayed:
    """``texts`` are the answers to GET; whoever writes gets its own object back, as if it had been stored.

    To what is written to a path with ``keeps`` in it there is no answer; ``waits`` is set when one is waited for.
    """

    def __init__(self) -> None:
        self.texts: dict[str, bytes] = {}
        self.waits = threading.Event()
        self.keeps = ""
        self._listener = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        self._listener.daemon_threads = True
        self._listener.block_on_close = False
        self._listener.replayed = self  # type: ignore[attr-defined]
        self.address = f"http://127.0.0.1:{self._listener.server_address[1]}"
        self._thread = threading.Thread(
            target=self._listener.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
        )
        self._thread.start()

    def kubeconfig(self, path: Path) -> Path:
        body = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "it",
            "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it"}}],
            "clusters": [{"name": "it", "cluster": {"server": self.address}}],
            "users": [{"name": "it", "user": {"token": "t"}}],
        }
        path.write_text(yaml.safe_dump(body), "utf-8")
        return path

    def close(self) -> None:
        self._listener.shutdown()
        self._listener.server_close()
        self._thread.join()


@contextmanager
def replayed() -> Iterator[Replayed]:
    server = Replayed()
    try:
        yield server
    finally:
        server.close()


_MISSING: Mapping[str, Any] = {"kind": "Status", "status": "Failure", "reason": "NotFound", "code": 404}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def _any(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        target = urlsplit(self.path)
        path = target.path
        key = _key(path, dict(parse_qsl(target.query)), dict(self.headers.items()))
        texts: dict[str, bytes] = self.server.replayed.texts  # type: ignore[attr-defined]
        replayed: Replayed = self.server.replayed  # type: ignore[attr-defined]
        if replayed.keeps and replayed.keeps in path and self.command != "GET":
            replayed.waits.set()
            self.connection.recv(1)  # until the client hangs up
            self.close_connection = True
        elif self.command != "GET":
            stored = json.loads(body)
            metadata = stored.setdefault("metadata", {})
            parts = path.split("/")
            metadata.setdefault("name", parts[-1])
            if "namespaces" in parts:
                metadata.setdefault("namespace", parts[parts.index("namespaces") + 1])
            metadata |= {"uid": "u", "resourceVersion": "1"}
            if path.endswith("reviews"):
                stored["status"] = {"allowed": True}
            self._answer(200, json.dumps(stored).encode())
        elif key in texts:
            self._answer(200, texts[key])
        else:
            plural, name = path.split("/")[-2:]
            details = {"name": name, "kind": plural}
            self._answer(404, json.dumps({**_MISSING, "details": details}).encode())

    def _answer(self, status: int, text: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _any  # noqa: N815 - the names that http.server looks for

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - its name in http.server
        """Nothing."""
