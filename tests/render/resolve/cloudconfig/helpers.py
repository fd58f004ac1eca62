"""What the tests of all providers share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from osm_gitops.errors import InputError, Problem
from osm_gitops.model.inputs import ConfigMapFact, Facts, SecretFact
from osm_gitops.model.machine import ProviderConfig
from osm_gitops.model.objects import Origin
from osm_gitops.model.settings import Settings
from osm_gitops.render.resolve.cloudconfig import CloudConfig, cloud_config

SPEC_FIELD = "spec.template.spec.providerSpec.value.cloudProviderSpec"
HERE = Origin("facts.yaml", 1)


def facts(
    secrets: Mapping[str, bytes] | None = None,
    config_map: Mapping[str, str] | None = None,
    environment: Mapping[str, str] | None = None,
) -> Facts:
    """Facts with Secret ``ns/s`` and ConfigMap ``ns/c``, where they are given."""
    return Facts(
        secrets={} if secrets is None else {("ns", "s"): SecretFact("ns", "s", "Opaque", secrets, {}, HERE)},
        config_maps={} if config_map is None else {("ns", "c"): ConfigMapFact("ns", "c", config_map, HERE)},
        environment=environment or {},
    )


def in_secret(key: str) -> dict[str, Any]:
    return {"secretKeyRef": {"namespace": "ns", "name": "s", "key": key}}


def in_config_map(key: str) -> dict[str, Any]:
    return {"configMapKeyRef": {"namespace": "ns", "name": "c", "key": key}}


def made(provider: str, spec: Any, known: Facts | None = None, kubelet: str = "1.28.9") -> CloudConfig:
    return cloud_config(ProviderConfig(provider=provider, provider_spec=spec), kubelet, Settings(), known or Facts())


def text(provider: str, spec: Any, known: Facts | None = None, kubelet: str = "1.28.9") -> str:
    return made(provider, spec, known, kubelet).text


def problems(provider: str, spec: Any, known: Facts | None = None) -> list[Problem]:
    """Every problem, with its field below the cloud provider spec."""
    with pytest.raises(InputError) as error:
        made(provider, spec, known)
    return [replace(problem, field=problem.field.removeprefix(SPEC_FIELD)) for problem in error.value.problems]
