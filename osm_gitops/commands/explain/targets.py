"""How the target of a cluster compares with what one pool renders to."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from osm_gitops.config.spec import ClusterSpec, TargetSpec
from osm_gitops.errors import OsmGitopsError
from osm_gitops.git.repository import Repository, find_work_tree
from osm_gitops.model.explained import TargetUse
from osm_gitops.model.objects import ObjectRef
from osm_gitops.model.plan import Action, ClusterPlan
from osm_gitops.pipeline.options import RunOptions
from osm_gitops.pipeline.run import plan_clusters
from osm_gitops.targets.files import path_of

_SHORT: Final = 12


def target_use(spec: ClusterSpec, pool: ObjectRef, profile: ObjectRef | None, options: RunOptions) -> TargetUse | None:
    """Compare the target with a pool and its profile; ``None`` if no target is configured."""
    if spec.target is None:
        return None
    where = spec.target.display
    outcome = plan_clusters([spec], replace(options, only=(pool.name,)))
    if not outcome.plan.clusters:
        return TargetUse(where, "unknown", problems=outcome.problems)
    (plan,) = outcome.plan.clusters
    if pool in plan.failed or pool in plan.left:
        return TargetUse(where, "unknown", problems=plan.failed.get(pool, ()))
    own = [change for change in plan.changes if change.pool == pool or change.ref == profile]
    changed = [
        each for each in own if each.action is not Action.UNCHANGED and not each.upkeep and not each.same_content
    ]
    if not changed:
        try:
            return TargetUse(where, "same", commit=_last_commit(spec, plan, [each.ref for each in own]))
        except OsmGitopsError as failure:
            return TargetUse(where, "same", problems=failure.problems)
    of_pool = [change for change in own if change.pool == pool]
    missing = all(change.action is Action.CREATE for change in of_pool)
    changes = tuple(f"{each.action.value} {each.ref}: {each.reason}" for each in changed)
    return TargetUse(where, "missing" if missing else "differs", changes)


def _last_commit(spec: ClusterSpec, plan: ClusterPlan, refs: list[ObjectRef]) -> str:
    if not isinstance(spec.target, TargetSpec) or (root := find_work_tree(spec.target.path)) is None:
        return ""
    folder = spec.target.path.resolve().relative_to(root.resolve())
    commit = Repository(root).history.newest(str(folder / path_of(plan.cluster, ref)) for ref in refs)
    return f"{commit.identity[:_SHORT]} of {commit.date}, {commit.subject}" if commit else ""
