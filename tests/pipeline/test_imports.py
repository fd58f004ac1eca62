"""What a run passes, and what it imports."""

from __future__ import annotations

from tests.tools.trace_run import imported, traced


def test_a_run_from_a_tree_into_git_imports_nothing_of_kube() -> None:
    modules = imported()
    assert "osm_gitops.targets.git" in modules
    assert [each for each in modules if each.startswith(("osm_gitops.kube", "kubernetes"))] == []


def test_a_traced_run_goes_from_the_source_through_the_renderer_into_git() -> None:
    found = traced()
    assert {"sources.tree", "render.pools", "plan.compare", "targets.git", "git.repository"} <= found.modules
    assert found.paths
    assert found.crossings >= len(found.paths)
