"""A server that keeps what it is sent."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass(frozen=True, slots=True)
class Sent:
    """A request. Keys of ``headers`` are in lower case."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass(slots=True)
class Inbox:
    """What came to ``address`` (host:port), and the statuses of the answers; the last one stays. ``measured``: answers
    have a Content-Length."""

    address: str
    statuses: list[int] = field(default_factory=lambda: [200])
    measured: bool = True
    sent: list[Sent] = field(default_factory=list)


@contextmanager
def opened_inbox() -> Iterator[Inbox]:
    """Each answer has a ``Location`` where nobody is: a redirection that is followed would fail."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            headers = {name.lower(): text for name, text in self.headers.items()}
            inbox.sent.append(Sent(self.command, self.path, headers, body))
            self.send_response(inbox.statuses.pop(0) if len(inbox.statuses) > 1 else inbox.statuses[0])
            self.send_header("Location", "http://127.0.0.1:1/elsewhere")
            if inbox.measured:
                self.send_header("Content-Length", "0")
            self.end_headers()

        def do_PUT(self) -> None:
            self.do_POST()

        def log_message(self, *_: object) -> None:
            """Nothing to say."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        inbox = Inbox(f"127.0.0.1:{server.server_port}")
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield inbox
        finally:
            server.shutdown()
            thread.join()
