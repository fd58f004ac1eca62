"""Where inputs say that they come from."""

from __future__ import annotations

from pathlib import Path

import pytest

from osm_gitops.fleet.load import load_inputs
from osm_gitops.fleet.spec import ClusterSpec, SourceSpec, TreeRef
from osm_gitops.model.settings import Settings
from tests.gitdoor.repos import git, pin_git


def _sources(tree: Path) -> tuple[str, ...]:
    ref = TreeRef(tree, "tree")
    return load_inputs(ClusterSpec("c", SourceSpec(ref, ref, ref), (), None), Settings(), {}).sources


def test_a_source_names_its_commit_and_whether_it_holds_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pin_git(monkeypatch)
    tree = tmp_path / "tree"
    tree.mkdir()
    assert _sources(tree) == ("tree",)
    git(tmp_path, "init", "--quiet")
    assert _sources(tree) == ("tree",)
    git(tmp_path, "commit", "--quiet", "--allow-empty", "--message", "first")
    head = git(tmp_path, "rev-parse", "HEAD")
    assert _sources(tree) == (f"tree@{head}",)
    (tmp_path / "beside.txt").write_text("not in the tree")
    assert _sources(tree) == (f"tree@{head}",)
    (tree / "new.yaml").write_text("a: 1\n")
    assert _sources(tree) == (f"tree@{head}-dirty",)
