"""What reports need of one cluster's plan, in two steps, since it takes renderings to find what was made from secrets.

A :class:`Draft` has the diffs of pools, those that change alike once, and the pools of which that must be known. With
it, it becomes an excerpt. That is data: diffs, which of their lines were made from secrets, and secrets that only the
bodies have. So a plan can be kept, and handed to another process, without its bodies. Nothing here is for terminals:
``masked`` replaces the secrets.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256

from osm_gitops.model.desired import ALL_SECRET, SecretTexts
from osm_gitops.model.objects import ObjectRef
from osm_gitops.model.packed import PackedBody, parsed
from osm_gitops.model.plan import (
    Action,
    Change,
    ClusterPlan,
    Excerpt,
    ExcerptChange,
    ExcerptPools,
    ShownTexts,
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
_OWN = re.compile(rf"^([+-]annotations\.(?:{_OWN_DIGESTS}): ).*|^(bootstrap-token-).+", re.MULTILINE)
_COMPARED = frozenset({Action.UPDATE, Action.REPLACE})
SecretsOfPools = Mapping[ObjectRef | None, SecretTexts]
"""What was made from secrets in each pool, or with ``None`` in the profiles. All of a pool that is missing counts as
such."""


def with_excerpts(
    plan: ClusterPlan, drafts: Iterable[Draft], after: SecretsOfPools, before: SecretsOfPools | None = None
) -> ClusterPlan:
    """The plan with what each view needs. ``after`` is what was made from secrets in the desired state of the pools of
    the ``drafts``, ``before`` in the current one, if that was rendered too."""
    return replace(plan, excerpts={each.view: excerpt(each, after, before) for each in drafts})


def without_bodies(plan: ClusterPlan, *, delivered: bool = False) -> ClusterPlan:
    """The plan without what only comparing takes. If it is ``delivered`` by a target that writes whole files, changes
    keep what is to be written."""

    def slim(change: Change) -> Change:
        written = delivered and change.action is not Action.UNCHANGED
        if written and isinstance(change.after, PackedBody):
            change.after.settle()
        return replace(change, before=None, after=change.after if written else None, texts=(), shown=None)

    return replace(plan, changes=tuple(map(slim, plan.changes)), not_deleted=tuple(map(slim, plan.not_deleted)))


def as_shown(change: Change, views: tuple[View, ...], known: dict[ShownTexts, ShownTexts]) -> Change:
    """The change with what the views need of its differences, without the texts and the current body: those would be
    most of a plan of many pools. Pools that change alike share what is ``known``."""
    if not change.texts:
        return change
    contexts = {view.context for view in views}
    diffs = {context: tuple(text_diff(text, context) for text in change.texts) for context in contexts}
    shown = ShownTexts(views, tuple(diffs[view.context] for view in views), tuple(_learned(change, change.texts)))
    return replace(change, before=None, texts=(), shown=known.setdefault(shown, shown))


@dataclass(frozen=True, slots=True)
class _Member:
    change: Change
    diffs: tuple[TextDiff, ...] = field(repr=False)


@dataclass(frozen=True, slots=True)
class _Group:
    """Pools that change in the same way; ``members`` are the changes of the first, each with its kind."""

    names: list[str]
    likeness: str | bytes
    members: tuple[tuple[_Member, bytes], ...] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Draft:
    """What a view needs of a plan, before it is known what is secret. Changes of one kind differ only in names of their
    pools; ``samples`` are the first of each kind. ``learned`` are secrets that only the bodies have."""

    view: View
    groups: tuple[_Group, ...] = field(repr=False)
    samples: Mapping[bytes, _Member] = field(repr=False)
    learned: frozenset[str] = field(repr=False)

    @property
    def pools(self) -> tuple[ObjectRef | None, ...]:
        """The pools of which it must be known what was made from secrets."""
        return tuple(dict.fromkeys(each.change.pool for each in self.samples.values()))


def draft(plan: ClusterPlan, view: View) -> Draft:
    """Take out of a plan what a view needs."""
    pools: dict[str, list[Change]] = {}
    for change in plan.effective:
        pools.setdefault(change.group, []).append(change)
    groups: dict[object, _Group] = {}
    samples: dict[bytes, _Member] = {}
    learned: set[str] = set()
    for name, changes in pools.items():
        parts = [_diffs(change, view) for change in changes]
        members = tuple(_Member(change, diffs) for change, (diffs, _) in zip(changes, parts, strict=True))
        likeness = _likeness(name, members) if view.together else name
        group = groups.get(likeness)
        if group is not None:
            group.names.append(changes[0].pool_name)
            continue
        kinds = tuple((_without_content(each), _kind(each)) for each in members)
        groups[likeness] = _Group([changes[0].pool_name], likeness, kinds)
        for member, kind in kinds:
            if member.diffs:
                samples.setdefault(kind, member)
        for _, secrets in parts:
            learned.update(secrets)
    return Draft(view, tuple(groups.values()), samples, frozenset(learned))


def excerpt(draft: Draft, after: SecretsOfPools, before: SecretsOfPools | None = None) -> Excerpt:
    """The draft without lines that were made from secrets. What is found in a sample is used for its kind."""

    def masked(sample: _Member) -> tuple[TextDiff, ...]:
        pool = sample.change.pool
        current = None if before is None else before.get(pool, ALL_SECRET)
        secrecy = Secrecy(after.get(pool, ALL_SECRET), current, draft.view.hide_secret_files)
        return tuple(map(secrecy.masked, sample.diffs))

    known = {kind: (sample.diffs, masked(sample)) for kind, sample in draft.samples.items()}

    def shown(member: _Member, kind: bytes) -> ExcerptChange:
        if not member.diffs:
            return ExcerptChange(member.change, (), ())
        public = tuple(_masked_alike(diff, *each) for diff, *each in zip(member.diffs, *known[kind], strict=True))
        return ExcerptChange(member.change, member.diffs, public)

    found = (
        ExcerptPools(tuple(group.names), tuple(shown(*each) for each in group.members), group.likeness)
        for group in draft.groups
    )
    return Excerpt(tuple(found), draft.learned)


def _diffs(change: Change, view: View) -> tuple[tuple[TextDiff, ...], Iterable[str]]:
    """The diffs of a change, and secrets that only its bodies have."""
    shown = change.shown
    if shown is not None:
        return shown.diffs[shown.views.index(view)], shown.learned
    texts = _texts(change, whole=view.whole)
    return tuple(text_diff(text, view.context) for text in texts), _learned(change, texts)


def _texts(change: Change, *, whole: bool) -> tuple[TextChange, ...]:
    """The texts that differ; those of created and deleted objects only if ``whole``."""
    if change.action in _COMPARED or not whole:
        return change.texts
    before, after = change.before, change.after
    return changed_texts(None if before is None else parsed(before), None if after is None else parsed(after))


def _without_content(member: _Member) -> _Member:
    return replace(member, change=replace(member.change, before=None, after=None, texts=(), shown=None))


def _kind(member: _Member) -> bytes:
    """A digest, which is equal for changes whose diffs differ only in names of their pools."""
    neutral = _neutral(member.change)
    alike = tuple((diff.name, diff.state, neutral("\n".join(diff.lines))) for diff in member.diffs)
    parts = (member.change.ref.kind, neutral(member.change.ref.name), alike)
    return sha256(repr(parts).encode(errors="surrogateescape")).digest()


def _masked_alike(diff: TextDiff, other: TextDiff, masked: TextDiff) -> TextDiff:
    """A diff with the lines masked that are masked of another one, which has the same lines but for names."""
    if diff is other:
        return masked
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
            data = decoded_data(parsed(body or {}), without=BOOT_TEXTS)
            yield from (each for each in data.values() if isinstance(each, str))


def _likeness(name: str, members: tuple[_Member, ...]) -> bytes:
    """A digest, which is equal for pools that change in the same way."""
    parts = (bool(name), *map(_change_likeness, members))
    return sha256(repr(parts).encode(errors="surrogateescape")).digest()


def _change_likeness(member: _Member) -> tuple[object, ...]:
    change, neutral = member.change, _neutral(member.change)
    changed = tuple(
        (diff.name, diff.state, neutral("\n".join(line for line in diff.lines if line[:1] in "+-")))
        for diff in member.diffs
    )
    return (change.ref.kind, neutral(change.ref.name), change.action.value, neutral(change.reason), changed)


def _neutral(change: Change) -> Callable[[str], str]:
    """Takes out of lines what every pool has its own of."""
    names = [change.group] if change.group else []
    if change.pool:
        # As in the token's key (osm-behaviour.md, "Object names").
        names.append(f"{change.pool.namespace}-{change.pool.name}")

    def neutral(text: str) -> str:
        for name in names:
            text = text.replace(name, "<pool>")
        return _OWN.sub(lambda own: own[1] or own[2], text)

    return neutral
