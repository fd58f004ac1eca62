"""A git target: plan, commit, push, and plan again if another push came first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from random import uniform
from time import sleep
from typing import TYPE_CHECKING, Final

from osm_gitops.config.spec import ClusterSpec, PullRequestSpec, TargetSpec
from osm_gitops.errors import Code, OsmGitopsError, Problem, target_error
from osm_gitops.git.remote import PushOutcome
from osm_gitops.model.live import Delivery
from osm_gitops.model.objects import ObjectRef
from osm_gitops.model.plan import ClusterPlan, Plan
from osm_gitops.pipeline.kkp import check_state
from osm_gitops.pipeline.options import Confirm, ReadClusters, RunOptions
from osm_gitops.pipeline.planning import Planner
from osm_gitops.pipeline.recording import Ended, measure
from osm_gitops.pipeline.side_by_side import plan_side_by_side
from osm_gitops.report.metrics import Measured
from osm_gitops.targets.git import GitSession

if TYPE_CHECKING:
    from osm_gitops.pipeline.pull_requests import PullRequests

_PUSH_ATTEMPTS: Final = 20
"""Of runs that push at the same time, one succeeds each time."""
_LONGEST_PAUSE: Final = 8.0  # seconds
_TOGETHER: Final = "all clusters"


@dataclass(slots=True)
class GitWork:
    """The work in one git target, while it is locked.

    ``plans`` are what the run commits, ``proposals`` what the pull request then changes, if the run keeps one.
    """

    session: GitSession
    specs: list[ClusterSpec]
    read: ReadClusters
    plans: list[ClusterPlan] = field(default_factory=list)
    proposals: list[ClusterPlan] = field(default_factory=list)
    pools: list[ObjectRef] = field(default_factory=list)
    deliveries: Mapping[str, Delivery] = field(default_factory=dict)
    pushed: bool = False
    moved: bool = False
    stale: bool = False
    kept: str = ""
    requests: PullRequests | None = None
    beside: bool = False  # it works side by side itself

    @property
    def clusters(self) -> tuple[str, ...]:
        return tuple(spec.name for spec in self.specs)

    def interrupt(self) -> None:
        """It is done in the thread that is interrupted."""

    @property
    def published(self) -> tuple[str, ...]:
        return (self.session.published_to,) if self.pushed else ()

    @property
    def remark(self) -> str:
        return self.kept or self.session.remark

    def prepare(self, options: RunOptions, problems: list[Problem]) -> None:
        """Fetch and plan. The sources may be in the same repository, so they are read after fetching."""
        try:
            if self.session.proposal is not None:
                from osm_gitops.pipeline.pull_requests import PullRequests  # noqa: PLC0415 - slow

                target = self.specs[0].target
                spec = target.pull_request if isinstance(target, TargetSpec) else None
                self.requests = PullRequests.of(self.session.proposal, spec or PullRequestSpec(), options)
            if self.session.is_published:
                self.session.catch_up()
                self._read_again()
        except OsmGitopsError as failure:
            problems.extend(failure.problems)
            self.plans, self.proposals, self.pools = [], [], []
            return
        self.plan(options, problems)

    def plan(self, options: RunOptions, problems: list[Problem]) -> None:
        encryption, base = self.session.encryption, self.session.checked_out
        planned = list(
            plan_side_by_side(
                Planner.into_git, self.specs, self.session.root, base, options=options, encryption=encryption
            )
        )
        problems.extend(problem for each in planned for problem in each.problems)
        self.plans = [each.plan for each in planned if each.plan is not None]
        self.proposals = [each.proposal for each in planned if each.proposal is not None]
        self.pools = [pool for each in planned for pool in each.pools]

    def deliver(self, options: RunOptions, confirm: Confirm, problems: list[Problem]) -> None:
        """Commit, and push if configured. ``deliveries`` has the result of each changed cluster."""
        self.session.resume()
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
        for attempt in range(_PUSH_ATTEMPTS):
            withdraws = self._nothing_left(options, problems)
            done = {} if withdraws else self._commit(options, problems)
            try:
                outcome = self._withdraw() if withdraws else self._publish()
            except OsmGitopsError as failure:
                problems.extend(failure.problems)
                return {}  # its message explains what happened to the commits
            if outcome is not PushOutcome.MOVED:
                self.pushed = outcome is PushOutcome.PUSHED and not withdraws
                if self.requests is not None:
                    self._keep_request(self.requests, options, problems)
                return done
            self.moved = True
            options.note("The remote has newer commits: planning again from them.")
            if attempt:  # more than one other run pushes, such as other shards
                sleep(_pause(attempt))
            if not self._plan_again(options, confirm, problems, fetch=attempt > 0):
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

    def _plan_again(
        self, options: RunOptions, confirm: Confirm, problems: list[Problem], *, fetch: bool = False
    ) -> bool:
        """Plan from newer commits, which have been fetched, or are; returns whether to continue."""
        before = self.plans
        try:
            if fetch:
                self.session.catch_up()
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
                what = "newer commits removed it from the fleet file, changed its target, or took back its change"
                fix = "Nothing was changed for it. Run again"
                raise target_error(Code.FLEET_FILE_CHANGED, what, about=f"cluster {spec.name}", fix=fix)
        self.specs = [now[spec.name] for spec in self.specs]

    def _publish(self) -> PushOutcome:
        return self.session.publish() if self.session.is_published else PushOutcome.KEPT

    def _nothing_left(self, options: RunOptions, problems: Sequence[Problem]) -> bool:
        """Whether the branch of a pull request has nothing left to propose, as far as this run can know."""
        proposal = self.session.proposal
        if proposal is None or not proposal.exists or not self._is_whole(options) or problems:
            return False
        return not any(plan.has_changes or plan.failed for plan in self.proposals)

    def _is_whole(self, options: RunOptions) -> bool:
        """Whether this run has planned all that the branch of the pull request proposes."""
        planned = {plan.cluster for plan in self.proposals}
        return not options.only and self.session.proposal is not None and self.session.proposal.proposed <= planned

    def _withdraw(self) -> PushOutcome:
        """Close the pull request, then delete its branch: interrupted in between, the next run deletes the branch."""
        closed = self.requests.close() if self.requests else None
        outcome = self.session.withdraw()
        if outcome is not PushOutcome.MOVED:
            done = f"branch {self.session.published_to} was deleted, because nothing is left to change"
            self.kept = closed.sentence if closed else done
        return outcome

    def _keep_request(self, requests: PullRequests, options: RunOptions, problems: list[Problem]) -> None:
        """Open or update the pull request for what is on its branch now."""
        try:
            kept = requests.keep(self.proposals, whole=self._is_whole(options))
        except OsmGitopsError as failure:
            problems.extend(failure.problems)
            return
        if kept is not None:
            self.kept = kept.sentence
            problems.extend(kept.problems)

    def _commit(self, options: RunOptions, problems: list[Problem]) -> dict[str, Delivery]:
        if all(isinstance(spec.target, TargetSpec) and spec.target.commit == "run" for spec in self.specs):
            return self._commit_together(options, problems)
        done = {}
        for plan in self.plans:
            try:
                self._check_state(plan, options)
                delivery = self.session.deliver(plan, options.advance(plan.cluster, "files written"))
            except OsmGitopsError as failure:
                problems.extend(failure.problems)
                self.proposals = [each for each in self.proposals if each.cluster != plan.cluster]
                continue
            if delivery.commit:
                done[plan.cluster] = delivery
        return done

    def _check_state(self, plan: ClusterPlan, options: RunOptions) -> None:
        """Raise ClusterError if a user cluster of KKP that changes has another state than when it was planned."""
        if plan.has_changes:
            check_state(next(spec for spec in self.specs if spec.name == plan.cluster), options.connections)

    def _commit_together(self, options: RunOptions, problems: list[Problem]) -> dict[str, Delivery]:
        """One commit for all clusters (``to.git.commit: run``), without those that must not be written."""
        ready = []
        for plan in self.plans:
            try:
                self._check_state(plan, options)
                ready.append((plan, self.session.ready(plan)))
            except OsmGitopsError as failure:
                problems.extend(failure.problems)
                self.proposals = [each for each in self.proposals if each.cluster != plan.cluster]
        try:
            return self.session.deliver_together(ready, options.advance(_TOGETHER, "files written"))
        except OsmGitopsError as failure:
            problems.extend(failure.problems)
            return {}


def _pause(attempt: int) -> float:
    """Seconds before the next attempt, at random, so that runs that met once do not meet each time."""
    return uniform(0, min(_LONGEST_PAUSE, 0.25 * 2**attempt))  # noqa: S311 # no secret
