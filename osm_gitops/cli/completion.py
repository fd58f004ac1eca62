"""Shell completion of clusters of the fleet file, pools and profiles of their sources, and contexts of kubeconfigs.

Errors are ignored: a message would end up in the line that the user types.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

import typer

from osm_gitops.errors import OsmGitopsError

if TYPE_CHECKING:
    from osm_gitops.config.spec import ClusterSpec, SourceRef, SourceSpec

VARIABLE: Final = "_OSM_GITOPS_COMPLETE"
"""What shells set when they ask for completions, by typer's rule."""


@contextmanager
def without_rich() -> Iterator[None]:
    """Let typer find no rich. For zsh, fish and PowerShell it renders each help text with rich, which wraps the text at
    80 columns and drops what is in brackets as markup; its import takes as long as all else together."""
    before = sys.modules.get("rich")
    sys.modules["rich"] = cast("Any", None)  # what Python takes for a module that cannot be imported
    try:
        yield
    finally:
        del sys.modules["rich"]
        if before is not None:
            sys.modules["rich"] = before


def complete_cluster(ctx: typer.Context, incomplete: str) -> list[str]:
    """Names of clusters in the fleet file."""
    return _chosen((spec.name for spec in _clusters(ctx)), incomplete)


def complete_pool(ctx: typer.Context, incomplete: str) -> list[str]:
    """Names of pools in the source on the command line, or in those of the fleet file."""
    from osm_gitops.sources.names import pool_names  # noqa: PLC0415 - slow

    trees = _trees(ctx, ctx.params.get("source"), lambda source: source.machines)
    return _chosen((name for tree in trees for name in pool_names(tree)), incomplete)


def complete_profile(ctx: typer.Context, incomplete: str) -> list[str]:
    """Names of built-in profiles, and of profiles in the source on the command line, or in those of the fleet file."""
    from osm_gitops.sources import builtin  # noqa: PLC0415 - slow
    from osm_gitops.sources.names import profile_names  # noqa: PLC0415 - slow

    given = ctx.params.get("profiles_from") or ctx.params.get("source")
    trees = _trees(ctx, given, lambda source: source.profiles)
    of_trees = (name for tree in trees for name in profile_names(tree))
    built_in = (name for version in builtin.versions()[-1:] for name in builtin.names(version))
    return _chosen((*of_trees, *built_in), incomplete)


def complete_context(ctx: typer.Context, incomplete: str) -> list[str]:
    """Contexts in the management cluster's kubeconfig on the command line, or in kubectl's own."""
    return _contexts(ctx.params.get("kubeconfig"), incomplete)


def complete_worker_context(ctx: typer.Context, incomplete: str) -> list[str]:
    """Contexts in the worker cluster's kubeconfig, or in the one that is used without it."""
    return _contexts(ctx.params.get("worker_cluster_kubeconfig") or ctx.params.get("kubeconfig"), incomplete)


def _contexts(kubeconfig: str | None, incomplete: str) -> list[str]:
    from osm_gitops.context_ref import ContextRef  # noqa: PLC0415 - slow
    from osm_gitops.kube.kubeconfig import read_kubeconfig  # noqa: PLC0415 - slow

    entries = read_kubeconfig(ContextRef(kubeconfig or ""), os.environ).entries
    return _chosen((name for kind, name in entries if kind == "contexts"), incomplete)


def _trees(ctx: typer.Context, given: str | None, part: Callable[[SourceSpec], SourceRef]) -> list[Path]:
    from osm_gitops.config.spec import TreeRef, source_ref  # noqa: PLC0415 - slow

    globs = ctx.params.get("cluster") or ("*",)
    parts = (part(spec.source) for spec in _clusters(ctx) if any(fnmatchcase(spec.name, glob) for glob in globs))
    # Completion does not read clusters.
    chosen = [source_ref(Path(), given)] if given else parts
    return list(dict.fromkeys(each.path for each in chosen if isinstance(each, TreeRef)))


def _clusters(ctx: typer.Context) -> tuple[ClusterSpec, ...]:
    from osm_gitops.config.fleet_file import find_fleet_file, read_fleet  # noqa: PLC0415 - slow

    # The clusters of seeds are not known without a request.
    try:
        path = ctx.params.get("fleet") or find_fleet_file(Path.cwd())
        return read_fleet(Path(path), "").clusters if path else ()
    except (OsmGitopsError, OSError):
        return ()


def _chosen(names: Iterable[str], incomplete: str) -> list[str]:
    return sorted({name for name in names if name.startswith(incomplete)})
