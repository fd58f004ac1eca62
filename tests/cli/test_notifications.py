"""``--notify-url-file``: a webhook hears of changes and of each new error once, and never fails a run."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from osm_gitops.errors import Code
from tests.cli.running import Ran, osm_gitops
from tests.cli.scenes import facts, pool, profile, write_fleet, write_tree
from tests.faults import Expected, told
from tests.git.repos import git, new_repository, pin_git


@pytest.fixture
def heard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """A config repository, and the messages that a webhook gets of its runs."""
    pin_git(monkeypatch)
    nodes = new_repository(tmp_path / "nodes")
    write_fleet(nodes, "clusters: [{name: prod, from: pools, to: {git: {path: clusters}}}]\n")
    write_tree(nodes / "pools", profile(), pool("a"), *facts())
    git(nodes, "add", ".")
    git(nodes, "commit", "--quiet", "-m", "pools")
    monkeypatch.chdir(nodes)
    messages: list[Any] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            messages.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Nothing to say."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    (tmp_path / "url").write_text(f"http://127.0.0.1:{server.server_port}/secret-path\n")
    yield messages
    server.shutdown()
    server.server_close()
    thread.join()


def _apply(*more: str) -> Ran:
    return osm_gitops(
        *("apply", "--yes", "--dangerously-plaintext-secrets", "--metrics-file=../metrics.prom"),
        *("--notify-url-file=../url", *more),
    )


def test_changes_and_each_new_error_are_told_once(heard: list[Any]) -> None:
    assert _apply().code == 0
    assert [message["text"] for message in heard] == ["prod: OK: 1 pool changed, 0 errors, 0 of them new"]
    assert _apply().code == 0
    assert len(heard) == 1
    write_tree(Path("pools"), profile(), pool("a"), pool("b", operatingSystem="debian"), *facts())
    ran = _apply()
    assert ran.code == 1
    (code,) = {code for code, _ in told(ran.err)}
    assert [(event["kind"], event["code"]) for event in heard[1]["events"]] == [("run", None), ("failure", code.value)]
    assert "MachineDeployment kube-system/b" in heard[1]["text"]
    assert _apply().code == 1
    assert len(heard) == 2
    write_tree(Path("pools"), profile(), pool("a"), pool("b"), *facts())
    assert _apply("--notify-format=slack").code == 0
    assert heard[2] == {"text": "prod: OK again"}


def test_a_webhook_that_fails_is_a_warning_without_its_address(
    heard: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OSM_GITOPS_NOTIFY_URL", "http://127.0.0.1:1/secret-path")
    ran = osm_gitops("apply", "--yes", "--dangerously-plaintext-secrets")
    assert (ran.code, heard) == (0, [])
    assert told(ran.err) == [Expected(Code.WEBHOOK_NOT_NOTIFIED, "refused")]
    assert "secret-path" not in ran.out + ran.err
    (tmp_path / "url").write_text("secret-path\n")
    ran = _apply()
    assert ran.code == 1
    assert told(ran.err) == [Expected(Code.INVALID_OPTION, "--notify-url-file")]
    assert "secret-path" not in ran.out + ran.err
