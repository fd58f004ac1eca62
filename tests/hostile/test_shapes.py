"""Every value of real objects replaced by one that does not belong there, in files and in answers: sentences only."""

from __future__ import annotations

import copy
import json
import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any, Final

import pytest

from osm_gitops.errors import LONGEST
from osm_gitops.kube import api as api_module
from osm_gitops.kube.transport import RetryPolicy
from tests.apiserver.cluster import Cluster
from tests.cli.running import osm_gitops
from tests.cli.scenes import facts, pool, profile, secret, write_tree
from tests.cluster_faults.scene import scenes
from tests.git.repos import new_repository, pin_git
from tests.hostile.children import child
from tests.hostile.replay import Answers, Replayed, record, replayed

# The template engine raises the limit when it is first used.
pytestmark = pytest.mark.filterwarnings("ignore:The recursion limit will not be reset")

Path_ = tuple[Any, ...]

_SECONDS: Final = 60
_INFINITE: Final = "an infinite number"
_NEST: Final = 120
_LONGEST: Final = 12_000


def _nested() -> Any:
    value: Any = []
    for _ in range(_NEST):
        value = [value]
    return value


VALUES: Final[dict[str, Any]] = {
    "list": [],
    "list of a list": [[]],
    "mapping": {},
    "mapping of a mapping": {"a": {"b": None}},
    "empty text": "",
    "text": "x",
    "0": 0,
    "-1": -1,
    "2^70": 2**70,
    "a fraction": 0.5,
    "null": None,
    "true": True,
    "infinite": _INFINITE,
    "half a surrogate pair": "a\ud800",
    "NUL": "a\0b",
    "escapes": "\x1b[31m\r\n\u202e",
    "nested": _nested(),
    "long": "x" * 100_000,
}


class HangError(BaseException):
    """Not an Exception, so that no handler of the program takes it for a bug of its own."""


@pytest.fixture(autouse=True)
def _alarm() -> Iterator[None]:
    def strike(_signal: int, _frame: FrameType | None) -> None:
        raise HangError(f"no end after {_SECONDS} seconds")

    before = signal.signal(signal.SIGALRM, strike)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pin_git(monkeypatch)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(api_module, "RETRY_POLICY", RetryPolicy(sleep=lambda _: None))
    for name in [name for name in os.environ if name.startswith("SOPS_")]:
        monkeypatch.delenv(name)


def paths(value: Any, path: Path_ = ()) -> Iterator[Path_]:
    """Where all values in a value are, itself included."""
    yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, below in inner:
        yield from paths(below, (*path, key))


def replaced(body: Any, path: Path_, value: Any) -> Any:
    if not path:
        return copy.deepcopy(value)
    changed = copy.deepcopy(body)
    holder = changed
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = value
    return changed


def renamed(body: Any, path: Path_, key: str) -> Any:
    """With another key in the place of the last of ``path``."""
    changed = copy.deepcopy(body)
    holder = changed
    for each in path[:-1]:
        holder = holder[each]
    holder[key] = holder.pop(path[-1])
    return changed


def text_of(body: Any) -> bytes:
    """JSON, with what it has no word for as servers and people may write it all the same."""
    return json.dumps(body).replace(json.dumps(_INFINITE), "1e400").encode()


def mutations(body: Any, every: int) -> Iterator[tuple[str, Any]]:
    """Each ``every``-th of all the bodies with one value, or one key, that does not belong there."""
    number = 0
    for path in paths(body):
        for name, value in VALUES.items():
            number += 1
            if number % every == 0:
                yield f"{path}: {name}", replaced(body, path, value)
        if path and isinstance(path[-1], str):
            for key in ("", "a\ud800", "\0", "x" * 10_000):
                number += 1
                if number % every == 0:
                    yield f"{path}: key {key[:5]!r}", renamed(body, path, key)


@dataclass(slots=True)
class Judge:
    """Gathers what does not hold for any run: sentences that can be written, and have an end."""

    faults: dict[str, str] = field(default_factory=dict)

    def look(self, what: str, *command: str) -> None:
        signal.alarm(_SECONDS)
        ran = osm_gitops(*command)
        text = ran.out + ran.err
        for sign in ("this is a bug", "Traceback", "Exception", "Error: .", "\x1b"):
            if sign in text:
                line = next(line for line in text.splitlines() if sign in line)
                self.faults.setdefault(line[:300], what)
        if ran.code not in {0, 1} or (ran.code and not text.strip()):
            self.faults.setdefault(f"exit code {ran.code} and {text[:100]!r}", what)
        try:
            text.encode("utf-8", "surrogateescape")
        except UnicodeEncodeError:
            self.faults.setdefault("cannot be written", what)
        if any(len(line) > _LONGEST for line in ran.err.splitlines()):
            self.faults.setdefault("a line without end", what)


BOTH: Final = [pytest.param(False, id="some"), pytest.param(True, id="all", marks=pytest.mark.exhaustive)]

# --- files ---

_SLICE: Final = {
    "apiVersion": "discovery.k8s.io/v1",
    "kind": "EndpointSlice",
    "metadata": {"name": "kubernetes", "namespace": "default", "labels": {"kubernetes.io/service-name": "kubernetes"}},
    "addressType": "IPv4",
    "endpoints": [{"addresses": ["10.0.0.1"], "conditions": {"ready": True}}],
    "ports": [{"name": "https", "port": 6443, "protocol": "TCP"}],
}
_ACCOUNT: Final = {
    "apiVersion": "v1",
    "kind": "ServiceAccount",
    "metadata": {"name": "tokens", "namespace": "cloud-init-settings"},
    "secrets": [{"name": "cloud-init-getter-token"}],
}
_MACHINES: Final = pool(
    sshPublicKeys=["ssh-ed25519 AAAA"],
    network={"ipFamily": "IPv4"},
    annotations={"v1.kubelet-flags.machine.k8s.io/FeatureGates": "A=true"},
)
OBJECTS: Final[dict[str, dict[str, Any]]] = {
    "MachineDeployment": _MACHINES,
    "OperatingSystemProfile": profile(),
    "ConfigMap": facts()[0],
    "Secret": facts()[1],
    "Secret with data": secret("x", "y", {"b": "c"}, type="Opaque", metadata={"labels": {"a": "b"}})
    | {"data": {"a": "YQ=="}},
    "EndpointSlice": _SLICE,
    "ServiceAccount": _ACCOUNT,
    "List": {"apiVersion": "v1", "kind": "List", "metadata": {}, "items": [_ACCOUNT]},
}


@pytest.mark.parametrize("whole", BOTH)
@pytest.mark.parametrize("kind", OBJECTS)
def test_any_object_of_a_tree_is_read_or_told(kind: str, whole: bool, tmp_path: Path) -> None:
    body = OBJECTS[kind]
    twice = {kind, "List"} | ({"ServiceAccount"} if kind == "List" else set())
    others = [each for name, each in OBJECTS.items() if name not in twice]
    tree = tmp_path / "tree"
    tree.mkdir()
    arguments = ("render", "--from", str(tree), "--to", "-", "--bootstrap-token-service-account-name", "ns/tokens")
    (tree / "others.json").write_bytes(text_of({"apiVersion": "v1", "kind": "List", "items": others}))
    (tree / "it.yaml").write_bytes(text_of(body))
    assert osm_gitops(*arguments).code == 0
    judge = Judge()
    for what, changed in mutations(body, 1 if whole else 67):
        (tree / "it.yaml").write_bytes(text_of(changed))
        judge.look(what, *arguments)
    assert judge.faults == {}


_FLEET: Final = {
    "apiVersion": "osm-gitops.io/v1alpha1",
    "kind": "Fleet",
    "defaults": {"settings": {"pauseImage": "example.com/pause:3"}, "overlays": ["overlay"]},
    "clusters": [
        {
            "name": "a",
            "from": {"machineDeployments": "tree", "profiles": "tree", "facts": "tree"},
            "to": {"git": {"path": "clusters", "branch": "main", "remote": "origin", "push": False, "sign": False}},
            "management": {"kubeconfig": "config", "context": "it", "namespace": "kube-system"},
            "worker": {"kubeconfig": "config", "context": "it"},
            "settings": {"nodeInsecureRegistries": ["a:5000"]},
            "overlays": ["overlay"],
        }
    ],
}
_OVERLAY: Final = {
    "apiVersion": "osm-gitops.io/v1alpha1",
    "kind": "Overlay",
    "overlays": [],
    "settings": {"pauseImage": "example.com/pause:3"},
    "patches": [
        {"target": {"name": "osp-a"}, "merge": {"spec": {"osVersion": "1"}}},
        {"target": {"name": "osp-*"}, "json6902": [{"op": "replace", "path": "/spec/osVersion", "value": "2"}]},
    ],
}
_RULES: Final = {
    "creation_rules": [
        {
            "path_regex": "clusters/.*",
            "encrypted_regex": "^(data|stringData|spec)$",
            "age": "age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p",
        }
    ]
}


def _config(server: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "it",
        "preferences": {},
        "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it", "namespace": "a"}}],
        "clusters": [
            {
                "name": "it",
                "cluster": {
                    "server": server,
                    "certificate-authority-data": "YQ==",
                    "tls-server-name": "a",
                    "insecure-skip-tls-verify": True,
                    "extensions": [{"name": "client.authentication.k8s.io/exec", "extension": {"a": 1}}],
                },
            }
        ],
        "users": [
            {
                "name": "it",
                "user": {
                    "as": "a",
                    "as-uid": "b",
                    "as-groups": ["c"],
                    "as-user-extra": {"d": ["e"]},
                    "exec": {
                        "apiVersion": "client.authentication.k8s.io/v1",
                        "command": "true",
                        "args": ["a"],
                        "env": [{"name": "A", "value": "b"}],
                        "interactiveMode": "IfAvailable",
                        "provideClusterInfo": True,
                    },
                },
            }
        ],
    }


def _scene(folder: Path) -> None:
    new_repository(folder / "repo")
    write_tree(folder / "repo" / "tree", profile(), pool())
    (folder / "repo" / "overlay").mkdir()
    (folder / "repo" / "config").write_bytes(text_of(_config("http://127.0.0.1:1")))
    (folder / "repo" / "overlay" / "overlay.yaml").write_bytes(text_of(_OVERLAY))
    (folder / "repo" / ".sops.yaml").write_bytes(text_of(_RULES))
    (folder / "repo" / "osm-gitops.yaml").write_bytes(text_of(_FLEET))


CONFIGURATION: Final[dict[str, tuple[str, Any, tuple[str, ...]]]] = {
    "fleet file": ("osm-gitops.yaml", _FLEET, ("plan",)),
    "overlay": ("overlay/overlay.yaml", _OVERLAY, ("plan",)),
    ".sops.yaml": (".sops.yaml", _RULES, ("plan",)),
    "kubeconfig": ("config", _config("http://127.0.0.1:1"), ("plan", "--from", "cluster", "--kubeconfig", "config")),
    "kubeconfig, by doctor": ("config", _config("http://127.0.0.1:1"), ("doctor",)),
}


@pytest.mark.parametrize("whole", BOTH)
@pytest.mark.parametrize("name", CONFIGURATION)
def test_any_configuration_is_read_or_told(
    name: str, whole: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, body, command = CONFIGURATION[name]
    _scene(tmp_path)
    monkeypatch.chdir(tmp_path / "repo")
    before = osm_gitops(*command)
    assert before.code == (0 if command == ("plan",) else 1), before
    judge = Judge()
    for what, changed in mutations(body, 1 if whole else 67):
        Path(file).write_bytes(text_of(changed))
        judge.look(what, *command)
    assert judge.faults == {}


@pytest.mark.parametrize("whole", BOTH)
def test_any_saved_plan_is_applied_or_refused(whole: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _scene(tmp_path)
    monkeypatch.chdir(tmp_path / "repo")
    assert osm_gitops("plan", "--out", "saved").code == 0
    body = json.loads(Path("saved").read_text("utf-8"))
    judge = Judge()
    for what, changed in mutations(body, 1 if whole else 67):
        Path("saved").write_bytes(text_of(changed))
        judge.look(what, "apply", "saved", "--yes")
    assert judge.faults == {}


# --- servers ---


@pytest.fixture(scope="module")
def recorded(
    _management: Cluster, _worker: Cluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Answers, Answers, Path]]:
    """What two real clusters answer to all commands that read, and the folder of the profiles."""
    folder = tmp_path_factory.mktemp("scene")
    with pytest.MonkeyPatch.context() as patch, scenes(_management, _worker, folder) as scene:
        patch.setattr(api_module, "RETRY_POLICY", RetryPolicy(sleep=lambda _: None))
        scene.set_out()
        answers = tuple(record(door) for door in scene.doors)
        one, other = (str(door.cluster.kubeconfig(folder / f"{door.cluster.name}.yaml")) for door in scene.doors)
        for command in _commands(one, other, folder / "tree").values():
            ran = osm_gitops(*command)
            assert "Error" not in ran.err, ran.err
        yield answers[0], answers[1], folder / "tree"
    _management.restore()
    _worker.restore()


def _commands(management: str, worker: str, tree: Path) -> dict[str, tuple[str, ...]]:
    clusters = ("--kubeconfig", management, "--worker-cluster-kubeconfig", worker)
    return {
        "plan": ("plan", "--from", "cluster", "--profiles-from", str(tree), "--to", "cluster", *clusters),
        "status": ("status", *clusters),
        "osp list": ("osp", "list", "--from", "cluster", *clusters),
        "refresh": ("refresh", "--settle", "0", "--lock-timeout", "0", *clusters),
    }


def _first(answer: Any) -> Any:
    """Of a list one object: what is wrong with one is told as of any."""
    return {**answer, "items": answer["items"][:1]} if isinstance(answer.get("items"), list) else answer


def _serve(server: Replayed, answers: Answers) -> None:
    server.texts = {path: json.dumps(answer).encode() for path, answer in answers.items()}


@pytest.mark.parametrize("whole", BOTH)
@pytest.mark.parametrize("command", ["plan", "status", "osp list", "refresh"])
def test_any_answer_of_a_server_is_understood_or_told(
    command: str, whole: bool, recorded: tuple[Answers, Answers, Path], tmp_path: Path
) -> None:
    management, worker, tree = recorded
    judge = Judge()
    with replayed() as one, replayed() as other:
        clusters = (str(one.kubeconfig(tmp_path / "one")), str(other.kubeconfig(tmp_path / "other")))
        arguments = _commands(*clusters, tree)[command]
        for server, answers in ((one, management), (other, worker)):
            _serve(one, management)
            _serve(other, worker)
            assert osm_gitops(*arguments).code == 0
            for path, answer in answers.items():
                for what, changed in mutations(_first(answer), 31 if whole else 607):
                    server.texts[path] = text_of(changed)
                    judge.look(f"{path} {what}", *arguments)
                server.texts[path] = json.dumps(answer).encode()
    assert judge.faults == {}


# --- what is said of it ---

_LOUD: Final = '#!/bin/sh\n{{ fail (repeat 100000 "0123456789") }}\n'


@pytest.mark.parametrize(
    "output",
    [(), ("-o", "json"), ("-o", "markdown"), ("-o", "html"), ("--log-format", "json")],
    ids=["text", "json", "markdown", "html", "log"],
)
def test_a_message_of_a_megabyte_is_cut_everywhere(output: tuple[str, ...], tmp_path: Path) -> None:
    tree = write_tree(tmp_path / "tree", profile(script=_LOUD), pool())
    ran = osm_gitops("plan", "--from", str(tree), "--to", str(new_repository(tmp_path / "repo")), *output)
    assert ran.code == 1
    assert "0123456789" in ran.err
    assert "more characters)" in ran.err
    assert len(ran.err) < 10_000
    assert len(ran.out) < 30_000


def test_a_secret_at_the_cut_of_a_message_is_masked_first(tmp_path: Path) -> None:
    """Half a secret is not recognised, so what is too long is masked as a whole and then cut."""
    token = "getter-token-that-nobody-may-see"
    for length in range(LONGEST - 120, LONGEST, 7):
        script = f'#!/bin/sh\n{{{{ fail (printf "%s%s" (repeat {length} "x") .Token) }}}}\n'
        tree = write_tree(tmp_path / str(length), profile(script=script), pool(), token=token)
        ran = osm_gitops("plan", "--from", str(tree), "--to", str(tmp_path / "to"))
        assert ran.code == 1
        assert "getter-t" not in ran.err + ran.out


def test_a_signal_ends_a_delivery_that_waits_for_a_server(
    recorded: tuple[Answers, Answers, Path], tmp_path: Path
) -> None:
    """Writes are made in threads, which no signal interrupts: they are told to hurry."""
    management, worker, tree = recorded
    with replayed() as one, replayed() as other:
        _serve(one, management)
        _serve(other, worker)
        other.keeps = "/secrets/"
        clusters = (str(one.kubeconfig(tmp_path / "one")), str(other.kubeconfig(tmp_path / "other")))
        plan = _commands(*clusters, tree)["plan"]
        # Without the signal it would be an hour.
        retries = "total=3600, read=3600"
        with child("apply", "--yes", *plan[1:], "--settle", "0", cwd=tmp_path, retries=retries) as process:
            assert other.waits.wait(120), process.communicate(timeout=1)
            process.send_signal(signal.SIGTERM)
            out, err = process.communicate(timeout=60)
    assert process.returncode == 130, out + err
