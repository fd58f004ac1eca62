"""Why most questions go to git itself and not to GitPython's ``Repo``: what the two answer differently.

A test that fails here with a later GitPython takes away a reason (docs/explanation/dependencies.md, "GitPython").
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import git as gitpython
import pytest

from osm_gitops.git.repository import Repository
from tests.git.repos import git, new_repository, pin_git, write_hook


@pytest.fixture(autouse=True)
def _pinned_git(monkeypatch: pytest.MonkeyPatch) -> None:
    pin_git(monkeypatch)


def _sha256(root: Path) -> Path:
    subprocess.run(["git", "init", "--quiet", "--object-format=sha256", str(root)], check=True)
    git(root, "commit", "--quiet", "--allow-empty", "--message=x")
    return root


def test_it_opens_a_repository_of_another_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = new_repository(tmp_path / "repo")
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    refused = subprocess.run(["git", "rev-parse", "--git-dir"], cwd=root, capture_output=True, text=True, check=False)
    assert "dubious ownership" in refused.stderr
    assert gitpython.Repo(root).git_dir == str(root / ".git")


def test_it_does_not_see_configuration_in_variables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = new_repository(tmp_path / "repo")
    for name, value in (("COUNT", "1"), ("KEY_0", "commit.gpgsign"), ("VALUE_0", "true")):
        monkeypatch.setenv(f"GIT_CONFIG_{name}", value)
    assert git(root, "config", "--get", "commit.gpgsign").strip() == "true"
    assert gitpython.Repo(root).config_reader().get_value("commit", "gpgsign", "unset") == "unset"


def test_it_is_led_elsewhere_by_a_variable_though_the_place_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, other = new_repository(tmp_path / "repo"), new_repository(tmp_path / "other")
    monkeypatch.setenv("GIT_COMMON_DIR", str(other / ".git"))
    assert gitpython.Repo(root).common_dir == str(other / ".git")


def test_it_reads_no_commit_that_sha256_names(tmp_path: Path) -> None:
    root = _sha256(tmp_path / "repo")
    with pytest.raises(ValueError, match="Failed to parse reference information"):
        _ = gitpython.Repo(root).head.commit
    assert len(Repository(root).head() or "") == 64


def test_it_fails_at_an_include_that_depends_on_the_place_of_a_bare_repository(tmp_path: Path) -> None:
    root = tmp_path / "bare.git"
    subprocess.run(["git", "init", "--quiet", "--bare", str(root)], check=True)
    git(root, "config", "includeIf.gitdir:~/.path", "missing")
    with pytest.raises(AttributeError, match="git_dir"):
        gitpython.Repo(root)


def test_it_does_not_see_remotes_of_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = new_repository(tmp_path / "repo")
    (tmp_path / "user").write_text('[remote "mine"]\n\turl = https://example.com/\n')
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "user"))
    assert git(root, "remote") == "mine"
    assert gitpython.Repo(root).remotes == []


def test_its_question_for_changes_runs_what_the_configuration_names_with_all_variables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, ran = new_repository(tmp_path / "repo"), tmp_path / "ran"
    write_hook(root, "monitor", f'echo "$SOPS_AGE_KEY" >> "{ran}"')
    git(root, "config", "core.fsmonitor", str(root / ".git" / "hooks" / "monitor"))
    monkeypatch.setenv("SOPS_AGE_KEY", "hidden")
    assert Repository(root).changed_paths() == ()
    assert not ran.exists()
    assert not gitpython.Repo(root).is_dirty(untracked_files=True)
    assert "hidden" in ran.read_text()


@pytest.mark.parametrize("linked", [False, True])
@pytest.mark.parametrize("make", [new_repository, _sha256])
def test_the_hash_function_is_that_of_the_repository_whatever_else_its_configuration_says(
    make: Callable[[Path], Path], linked: bool, tmp_path: Path
) -> None:
    root = make(tmp_path / "repo")
    wanted = "sha256" if make is _sha256 else "sha1"
    with (root / ".git" / "config").open("a") as file:
        file.write(
            '[odd]\n\tkey\n; c\n[odd "x \\" y"]\n\ta = "b # c" ; d\n a = \\\n  more\n[include]\n path = missing\n'
        )
        file.write('[includeIf "gitdir:~/"]\n path=also\n')
    if linked:
        git(root, "worktree", "add", "--quiet", str(tmp_path / "linked"))
        root = tmp_path / "linked"
    assert Repository(root).hash_name() == wanted
