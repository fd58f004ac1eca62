"""One run over clusters: load → render → plan → deliver. A failed cluster stops no other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from itertools import chain, count

from osm_gitops.config.spec import ClusterSpec, LiveTarget, TargetSpec
from osm_gitops.errors import OsmGitopsError, Problem
from osm_gitops.model.plan import Plan
from osm_gitops.pipeline.git_work import GitWork
from osm_gitops.pipeline.in_threads import GivenUp, in_threads
from osm_gitops.pipeline.options import (
    Confirm,
    Outcome,
    ReadClusters,
    RunOptions,
    Work,
    named,
    sealing_of,
    unwatched_cluster,
)
from osm_gitops.pipeline.planning import Planner, folder_of, git_place, own_branch
from osm_gitops.pipeline.recording import LockedOut, stuck_problems
from osm_gitops.pipeline.side_by_side import plan_side_by_side, threads, timed_out
from osm_gitops.pipeline.states import check_only
from osm_gitops.targets.git import HeldTrees, git_session


def plan_clusters(clusters: Sequence[ClusterSpec], options: RunOptions) -> Outcome:
    """Plan all clusters, without changes or locks."""
    planning = plan_side_by_side(Planner.against_target, clusters, options=options, encryption=sealing_of(options))
    planned = list(planning)
    problems = [problem for each in planned for problem in each.problems]
    check_only(options.only, [pool for each in planned for pool in each.pools], problems)
    plans = tuple(each.plan for each in planned if each.plan is not None)
    return Outcome(Plan(plans), tuple(dict.fromkeys(problems)))


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
        _prepare(works, troubles, options)
        if not any(troubles):
            check_only(only, [pool for work in works for pool in work.pools], problems)
        if not confirm(_whole(works)):
            return Outcome(_whole(works), tuple(chain(problems, *troubles)))
        _deliver(works, troubles, options, confirm)
        ends = [work.finish(options, started, own) for work, own in zip(works, troubles, strict=True)]
    measured, warnings = (tuple(chain(*parts)) for parts in zip(*ends, strict=True)) if ends else ((), ())
    stuck = (problem for each in measured for problem in named(each.ran.cluster, stuck_problems(each.ran)))
    outcome = _outcome(works, [*problems, *chain(*troubles), *stuck])
    return replace(outcome, measured=measured, warnings=warnings)


def _prepare(works: list[Work], troubles: list[list[Problem]], options: RunOptions) -> None:
    """Read and plan all works, those of live clusters side by side. One that takes too long is given up."""
    for work, own in zip(works, troubles, strict=True):
        if not work.beside:
            work.prepare(options, own)
    beside = [number for number, work in enumerate(works) if work.beside]
    tasks = [partial(works[number].prepare, problems=troubles[number]) for number in beside]
    seconds = options.cluster_seconds
    results = _in_threads(tasks, [troubles[number] for number in beside], "clusters planned", options, seconds)
    for number, found in zip(beside, results, strict=True):
        if isinstance(found, GivenUp):
            # The thread may still come back. What it reads then is of no account.
            works[number] = LockedOut(works[number].clusters, ())
            troubles[number] = [timed_out(cluster, seconds) for cluster in works[number].clusters]


def _deliver(works: Sequence[Work], troubles: Sequence[list[Problem]], options: RunOptions, confirm: Confirm) -> None:
    """Carry out all works: first those that may find newer commits, which make later ones stale, then live clusters
    side by side. An interruption ends those after what they have begun."""
    beside = []
    for number, work in enumerate(works):
        if work.beside and not work.stale:
            beside.append(number)
            continue
        work.deliver(options, confirm, troubles[number])
        for later in works[number + 1 :]:
            later.stale = later.stale or work.moved
    tasks = [partial(works[number].deliver, confirm=confirm, problems=troubles[number]) for number in beside]
    told = [troubles[number] for number in beside]
    _in_threads(tasks, told, "clusters done", options, interrupt=lambda at: works[beside[at]].interrupt())


def _in_threads(
    tasks: Sequence[Callable[[RunOptions], None]],
    troubles: Sequence[list[Problem]],
    what: str,
    options: RunOptions,
    seconds: int | None = None,
    interrupt: Callable[[int], None] | None = None,
) -> list[GivenUp | None]:
    """Tasks over live clusters, several at a time, each with its problems. Their notes are told in their order, and
    ``what`` they do is counted."""
    size, tally, done = threads(len(tasks), options.jobs), options.tally(what), count(1)

    def counted(task: Callable[[RunOptions], None], own: RunOptions) -> None:
        task(own)
        tally(next(done), sum(map(bool, troubles)), len(tasks))

    notes: list[list[str]] = [[] for _ in tasks]
    apart = [options if size == 1 else replace(options, note=own.append, advance=unwatched_cluster) for own in notes]
    given = [partial(counted, task, own) for task, own in zip(tasks, apart, strict=True)]
    try:
        return in_threads(given, size, seconds, interrupt=interrupt)
    finally:
        for note in chain(*notes):
            options.note(note)


def _whole(works: Sequence[Work]) -> Plan:
    return Plan(tuple(plan for work in works for plan in work.plans))


def _works(read: ReadClusters, options: RunOptions, locks: ExitStack) -> Iterator[Work]:
    """A work for each target, locked in ``locks``. Clusters with folders in the same work tree are one work."""
    groups: dict[tuple[TargetSpec, str], list[ClusterSpec]] = {}
    live = []
    for spec in read():
        if spec.problems:
            yield LockedOut((spec.name,), spec.problems)
        elif isinstance(spec.target, LiveTarget):
            live.append(spec)
        else:
            target = replace(folder_of(spec), display="")
            groups.setdefault((target, own_branch(target, spec.name, options)), []).append(spec)
    held = HeldTrees()
    encryption = sealing_of(options)
    for (target, _), specs in groups.items():
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
