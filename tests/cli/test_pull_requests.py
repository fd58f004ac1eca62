"""``apply --pull-request``: a branch, and one pull request at a forge that follows it; real git over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from osm_gitops.errors import Code
from osm_gitops.forge.github import GitHub
from osm_gitops.forge.place import ForgeKind
from osm_gitops.sops.keys import new_identity
from tests.cli.running import Ran, osm_gitops
from tests.cli.scenes import GETTER_TOKEN, facts, pool, profile, write_fleet, write_tree
from tests.faults import Expected, told
from tests.forge.repository import TOKEN, FakeForge, Fault
from tests.forge.servers import serving as serving_forge
from tests.git.repos import git, new_repository
from tests.git.server import GitServer
from tests.git.server import serving as serving_git

_BRANCH = "osm-gitops/update"
_TARGET = "{git: {path: clusters, branch: main, pullRequest: {labels: [nodes], reviewers: [ann]}}}"
_FLEET = f"clusters: [{{name: prod, from: pools, to: {_TARGET}}}]\n"
_TWO = "defaults: {from: pools, to: {git: {path: clusters, pullRequest: {branch: 'osm-gitops/{cluster}'}}}}\n"
_TWO += "clusters: [{name: prod}, {name: test}]\n"


@pytest.fixture
def nodes(tmp_path: Path) -> Path:
    """A work tree whose remote is ``org/nodes.git``."""
    first = new_repository(tmp_path / "first")
    write_fleet(first, _FLEET)
    write_tree(first / "pools", profile(), pool("a"), *facts())
    git(first, "add", ".")
    git(first, "commit", "--quiet", "--message", "pools")
    git(tmp_path, "clone", "--quiet", "--bare", "first", "served/org/nodes.git")
    git(tmp_path / "served/org/nodes.git", "config", "http.receivepack", "true")
    return first


@pytest.fixture
def remote(nodes: Path) -> Iterator[GitServer]:
    with serving_git(nodes.parent / "served") as server:
        git(nodes, "remote", "add", "origin", f"{server.address}/org/nodes.git")
        git(nodes, "fetch", "--quiet", "origin")
        yield server


@pytest.fixture
def forge(request: pytest.FixtureRequest, nodes: Path) -> Iterator[FakeForge]:
    with serving_forge(getattr(request, "param", ForgeKind.GITHUB)) as server:
        server.tip = lambda branch: git(_bare(nodes), "rev-parse", branch)
        yield server


# tests/forge holds each forge to more than this.
every_forge = pytest.mark.parametrize(
    "forge",
    [
        ForgeKind.GITHUB,
        pytest.param(ForgeKind.GITLAB, marks=pytest.mark.exhaustive),
        pytest.param(ForgeKind.GITEA, marks=pytest.mark.exhaustive),
    ],
    indirect=True,
    ids=lambda kind: kind.value,
)


def _bare(nodes: Path) -> Path:
    return nodes.parent / "served/org/nodes.git"


def _branches(nodes: Path) -> list[str]:
    return git(_bare(nodes), "branch", "--format=%(refname:short)").splitlines()


def _url(forge: FakeForge) -> str:
    place = {ForgeKind.GITHUB: "pull", ForgeKind.GITLAB: "-/merge_requests"}.get(forge.kind, "pulls")
    return f"https://forge.example/org/nodes/{place}/{forge.pulls[-1].number}"


@pytest.fixture(autouse=True)
def _in_it(nodes: Path, remote: GitServer, monkeypatch: pytest.MonkeyPatch) -> None:
    del remote
    monkeypatch.chdir(nodes)
    (nodes.parent / "token").write_text(f"{TOKEN}\n")
    monkeypatch.setenv("OSM_GITOPS_FORGE_TOKEN_FILE", str(nodes.parent / "token"))


def _apply(forge: FakeForge, *more: str, encrypted: bool = False) -> Ran:
    plain = () if encrypted else ("--dangerously-plaintext-secrets",)
    return osm_gitops("apply", "--yes", f"--forge={forge.kind.value}", f"--forge-api={forge.api}", *plain, *more)


def _change(nodes: Path, *objects: dict[str, object], message: str = "change") -> None:
    """Commit and push a change of the sources to the base branch."""
    write_tree(nodes / "pools", profile(), *facts(), *objects)
    git(nodes, "add", "--all", ".")
    git(nodes, "commit", "--quiet", "--message", message)
    git(nodes, "push", "--quiet", "origin", "main")


@every_forge
def test_a_change_is_proposed_and_updated(nodes: Path, forge: FakeForge, remote: GitServer) -> None:
    ran = _apply(forge)
    assert ran.code == 0, ran.err
    (pull,) = forge.pulls
    assert ran.err.splitlines()[-2:] == [f"pushed to origin/{_BRANCH}", f"pull request {_url(forge)} opened"]
    assert (pull.head, pull.base, pull.title) == (_BRANCH, "main", "osm-gitops: prod: 4 to create")
    assert "Plan: 4 to create" in pull.body
    assert GETTER_TOKEN not in pull.body
    assert (pull.labels, pull.reviewers) == (["nodes"], ["ann"])
    assert not (nodes / "clusters").exists()
    assert not any(TOKEN.encode() in each for each in remote.processes)
    # Again: nothing is done.
    first = git(_bare(nodes), "rev-parse", _BRANCH)
    again = _apply(forge)
    assert (again.code, again.out.splitlines()[-1]) == (0, "No changes.")
    assert again.err.splitlines() == [f"pull request {_url(forge)} is up to date"]
    assert git(_bare(nodes), "rev-parse", _BRANCH) == first
    # Something more: the text is about all of it, what the branch has already too.
    _change(nodes, pool("a"), pool("b"))
    ran = _apply(forge)
    assert ran.code == 0, ran.err
    assert (pull.title, len(forge.pulls)) == ("osm-gitops: prod: 7 to create", 1)
    assert git(_bare(nodes), "rev-parse", f"{_BRANCH}^") == first


def _applied(nodes: Path) -> None:
    """The state of now is on the base branch."""
    ran = osm_gitops("apply", "--yes", "--no-pull-request", "--push", "--dangerously-plaintext-secrets")
    assert ran.code == 0, ran.err
    assert _branches(nodes) == ["main"]


@every_forge
def test_where_nothing_is_left_the_pull_request_is_closed_and_its_branch_deleted(nodes: Path, forge: FakeForge) -> None:
    _applied(nodes)
    _change(nodes, pool("a", kubelet="1.35.0"))
    assert _apply(forge).code == 0
    assert "update" in forge.pulls[0].title
    _change(nodes, pool("a"), message="taken back")
    ran = _apply(forge)
    assert ran.code == 0, ran.err
    assert (forge.open_pulls, _branches(nodes)) == ([], ["main"])
    assert "closed, because nothing is left to change" in ran.err
    asked = len(forge.asked)
    assert _apply(forge).code == 0
    assert len(forge.asked) == asked


@pytest.mark.exhaustive
def test_encrypted_files_that_are_taken_back_leave_nothing_either(
    nodes: Path, forge: FakeForge, monkeypatch: pytest.MonkeyPatch
) -> None:
    identity, recipient = new_identity()
    (nodes / ".sops.yaml").write_text(f"creation_rules: [{{path_regex: ^clusters/, age: {recipient}}}]\n")
    monkeypatch.setenv("SOPS_AGE_KEY", identity)
    _change(nodes, pool("a"))
    ran = osm_gitops("apply", "--yes", "--no-pull-request", "--push")
    assert ran.code == 0, ran.err
    _change(nodes, pool("a", kubelet="1.35.0"))
    assert _apply(forge, encrypted=True).code == 0
    assert len(forge.open_pulls) == 1
    _change(nodes, pool("a"))
    ran = _apply(forge, encrypted=True)
    assert ran.code == 0, ran.err
    assert (forge.open_pulls, _branches(nodes)) == ([], ["main"])


@pytest.mark.exhaustive
def test_after_a_merge_the_branch_is_deleted(nodes: Path, forge: FakeForge) -> None:
    assert _apply(forge).code == 0
    git(nodes, "fetch", "--quiet")
    git(nodes, "merge", "--quiet", "--squash", f"origin/{_BRANCH}")
    git(nodes, "commit", "--quiet", "--message", "merged")
    git(nodes, "push", "--quiet", "origin", "main")
    forge.pulls[0].state, forge.pulls[0].merged = "closed", True
    ran = _apply(forge)
    assert ran.code == 0, ran.err
    assert _branches(nodes) == ["main"]
    assert f"branch origin/{_BRANCH} was deleted" in ran.err


@every_forge
def test_a_run_that_ends_between_push_and_request_is_completed_by_the_next(nodes: Path, forge: FakeForge) -> None:
    forge.faults = dict.fromkeys(range(1, 99), Fault.FORBIDDEN)
    ran = _apply(forge)
    assert ran.code == 1
    assert told(ran.err) == [Expected(Code.FORGE_REFUSED, "403")]
    assert TOKEN not in ran.err + ran.out
    tip = git(_bare(nodes), "rev-parse", _BRANCH)
    forge.faults = {}
    ran = _apply(forge)
    assert ran.code == 0, ran.err
    assert ("4 to create" in forge.pulls[0].title, git(_bare(nodes), "rev-parse", _BRANCH)) == (True, tip)


@pytest.mark.exhaustive
def test_a_run_that_ends_between_closing_and_deleting_is_completed_by_the_next(nodes: Path, forge: FakeForge) -> None:
    _applied(nodes)
    _change(nodes, pool("a", kubelet="1.35.0"))
    assert _apply(forge).code == 0
    _change(nodes, pool("a"))
    hook = _bare(nodes) / "hooks" / "pre-receive"
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    ran = _apply(forge)
    assert (ran.code, forge.open_pulls, _branches(nodes)) == (1, [], ["main", _BRANCH])
    hook.unlink()
    assert _apply(forge).code == 0
    assert _branches(nodes) == ["main"]


def test_commits_of_others_on_the_branch_stop_the_run_before_anything_changes(nodes: Path, forge: FakeForge) -> None:
    assert _apply(forge).code == 0
    git(nodes.parent, "clone", "--quiet", "--branch", _BRANCH, str(_bare(nodes)), "human")
    human = nodes.parent / "human"
    (human / "note.txt").write_text("theirs\n")
    git(human, "add", ".")
    git(human, "commit", "--quiet", "--message", "theirs")
    git(human, "push", "--quiet")
    theirs, asked = git(_bare(nodes), "rev-parse", _BRANCH), len(forge.asked)
    _change(nodes, pool("a"), pool("b"))
    ran = _apply(forge)
    assert ran.code == 1
    assert told(ran.err) == [Expected(Code.BRANCH_OF_OTHERS, theirs[:12], "Merge that branch")]
    assert (git(_bare(nodes), "rev-parse", _BRANCH), len(forge.asked)) == (theirs, asked)


def test_without_a_token_or_a_known_forge_nothing_is_pushed(
    nodes: Path, forge: FakeForge, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = osm_gitops("apply", "--yes", "--dangerously-plaintext-secrets")
    assert ran.code == 1
    assert told(ran.err) == [Expected(Code.FORGE_UNKNOWN, "127.0.0.1", "--forge")]
    monkeypatch.delenv("OSM_GITOPS_FORGE_TOKEN_FILE")
    ran = _apply(forge)
    assert ran.code == 1
    assert told(ran.err) == [Expected(Code.FORGE_TOKEN, "--forge-token-file")]
    assert (_branches(nodes), forge.asked) == (["main"], [])
    ran = _apply(forge, "--pull-request", "--no-push")
    assert ran.code == 1
    assert told(ran.err) == [Expected(Code.OPTIONS_CONFLICT, "--no-push")]


def test_the_token_for_git_serves_in_a_clone_too(
    nodes: Path, forge: FakeForge, remote: GitServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OSM_GITOPS_FORGE_TOKEN_FILE")
    monkeypatch.chdir(tmp_path)
    remote.token = TOKEN
    ran = _apply(forge, f"--repo={remote.address}/org/nodes.git", "--git-token-file=token")
    assert ran.code == 0, ran.err
    assert ("opened" in ran.err, _branches(nodes)) == (True, ["main", _BRANCH])
    assert not any(TOKEN.encode() in each for each in remote.processes)
    assert _apply(forge, f"--repo={remote.address}/org/nodes.git", "--git-token-file=token").code == 0
    assert len(forge.pulls) == 1


def test_each_cluster_may_have_a_pull_request_of_its_own(nodes: Path, forge: FakeForge) -> None:
    write_fleet(nodes, _TWO)
    _change(nodes, pool("a"))
    ran = _apply(forge)
    assert ran.code == 0, ran.err
    assert [(pull.head, pull.title) for pull in forge.pulls] == [
        ("osm-gitops/prod", "osm-gitops: prod: 4 to create"),
        ("osm-gitops/test", "osm-gitops: test: 4 to create"),
    ]
    for name in ("prod", "test"):
        files = git(_bare(nodes), "diff", "--name-only", "main", f"osm-gitops/{name}").splitlines()
        assert {file.split("/")[1] for file in files} == {name}
    ran = _apply(forge)
    assert (ran.code, ran.err.count("is up to date"), len(forge.pulls)) == (0, 2, 2)
    # One is merged, the other goes on.
    git(nodes, "fetch", "--quiet")
    git(nodes, "merge", "--quiet", "--no-edit", "origin/osm-gitops/prod")
    git(nodes, "push", "--quiet", "origin", "main")
    forge.pulls[0].state, forge.pulls[0].merged = "closed", True
    ran = _apply(forge)
    assert ran.code == 0, ran.err
    assert _branches(nodes) == ["main", "osm-gitops/test"]
    assert [pull.head for pull in forge.open_pulls] == ["osm-gitops/test"]


def test_a_run_over_a_part_of_the_clusters_leaves_the_text_about_all_of_them(nodes: Path, forge: FakeForge) -> None:
    write_fleet(nodes, _TWO.replace("branch: 'osm-gitops/{cluster}'", ""))
    _change(nodes, pool("a"))
    assert _apply(forge).code == 0
    (pull,) = forge.pulls
    assert pull.title == "osm-gitops: prod, test: 8 to create"
    body = pull.body
    for part in ("--cluster=prod", "--only=a"):
        ran = _apply(forge, part)
        assert ran.code == 0, ran.err
        assert (pull.title, pull.body, pull.state) == ("osm-gitops: prod, test: 8 to create", body, "open")


def test_one_commit_for_all_clusters_is_known_to_be_theirs(nodes: Path, forge: FakeForge) -> None:
    write_fleet(nodes, _TWO.replace("pullRequest: {branch: 'osm-gitops/{cluster}'}", "commit: run, pullRequest: {}"))
    _change(nodes, pool("a"))
    assert _apply(forge).code == 0
    assert git(_bare(nodes), "rev-list", "--count", f"main..{_BRANCH}") == "1"
    _change(nodes, pool("a"), pool("b"))
    assert _apply(forge).code == 0
    assert forge.pulls[0].title == "osm-gitops: prod, test: 14 to create"  # the text is about all of it


@pytest.mark.exhaustive
def test_one_that_somebody_closed_stays_closed_until_something_changes(nodes: Path, forge: FakeForge) -> None:
    assert _apply(forge).code == 0
    forge.pulls[0].commit, forge.pulls[0].state = git(_bare(nodes), "rev-parse", _BRANCH), "closed"
    ran = _apply(forge)
    assert (ran.code, len(forge.pulls)) == (0, 1)
    assert "was closed by somebody" in ran.err
    _change(nodes, pool("a"), pool("b"))
    assert _apply(forge).code == 0
    assert len(forge.open_pulls) == 1


@pytest.mark.exhaustive
def test_a_plan_longer_than_the_forge_takes_is_cut_between_objects_and_says_so(
    nodes: Path, forge: FakeForge, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(GitHub, "longest", 2_500)
    script = "#!/bin/sh\n" + "".join(f"echo {line} {{{{ .KubeVersion }}}}\n" for line in range(300))
    _applied(nodes)
    _change(nodes, profile(script=script), pool("a", kubelet="1.35.0"))
    ran = _apply(forge)
    assert ran.code == 0, ran.err
    body = forge.pulls[0].body
    assert len(body) <= 2_500
    assert "This report is cut" in body
    assert body.count("<details>") == body.count("</details>")
    assert body.count("```") % 2 == 0


@pytest.mark.exhaustive
def test_what_is_edited_in_the_checkout_is_not_taken_for_the_state_of_the_base_branch(
    nodes: Path, forge: FakeForge
) -> None:
    _applied(nodes)
    (nodes / "clusters/prod/management/kustomization.yaml").write_text("edited\n")
    write_tree(nodes / "pools", profile(), pool("a", kubelet="1.35.0"), *facts())
    ran = _apply(forge)
    assert ran.code == 1
    assert Expected(Code.OWNED_FILES_EDITED, "kustomization.yaml") in told(ran.err)
    assert (forge.asked, _branches(nodes)) == ([], ["main"])


def test_a_tree_of_strangers_is_refused(forge: FakeForge) -> None:
    ran = _apply(forge, "--untrusted")
    assert ran.code == 1
    assert told(ran.err) == [Expected(Code.COMMAND_TRUSTS_TREE)]
    assert forge.asked == []
    ran = osm_gitops("plan", "--untrusted", "--dangerously-plaintext-secrets")
    assert (ran.code, forge.asked) == (0, [])
