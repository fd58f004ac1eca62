"""What the tab key offers: clusters of the fleet file, pools of their sources.

Whatever goes wrong is no candidate: a message would end up in the line that is being typed.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from osm_gitops.errors import OsmGitopsError

if TYPE_CHECKING:
    from osm_gitops.fleet.spec import ClusterSpec


def complete_cluster(ctx: typer.Context, incomplete: str) -> list[str]:
    """Names of clusters in the fleet file."""
    return _chosen((spec.name for spec in _clusters(ctx)), incomplete)


def complete_pool(ctx: typer.Context, incomplete: str) -> list[str]:
    """Names of pools in the source that the line names so far, or in those of the fleet file."""
    from osm_gitops.fleet.spec import tree_ref  # noqa: PLC0415 - only once somebody asks
    from osm_gitops.sources.names import pool_names  # noqa: PLC0415

    given, cluster = ctx.params.get("source"), ctx.params.get("cluster")
    trees = (
        [tree_ref(Path(), given).path]
        if given
        else [spec.source.machines.path for spec in _clusters(ctx) if cluster in {None, spec.name}]
    )
    return _chosen((name for tree in dict.fromkeys(trees) for name in pool_names(tree)), incomplete)


def _clusters(ctx: typer.Context) -> tuple[ClusterSpec, ...]:
    from osm_gitops.fleet.fleet_file import find_fleet_file, read_fleet  # noqa: PLC0415 - only once somebody asks

    try:
        path = ctx.params.get("fleet") or find_fleet_file(Path.cwd())
        return read_fleet(Path(path), "") if path else ()
    except (OsmGitopsError, OSError):
        return ()


def _chosen(names: Iterable[str], incomplete: str) -> list[str]:
    return sorted({name for name in names if name.startswith(incomplete)})
