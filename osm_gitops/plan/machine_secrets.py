"""Credentials in MachineDeployments that a plan shows: those of the tree, and those that the cluster still has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace

from osm_gitops.model.desired import Desired, SecretTexts, together
from osm_gitops.model.inputs import Facts
from osm_gitops.model.machine import MachineDeployment
from osm_gitops.model.objects import Json, ObjectRef, texts_in
from osm_gitops.model.plan import Change
from osm_gitops.model.settings import Settings
from osm_gitops.plan.content import changed_texts
from osm_gitops.plan.secret_lines import Texts, secret_texts
from osm_gitops.plan.sensitive import collect_sensitive, other_manifest, provider_spec_of
from osm_gitops.plan.substitutes import VARIANTS


@dataclass(frozen=True, slots=True)
class _Side:
    """A MachineDeployment as the tree or as the cluster has it; ``sealed`` are texts of it that count as encrypted."""

    body: Mapping[str, Json] = field(repr=False)
    sealed: AbstractSet[str] = field(repr=False)

    def secret_texts(self) -> SecretTexts:
        others = [_texts(other_manifest(self.body, self.sealed, each.substitute)) for each in VARIANTS]
        return secret_texts(_texts(self.body), others)


def with_secrets_of(
    desired: Desired,
    changes: Sequence[Change],
    machines: Mapping[ObjectRef, MachineDeployment],
    sealed: AbstractSet[str],
) -> Desired:
    """``desired`` that also tells what of ``changes`` of ``machines`` is secret. ``sealed`` are the texts that stood
    encrypted in the source; what a live MachineDeployment has in the place of one counts as encrypted too."""
    sides: dict[ObjectRef, tuple[_Side, ...]] = {}
    sensitive = set(desired.sensitive)
    for change in changes:
        before, after = change.before or {}, change.after or {}
        machine, live = machines[change.ref], provider_spec_of(before)
        replaced = frozenset(filter(None, texts_in(live))) - frozenset(texts_in(provider_spec_of(after)))
        former = replaced if machine.manifest.sealed else frozenset()
        sensitive |= collect_sensitive(Facts(), [replace(machine, provider_spec=live)], Settings(), former)
        sides[change.ref] = (_Side(after, sealed), _Side(before, sealed | former))

    def find(pool: ObjectRef | None) -> SecretTexts:
        own = sides.get(pool, ()) if pool is not None else ()
        return together((desired.secret_texts(pool), *(side.secret_texts() for side in own)))

    return replace(desired, sensitive=frozenset(sensitive), secret_texts=find) if changes else desired


def _texts(body: Mapping[str, Json]) -> Texts:
    return {each.name: each.after or "" for each in changed_texts(None, body) if each.name != "metadata"}
