"""The kubeconfigs with which kubelets join, as Secrets of a worker cluster, told from metadata (osm-behaviour.md,
"Kubelet kubeconfig Secret")."""

from __future__ import annotations

import hashlib
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from osm_gitops.kube.api import Api
from osm_gitops.kube.kinds import SECRET
from osm_gitops.model.desired import MANAGED_BY, MANAGED_BY_LABEL
from osm_gitops.model.machine import KUBECONFIG_SUFFIX, kubelet_kubeconfig_name
from osm_gitops.model.objects import CLOUD_INIT_NAMESPACE, Json
from osm_gitops.plan.tokens import seconds_of, timestamp
from osm_gitops.targets.cluster.account_token import RequestedToken
from osm_gitops.targets.cluster.applied import DIGEST, applied_body, is_as_applied, others_own_content, without_others

COMPONENT_LABEL: Final = "app.kubernetes.io/component"
COMPONENT: Final = "kubelet-bootstrap"
TOKEN_ISSUED: Final = "osm-gitops.io/token-issued"  # noqa: S105 - annotations that tell when
TOKEN_EXPIRES: Final = "osm-gitops.io/token-expires"  # noqa: S105 - a requested token begins and ends
NO_KUBECONFIG: Final = f"{COMPONENT_LABEL}!={COMPONENT}"
"""Selects all other Secrets: there is a kubeconfig for each pool, and nobody has to read them twice."""

_SELECTOR: Final = f"{MANAGED_BY_LABEL}={MANAGED_BY},{COMPONENT_LABEL}={COMPONENT}"


@dataclass(frozen=True, slots=True)
class LiveKubeconfig:
    """A kubeconfig Secret as its metadata tell it.

    ``told`` is the digest of the text that was applied, ``sound`` whether that is what it still holds for certain.
    ``issued`` and ``expires`` are those of a requested token. ``ours``: it bears our labels.
    """

    uid: str
    told: str
    sound: bool
    ours: bool
    issued: int | None = None
    expires: int | None = None


def digest_of(text: str) -> bytes:
    """What an applied kubeconfig is told by."""
    return hashlib.sha256(text.encode()).digest()


def read_kubeconfigs(api: Api, keys: Iterable[str], digest: Callable[[str], bytes | None]) -> dict[str, LiveKubeconfig]:
    """Those of ours by their keys, and others for ``keys`` that have none of ours.

    ``digest`` tells what the kubeconfig of a key should be, ``None`` where that is not known. Lists only.
    """

    def keep(body: Mapping[str, Json]) -> tuple[str, LiveKubeconfig] | None:
        name = body["metadata"]["name"]
        if not name.endswith(KUBECONFIG_SUFFIX):
            return None
        key = name.removesuffix(KUBECONFIG_SUFFIX)
        return key, _live(body["metadata"], digest(key))

    found = dict(api.list(SECRET, keep, CLOUD_INIT_NAMESPACE, labels=_SELECTOR, metadata_only=True))
    lacking = {key for key in keys if key not in found}
    if lacking:  # those that OSM made have no labels
        others = api.list(SECRET, keep, CLOUD_INIT_NAMESPACE, metadata_only=True)
        found |= {key: live for key, live in others if key in lacking}
    return found


def write_kubeconfig(api: Api, key: str, text: str, digest: bytes, requested: RequestedToken | None = None) -> None:
    """Create or update a pool's kubeconfig Secret. Raises ClusterError.

    Nobody else knows the token, so whatever others wrote there is taken over.
    """
    body = applied_body(_body(key, text, dict(_times(requested))), digest)
    metadata = api.apply(body, force=True, metadata_only=True)["metadata"]
    if others_own_content(metadata):
        # OSM wrote the same text, and would count as an owner of it for ever: then metadata alone could not tell.
        patch = {"metadata": without_others(metadata)}
        api.merge(SECRET, CLOUD_INIT_NAMESPACE, metadata["name"], patch)


def delete_kubeconfig(api: Api, key: str, uid: str) -> None:
    """Remove the kubeconfig Secret of a pool that is gone. Raises ClusterError."""
    api.delete(SECRET, CLOUD_INIT_NAMESPACE, kubelet_kubeconfig_name(key), uid=uid)


def _live(metadata: Mapping[str, Json], digest: bytes | None) -> LiveKubeconfig:
    labels, annotations = metadata.get("labels") or {}, metadata.get("annotations") or {}
    return LiveKubeconfig(
        uid=metadata["uid"],
        told=annotations.get(DIGEST, "").partition("-")[0],
        sound=digest is not None and is_as_applied(metadata, digest),
        ours=labels.get(MANAGED_BY_LABEL) == MANAGED_BY and labels.get(COMPONENT_LABEL) == COMPONENT,
        issued=seconds_of(annotations.get(TOKEN_ISSUED, "")),
        expires=seconds_of(annotations.get(TOKEN_EXPIRES, "")),
    )


def _times(requested: RequestedToken | None) -> Iterator[tuple[str, str]]:
    if requested is not None:
        yield TOKEN_ISSUED, timestamp(requested.issued)
        yield TOKEN_EXPIRES, timestamp(requested.expires)


def _body(key: str, text: str, annotations: Mapping[str, str]) -> dict[str, Json]:
    return {
        "apiVersion": SECRET.api_version,
        "kind": SECRET.name,
        "metadata": {
            "name": kubelet_kubeconfig_name(key),
            "namespace": CLOUD_INIT_NAMESPACE,
            "labels": {MANAGED_BY_LABEL: MANAGED_BY, COMPONENT_LABEL: COMPONENT},
            "annotations": dict(annotations),
        },
        "data": {"kubeconfig": b64encode(text.encode()).decode()},
    }
