"""Revision stamps for what came through git (design.md, "Revision stamps"): which objects may get which revision, and
when a stamp is old.

git cannot know the revision that machine-controller gives a MachineDeployment. The Secrets in git name the template
that they were made from instead (``osm-gitops.io/template-digest``). They are stamped with the revision in the cluster,
once the MachineDeployment has that template, and machine-controller has a MachineSet of its revision with it.

A live template may have more fields than the one in git: machine-controller's webhook adds defaults. Empty and false
values do not count in a digest. Defaults that follow from the template alone are removed before the comparison.
Defaults of a provider are known from what was applied: from the annotation of ``kubectl apply`` (Argo CD writes it
too), and from the fields that a server-side apply owns (Flux). The applied template counts if the live one is the same
with defaults. A MachineDeployment that was created in another way, and has defaults of its provider, is never stamped,
and reported.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from osm_gitops.bounded.json_values import parse_json
from osm_gitops.model.desired import PAUSED, Left, LeftReason, Side
from osm_gitops.model.live import NO_DIFFERENCE, Difference, Gate, LivePool
from osm_gitops.model.objects import LAST_APPLIED, Json, ObjectRef
from osm_gitops.plan.compare import group_of, is_gate
from osm_gitops.plan.machines import digests_as_written, template_difference

_HASH_LABEL: Final = "machine-template-hash"
# machine-controller compares what its own types hold, and copies no more than that into a MachineSet.
_SPEC_FIELDS: Final = frozenset(
    {"metadata", "taints", "providerSpec", "versions", "configSource", "providerID", "nodeDrainTimeout"}
)
_MAPS: Final = frozenset({"labels", "annotations"})


@dataclass(frozen=True, slots=True)
class MachineSetFact:
    """A MachineSet of a MachineDeployment: its uid, its revision, and the :func:`template_key` of its template."""

    uid: str
    revision: str
    template: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveMachineDeployment:
    """A MachineDeployment of the cluster. ``differs`` is the first field in which its template differs from that of the
    source (:func:`template_difference`), ``difference`` are all fields in which it differs from the source."""

    ref: ObjectRef
    uid: str
    resource_version: str
    generation: int
    annotations: str
    revision: str | None
    finalizers: tuple[str, ...]
    paused: bool
    deleting: bool
    template: str
    differs: str = ""
    server_annotations: Mapping[str, str] = field(default_factory=dict)
    difference: Difference = NO_DIFFERENCE


def gate_of(machine: LiveMachineDeployment, sets: Sequence[MachineSetFact]) -> tuple[Gate, Left | None]:
    """Whether a pool may be written, and why not; ``sets`` are its MachineSets."""
    if machine.deleting:
        return Gate.DELETING, Left(LeftReason.DELETING, "it is being deleted")
    if machine.paused:
        return Gate.PAUSED, PAUSED
    if machine.differs:
        return Gate.WAITING, Left(LeftReason.OTHER_TEMPLATE, f"the cluster has another template ({machine.differs})")
    if not machine.revision:
        return Gate.WAITING, Left(LeftReason.NOT_NUMBERED, "machine-controller has not given it a revision yet")
    fits = revision_fits(machine, sets)
    if fits is None:
        why = f"there is no MachineSet of its revision {machine.revision} yet"
        return Gate.WAITING, Left(LeftReason.NO_MACHINE_SET, why)
    if not fits:
        why = f"the MachineSet of its revision {machine.revision} has another template"
        return Gate.WAITING, Left(LeftReason.OLD_MACHINE_SET, why)
    return Gate.READY, None


def revision_fits(machine: LiveMachineDeployment, sets: Sequence[MachineSetFact]) -> bool | None:
    """Whether the MachineSets of the revision have the template; ``None`` where there are none."""
    numbered = [each for each in sets if machine.revision and each.revision == machine.revision]
    return all(each.template == machine.template for each in numbered) if numbered else None


def template_key(template: Json) -> str:
    """Equal for templates that machine-controller treats as equal. The hash label that it adds to MachineSets does not
    count, and absent, null and empty are the same."""
    whole = _mapping(template)
    metadata = dict(_mapping(whole.get("metadata")))
    metadata["labels"] = {key: value for key, value in _mapping(metadata.get("labels")).items() if key != _HASH_LABEL}
    spec = {key: value for key, value in _mapping(whole.get("spec")).items() if key in _SPEC_FIELDS}
    # machine-controller compares the provider's part as text.
    provider = dict(_mapping(spec.pop("providerSpec", None)))
    value = provider.pop("value", None)
    key = [_without_empty(metadata), _without_empty(spec), _without_empty(provider), value]
    return _digest(key)


def _mapping(value: Json) -> Mapping[str, Json]:
    """The value if it is a map, else an empty one: the CRD allows any value, and no machine is made from others."""
    return value if isinstance(value, Mapping) else {}


def annotations_key(annotations: Mapping[str, str] | None) -> str:
    """Equal for equal annotations."""
    return _digest(dict(annotations or {}))


def is_as_read(pool: LivePool, metadata: Mapping[str, Json]) -> bool:
    """Whether a MachineDeployment is unchanged since it was read; ``metadata`` is its current one."""
    return (
        metadata.get("uid") == pool.uid
        and not metadata.get("deletionTimestamp")
        and metadata.get("generation", 0) == pool.generation
        and annotations_key(metadata.get("annotations")) == pool.annotations
    )


def _without_empty(value: Json, field: str = "") -> Json:
    if isinstance(value, Mapping):
        inner = {key: each if field in _MAPS else _without_empty(each, key) for key, each in value.items()}
        # An empty label is a label; an empty field of a record is none.
        return {key: each for key, each in inner.items() if field in _MAPS or each not in (None, "", False, 0, {}, [])}
    if isinstance(value, list | tuple):
        return [_without_empty(each) for each in value]
    return value


def _digest(value: Json) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


STAMPED_TEMPLATE = "osm-gitops.io/stamped-template"
"""Annotation beside the stamp: the digest of the template that the object had then. If it has another one now, its
content is newer than the stamp."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stampable:
    """The metadata of an object with our label. Missing annotations are ``None``. ``declared_by`` are the field
    managers that apply it with a revision from git: they would write that revision again."""

    ref: ObjectRef
    side: Side
    uid: str
    resource_version: str
    revision: str | None
    template: str | None
    stamped: str | None
    declared_by: tuple[str, ...] = ()

    @property
    def is_shared(self) -> bool:
        """Whether the revision comes only from git: it is removed when a commit no longer has it."""
        return bool(self.declared_by) and self.stamped is None

    @property
    def is_outdated(self) -> bool:
        """Whether its content is newer than its stamp."""
        return self.stamped is not None and self.template is not None and self.stamped != self.template


@dataclass(frozen=True, slots=True)
class PoolObjects:
    """The objects of a pool that exist and have our label."""

    config: Stampable | None = None
    provisioning: Stampable | None = None
    bootstrap: Stampable | None = None

    def all(self) -> Iterator[Stampable]:
        """All of them, in the order of stamping. The last is the one that machines are created from."""
        return (each for each in (self.config, self.provisioning, self.bootstrap) if each is not None)


@dataclass(frozen=True, slots=True)
class Stamp:
    """A stamp to set on an object, or to remove from it if ``revision`` is ``None``."""

    target: Stampable
    revision: str | None
    template: str = ""

    @property
    def opens(self) -> bool:
        """Whether it changes the revision of the bootstrap Secret: machine-controller may have waited for that."""
        ref = self.target.ref
        anew = self.revision is not None and self.revision != self.target.revision
        return anew and is_gate(ref, group_of(ref))

    @property
    def is_contested(self) -> bool:
        """Whether git has another revision, which its field manager will write again."""
        return bool(self.target.declared_by) and self.target.revision not in {None, self.revision}

    @property
    def reason(self) -> str:
        if self.revision is None:
            return f"what it holds is not of revision {self.target.revision}"
        if self.revision == self.target.revision and self.target.is_shared:
            return f"MachineDeployment revision {self.revision} stands in git: it is kept when git has it no more"
        before = "not set" if self.target.revision is None else self.target.revision or '""'
        return f"MachineDeployment revision {before} → {self.revision}"


@dataclass(frozen=True, slots=True)
class Stamping:
    """The stamps of a pool, in order; ``left`` is the reason why there are none."""

    stamps: tuple[Stamp, ...] = ()
    left: Left | None = None


@dataclass(frozen=True, slots=True)
class LiveTemplates:
    """The template of a MachineDeployment. ``digests`` are those of all forms in which it may have been written.
    ``changed`` are digests of templates that were applied and changed later, each with the first changed field."""

    digests: frozenset[str]
    changed: Mapping[str, str] = field(default_factory=dict)


def is_stamped(pool: LivePool, objects: PoolObjects, digests: frozenset[str]) -> bool:
    """Whether a pool needs no closer look: every object has the revision, is unchanged since it was stamped, and was
    made from the template that the MachineDeployment has (:func:`digests_as_written`)."""
    found = list(objects.all())
    if not found:
        return True
    numbered = pool.fits is not False and all(each.revision == pool.revision for each in found)
    held = pool.revision is not None and not any(each.is_outdated or each.is_shared for each in found)
    return numbered and held and all(each.template in {None, *digests} for each in found)


def stamping_of(pool: LivePool, objects: PoolObjects, templates: LiveTemplates) -> Stamping:
    """The stamps that the objects of a pool need; ``templates`` are those of its MachineDeployment."""
    bootstrap, provisioning = objects.bootstrap, objects.provisioning
    left = _why_left(pool, objects, templates)
    if left or bootstrap is None or provisioning is None or bootstrap.template is None or pool.revision is None:
        # The bootstrap Secret first: from then on no machine is created from it.
        wrong = [each for each in reversed(list(objects.all())) if _is_wrong(each, pool, templates)]
        return Stamping(tuple(Stamp(each, None) for each in wrong), left)
    template = bootstrap.template
    due = [
        each
        for each in objects.all()
        if each.revision != pool.revision or each.is_shared or each.stamped not in {None, template}
    ]
    return Stamping(tuple(Stamp(each, pool.revision, template) for each in due))


def live_templates(template: Json, metadata: Mapping[str, Json]) -> LiveTemplates:
    """The forms in which the author may have written a live template; ``metadata`` has the managed fields."""
    digests, changed = set(digests_as_written(template)), dict[str, str]()
    for applied in _applied(template, metadata):
        difference = template_difference(applied, template)
        if difference:
            changed |= dict.fromkeys(digests_as_written(applied), difference)
        else:
            digests |= digests_as_written(applied)
    return LiveTemplates(frozenset(digests), {digest: changed[digest] for digest in changed.keys() - digests})


def _is_wrong(found: Stampable, pool: LivePool, templates: LiveTemplates) -> bool:
    """Whether a revision certainly does not belong to the object's content.

    An object that was stamped with an earlier revision is still right for the machines of that revision. If it has the
    current revision and another template, the MachineDeployment or its MachineSets were created again. If it has the
    template of the MachineDeployment, but the MachineSet of its revision has another, somebody else wrote the revision.
    """
    if found.template is None or found.revision is None:
        return False
    known, now = found.template in templates.digests, found.revision == pool.revision
    anew = found.stamped is not None and pool.gate is Gate.READY and now and not known
    return anew or found.is_outdated or (pool.fits is False and now and known)


def _why_left(pool: LivePool, objects: PoolObjects, templates: LiveTemplates) -> Left | None:
    bootstrap, provisioning = objects.bootstrap, objects.provisioning
    if bootstrap is None or provisioning is None:
        lacking = "bootstrap" if bootstrap is None else "provisioning"
        return Left(LeftReason.SECRET_MISSING, f"its {lacking} Secret has not come from git yet")
    if pool.gate is Gate.PAUSED and not pool.fits:
        return pool.left  # what came with an earlier template is right for its machines
    if bootstrap.template != provisioning.template:
        why = "its two Secrets were made from different templates: one of them has not come from git yet"
        return Left(LeftReason.SECRETS_DIFFER, why)
    if bootstrap.template is None or bootstrap.template not in templates.digests:
        field = templates.changed.get(bootstrap.template or "")
        more = f" ({field} was changed in the cluster)" if field else ""
        why = f"what came from git was made from another template than it has{more}"
        return Left(LeftReason.OTHER_SECRETS, why)
    # A paused pool can be scaled, and gets machines of the MachineSet that it has.
    return None if pool.gate in {Gate.READY, Gate.PAUSED} else pool.left


def _applied(template: Json, metadata: Mapping[str, Json]) -> Iterator[Json]:
    """The templates that were applied, from the annotation and from managed fields."""
    spec = last_applied(metadata.get("annotations") or {}).get("spec")
    if isinstance(spec, Mapping) and "template" in spec:
        yield spec["template"]
    for entry in metadata.get("managedFields") or ():
        if entry.get("operation") == "Apply" and not entry.get("subresource"):
            fields = ((entry.get("fieldsV1") or {}).get("f:spec") or {}).get("f:template") or {}
            if fields:
                yield _part(template, fields)


def last_applied(annotations: Mapping[str, str]) -> Mapping[str, Json]:
    """The object as ``kubectl apply`` last applied it; empty where that is not known."""
    try:
        body = parse_json(annotations.get(LAST_APPLIED, "null"))
    except ValueError:
        return {}
    return body if isinstance(body, Mapping) else {}


def _part(value: Json, fields: Mapping[str, Json]) -> Json:
    """The owned part of a live value. A list is owned as a whole; a map with no owned fields was applied empty."""
    names = [key.removeprefix("f:") for key in fields if key.startswith("f:")]
    if not isinstance(value, Mapping):
        return value
    return {name: _part(value[name], fields[f"f:{name}"]) for name in names if name in value}
