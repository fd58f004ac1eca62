"""A git target: plan, commit, push, and plan again if another push came first."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Final

from osm_gitops.config.spec import ClusterSpec, TargetSpec
from osm_gitops.errors import Code, OsmGitopsError, Problem, TargetError, target_error
from osm_gitops.git.remote import CLONE_REMOTE, PushOutcome
from osm_gitops.model.live import Delivery
from osm_gitops.model.objects import ObjectRef
from osm_gitops.model.plan import ClusterPlan, Plan
from osm_gitops.pipeline.options import Confirm, ReadClusters, RunOptions
from osm_gitops.pipeline.osm_activity import osm_in_sources
from osm_gitops.pipeline.recording import Ended, measure
from osm_gitops.pipeline.states import desired_states
from osm_gitops.report.metrics import Measured
from osm_gitops.targets.commits import GitPlace
from osm_gitops.targets.git import GitSession
from osm_gitops.targets.target import plan_for

_PUSH_ATTEMPTS: Final = 5
COMPARED: Final = "files compared"


def git_place(target: TargetSpec, specs: Sequence[ClusterSpec], options: RunOptions) -> GitPlace:
    wanted, clone = options.git, options.git.clone
    cloned = clone is not None and Path(os.path.normpath(target.path)).is_relative_to(clone.root)
    return GitPlace(
        folder=target.path,
        branch=target.branch,
        own_branch=wanted.own_branch,
        remote=CLONE_REMOTE if cloned else target.remote,
        # Unpushed commits would be deleted with the clone.
        push=cloned or (target.push if wanted.push is None else wanted.push),
        clusters=tuple(spec.name for spec in specs),
        plaintext_secrets=options.plaintext_secrets,
        sign=target.sign if wanted.sign is None else wanted.sign,
        token=wanted.token,
        cloned=cloned,
    )


@dataclass(slots=True)
class GitWork:
    """The work in one git target, while it is locked."""

    session: GitSession
    specs: list[ClusterSpec]
    read: ReadClusters
    plans: list[ClusterPlan] = field(default_factory=list)
    pools: list[ObjectRef] = field(default_factory=list)
    deliveries: Mapping[str, Delivery] = field(default_factory=dict)
    pushed: bool = False
    moved: bool = False
    stale: bool = False

    @property
    def published(self) -> tuple[str, ...]:
        return (self.session.published_to,) if self.pushed else ()

    @property
    def remark(self) -> str:
        return self.session.remark

    def prepare(self, options: RunOptions, problems: list[Problem]) -> None:
        """Fetch and plan. The sources may be in the same repository, so they are read after fetching."""
        try:
            if self.session.is_published:
                self.session.catch_up()
                self._read_again()
        except OsmGitopsError as failure:
            problems.extend(failure.problems)
            self.plans, self.pools = [], []
            return
        self.plan(options, problems)

    def plan(self, options: RunOptions, problems: list[Problem]) -> None:
        self.plans, self.pools = [], []
        for spec, desired in desired_states(self.specs, options, problems, into_git=True):
            try:
                osm = osm_in_sources(spec, options)
                osm.refuse(spec.name, options.live, unknown=False)
                advance = options.advance(desired.cluster, COMPARED)
                plan = plan_for(self.session, desired, options.plan, advance=advance)
                self.plans.append(replace(plan, warnings=(*osm.warnings, *plan.warnings)))
                self.pools += (*desired.pools, *desired.failed)
            except OsmGitopsError as failure:
                problems.extend(failure.problems)

    def deliver(self, options: RunOptions, confirm: Confirm, problems: list[Problem]) -> None:
        """Commit, and push if configured. ``deliveries`` has the result of each changed cluster."""
        self.deliveries = self._deliver(options, confirm, problems)

    def finish(
        self, options: RunOptions, started: datetime, problems: Sequence[Problem]
    ) -> tuple[tuple[Measured, ...], tuple[Problem, ...]]:
        """Only metrics: git itself is the record."""
        return tuple(measure(spec.name, self._ended(spec.name, problems), started, options) for spec in self.specs), ()

    def _ended(self, cluster: str, problems: Sequence[Problem]) -> Ended:
        others = {f"cluster {spec.name}" for spec in self.specs if spec.name != cluster}
        plan = next((plan for plan in self.plans if plan.cluster == cluster), None)
        delivery = self.deliveries.get(cluster) or Delivery(left=plan.left if plan else {})
        return Ended(plan, delivery, tuple(problem for problem in problems if problem.about not in others))

    def _deliver(self, options: RunOptions, confirm: Confirm, problems: list[Problem]) -> Mapping[str, Delivery]:
        if self.stale and not self._plan_again(options, confirm, problems):
            return {}
        for _ in range(_PUSH_ATTEMPTS):
            done = self._commit(options, problems)
            try:
                outcome = self.session.publish() if self.session.is_published else PushOutcome.KEPT
            except TargetError as failure:
                problems.extend(failure.problems)
                return {}  # its message explains what happened to the commits
            if outcome is not PushOutcome.MOVED:
                self.pushed = outcome is PushOutcome.PUSHED
                return done
            self.moved = True
            options.note("The remote has newer commits: planning again from them.")
            if not self._plan_again(options, confirm, problems):
                return {}
        problems.append(
            Problem(
                Code.PUSH_TOO_LATE,
                f"the remote moved during {_PUSH_ATTEMPTS} attempts to push",
                where=str(self.session.root),
                fix="Run again when there are fewer pushes to this branch",
            )
        )
        return {}

    def _plan_again(self, options: RunOptions, confirm: Confirm, problems: list[Problem]) -> bool:
        """Plan from newer commits; returns whether to continue."""
        before = self.plans
        try:
            self._read_again()
        except OsmGitopsError as failure:
            problems.extend(failure.problems)
            return False
        self.plan(options, problems)
        return before == self.plans or confirm(Plan(tuple(self.plans)))

    def _read_again(self) -> None:
        """Read the fleet file again: the new commits may have changed it."""
        now = {spec.name: spec for spec in self.read()}
        for spec in self.specs:
            if spec.name not in now or now[spec.name].target != spec.target:
                what = "newer commits removed it from the fleet file, or changed its target"
                fix = "Nothing was changed for it. Run again"
                raise target_error(Code.FLEET_FILE_CHANGED, what, about=f"cluster {spec.name}", fix=fix)
        self.specs = [now[spec.name] for spec in self.specs]

    def _commit(self, options: RunOptions, problems: list[Problem]) -> dict[str, Delivery]:
        done = {}
        for plan in self.plans:
            try:
                delivery = self.session.deliver(plan, options.advance(plan.cluster, "files written"))
            except OsmGitopsError as failure:
                problems.extend(failure.problems)
                continue
            if delivery.commit:
                done[plan.cluster] = delivery
        return done
