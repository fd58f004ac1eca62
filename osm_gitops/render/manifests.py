"""Kubernetes manifests of everything that is rendered (osm-behaviour.md, "OperatingSystemConfig" and "Objects";
design.md, "Desired state")."""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from osm_gitops.gocompat.basetext import encode_base64
from osm_gitops.model.desired import MANAGED_BY, MANAGED_BY_LABEL, DesiredObject, Side
from osm_gitops.model.objects import (
    CLOUD_INIT_NAMESPACE,
    OSM_API_VERSION,
    SERVER_METADATA,
    Json,
    ObjectRef,
    authored_annotations,
)
from osm_gitops.model.profile import (
    DEFAULT_PERMISSIONS,
    DEFAULT_UTILITY,
    ConfigHalf,
    File,
    Modules,
    OperatingSystemConfig,
    OperatingSystemProfile,
    Unit,
)
from osm_gitops.render.resolve.pools import ResolvedPool
from osm_gitops.yaml.emit import Kept, dump

REVISION = "k8c.io/machine-deployment-revision"
ANNOTATIONS_HASH = "k8c.io/mdannotations-hash"
PROFILE_VERSION = "k8c.io/osp-version"
TEMPLATE_DIGEST = "osm-gitops.io/template-digest"

# What keeps Flux and Argo CD from breaking the objects (design.md, "Desired state"): boot scripts hold ``${…}``,
# and machine-controller starts as soon as the bootstrap Secret exists, so it comes last.
_NO_SUBSTITUTION = {"kustomize.toolkit.fluxcd.io/substitute": "disabled"}
_FLUX_RECREATE = {"kustomize.toolkit.fluxcd.io/force": "enabled"}
_SYNC_WAVE = "argocd.argoproj.io/sync-wave"
DELIVERY_ANNOTATIONS = frozenset({*_NO_SUBSTITUTION, *_FLUX_RECREATE, _SYNC_WAVE})
"""Keys of the annotations for Flux and Argo CD. They belong into git alone; live objects that earlier versions wrote
lose them when something else of them changes."""


def _delivery(wave: str, *, for_git: bool, recreated: bool = False) -> dict[str, str]:
    """The annotations for Flux and Argo CD; empty for objects that are applied directly."""
    if not for_git:
        return {}
    return _NO_SUBSTITUTION | {_SYNC_WAVE: wave} | (_FLUX_RECREATE if recreated else {})


@dataclass(frozen=True, slots=True, eq=False)
class _Shared:
    """A profile that several clusters have. It is compared by identity, as it is large."""

    profile: OperatingSystemProfile

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Shared) and self.profile is other.profile

    def __hash__(self) -> int:
        return id(self.profile)


def profile_object(profile: OperatingSystemProfile, *, for_git: bool = True) -> DesiredObject:
    """The profile as read, without server-side additions, with our label."""
    return _profile_object(_Shared(profile), for_git)


@lru_cache(maxsize=16)
def _profile_object(shared: _Shared, for_git: bool) -> DesiredObject:
    profile = shared.profile
    body = _profile(profile)
    metadata = body["metadata"]
    metadata["annotations"] |= _delivery("0", for_git=for_git)
    metadata["labels"] = (metadata.get("labels") or {}) | _labels()
    ref = ObjectRef("OperatingSystemProfile", profile.namespace, profile.name)
    digest = hashlib.sha256(dump(body).encode()).digest()
    return DesiredObject(ref, Side.MANAGEMENT, body, digest=digest, sealed=profile.manifest.sealed)


def whole_profile(profile: OperatingSystemProfile) -> dict[str, Json]:
    """The profile as an API server would show it, with the CRD's defaults (osm-behaviour.md, "Kinds and shared types"
    and "OperatingSystemProfile")."""
    body = copy.deepcopy(_profile(profile))
    if not body["metadata"]["annotations"]:
        del body["metadata"]["annotations"]
    body["spec"] = with_crd_defaults(body["spec"])
    return body


def with_crd_defaults(spec: Mapping[str, Json]) -> dict[str, Json]:
    """A profile's spec as the API server stores it (osm-behaviour.md, "Kinds and shared types" and
    "OperatingSystemProfile"); nulls count as absent."""
    found: dict[str, Json] = copy.deepcopy(dict(spec))
    if found.get("provisioningUtility") is None:
        found["provisioningUtility"] = DEFAULT_UTILITY
    for key in ("bootstrapConfig", "provisioningConfig"):
        half = found.get(key) or {}
        for part in (half, *(half.get("supportedContainerRuntimes") or ())):
            for file in part.get("files") or ():
                if file.get("permissions") is None:
                    file["permissions"] = DEFAULT_PERMISSIONS
    return found


def _profile(profile: OperatingSystemProfile) -> dict[str, Json]:
    """The profile's manifest without server-side additions."""
    body = profile.manifest.body
    metadata = {key: value for key, value in body.get("metadata", {}).items() if key not in SERVER_METADATA}
    annotations = authored_annotations(metadata.get("annotations")) or {}
    metadata |= {"annotations": annotations, "name": profile.name, "namespace": profile.namespace}
    return {
        "apiVersion": OSM_API_VERSION,
        "kind": "OperatingSystemProfile",
        "metadata": metadata,
        "spec": body.get("spec", {}),
    }


def config_object(config: OperatingSystemConfig, pool: ResolvedPool, *, for_git: bool = True) -> DesiredObject:
    """The OSC of a pool, for the management cluster."""
    annotations = osm_annotations(pool) | _delivery("1", for_git=for_git)
    provider: dict[str, Json] = {"name": config.provider}
    if config.provider_spec is not None:
        provider["spec"] = config.provider_spec
    body = {
        "apiVersion": OSM_API_VERSION,
        "kind": "OperatingSystemConfig",
        "metadata": _metadata(config.name, config.namespace, annotations),
        "spec": {
            "osName": config.os_name,
            "osVersion": config.os_version,
            "cloudProvider": provider,
            "bootstrapConfig": _half(config.bootstrap),
            "provisioningConfig": _half(config.provisioning),
            "provisioningUtility": config.provisioning_utility,
        },
    }
    return DesiredObject(
        ObjectRef("OperatingSystemConfig", config.namespace, config.name), Side.MANAGEMENT, body, pool.machine.ref
    )


def cloud_config_secret(
    name: str, user_data: str, wave: str, pool: ResolvedPool, *, immutable: bool, for_git: bool = True
) -> DesiredObject:
    """A cloud-config Secret of a pool (osm-behaviour.md, "Cloud-config Secrets"); ``wave`` orders it for Argo CD."""
    delivery = _delivery(wave, for_git=for_git, recreated=immutable)
    annotations = osm_annotations(pool) | delivery | {TEMPLATE_DIGEST: pool.template_digest}
    body = _secret(name, {"cloud-config": user_data}, annotations)
    if immutable:
        body["immutable"] = True
    return DesiredObject(ObjectRef("Secret", CLOUD_INIT_NAMESPACE, name), Side.WORKER, body, pool.machine.ref)


def edge_script_secret(script: str, pool: ResolvedPool, *, for_git: bool = True) -> DesiredObject:
    """The script that edge machines fetch their user-data with (osm-behaviour.md, "Edge script")."""
    name = pool.machine.edge_script_name
    body = _secret(name, {"fetch-bootstrap-script": script}, _delivery("0", for_git=for_git))
    return DesiredObject(ObjectRef("Secret", CLOUD_INIT_NAMESPACE, name), Side.WORKER, body, pool.machine.ref)


def osm_annotations(pool: ResolvedPool) -> dict[str, str]:
    """OSM's annotations (osm-behaviour.md, "Annotations that are written"); the revision only where the source knows it
    (design.md, "Cluster facts")."""
    annotations = {ANNOTATIONS_HASH: pool.annotations_hash, PROFILE_VERSION: pool.profile.version}
    if pool.revision is not None:
        annotations[REVISION] = pool.revision
    return annotations


def _labels() -> dict[str, str]:
    return {MANAGED_BY_LABEL: MANAGED_BY}


def _metadata(name: str, namespace: str, annotations: Mapping[str, str]) -> dict[str, Json]:
    return {"name": name, "namespace": namespace, "labels": _labels(), "annotations": annotations}


def _secret(name: str, texts: Mapping[str, str], annotations: Mapping[str, str]) -> dict[str, Json]:
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "Opaque",
        "metadata": _metadata(name, CLOUD_INIT_NAMESPACE, annotations),
        "data": {key: encode_base64(text.encode()) for key, text in texts.items()},
    }


def _half(half: ConfigHalf) -> dict[str, Json]:
    body: dict[str, Json] = {}
    if half.units:
        body["units"] = [_unit(unit) for unit in half.units]
    if half.files:
        body["files"] = [_file(file) for file in half.files]
    if half.ssh_keys:
        body["userSSHKeys"] = list(half.ssh_keys)
    if half.modules is not None:
        body["modules"] = _modules(half.modules)
    return body


# Most files are the same for many machines, so their YAML is made once.
@lru_cache(maxsize=512)
def _file(file: File) -> Kept:
    inline = {"data": file.content}
    if file.encoding:
        inline["encoding"] = file.encoding
    return Kept({"path": file.path, "permissions": file.permissions, "content": {"inline": inline}})


def _unit(unit: Unit) -> dict[str, Json]:
    given = {"name": unit.name, "enable": unit.enable, "mask": unit.mask, "content": unit.content}
    body: dict[str, Json] = {key: value for key, value in given.items() if value is not None}
    if unit.drop_ins:
        body["dropIns"] = [{"name": drop_in.name, "content": drop_in.content} for drop_in in unit.drop_ins]
    return body


def _modules(modules: Modules) -> dict[str, Json]:
    body: dict[str, Json] = {
        "bootcmd": list(modules.bootcmd),
        "rh_subscription": dict(modules.rh_subscription),
        "runcmd": list(modules.runcmd),
        "yum_repos": {name: dict(repo) for name, repo in modules.yum_repos.items()},
        "yum_repo_dir": modules.yum_repo_dir,
    }
    return {key: value for key, value in body.items() if value}


def used_profiles(profiles: Iterable[OperatingSystemProfile], *, for_git: bool = True) -> tuple[DesiredObject, ...]:
    """The profiles of rendered pools, in the order of their names."""
    ordered = sorted(profiles, key=lambda each: (each.namespace, each.name))
    return tuple(profile_object(each, for_git=for_git) for each in ordered)
