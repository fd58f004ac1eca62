"""Tokens for the profiles that print the kubeconfig itself, before their pools are rendered (design.md, "Tokens")."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from osm_gitops.errors import InputError
from osm_gitops.model.inputs import Inputs
from osm_gitops.model.machine import MachineDeployment
from osm_gitops.model.settings import Settings
from osm_gitops.pipeline.rendering import is_chosen
from osm_gitops.render.pools import prints_kubeconfig
from osm_gitops.render.resolve.machine_spec import readable_provider_config
from osm_gitops.render.resolve.pools import profile_ref
from osm_gitops.targets.cluster.tokens import Tokens


@dataclass(frozen=True, slots=True)
class Printed:
    """What pools are rendered from. ``stand_ins``: some tokens in it are none, so that nothing of it may be written."""

    inputs: Inputs
    stand_ins: bool = False


def with_tokens(inputs: Inputs, settings: Settings, tokens: Tokens, only: Sequence[str], *, make: bool) -> Printed:
    """``inputs`` with the tokens that rendering prints for the pools that ``only`` leaves: the live ones, made first
    with ``make``, else stand-ins where there are none.

    Where no profile prints one, which is the rule, ``inputs`` are the same object and nothing was asked.
    :meth:`Tokens.for_rendering` says more. Raises ClusterError.
    """
    machines = tuple(_printing(inputs, settings, only))
    if not machines:
        return Printed(inputs)
    facts = tokens.for_rendering(inputs.facts, machines, make=make)
    return Printed(replace(inputs, facts=facts), stand_ins=not make and tokens.lack_any(machines))


def _printing(inputs: Inputs, settings: Settings, only: Sequence[str]) -> Iterator[MachineDeployment]:
    """The pools whose profile prints the kubeconfig."""
    profiles = {key for key, profile in inputs.profiles.items() if prints_kubeconfig(profile)}
    chosen = (machine for machine in inputs.machines if is_chosen(machine.name, only))
    for machine in chosen if profiles else ():
        try:
            named = profile_ref(machine, readable_provider_config(machine.provider_spec), settings.namespace)
        except InputError:
            continue  # reported with the pool
        if named in profiles and not machine.deleting:
            yield machine
