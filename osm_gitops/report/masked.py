"""The one place where the content of a plan is masked for reports: secrets of all clusters are learned and replaced."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Final

from osm_gitops.errors import Problem
from osm_gitops.model.desired import NO_SECRETS
from osm_gitops.model.plan import Change, ClusterPlan, Excerpt, ExcerptChange, ExcerptPools, Plan, TextDiff, View
from osm_gitops.model.promotion import Promotion
from osm_gitops.report.certificates import with_short_certificates
from osm_gitops.report.excerpts import draft, excerpt
from osm_gitops.report.mask import Masker

_KNOWN: Final = 1024
"""Lines and diffs that stay masked: pools of a fleet have most of them in common."""


@dataclass(frozen=True, slots=True)
class ShownChange:
    """A change whose reason and diffs contain no secret; diffs are masked on access."""

    change: Change
    reason: str
    _diffs: tuple[TextDiff, ...] = field(repr=False)
    _masks: _Masks = field(repr=False)

    @property
    def diffs(self) -> tuple[TextDiff, ...]:
        """The masked diffs; they are computed on access, because a cut report needs few."""
        return tuple(map(self._masks.diff, self._diffs))


@dataclass(frozen=True, slots=True)
class ShownPools:
    """Pools that change in the same way, with the changes of the first one. Objects without a pool have the name
    ``""``. ``likeness`` is equal for all pools that change in this way, also in other clusters."""

    names: tuple[str, ...]
    changes: tuple[ShownChange, ...]
    likeness: object = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class ShownCluster:
    """A cluster's plan for reports. ``plan`` has counts, names and masked problems."""

    plan: ClusterPlan
    pools: tuple[ShownPools, ...]


def shown(
    plan: Plan, *, context: int = 3, whole: bool = False, together: bool = False, hide_secret_files: bool = False
) -> tuple[ShownCluster, ...]:
    """Everything that may be shown of a plan. Secrets of one cluster are masked in all clusters.

    Created and deleted objects have diffs only if ``whole``. Pools that change in the same way are one entry if
    ``together``. Files that are made from secrets have their secret lines masked, or with ``hide_secret_files`` no
    content.
    """
    view = View(context=context, whole=whole, together=together, hide_secret_files=hide_secret_files)
    excerpts = [_excerpt(cluster, view) for cluster in plan.clusters]
    masker = _masker(plan, excerpts)
    masks = _Masks(masker)
    return tuple(
        ShownCluster(_masked_problems(cluster, masker), tuple(map(masks.pools, each.pools)))
        for cluster, each in zip(plan.clusters, excerpts, strict=True)
    )


def shown_plans(plan: Plan) -> tuple[ClusterPlan, ...]:
    """The plans with counts, names and masked problems, but without contents."""
    masker = _masker(plan, [each for cluster in plan.clusters for each in (cluster.excerpts or {}).values()])
    return tuple(_masked_problems(cluster, masker) for cluster in plan.clusters)


def shown_problems(plan: Plan, problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Problems of clusters that could not be planned, each once, without secrets."""
    masker = Masker(value for cluster in plan.clusters for value in cluster.sensitive)
    return tuple(masker.problem(problem) for problem in dict.fromkeys(problems))


def _masker(plan: Plan, excerpts: Iterable[Excerpt]) -> Masker:
    """Knows the secrets of all clusters, also those that only what is shown has."""
    masker = Masker(value for cluster in plan.clusters for value in cluster.sensitive)
    lines: dict[tuple[str, ...], None] = {}
    for each in excerpts:
        masker.learn(each.learned)
        members = (change for pools in each.pools for change in pools.changes)
        lines |= dict.fromkeys(text.lines for member in members for text in member.diffs)
    for diff in lines:
        masker.learn_from_diff(diff)
    return masker


def _excerpt(cluster: ClusterPlan, view: View) -> Excerpt:
    """What the view needs of a cluster. If nobody took it from a rendered plan, every line is masked: it is too late to
    find out what is secret."""
    if cluster.excerpts is not None and view in cluster.excerpts:
        return cluster.excerpts[view]
    drafted = draft(cluster, view)
    return excerpt(drafted, {} if cluster.excerpts is not None else dict.fromkeys(drafted.pools, NO_SECRETS))


class _Masks:
    """Masks what pools have in common once."""

    def __init__(self, masker: Masker) -> None:
        self._masker = masker
        self._line = lru_cache(maxsize=_KNOWN)(masker.line)
        self._diff = lru_cache(maxsize=_KNOWN)(self._masked_diff)

    def pools(self, pools: ExcerptPools) -> ShownPools:
        return ShownPools(pools.names, tuple(map(self._change, pools.changes)), pools.likeness)

    def _change(self, member: ExcerptChange) -> ShownChange:
        return ShownChange(member.change, self._line(member.change.reason), member.public, self)

    def diff(self, diff: TextDiff) -> TextDiff:
        return self._diff(diff)

    def _masked_diff(self, diff: TextDiff) -> TextDiff:
        lines = with_short_certificates(tuple(self._masker.diff_lines(diff.lines)))
        return replace(diff, name=self._line(diff.name), lines=lines)


def _masked_problems(cluster: ClusterPlan, masker: Masker) -> ClusterPlan:
    def masked(problems: Iterable[Problem]) -> tuple[Problem, ...]:
        return tuple(masker.problem(problem) for problem in problems)

    return replace(
        cluster,
        failed={pool: masked(problems) for pool, problems in cluster.failed.items()},
        no_deletion=masked(cluster.no_deletion),
        promotion=_masked_promotion(cluster.promotion, masker),
        refusals=masked(cluster.refusals),
        warnings=masked(cluster.warnings),
        uncommitted=masked(cluster.uncommitted),
        sources=tuple(masker.line(source) for source in cluster.sources),
        hosts=tuple(masker.line(host) for host in cluster.hosts),
    )


def _masked_promotion(promotion: Promotion | None, masker: Masker) -> Promotion | None:
    """Reasons are what was found in other clusters."""
    if promotion is None:
        return None
    return replace(promotion, reasons=tuple(masker.text(reason) for reason in promotion.reasons))
