"""Guards: changes that a plan may have only with an explicit option (design.md, "Guards")."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from osm_gitops.errors import Code, Problem, UnsafePlanError, input_error, some
from osm_gitops.model.desired import Desired
from osm_gitops.model.objects import ObjectRef
from osm_gitops.model.plan import Action, ClusterPlan
from osm_gitops.model.promotion import Promotion, Step


@dataclass(frozen=True, slots=True)
class MaxDelete:
    """Maximum number of pools to delete per cluster: a number, or a share in percent."""

    number: int
    percent: bool = False

    def allows(self, deleted: int, known: int) -> bool:
        return deleted * 100 <= self.number * known if self.percent else deleted <= self.number

    def __str__(self) -> str:
        return f"{self.number}%" if self.percent else str(self.number)


_NAMED_POOLS = 5
_COMMIT = "Commit it, or run without --require-clean"
HALF = MaxDelete(50, percent=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits of a plan: an empty desired set, deletions, changed pools, and with ``require_clean`` uncommitted
    sources."""

    allow_empty: bool = False
    max_delete: MaxDelete = HALF
    max_changed_pools: int | None = None
    require_clean: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanOptions:
    """Options of a plan. ``leaving`` are pools whose live MachineDeployment is being deleted: they do not count as
    deletions. ``strays`` are live and not in the source."""

    limits: Limits = field(default_factory=Limits)
    leaving: frozenset[ObjectRef] = field(default_factory=frozenset)
    strays: frozenset[ObjectRef] = field(default_factory=frozenset)


def parse_max_delete(text: str) -> MaxDelete:
    """Parse ``N`` or ``P%``. Raises InputError."""
    match = re.fullmatch(r"([0-9]{1,9})(%?)", text)
    if match is None or (match[2] and int(match[1]) > 100):
        raise input_error(
            Code.INVALID_VALUE,
            f'"{text}" is neither a number of pools nor a share of them',
            where="--max-delete",
            fix='Use for example "3" or "25%"',
        )
    return MaxDelete(int(match[1]), percent=bool(match[2]))


def refusals(
    plan: ClusterPlan, desired: Desired, limits: Limits, *, known: int, leaving: frozenset[str]
) -> tuple[Problem, ...]:
    """Why a plan must not be applied. ``leaving`` are names (``<md>-<ns>``) of pools that are being deleted anyway,
    ``known`` is the number of other pools in the target."""
    about = f"cluster {plan.cluster}"
    found = [replace(problem, fix=_COMMIT) for problem in desired.uncommitted] if limits.require_clean else []
    if desired.promotion is not None and desired.promotion.step is Step.UNKNOWN:
        found.append(_unknown_revision(plan.cluster, desired.promotion))
    # If all MachineDeployments are being deleted, their finalizers wait for this run. A cluster without pools has
    # nothing to delete.
    if not (desired.objects or desired.keep or desired.failed or leaving):
        if limits.allow_empty:
            return tuple(found)
        if any(change.action is Action.DELETE for change in plan.changes):
            found.append(nothing_desired(plan.cluster))
    deleted = _deleted_pools(plan, desired) - leaving
    if deleted and not limits.max_delete.allows(len(deleted), known):
        found.append(
            Problem(
                Code.TOO_MANY_DELETIONS,
                f"{len(deleted)} of {known} pools would be deleted ({some(sorted(deleted), _NAMED_POOLS)}), "
                f"which is more than {_limit(limits.max_delete)}",
                about=about,
                fix=f"If this is intended, use --max-delete {len(deleted)}",
            )
        )
    changed = len({each.group for each in plan.effective if each.group and not each.same_content} - leaving)
    if limits.max_changed_pools is not None and changed > limits.max_changed_pools:
        found.append(
            Problem(
                Code.TOO_MANY_CHANGES,
                f"{changed} pools would change, more than the {limits.max_changed_pools} allowed",
                about=about,
                fix=f"Select fewer pools with --only, or use --max-changed-pools {changed}",
            )
        )
    return tuple(found)


def _unknown_revision(cluster: str, promotion: Promotion) -> Problem:
    what = f"it may not have the newest shared inputs yet (wave {promotion.wave}): {'; '.join(promotion.reasons)}"
    fix = f"Wait, or use --promote {cluster} to give it the newest"
    return Problem(Code.WAVE_REVISION_UNKNOWN, what, about=f"cluster {cluster}", fix=fix)


def nothing_desired(cluster: str) -> Problem:
    """The problem of an empty source, which would delete all objects."""
    what = "nothing is desired: the source has no MachineDeployment that can be rendered"
    return Problem(Code.NOTHING_DESIRED, what, about=f"cluster {cluster}", fix="If this is intended, use --allow-empty")


def refuse_unsafe(plans: Iterable[ClusterPlan]) -> None:
    """Raise UnsafePlanError with all refusals of the plans, if any."""
    problems = [problem for plan in plans for problem in plan.refusals]
    if problems:
        raise UnsafePlanError(problems)


def _deleted_pools(plan: ClusterPlan, desired: Desired) -> set[str]:
    """Pools that lose an object and are not desired."""
    wanted = {f"{pool.name}-{pool.namespace}" for pool in (*desired.pools, *desired.failed)}
    deleted = {change.group for change in plan.changes if change.action is Action.DELETE and change.group}
    return deleted - wanted


def _limit(limit: MaxDelete) -> str:
    return "half" if limit == HALF else f"--max-delete {limit}"
