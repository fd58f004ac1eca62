"""What reports need of one cluster's plan, taken out of it while its pools can be rendered.

It is data: diffs, which of their lines were made from secrets, and secrets that only the bodies have. So a plan can be
kept, and handed to another process, without its bodies and without what rendered them. Nothing here is for terminals:
``masked`` replaces the secrets.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from hashlib import sha256

from osm_gitops.model.desired import FindSecretTexts
from osm_gitops.model.packed import PackedBody, parsed
from osm_gitops.model.plan import (
    Action,
    Change,
    ClusterPlan,
    Excerpt,
    ExcerptChange,
    ExcerptPools,
    TextChange,
    TextDiff,
    View,
)
from osm_gitops.plan.content import BOOT_TEXTS, changed_texts, decoded_data
from osm_gitops.report.diff import DIGESTS, text_diff
from osm_gitops.report.mask import private_keys
from osm_gitops.report.secret_diffs import Secrecy

# What differs between pools that change in the same way: digests of the manifest, the name of the token.
_OWN_DIGESTS = "|".join(map(re.escape, DIGESTS))
_OWN = re.compile(rf"^([+-]annotations\.(?:{_OWN_DIGESTS}): ).*|^(bootstrap-token-).+")
_COMPARED = frozenset({Action.UPDATE, Action.REPLACE})
_KEPT = 256
"""Kinds of changes whose masks are kept: the objects of some profiles, whose pools follow each other in any order."""


def with_excerpts(
    plan: ClusterPlan, views: Iterable[View], after: FindSecretTexts, before: FindSecretTexts | None = None
) -> ClusterPlan:
    """The plan with what each of the views needs. ``after`` finds what was made from secrets in the desired state,
    ``before`` in the current one, if that was rendered too."""
    return replace(plan, excerpts={view: excerpt(plan, view, after, before) for view in views})


def without_bodies(plan: ClusterPlan, *, delivered: bool = False) -> ClusterPlan:
    """The plan without what only comparing takes. If it is ``delivered`` by a target that writes whole files, changes
    keep what is to be written."""

    def slim(change: Change) -> Change:
        written = delivered and change.action is not Action.UNCHANGED
        if written and isinstance(change.after, PackedBody):
            change.after.settle()
        return replace(change, before=None, after=change.after if written else None, texts=())

    return replace(plan, changes=tuple(map(slim, plan.changes)), not_deleted=tuple(map(slim, plan.not_deleted)))


def excerpt(plan: ClusterPlan, view: View, after: FindSecretTexts, before: FindSecretTexts | None = None) -> Excerpt:
    """What a view needs of a plan. Finding what is secret takes several renderings of a pool, so it is asked once for
    pools that change in the same way."""
    pools: dict[str, list[Change]] = {}
    for change in plan.effective:
        pools.setdefault(change.group, []).append(change)
    secrets = _Secrets(after, before, view.hide_secret_files)
    groups: dict[object, _Group] = {}
    learned: set[str] = set()
    for name, changes in pools.items():
        texts = [_texts(change, whole=view.whole) for change in changes]
        members = tuple(
            _Member(change, tuple(text_diff(text, view.context) for text in inside))
            for change, inside in zip(changes, texts, strict=True)
        )
        likeness = _likeness(name, members) if view.together else name
        group = groups.get(likeness)
        if group is None:
            groups[likeness] = _Group([changes[0].pool_name], likeness, tuple(map(secrets.change, members)))
            for change, inside in zip(changes, texts, strict=True):
                learned.update(_learned(change, inside))
        else:
            group.names.append(changes[0].pool_name)
    found = (ExcerptPools(tuple(group.names), group.changes, group.likeness) for group in groups.values())
    return Excerpt(tuple(found), frozenset(learned))


@dataclass(frozen=True, slots=True)
class _Member:
    change: Change
    diffs: tuple[TextDiff, ...] = field(repr=False)


@dataclass(frozen=True, slots=True)
class _Group:
    """Pools that change in the same way; ``changes`` are those of the first."""

    names: list[str]
    likeness: str | bytes
    changes: tuple[ExcerptChange, ...] = field(repr=False)


def _texts(change: Change, *, whole: bool) -> tuple[TextChange, ...]:
    """The texts that differ; those of created and deleted objects only if ``whole``."""
    if change.action in _COMPARED or not whole:
        return change.texts
    before, after = change.before, change.after
    return changed_texts(None if before is None else parsed(before), None if after is None else parsed(after))


class _Secrets:
    """Finds out once what is secret in changes that are alike."""

    def __init__(self, after: FindSecretTexts, before: FindSecretTexts | None, hidden: bool) -> None:
        self._after, self._before, self._hidden = after, before, hidden
        self._alike: dict[object, tuple[tuple[TextDiff, ...], tuple[TextDiff, ...]]] = {}

    def change(self, member: _Member) -> ExcerptChange:
        change = replace(member.change, before=None, after=None, texts=())
        return ExcerptChange(change, member.diffs, self._public(member) if member.diffs else ())

    def _public(self, member: _Member) -> tuple[TextDiff, ...]:
        """The diffs without lines that were made from secrets. The result is reused for pools whose diffs differ only
        in their names."""
        change, diffs, neutral = member.change, member.diffs, _neutral(member.change)
        alike = tuple((diff.name, diff.state, tuple(map(neutral, diff.lines))) for diff in diffs)
        key = (change.ref.kind, neutral(change.ref.name), alike)
        known = self._alike.pop(key, None)
        if known is None:
            before = None if self._before is None else self._before(change.pool)
            secrecy = Secrecy(self._after(change.pool), before, self._hidden)
            known = (diffs, tuple(map(secrecy.masked, diffs)))
        self._alike[key] = known  # the most recently used one is last
        if len(self._alike) > _KEPT:
            del self._alike[next(iter(self._alike))]
        return tuple(_masked_alike(diff, *each) for diff, *each in zip(diffs, *known, strict=True))


def _masked_alike(diff: TextDiff, other: TextDiff, masked: TextDiff) -> TextDiff:
    """A diff with the lines masked that are masked of another one, which has the same lines but for names."""
    if masked.instead != other.instead:
        return replace(diff, lines=masked.lines, added=masked.added, removed=masked.removed, instead=masked.instead)
    lines = zip(diff.lines, other.lines, masked.lines, strict=True)
    return replace(diff, lines=tuple(ours if raw == shown else shown for ours, raw, shown in lines))


def _learned(change: Change, texts: tuple[TextChange, ...]) -> Iterator[str]:
    """Secrets that only the bodies have: private keys, and data of Secrets other than boot configuration."""
    for text in texts:
        yield from private_keys(text.before or "")
        yield from private_keys(text.after or "")
    if texts and change.ref.kind == "Secret":
        for body in (change.before, change.after):
            # Data other than boot configuration is all secret.
            data = decoded_data(parsed(body or {}))
            yield from (each for key, each in data.items() if key not in BOOT_TEXTS and isinstance(each, str))


def _likeness(name: str, members: tuple[_Member, ...]) -> bytes:
    """A digest, which is equal for pools that change in the same way."""
    parts = (bool(name), *map(_change_likeness, members))
    return sha256(repr(parts).encode(errors="surrogateescape")).digest()


def _change_likeness(member: _Member) -> tuple[object, ...]:
    change, neutral = member.change, _neutral(member.change)
    changed = tuple(
        (diff.name, diff.state, tuple(neutral(line) for line in diff.lines if line[:1] in "+-"))
        for diff in member.diffs
    )
    return (change.ref.kind, neutral(change.ref.name), change.action.value, neutral(change.reason), changed)


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
