"""What a tree has on its way into a cluster: which profiles may be written (design.md, "Profiles in clusters"), and
which names."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING

from osm_gitops.errors import Code, Problem
from osm_gitops.model.inputs import Inputs
from osm_gitops.model.objects import Json, ObjectRef
from osm_gitops.model.profile import OperatingSystemProfile
from osm_gitops.model.settings import Settings
from osm_gitops.pipeline.inputs import ClusterInputs
from osm_gitops.pipeline.osm_activity import OsmActivity
from osm_gitops.plan.compare import is_ours
from osm_gitops.render.manifests import whole_profile
from osm_gitops.sources.manifests import PROFILE

if TYPE_CHECKING:
    from osm_gitops.kube.api import Api

_DIGEST_SHOWN = 12


def written_profiles(
    inputs: Inputs | ClusterInputs, *, from_cluster: bool
) -> Mapping[tuple[str, str], OperatingSystemProfile]:
    """The profiles that a run may write into a cluster. Where it reads them ``from_cluster``, they are the built-in
    ones: whoever put the others there goes on owning them, and a patched one would take the place of its base."""
    return {
        key: each
        for key, each in inputs.profiles.items()
        if not from_cluster or (each.built_in and each.manifest.ref not in inputs.patched)
    }


def unwritable_profiles(
    inputs: ClusterInputs, api: Api, settings: Settings, osm: OsmActivity, *, from_cluster: bool
) -> Mapping[ObjectRef, tuple[Problem, ...]]:
    """Profiles that must not go to this cluster, and why: what is in the cluster stays as it is."""
    written = written_profiles(inputs, from_cluster=from_cluster)
    return {
        ref: (problem,)
        for ref, problem in (
            *_unfit_for(written, api, settings),
            *_unreadable_ones(written, osm),
        )
    }


def _unfit_for(
    profiles: Mapping[tuple[str, str], OperatingSystemProfile], api: Api, settings: Settings
) -> Iterator[tuple[ObjectRef, Problem]]:
    """Profiles that must not take the place of what the cluster has."""
    for key, found in _live(profiles, api):
        profile = profiles[key]
        if not profile.built_in:
            problem = _unbumped(profile, found.get("spec") or {}, api.display)
        elif is_ours(found) or settings.replace_default_osps:
            problem = None  # what was released under its version is what it says
        else:
            problem = _foreign(profile, api.display)
        if problem is not None:
            yield ObjectRef(PROFILE, *key), problem


def _unreadable_ones(
    profiles: Mapping[tuple[str, str], OperatingSystemProfile], osm: OsmActivity
) -> Iterator[tuple[ObjectRef, Problem]]:
    """Profiles in Jinja2, while a controller runs that would print ``{% if %}`` into boot scripts (design.md, "Profiles
    in clusters")."""
    if not osm.warnings:
        return
    telling = osm.warnings[0]
    if telling in osm.unknown:
        what, fix = (
            f"it is written in Jinja2, which Operating System Manager cannot read, and {telling.what}",
            telling.fix,
        )
    else:
        what = f"it is written in Jinja2, which Operating System Manager ({telling.about}) would take for text"
        fix = "Switch Operating System Manager off first, as docs/how-to/adoption.md says"
    for profile in profiles.values():
        if profile.jinja:
            ref = profile.manifest.ref
            yield (
                ref,
                Problem(
                    Code.JINJA_PROFILE_BESIDE_OSM,
                    what,
                    where=profile.manifest.line_of("metadata.annotations"),
                    about=str(ref),
                    fix=fix,
                ),
            )


def _live(profiles: Collection[tuple[str, str]], api: Api) -> Iterator[tuple[tuple[str, str], Mapping[str, Json]]]:
    """The live objects of those that are there."""
    from osm_gitops.kube.kinds import PROFILE as KIND  # noqa: PLC0415 - a run from trees to git asks no server

    for namespace in sorted({namespace for namespace, _ in profiles}):
        for body in api.list(KIND, dict, namespace):
            key = (namespace, body["metadata"]["name"])
            if key in profiles:
                yield key, body


def _foreign(profile: OperatingSystemProfile, host: str) -> Problem:
    return Problem(
        Code.PROFILE_NAME_TAKEN,
        f"{host} has a profile of this name that osm-gitops did not write, and it counts as yours",
        where=f"built-in profiles {profile.built_in}",
        about=str(profile.manifest.ref),
        fix="Read profiles from the cluster (--profiles-from cluster) to go on with it, or have the built-in one "
        "take its place (--replace-default-osps)",
    )


def _unbumped(profile: OperatingSystemProfile, found: Mapping[str, Json], host: str) -> Problem | None:
    """Content that differs from the cluster's under the same version.

    OSM and every reader take equal versions for equal content (osm-behaviour.md, "Webhooks"), so such a change would
    reach nobody who holds the old one.
    """
    ours = whole_profile(profile)["spec"]
    if found.get("version") != profile.version:
        return None
    before, after = _digest(found), _digest(ours)
    if before == after:
        return None
    return Problem(
        Code.PROFILE_VERSION_UNCHANGED,
        f"its content changed and its version did not: {profile.version} is sha256:{before} in {host} "
        f"and sha256:{after} here",
        where=profile.manifest.line_of("spec.version"),
        about=str(profile.manifest.ref),
        field="spec.version",
        fix="Give it another version; pools get the change with it",
    )


def _digest(spec: Mapping[str, Json]) -> str:
    text = json.dumps(_plain(spec), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGEST_SHOWN]


def _plain(value: Json) -> Json:
    """Without nulls and empty containers, which Kubernetes' own comparison takes for absent (osm-behaviour.md,
    "Webhooks")."""
    if isinstance(value, Mapping):
        found = {key: _plain(inner) for key, inner in value.items()}
        return {key: inner for key, inner in found.items() if inner is not None and inner not in ({}, [])}
    return [_plain(inner) for inner in value] if isinstance(value, list | tuple) else value
