"""Clones for one run, from real servers, with a token that nobody sees."""

from __future__ import annotations

import stat
from base64 import b64encode
from pathlib import Path

import pytest

from osm_gitops.errors import Code, TargetError
from osm_gitops.git.address import TokenFile, parse_address
from osm_gitops.git.remote import PushOutcome, Remote, temporary_clone
from osm_gitops.git.repository import Repository
from tests.faults import Expected, refused
from tests.git.repos import git, new_repository, pin_git
from tests.git.server import GitServer, serving

_TOKEN = "tok-5ecr3t/+=%"
_FORMS = (_TOKEN.encode(), *(b64encode(f"{user}:{_TOKEN}".encode()) for user in ("x-access-token", "oauth2")))


@pytest.fixture(autouse=True)
def _pinned_git(monkeypatch: pytest.MonkeyPatch) -> None:
    pin_git(monkeypatch)


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """A bare repository with some past on ``main``, a branch and a tag."""
    first = new_repository(tmp_path / "first")
    git(first, "tag", "v1")
    for name in ("one", "two"):
        (first / name).write_text(f"{name}\n")
        git(first, "add", ".")
        git(first, "commit", "--quiet", "-m", name)
    git(first, "branch", "release", "HEAD^")
    git(tmp_path, "clone", "--quiet", "--bare", "first", "served/nodes.git")
    return tmp_path / "served" / "nodes.git"


@pytest.fixture
def token_file(tmp_path: Path) -> TokenFile:
    (tmp_path / "token").write_text(f"{_TOKEN}\n")
    return TokenFile(tmp_path / "token")


def test_a_clone_is_one_commit_deep_private_and_gone_afterwards(bare: Path) -> None:
    with temporary_clone(parse_address(str(bare))) as clone:
        assert Repository(clone.root).branch() == "main"
        assert git(clone.root, "rev-list", "--count", "HEAD") == "1"
        assert git(clone.root, "rev-parse", "HEAD") == git(bare, "rev-parse", "main")
        assert sorted(path.name for path in clone.root.iterdir()) == [".git", "README.md", "one", "two"]
        assert stat.S_IMODE(clone.root.parent.stat().st_mode) == 0o700
    assert not clone.root.parent.exists()


@pytest.mark.parametrize(("ref", "branch"), [("release", "release"), ("v1", None), ("COMMIT", None)])
def test_a_branch_a_tag_or_a_commit_is_cloned(bare: Path, ref: str, branch: str | None) -> None:
    wanted = git(bare, "rev-parse", "main^" if ref == "COMMIT" else ref)
    ref = wanted if ref == "COMMIT" else ref
    git(bare, "config", "uploadpack.allowReachableSHA1InWant", "true")
    with temporary_clone(parse_address(f"file://{bare}"), ref) as clone:
        assert Repository(clone.root).branch() == branch
        assert git(clone.root, "rev-parse", "HEAD") == wanted
        assert git(clone.root, "status", "--porcelain") == ""


@pytest.mark.parametrize(
    ("ref", "fault"),
    [
        ("gone", Expected(Code.GIT_NAME, "gone")),
        ("--upload-pack=x", Expected(Code.GIT_NAME)),
        ("a..b", Expected(Code.GIT_NAME)),
        ("main@{1}", Expected(Code.GIT_NAME)),
    ],
)
def test_a_ref_that_is_none_is_refused(bare: Path, ref: str, fault: Expected) -> None:
    with refused(fault, kind=TargetError), temporary_clone(parse_address(str(bare)), ref):
        pass


def test_objects_of_a_clone_go_nowhere_else(bare: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_OBJECT_DIRECTORY", str(tmp_path / "objects"))
    with (
        refused(Expected(Code.GIT_ENVIRONMENT, "GIT_OBJECT_DIRECTORY"), kind=TargetError),
        temporary_clone(parse_address(str(bare))),
    ):
        pass


def test_an_address_without_a_repository_is_told(tmp_path: Path) -> None:
    with (
        refused(Code.GIT_COMMAND_FAILED, kind=TargetError),
        temporary_clone(parse_address(str(tmp_path / "none.git"))),
    ):
        pass


def test_an_environment_that_git_gave_to_a_hook_leads_a_clone_nowhere_else(
    bare: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = new_repository(tmp_path / "elsewhere")
    monkeypatch.setenv("GIT_DIR", str(elsewhere / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(elsewhere))
    monkeypatch.setenv("GIT_INDEX_FILE", str(elsewhere / ".git" / "index"))
    with temporary_clone(parse_address(str(bare))) as clone:
        assert (clone.root / "two").is_file()
    monkeypatch.undo()
    assert not (elsewhere / "two").exists()


# -- with a token --


def _trace(monkeypatch: pytest.MonkeyPatch, folder: Path) -> Path:
    """Let git write down what it runs and sends, as a user who looks for a mistake does."""
    for name in ("GIT_TRACE", "GIT_TRACE_CURL", "GIT_TRACE_SETUP", "GIT_TRACE_PACKET"):
        monkeypatch.setenv(name, str(folder / "trace"))
    return folder / "trace"


def _assert_unseen(server: GitServer, *texts: bytes) -> None:
    everywhere = b"\n".join((*server.processes, *texts))
    assert b"git" in everywhere
    for form in _FORMS:
        assert form not in everywhere


def test_a_token_clones_and_pushes_and_is_in_no_process_log_or_file(
    bare: Path, token_file: TokenFile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = _trace(monkeypatch, tmp_path)
    with serving(bare.parent, _TOKEN) as server:
        address = parse_address(f"{server.address}/nodes.git")
        with temporary_clone(address, "main", token_file) as clone:
            repository = Repository(clone.root)
            (clone.root / "three").write_text("three\n")
            git(clone.root, "add", ".")
            git(clone.root, "commit", "--quiet", "-m", "three")
            remote = Remote(repository, "origin", token_file)
            assert (
                remote.push("main", git(clone.root, "rev-parse", "HEAD"), expected=remote.seen("main"))
                is PushOutcome.PUSHED
            )
            files = [path.read_bytes() for path in clone.root.rglob("*") if path.is_file()]
        assert git(bare, "log", "-1", "--format=%s", "main") == "three"
        assert server.users == {"x-access-token"}
        _assert_unseen(server, trace.read_bytes(), *files)
    assert any(b"remote-http" in each or b"git-remote" in each for each in server.processes)


def test_the_user_name_of_the_address_goes_with_the_token(bare: Path, token_file: TokenFile) -> None:
    with serving(bare.parent, _TOKEN) as server:
        address = parse_address(server.address.replace("//", "//oauth2@") + "/nodes.git")
        with temporary_clone(address, "", token_file):
            assert server.users == {"oauth2"}


def test_credentials_that_git_finds_itself_are_enough(
    bare: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    askpass = tmp_path / "askpass"
    askpass.write_text(f"#!/bin/sh\ncase $1 in Username*) echo oauth2;; *) printf '%s\\n' '{_TOKEN}';; esac\n")
    askpass.chmod(0o755)
    monkeypatch.setenv("GIT_ASKPASS", str(askpass))
    with serving(bare.parent, _TOKEN) as server, temporary_clone(parse_address(f"{server.address}/nodes.git")) as clone:
        assert Repository(clone.root).branch() == "main"


@pytest.mark.parametrize("given", [True, False])
def test_wrong_credentials_are_a_sentence_without_them(bare: Path, tmp_path: Path, given: bool) -> None:
    (tmp_path / "token").write_text("wr0ng-token\n")
    token = TokenFile(tmp_path / "token") if given else None
    with (
        serving(bare.parent, _TOKEN) as server,
        refused(Expected(Code.GIT_COMMAND_FAILED, "--git-token-file"), kind=TargetError) as caught,
        temporary_clone(parse_address(f"{server.address}/nodes.git"), "", token),
    ):
        pass
    assert "wr0ng" not in str(caught.value)


def test_a_token_goes_to_no_other_host_than_the_addresss(
    bare: Path, token_file: TokenFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(bare.parent, _TOKEN) as server, serving(bare.parent, _TOKEN) as other:
        monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
        monkeypatch.setenv("GIT_CONFIG_KEY_0", f"url.{other.address}/.insteadOf")
        monkeypatch.setenv("GIT_CONFIG_VALUE_0", f"{server.address}/")
        with pytest.raises(TargetError), temporary_clone(parse_address(f"{server.address}/nodes.git"), "", token_file):
            pass
        assert other.users == set()


@pytest.mark.parametrize(
    "content",
    ["\n", b"\xff\xfe", None],
)
def test_a_token_file_that_holds_none_is_told(bare: Path, tmp_path: Path, content: str | bytes | None) -> None:
    if content is not None:
        (tmp_path / "token").write_bytes(content if isinstance(content, bytes) else content.encode())
    token = TokenFile(tmp_path / "token")
    with (
        refused(Code.GIT_TOKEN_FILE, kind=TargetError),
        temporary_clone(parse_address("https://localhost:1/x"), "", token),
    ):
        pass
    assert bare.is_dir()


def test_a_token_is_not_sent_in_plain_text(token_file: TokenFile) -> None:
    address = parse_address("http://git.example.com/nodes.git")
    with refused(Code.GIT_TOKEN_FILE, kind=TargetError), temporary_clone(address, "", token_file):
        pass


def test_a_token_with_windows_line_ends_and_no_last_one_works(bare: Path, tmp_path: Path) -> None:
    (tmp_path / "token").write_bytes(f"{_TOKEN}\r\nmore\r\n".encode())
    with serving(bare.parent, _TOKEN) as server:
        for content in (f"{_TOKEN}\r\nmore\r\n", _TOKEN):
            (tmp_path / "token").write_bytes(content.encode())
            with temporary_clone(
                parse_address(f"{server.address}/nodes.git"), "", TokenFile(tmp_path / "token")
            ) as clone:
                assert Repository(clone.root).branch() == "main"
