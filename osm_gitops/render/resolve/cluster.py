"""What all pools of a cluster share: resolved once per run (osm-behaviour.md, "Flags" and "containerd" and "Bootstrap
kubeconfig"). Problems are collected: one fault must not hide the next.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from osm_gitops.errors import InputError, Problem
from osm_gitops.model.inputs import Facts
from osm_gitops.model.profile import File
from osm_gitops.model.settings import Settings
from osm_gitops.render.resolve.bootstrap_token import TokenIndex, getter_token, token_index
from osm_gitops.render.resolve.cluster_info import BaseKubeconfig, base_kubeconfig, certificate_authority
from osm_gitops.render.resolve.containerd import config_toml, hosts_files, registry_credentials

T = TypeVar("T")


class ErrorCollector:
    """Runs steps that may raise InputError, and keeps each problem once, in order."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []

    def run(self, step: Callable[[], T]) -> T | None:
        """The step's result, or ``None`` where it failed."""
        try:
            return step()
        except InputError as failure:
            self.problems += [problem for problem in failure.problems if problem not in self.problems]
            return None


@dataclass(frozen=True, slots=True)
class ClusterFacts:
    """A cluster's settings and what follows from them and its facts alone."""

    settings: Settings
    facts: Facts
    tokens: TokenIndex
    kubeconfig: BaseKubeconfig
    ca_certificate: str
    getter_token: str
    containerd_config: str
    hosts_files: tuple[File, ...]
    warnings: tuple[Problem, ...]


def resolve_cluster(settings: Settings, facts: Facts) -> ClusterFacts:
    """Resolve what every pool needs. Raises InputError with everything that is missing or wrong."""
    faults = ErrorCollector()
    kubeconfig = faults.run(lambda: base_kubeconfig(settings, facts))
    authority = faults.run(lambda: certificate_authority(settings, facts))
    getter = faults.run(lambda: getter_token(facts))
    registries = faults.run(lambda: registry_credentials(settings, facts))
    if kubeconfig is None or authority is None or getter is None or registries is None:
        raise InputError(faults.problems)
    credentials, warnings = registries
    return ClusterFacts(
        settings=settings,
        facts=facts,
        tokens=token_index(settings, facts),
        kubeconfig=kubeconfig,
        ca_certificate=authority,
        getter_token=getter,
        containerd_config=config_toml(settings, credentials),
        hosts_files=hosts_files(settings),
        warnings=warnings,
    )
