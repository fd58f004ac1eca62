"""Where inputs say that they come from."""

from __future__ import annotations

from pathlib import Path

import pytest

from osm_gitops.config.spec import ClusterSpec, SourceSpec, TreeRef, tree_ref
from osm_gitops.errors import Code
from osm_gitops.model.overlay import OverlayRef
from osm_gitops.model.settings import Settings
from osm_gitops.pipeline.load import SourceReader, gather_inputs, load_inputs, load_settings
from osm_gitops.pipeline.memo import Memo
from osm_gitops.sops.keys import KeySearch
from tests.cli.scenes import pool, profile, secret, write_tree
from tests.faults import placed
from tests.git.repos import git, new_repository, pin_git


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


def test_plain_secrets_are_warned_of_where_git_keeps_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pin_git(monkeypatch)
    repo = new_repository(tmp_path / "repo")
    write_tree(repo / "tree", secret("mine", "ns", {"a": "b"}), secret("ours", "ns", {"a": "b"}))
    (tmp_path / "link").symlink_to(repo)
    (repo / ".gitignore").write_text("Secret-mine.yaml\nSecret-cloud*.yaml\n")
    ref = TreeRef(tmp_path / "link" / "tree", "tree")
    inputs = load_inputs(ClusterSpec("c", SourceSpec(ref, ref, ref), (), None), Settings(), {})
    (warning,) = inputs.warnings
    assert placed([warning]) == [(Code.SECRET_IN_PLAIN_TEXT, "tree/Secret-ours.yaml:1: Secret ns/ours")]
    (repo / ".gitignore").write_text("tree/\n")
    assert load_inputs(ClusterSpec("c", SourceSpec(ref, ref, ref), (), None), Settings(), {}).warnings == ()


def test_a_path_that_exists_wins_else_the_last_at_splits(tmp_path: Path) -> None:
    (tmp_path / "a@b").mkdir()
    assert tree_ref(tmp_path, "a@b") == TreeRef(tmp_path / "a@b", "a@b")
    assert tree_ref(tmp_path, "a@b@main") == TreeRef(tmp_path / "a@b", "a@b", "main")
    assert tree_ref(tmp_path, "pools@origin/main") == TreeRef(tmp_path / "pools", "pools", "origin/main")
    assert tree_ref(tmp_path, "@main") == TreeRef(tmp_path, "", "main")
    for text in ("pools", "pools@"):
        assert tree_ref(tmp_path, text) == TreeRef(tmp_path / text, text)


def test_a_revision_is_read_whatever_the_work_tree_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pin_git(monkeypatch)
    repo = new_repository(tmp_path / "repo")
    write_tree(repo / "pools", pool(), profile())
    git(repo, "add", ".")
    git(repo, "commit", "--quiet", "--message", "pools")
    head = git(repo, "rev-parse", "HEAD")
    write_tree(repo / "pools", pool(kubelet="1.36.1"))
    machines, profiles = tree_ref(repo, "pools@main"), tree_ref(repo, "pools@HEAD")
    inputs = load_inputs(ClusterSpec("c", SourceSpec(machines, profiles, machines), (), None), Settings(), {})
    assert [machine.kubelet for machine in inputs.machines] == ["1.34.2"]
    assert list(inputs.profiles) == [("kube-system", "osp-a")]
    assert inputs.sources == (f"pools@{head}",)


def test_the_overlays_of_settings_and_inputs_are_of_one_moment(tmp_path: Path) -> None:
    write_tree(tmp_path / "tree", pool(), profile())
    overlay = tmp_path / "overlay.yaml"
    overlay.write_text(
        "apiVersion: osm-gitops.io/v1alpha1\nkind: Overlay\n"
        "settings: {nodeHTTPProxy: http://proxy:3128}\n"
        "patches: [{target: {name: osp-a}, merge: {spec: {osVersion: '99'}}}]\n"
    )
    tree = TreeRef(tmp_path / "tree", "tree")
    spec = ClusterSpec("c", SourceSpec(tree, tree, tree), (), None, overlays=(OverlayRef(overlay, "overlay.yaml"),))
    memo = Memo()
    settings = load_settings(spec, memo)
    overlay.write_text("it is being written")
    inputs = gather_inputs(SourceReader(spec, settings, {}, KeySearch({}), None, memo))
    assert settings.http_proxy == "http://proxy:3128"
    assert inputs.profiles["kube-system", "osp-a"].manifest.body["spec"]["osVersion"] == "99"
