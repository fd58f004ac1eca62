"""One run over clusters: load → desire → plan → deliver; a cluster that fails stops no other."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from osm_gitops.errors import OsmGitopsError, Problem, TargetError
from osm_gitops.fleet.git_work import COMPARED, GitWork, git_place
from osm_gitops.fleet.options import Confirm, Outcome, ReadClusters, RunOptions, sealing_of
from osm_gitops.fleet.spec import ClusterSpec, LiveTarget, TargetSpec
from osm_gitops.fleet.states import check_only, desired_states
from osm_gitops.model.objects import ObjectRef
from osm_gitops.model.plan import Plan
from osm_gitops.targets.folder import plan_folder
from osm_gitops.targets.git import git_session


def plan_clusters(clusters: Sequence[ClusterSpec], options: RunOptions) -> Outcome:
    """Plan all clusters; changes nothing, takes no lock."""
    problems: list[Problem] = []
    plans = []
    pools: list[ObjectRef] = []
    sealing = sealing_of(options)
    for spec, desired in desired_states(clusters, options, problems):
        pools += (*desired.pools, *desired.failed)
        try:
            advance = options.advance(spec.name, COMPARED)
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
                session = locks.enter_context(git_session(git_place(target, specs, options), sealing, held))
                works.append(GitWork(session, specs, read))
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
    if isinstance(spec.target, LiveTarget):
        what = "nothing is written to clusters yet"
        raise TargetError([Problem(what, about=f"cluster {spec.name}", fix="Name a folder")])
    return spec.target
