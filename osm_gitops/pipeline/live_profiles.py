"""Profiles that may be written to a cluster (design.md, "Profiles in clusters")."""

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
    """The profiles that a run may write to a cluster. If they are read ``from_cluster``, only built-in ones: others
    belong to their creators, and a patched one would replace its base."""
    return {
        key: each
        for key, each in inputs.profiles.items()
        if not from_cluster or (each.built_in and each.manifest.ref not in inputs.patched)
    }


def unwritable_profiles(
    inputs: ClusterInputs, api: Api, settings: Settings, osm: OsmActivity, *, from_cluster: bool
) -> Mapping[ObjectRef, tuple[Problem, ...]]:
    """Profiles that must not be written to this cluster, and why."""
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
    """Profiles that must not replace those of the cluster."""
    for key, found in _live(profiles, api):
        profile = profiles[key]
        if not profile.built_in:
            problem = unbumped(profile, found.get("spec") or {}, api.display)
        elif is_ours(found) or settings.replace_default_osps:
            problem = None  # a released version never changes
        else:
            problem = _foreign(profile, api.display)
        if problem is not None:
            yield ObjectRef(PROFILE, *key), problem


def _unreadable_ones(
    profiles: Mapping[tuple[str, str], OperatingSystemProfile], osm: OsmActivity
) -> Iterator[tuple[ObjectRef, Problem]]:
    """Profiles in Jinja2, while OSM's controller runs, which would print ``{% if %}`` into boot scripts (design.md,
    "Profiles in clusters")."""
    if not osm.warnings:
        return
    telling = osm.warnings[0]
    if telling in osm.unknown:
        what, fix = (
            f"it is written in Jinja2, which Operating System Manager cannot read, and {telling.what}",
            telling.fix,
        )
    else:
        what = f"it is written in Jinja2, which Operating System Manager ({telling.about}) would print as text"
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
    """The live objects of existing profiles."""
    from osm_gitops.kube.kinds import PROFILE as KIND  # noqa: PLC0415 - a run from trees to git asks no server

    for namespace in sorted({namespace for namespace, _ in profiles}):
        for body in api.list(KIND, dict, namespace):
            key = (namespace, body["metadata"]["name"])
            if key in profiles:
                yield key, body


def _foreign(profile: OperatingSystemProfile, host: str) -> Problem:
    return Problem(
        Code.PROFILE_NAME_TAKEN,
        f"{host} has a profile of this name that osm-gitops did not write, so it belongs to you",
        where=f"built-in profiles {profile.built_in}",
        about=str(profile.manifest.ref),
        fix="Read profiles from the cluster (--profiles-from cluster) to use it, or replace it by the built-in one "
        "(--replace-default-osps)",
    )


def unbumped(profile: OperatingSystemProfile, found: Mapping[str, Json], host: str) -> Problem | None:
    """Content that differs from the cluster's under the same version.

    For OSM and other readers, equal versions mean equal content (osm-behaviour.md, "Webhooks"), so they would not
    notice the change.
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
    """A value without nulls and empty containers, which Kubernetes' comparison treats as absent (osm-behaviour.md,
    "Webhooks")."""
    if isinstance(value, Mapping):
        found = {key: _plain(inner) for key, inner in value.items()}
        return {key: inner for key, inner in found.items() if inner is not None and inner not in ({}, [])}
    return [_plain(inner) for inner in value] if isinstance(value, list | tuple) else value
