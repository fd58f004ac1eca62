"""Single requests: tokens, redirections, silence, addresses without a server."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from osm_gitops.errors import Code, ForgeError, InputError, TargetError
from osm_gitops.forge.api import Access
from osm_gitops.forge.forge import Forge, forge_at
from osm_gitops.forge.place import ForgeKind, Place
from osm_gitops.forge.token import VARIABLE, ForgeToken
from osm_gitops.git.address import TokenFile
from tests.faults import Expected, refused
from tests.forge.conftest import QUICK
from tests.forge.repository import TOKEN, FakeForge, Fault
from tests.forge.servers import serving


def test_a_token_does_not_follow_a_redirection_to_another_host(forge: Forge, server: FakeForge) -> None:
    with serving(server.kind) as other:
        server.elsewhere = other.address
        server.faults = {1: Fault.REDIRECT}
        with refused(Expected(Code.NOT_A_FORGE, "302"), kind=ForgeError):
            forge.find("a", "b")
        assert other.asked == []


def test_the_groups_of_a_project_are_one_segment_of_the_path() -> None:
    with serving(ForgeKind.GITLAB) as server:
        forge = forge_at(server.place, Access(lambda: TOKEN, retries=QUICK))
        assert forge.find("osm-gitops/a", "main") is None
        assert server.asked[0].raw == "/api/v4/projects/org%2Fnodes/merge_requests"
        assert server.asked[0].query["source_branch"] == "osm-gitops/a"
        forge.close()


def test_a_silent_server_is_left_after_the_time_limit() -> None:
    with serving(ForgeKind.GITHUB) as server:
        server.faults = {1: Fault.TIMEOUT, 2: Fault.TIMEOUT}
        forge = forge_at(server.place, Access(lambda: TOKEN, retries=replace(QUICK, read=0.05, tries=2, strange=2)))
        with refused(Code.FORGE_UNREACHABLE, kind=ForgeError):
            forge.find("a", "b")
        forge.close()


def test_a_refused_token_is_read_again_for_mounted_ones_rotate(server: FakeForge) -> None:
    tokens = iter(["old-token", TOKEN])
    forge = forge_at(server.place, Access(lambda: next(tokens), retries=QUICK))
    assert forge.find("a", "b") is None
    assert [each.token for each in server.asked][:2] == ["old-token", TOKEN]
    forge.close()


def test_a_token_that_cannot_be_sent_is_refused_and_not_repeated(server: FakeForge) -> None:
    forge = forge_at(server.place, Access(lambda: "secret\r\nX-Evil: yes", retries=QUICK))
    with refused(Code.FORGE_TOKEN, kind=ForgeError) as no:
        forge.find("a", "b")
    assert "secret" not in str(no.value)
    assert server.asked == []


def test_an_address_without_a_server_is_a_sentence() -> None:
    place = Place(ForgeKind.GITLAB, "http://127.0.0.1:1/api/v4", "org/nodes")
    forge = forge_at(place, Access(lambda: TOKEN, retries=QUICK))
    with refused(Expected(Code.FORGE_UNREACHABLE, "http://127.0.0.1:1/api/v4", "refused"), kind=ForgeError):
        forge.find("a", "b")


def test_an_answer_of_another_api_is_a_sentence(server: FakeForge) -> None:
    other = ForgeKind.GITHUB if server.kind is ForgeKind.GITLAB else ForgeKind.GITLAB
    forge = forge_at(replace(server.place, kind=other), Access(lambda: TOKEN, retries=QUICK))
    with refused(Expected(Code.FORGE_REFUSED, "404"), kind=ForgeError):
        forge.find("osm-gitops/update", "main")
    forge.close()


def test_the_token_comes_from_its_file_else_the_environment_else_the_file_for_pushes(tmp_path: Path) -> None:
    (tmp_path / "own").write_text("own-token\nsecond line\n")
    (tmp_path / "git").write_text("git-token\n")
    for_git = TokenFile(tmp_path / "git")
    environment = {VARIABLE: " environment-token\n"}
    assert ForgeToken(tmp_path / "own", environment, for_git).read() == "own-token"
    assert ForgeToken(None, environment, for_git).read() == "environment-token"
    assert ForgeToken(None, {}, for_git).read() == "git-token"
    with refused(Code.FORGE_TOKEN):
        ForgeToken().read()
    with refused(Expected(Code.GIT_TOKEN_FILE, "--forge-token-file"), kind=TargetError):
        ForgeToken(tmp_path / "gone", environment).read()
    assert "token" not in repr(ForgeToken(None, environment)).replace("ForgeToken", "")


def test_a_missing_token_is_a_fault_of_the_input(server: FakeForge) -> None:
    with pytest.raises(InputError):
        ForgeToken().read()
    forge = forge_at(server.place, Access(ForgeToken().read, retries=QUICK))
    with refused(Expected(Code.FORGE_TOKEN, VARIABLE), kind=ForgeError):
        forge.find("a", "b")
