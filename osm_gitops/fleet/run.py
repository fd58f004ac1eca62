"""One run over clusters: load → desire → plan → deliver; a cluster that fails stops no other."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

from osm_gitops import __version__
from osm_gitops.errors import InputError, OsmGitopsError, Problem, TargetError, UnsafePlanError
from osm_gitops.fleet.desire import desire
from osm_gitops.fleet.load import load_inputs, load_settings
from osm_gitops.fleet.spec import ClusterSpec, TargetSpec
from osm_gitops.gitdoor.clone import CLONE_REMOTE, Clone
from osm_gitops.gitdoor.credentials import TokenFile
from osm_gitops.gitdoor.remote import PushOutcome
from osm_gitops.model.desired import Desired
from osm_gitops.model.inputs import Inputs
from osm_gitops.model.objects import ObjectRef
from osm_gitops.model.plan import ClusterPlan, Plan
from osm_gitops.model.progress import Advance
from osm_gitops.plan.compare import PlanOptions
from osm_gitops.sops.search import KeySearch
from osm_gitops.targets.folder import plan_folder
from osm_gitops.targets.git import git_session
from osm_gitops.targets.place import GitPlace
from osm_gitops.targets.sealing import Sealing
from osm_gitops.targets.session import GitSession

_PUSH_ATTEMPTS = 5
_COMPARED = "files compared"


@dataclass(frozen=True, slots=True, kw_only=True)
class GitOptions:
    """How a run commits and pushes; ``None`` leaves it to the fleet file. ``clone`` was made for this run."""

    push: bool | None = None
    sign: bool | None = None
    own_branch: str = ""
    token: TokenFile | None = None
    clone: Clone | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """How a run works. ``environment`` is the process's, read at its outer end; ``note`` takes
    sentences for ``-v``, ``advance`` the progress of a cluster's work; ``keys`` open what is encrypted."""

    environment: Mapping[str, str]
    keys: KeySearch
    note: Callable[[str], None]
    advance: Callable[[str, str], Advance]
    only: str = ""
    plan: PlanOptions = field(default_factory=PlanOptions)
    plaintext_secrets: bool = False
    age_recipients: tuple[str, ...] = ()
    git: GitOptions = field(default_factory=GitOptions)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run came to: a plan of the clusters that could be planned, and what failed as a whole."""

    plan: Plan
    problems: tuple[Problem, ...] = ()
    commits: Mapping[str, str] = field(default_factory=dict)
    pushed: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()

    @property
    def failed(self) -> bool:
        return bool(self.problems) or any(cluster.failed for cluster in self.plan.clusters)


Confirm = Callable[[Plan], bool]
"""Shows a plan and asks whether to apply it."""

ReadClusters = Callable[[], Sequence[ClusterSpec]]
"""Reads the clusters of a run, again where the fleet file may have come anew with the commits of others."""


def desired_states(
    clusters: Sequence[ClusterSpec], options: RunOptions, problems: list[Problem]
) -> Iterator[tuple[ClusterSpec, Desired]]:
    """The desired state of each cluster; one that cannot be read at all adds its problems."""
    for spec in clusters:
        try:
            settings = load_settings(spec)
        except InputError as failure:  # a flag or a place in the fleet file is named already
            problems.extend(failure.problems)
            continue
        try:
            inputs = load_inputs(spec, settings, options.environment, options.keys)
            for note in inputs.notes:
                options.note(note)
            problems.extend(_unusable(inputs))
            yield spec, desire(spec.name, inputs, settings, options.only, options.advance(spec.name, "pools rendered"))
        except OsmGitopsError as failure:
            problems.extend(problem.at(about=f"cluster {spec.name}") for problem in failure.problems)


def check_only(only: str, pools: Sequence[ObjectRef], problems: list[Problem]) -> None:
    """A run that was narrowed to nothing is a slip; ``pools`` are those of all clusters."""
    if only and not pools and not problems:
        problems.append(Problem(f'no pool has a name that matches "{only}"', where="--only"))


def _unusable(inputs: Inputs) -> Iterator[Problem]:
    """Problems that belong to no pool: documents that nobody can read, and broken profiles."""
    yield from inputs.unreadable
    for ref, broken in inputs.broken.items():
        if ref.kind == "OperatingSystemProfile":
            yield from broken


def plan_clusters(clusters: Sequence[ClusterSpec], options: RunOptions) -> Outcome:
    """Plan all clusters; changes nothing, takes no lock."""
    problems: list[Problem] = []
    plans = []
    pools: list[ObjectRef] = []
    sealing = sealing_of(options)
    for spec, desired in desired_states(clusters, options, problems):
        pools += (*desired.pools, *desired.failed)
        try:
            advance = options.advance(spec.name, _COMPARED)
            plans.append(plan_folder(_target(spec).path, desired, options.plan, sealing, advance=advance))
        except OsmGitopsError as failure:
            problems.extend(failure.problems)
    check_only(options.only, pools, problems)
    return Outcome(Plan(tuple(plans)), tuple(problems))


def apply_clusters(read: ReadClusters, options: RunOptions, confirm: Confirm) -> Outcome:
    """Plan all clusters and commit, target by target, after ``confirm`` said yes to the whole plan.

    A push that meets newer commits plans again from them, and asks again.
    """
    groups: dict[TargetSpec, list[ClusterSpec]] = {}
    for spec in read():
        groups.setdefault(replace(_target(spec), display=""), []).append(spec)
    problems: list[Problem] = []
    with ExitStack() as locks:
        works = []
        held: set[Path] = set()
        sealing = sealing_of(options)
        for target, specs in groups.items():
            try:
                session = locks.enter_context(git_session(_place(target, specs, options), sealing, held))
                works.append(_Work(session, specs, read))
            except OsmGitopsError as failure:
                problems.extend(failure.problems)
        commits: dict[str, str] = {}
        for work in works:
            work.prepare(options, problems)
        check_only(options.only, [pool for work in works for pool in work.pools], problems)
        plan = Plan(tuple(plan for work in works for _, plan in work.planned))
        if not confirm(plan):
            return Outcome(plan, tuple(problems))
        for number, work in enumerate(works, start=1):
            commits |= work.deliver(options, confirm, problems)
            for later in works[number:]:
                later.stale = later.stale or work.moved
        # A push that met newer commits has planned again.
        plan = Plan(tuple(plan for work in works for _, plan in work.planned))
    pushed = dict.fromkeys(work.session.published_to for work in works if work.pushed)
    remarks = dict.fromkeys(work.session.remark for work in works if work.session.remark)
    # What could not be read is told once, however often it was planned.
    return Outcome(plan, tuple(dict.fromkeys(problems)), commits, tuple(pushed), tuple(remarks))


def _target(spec: ClusterSpec) -> TargetSpec:
    if spec.target is None:
        raise TargetError([Problem("no target is named", about=f"cluster {spec.name}", fix="Give one with --to")])
    return spec.target


def sealing_of(options: RunOptions) -> Sealing:
    """Encryption as a run asks for it. Above a clone lie folders of others, whose rules are not ours."""
    sealing = Sealing(options.environment, options.age_recipients, options.keys)
    return sealing.anew(options.git.clone.root) if options.git.clone else sealing


def _place(target: TargetSpec, specs: Sequence[ClusterSpec], options: RunOptions) -> GitPlace:
    wanted, clone = options.git, options.git.clone
    cloned = clone is not None and Path(os.path.normpath(target.path)).is_relative_to(clone.root)
    return GitPlace(
        folder=target.path,
        branch=target.branch,
        own_branch=wanted.own_branch,
        remote=CLONE_REMOTE if cloned else target.remote,
        # What is not pushed goes with the clone.
        push=cloned or (target.push if wanted.push is None else wanted.push),
        clusters=tuple(spec.name for spec in specs),
        plaintext_secrets=options.plaintext_secrets,
        sign=target.sign if wanted.sign is None else wanted.sign,
        token=wanted.token,
        cloned=cloned,
    )


@dataclass(slots=True)
class _Work:
    """What is to be done in one target, while it is locked."""

    session: GitSession
    specs: list[ClusterSpec]
    read: ReadClusters
    planned: list[tuple[Desired, ClusterPlan]] = field(default_factory=list)
    pushed: bool = False
    moved: bool = False
    stale: bool = False

    @property
    def pools(self) -> list[ObjectRef]:
        return [pool for desired, _ in self.planned for pool in (*desired.pools, *desired.failed)]

    def prepare(self, options: RunOptions, problems: list[Problem]) -> None:
        """Plan from what the remote has now. The sources may lie in the same repo, so they are read after."""
        try:
            if self.session.is_published:
                self.session.catch_up()
                self._read_again()
        except OsmGitopsError as failure:
            problems.extend(failure.problems)
            self.planned = []
            return
        self.plan(options, problems)

    def plan(self, options: RunOptions, problems: list[Problem]) -> None:
        self.planned = []
        for _, desired in desired_states(self.specs, options, problems):
            try:
                advance = options.advance(desired.cluster, _COMPARED)
                plan = plan_folder(self.session.root, desired, options.plan, self.session.sealing, advance=advance)
                self.planned.append((desired, plan))
            except OsmGitopsError as failure:
                problems.extend(failure.problems)

    def deliver(self, options: RunOptions, confirm: Confirm, problems: list[Problem]) -> Mapping[str, str]:
        """Commit, and push where asked; the commits by cluster."""
        if self.stale and not self._plan_again(options, confirm, problems):
            return {}
        for _ in range(_PUSH_ATTEMPTS):
            commits = self._commit(options, problems)
            try:
                outcome = self.session.publish() if self.session.is_published else PushOutcome.KEPT
            except TargetError as failure:
                problems.extend(failure.problems)
                return {}  # it says what became of them
            if outcome is not PushOutcome.MOVED:
                self.pushed = outcome is PushOutcome.PUSHED
                return commits
            self.moved = True
            options.note("The remote has newer commits: planning again from them.")
            if not self._plan_again(options, confirm, problems):
                return {}
        problems.append(
            Problem(
                f"the remote moved during {_PUSH_ATTEMPTS} attempts to push",
                where=str(self.session.root),
                fix="Run again when fewer others push to this branch",
            )
        )
        return {}

    def _plan_again(self, options: RunOptions, confirm: Confirm, problems: list[Problem]) -> bool:
        """Whether to go on, with a plan from newer commits."""
        before = [plan for _, plan in self.planned]
        try:
            self._read_again()
        except OsmGitopsError as failure:
            problems.extend(failure.problems)
            return False
        self.plan(options, problems)
        after = [plan for _, plan in self.planned]
        return before == after or confirm(Plan(tuple(after)))

    def _read_again(self) -> None:
        """Take what the fleet file says now; it may have come with the commits of others."""
        now = {spec.name: spec for spec in self.read()}
        for spec in self.specs:
            if spec.name not in now or now[spec.name].target != spec.target:
                what = "the fleet file that others pushed has it no more, or with another target"
                fix = "Nothing was changed for it. Run again"
                raise TargetError([Problem(what, about=f"cluster {spec.name}", fix=fix)])
        self.specs = [now[spec.name] for spec in self.specs]

    def _commit(self, options: RunOptions, problems: list[Problem]) -> dict[str, str]:
        commits = {}
        for desired, plan in self.planned:
            try:
                if plan.refusals:
                    raise UnsafePlanError(plan.refusals)
                advance = options.advance(desired.cluster, "files written")
                commit = self.session.commit(desired, plan, __version__, advance=advance)
            except OsmGitopsError as failure:
                problems.extend(failure.problems)
                continue
            if commit is not None:
                commits[desired.cluster] = commit
        return commits
