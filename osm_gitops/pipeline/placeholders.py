"""What a tree of manifests lacks of a cluster's facts, so that pools can be rendered without any cluster."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from osm_gitops.errors import InputError
from osm_gitops.model.inputs import ConfigMapFact, Facts, SecretFact
from osm_gitops.model.objects import Json, Origin
from osm_gitops.model.settings import Settings
from osm_gitops.pipeline.synthetic import PEM
from osm_gitops.render.resolve.bootstrap_token import GETTER_SECRET
from osm_gitops.render.resolve.cluster_info import CLUSTER_INFO, UnreadableClusterInfo, cluster_info
from osm_gitops.render.resolve.containerd import DOCKER_CONFIG_KEY, DOCKER_CONFIG_TYPE

_NOWHERE: Final = Origin("a stand-in")
_TOKEN: Final = "a-stand-in-token"  # noqa: S105 - of nothing
_SERVER: Final = "https://api.cluster.example.com:6443"
_REGISTRY: Final = "registry.example.com"


def with_stand_ins(facts: Facts, settings: Settings) -> tuple[Facts, tuple[str, ...]]:
    """The facts with stand-ins for what every pool needs, and the names of those that were put in."""
    secrets = {key: made for key, made in _secrets(settings) if key not in facts.secrets}
    known = replace(facts, incomplete=False)
    maps = {} if _knows_its_server(known) else {CLUSTER_INFO: _cluster_info()}
    whole = replace(known, secrets={**facts.secrets, **secrets}, config_maps={**facts.config_maps, **maps})
    return whole, (
        *(f"ConfigMap {'/'.join(key)}" for key in maps),
        *(f"Secret {'/'.join(key)}" for key in secrets),
    )


def _knows_its_server(facts: Facts) -> bool:
    try:
        cluster_info(facts)
    except (UnreadableClusterInfo, InputError):
        return bool(facts.endpoint_slices) and CLUSTER_INFO not in facts.config_maps
    return True


def _secrets(settings: Settings) -> Iterator[tuple[tuple[str, str], SecretFact]]:
    yield GETTER_SECRET, _secret(GETTER_SECRET, {"token": _TOKEN})
    wanted = settings.registry_credentials_secret
    if wanted is not None:
        auths = {_REGISTRY: {"username": "someone", "password": "a-stand-in-password"}}
        config = json.dumps({"auths": auths})
        yield wanted, _secret(wanted, {DOCKER_CONFIG_KEY: config}, DOCKER_CONFIG_TYPE)


def _secret(key: tuple[str, str], data: dict[str, str], kind: str = "Opaque") -> SecretFact:
    return SecretFact(*key, kind, {name: text.encode() for name, text in data.items()}, {}, _NOWHERE)


def _cluster_info() -> ConfigMapFact:
    authority = base64.b64encode(PEM.encode()).decode()
    config: Json = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "", "cluster": {"server": _SERVER, "certificate-authority-data": authority}}],
    }
    return ConfigMapFact(*CLUSTER_INFO, {"kubeconfig": json.dumps(config)}, _NOWHERE)
