"""The desired state of a cluster: pools rendered by a worker, each with its own outcome."""

from __future__ import annotations

from pathlib import Path

from osm_gitops.model.settings import Settings
from osm_gitops.pipeline.rendering import render_cluster
from tests.cli.scenes import pool, profile
from tests.render.middle import inputs_of


def test_used_profiles_come_once_and_in_order(tmp_path: Path) -> None:
    inputs = inputs_of(
        tmp_path, profile("b"), profile("a"), profile("c"), pool("p", "b"), pool("q", "a"), pool("r", "b")
    )
    desired = render_cluster("c", inputs, Settings())
    assert [each.ref.name for each in desired.objects if each.ref.kind == "OperatingSystemProfile"] == ["a", "b"]
