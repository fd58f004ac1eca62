"""What all pools of a cluster share: resolved once per run (contract §2, §8, §9)."""

from __future__ import annotations

from dataclasses import dataclass

from osm_gitops.errors import InputError, Problem
from osm_gitops.model.facts import Facts
from osm_gitops.model.profile import File
from osm_gitops.model.settings import Settings
from osm_gitops.resolve.bootstrap_kubeconfig import BaseKubeconfig, base_kubeconfig
from osm_gitops.resolve.bootstrap_token import TokenIndex, getter_token
from osm_gitops.resolve.certificate_authority import certificate_authority
from osm_gitops.resolve.containerd import config_toml
from osm_gitops.resolve.registry_credentials import registry_credentials
from osm_gitops.resolve.registry_hosts import hosts_files


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
