"""API servers, Pushgateways and remotes that are slow, endless, lying or dead: a limit, a sentence, and an end."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any, Final

import pytest

from osm_gitops.bounded.programs import Limits
from osm_gitops.context_ref import ContextRef
from osm_gitops.errors import ClusterError, OsmGitopsError
from osm_gitops.kube import api as api_module
from osm_gitops.kube import credentials
from osm_gitops.kube.api import Api, connect
from osm_gitops.kube.kinds import CONFIG_MAP, LEASE, MACHINE_DEPLOYMENT, Kind
from osm_gitops.kube.pushgateway import Pushgateway
from osm_gitops.kube.transport import RetryPolicy
from tests.cli.scenes import profile, write_fleet, write_tree
from tests.hostile.children import child
from tests.hostile.servers import (
    ENDLESS,
    FAIR,
    LYING,
    SLOW,
    Behaviour,
    Hostile,
    chunk,
    forever,
    head,
    hostile,
    says,
    silent,
    whole,
)


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half a second for a request with all its tries, though a server may be silent for a minute."""
    retries = RetryPolicy(total=0.5, sleep=lambda _: None)
    monkeypatch.setattr(api_module, "RETRY_POLICY", retries)


@pytest.fixture
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """No wait between tries."""
    monkeypatch.setattr(api_module, "RETRY_POLICY", RetryPolicy(sleep=lambda _: None))


def _api(server: Hostile, folder: Path) -> Api:
    return connect(ContextRef(str(server.kubeconfig(folder / "config"))), {})


def _refused(ask: Callable[[], Any]) -> str:
    with pytest.raises(OsmGitopsError) as caught:
        ask()
    return str(caught.value)


@pytest.mark.usefixtures("hasty")
@pytest.mark.parametrize("behaviour", SLOW.values(), ids=SLOW)
def test_a_request_has_a_deadline_whatever_comes_now_and_then(behaviour: Behaviour, tmp_path: Path) -> None:
    with hostile(behaviour) as server:
        told = _refused(lambda: _api(server, tmp_path).get(CONFIG_MAP, "default", "known"))
    assert re.search(r"configmaps/known failed, the answer took too long \(tried once\)\. Check the address", told)


@pytest.mark.usefixtures("unhurried")
@pytest.mark.parametrize(
    ("behaviour", "what"),
    [
        pytest.param(*each, id=name, marks=[pytest.mark.exhaustive] if name == "chunks of one byte" else [])
        for name, each in ENDLESS.items()
    ],
)
def test_an_answer_has_a_size(behaviour: Behaviour, what: str, tmp_path: Path) -> None:
    with hostile(behaviour) as server:
        told = _refused(lambda: _api(server, tmp_path).get(CONFIG_MAP, "default", "known"))
    assert re.search(f"{what}.*Check ", told)


@pytest.mark.usefixtures("unhurried")
@pytest.mark.parametrize(("behaviour", "what"), LYING.values(), ids=LYING)
def test_what_is_no_answer_of_an_api_server_is_told(behaviour: Behaviour, what: str, tmp_path: Path) -> None:
    with hostile(behaviour) as server:
        told = _refused(lambda: _api(server, tmp_path).get(CONFIG_MAP, "default", "known"))
    assert server.address in told
    assert re.search(what, told)
    assert len(told) < 1000


@pytest.mark.usefixtures("unhurried")
@pytest.mark.parametrize("size", [1 << 20, 1], ids=["at once", "byte by byte"])
@pytest.mark.parametrize(("text", "kept"), FAIR.values(), ids=FAIR)
def test_what_the_protocol_allows_is_an_answer(text: bytes, kept: bool, size: int, tmp_path: Path) -> None:
    connections: list[socket.socket] = []

    def answer(connection: socket.socket, _number: int) -> None:
        connections.append(connection)
        for start in range(0, len(text), size):
            connection.sendall(text[start : start + size])
        if not kept:
            connection.shutdown(socket.SHUT_WR)

    with hostile(answer) as server:
        api = _api(server, tmp_path)
        for _ in range(2):
            assert (api.get(CONFIG_MAP, "default", "known") or {})["data"] == {"a": "x" * 100}
    assert len(connections) == 2
    assert (connections[0] is connections[1]) == kept


@pytest.mark.usefixtures("unhurried")
def test_an_answer_that_is_longer_than_it_says_spoils_no_other(tmp_path: Path) -> None:
    body = json.dumps({"metadata": {"name": "known", "namespace": "default"}}).encode()

    def longer(connection: socket.socket, number: int) -> None:
        if number == 1:
            connection.sendall(head(f"Content-Length: {len(body)}") + body + b"HTTP/1.1 200 OK\r\n")
        else:
            whole(body)(connection, number)

    with hostile(longer) as server:
        api = _api(server, tmp_path)
        names = [(api.get(CONFIG_MAP, "default", "known") or {})["metadata"]["name"] for _ in range(3)]
    assert names == ["known"] * 3


# --- lists ---


def _item(name: str = "a", **more: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": "default", **more}}


def _page(token: Any, *items: Any) -> dict[str, Any]:
    return {"metadata": {"continue": token}, "items": [*items]}


def _listed(behaviour: Behaviour, folder: Path, kind: Kind = CONFIG_MAP) -> str:
    with hostile(behaviour) as server:
        return _refused(lambda: _api(server, folder).list(kind, lambda item: item))


@pytest.mark.usefixtures("unhurried")
def test_a_list_that_begins_again_is_refused(tmp_path: Path) -> None:
    told = _listed(says(_page("again", _item())), tmp_path)
    assert "list configmaps: the answer is not what the API defines, the token of its next page is not a new" in told


@pytest.mark.usefixtures("unhurried")
@pytest.mark.parametrize("token", [5, ["a"], {}, "x" * 100_000])
def test_a_token_that_is_none_is_refused(token: Any, tmp_path: Path) -> None:
    behaviour = says(_page(token or {"a": 1}, _item()))
    assert "the token of its next page is not a new one" in _listed(behaviour, tmp_path)


@pytest.mark.usefixtures("unhurried")
def test_a_list_of_endless_pages_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api_module, "_PAGES", 20)

    def pages(connection: socket.socket, number: int) -> None:
        says(_page(f"page {number}", _item()))(connection, number)

    with hostile(pages) as server:
        told = _refused(lambda: _api(server, tmp_path).list(CONFIG_MAP, lambda item: item))
    assert "it has more than 20 pages" in told
    assert server.asked == 20


@pytest.mark.usefixtures("unhurried")
def test_pages_that_are_too_large_are_asked_for_in_smaller_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api_module, "PAGE_OF_OBJECTS", 10_000)
    limits: list[int] = []
    left = [f"m{number:02}" for number in range(20)]

    def large(connection: socket.socket, number: int) -> None:
        size = limits[-1]
        items, rest = left[:size], left[size:]
        body = json.dumps(
            _page(f"from {number}" if rest else "", *(_item(each) | {"data": {"a": "x" * 1000}} for each in items))
        )
        connection.sendall(head(f"Content-Length: {len(body)}") + body.encode())
        if len(body) <= 10_000:
            del left[:size]

    with hostile(large) as server:
        api = _api(server, tmp_path)
        send = api._transport.send

        def noted(call: Any, *more: Any) -> Any:
            limits.append(int(call.query["limit"]))
            return send(call, *more)

        monkeypatch.setattr(api._transport, "send", noted)
        found = api.list(CONFIG_MAP, lambda item: item["metadata"]["name"])
    assert found == [f"m{number:02}" for number in range(20)]
    assert limits[:3] == [500, 62, 7]


@pytest.mark.usefixtures("unhurried")
def test_one_object_that_is_too_large_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api_module, "PAGE_OF_OBJECTS", 10_000)
    told = _listed(says(_page("", _item() | {"data": {"a": "x" * 20_000}})), tmp_path)
    assert "the answer is larger than 9 KiB" in told


SHAPES: dict[str, tuple[Any, str]] = {
    "items that are a mapping": ({"items": {"a": 1}}, "it is not a list of objects"),
    "items that are a text": ({"items": "abc"}, "it is not a list of objects"),
    "metadata that is a list": ({"metadata": [1], "items": []}, "it is not a list of objects"),
    "an item that is a list": (_page("", []), "it is not a mapping"),
    "an item without metadata": (_page("", {}), "metadata is not a mapping"),
    "an item whose metadata is a list": (_page("", {"metadata": []}), "metadata is not a mapping"),
    "a name that is a number": (_page("", {"metadata": {"name": 5, "namespace": "a"}}), "metadata.name is not a name"),
    "a name that breaks lines": (_page("", _item("a\nb")), "metadata.name is not a name"),
    "a name with NUL": (_page("", _item("a\0b")), "metadata.name is not a name"),
    "a name of a megabyte": (_page("", _item("a" * 1_000_000)), "metadata.name is not a name"),
    "no namespace": (_page("", {"metadata": {"name": "a"}}), "metadata.namespace is not a name"),
    "labels that are a list": (_page("", _item(labels=["a"])), r"metadata.labels is not a mapping \(of a\)"),
    "a label that is a number": (_page("", _item(labels={"a": 1})), r"metadata.labels.a is not a text"),
    "finalizers that are a text": (_page("", _item(finalizers="abc")), "metadata.finalizers is not a list"),
    "owners that are texts": (_page("", _item(ownerReferences=["a"])), r"ownerReferences\[0\] is not a mapping"),
    "a generation that is true": (_page("", _item(generation=True)), "metadata.generation is not a whole number"),
    "data that is a list": (_page("", _item() | {"data": []}), "data is not a mapping"),
    "data that is nested": (_page("", _item() | {"data": {"a": {}}}), "data.a is not a text"),
}


@pytest.mark.usefixtures("unhurried")
@pytest.mark.parametrize(("body", "what"), SHAPES.values(), ids=SHAPES)
def test_an_object_of_another_shape_is_told_with_its_server(body: Any, what: str, tmp_path: Path) -> None:
    told = _listed(says(body), tmp_path)
    assert re.search(f"http://127.0.0.1:.*list configmaps: the answer is not what the API defines, .*{what}", told)
    assert len(told) < 3000


@pytest.mark.usefixtures("unhurried")
def test_nulls_in_an_object_are_what_is_not_there(tmp_path: Path) -> None:
    body = _item(labels=None, annotations=None, finalizers=None, uid=None) | {"data": None, "spec": None}
    with hostile(says(body)) as server:
        found = _api(server, tmp_path).get(LEASE, "default", "a")
    assert found is not None
    assert found["metadata"] == {"name": "a", "namespace": "default", "uid": "", "resourceVersion": ""}
    assert "spec" not in found


STATUSES: dict[str, Any] = {
    "details that are a list": {"details": []},
    "details that are a text": {"details": "abc"},
    "causes that are a mapping": {"details": {"causes": {"a": 1}}},
    "causes that are texts": {"details": {"causes": ["a", None, 5]}},
    "a message that is a list": {"message": ["a"] * 1000, "reason": {}},
    "a message of a megabyte": {"message": "a" * 1_000_000},
    "a message that acts on terminals": {"message": "\x1b]0;owned\x07"},
}


@pytest.mark.usefixtures("unhurried")
@pytest.mark.parametrize("status", STATUSES.values(), ids=STATUSES)
@pytest.mark.parametrize("code", [400, 403, 404, 409, 410, 422, 500])
def test_a_refusal_of_any_shape_is_a_sentence(status: Any, code: int, tmp_path: Path) -> None:
    body = json.dumps({"kind": "Status", "code": code, **status}).encode()
    with hostile(whole(body, status=f"{code} No")) as server:
        api = _api(server, tmp_path)
        for ask in (
            lambda: api.get(LEASE, "default", "a"),
            lambda: api.list(MACHINE_DEPLOYMENT, lambda item: item),
            lambda: api.delete(LEASE, "default", "a"),
            lambda: api.merge(LEASE, "default", "a", {}),
            lambda: api.token("default", "a", 600),
            lambda: api.may("get", LEASE),
        ):
            told = _refused(ask)
            assert len(told) < 1000


@pytest.mark.usefixtures("unhurried")
@pytest.mark.parametrize("value", [[], {}, "", 0, None, True, {"token": 5}, {"token": "a", "expirationTimestamp": []}])
def test_tokens_and_reviews_of_any_shape_are_told(value: Any, tmp_path: Path) -> None:
    with hostile(says({"status": value, "resources": value})) as server:
        api = _api(server, tmp_path)
        assert "it contains no token with an expiry" in _refused(lambda: api.token("default", "a", 600))
        asks: list[Callable[[], bool]] = [lambda: api.may("get", LEASE), lambda: api.serves(LEASE)]
        for ask in asks:
            try:
                told = str(ask())
            except ClusterError as failure:
                told = str(failure)
            assert told == "False" or "the answer is not what the API defines" in told


@pytest.mark.usefixtures("unhurried")
@pytest.mark.parametrize(
    "text",
    ["9" * 100_000, "-5", "١٢", "Mon, 01 Jan 2001 00:00:00 +" + "9" * 40, "Mon, 99 Jan 99999 00:00:00 GMT", "\xff"],
)
def test_any_retry_after_is_waited_for_a_minute_at_most(text: str) -> None:
    assert RetryPolicy().pause(1, text) <= 61


# --- Pushgateway ---


_IN_BODIES: Final = re.compile("body|chunk|trailer")
_GATEWAYS: Final = SLOW | {f"endless {name}": each for name, (each, _) in ENDLESS.items()}


@pytest.mark.parametrize("name", _GATEWAYS)
def test_a_pushgateway_has_a_deadline_and_a_size(name: str) -> None:
    with hostile(_GATEWAYS[name]) as server:
        gateway = replace(Pushgateway.at(server.address), retries=RetryPolicy(total=0.5, sleep=lambda _: None))
        if _IN_BODIES.search(name):  # the status has come, and nothing more is read
            gateway.push("a 1\n", {"job": "a"}, {})
        else:
            told = _refused(lambda: gateway.push("a 1\n", {"job": "a"}, {}))
            assert told.startswith(f"Pushgateway {server.address}: ")


# --- credential plugins ---

_EARLY: Final = {
    "apiVersion": "client.authentication.k8s.io/v1",
    "status": {"token": "a", "expirationTimestamp": "0001-01-01T00:00:00+23:59"},
}
PLUGINS: dict[str, tuple[str, str]] = {
    "silent": ("sleep 1000", "gave no answer within 2 s"),
    "whose child holds its output": ("sleep 1000 & exit 0", "gave no answer within 2 s"),
    "that hangs behind its answer": ("exec >&-; sleep 1000", "did not end within 2 s"),
    "that ignores signals": ("trap '' TERM INT HUP; while :; do sleep 1; done", "gave no answer within 2 s"),
    "endless": ("exec cat /dev/zero", "printed more than 1024 KiB"),
    "endless on stderr": ("exec cat /dev/zero >&2", "(gave no answer|did not end) within 2 s"),
    "with nested JSON": ("printf '%0100000d' 0 | tr 0 '['", "printed no ExecCredential"),
    "with a time that is none": (
        f"echo '{json.dumps(_EARLY)}'",
        "printed no ExecCredential",
    ),
}


@pytest.mark.parametrize(("script", "what"), PLUGINS.values(), ids=PLUGINS)
def test_a_plugin_has_a_deadline_and_a_size_and_ends_with_its_children(
    script: str, what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "plugin"
    program.write_text(f"#!/bin/sh\necho $$ > {tmp_path}/group\n{script}\n", "utf-8")
    program.chmod(0o700)
    seconds = 2 if " s" in what else 60
    monkeypatch.setattr(credentials, "LIMITS", Limits(seconds=seconds, most=credentials.LIMITS.most))
    with hostile(silent) as server:
        config = server.kubeconfig(tmp_path / "config")
        exec_ = {"apiVersion": "client.authentication.k8s.io/v1", "command": str(program)}
        text = config.read_text("utf-8").replace("token: a-token-of-nobody", f"exec: {json.dumps(exec_)}")
        config.write_text(text, "utf-8")
        told = _refused(lambda: connect(ContextRef(str(config)), dict(os.environ)).get(CONFIG_MAP, "default", "a"))
        assert re.search(f"the credential plugin plugin {what}. Run it by hand", told)
        assert server.asked == 0
    group = int((tmp_path / "group").read_text("utf-8"))
    pause = threading.Event()
    while [*_alive(group)]:  # killed, but a busy system takes a moment
        pause.wait(0.01)


def _alive(group: int) -> Iterator[int]:
    """Processes of a group that still run; who was to wait for the others may not do so."""
    for place in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            state, _, of = place.read_text("utf-8").rpartition(")")[2].split()[:3]
            if int(of) == group and state not in "ZX":
                yield int(place.parent.name)


# --- whole runs, in a child with limits ---


def _commands(config: Path, folder: Path) -> dict[str, tuple[str, ...]]:
    tree = write_tree(folder / "tree", profile())
    live = ("--from", "cluster", "--to", "cluster", "--kubeconfig", str(config))
    cluster = {"name": "a", "from": "cluster", "to": "cluster", "management": {"kubeconfig": str(config)}}
    fleet = write_fleet(folder, f"clusters: {json.dumps([cluster])}\n")
    return {
        "plan": ("plan", *live),
        "apply": ("apply", "--yes", *live, "--profiles-from", str(tree)),
        "status": ("status", "--kubeconfig", str(config)),
        "refresh": ("refresh", "--kubeconfig", str(config)),
        "doctor": ("doctor", "--fleet", str(fleet)),
        "uninstall": ("uninstall", "--kubeconfig", str(config), "--yes"),
        "osp list": ("osp", "list", "--from", "cluster", "--kubeconfig", str(config)),
    }


COMMANDS: Final = ("plan", "apply", "status", "refresh", "doctor", "uninstall", "osp list")
_SENTENCES: Final = ("this is a bug", "Traceback", "MemoryError")
BEHAVIOURS: dict[str, Behaviour] = {
    "dead": silent,
    "slow": SLOW["a byte of the body now and then"],
    "endless 1xx": ENDLESS["100 Continue"][0],
    "endless body": ENDLESS["body"][0],
    "endless chunks": ENDLESS["chunks of one byte"][0],
    "pages": says(_page("again", _item())),
    "gzip": LYING["layers of gzip"][0],
    "nested": LYING["JSON that is nested without end"][0],
    "surrogates": LYING["half a surrogate pair"][0],
    "many headers": whole(b"{}", *(f"A{number}: {'x' * 600}" for number in range(99))),
    "chunks of garbage": forever(head("Transfer-Encoding: chunked"), chunk(b"{") + b"?"),
}


def _some(pairs: Iterable[tuple[str, str]], every: int) -> list[Any]:
    """All pairs, of which most are for the long run: each takes a process."""
    return [
        pytest.param(*pair, marks=() if number % every == 0 else pytest.mark.exhaustive)
        for number, pair in enumerate(pairs)
    ]


# Of the short run too each command meets something, and each behaviour a command.
@pytest.mark.parametrize(("command", "name"), _some(product(COMMANDS, BEHAVIOURS), 8))
def test_every_command_ends_with_sentences(command: str, name: str, tmp_path: Path) -> None:
    with hostile(BEHAVIOURS[name]) as server:
        arguments = _commands(server.kubeconfig(tmp_path / "config"), tmp_path)[command]
        retries = "total=1.0, read=0.5, sleep=lambda _: None"
        with child(*arguments, cwd=tmp_path, retries=retries) as process:
            out, err = process.communicate(timeout=120)
    assert process.returncode == 1, err
    assert server.address in out + err
    for sign in _SENTENCES:
        assert sign not in out + err


@pytest.mark.parametrize(("command", "name"), _some(product(COMMANDS, ("dead", "slow")), 3))
def test_a_signal_ends_a_run_that_waits_for_a_server(command: str, name: str, tmp_path: Path) -> None:
    waits = threading.Event()

    def noted(connection: socket.socket, request: int) -> None:
        waits.set()
        BEHAVIOURS[name](connection, request)

    with hostile(noted) as server:
        arguments = _commands(server.kubeconfig(tmp_path / "config"), tmp_path)[command]
        # Without the signal it would be an hour.
        with child(*arguments, cwd=tmp_path, retries="total=3600, read=3600") as process:
            assert waits.wait(120)
            process.send_signal(signal.SIGTERM if name == "dead" else signal.SIGINT)
            out, err = process.communicate(timeout=60)
    assert process.returncode == 130, out + err
    assert "Interrupted" in err
