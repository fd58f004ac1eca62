"""Profiles of a tree on their way into a cluster: which of them may be written (design §6)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import replace

from osm_gitops.errors import Problem
from osm_gitops.kubedoor.api import Api
from osm_gitops.kubedoor.kinds import PROFILE
from osm_gitops.model.inputs import Inputs
from osm_gitops.model.objects import Json, ObjectRef
from osm_gitops.model.profile import OperatingSystemProfile
from osm_gitops.render.manifests import whole_profile

_DIGEST_SHOWN = 12


def refuse_unbumped(inputs: Inputs, api: Api) -> Inputs:
    """``inputs`` in which a profile is broken whose content differs from the cluster's under the same version.

    Operating System Manager and every reader take equal versions for equal content (contract §3), so such a change
    would reach nobody who holds the old one. Pools that use it fail, and the profile in the cluster stays as it is.
    """
    live = dict(_specs(inputs, api))
    broken = dict(inputs.broken)
    for key, profile in inputs.profiles.items():
        ref = ObjectRef(PROFILE.name, *key)
        found = live.get(key)
        problem = _unbumped(profile, found, api.display) if found is not None else None
        if problem is not None:
            broken[ref] = (problem,)
    left = {key: each for key, each in inputs.profiles.items() if ObjectRef(PROFILE.name, *key) not in broken}
    return replace(inputs, broken=broken, profiles=left)


def profile_namespaces(inputs: Inputs) -> frozenset[str]:
    """Where the profiles are that a run may write."""
    return frozenset(namespace for namespace, _ in inputs.profiles)


def _specs(inputs: Inputs, api: Api) -> Iterator[tuple[tuple[str, str], Mapping[str, Json]]]:
    """The live specs of the profiles that ``inputs`` has."""
    for namespace in sorted(profile_namespaces(inputs)):
        for body in api.list(PROFILE, dict, namespace):
            key = (namespace, body["metadata"]["name"])
            if key in inputs.profiles:
                yield key, body.get("spec") or {}


def _unbumped(profile: OperatingSystemProfile, found: Mapping[str, Json], host: str) -> Problem | None:
    ours = whole_profile(profile)["spec"]
    if found.get("version") != profile.version:
        return None
    before, after = _digest(found), _digest(ours)
    if before == after:
        return None
    return Problem(
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
    """Without nulls and empty containers, which Kubernetes' own comparison takes for absent (contract §3)."""
    if isinstance(value, Mapping):
        found = {key: _plain(inner) for key, inner in value.items()}
        return {key: inner for key, inner in found.items() if inner is not None and inner not in ({}, [])}
    return [_plain(inner) for inner in value] if isinstance(value, list | tuple) else value
