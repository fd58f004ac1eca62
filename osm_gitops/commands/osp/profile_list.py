"""``osp list`` and ``osp show``: the available profiles and the pools that use them, as a table, and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from osm_gitops.config.settings import RawSetting
from osm_gitops.config.spec import ClusterSpec
from osm_gitops.errors import Code, InputError, OsmGitopsError, Problem, did_you_mean, input_error, some
from osm_gitops.model.inputs import Inputs
from osm_gitops.model.objects import Json, ObjectRef
from osm_gitops.model.overlay import OverlayRef
from osm_gitops.model.profile import JINJA2_V1, OperatingSystemProfile, ProfileUse
from osm_gitops.pipeline.connections import Connections
from osm_gitops.pipeline.inputs import ClusterInputs
from osm_gitops.pipeline.load import SourceReader, checked_settings, gather_inputs, load_settings
from osm_gitops.pipeline.memo import Memo
from osm_gitops.pipeline.profiles import add_default_profiles, apply_overlays, built_in_profile, load_stack
from osm_gitops.plan.sensitive import collect_sensitive
from osm_gitops.render.manifests import whole_profile
from osm_gitops.render.resolve.pools import wanted_profile
from osm_gitops.report.json_words import FORMAT_VERSION
from osm_gitops.report.mask import Masker
from osm_gitops.report.schema_words import format_version, head, listing, record, text, texts, truth
from osm_gitops.report.visible import visible
from osm_gitops.sops.keys import KeySearch
from osm_gitops.sources.builtin import names
from osm_gitops.sources.manifests import PROFILE
from osm_gitops.sources.trust import TRUSTED, Trust


@dataclass(frozen=True, slots=True)
class AvailableProfiles:
    """Available profiles, sorted by cluster, namespace and name; ``problems`` may hide others.

    ``sensitive`` are secret texts of the sources; ``placeholders`` are the placeholders for encrypted values.
    """

    found: tuple[ProfileUse, ...]
    problems: tuple[Problem, ...]
    sensitive: frozenset[str]
    placeholders: frozenset[str]


def profiles_of(
    clusters: Sequence[ClusterSpec], environment: Mapping[str, str], connections: Connections
) -> AvailableProfiles:
    """Read the profiles of each cluster. Decrypts nothing: profiles need no secret."""
    found: list[ProfileUse] = []
    problems: list[Problem] = []
    sensitive: set[str] = set()
    placeholders: set[str] = set()
    keys, memo = KeySearch(environment, without_keys=True), Memo()
    for spec in clusters:
        try:
            settings = load_settings(spec, memo)
            reader = SourceReader(spec, settings, environment, keys, connections, memo)
            inputs = gather_inputs(reader, unused=True).build()
        except OsmGitopsError as failure:
            problems += (problem.at(about=f"cluster {spec.name}") for problem in failure.problems)
            continue
        problems += inputs.unreadable
        problems += (each for ref, broken in inputs.broken.items() if ref.kind == PROFILE for each in broken)
        sensitive |= collect_sensitive(inputs.facts, inputs.machines, settings, inputs.sensitive)
        placeholders |= inputs.sensitive
        found += _uses(spec.name, inputs, settings.namespace)
    return AvailableProfiles(
        tuple(found), tuple(dict.fromkeys(problems)), frozenset(sensitive), frozenset(placeholders)
    )


def built_in_profiles(
    raw: Sequence[RawSetting], overlays: Sequence[OverlayRef], trust: Trust = TRUSTED
) -> AvailableProfiles:
    """The built-in profiles that settings select, with ``overlays``, without a cluster. Raises InputError."""
    stack = load_stack(overlays, trust)
    settings = checked_settings(raw, stack, trust)
    inputs = ClusterInputs()
    add_default_profiles(inputs, settings, from_cluster=False, unused=True)
    apply_overlays(inputs, stack)
    return _of_no_cluster(inputs.build(), settings.namespace)


def released_profile(text: str, overlays: Sequence[OverlayRef], trust: Trust = TRUSTED) -> AvailableProfiles:
    """The built-in profile ``NAME@VERSION`` alone, with ``overlays``. Raises InputError."""
    name, _, version = text.rpartition("@")
    found = built_in_profile(name, version)
    alone = ClusterInputs(profiles={(found.namespace, found.name): found})

    def others() -> Iterator[OperatingSystemProfile]:
        return (built_in_profile(each, version) for each in names(version))

    apply_overlays(alone, load_stack(overlays, trust), others)
    return _of_no_cluster(alone.build(), found.namespace)


def _of_no_cluster(inputs: Inputs, namespace: str) -> AvailableProfiles:
    broken = tuple(each for problems in inputs.broken.values() for each in problems)
    return AvailableProfiles(tuple(_uses("", inputs, namespace)), broken, frozenset(), frozenset())


def _uses(cluster: str, inputs: Inputs, namespace: str) -> Iterator[ProfileUse]:
    pools: dict[tuple[str, str], list[ObjectRef]] = {}
    for machine in inputs.machines:
        used = wanted_profile(machine, namespace)
        if used is not None and not machine.deleting:
            pools.setdefault(used, []).append(machine.ref)
    for key in sorted(inputs.profiles):
        yield ProfileUse(cluster, inputs.profiles[key], tuple(sorted(pools.get(key, ()))))


def choose_profile(name: str, available: AvailableProfiles) -> dict[str, Json]:
    """The manifest of the profile ``NAME`` or ``NAMESPACE/NAME``, with defaults. A ``@VERSION`` is ignored, because
    ``available`` then has only this version.

    Raises InputError if no cluster has it, with the problems that may hide it, or if clusters have different ones.
    """
    name = name.partition("@")[0]
    matching = [use for use in available.found if name in {use.profile.name, use.name}]
    if not matching:
        known = [each for use in available.found for each in (use.profile.name, use.name)]
        names_found = ", ".join(dict.fromkeys(use.name for use in available.found)) or "none"
        fix = did_you_mean(name, known, f"Available: {names_found}")
        raise InputError([*available.problems, Problem(Code.UNKNOWN_PROFILE, f'{PROFILE} "{name}" not found', fix=fix)])
    body, *others = (whole_profile(use.profile) for use in matching)
    if any(other != body for other in others):
        places = ", ".join(f"{use.name} in cluster {use.cluster}" for use in matching)
        fix = "Write NAMESPACE/NAME, and choose a cluster with --cluster"
        raise input_error(Code.PROFILE_DIFFERS, f'{PROFILE} "{name}" differs between clusters: {places}', fix=fix)
    return body


_HEADS: Final = ("PROFILE", "OS", "VERSION", "TEMPLATES", "POOLS", "CLUSTERS", "PROVIDERS")
_NAMED_CLUSTERS: Final = 3
_NAMED_PROVIDERS: Final = 4


def format_profiles(uses: Sequence[ProfileUse], masker: Masker) -> str:
    """A table with one line for each profile. Clusters share a line if they have it from the same place in the same
    version; an overlay changes the version."""
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
    """JSON with ``formatVersion``; the meaning of a key changes only with the first number of the version."""
    document = {"formatVersion": FORMAT_VERSION, "profiles": [_entry(use) for use in uses]}
    return masker.text(json.dumps(document, indent=2, ensure_ascii=False)) + "\n"


def profiles_schema() -> dict[str, Json]:
    """The JSON schema, draft 2020-12. Its ``$id`` contains the ``formatVersion``."""
    profile = record(
        "One profile in one cluster.",
        cluster=text("Name of the cluster."),
        namespace=text("Its namespace."),
        name=text("Its name."),
        where=text("Where it was read."),
        osName=text("Its operating system."),
        osVersion=text("The version of its operating system."),
        version=text("Its spec.version."),
        builtIn=truth("Whether it is one of the default profiles."),
        provisioningUtility=text("What sets machines up, if the profile says so."),
        supportedCloudProviders=texts("The cloud providers that it supports."),
        templates={"enum": ["go", JINJA2_V1], "description": "The language of its templates."},
        pools=texts("The pools that use it, as namespace/name."),
    )
    return {
        **head("profiles", "Profiles"),
        **record(
            "The profiles of all clusters.",
            formatVersion=format_version(),
            profiles=listing("profile", "One entry for each profile of each cluster."),
        ),
        "$defs": {"profile": profile},
    }


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
