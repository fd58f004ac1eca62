"""Plan clusters in processes, several at a time, with the same results in the same order as one after the other."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Concatenate, Final

from osm_gitops.config.spec import ClusterSpec
from osm_gitops.errors import Code, OsmGitopsError, Problem
from osm_gitops.model.span import spoken
from osm_gitops.pipeline.connections import Connections
from osm_gitops.pipeline.inputs import folders_of
from osm_gitops.pipeline.memo import Memo
from osm_gitops.pipeline.options import (
    ForgeOptions,
    RunOptions,
    named,
    unchecked,
    uncounted,
    unheard,
    unwatched_cluster,
    utc_now,
)
from osm_gitops.pipeline.planning import Planned, Planner
from osm_gitops.targets.file_encryption import FileEncryption
from osm_gitops.workers.crew import Crew
from osm_gitops.workers.process import LimitReached

_WORTH: Final = 6
"""Clusters of trees for each process that pays: to start one takes as long as a few small clusters."""
_LIVE_WORTH: Final = 2  # a server is waited for

Plan = Callable[Concatenate[Planner, ClusterSpec, ...], Planned]
"""A method of Planner."""


def plan_side_by_side(
    plan: Plan, clusters: Sequence[ClusterSpec], *arguments: Any, options: RunOptions, encryption: FileEncryption
) -> Iterator[Planned]:
    """``plan(planner, cluster, *arguments)`` for each cluster, in their order. One that fails or takes too long holds
    no other."""
    tally = options.tally("clusters planned")
    failed = 0
    for number, planned in enumerate(_each(plan, clusters, arguments, options, encryption), 1):
        failed += planned.plan is None
        tally(number, failed, len(clusters))
        yield planned


def _each(
    plan: Plan,
    clusters: Sequence[ClusterSpec],
    arguments: tuple[Any, ...],
    options: RunOptions,
    encryption: FileEncryption,
) -> Iterator[Planned]:
    size = processes(clusters, options.jobs)
    options = replace(options, memo=Memo(folders=folders_of(clusters)))
    if size == 1 and options.cluster_timeout is None:
        planner = Planner(options, encryption)
        yield from (plan(planner, spec, *arguments) for spec in clusters)
        return
    seconds = options.cluster_seconds
    crew = Crew(_Elsewhere, (_sent(options), encryption.reloaded()), size, seconds)
    calls = ((plan, spec, *arguments) for spec in clusters)
    for spec, found in zip(clusters, crew.map(_plan, calls), strict=True):
        if isinstance(found, OsmGitopsError):
            yield Planned(problems=tuple(_given_up(spec, found, seconds)))
            continue
        planned, said = found
        for each in said:
            (options.tell if each.aloud else options.note)(each.text)
        yield planned


def processes(clusters: Sequence[ClusterSpec], jobs: int | None) -> int:
    """How many processes plan these clusters: as many as asked for, or as pay."""
    if jobs is not None:
        return max(1, min(jobs, len(clusters)))
    live = sum(spec.is_live for spec in clusters)
    worth = live // _LIVE_WORTH + (len(clusters) - live) // _WORTH
    return max(1, min(_cores(), worth))


def threads(clusters: int, jobs: int | None) -> int:
    """How many live clusters are worked on at a time in this process."""
    return max(1, min(jobs or _cores(), clusters))


def _cores() -> int:
    """The processors that this process may use."""
    affinity: Callable[[int], Any] | None = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def timed_out(cluster: str, seconds: int | None) -> Problem:
    """Why a cluster was given up."""
    what = f"it was given up: reading and planning it takes longer than {spoken(timedelta(seconds=seconds or 0))}"
    fix = "Nothing was changed for it. Check that its servers answer, or raise --cluster-timeout"
    return Problem(Code.CLUSTER_TIMEOUT, what, about=f"cluster {cluster}", fix=fix)


def _given_up(spec: ClusterSpec, failure: OsmGitopsError, seconds: int | None) -> Iterator[Problem]:
    if isinstance(failure, LimitReached) and failure.time:
        yield timed_out(spec.name, seconds)
        return
    for problem in named(spec.name, failure.problems):
        yield replace(problem, fix="Run again with --jobs 1") if isinstance(failure, LimitReached) else problem


def _sent(options: RunOptions) -> RunOptions:
    """The options for another process, without what only this one can call."""
    return replace(
        options,
        note=unheard,
        tell=unheard,
        advance=unwatched_cluster,
        tally=uncounted,
        connections=Connections(options.environment),
        git=replace(options.git, forge=ForgeOptions()),
        live=replace(options.live, now=utc_now, wait=time.sleep),
        check=unchecked,
        compiled=options.compiled and replace(options.compiled),
    )


@dataclass(frozen=True, slots=True)
class Said:
    """A message of another process; ``aloud``: not only for ``-v``."""

    text: str
    aloud: bool


class _Elsewhere:
    """In another process: what its clusters share."""

    def __init__(self, options: RunOptions, encryption: FileEncryption) -> None:
        self.said: list[Said] = []
        heard = replace(
            options,
            note=lambda text: self.said.append(Said(text, aloud=False)),
            tell=lambda text: self.said.append(Said(text, aloud=True)),
        )
        self.planner = Planner(heard, encryption)


def _plan(elsewhere: _Elsewhere, plan: Plan, spec: ClusterSpec, *arguments: Any) -> tuple[Planned, tuple[Said, ...]]:
    """In another process: plan a cluster; returns also what was said meanwhile."""
    elsewhere.said.clear()
    planned = plan(elsewhere.planner, spec, *arguments)
    return planned, tuple(elsewhere.said)
