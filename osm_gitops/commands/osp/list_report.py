"""Lists of profiles: a table for people, JSON for programs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final

from osm_gitops.errors import some
from osm_gitops.model.profile import JINJA2_V1, ProfileUse
from osm_gitops.report.mask import Masker
from osm_gitops.report.visible import visible

FORMAT_VERSION: Final = "1.0"
_HEADS: Final = ("PROFILE", "OS", "VERSION", "TEMPLATES", "POOLS", "CLUSTERS", "PROVIDERS")
_NAMED_CLUSTERS: Final = 3
_NAMED_PROVIDERS: Final = 4


def format_profiles(uses: Sequence[ProfileUse], masker: Masker) -> str:
    """A table with one line for each profile; clusters share a line where they have it from the same place with the
    same version, which an overlay changes."""
    same: dict[tuple[str, ...], list[ProfileUse]] = {}
    for use in uses:
        same.setdefault((use.name, str(use.profile.manifest.origin), use.profile.version), []).append(use)
    rows = [_HEADS, *(_row(each) for each in same.values())]
    cells = [[visible(masker.text(cell)) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = ("  ".join(map(str.ljust, row, widths)).rstrip() for row in cells)
    return "".join(f"{line}\n" for line in lines)


def _row(uses: Sequence[ProfileUse]) -> tuple[str, ...]:
    profile = uses[0].profile
    clusters = some([use.cluster for use in uses], _NAMED_CLUSTERS)
    os, pools = f"{profile.os_name} {profile.os_version}", sum(len(use.pools) for use in uses)
    providers = some(profile.providers, _NAMED_PROVIDERS)
    version = f"{profile.version} (built-in)" if profile.built_in else profile.version
    return uses[0].name, os, version, _language(uses[0]), str(pools), clusters, providers


def profiles_json(uses: Sequence[ProfileUse], masker: Masker) -> str:
    """``formatVersion`` and ``profiles``; the meaning of a key changes only with the first number of the version."""
    document = {"formatVersion": FORMAT_VERSION, "profiles": [_entry(use) for use in uses]}
    return masker.text(json.dumps(document, indent=2, ensure_ascii=False)) + "\n"


def _entry(use: ProfileUse) -> dict[str, object]:
    profile = use.profile
    return {
        "cluster": use.cluster,
        "namespace": profile.namespace,
        "name": profile.name,
        "where": str(profile.manifest.origin),
        "osName": profile.os_name,
        "osVersion": profile.os_version,
        "version": profile.version,
        "builtIn": bool(profile.built_in),
        "provisioningUtility": profile.provisioning_utility,
        "supportedCloudProviders": list(profile.providers),
        "templates": _language(use),
        "pools": [pool.namespaced_name for pool in use.pools],
    }


def _language(use: ProfileUse) -> str:
    return JINJA2_V1 if use.profile.jinja else "go"
