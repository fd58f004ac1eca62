"""Tokens for the profiles that print the kubeconfig itself, before their pools are rendered (design §6)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from osm_gitops.errors import InputError
from osm_gitops.model.inputs import Inputs
from osm_gitops.model.machine import MachineDeployment
from osm_gitops.model.settings import Settings
from osm_gitops.render.pools import prints_kubeconfig
from osm_gitops.resolve.pools import profile_ref
from osm_gitops.resolve.provider_config import readable_provider_config
from osm_gitops.targets.cluster.tokens import Tokens


def with_tokens(inputs: Inputs, settings: Settings, tokens: Tokens, *, make: bool) -> Inputs:
    """``inputs`` with the tokens that rendering prints: the live ones, made first with ``make``, else stand-ins.

    Where no profile prints one, which is the rule, ``inputs`` are the same object and nothing was asked. What is
    rendered from stand-ins must not be written: :meth:`Tokens.for_rendering` says more. Raises ClusterError.
    """
    machines = tuple(_printing(inputs, settings))
    return replace(inputs, facts=tokens.for_rendering(inputs.facts, machines, make=make)) if machines else inputs


def _printing(inputs: Inputs, settings: Settings) -> Iterator[MachineDeployment]:
    """The pools whose profile prints the kubeconfig."""
    profiles = {key for key, profile in inputs.profiles.items() if prints_kubeconfig(profile)}
    for machine in inputs.machines if profiles else ():
        try:
            named = profile_ref(machine, readable_provider_config(machine.provider_spec), settings.namespace)
        except InputError:
            continue  # reported with the pool
        if named in profiles and not machine.deleting:
            yield machine
