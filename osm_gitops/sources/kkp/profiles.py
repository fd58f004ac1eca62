"""CustomOperatingSystemProfiles of a seed, and which of them KKP would bring to a user cluster."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from osm_gitops.kube.kinds import CUSTOM_PROFILE
from osm_gitops.model.inputs import Inputs
from osm_gitops.model.objects import Json, Manifest, ObjectRef, Origin
from osm_gitops.plan.compare import is_ours
from osm_gitops.sources.inputs_builder import InputsBuilder
from osm_gitops.sources.manifests import KKP_NAMESPACE, PROFILE

if TYPE_CHECKING:
    from osm_gitops.kube.api import Api


def read_custom_profiles(seed: Api, namespace: str) -> Inputs:
    """The CustomOperatingSystemProfiles of a seed as the profiles of ``namespace`` that KKP makes of them: with their
    spec, and without their labels and annotations. Those that are being deleted are left out. Raises ClusterError."""

    def keep(body: Mapping[str, Json]) -> Manifest | None:
        if body["metadata"].get("deletionTimestamp"):
            return None
        name = body["metadata"]["name"]
        made = {
            "apiVersion": CUSTOM_PROFILE.api_version,
            "kind": PROFILE,
            "metadata": {"name": name, "namespace": namespace},
            "spec": body["spec"],
        }
        return Manifest(
            ObjectRef(PROFILE, namespace, name), made, Origin(f"{CUSTOM_PROFILE.name} {name} of {seed.display}"), {}
        )

    builder = InputsBuilder()
    for manifest in seed.list(CUSTOM_PROFILE, keep, KKP_NAMESPACE):
        builder.add(manifest)
    return builder.inputs({})


def with_custom_profiles(found: Inputs, custom: Inputs) -> Inputs:
    """The profiles of a user cluster as they are once KKP has brought its own there.

    As in KKP, a profile is replaced if its version is another one, newer or older; with the same version it stays, even
    if its content differs. One that osm-gitops wrote gives way, so that the two do not replace each other's for ever.
    """
    profiles, broken = dict(found.profiles), dict(found.broken)
    for key, profile in custom.profiles.items():
        there = profiles.get(key)
        if there is None or there.version != profile.version or is_ours(there.manifest.body):
            profiles[key] = profile
            broken.pop(profile.manifest.ref, None)
    broken |= {ref: why for ref, why in custom.broken.items() if (ref.namespace, ref.name) not in profiles}
    return replace(found, profiles=dict(sorted(profiles.items())), broken=broken)
