"""MachineDeployments of a tree and of the cluster: their differences, changes to apply them (design.md, "Planning"),
and credentials that a plan must not show.

Templates are compared given the defaults that machine-controller's mutating webhook adds. It rewrites ``spec.template``
when a MachineDeployment is created and when its template changes:

- ``operatingSystemSpec``: Flatcar without a ``provisioningUtility`` gets ``ignition``; every system gets its other
  keys, false or empty.
- ``cloudProviderSpec``: a provider fills in what is absent or empty (region, network, security groups, disk type), and
  may write a variable ``{value: x}`` as ``x``.
- ``spec.metadata.labels``: KubeVirt adds labels for the topology.

No other additions to the provider config are ignored, since machines boot with it. ``versions.kubelet`` is compared
without a leading ``v``, which makes no difference to rendering.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from typing import Final

from osm_gitops.errors import Code, Problem, some
from osm_gitops.model.desired import SecretTexts, Side
from osm_gitops.model.inputs import Facts
from osm_gitops.model.live import Difference, FieldPath, Gate, LivePool
from osm_gitops.model.machine import MachineDeployment
from osm_gitops.model.objects import Json, ObjectRef, authored, texts_in, value_at
from osm_gitops.model.plan import Action, Change
from osm_gitops.model.settings import Settings
from osm_gitops.plan.compare import group_name, without_nulls
from osm_gitops.plan.content import changed_texts
from osm_gitops.plan.sensitive import collect_sensitive, other_manifest, provider_spec_of
from osm_gitops.plan.variants import VARIANTS, Texts, secret_texts
from osm_gitops.render.resolve.pools import template_digest, without_empty

_ROOT: Final = "spec.template"
_CONFIG: Final = ("spec", "providerSpec", "value")
_OS_SPEC: Final = "operatingSystemSpec"
_CLOUD_SPEC: Final = "cloudProviderSpec"
_UTILITY: Final = "provisioningUtility"
_IGNITION: Final = "ignition"


def template_difference(wanted: Json, live: Json) -> str:
    """The path of the first field of a live template that differs from ``wanted`` with the webhook's defaults, such as
    ``spec.template.spec.versions.kubelet``, without values; empty if there is none."""
    ours, theirs = _with_defaults(wanted), _with_defaults(live)
    config, found = _at(ours, _CONFIG), _at(theirs, _CONFIG)
    where = ".".join((_ROOT, *_CONFIG))
    for key in sorted(found):
        if key == _OS_SPEC:
            difference = _changed_key(config.get(key), found[key], f"{where}.{key}")
            if difference:
                return difference
        elif found[key] and not config.get(key) and not (key == _CLOUD_SPEC and key in config):
            return f"{where}.{key}"
    return _lacking(ours, theirs, _ROOT)


def digests_as_written(template: Json) -> frozenset[str]:
    """Digests (:func:`template_digest`) of all templates from which the webhook may have made ``template``: without the
    default of Flatcar, and with ``v`` before the kubelet's version."""
    return frozenset(map(template_digest, _as_written(template)))


def _as_written(template: Json) -> Iterator[Json]:
    variants = [template]
    config = _at(template, _CONFIG)
    if config.get("operatingSystem") == "flatcar" and _at(config, (_OS_SPEC,)).get(_UTILITY) == _IGNITION:
        without = copy.deepcopy(template)
        del _at(without, (*_CONFIG, _OS_SPEC))[_UTILITY]
        variants.append(without)
    for variant in variants:
        yield variant
        kubelet = _at(variant, ("spec", "versions")).get("kubelet")
        if isinstance(kubelet, str) and kubelet and not kubelet.startswith("v"):
            prefixed = copy.deepcopy(variant)
            _at(prefixed, ("spec", "versions"))["kubelet"] = f"v{kubelet}"
            yield prefixed


def _with_defaults(template: Json) -> Json:
    """A normal form that is equal for a template before and after the webhook."""
    found = copy.deepcopy(template)
    versions, config = _at(found, ("spec", "versions")), _at(found, _CONFIG)
    if isinstance(versions.get("kubelet"), str):
        versions["kubelet"] = versions["kubelet"].removeprefix("v")
    if _CLOUD_SPEC in config:
        config[_CLOUD_SPEC] = _plain(without_empty(config[_CLOUD_SPEC]))
    if isinstance(config.get(_OS_SPEC), Mapping) or not config.get(_OS_SPEC):
        spec = without_empty(config.get(_OS_SPEC) or {})
        if config.get("operatingSystem") == "flatcar":
            spec.setdefault(_UTILITY, _IGNITION)
        if config:
            config[_OS_SPEC] = spec
    return found


def _plain(value: Json) -> Json:
    """Configuration variables without the object around them."""
    if isinstance(value, Mapping):
        return _plain(value["value"]) if value.keys() == {"value"} else {key: _plain(value[key]) for key in value}
    return [_plain(each) for each in value] if isinstance(value, list | tuple) else value


def _at(value: Json, path: tuple[str, ...]) -> dict[str, Json]:
    """The map at a key; empty for other values, which the CRD allows."""
    found = value_at(value, path)
    return found if isinstance(found, dict) else {}


def _changed_key(wanted: Json, live: Json, path: str) -> str:
    """The first key in which two maps differ."""
    if not isinstance(wanted, Mapping) or not isinstance(live, Mapping):
        return "" if is_same(wanted, live) else path
    keys = (key for key in sorted({*wanted, *live}) if not is_same(wanted.get(key), live.get(key)))
    return next((f"{path}.{key}" for key in keys), "")


def _lacking(wanted: Json, live: Json, path: str) -> str:
    """The first field of ``wanted`` that differs in ``live``: maps may have more entries, lists may not."""
    if isinstance(wanted, Mapping):
        found = live if isinstance(live, Mapping) else {}
        inner = (_lacking(wanted[key], found.get(key), f"{path}.{key}") for key in sorted(wanted))
        return next(filter(None, inner), "")
    if isinstance(wanted, list | tuple) and wanted and isinstance(live, list | tuple) and len(live) == len(wanted):
        each = (_lacking(*pair, f"{path}[{number}]") for number, pair in enumerate(zip(wanted, live, strict=True)))
        return next(filter(None, each), "")
    return "" if is_same(wanted, live) else path


def is_same(one: Json, other: Json) -> bool:
    """Whether two values are equal as JSON; empty values equal absent ones."""
    # As JSON text, since 1, 1.0 and True are equal in Python.
    return (not one and not other) or json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


REPLICAS: Final = "spec.replicas"
"""The field that autoscalers and people change in the cluster."""

_TEMPLATE: Final = "spec.template."
_NAMED: Final = 5


def differing_fields(wanted: Json, live: Json, path: str = "") -> Iterator[str]:
    """Paths of wanted fields that differ in a live object: maps may have more entries, lists may not. Empty values
    equal absent ones."""
    if isinstance(wanted, Mapping):
        found = live if isinstance(live, Mapping) else {}
        for key, value in wanted.items():
            yield from differing_fields(value, found.get(key), f"{path}.{key}" if path else str(key))
        return
    if not is_same(wanted, live):
        yield path


def manifest_of(machine: MachineDeployment) -> dict[str, Json]:
    """The body to apply for a MachineDeployment of a tree."""
    applied: dict[str, Json] = without_nulls(authored(machine.manifest))
    return applied


def difference(wanted: Mapping[str, Json], live: Mapping[str, Json], owned: Iterable[FieldPath] = ()) -> Difference:
    """How a live object differs from the wanted one; ``owned`` are the paths of fields that our applies own."""
    templates = (value_at(each, ("spec", "template")) for each in (wanted, live))
    has_template = not template_difference(*templates)  # but for what a webhook adds or rewrites
    fields = tuple(
        path for path in differing_fields(wanted, live) if not (has_template and f"{path}.".startswith(_TEMPLATE))
    )
    gone = tuple(path for path in owned if value_at(wanted, path) is None)
    if not fields and not gone:
        return Difference()
    before = _part(live, wanted)
    for path in gone:
        inner = before
        for key in path[:-1]:
            inner = inner.setdefault(key, {})
        inner[path[-1]] = value_at(live, path)
    return Difference(fields, tuple(".".join(path) for path in gone), before)


def _part(live: Json, wanted: Json) -> Json:
    """The part of a live value that corresponds to the wanted one."""
    if not isinstance(wanted, Mapping) or not isinstance(live, Mapping):
        return live
    return {key: _part(live[key], value) for key, value in wanted.items() if key in live}


def is_machine_change(change: Change) -> bool:
    """Whether a change applies a MachineDeployment; changes of its finalizer are maintenance."""
    return change.ref.kind == "MachineDeployment" and not change.upkeep


def machine_change(machine: MachineDeployment, pool: LivePool) -> Change | None:
    """The change by applying a MachineDeployment, or ``None``. One that is being deleted is not changed; if the source
    still has it, a later run creates it again."""
    if pool.gate is Gate.DELETING:
        return None
    ref, wanted, group = machine.ref, manifest_of(machine), group_name(machine.ref)
    if not pool.uid:
        reason = "the cluster lacks it"
        return Change(ref, Side.WORKER, Action.CREATE, reason, group, ref, after=wanted)
    found = pool.difference
    if not found:
        return None
    parts = (("changed", found.fields), ("gone", found.gone))
    reason = ", ".join(f"{verb}: {some(fields, _NAMED)}" for verb, fields in parts if fields)
    rolls = any(f"{each}.".startswith(_TEMPLATE) for each in (*found.fields, *found.gone))
    return Change(
        ref,
        Side.WORKER,
        Action.UPDATE,
        reason,
        group,
        ref,
        before=found.before,
        after=wanted,
        texts=changed_texts(found.before, wanted),
        metadata_only=True,  # the other objects show changes of the boot configuration
        rolls_machines=rolls,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The MachineDeployments of a tree compared with those of its cluster.

    ``source`` is the displayed name of the tree. ``pools`` are those of the tree, ``strays`` those that are only in the
    cluster, with the reason ``why``. ``applied``: osm-gitops applies those of the tree.
    """

    source: str
    pools: Mapping[ObjectRef, LivePool] = field(default_factory=dict)
    strays: Mapping[ObjectRef, LivePool] = field(default_factory=dict)
    applied: bool = False

    def warnings(self) -> Iterator[Problem]:
        """Warnings about MachineDeployments that are only in one of both, or differ."""
        if self.strays:
            yield Problem(
                Code.POOLS_NOT_IN_SOURCE,
                f"the cluster also has {_named(tuple(self.strays))}, which gets no boot configuration from this source",
                where=self.source,
                fix="Add it to the source, delete it from the cluster, or read all MachineDeployments from the cluster "
                "(from: {machineDeployments: cluster})",
            )
        if self.applied:
            return
        absent = [ref for ref, pool in self.pools.items() if not pool.uid]
        if absent:
            yield Problem(
                Code.POOLS_NOT_IN_CLUSTER,
                f"the cluster lacks {_named(absent)}",
                where=self.source,
                fix="Let Flux or Argo CD apply this source, run kubectl apply, or set apply: true under "
                "machineDeployments in the fleet file",
            )
        alike: dict[tuple[str, ...], list[ObjectRef]] = {}
        for ref, pool in sorted(self.pools.items()):
            fields = tuple(each for each in pool.difference.fields if each != REPLICAS)
            if fields:
                alike.setdefault(fields, []).append(ref)
        for fields, refs in alike.items():
            yield Problem(
                Code.POOLS_DIFFER,
                f"the cluster has other values in {_named(refs)}: {some(fields, _NAMED)}",
                where=self.source,
                fix="Apply this source, or change it to the values of the cluster",
            )


def _named(refs: Sequence[ObjectRef]) -> str:
    names = some([ref.namespaced_name for ref in sorted(refs)], _NAMED)
    return f"MachineDeployment{'' if len(refs) == 1 else 's'} {names}"


@dataclass(frozen=True, slots=True)
class MachineSide:
    """A changed MachineDeployment as it is in the tree, or in the cluster; ``sealed`` are texts that count as
    encrypted."""

    body: Mapping[str, Json] = field(repr=False)
    sealed: AbstractSet[str] = field(repr=False)

    def secret_texts(self) -> SecretTexts:
        """The parts of a report's texts on the MachineDeployment that are made from secrets."""
        others = [_texts(other_manifest(self.body, self.sealed, each.substitute)) for each in VARIANTS]
        return secret_texts(_texts(self.body), others)


def secrets_of(
    changes: Sequence[Change], machines: Mapping[ObjectRef, MachineDeployment], sealed: AbstractSet[str]
) -> tuple[frozenset[str], Mapping[ObjectRef, tuple[MachineSide, ...]]]:
    """The secrets in ``changes`` of ``machines``, and both sides of each. ``sealed`` are texts that were encrypted in
    the source; values at the same place of a live MachineDeployment count as encrypted too."""
    sides: dict[ObjectRef, tuple[MachineSide, ...]] = {}
    sensitive: set[str] = set()
    for change in changes:
        before, after = change.before or {}, change.after or {}
        machine, live = machines[change.ref], provider_spec_of(before)
        replaced = frozenset(filter(None, texts_in(live))) - frozenset(texts_in(provider_spec_of(after)))
        former = replaced if machine.manifest.sealed else frozenset()
        sensitive |= collect_sensitive(Facts(), [replace(machine, provider_spec=live)], Settings(), former)
        sides[change.ref] = (MachineSide(after, sealed), MachineSide(before, sealed | former))
    return frozenset(sensitive), sides


def _texts(body: Mapping[str, Json]) -> Texts:
    return {each.name: each.after or "" for each in changed_texts(None, body) if each.name != "metadata"}
