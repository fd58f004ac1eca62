"""Collect the content of ``report`` from what ``plan`` and ``status`` find out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from osm_gitops.commands.report.fleet import ClusterReport, LiveFacts, PoolReport, Token
from osm_gitops.config.spec import ClusterSpec, LiveTarget
from osm_gitops.errors import Code, Problem
from osm_gitops.model.objects import ObjectRef
from osm_gitops.model.plan import Action, Change, ClusterPlan
from osm_gitops.model.status import ClusterStatus, PoolStatus
from osm_gitops.pipeline.options import RunOptions
from osm_gitops.pipeline.run import plan_clusters
from osm_gitops.pipeline.states import check_only
from osm_gitops.pipeline.status.reading import statuses
from osm_gitops.report.mask import Masker


@dataclass(frozen=True, slots=True)
class Gathered:
    """``problems`` are those of whole clusters, ``sensitive`` values that no report may show."""

    clusters: tuple[ClusterReport, ...]
    problems: tuple[Problem, ...]
    sensitive: frozenset[str] = field(repr=False)


def gather(specs: Sequence[ClusterSpec], options: RunOptions, *, live: bool) -> Gathered:
    """Plan all clusters, and read those whose target is a cluster, or with ``live`` all of them, as ``status`` does.

    A cluster that is its own target is read once: its status has the plan.
    """
    options = replace(options, facts=True)
    # Plans of an untrusted run refuse clusters that the tree names.
    direct = {spec.name for spec in specs if isinstance(spec.target, LiveTarget) and not spec.trust.untrusted}
    outcome = plan_clusters([spec for spec in specs if spec.name not in direct], options)
    read = [replace(spec, target=LiveTarget()) for spec in specs if live or spec.name in direct]
    found = {status.name: status for status in statuses(read, options)}
    plans = {plan.cluster: plan for plan in outcome.plan.clusters}
    plans |= {name: plan for name in direct if (plan := found[name].plan) is not None}
    sensitive = frozenset[str]().union(
        *(plan.sensitive for plan in plans.values()), *(status.sensitive for status in found.values())
    )
    masks = _Masks(Masker(sensitive))
    clusters = tuple(_cluster(spec.name, plans.get(spec.name), found.get(spec.name), masks) for spec in specs)
    problems = [problem for problem in outcome.problems if problem.code is not Code.NO_POOL_MATCHES]
    pools = [ObjectRef("MachineDeployment", each.namespace, each.name) for one in clusters for each in one.pools]
    check_only(options.only, pools, problems)
    return Gathered(clusters, masks.problems(problems), sensitive)


@dataclass(slots=True)
class _Masks:
    """Masks texts, each distinct one once."""

    masker: Masker
    known: dict[str, str] = field(default_factory=dict)

    def text(self, text: str) -> str:
        if text not in self.known:
            self.known[text] = self.masker.line(text)
        return self.known[text]

    def texts(self, texts: Iterable[str]) -> tuple[str, ...]:
        return tuple(map(self.text, dict.fromkeys(texts)))

    def problems(self, problems: Iterable[Problem]) -> tuple[Problem, ...]:
        return tuple(self.masker.problem(problem) for problem in dict.fromkeys(problems))


def _cluster(name: str, plan: ClusterPlan | None, status: ClusterStatus | None, masks: _Masks) -> ClusterReport:
    pools = _Pools(plan, status, masks)
    problems = [*(plan.refusals if plan else ())]
    if status is not None:
        problems += (finding.problem for finding in status.findings if finding.trouble)
        problems += status.problems
    return ClusterReport(
        name=name,
        pools=tuple(pools.all()),
        planned=plan is not None,
        others=_counts(pools.changes.get("", ())),
        sources=masks.texts(plan.sources if plan else ()),
        hosts=masks.texts((*(plan.hosts if plan else ()), *(status.hosts if status else ()))),
        problems=masks.problems(problems),
        warnings=masks.problems(plan.warnings if plan else ()),
        last_run=_last_run(status),
    )


def _last_run(status: ClusterStatus | None) -> str:
    record = status.record if status else None
    if record is None or not record.last_run:
        return ""
    return f"{record.last_run}, {'succeeded' if record.good else 'failed'}"


@dataclass
class _Pools:
    """The pools of a cluster: those of its sources, those that only its target has, and those of the cluster."""

    plan: ClusterPlan | None
    status: ClusterStatus | None
    masks: _Masks

    @cached_property
    def changes(self) -> Mapping[str, list[Change]]:
        """What apply would change but for maintenance of tokens, by group of objects: ``""`` for those of no pool."""
        found: dict[str, list[Change]] = {}
        for change in self.plan.effective if self.plan else ():
            if not change.upkeep:
                found.setdefault(change.group, []).append(change)
        return found

    def all(self) -> Iterator[PoolReport]:
        """Every pool, sorted by name."""
        plan, status = self.plan, self.status
        live = {pool.ref: pool for pool in status.pools} if status else {}
        of_pools: dict[ObjectRef, list[Change]] = {}
        unknown: dict[str, list[Change]] = {}
        for group, changes in self.changes.items():
            ref = changes[0].pool or changes[0].gone
            if ref is not None:
                of_pools.setdefault(ref, []).extend(changes)
            elif group:
                unknown[group] = changes
        known = {*live, *of_pools, *(plan.facts if plan else ()), *(plan.failed if plan else ())}
        for ref in sorted(known):
            yield self._pool(ref, of_pools.get(ref, ()), live.get(ref))
        for group, changes in sorted(unknown.items()):
            yield PoolReport(namespace="", name=group, changes=_counts(changes), reasons=self._reasons(changes))

    def _pool(self, ref: ObjectRef, changes: Sequence[Change], status: PoolStatus | None) -> PoolReport:
        plan = self.plan
        left = plan.left.get(ref) if plan else None
        failed = plan.failed.get(ref, ()) if plan else ()
        return PoolReport(
            namespace=ref.namespace,
            name=ref.name,
            facts=plan.facts.get(ref) if plan else None,
            left=self.masks.text(f"{left.why} ({left.reason.code})") if left else "",
            problems=self.masks.problems((*failed, *(status.errors if status else ()))),
            troubles=self.masks.texts(status.troubles if status else ()),
            live=_live(status, self.masks) if status else None,
            changes=_counts(changes),
            reasons=self._reasons(changes),
        )

    def _reasons(self, changes: Iterable[Change]) -> tuple[str, ...]:
        return self.masks.texts(change.reason for change in changes)


def _counts(changes: Iterable[Change]) -> Mapping[Action, int]:
    found = Counter(change.action for change in changes)
    return {action: found[action] for action in Action if action in found}


def _live(status: PoolStatus, masks: _Masks) -> LiveFacts:
    return LiveFacts(status.machines, len(status.waiting), Token(status.expires, masks.text(status.token)))
