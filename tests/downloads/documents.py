"""Boot documents for tests: of default profiles, and of those that OSM released."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from osm_gitops.gotemplate.engine import Engine
from osm_gitops.lint.rules.boot_file import BootDocument
from osm_gitops.model.inputs import Inputs
from osm_gitops.model.settings import Settings
from osm_gitops.pipeline.boot_documents import Places, boot_document
from osm_gitops.render.data import ROOT_TYPES
from osm_gitops.render.pools import PoolRenderer
from osm_gitops.render.resolve.cluster_info import resolve_cluster
from osm_gitops.render.resolve.pools import resolve_pool
from osm_gitops.sops.keys import KeySearch
from osm_gitops.sources.tree import read_tree
from osm_gitops.sources.walk import Folder, in_no_git
from tests.cli.scenes import pool, write_tree
from tests.conformance_data import OUTSIDE
from tests.profiles.rendering import read

SERVER = "https://api.example.com:6443"


def default_document(
    folder: Path, name: str, provider: str, kubelet: str = "1.35.4", values: Mapping[str, Any] | None = None
) -> BootDocument:
    """A default profile, rendered with ``values`` of the user's own."""
    profile = read(name)
    machine = _machine(name, provider, profile.os_name, profile.provisioning_utility, kubelet)
    inputs = replace(_read(write_tree(folder, machine)), profiles={("kube-system", name): profile})
    return _document(inputs, values or {})


def released_document(folder: Path, version: str, name: str, provider: str, kubelet: str = "1.33.1") -> BootDocument:
    """A profile of OSM's release ``version``, rendered."""
    body = yaml.safe_load((OUTSIDE / "profiles" / version / f"{name}.yaml").read_text("utf-8"))
    body["metadata"]["namespace"] = "kube-system"
    spec = body["spec"]
    machine = _machine(name, provider, spec["osName"], spec.get("provisioningUtility", ""), kubelet)
    return _document(_read(write_tree(folder, body, machine)), {})


def _machine(name: str, provider: str, os: str, utility: str, kubelet: str) -> dict[str, Any]:
    spec = {"provisioningUtility": utility} if os == "flatcar" else {}
    more: dict[str, Any] = {
        "cloudProvider": provider,
        "cloudProviderSpec": {},
        "operatingSystem": os,
        "operatingSystemSpec": spec,
    }
    return pool(profile=name, kubelet=kubelet, **more)


def _read(folder: Path) -> Inputs:
    source = Folder(folder, "tree", in_no_git)
    return read_tree(source, management_namespace="kube-system", environment={}, keys=KeySearch({}))


def _document(inputs: Inputs, values: Mapping[str, Any]) -> BootDocument:
    shared = resolve_cluster(Settings(external_cloud_provider=True), inputs.facts)
    resolved = resolve_pool(inputs.machines[0], inputs, shared)
    renderer = PoolRenderer(Engine(ROOT_TYPES, values=values), shared)
    return boot_document(resolved, "pool", renderer, Places(resolved.profile))
