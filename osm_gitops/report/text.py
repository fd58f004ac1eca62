"""A plan as text for people; its wording may change."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from osm_gitops.model.plan import Action, ClusterPlan, Plan
from osm_gitops.report.diff import TextDiff
from osm_gitops.report.masked import ShownChange, ShownCluster, shown

_SYMBOLS = {Action.CREATE: "+", Action.UPDATE: "~", Action.REPLACE: "±", Action.DELETE: "-"}
_COLOURS = {"+": "32", "-": "31", "~": "33", "±": "35", "@": "36"}
_NAMED_POOLS = 10
# Control characters would act on the terminal.
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Style:
    """How a report looks. ``verbose`` shows the content of new and deleted objects too."""

    color: bool = False
    verbose: bool = False
    context: int = 3


def format_plan(plan: Plan, style: Style) -> str:
    """The plan as text that ends in a newline; no secret in it."""
    clusters = shown(plan, context=style.context, whole=style.verbose, together=True)
    lines = [line for cluster in clusters for line in _cluster(cluster, style)]
    lines += [summary(plan), *_machines(plan)]
    for cluster in clusters:
        lines += [_paint(f"Refused: {visible(str(problem))}", "-", style) for problem in cluster.plan.refusals]
    return "\n".join(lines) + "\n"


def summary(plan: Plan) -> str:
    """The line by which a plan ends: ``Plan: 1 to create, … 3 unchanged.`` or ``No changes.``"""
    counts = {action: sum(cluster.count()[action] for cluster in plan.clusters) for action in Action}
    if not plan.has_changes:
        return "No changes."
    parts = [f"{counts[action]} to {action.value}" for action in Action if action is not Action.UNCHANGED]
    text = f"Plan: {', '.join(parts)}, {counts[Action.UNCHANGED]} unchanged."
    layout = sum(len(cluster.layout) for cluster in plan.clusters)
    return f"{text} Files beside the objects to write: {layout}." if layout else text


def _machines(plan: Plan) -> Iterator[str]:
    """What it means for machines (design §6)."""
    pools = sorted(
        {
            change.pool
            for cluster in plan.clusters
            for change in cluster.effective
            if change.pool and change.action in {Action.UPDATE, Action.REPLACE}
        }
    )
    if not pools:
        return
    one = pools[0]
    yield ""
    yield (
        f"{_many(len(pools), 'pool')} with a changed boot configuration: machines that exist keep the one they "
        "booted with, only new machines get the new one."
    )
    yield "To replace the machines of a pool, rolling, change its template, for example:"
    yield (
        f"  kubectl -n {one.namespace} patch machinedeployment {one.name} --type merge -p "
        '\'{"spec":{"template":{"metadata":{"annotations":{"forceRestart":"1"}}}}}\''
    )


def _cluster(cluster: ShownCluster, style: Style) -> Iterator[str]:
    notes = list(_notes(cluster.plan))
    if not cluster.pools and not cluster.plan.layout and not notes:
        return
    yield f"Cluster {cluster.plan.cluster}"
    for pools in cluster.pools:
        yield ""
        yield f"  {_pool_names(pools.names)}"
        yield from _pool(sorted(pools.changes, key=_reading_order), len(pools.names), style)
    if cluster.plan.layout:
        yield ""
        yield f"  Files beside the objects to write: {', '.join(cluster.plan.layout)}"
    for note in notes:
        yield f"  {visible(note)}"
    yield ""


def _pool_names(names: tuple[str, ...]) -> str:
    if names == ("",):
        return "Profiles and other objects"
    shown_names = ", ".join(names[:_NAMED_POOLS])
    more = f" and {len(names) - _NAMED_POOLS} more" if len(names) > _NAMED_POOLS else ""
    return f"Pool {shown_names}" if len(names) == 1 else f"{len(names)} pools, alike: {shown_names}{more}"


def _reading_order(change: ShownChange) -> tuple[int, str]:
    ref = change.change.ref
    return (0 if ref.kind != "Secret" else 2 if ref.name.endswith("-bootstrap-config") else 1, str(ref))


def _pool(changes: Iterable[ShownChange], pools: int, style: Style) -> Iterator[str]:
    seen: set[tuple[str, ...]] = set()
    for change in changes:
        action, ref = change.change.action, change.change.ref
        symbol = _SYMBOLS[action]
        times = f" and {pools - 1} more alike" if pools > 1 else ""
        yield _paint(f"  {symbol} {action.value} {ref}{times}: {visible(change.reason)}", symbol, style)
        for diff in change.diffs:
            yield from _diff(diff, seen, style)


def _diff(diff: TextDiff, seen: set[tuple[str, ...]], style: Style) -> Iterator[str]:
    head = {"new": "new: ", "gone": "gone: ", "changed": ""}[diff.state] + diff.name
    changed = (diff.name, *(line for line in diff.lines if line[:1] in "+-"))
    if changed in seen:
        yield f"      {head}: as above"
        return
    seen.add(changed)
    if diff.state != "changed" and not style.verbose:
        yield f"      {head}: {_many(diff.added + diff.removed, 'line')}"
        return
    yield f"      {head}"
    for line in diff.lines:
        yield _paint(f"        {visible(line)}", line[:1], style)


def _notes(plan: ClusterPlan) -> Iterator[str]:
    for pool, problems in sorted(plan.failed.items()):
        for problem in problems:
            yield f"Failed: {problem.at(about=str(pool))}"
    if plan.kept:
        yield f"Kept: {_many(len(plan.kept), 'object')} of pools that failed or were left out."
    for change in plan.not_deleted:
        yield f"Not deleted: {change.ref}"
    for problem in plan.no_deletion:
        yield f"No deletion: {problem}"
    for problem in plan.warnings:
        yield f"Warning: {problem}"


def _many(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def visible(text: str) -> str:
    """A text whose control characters are written out: they would act on the terminal."""
    return _CONTROL.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def _paint(line: str, kind: str, style: Style) -> str:
    colour = _COLOURS.get(kind)
    return f"\x1b[{colour}m{line}\x1b[0m" if style.color and colour else line
