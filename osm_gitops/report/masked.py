"""The one place where the content of a plan is prepared for reports: diffs are made, secrets learnt and masked."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from osm_gitops.errors import Problem
from osm_gitops.model.packed import parsed
from osm_gitops.model.plan import Action, Change, ClusterPlan, Plan, TextChange
from osm_gitops.plan.content import BOOT_TEXTS, changed_texts, decoded_data
from osm_gitops.report.diff import DIGESTS, TextDiff, text_diff
from osm_gitops.report.mask import Masker
from osm_gitops.report.secret_diffs import Secrecy

# What differs between pools that change in the same way: digests of the manifest, the name of the token.
_OWN_DIGESTS = "|".join(map(re.escape, DIGESTS))
_OWN = re.compile(rf"^([+-]annotations\.(?:{_OWN_DIGESTS}): ).*|^(bootstrap-token-).+")
_COMPARED = frozenset({Action.UPDATE, Action.REPLACE})


@dataclass(frozen=True, slots=True)
class ShownChange:
    """A change whose reason and diffs contain no secret; diffs are masked on access."""

    change: Change
    reason: str
    _diffs: tuple[TextDiff, ...] = field(repr=False)
    _secrecy: Callable[[Change], Secrecy] = field(repr=False)
    _masks: _DiffMasks = field(repr=False)

    @property
    def diffs(self) -> tuple[TextDiff, ...]:
        """The masked diffs; they are computed on access, because a cut report needs few."""
        return self._masks.diffs(self.change, self._diffs, self._secrecy) if self._diffs else ()


@dataclass(frozen=True, slots=True)
class ShownPools:
    """Pools that change in the same way, with the changes of the first one. Objects without a pool have the name
    ``""``."""

    names: tuple[str, ...]
    changes: tuple[ShownChange, ...]


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
    masker = Masker(value for cluster in plan.clusters for value in cluster.sensitive)
    grouped = [_grouped(cluster, context, masker, whole=whole, together=together) for cluster in plan.clusters]
    members = [member for groups in grouped for group in groups for member in group.members]
    for lines in dict.fromkeys(diff.lines for member in members for diff in member.diffs):
        masker.learn_from_diff(lines)
    masks = _DiffMasks(masker)
    secrecies = [_secrecy_in(cluster, hidden=hide_secret_files) for cluster in plan.clusters]
    return tuple(
        ShownCluster(_masked_problems(cluster, masker), tuple(masks.pools(group, secrecy) for group in groups))
        for cluster, groups, secrecy in zip(plan.clusters, grouped, secrecies, strict=True)
    )


def shown_problems(plan: Plan, problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Problems of clusters that could not be planned, each once, without secrets."""
    masker = Masker(value for cluster in plan.clusters for value in cluster.sensitive)
    return tuple(masker.problem(problem) for problem in dict.fromkeys(problems))


def _secrecy_in(cluster: ClusterPlan, *, hidden: bool) -> Callable[[Change], Secrecy]:
    def secrecy(change: Change) -> Secrecy:
        before = cluster.secret_before
        return Secrecy(cluster.secret_texts(change.pool), before(change.pool) if before else None, hidden)

    return secrecy


@dataclass(frozen=True, slots=True)
class _UnmaskedChange:
    """A change with its diffs before masking."""

    change: Change
    diffs: tuple[TextDiff, ...] = field(repr=False)


@dataclass(slots=True)
class _Group:
    """Pools that change in the same way; ``members`` are the changes of the first."""

    names: list[str]
    members: tuple[_UnmaskedChange, ...] = field(repr=False)


def _grouped(cluster: ClusterPlan, context: int, masker: Masker, *, whole: bool, together: bool) -> list[_Group]:
    """Group pools that change in the same way; ``masker`` learns from the texts that are shown."""
    pools: dict[str, list[Change]] = {}
    for change in cluster.effective:
        pools.setdefault(change.group, []).append(change)
    groups: dict[object, _Group] = {}
    for name, changes in pools.items():
        texts = [_texts(change, whole=whole) for change in changes]
        members = tuple(_unmasked(change, inside, context) for change, inside in zip(changes, texts, strict=True))
        likeness: object = tuple(map(_likeness, members)) if together and name else name
        group = groups.get(likeness)
        if group is None:
            groups[likeness] = _Group([changes[0].pool_name], members)
            for change, inside in zip(changes, texts, strict=True):
                _learn(masker, change, inside)
        else:
            group.names.append(changes[0].pool_name)
    return list(groups.values())


def _texts(change: Change, *, whole: bool) -> tuple[TextChange, ...]:
    """The texts that differ; those of created and deleted objects only if ``whole``."""
    if change.action in _COMPARED or not whole:
        return change.texts
    before, after = change.before, change.after
    return changed_texts(None if before is None else parsed(before), None if after is None else parsed(after))


def _unmasked(change: Change, texts: tuple[TextChange, ...], context: int) -> _UnmaskedChange:
    return _UnmaskedChange(change, tuple(text_diff(text, context) for text in texts))


_KEPT = 256
"""Kinds of changes whose masks are kept: the objects of some profiles, whose pools follow each other in any order."""


class _DiffMasks:
    """Masks each distinct diff once, and finds out once what is secret in changes that are alike."""

    def __init__(self, masker: Masker) -> None:
        self._masker = masker
        self._known: dict[tuple[str, ...], tuple[str, ...]] = {}
        self._alike: dict[object, tuple[tuple[TextDiff, ...], tuple[TextDiff, ...]]] = {}

    def pools(self, group: _Group, secrecy: Callable[[Change], Secrecy]) -> ShownPools:
        return ShownPools(tuple(group.names), tuple(self._change(member, secrecy) for member in group.members))

    def _change(self, member: _UnmaskedChange, secrecy: Callable[[Change], Secrecy]) -> ShownChange:
        return ShownChange(member.change, self._masker.line(member.change.reason), member.diffs, secrecy, self)

    def diffs(
        self, change: Change, diffs: tuple[TextDiff, ...], secrecy: Callable[[Change], Secrecy]
    ) -> tuple[TextDiff, ...]:
        """The masked diffs of a change. Finding secret lines takes several renderings of the pool, so the result is
        reused for pools whose diffs differ only in their names."""
        neutral = _neutral(change)
        alike = tuple((diff.name, diff.state, tuple(map(neutral, diff.lines))) for diff in diffs)
        key = (secrecy, change.ref.kind, neutral(change.ref.name), alike)
        known = self._alike.pop(key, None)
        if known is None:
            secret = secrecy(change)
            known = (diffs, tuple(map(secret.masked, diffs)))
        self._alike[key] = known  # the most recently used one is last
        if len(self._alike) > _KEPT:
            del self._alike[next(iter(self._alike))]
        return tuple(self._diff(_masked_alike(diff, *each)) for diff, *each in zip(diffs, *known, strict=True))

    def _diff(self, diff: TextDiff) -> TextDiff:
        lines = self._known.get(diff.lines)
        if lines is None:
            lines = self._known[diff.lines] = tuple(self._masker.diff_lines(diff.lines))
        return replace(diff, name=self._masker.line(diff.name), lines=lines)


def _masked_alike(diff: TextDiff, other: TextDiff, masked: TextDiff) -> TextDiff:
    """A diff with the lines masked that are masked of another one, which has the same lines but for names."""
    if masked.instead != other.instead:
        return replace(diff, lines=masked.lines, added=masked.added, removed=masked.removed, instead=masked.instead)
    lines = zip(diff.lines, other.lines, masked.lines, strict=True)
    return replace(diff, lines=tuple(ours if raw == shown else shown for ours, raw, shown in lines))


def _learn(masker: Masker, change: Change, texts: tuple[TextChange, ...]) -> None:
    """Learn secrets that only the bodies have: private keys, and data of Secrets other than boot configuration."""
    for text in texts:
        masker.learn_private_keys(text.before or "")
        masker.learn_private_keys(text.after or "")
    if texts and change.ref.kind == "Secret":
        for body in (change.before, change.after):
            # Data other than boot configuration is all secret.
            data = decoded_data(parsed(body or {}))
            masker.learn(each for key, each in data.items() if key not in BOOT_TEXTS and isinstance(each, str))


def _likeness(member: _UnmaskedChange) -> tuple[object, ...]:
    change, neutral = member.change, _neutral(member.change)
    changed = tuple(
        (diff.name, diff.state, tuple(neutral(line) for line in diff.lines if line[:1] in "+-"))
        for diff in member.diffs
    )
    return (change.ref.kind, neutral(change.ref.name), change.action, neutral(change.reason), changed)


def _neutral(change: Change) -> Callable[[str], str]:
    """Takes out of a line what every pool has its own of."""
    names = [change.group] if change.group else []
    if change.pool:
        # As in the token's key (osm-behaviour.md, "Object names").
        names.append(f"{change.pool.namespace}-{change.pool.name}")

    def neutral(text: str) -> str:
        for name in names:
            text = text.replace(name, "<pool>")
        return _OWN.sub(lambda own: own[1] or own[2], text)

    return neutral


def _masked_problems(cluster: ClusterPlan, masker: Masker) -> ClusterPlan:
    def masked(problems: Iterable[Problem]) -> tuple[Problem, ...]:
        return tuple(masker.problem(problem) for problem in problems)

    return replace(
        cluster,
        failed={pool: masked(problems) for pool, problems in cluster.failed.items()},
        no_deletion=masked(cluster.no_deletion),
        refusals=masked(cluster.refusals),
        warnings=masked(cluster.warnings),
        uncommitted=masked(cluster.uncommitted),
        sources=tuple(masker.line(source) for source in cluster.sources),
        hosts=tuple(masker.line(host) for host in cluster.hosts),
    )
