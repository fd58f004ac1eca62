"""Which addresses are taken, and that no password gets through one."""

from __future__ import annotations

from pathlib import Path

import pytest

from osm_gitops.errors import Code, TargetError
from osm_gitops.git.address import TokenFile, parse_address
from tests.faults import Expected, refused


@pytest.mark.parametrize(
    ("text", "scheme", "host"),
    [
        ("https://git.example.com/platform/nodes.git", "https", "git.example.com"),
        ("https://me@git.example.com:8443/nodes", "https", "git.example.com:8443"),
        ("ssh://git@git.example.com:2222/nodes.git", "ssh", "git.example.com:2222"),
        ("git@git.example.com:platform/nodes.git", "ssh", "git.example.com"),
        ("git.example.com:nodes", "ssh", "git.example.com"),
        ("git@[::1]:nodes", "ssh", "[::1]"),
        ("file:///srv/nodes.git", "file", ""),
        ("/srv/nodes.git", "", ""),
    ],
)
def test_addresses_as_git_takes_them(text: str, scheme: str, host: str) -> None:
    address = parse_address(text)
    assert (address.text, address.scheme, address.host) == (text, scheme, host)


def test_a_relative_path_starts_in_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert parse_address("nodes.git").text == str(tmp_path / "nodes.git")
    assert parse_address("./odd:name").text == str(tmp_path / "odd:name")


@pytest.mark.parametrize(
    "text",
    [
        "https://me:hunter22@git.example.com/nodes.git",
        "https://:hunter22@git.example.com/nodes.git",
        "ssh://git:hunter22@git.example.com/nodes.git",
        "git:hunter22@git.example.com:nodes.git",
        "https://ghp_hunter22hunter22@github.com/a/b.git",
        "https://glpat-hunter22@gitlab.com/a/b.git",
        "https://git.example.com/nodes.git?private_token=hunter22",
    ],
)
def test_a_password_or_token_in_an_address_is_refused_and_not_repeated(text: str) -> None:
    with refused(Expected(Code.CREDENTIAL_IN_ADDRESS, "--git-token-file")) as caught:
        parse_address(text)
    assert "hunter22" not in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "--upload-pack=touch /tmp/x",
        "ext::sh -c 'touch /tmp/x'",
        "fd::3",
        "ssh://-oProxyCommand=x/nodes",
        "-oProxyCommand=x:nodes",
        "git@-oProxyCommand=x:nodes",
        "ftp://git.example.com/nodes",
        "https:///nodes.git",
        "https://git.example.com:port/nodes",
        "https://git.example.com/no\ndes",
    ],
)
def test_what_git_would_run_or_not_understand_is_refused(text: str) -> None:
    with refused(Expected(Code.REPOSITORY_ADDRESS, "--repo")):
        parse_address(text)


@pytest.mark.parametrize(
    ("text", "loopback"),
    [
        ("http://localhost/x", True),
        ("http://127.0.0.1:8080/x", True),
        ("http://[::1]:8080/x", True),
        ("http://127.0.0.1.example.com/x", False),
        ("http://git.example.com/x", False),
    ],
)
def test_only_this_machine_is_the_loopback(text: str, loopback: bool) -> None:
    assert parse_address(text).is_loopback is loopback


@pytest.mark.parametrize("token", ["ghp_0123456789abcdefghijklmn", "x" * 5000])
def test_a_token_in_place_of_its_file_is_not_repeated_and_a_path_is(token: str, tmp_path: Path) -> None:
    address = parse_address("https://git.example.com/nodes.git")
    with refused(Code.GIT_TOKEN_FILE, kind=TargetError) as caught:
        TokenFile(Path(token)).extras(address)
    assert token not in str(caught.value)
    with refused(Expected(Code.GIT_TOKEN_FILE, "--git-token-file", "/missing"), kind=TargetError):
        TokenFile(tmp_path / "missing").extras(address)
