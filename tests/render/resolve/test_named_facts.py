"""Which objects rendering looks up by name: enough for every pool, and none that it does not look at."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from osm_gitops.model.settings import Settings
from osm_gitops.render.resolve.named_facts import NamedFacts, by_namespace, named_facts
from tests.cli.scenes import pool
from tests.render.middle import inputs_of

_ALWAYS = NamedFacts(
    secrets=frozenset({("cloud-init-settings", "cloud-init-getter-token")}),
    config_maps=frozenset({("kube-public", "cluster-info")}),
)


def _reference(namespace: str = "clouds", name: str = "vsphere", key: str = "value") -> dict[str, str]:
    return {"namespace": namespace, "name": name, "key": key}


def _named(folder: Path, settings: Settings | None = None, /, **provider: Any) -> NamedFacts:
    body = pool(kubelet="1.28.0", **{"cloudProvider": "vsphere", **provider})
    return named_facts(inputs_of(folder, body).machines, settings or Settings())


def test_settings_name_the_registry_credentials_and_the_service_account() -> None:
    settings = Settings(
        registry_credentials_secret=("pulls", "registry"), bootstrap_token_service_account=("kube-system", "joiner")
    )
    named = named_facts((), settings)
    assert named.secrets == _ALWAYS.secrets | {("pulls", "registry")}
    assert named.service_account == ("kube-system", "joiner")
    assert named_facts((), Settings()) == _ALWAYS


def test_a_provider_spec_names_what_its_cloud_config_is_made_of(tmp_path: Path) -> None:
    spec = {
        "username": {"secretKeyRef": _reference()},
        "password": {"secretKeyRef": _reference(), "configMapKeyRef": _reference(name="passed-over")},
        "datacenter": {"configMapKeyRef": _reference(name="places")},
        "folder": {"secretKeyRef": _reference(key=""), "value": "x"},
        "cluster": "plain",
        "unknown": {"secretKeyRef": _reference(name="not-read")},
    }
    named = _named(tmp_path, cloudProviderSpec=spec)
    assert named.secrets == _ALWAYS.secrets | {("clouds", "vsphere")}
    assert named.config_maps == _ALWAYS.config_maps | {("clouds", "places")}


def test_an_object_inside_of_a_provider_spec_names_too(tmp_path: Path) -> None:
    spec = {"auth": {"kubeconfig": {"secretKeyRef": _reference("infra", "kubevirt")}}}
    named = _named(tmp_path, cloudProvider="kubevirt", cloudProviderSpec=spec)
    assert named.secrets == _ALWAYS.secrets | {("infra", "kubevirt")}


@pytest.mark.parametrize(
    "more",
    [
        {"kubelet": "1.29.0"},
        {"kubelet": "none"},
        {"cloudProvider": "hetzner"},
        {"cloudProvider": "unheard-of"},
        {"overwriteCloudConfig": "mine"},
        {"cloudProviderSpec": None},
        {"cloudProviderSpec": "text"},
    ],
)
def test_a_pool_without_a_cloud_config_of_its_own_names_nothing(tmp_path: Path, more: dict[str, Any]) -> None:
    provider = {"cloudProvider": "vsphere", "cloudProviderSpec": {"username": {"secretKeyRef": _reference()}}}
    body = pool(**{"kubelet": "1.28.0", **provider, **more})
    assert named_facts(inputs_of(tmp_path, body).machines, Settings()) == _ALWAYS


def test_external_cloud_providers_and_pools_on_their_way_out_name_nothing(tmp_path: Path) -> None:
    spec = {"username": {"secretKeyRef": _reference()}}
    assert _named(tmp_path, Settings(external_cloud_provider=True), cloudProviderSpec=spec) == _ALWAYS
    body = pool(kubelet="1.28.0", cloudProvider="vsphere", cloudProviderSpec=spec)
    body["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert named_facts(inputs_of(tmp_path, body).machines, Settings()) == _ALWAYS


@pytest.mark.parametrize(
    ("namespace", "name"),
    [("../x", "a"), ("a.b", "a"), ("A", "a"), ("a", "x/y"), ("a", "A"), ("a", "x?"), ("a" * 64, "a")],
)
def test_what_no_api_server_can_have_is_not_asked_for(tmp_path: Path, namespace: str, name: str) -> None:
    spec = {"username": {"secretKeyRef": _reference(namespace, name)}}
    assert _named(tmp_path, cloudProviderSpec=spec) == _ALWAYS


def test_names_are_told_by_namespace_and_in_order() -> None:
    assert by_namespace([("b", "x"), ("a", "z"), ("a", "y")]) == {"a": ["y", "z"], "b": ["x"]}
