"""Metrics to a Pushgateway: a server that takes requests apart as the Pushgateway does."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from osm_gitops.errors import ClusterError, Code
from osm_gitops.kube.pushgateway import Pushgateway
from tests.faults import Expected, refused


@dataclass(slots=True)
class Gateway:
    """What it was asked, and the status that it answers with."""

    address: str = ""
    status: int = 200
    asked: list[tuple[str, str, str | None, str]] = field(default_factory=list)


@pytest.fixture
def gateway() -> Iterator[Gateway]:
    state = Gateway()

    class Handler(BaseHTTPRequestHandler):
        def do_PUT(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            state.asked.append((self.command, self.path, self.headers["Authorization"], body))
            self.send_response(state.status)
            self.send_header("Location", "http://127.0.0.1:1/elsewhere")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def do_POST(self) -> None:
            self.do_PUT()

        def log_message(self, *_: object) -> None:
            """Nothing to say."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        state.address = f"127.0.0.1:{server.server_port}"
        yield state
        server.shutdown()
        thread.join()


def test_metrics_replace_those_of_their_group(gateway: Gateway) -> None:
    to = Pushgateway.at(f"http://{gateway.address}/prefix/")
    to.push("up 1\n", {"job": "osm-gitops", "cluster": "prod-eu.1"}, {})
    to.push("up 1\n", {"job": "osm-gitops", "cluster": "a/b"}, {}, whole=False)
    assert gateway.asked == [
        ("PUT", "/prefix/metrics/job/osm-gitops/cluster/prod-eu.1", None, "up 1\n"),
        ("POST", "/prefix/metrics/job/osm-gitops/cluster@base64/YS9i", None, "up 1\n"),
    ]


def test_a_password_in_the_address_is_sent_and_never_shown(gateway: Gateway) -> None:
    to = Pushgateway.at(f"http://me:p%40ss-word@{gateway.address}")
    to.push("up 1\n", {"job": "x"}, {})
    assert gateway.asked[0][2] == "Basic bWU6cEBzcy13b3Jk"
    gateway.status = 401
    with refused(Expected(Code.METRICS_NOT_PUSHED, f"http://{gateway.address}", "401"), kind=ClusterError) as no:
        to.push("up 1\n", {"job": "x"}, {})
    for text in (repr(to), str(no.value)):
        assert "ss-word" not in text
        assert "bWU6" not in text


def test_a_redirection_is_not_followed(gateway: Gateway) -> None:
    gateway.status = 302
    with refused(Expected(Code.METRICS_NOT_PUSHED, "302"), kind=ClusterError):
        Pushgateway.at(f"http://{gateway.address}").push("up 1\n", {"job": "x"}, {})


def test_one_that_is_not_there_is_a_sentence_without_the_password() -> None:
    with pytest.raises(ClusterError) as no:
        Pushgateway.at("http://me:secret-word@127.0.0.1:1").push("up 1\n", {"job": "x"}, {})
    assert list(no.value.problems) == [Expected(Code.METRICS_NOT_PUSHED, "http://127.0.0.1:1")]
    assert "secret-word" not in str(no.value)
    assert no.value.__cause__ is None


@pytest.mark.parametrize("address", ["", "pushgateway:9091", "ftp://x", "http://", "http://x:y:z", "http://x/?a=b"])
def test_what_is_no_address_is_refused_and_not_repeated(address: str) -> None:
    with refused(Code.INVALID_OPTION):
        Pushgateway.at(address)
