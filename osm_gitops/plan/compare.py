"""Desired against current state: one change per object, with its reason (design.md, "Comparison")."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from operator import is_
from sys import intern
from typing import Final

from osm_gitops.errors import Code, InputError, Problem
from osm_gitops.model.desired import MANAGED_BY, MANAGED_BY_LABEL, Desired, DesiredObject
from osm_gitops.model.machine import DEFAULT_POOL_NAMESPACE, EDGE_SCRIPT_PREFIX, PoolNames
from osm_gitops.model.objects import LAST_APPLIED, SERVER_METADATA, Json, ObjectRef
from osm_gitops.model.packed import PackedBody, Packer, likeness, parsed
from osm_gitops.model.plan import Action, Change, ClusterPlan, CurrentObject, CurrentState, PoolCounts, TextChange
from osm_gitops.model.profile import BUILT_IN_ANNOTATION, OVERLAY_BASE_ANNOTATION
from osm_gitops.plan.content import changed_texts
from osm_gitops.plan.guards import PlanOptions, refusals
from osm_gitops.plan.reasons import why_changed
from osm_gitops.render.manifests import ANNOTATIONS_HASH, with_crd_defaults

_CONFIG_SUFFIXES = (
    ("Secret", "-bootstrap-config"),
    ("Secret", "-provisioning-config"),
    ("OperatingSystemConfig", "-config"),
)
_ENCRYPTED_PARTS = frozenset({"data", "stringData", "spec"})


def make_cluster_plan(
    desired: Desired, current: CurrentState, options: PlanOptions, machines: Sequence[Change] = ()
) -> ClusterPlan:
    """Compare each object by content, and plan its change with the reason.

    ``machines`` are changes of MachineDeployments, which are compared elsewhere. A plan that must not be applied has
    ``refusals``.
    """
    comparing = Comparison(current.live, current.immutable_kinds)
    present = _groups_present(desired, current)
    changes = [_change_of(wanted, current, comparing, present) for wanted in desired.objects]
    if current.live:
        changes = comparing.with_shut_gates(changes, desired)
    left = {change.pool for change in changes if _is_left(change, desired)}
    changes = [_unchanged(change) if _is_left(change, desired) else change for change in changes]
    wanted_refs = {wanted.ref for wanted in desired.objects}
    pool_groups = {group_name(pool): pool for pool in (*desired.pools, *desired.failed)}
    namespaces = {pool.namespace for pool in pool_groups.values()}
    failed_groups = {group_name(pool) for pool in desired.failed}
    leaving = frozenset(group_name(pool) for pool in options.leaving)
    strays = frozenset(group_name(pool) for pool in options.strays)
    deletions, kept = [], []
    uncommitted = () if options.limits.require_clean else desired.uncommitted  # else they are refusals
    warnings = [*uncommitted, *desired.warnings, *current.warnings]
    for ref, found in sorted(current.objects.items()):
        if ref in wanted_refs or not _may_go(found, leaving):
            continue
        # A failed pool may need any profile: its manifest may be unreadable. Unselected pools were not read.
        needed = ref.kind == "OperatingSystemProfile" and (bool(desired.failed) or desired.narrowed)
        if ref in desired.foreign:
            kept.append(ref)
            warnings.append(_foreign_profile(ref))
        elif found.body is None or needed or ref in desired.keep or group_of(ref) in failed_groups:
            kept.append(ref)
        else:
            deletions.append(_deletion(found, pool_groups, strays, namespaces))
    no_deletion = (*desired.no_deletion, *current.unreadable)
    planned = [*changes, *machines, *([] if no_deletion else deletions)]
    plan = ClusterPlan(
        cluster=desired.cluster,
        changes=tuple(sorted(planned, key=lambda change: change.place)),
        kept=tuple(kept),
        foreign=desired.foreign,
        failed=desired.failed,
        left={pool: why for pool, why in desired.left.items() if pool in left},
        not_deleted=tuple(deletions) if no_deletion else (),
        no_deletion=no_deletion if deletions else (),
        warnings=tuple(warnings),
        uncommitted=uncommitted,
        sources=desired.sources,
        hosts=desired.hosts,
        facts=desired.facts,
        narrowed=desired.narrowed,
        promotion=desired.promotion,
        sensitive=desired.sensitive,
        excerpts={} if desired.rendered else None,
    )
    plan = replace(plan, pools=_count_pools(plan, desired, pool_groups))
    known = present | {group for group in (*map(_group_of, deletions), *map(group_of, kept)) if group}
    return replace(plan, refusals=refusals(plan, desired, options.limits, known=len(known - leaving), leaving=leaving))


def _is_left(change: Change, desired: Desired) -> bool:
    """Whether to keep an object, since the cluster may create machines from it now. Missing objects are still created:
    they are not used before they have a revision."""
    is_changed = change.action in {Action.UPDATE, Action.REPLACE} and not change.same_content
    return is_changed and change.pool in desired.left


def _unchanged(change: Change) -> Change:
    return replace(change, action=Action.UNCHANGED, reason="", before=None, texts=(), shown=None, metadata_only=False)


def _foreign_profile(ref: ObjectRef) -> Problem:
    """Why the file of a profile is kept: earlier versions wrote profiles that they had read from a cluster."""
    annotations = "kustomize.toolkit.fluxcd.io/prune=disabled argocd.argoproj.io/sync-options=Prune=false"
    command = f"kubectl annotate operatingsystemprofile {ref.name} --namespace {ref.namespace} {annotations}"
    return Problem(
        Code.OLD_PROFILE_FILE,
        "its file in the target is of an earlier version of osm-gitops, and profiles are read from the cluster now: "
        "Flux or Argo CD would delete the profile from the cluster together with the file, so the file stays",
        about=str(ref),
        fix=f"Run {command}, then remove the file and run osm-gitops apply",
    )


@lru_cache(maxsize=16)  # the objects of a pool share it
def group_name(pool: ObjectRef) -> str:
    """The pool's part of object names (osm-behaviour.md, "Object names")."""
    return f"{pool.name}-{pool.namespace}"


def group_of(ref: ObjectRef) -> str:
    """The pool's part of an object's name; empty for objects without a pool."""
    if ref.kind == "Secret" and ref.name.startswith(EDGE_SCRIPT_PREFIX):
        return ref.name.removeprefix(EDGE_SCRIPT_PREFIX)
    for kind, suffix in _CONFIG_SUFFIXES:
        if ref.kind == kind and ref.name.endswith(suffix):
            return ref.name.removesuffix(suffix)
    return ""


def is_gate(ref: ObjectRef, group: str) -> bool:
    """Whether this is the bootstrap Secret of the pool: machine-controller creates no machine without it."""
    return ref.kind == "Secret" and bool(group) and ref.name == f"{group}-bootstrap-config"


def is_ours(body: Mapping[str, Json] | None) -> bool:
    """Whether an object has our label: only then it may be deleted."""
    metadata = (body or {}).get("metadata")
    labels = metadata.get("labels") if isinstance(metadata, Mapping) else None
    return isinstance(labels, Mapping) and labels.get(MANAGED_BY_LABEL) == MANAGED_BY


def _may_go(found: CurrentObject, leaving: frozenset[str]) -> bool:
    """Whether an object may be deleted: ours, and OSM's for a pool whose MachineDeployment is being deleted."""
    if found.body is None or is_ours(found.body):
        return True
    annotations = found.body.get("metadata", {}).get("annotations") or {}
    return group_of(found.ref) in leaving and ANNOTATIONS_HASH in annotations


def _group_of(change: Change) -> str:
    return change.group


def _groups_present(desired: Desired, current: CurrentState) -> set[str]:
    """Pools with at least one desired object in the target."""
    there = current.identical | current.compared.keys() | current.objects.keys()
    return {group_name(wanted.pool) for wanted in desired.objects if wanted.pool and wanted.ref in there}


def _change_of(wanted: DesiredObject, current: CurrentState, comparing: Comparison, present: set[str]) -> Change:
    """The change of one desired object. ``present`` are pools with objects in the target."""
    compared = current.compared.get(wanted.ref)
    if compared is not None:
        return compared
    found = current.objects.get(wanted.ref)
    if wanted.ref in current.identical:
        return _no_change(wanted)
    if found is not None:
        return comparing.change(wanted, found)
    change = _no_change(wanted)
    return replace(change, action=Action.CREATE, reason=_why_created(wanted, change.group in present))


def _no_change(wanted: DesiredObject) -> Change:
    return Change(
        wanted.ref,
        wanted.side,
        Action.UNCHANGED,
        group=group_name(wanted.pool) if wanted.pool else "",
        pool=wanted.pool,
        after=wanted.body,
        digest=wanted.digest,
        sealed=wanted.sealed,
    )


@dataclass(frozen=True, slots=True)
class Comparison:
    """Compares desired objects with what is there. ``live`` and ``immutable_kinds`` are those of the target. ``packer``
    stores current bodies of changes, and ``known`` their differing texts: pools with equal changes share them, unless
    it is ``None``."""

    live: bool = False
    immutable_kinds: frozenset[str] = frozenset()
    known: dict[str, str] | None = field(default_factory=dict)
    packer: Packer = field(default_factory=Packer)

    def change(self, wanted: DesiredObject, found: CurrentObject) -> Change:
        """The change of a desired object that is there."""
        changed = self._changed(_no_change(wanted), found, wanted)
        if found.new_key and changed.action is not Action.UNCHANGED:
            return replace(changed, reason=f"{changed.reason}; {found.new_key}")
        return changed

    def _changed(self, change: Change, found: CurrentObject, wanted: DesiredObject) -> Change:
        """The change of an existing object."""
        if found.body is None:
            return _unread(change, found.trouble)
        try:
            there = parsed(found.body)
        except InputError as failure:
            return _unread(change, failure.problems[0].what)
        body, live = parsed(wanted.body), self.live
        if found.hidden:
            return self._hidden(change, there, body)
        before, after = comparable(there, body, live=live)
        if _is_same(before, after):
            return _rewritten(change, found.rewrite) if found.rewrite else change
        action = Action.REPLACE if self._must_replace(before, after, there) else Action.UPDATE
        texts = changed_texts(before, after)
        reason = why_changed(before, after, texts)
        if not is_ours(there):
            reason += "; not made by osm-gitops so far"
        change = replace(
            change, action=action, reason=intern(reason), metadata_only=_is_same(_content(before), _content(after))
        )
        if live:
            # An apply has all fields; removing ``immutable`` in an update would be refused.
            whole = body
            if there.get("immutable") is True:
                before = {**before, "immutable": True}
                if action is Action.UPDATE:
                    whole = {**body, "immutable": True}
                    change = replace(change, after=self._packed(whole, wanted))
            if whole != after or "immutable" in before:
                texts = changed_texts(before, whole)
        kept = found.body if before == there else self._packed(before, wanted)
        return replace(change, before=kept, texts=self._shared(texts))

    def _hidden(self, change: Change, there: Mapping[str, Json], body: Mapping[str, Json]) -> Change:
        """The change of an encrypted object: only its plain parts are compared and shown."""
        before, after = _clear(_normal(there)), _clear(_normal(body))
        replaced = change.ref.kind in self.immutable_kinds or before.get("immutable") is True
        texts = changed_texts(before, after)
        causes = "" if _is_same(before, after) else why_changed(before, after, texts)
        unseen = "encrypted content changed (visible with a private key)"
        reason = f"{causes}; {unseen}" if causes else unseen
        action = Action.REPLACE if replaced else Action.UPDATE
        return replace(change, action=action, reason=reason, before=before, texts=self._shared(texts))

    def _must_replace(self, before: Mapping[str, Json], after: Mapping[str, Json], there: Mapping[str, Json]) -> bool:
        """Whether an immutable part forbids an update. ``before`` is the compared form of ``there``."""
        if after.get("kind") in self.immutable_kinds:
            return bool(before.get("spec") != after.get("spec"))
        if after.get("kind") != "Secret":
            return False
        if before.get("type") != after.get("type"):
            return True
        # Removing ``immutable`` in a folder needs delete and create in the cluster.
        loses_immutable = after.get("immutable") is not True and not self.live
        return there.get("immutable") is True and (before.get("data") != after.get("data") or loses_immutable)

    def with_shut_gates(self, changes: list[Change], desired: Desired) -> list[Change]:
        """If a Secret of a pool is replaced, so is its bootstrap Secret: deleted first and created last, so that no
        machine is created while another one is missing (design.md, "Order of writes")."""
        groups = {each.group for each in changes if each.action is Action.REPLACE and each.ref.kind == "Secret"}
        wanted = {each.ref: each.body for each in desired.objects} if groups else {}
        return [
            self._shut(each, wanted[each.ref]) if each.group in groups and is_gate(each.ref, each.group) else each
            for each in changes
        ]

    def _shut(self, gate: Change, body: Mapping[str, Json]) -> Change:
        if gate.action not in {Action.UPDATE, Action.UNCHANGED}:
            return gate
        why = "it is removed while another Secret of the pool is replaced"
        reason = f"{gate.reason}; {why}" if gate.reason else why
        if gate.action is Action.UNCHANGED:
            return replace(
                gate, action=Action.REPLACE, reason=reason, before=gate.after, after=body, metadata_only=True
            )
        texts = changed_texts(None if gate.before is None else parsed(gate.before), parsed(body))
        return replace(gate, action=Action.REPLACE, reason=reason, after=body, texts=self._shared(texts))

    def _packed(self, body: Mapping[str, Json], wanted: DesiredObject) -> PackedBody:
        return self.packer.pack_json(body, likeness(wanted.body, wanted.ref.kind))

    def _shared(self, texts: Iterable[TextChange]) -> tuple[TextChange, ...]:
        known = self.known
        if known is None:
            return tuple(texts)

        def shared(text: str | None) -> str | None:
            return None if text is None else known.setdefault(text, text)

        return tuple(TextChange(each.name, shared(each.before), shared(each.after)) for each in texts)


def same_content(found: Mapping[str, Json], wanted: DesiredObject) -> bool:
    """Whether a live object has the desired content."""
    return _is_same(*comparable(found, parsed(wanted.body), live=True))


def _is_same(before: Mapping[str, Json], after: Mapping[str, Json]) -> bool:
    # 1, 1.0 and True are equal in Python, so equal values are compared as JSON text.
    return before == after and json.dumps(before, sort_keys=True) == json.dumps(after, sort_keys=True)


def _content(body: Mapping[str, Json]) -> dict[str, Json]:
    return {key: value for key, value in body.items() if key != "metadata"}


def _unread(change: Change, trouble: str) -> Change:
    why = f": {trouble}" if trouble else ""
    return replace(change, action=Action.UPDATE, reason=f"the existing object could not be read{why}")


def _rewritten(change: Change, why: str) -> Change:
    """The change of an object with the same content in another encoding."""
    return replace(change, action=Action.UPDATE, reason=why, before=change.after, same_content=True)


def _clear(body: Mapping[str, Json]) -> dict[str, Json]:
    return {key: value for key, value in body.items() if key not in _ENCRYPTED_PARTS}


def _why_created(wanted: DesiredObject, pool_present: bool) -> str:
    if wanted.pool is None:
        annotations = wanted.body["metadata"].get("annotations") or {}
        version = annotations.get(BUILT_IN_ANNOTATION)
        built_in = f", built-in {version}" if version else ""
        return f"new profile{built_in}{', patched' if OVERLAY_BASE_ANNOTATION in annotations else ''}"
    return "missing" if pool_present else "new pool"


def _deletion(
    found: CurrentObject,
    pool_groups: Mapping[str, ObjectRef],
    strays: frozenset[str],
    namespaces: Iterable[str],
) -> Change:
    group, gone = group_of(found.ref), None
    if not group:
        reason = "no pool uses it" if found.ref.kind == "OperatingSystemProfile" else "no longer desired"
    elif group in pool_groups:
        reason = "its pool no longer needs it"
    elif group in strays:
        reason = "its MachineDeployment is in the cluster, but no longer in the source"
    else:
        reason, gone = "pool is gone", pool_of_group(group, namespaces)
    return Change(
        found.ref,
        found.side,
        Action.DELETE,
        reason,
        group,
        pool=pool_groups.get(group),
        gone=gone,
        before=found.body,
        after=None,
    )


def pool_of_group(group: str, namespaces: Iterable[str]) -> ObjectRef | None:
    """The deleted pool of a group. ``a-b-c`` is ``a`` in ``b-c`` or ``a-b`` in ``c``, so it is known only if one of the
    ``namespaces`` of the cluster's pools, or that of machine-controller, matches."""
    fitting = [each for each in {DEFAULT_POOL_NAMESPACE, *namespaces} if group.endswith(f"-{each}")]
    return PoolNames(group.removesuffix(f"-{fitting[0]}"), fitting[0]).ref if len(fitting) == 1 else None


def comparable(
    found: Mapping[str, Json], wanted: Mapping[str, Json], *, live: bool
) -> tuple[dict[str, Json], dict[str, Json]]:
    """Both bodies for comparison: without nulls and kubectl's copy of the object, with defaults. Of a live object only
    desired labels and annotations are compared."""
    before, after = _normal(found), _normal(wanted)
    if live:
        before.pop("status", None)
        before["metadata"] = _only_desired(before.get("metadata", {}), after.get("metadata", {}))
        # ``immutable`` alone makes no difference to readers.
        before.pop("immutable", None)
        after.pop("immutable", None)
        if after.get("kind") == "OperatingSystemProfile":
            after["spec"] = with_crd_defaults(after.get("spec") or {})
    return before, after


def _normal(body: Mapping[str, Json]) -> dict[str, Json]:
    plain: dict[str, Json] = dict(without_nulls(body))
    metadata = plain.get("metadata", {})
    if isinstance(metadata, Mapping):  # a file may hold anything
        plain["metadata"] = _own_metadata(metadata)
    if plain.get("kind") == "Secret":
        plain.setdefault("type", "Opaque")
    return plain


def _own_metadata(metadata: Mapping[str, Json]) -> dict[str, Json]:
    own = {key: value for key, value in metadata.items() if key not in SERVER_METADATA}
    annotations = own.pop("annotations", {})
    if isinstance(annotations, Mapping):
        annotations = {key: value for key, value in annotations.items() if key != LAST_APPLIED}
    if annotations:
        own["annotations"] = annotations
    return own


_NO_COLLECTIONS: Final = frozenset({str, int, bool, float})


def without_nulls(value: Json) -> Json:
    """A null equals an absent key: the API server prunes it (osm-behaviour.md, "OperatingSystemConfig"). What has no
    nulls is returned as it is."""
    kind = value.__class__  # fast path: isinstance() of an abstract class is slow
    if kind in _NO_COLLECTIONS:
        return value
    if kind is dict or isinstance(value, Mapping):
        changed: dict[str, Json] = {}
        for key, inner in value.items():
            if inner.__class__ in _NO_COLLECTIONS:
                continue
            kept = without_nulls(inner)
            if kept is not inner or inner is None:
                changed[key] = kept
        if not changed:
            return value
        both = {key: changed.get(key, inner) for key, inner in value.items()}
        return {key: inner for key, inner in both.items() if inner is not None}
    if kind is list or isinstance(value, tuple):
        entries = [without_nulls(inner) for inner in value]
        return value if all(map(is_, entries, value)) else entries
    return value


def _only_desired(before: Mapping[str, Json], after: Mapping[str, Json]) -> dict[str, Json]:
    trimmed = {key: before[key] for key in ("name", "namespace") if key in before}
    for field_name in ("labels", "annotations"):
        theirs, ours = before.get(field_name) or {}, after.get(field_name) or {}
        kept = {key: value for key, value in theirs.items() if key in ours}
        if kept:
            trimmed[field_name] = kept
    return trimmed


def _count_pools(plan: ClusterPlan, desired: Desired, pool_groups: Mapping[str, ObjectRef]) -> PoolCounts:
    touched = {change.group for change in plan.effective if change.group and not change.same_content}
    return PoolCounts(
        desired=len(desired.pools),
        changed=len(touched & pool_groups.keys()),
        deleted=len(touched - pool_groups.keys()),
        failed=len(desired.failed),
    )
