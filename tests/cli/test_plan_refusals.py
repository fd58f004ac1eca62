"""What apply would refuse fails plan too, so that no pull request is green whose merge cannot be applied."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from osm_gitops.errors import Code
from tests.cli.adopted import Adopted
from tests.cli.running import Ran, osm_gitops
from tests.cli.scenes import pool, profile, write_fleet, write_tree
from tests.faults import Expected, told
from tests.git.repos import git, new_repository

_PLAINTEXT = "--dangerously-plaintext-secrets"
_FLEET = "clusters: [{name: prod, from: tree, to: {git: {path: clusters, branch: main}}}]"


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with four pools, all committed and applied."""
    repository = new_repository(tmp_path / "repo")
    monkeypatch.chdir(repository)
    write_fleet(repository, _FLEET)
    write_tree(repository / "tree", profile(), *map(pool, "abcd"))
    git(repository, "add", ".")
    git(repository, "commit", "--quiet", "-m", "pools")
    assert osm_gitops("apply", "--yes", _PLAINTEXT).code == 0
    return repository


def _delete(repo: Path, *names: str) -> None:
    for name in names:
        (repo / "tree" / f"MachineDeployment-{name}.yaml").unlink()


def _edit_owned(repo: Path) -> None:
    (repo / "clusters/prod/management/kustomization.yaml").write_text("edited\n")


def _push_nowhere(repo: Path) -> None:
    write_fleet(repo, _FLEET.replace("branch: main", "push: true"))


_REFUSED: dict[str, tuple[Callable[[Path], object], tuple[str, ...], str]] = {
    "deletions": (lambda repo: _delete(repo, "a", "b", "c"), (_PLAINTEXT,), "3 of 4 pools would be deleted"),
    "an empty source": (lambda repo: _delete(repo, *"abcd"), (_PLAINTEXT,), "nothing is desired"),
    "changed pools": (
        lambda repo: write_tree(repo / "tree", pool("e")),
        (_PLAINTEXT, "--max-changed-pools", "0"),
        "1 pools would change",
    ),
    "no recipient": (lambda _: None, (), "git would keep in plain text for ever"),
    "another branch": (
        lambda repo: git(repo, "switch", "--quiet", "-c", "other"),
        (_PLAINTEXT,),
        'branch "other" is checked out, not "main"',
    ),
    "edited files": (_edit_owned, (_PLAINTEXT,), "files that osm-gitops owns have changes that are not committed"),
    "no remote": (_push_nowhere, (_PLAINTEXT,), 'there is no remote "origin"'),
}


@pytest.mark.parametrize("case", _REFUSED)
def test_plan_fails_with_the_sentence_of_apply(repo: Path, case: str) -> None:
    prepare, flags, sentence = _REFUSED[case]
    prepare(repo)
    planned = osm_gitops("plan", "--detailed-exitcode", "--report", "plan.md", "--report", "plan.json", *flags)
    applied = osm_gitops("apply", "--yes", *flags)
    assert (planned.code, applied.code) == (1, 1)
    (told,) = (line for line in planned.err.splitlines() if sentence in line)
    assert told.startswith("Error: ")
    assert told in applied.err.splitlines()
    assert sentence in planned.out
    assert sentence in (repo / "plan.md").read_text("utf-8")
    (cluster,) = json.loads((repo / "plan.json").read_text("utf-8"))["clusters"]
    assert any(sentence in each["message"] for each in cluster["refusals"])


def test_a_checkout_without_a_branch_is_planned_as_the_branch_that_it_is_for(repo: Path) -> None:
    """Pull requests are checked out so; apply runs elsewhere."""
    git(repo, "switch", "--quiet", "--detach")
    ran = osm_gitops("plan", _PLAINTEXT)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.endswith("No changes.\n")


def test_against_a_revision_guards_count_too(repo: Path) -> None:
    git(repo, "switch", "--quiet", "-c", "fewer")
    _delete(repo, "a", "b", "c")
    ran = osm_gitops("plan", "--against", "main")
    assert ran.code == 1
    assert Expected(Code.TOO_MANY_DELETIONS, "prod", "3", "4") in told(ran.err)
    assert osm_gitops("plan", "--against", "main", "--max-delete", "3").code == 0


def test_outside_of_git_a_plan_needs_no_recipient(repo: Path) -> None:
    ran = osm_gitops("plan", "--to", str(repo.parent / "plain"))
    assert (ran.code, ran.err) == (0, "")


def test_what_a_live_cluster_would_refuse_fails_too(adopted: Adopted) -> None:
    assert adopted.run("apply").code == 0
    ran: Ran = adopted.run("plan", "--cluster-dns", "10.0.0.1", "--max-changed-pools", "0", "--detailed-exitcode")
    assert ran.code == 1
    assert Expected(Code.TOO_MANY_CHANGES, "5", "0") in told(ran.err)
