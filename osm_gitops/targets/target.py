"""The interface of targets: a folder, a folder in a git work tree, live clusters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from osm_gitops.model.desired import Desired
from osm_gitops.model.live import Delivery
from osm_gitops.model.plan import Advance, Change, ClusterPlan, CurrentState, unwatched
from osm_gitops.plan.compare import make_cluster_plan
from osm_gitops.plan.guards import PlanOptions
from osm_gitops.targets.current import FolderComparison


class Target(Protocol):
    """The target of one cluster. Methods raise OsmGitopsError and report progress through ``advance``."""

    def read(self, desired: Desired, advance: Advance = unwatched, /) -> CurrentState:
        """Read the current state of the desired objects, and of other objects of ours. Changes nothing."""

    def complete(self, plan: ClusterPlan) -> ClusterPlan:
        """Add to the plan what this target needs beyond the desired objects. Changes nothing."""

    def deliver(self, plan: ClusterPlan, advance: Advance = unwatched, /) -> Delivery:
        """Carry out a plan that was made for this target. Nothing outside of the plan is written."""


def plan_for(
    target: Target,
    desired: Desired,
    options: PlanOptions,
    machines: Sequence[Change] = (),
    advance: Advance = unwatched,
    early: FolderComparison | None = None,
) -> ClusterPlan:
    """Plan the changes of a target. ``machines`` are changes of MachineDeployments, which are compared elsewhere.
    ``early`` has compared files of the target."""
    current = target.read(desired, advance) if early is None else early.read(desired, advance)
    return target.complete(make_cluster_plan(desired, current, options, machines))
