"""The content of reports for people, in order; the modules for text, Markdown and HTML only lay it out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from osm_gitops.errors import Problem, some
from osm_gitops.model.desired import Left
from osm_gitops.model.objects import ObjectRef
from osm_gitops.model.plan import Action, ClusterPlan, Plan, TextDiff
from osm_gitops.model.promotion import Promotion, Step
from osm_gitops.model.span import spoken
from osm_gitops.plan.rolling import roll_command
from osm_gitops.report.masked import ShownChange, ShownCluster, ShownPools, shown, shown_problems
from osm_gitops.report.visible import many, visible

SYMBOLS = {Action.CREATE: "+", Action.UPDATE: "~", Action.REPLACE: "±", Action.DELETE: "-"}
_NAMED_POOLS = 10
_NAMED_CLUSTERS = 10
_NAMED_FILES = 4
_SHORT_COMMIT = 12
_PART = re.compile(r"; |, |: ")


@dataclass(frozen=True, slots=True, kw_only=True)
class Detail:
    """How much to show. ``command`` makes the report. ``verbose``: also the content of new and deleted objects;
    ``hide_secret_files``: no content of files that are made from secrets."""

    command: str = "plan"
    verbose: bool = False
    hide_secret_files: bool = False
    context: int = 3


@dataclass(frozen=True, slots=True)
class DiffEntry:
    """One text in an object: its lines, or in ``instead`` why there are none."""

    head: str
    lines: tuple[str, ...]
    instead: str = ""


@dataclass(frozen=True, slots=True)
class ChangeEntry:
    """One object; ``alike`` other pools have one that changes in the same way."""

    action: Action
    ref: ObjectRef
    alike: int
    reason: str
    diffs: tuple[DiffEntry, ...]

    @property
    def title(self) -> str:
        """``update Secret cloud-init-settings/a and 3 more alike``"""
        return visible(f"{self.action.value} {self.ref}{f' and {self.alike} more alike' if self.alike else ''}")


@dataclass(frozen=True, slots=True)
class PoolsEntry:
    """Pools that change in the same way, or objects without a pool."""

    pools: ShownPools
    detail: Detail

    @property
    def lead(self) -> str:
        """The text before the names: ``Pool``, ``3 pools, alike:``, or the whole text for objects without a pool."""
        number = len(self.pools.names)
        if not any(self.pools.names):
            return "Profiles and other objects"
        return "Pool" if number == 1 else f"{number} pools, alike:"

    @property
    def names(self) -> tuple[str, ...]:
        """The first names of the pools, which several clusters may have; none for objects without a pool."""
        return tuple(visible(name) for name in self._distinct[:_NAMED_POOLS] if name)

    @property
    def unnamed(self) -> int:
        """The number of names that are not in ``names``."""
        return max(0, len(self._distinct) - _NAMED_POOLS)

    @property
    def _distinct(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self.pools.names))

    @property
    def actions(self) -> Mapping[Action, int]:
        """The number of objects of these pools for each action, in the order of :class:`Action`."""
        found = [change.change.action for change in self.pools.changes]
        return {action: found.count(action) * len(self.pools.names) for action in Action if action in found}

    @property
    def reasons(self) -> tuple[str, ...]:
        """The reasons, without repetitions: the reason of a configuration often covers those of its Secrets."""
        found: list[str] = []
        for change in self._in_reading_order():
            parts = _PART.split(visible(change.reason))
            if not all(any(part in earlier for earlier in found) for part in parts):
                found.append(visible(change.reason))
        return tuple(found)

    @property
    def machines(self) -> str:
        """The effect on the machines of these pools (design.md, "Actions")."""
        if not any(self.pools.names):
            return ""
        if any(change.change.rolls_machines for change in self.pools.changes):
            return "machine-controller replaces them, as their template changes"
        if any(change.change.boots_differently for change in self.pools.changes):
            return "existing ones keep the old configuration"
        return "their configuration goes" if set(self.actions) == {Action.DELETE} else ""

    def changes(self) -> Iterator[ChangeEntry]:
        """The objects with their diffs, made one by one; a repeated diff is not shown again."""
        known: set[tuple[str, ...]] = set()
        for each in self._in_reading_order():
            diffs = tuple(_diff(diff, known, self.detail) for diff in each.diffs)
            action, ref = each.change.action, each.change.ref
            yield ChangeEntry(action, ref, len(self.pools.names) - 1, visible(each.reason), diffs)

    def _in_reading_order(self) -> list[ShownChange]:
        return sorted(self.pools.changes, key=_reading_order)


@dataclass(frozen=True, slots=True)
class Note:
    """A remark on a cluster with its label (``Failed``, ``Warning``)."""

    label: str
    text: str


@dataclass(frozen=True, slots=True)
class ClusterEntry:
    """One cluster, or several that change in the same way, with all their pools."""

    plans: tuple[ClusterPlan, ...]
    pools: tuple[PoolsEntry, ...]
    notes: tuple[Note, ...]
    refusals: tuple[str, ...]

    @property
    def name(self) -> str:
        """The cluster's name, or the number of clusters and their first names."""
        names = [visible(plan.cluster) for plan in self.plans]
        if len(names) == 1:
            return names[0]
        same = ", the same change" if self.pools or self.layout else ""
        return f"{len(names)} clusters{same}: {some(names, _NAMED_CLUSTERS)}"

    @property
    def title(self) -> str:
        return f"Cluster {self.name}" if len(self.plans) == 1 else self.name

    @property
    def layout(self) -> str:
        """Files to write besides the objects."""
        return visible(some([path for plan in self.plans for path in plan.layout], _NAMED_FILES))

    @property
    def servers(self) -> str:
        """The API servers. All are always shown, because a wrong context means a wrong cluster."""
        return visible(", ".join(dict.fromkeys(host for plan in self.plans for host in plan.hosts)))

    @property
    def sources(self) -> tuple[str, ...]:
        """Where its objects were read."""
        return tuple(dict.fromkeys(visible(source) for plan in self.plans for source in plan.sources))

    @property
    def failed(self) -> int:
        """The number of failed pools."""
        return sum(len(plan.failed) for plan in self.plans)

    @property
    def counts(self) -> Mapping[Action, int]:
        """The number of objects for each action."""
        counts = [plan.count() for plan in self.plans]
        return {action: sum(each[action] for each in counts) for action in Action}

    @property
    def has_content(self) -> bool:
        return bool(self.pools or self.layout or self.notes or self.servers)

    def likeness(self) -> object:
        """Equal for clusters that change in the same way; refusals and failures are of one cluster alone."""
        own = self.plans[0].cluster
        layout = tuple(path.replace(own, "<cluster>") for path in self.plans[0].layout)
        alone = own if self.refusals or self.failed or not self.has_content else ""
        return frozenset(entry.pools.likeness for entry in self.pools), self.notes, layout, bool(self.servers), alone


@dataclass(frozen=True, slots=True)
class Outline:
    """The content of a report.

    ``machines`` say what happens to machines, ``roll`` is a command; ``problems`` are those of whole clusters.
    """

    clusters: tuple[ClusterEntry, ...]
    problems: tuple[str, ...]
    summary: str
    machines: tuple[str, ...]
    roll: str


def outline(plan: Plan, detail: Detail, problems: Iterable[Problem] = ()) -> Outline:
    """The content of a report on a plan and on problems beside it, without secrets."""
    clusters = shown(
        plan,
        context=detail.context,
        whole=detail.verbose,
        together=True,
        hide_secret_files=detail.hide_secret_files,
    )
    return Outline(
        tuple(_together([_cluster(cluster, detail) for cluster in clusters])),
        tuple(visible(str(problem)) for problem in shown_problems(plan, problems)),
        summary(plan),
        *_machines(plan),
    )


def summary(plan: Plan) -> str:
    """The last line of a plan: ``Plan: 1 to create, … 3 unchanged.`` or ``No changes.``"""
    if not plan.has_changes:
        return "No changes."
    every = [cluster.count() for cluster in plan.clusters]
    counts = {action: sum(each[action] for each in every) for action in Action}
    text = f"Plan: {counted(counts)}."
    layout = sum(len(cluster.layout) for cluster in plan.clusters)
    return f"{text} Files beside the objects to write: {layout}." if layout else text


def counted(counts: Mapping[Action, int]) -> str:
    """``1 to create, 0 to update, …, 3 unchanged``"""
    parts = [f"{counts[action]} to {action.value}" for action in Action if action is not Action.UNCHANGED]
    return f"{', '.join(parts)}, {counts[Action.UNCHANGED]} unchanged"


def _cluster(cluster: ShownCluster, detail: Detail) -> ClusterEntry:
    return ClusterEntry(
        (cluster.plan,),
        tuple(PoolsEntry(pools, detail) for pools in cluster.pools),
        tuple(Note(label, visible(text)) for label, text in _notes(cluster.plan)),
        tuple(visible(str(problem)) for problem in cluster.plan.refusals),
    )


def _together(entries: Iterable[ClusterEntry]) -> Iterator[ClusterEntry]:
    """Join clusters that change in the same way."""
    alike: dict[object, list[ClusterEntry]] = {}
    for entry in entries:
        alike.setdefault(entry.likeness(), []).append(entry)
    for first, *others in alike.values():
        if not others:
            yield first
            continue
        names: dict[object, list[str]] = {}
        for entry in (first, *others):
            for each in entry.pools:
                names.setdefault(each.pools.likeness, []).extend(each.pools.names)
        pools = (
            PoolsEntry(replace(each.pools, names=tuple(names[each.pools.likeness])), each.detail)
            for each in first.pools
        )
        plans = tuple(plan for entry in (first, *others) for plan in entry.plans)
        yield replace(first, plans=plans, pools=tuple(pools))


def _machines(plan: Plan) -> tuple[tuple[str, ...], str]:
    rolled = [
        {each.pool for each in cluster.effective if each.pool and each.rolls_machines} for cluster in plan.clusters
    ]
    changed = [
        {each.pool for each in cluster.effective if each.pool and each.boots_differently} - replaced
        for cluster, replaced in zip(plan.clusters, rolled, strict=True)
    ]
    rolls: tuple[str, ...] = ()
    if any(rolled):
        number = _machines_of(plan, rolled)
        machines = "the machines" if number is None else many(number, "machine")
        several = many(sum(map(len, rolled)), "pool")
        rolls = (f"{several} with another template: machine-controller replaces {machines}, rolling.",)
    pools = sorted(set().union(*changed))
    if not pools:
        return rolls, ""
    one = pools[0]
    number = _machines_of(plan, changed)
    kept = (
        f"{many(len(pools), 'pool')} with a changed boot configuration: machines that exist"
        f"{'' if number is None else f' ({number})'} keep the one they booted with, only new machines get the new one."
    )
    how = "To replace the machines of a pool, rolling, change its template, for example:"
    return (*rolls, kept, how), visible(roll_command(one))


def _machines_of(plan: Plan, chosen: Sequence[set[ObjectRef]]) -> int | None:
    """The number of Machines of the chosen pools, or ``None`` if it is not known."""
    pairs = list(zip(plan.clusters, chosen, strict=True))
    if not all(pools <= cluster.machines.keys() for cluster, pools in pairs):
        return None
    return sum(cluster.machines[pool] for cluster, pools in pairs for pool in pools)


def left_lines(left: Mapping[ObjectRef, Left]) -> Iterator[str]:
    """Skipped pools, a line for each reason, with its code, its age if known, and the next step."""
    reasons: dict[Left, list[ObjectRef]] = {}
    for pool in sorted(left):
        reasons.setdefault(left[pool], []).append(pool)
    for each, pools in reasons.items():
        age = f", for {spoken(each.age)}" if each.age else ""
        yield visible(f"{_some(pools)}: {each.why} ({each.reason.code}{age}). {each.reason.fix}")


def _some(pools: list[ObjectRef]) -> str:
    return some([pool.namespaced_name for pool in pools], _NAMED_POOLS)


def _reading_order(change: ShownChange) -> tuple[int, str]:
    ref = change.change.ref
    return (0 if ref.kind != "Secret" else 2 if ref.name.endswith("-bootstrap-config") else 1, str(ref))


def _diff(diff: TextDiff, known: set[tuple[str, ...]], detail: Detail) -> DiffEntry:
    head = visible({"new": "new: ", "gone": "gone: ", "changed": ""}[diff.state] + diff.name)
    if diff.instead:
        return DiffEntry(head, (), diff.instead)
    changed = (diff.name, *(line for line in diff.lines if line[:1] in "+-"))
    if changed in known:
        return DiffEntry(head, (), "as above")
    known.add(changed)
    if diff.state != "changed" and not detail.verbose:
        return DiffEntry(head, (), many(diff.added + diff.removed, "line"))
    return DiffEntry(head, tuple(map(visible, diff.lines)))


def _waits(promotion: Promotion) -> Iterator[tuple[str, str]]:
    """What a cluster of a wave waits for. What is refused is told as a refusal."""
    newest = promotion.newest[:_SHORT_COMMIT]
    if promotion.step is Step.PROMOTED:
        yield (
            "Promoted",
            f"it gets the newest shared inputs (commit {newest}), whatever wave {promotion.wave} waits for.",
        )
    if promotion.step is Step.WAITS:
        has = f"its shared inputs are those of commit {promotion.commit[:_SHORT_COMMIT]}, not of {newest}"
        yield "Waits", f"{has}: {'; '.join(promotion.reasons)}."


def _notes(plan: ClusterPlan) -> Iterator[tuple[str, str]]:
    if plan.promotion is not None:
        yield from _waits(plan.promotion)
    failed: dict[Problem, list[ObjectRef]] = {}
    for pool, problems in sorted(plan.failed.items()):
        for problem in problems:
            failed.setdefault(problem, []).append(pool)
    for problem, pools in failed.items():
        one = problem.at(about=str(pools[0]))
        yield "Failed", str(one) if len(pools) == 1 else f"{len(pools)} pools ({_some(pools)}): {problem}"
    for line in left_lines(plan.left):
        yield "Left for now", line
    kept = [ref for ref in plan.kept if ref not in plan.foreign]  # a warning names the others
    if kept:
        yield "Kept", f"{many(len(kept), 'object')} of pools that failed or were left out."
    for change in plan.not_deleted:
        yield "Not deleted", str(change.ref)
    for problem in plan.no_deletion:
        yield "No deletion", str(problem)
    for problem in plan.warnings:
        yield "Warning", str(problem)
