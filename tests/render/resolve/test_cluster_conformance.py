"""What follows from a cluster alone, compared with all conformance cases."""

from __future__ import annotations

from typing import Any

import pytest

from osm_gitops.model.settings import Settings
from osm_gitops.render.resolve.bootstrap_token import getter_token, token_index
from osm_gitops.render.resolve.cluster_info import base_kubeconfig, certificate_authority
from osm_gitops.render.resolve.containerd import config_toml, hosts_files, registry_credentials
from tests.conformance_data import DATA, accepted, cases, load_case
from tests.render.resolve.facts import facts_of_case, machine

HOSTS = "/etc/containerd/certs.d/"


def _mirrors(flags: dict[str, Any]) -> dict[str, tuple[str, ...]]:
    """Both mirror flags as the settings hold them; the cases use only a few spellings."""
    pairs = [item.split("=", 1) for item in flags.get("node-containerd-registry-mirrors", [])]
    for item in (item.strip() for item in flags.get("node-registry-mirrors", "").split(",")):
        registry, _, endpoint = item.rpartition("=")
        if endpoint:
            pairs.append([registry or "docker.io", endpoint if endpoint.startswith("http") else f"https://{endpoint}"])
    mirrors: dict[str, tuple[str, ...]] = {}
    for registry, endpoint in pairs:
        mirrors[registry] = (*mirrors.get(registry, ()), endpoint)
    return mirrors


def _settings(flags: dict[str, Any]) -> Settings:
    bundle = flags.get("kubernetes-ca-bundle")
    credentials = flags.get("node-registry-credentials-secret")
    insecure = [item.strip() for item in flags.get("node-insecure-registries", "").split(",")]
    return Settings(
        pause_image=flags.get("pause-image", ""),
        insecure_registries=tuple(item for item in insecure if item),
        registry_mirrors=_mirrors(flags),
        registry_credentials_secret=tuple(credentials.split("/")) if credentials else None,
        device_ownership_from_security_context=flags.get("device-ownership-from-security-context") == "true",
        kubernetes_ca_bundle=(DATA / bundle).read_text() if bundle else "",
        override_bootstrap_kubelet_apiserver=flags.get("override-bootstrap-kubelet-apiserver", ""),
    )


def _provisioning_files(case: dict[str, Any]) -> dict[str, tuple[str, int]]:
    osc = next(item for item in case["expected"]["objects"] if item["kind"] == "OperatingSystemConfig")
    files = osc["spec"]["provisioningConfig"]["files"]
    return {file["path"]: (file["content"]["inline"]["data"], file["permissions"]) for file in files}


@pytest.mark.parametrize("name", cases(accepted))
def test_hosts_files_are_osms(name: str) -> None:
    case = load_case(name)
    expected = {path: file for path, file in _provisioning_files(case).items() if path.startswith(HOSTS)}
    made = hosts_files(_settings(case["flags"]))
    assert {file.path: (file.content, file.permissions) for file in made} == expected


@pytest.mark.parametrize("name", cases(lambda case: accepted(case) and not case["name"].startswith("own-")))
def test_containerds_config_is_osms(name: str) -> None:
    case = load_case(name)
    settings = _settings(case["flags"])
    credentials, warnings = registry_credentials(settings, facts_of_case(case["objects"]))
    expected = _provisioning_files(case).get("/etc/containerd/config.toml")
    if expected is not None:  # the profile for flatcar with cloud-init writes it from bootstrap
        assert config_toml(settings, credentials) + "\n" == expected[0]
    assert warnings == ()


@pytest.mark.parametrize("name", cases(accepted))
def test_the_kubeconfig_with_its_token_is_osms(name: str) -> None:
    case = load_case(name)
    facts = facts_of_case(case["objects"])
    settings = _settings(case["flags"])
    (live,) = case["expected"]["live"]
    key = live["name"].removesuffix("-kubelet-bootstrap-config")
    token = token_index(settings, facts).token(machine(key.removeprefix("kube-system-")))
    assert token == "abcdef.0123456789abcdef"
    assert base_kubeconfig(settings, facts).with_token(token) == live["data"]["kubeconfig"]
    assert getter_token(facts) == "getter-token-1"
    assert certificate_authority(settings, facts).startswith("-----BEGIN CERTIFICATE-----\n")
