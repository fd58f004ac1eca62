"""``comment``: one comment with a plan on a pull request, in a CI job and by hand."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from osm_gitops.errors import Code
from osm_gitops.forge.place import ForgeKind
from tests.cli.running import osm_gitops
from tests.faults import Expected, told
from tests.forge.repository import BOT, REPOSITORY, TOKEN, FakeForge, Fault
from tests.forge.servers import serving

_MARKER = "<!-- osm-gitops plan: fleet -->"


@pytest.fixture(params=[ForgeKind.GITHUB, ForgeKind.GITLAB, ForgeKind.GITEA], ids=lambda kind: kind.value)
def forge(request: pytest.FixtureRequest) -> Iterator[FakeForge]:
    with serving(request.param) as server:
        yield server


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("GITHUB_REPOSITORY", "GITHUB_API_URL", "GITHUB_REF", "CI_PROJECT_PATH", "CI_API_V4_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OSM_GITOPS_FORGE_TOKEN", TOKEN)
    Path("plan.md").write_text("## plan\n")


def _in_job(forge: FakeForge, monkeypatch: pytest.MonkeyPatch) -> None:
    """The variables of a job for pull request 7."""
    if forge.kind is ForgeKind.GITLAB:
        given = {"CI_PROJECT_PATH": REPOSITORY, "CI_API_V4_URL": forge.api, "CI_MERGE_REQUEST_IID": "7"}
    else:
        given = {"GITHUB_REPOSITORY": REPOSITORY, "GITHUB_API_URL": forge.api, "GITHUB_REF": "refs/pull/7/merge"}
        given |= {"GITEA_ACTIONS": "true"} if forge.kind is ForgeKind.GITEA else {}
    for name, value in given.items():
        monkeypatch.setenv(name, value)


def test_a_job_needs_no_flags(forge: FakeForge, monkeypatch: pytest.MonkeyPatch) -> None:
    _in_job(forge, monkeypatch)
    ran = osm_gitops("comment", "plan.md")
    assert (ran.code, ran.out, ran.err) == (0, "", "Wrote a comment on the pull request.\n")
    assert [note.body for note in forge.notes] == [f"{_MARKER}\n## plan\n"]
    Path("plan.md").write_text("No changes.\n")
    ran = osm_gitops("comment", "plan.md", "--only-update", f"--author={BOT}")
    assert (ran.code, ran.err) == (0, "Updated the comment on the pull request.\n")
    assert [note.body for note in forge.notes] == [f"{_MARKER}\nNo changes.\n"]
    assert all("/7" in each.path for each in forge.asked if "comments" in each.path and each.method == "POST")
    assert not list(Path().glob(".*"))


def test_by_hand_the_pull_request_is_named(forge: FakeForge) -> None:
    where = (f"--repository={forge.address}/{REPOSITORY}.git", f"--forge={forge.kind.value}", "--number=7")
    ran = osm_gitops("comment", "plan.md", *where, f"--forge-api={forge.api}", "--name=other fleet")
    assert ran.code == 0, ran.err
    assert forge.notes[0].body.startswith("<!-- osm-gitops plan: other fleet -->\n")


def test_a_token_that_may_not_comment_is_an_error_unless_that_is_allowed(
    forge: FakeForge, monkeypatch: pytest.MonkeyPatch
) -> None:
    _in_job(forge, monkeypatch)
    forge.faults = dict.fromkeys(range(1, 9), Fault.FORBIDDEN)
    ran = osm_gitops("comment", "plan.md", f"--author={BOT}")
    assert ran.code == 1
    assert told(ran.err) == [Expected(Code.FORGE_REFUSED, "403")]
    assert TOKEN not in ran.err
    ran = osm_gitops("comment", "plan.md", f"--author={BOT}", "--allow-forbidden")
    assert (ran.code, told(ran.err)) == (0, [])


def test_what_is_missing_or_wrong_is_told_before_anything_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    for arguments, fault in (
        (("plan.md",), Expected(Code.MISSING_ARGUMENT, "--repository")),
        (("plan.md", "--repository=https://github.com/a/b"), Expected(Code.MISSING_ARGUMENT, "--number")),
        (("plan.md", "--name=a--b"), Expected(Code.INVALID_OPTION, "--name")),
        (("plan.md", "--repository=https://me:secret-word@github.com/a/b"), Expected(Code.CREDENTIAL_IN_ADDRESS)),
        (("gone.md", "--repository=https://github.com/a/b", "--number=7"), Expected(Code.FILE_UNREADABLE, "gone.md")),
    ):
        ran = osm_gitops("comment", *arguments)
        assert ran.code == 1
        assert told(ran.err) == [fault]
        assert "secret-word" not in ran.err
    monkeypatch.setenv("GITHUB_REPOSITORY", "a/b")
    monkeypatch.setenv("GITHUB_API_URL", "http://github.example.com/api/v3")
    ran = osm_gitops("comment", "plan.md", "--number=7")
    assert told(ran.err) == [Expected(Code.FORGE_TOKEN, "http://github.example.com/api/v3")]


def test_a_tree_of_strangers_names_neither_forge_nor_token(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git/config").write_text('[remote "origin"]\n\turl = https://gitlab.evil.example/a/b.git\n')
    (tmp_path / "osm-gitops.yaml").write_text("kind: Nothing\n")
    ran = osm_gitops("comment", "plan.md", "--number=7")
    assert told(ran.err) == [Expected(Code.MISSING_ARGUMENT, "--repository")]
