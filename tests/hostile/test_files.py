"""Files that flags, settings, kubeconfigs and trees name, and which are none: devices, pipes, sockets, terabytes."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from types import FrameType
from typing import Any, Final

import pytest
import yaml

from osm_gitops.bounded.files import SMALL, read_file, read_stream
from osm_gitops.bounded.programs import Limits
from osm_gitops.errors import Code, OsmGitopsError, TargetError
from osm_gitops.git import process
from osm_gitops.git.address import parse_address
from osm_gitops.git.process import Git
from osm_gitops.git.remote import temporary_clone
from osm_gitops.git.repository import Repository
from osm_gitops.sops import keys
from osm_gitops.sources import walk
from tests.cli.running import Ran, osm_gitops
from tests.cli.scenes import pool, profile, write_fleet, write_tree
from tests.faults import Expected, refused, told
from tests.git.repos import git, new_repository, pin_git
from tests.hostile.servers import hostile, silent

_SECONDS: Final = 60
_TERABYTE: Final = 1 << 40


class HangError(BaseException):
    """Not an Exception, so that no handler of the program takes it for a bug of its own."""


@pytest.fixture(autouse=True)
def _no_hang() -> Iterator[None]:
    def strike(_signal: int, _frame: FrameType | None) -> None:
        raise HangError(f"no end after {_SECONDS} seconds")

    before = signal.signal(signal.SIGALRM, strike)
    signal.alarm(_SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pin_git(monkeypatch)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("SOPS_")]:
        monkeypatch.delenv(name)


def _fifo(path: Path) -> Path:
    os.mkfifo(path)
    return path


def _socket(path: Path) -> Path:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(path.relative_to(Path.cwd())))
    return path


def _terabyte(path: Path) -> Path:
    with path.open("wb") as file:
        file.truncate(_TERABYTE)
    return path


def _link(target: str) -> Callable[[Path], Path]:
    def make(path: Path) -> Path:
        path.symlink_to(target)
        return path

    return make


_NO_FILE: Final = "it is not a regular file"
FILES: Final[dict[str, tuple[Callable[[Path], Path], str]]] = {
    "FIFO": (_fifo, _NO_FILE),
    "socket": (_socket, _NO_FILE),
    "device": (_link("/dev/zero"), _NO_FILE),
    "terminal": (_link("/dev/ptmx"), _NO_FILE),
    "procfs": (_link("/proc/self/environ"), _NO_FILE),
    "terabyte": (_terabyte, "it is larger than"),
}


@pytest.mark.parametrize(("make", "what"), FILES.values(), ids=FILES)
def test_only_regular_files_of_a_limited_size_are_read(make: Callable[[Path], Path], what: str, tmp_path: Path) -> None:
    with pytest.raises(OSError, match=what) as caught:
        read_file(make(tmp_path / "it"), SMALL)
    assert caught.value.filename == str(tmp_path / "it")


def test_links_are_followed_where_they_may_be(tmp_path: Path) -> None:
    (tmp_path / "it").write_bytes(b"x" * 100)
    (tmp_path / "link").symlink_to("it")
    assert read_file(tmp_path / "link", 100) == b"x" * 100
    with pytest.raises(OSError, match="Too many levels of symbolic links"):
        read_file(tmp_path / "link", 100, follow=False)
    with pytest.raises(OSError, match="it is larger than 99 bytes"):
        read_file(tmp_path / "it", 99)
    with pytest.raises(OSError, match="Is a directory"):
        read_file(tmp_path, 99)


@pytest.mark.parametrize("name", ["a\0b", "\ud800"])
def test_a_name_that_no_file_can_have_is_told(name: str) -> None:
    with pytest.raises(OSError, match="its name contains a character that is not allowed in file names"):
        read_file(name, SMALL)


def test_a_file_that_grows_while_it_is_read_is_not_read_for_ever(tmp_path: Path) -> None:
    place = tmp_path / "it"
    place.write_bytes(b"x" * 10)
    stat = os.stat

    def grows(path: Path, **options: Any) -> os.stat_result:
        found = stat(path, **options)
        os.truncate(place, _TERABYTE)
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "stat", grows)
        with pytest.raises(OSError, match="it is larger than 1 MiB"):
            read_file(place, SMALL)


def test_stdin_has_a_size() -> None:
    assert read_stream(BytesIO(b"x" * 10), 10) == b"x" * 10
    with pytest.raises(OSError, match="it is larger than 9 bytes"):
        read_stream(BytesIO(b"x" * 10), 9)


# --- through the command line ---


def _tree(folder: Path) -> str:
    return str(write_tree(folder / "tree", profile(), pool()))


def _kubeconfig(folder: Path, cluster: dict[str, Any], user: dict[str, Any]) -> str:
    body = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "it",
        "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it"}}],
        "clusters": [{"name": "it", "cluster": {"server": "https://127.0.0.1:1", **cluster}}],
        "users": [{"name": "it", "user": user}],
    }
    path = folder / "config"
    path.write_text(yaml.safe_dump(body), "utf-8")
    return str(path)


def _with_setting(flag: str) -> Callable[[Path, Path], Ran]:
    return lambda folder, it: osm_gitops("render", "--from", _tree(folder), "--to", "-", flag, str(it))


def _with_kubeconfig(cluster: str = "", user: str = "") -> Callable[[Path, Path], Ran]:
    def run(folder: Path, it: Path) -> Ran:
        config = _kubeconfig(folder, {cluster: str(it)} if cluster else {}, {user: str(it)} if user else {})
        return osm_gitops("plan", "--from", "cluster", "--to", "cluster", "--kubeconfig", config)

    return run


def _beside_an_overlay(folder: Path, it: Path) -> Ran:
    overlay = folder / "overlay"
    overlay.mkdir()
    body = {
        "apiVersion": "osm-gitops.io/v1alpha1",
        "kind": "Overlay",
        "patches": [{"target": {"name": "osp-a"}, "merge": "it"}],
    }
    (overlay / "overlay.yaml").write_text(yaml.safe_dump(body), "utf-8")
    it.rename(overlay / "it")
    return osm_gitops("render", "--from", _tree(folder), "--to", "-", "--overlay", str(overlay))


def _sops_rules(folder: Path, it: Path) -> Ran:
    target = new_repository(folder / "repo")
    it.rename(target / ".sops.yaml")
    return osm_gitops("apply", "--yes", "--from", _tree(folder), "--to", str(target))


def _desired_state(folder: Path, it: Path) -> Ran:
    target = new_repository(folder / "repo")
    arguments = ("apply", "--yes", "--from", _tree(folder), "--to", str(target), "--dangerously-plaintext-secrets")
    first = osm_gitops(*arguments)
    assert first.code == 0, first.err
    place = target / git(target, "ls-files", "*kustomization.yaml").splitlines()[0]
    place.unlink()
    it.rename(place)
    return osm_gitops(*arguments)


PLACES: Final[dict[str, Callable[[Path, Path], Ran]]] = {
    "--from": lambda _, it: osm_gitops("render", "--from", str(it), "--to", "-"),
    "--kubernetes-ca-bundle": _with_setting("--kubernetes-ca-bundle"),
    "--kubeconfig": lambda _, it: osm_gitops("status", "--kubeconfig", str(it)),
    "certificate-authority": _with_kubeconfig(cluster="certificate-authority"),
    "tokenFile": _with_kubeconfig(user="tokenFile"),
    "client-certificate": _with_kubeconfig(user="client-certificate"),
    "client-key": _with_kubeconfig(user="client-key"),
    "--fleet": lambda _, it: osm_gitops("plan", "--fleet", str(it)),
    "--overlay": lambda folder, it: osm_gitops(
        "render", "--from", _tree(folder), "--to", "-", "--overlay", str(it.rename(it.with_suffix(".yaml")))
    ),
    "a file beside an overlay": _beside_an_overlay,
    "a saved plan": lambda _, it: osm_gitops("apply", str(it)),
    "osp convert": lambda _, it: osm_gitops("osp", "convert", str(it)),
    ".sops.yaml": _sops_rules,
    "a file of the desired state": _desired_state,
}


@pytest.mark.parametrize("make", [each for each, _ in FILES.values()], ids=FILES)
@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
def test_every_place_that_names_a_file_tells_what_is_none(
    place: Callable[[Path, Path], Ran], make: Callable[[Path], Path], tmp_path: Path
) -> None:
    ran = place(tmp_path, make(tmp_path / "it"))
    assert ran.code == 1, ran.err
    assert "Error: " in ran.err
    for sign in ("this is a bug", "Traceback", "PATH="):
        assert sign not in ran.err + ran.out


@pytest.mark.parametrize("make", [make for make, _ in FILES.values()], ids=FILES)
@pytest.mark.parametrize("variable", ["SOPS_AGE_KEY_FILE", "SOPS_AGE_SSH_PRIVATE_KEY_FILE"])
def test_a_key_file_that_is_none_is_told(
    variable: str, make: Callable[[Path], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, str(make(tmp_path / "it")))
    write_fleet(tmp_path, "clusters: [{name: a, from: tree, to: {git: {path: clusters}}}]\n")
    _tree(tmp_path)
    ran = osm_gitops("doctor")
    assert Code.FILE_UNREADABLE.value in ran.out + ran.err
    assert "this is a bug" not in ran.out + ran.err


@pytest.mark.parametrize(("make", "what"), FILES.values(), ids=FILES)
def test_what_is_no_file_in_a_tree_stops_no_other(make: Callable[[Path], Path], what: str, tmp_path: Path) -> None:
    tree = Path(_tree(tmp_path))
    make(tree / "it.yaml")
    ran = osm_gitops("render", "--from", str(tree), "--to", "-")
    too_large = "larger" in what
    assert (Expected(Code.FILE_TOO_LARGE, "it.yaml", "256") in told(ran.err)) == too_large
    assert ran.code == (1 if too_large else 0)
    assert "name: workers-kube-system-config" in ran.out


COMMANDS: Final[dict[str, tuple[str, int, str]]] = {
    "endless": ("cat /dev/zero", 60, "1024 KiB"),
    "silent": ("sleep 1000", 1, "1 s"),
}


@pytest.mark.parametrize(("command", "seconds", "limit"), COMMANDS.values(), ids=COMMANDS)
def test_a_command_that_prints_a_key_has_a_deadline_and_a_size(
    command: str, seconds: int, limit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keys, "COMMAND_LIMITS", Limits(seconds=seconds, most=SMALL))
    with refused(Expected(Code.AGE_KEY_COMMAND, "SOPS_AGE_KEY_CMD", limit), kind=OsmGitopsError):
        keys.find_keys({"SOPS_AGE_KEY_CMD": command, "PATH": os.environ["PATH"]})


# --- git ---


def test_a_remote_that_says_nothing_has_a_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "REMOTE_SECONDS", 1.0)
    with hostile(silent) as server:
        address = parse_address(f"{server.address}/repo.git")
        with refused(Expected(Code.GIT_LIMIT, "git clone", "1 s"), kind=TargetError), temporary_clone(address):
            pass


def test_what_git_prints_has_a_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "MOST_OUT", 1000)
    repo = new_repository(tmp_path / "repo")
    (repo / "big").write_bytes(b"x" * 1_000_000)
    git(repo, "add", ".")
    with refused(Expected(Code.GIT_LIMIT, "cat-file", "1000"), kind=TargetError):
        Git(repo).run("cat-file", "blob", ":big")


def test_what_git_says_of_its_trouble_has_a_size(tmp_path: Path) -> None:
    repo = new_repository(tmp_path / "repo")
    hook = repo / ".git" / "hooks" / "pre-commit"
    hook.write_text("#!/bin/sh\nhead -c 20000000 /dev/zero | tr '\\0' x >&2\necho the end >&2\nexit 1\n")
    hook.chmod(0o700)
    (repo / "a").write_text("a")
    git(repo, "add", ".")
    with refused(Expected(Code.GIT_COMMAND_FAILED, "the end"), kind=TargetError) as caught:
        Git(repo).run("commit", "--quiet", "-m", "a")
    assert len(str(caught.value)) < 2000


def test_a_blob_of_terabytes_is_not_waited_for(tmp_path: Path) -> None:
    repo = new_repository(tmp_path / "repo")
    (repo / "big.yaml").write_bytes(b"\0" * 50_000_000)
    (repo / "small.yaml").write_bytes(b"a: b")
    git(repo, "add", ".")
    big, small = (git(repo, "rev-parse", f":{name}") for name in ("big.yaml", "small.yaml"))
    with Repository(repo).objects() as objects:
        for _ in range(3):
            assert objects.file(big, 1000) is None
            assert objects.file(small, 1000) == b"a: b"


def _tree_of(repo: Path, *entries: str) -> str:
    return _git_in(repo, "\n".join(entries), "mktree", "--missing")


def _git_in(repo: Path, text: str, *command: str) -> str:
    done = subprocess.run(["git", *command], cwd=repo, check=True, capture_output=True, text=True, input=text)
    return done.stdout.strip()


def _committed(repo: Path, tree: str) -> None:
    git(repo, "update-ref", "refs/heads/bomb", git(repo, "commit-tree", "-m", "bomb", tree))


def test_a_commit_that_holds_one_folder_a_million_times_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(walk, "MOST_ENTRIES", 2000)
    repo = new_repository(tmp_path / "repo")
    inner = _tree_of(repo, f"100644 blob {git(repo, 'rev-parse', ':README.md')}\ta.yaml")
    for _ in range(10):
        inner = _tree_of(repo, *(f"040000 tree {inner}\tf{number}" for number in range(10)))
    _committed(repo, inner)
    ran = osm_gitops("render", "--from", f"{repo}@bomb", "--to", "-")
    assert ran.code == 1
    assert Expected(Code.SOURCE_TOO_LARGE, "2000") in told(ran.err)


def test_a_commit_with_folders_in_folders_is_told(tmp_path: Path) -> None:
    repo = new_repository(tmp_path / "repo")
    inner = _tree_of(repo, f"100644 blob {git(repo, 'rev-parse', ':README.md')}\ta.yaml")
    for _ in range(1500):
        inner = _tree_of(repo, f"040000 tree {inner}\tf")
    _committed(repo, inner)
    ran = osm_gitops("render", "--from", f"{repo}@bomb", "--to", "-")
    assert ran.code == 1
    assert Expected(Code.SOURCE_TOO_LARGE, "100") in told(ran.err)
    assert "this is a bug" not in ran.err


def test_the_git_file_of_a_tree_may_be_anything(tmp_path: Path) -> None:
    for number, content in enumerate((b"gitdir: \0", b"\xff\xfe", b"x" * (2 << 20), b"")):
        tree = write_tree(tmp_path / str(number), profile(), pool())
        (tree / ".git").write_bytes(content)
        ran = osm_gitops("render", "--from", str(tree), "--to", "-")
        assert ran.code in {0, 1}
        assert "this is a bug" not in ran.err
    tree = write_tree(tmp_path / "fifo", profile(), pool())
    _fifo(tree / ".git")
    ran = osm_gitops("render", "--from", str(tree), "--to", "-")
    assert "this is a bug" not in ran.err


def test_a_pipe_that_a_shell_made_for_the_run_is_read() -> None:
    """``SOPS_AGE_KEY_FILE=<(pass show age)``, ``--kubeconfig <(sops decrypt …)``."""
    reader, writer = os.pipe()
    os.write(writer, b"kind: Config")
    os.close(writer)
    try:
        assert read_file(f"/dev/fd/{reader}", SMALL) == b"kind: Config"
    finally:
        os.close(reader)


def test_a_pipe_of_a_shell_that_does_not_end_is_refused() -> None:
    reader, writer = os.pipe()
    os.write(writer, b"x" * 1000)
    os.close(writer)
    try:
        with pytest.raises(OSError, match="it is larger than 999 bytes"):
            read_file(f"/dev/fd/{reader}", 999)
    finally:
        os.close(reader)
