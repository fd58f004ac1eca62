"""A message to a webhook, whose address is a secret."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from osm_gitops.errors import ClusterError, Code
from osm_gitops.kube.transport import RetryPolicy
from osm_gitops.kube.webhook import Webhook
from tests.faults import Expected, refused

_SECRET = "T0/secret-path"


@dataclass(slots=True)
class Hook:
    """What it was sent, and the statuses of its answers; the last one stays."""

    address: str = ""
    statuses: list[int] = field(default_factory=lambda: [200])
    sent: list[tuple[str, str, bytes]] = field(default_factory=list)


@pytest.fixture
def hook() -> Iterator[Hook]:
    state = Hook()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            state.sent.append((self.path, self.headers["Content-Type"], body))
            self.send_response(state.statuses.pop(0) if len(state.statuses) > 1 else state.statuses[0])
            self.send_header("Location", "http://127.0.0.1:1/elsewhere")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Nothing to say."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        state.address = f"http://127.0.0.1:{server.server_port}/{_SECRET}?key=secret-query"
        yield state
        server.shutdown()
        thread.join()


_QUICK = RetryPolicy(tries=3, strange=2, sleep=lambda _: None)


def test_a_message_goes_to_the_whole_address(hook: Hook) -> None:
    hook.statuses = [429, 204]
    Webhook(hook.address, _QUICK).send(b'{"text": "x"}', {})
    assert hook.sent == [(f"/{_SECRET}?key=secret-query", "application/json", b'{"text": "x"}')] * 2


@pytest.mark.parametrize("status", [302, 400, 404, 500])
def test_a_refusal_is_a_sentence_without_the_address(hook: Hook, status: int) -> None:
    hook.statuses = [status]
    with refused(Expected(Code.WEBHOOK_NOT_NOTIFIED, status), kind=ClusterError) as no:
        Webhook(hook.address, _QUICK).send(b"{}", {})
    assert "secret" not in str(no.value)
    assert "secret" not in repr(Webhook(hook.address))


def test_one_that_is_not_there_is_a_sentence_without_the_address() -> None:
    with refused(Expected(Code.WEBHOOK_NOT_NOTIFIED, "refused"), kind=ClusterError) as no:
        Webhook("http://127.0.0.1:1/secret-path", _QUICK).send(b"{}", {})
    assert "secret-path" not in str(no.value)


_NO_ADDRESSES = [
    *("", "hooks.example.com/secret", "ftp://x/secret"),
    *("https://me:secret@x/", "http://x:secret/", "http://x/ secret"),
]


@pytest.mark.parametrize("address", _NO_ADDRESSES)
def test_what_is_no_address_is_refused_and_not_repeated(address: str) -> None:
    with refused(Expected(Code.INVALID_OPTION, "OSM_GITOPS_NOTIFY_URL")) as no:
        Webhook.at(address, "OSM_GITOPS_NOTIFY_URL")
    assert "secret" not in str(no.value)
