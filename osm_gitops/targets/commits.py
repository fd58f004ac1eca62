"""Where commits go, as a run asks for it, and their message: what changed for which pools, and from which sources."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from osm_gitops.git.address import TokenFile
from osm_gitops.model.plan import Action, ClusterPlan


@dataclass(frozen=True, slots=True, kw_only=True)
class GitPlace:
    """A folder in a work tree, the branch that must be checked out (empty: any), and a remote.

    ``own_branch`` takes the commits in place of the branch that is checked out. ``clusters`` are those
    that this place is for. ``sign`` is as git's configuration says unless told. ``cloned`` is a work
    tree that was made for this run.
    """

    folder: Path
    branch: str = ""
    own_branch: str = ""
    remote: str = "origin"
    push: bool = False
    clusters: tuple[str, ...] = ()
    plaintext_secrets: bool = False
    sign: bool | None = None
    token: TokenFile | None = None
    cloned: bool = False


CLUSTER_TRAILER = "Osm-Gitops-Cluster"
BRANCH_TRAILER = "Osm-Gitops-Branch"
_NAMED_POOLS = 50


def commit_message(plan: ClusterPlan, version: str, own_branch: str = "") -> str:
    """A summary line, the pools, and trailers; the same for the same plan. ``own_branch`` is the one it is for."""
    counts = plan.count()
    verbs = [
        f"{counts[Action.CREATE]} created",
        f"{counts[Action.UPDATE]} updated",
        *([f"{counts[Action.REPLACE]} replaced"] if counts[Action.REPLACE] else []),
        f"{counts[Action.DELETE]} deleted",
    ]
    trailers = [
        *(f"Osm-Gitops-Source: {_one_line(source)}" for source in plan.sources),
        f"Osm-Gitops-Version: {_one_line(version)}",
        f"{CLUSTER_TRAILER}: {_one_line(plan.cluster)}",
        *([f"{BRANCH_TRAILER}: {own_branch}"] if own_branch else []),
    ]
    body = "\n".join(_pools(plan)) or "Layout of the folder."
    return f"osm-gitops: {_one_line(plan.cluster)}: {', '.join(verbs)}\n\n{body}\n\n" + "\n".join(trailers) + "\n"


def _pools(plan: ClusterPlan) -> Iterator[str]:
    names = set()
    for change in plan.effective:
        names.add(f"- {change.pool_name or change.ref}")
    yield from sorted(names)[:_NAMED_POOLS]
    if len(names) > _NAMED_POOLS:
        yield f"- and {len(names) - _NAMED_POOLS} more"


def _one_line(text: str) -> str:
    return " ".join(text.split())
