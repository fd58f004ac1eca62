"""One run over clusters: load → render → plan → deliver. A failed cluster stops no other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from itertools import chain
from pathlib import Path

from osm_gitops.config.spec import ClusterSpec, LiveTarget, TargetSpec
from osm_gitops.errors import Code, OsmGitopsError, Problem, target_error
from osm_gitops.git.repository import find_work_tree
from osm_gitops.model.desired import Desired
from osm_gitops.model.objects import ObjectRef
from osm_gitops.model.plan import ClusterPlan, Plan
from osm_gitops.pipeline.connections import refuse_server
from osm_gitops.pipeline.git_work import COMPARED, GitWork, git_place
from osm_gitops.pipeline.options import Confirm, Outcome, ReadClusters, RunOptions, Work, named, sealing_of
from osm_gitops.pipeline.osm_activity import osm_in_sources, osm_in_target
from osm_gitops.pipeline.recording import LockedOut, stuck_problems
from osm_gitops.pipeline.states import check_only, desired_states
from osm_gitops.targets.file_encryption import FileEncryption
from osm_gitops.targets.folder import FolderTarget
from osm_gitops.targets.git import git_session, obstacles
from osm_gitops.targets.target import plan_for


def plan_clusters(clusters: Sequence[ClusterSpec], options: RunOptions) -> Outcome:
    """Plan all clusters, without changes or locks."""
    problems: list[Problem] = []
    plans = []
    pools: list[ObjectRef] = []
    encryption = sealing_of(options)
    for spec in clusters:
        for desired, plan in _planned(spec, options, encryption, problems):
            pools += (*desired.pools, *desired.failed)
            plans.append(plan)
    check_only(options.only, pools, problems)
    return Outcome(Plan(tuple(plans)), tuple(dict.fromkeys(problems)))


def _planned(
    spec: ClusterSpec, options: RunOptions, encryption: FileEncryption, problems: list[Problem]
) -> Iterator[tuple[Desired, ClusterPlan]]:
    """A cluster's desired state and plan, or ``None`` with problems added."""
    try:
        if isinstance(spec.target, LiveTarget):
            from osm_gitops.pipeline.live import read_live  # noqa: PLC0415 - not needed for runs from trees to git

            refuse_server(spec, "to")
            look = read_live(spec, options, osm_in_target(spec, options))
            problems.extend(look.problems)
            yield look.desired, look.plan
            return
        for _, desired in desired_states([spec], options, problems, into_git=True):
            advance = options.advance(spec.name, COMPARED)
            folder = _folder(spec).path
            if spec.trust.untrusted:
                spec.trust.check(folder, _folder(spec).display)
                encryption = encryption.within(spec.trust.allows)
            plan = plan_for(FolderTarget(folder, encryption), desired, options.plan, advance=advance)
            warnings = (*osm_in_sources(spec, options).warnings, *plan.warnings)
            refusals = (*plan.refusals, *_git_refusals(spec, options, encryption))
            yield desired, replace(plan, warnings=warnings, refusals=refusals)
    except OsmGitopsError as failure:
        problems.extend(named(spec.name, failure.problems))


def _git_refusals(spec: ClusterSpec, options: RunOptions, encryption: FileEncryption) -> tuple[Problem, ...]:
    """Problems of the git target that would stop apply. None for a folder outside of git, which plans accept, and none
    in an untrusted run, which uses no recipients and few commands of git."""
    target = _folder(spec)
    if spec.trust.untrusted or find_work_tree(target.path) is None:
        return ()
    return obstacles(git_place(target, [spec], options), encryption, detached=True)


def apply_clusters(read: ReadClusters, options: RunOptions, confirm: Confirm) -> Outcome:
    """Plan all clusters, ``confirm`` the whole plan, then deliver target by target.

    If a push finds newer commits, plans and confirms again.
    """
    return carry_out(lambda locks: _works(read, options, locks), options, confirm, options.only)


def carry_out(
    works_of: Callable[[ExitStack], Iterable[Work]], options: RunOptions, confirm: Confirm, only: Sequence[str] = ()
) -> Outcome:
    """Carry out the works of a run: plan all, confirm, deliver one after the other, and record the results. All targets
    are locked meanwhile. Each glob of ``only`` must match a pool."""
    started = options.live.now()
    problems: list[Problem] = []
    with ExitStack() as locks:
        works = list(works_of(locks))
        troubles: list[list[Problem]] = [[] for _ in works]
        for work, own in zip(works, troubles, strict=True):
            work.prepare(options, own)
        if not any(troubles):
            check_only(only, [pool for work in works for pool in work.pools], problems)
        if not confirm(_whole(works)):
            return Outcome(_whole(works), tuple(chain(problems, *troubles)))
        for number, work in enumerate(works):
            work.deliver(options, confirm, troubles[number])
            for later in works[number + 1 :]:
                later.stale = later.stale or work.moved
        ends = [work.finish(options, started, own) for work, own in zip(works, troubles, strict=True)]
    measured, warnings = (tuple(chain(*parts)) for parts in zip(*ends, strict=True)) if ends else ((), ())
    stuck = (problem for each in measured for problem in named(each.ran.cluster, stuck_problems(each.ran)))
    outcome = _outcome(works, [*problems, *chain(*troubles), *stuck])
    return replace(outcome, measured=measured, warnings=warnings)


def _whole(works: Sequence[Work]) -> Plan:
    return Plan(tuple(plan for work in works for plan in work.plans))


def _works(read: ReadClusters, options: RunOptions, locks: ExitStack) -> Iterator[Work]:
    """A work for each target, locked in ``locks``. Clusters with folders in the same work tree are one work."""
    groups: dict[TargetSpec, list[ClusterSpec]] = {}
    live = []
    for spec in read():
        if isinstance(spec.target, LiveTarget):
            live.append(spec)
        else:
            groups.setdefault(replace(_folder(spec), display=""), []).append(spec)
    held: set[Path] = set()
    encryption = sealing_of(options)
    for target, specs in groups.items():
        try:
            session = locks.enter_context(git_session(git_place(target, specs, options), encryption, held))
            yield GitWork(session, specs, read)
        except OsmGitopsError as failure:
            yield LockedOut(tuple(spec.name for spec in specs), failure.problems)
    if live:
        from osm_gitops.pipeline.live_work import LiveWork, live_works  # noqa: PLC0415 - not needed for runs from trees to git

        yield from live_works(live, LiveWork, options, locks)


def _outcome(works: Sequence[Work], problems: Sequence[Problem]) -> Outcome:
    return Outcome(
        # A push that found newer commits has planned again.
        plan=_whole(works),
        # Report problems once, even if the plan was repeated.
        problems=tuple(dict.fromkeys(problems)),
        deliveries={cluster: done for work in works for cluster, done in work.deliveries.items()},
        pushed=tuple(dict.fromkeys(place for work in works for place in work.published)),
        remarks=tuple(dict.fromkeys(work.remark for work in works if work.remark)),
    )


def _folder(spec: ClusterSpec) -> TargetSpec:
    if not isinstance(spec.target, TargetSpec):
        raise target_error(
            Code.NO_TARGET, "no target is configured", about=f"cluster {spec.name}", fix="Name one with --to"
        )
    return spec.target
