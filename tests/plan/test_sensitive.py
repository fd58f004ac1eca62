"""Which values of the inputs are secrets."""

from __future__ import annotations

import json
from base64 import b64encode
from typing import Any

import pytest

from osm_gitops.model.inputs import Facts, SecretFact
from osm_gitops.model.machine import MachineDeployment
from osm_gitops.model.objects import Manifest, ObjectRef, Origin
from osm_gitops.model.settings import Settings
from osm_gitops.plan.sensitive import collect_sensitive


def _machine(spec: Any) -> MachineDeployment:
    manifest = Manifest(ObjectRef("MachineDeployment", "kube-system", "a"), {}, Origin("a.yaml"), {})
    return MachineDeployment("a", "kube-system", None, "1.33.0", spec, {}, deleting=False, manifest=manifest)


def _of_secret(data: dict[str, bytes], type_: str = "Opaque") -> frozenset[str]:
    secret = SecretFact("ns", "s", type_, data, {}, Origin("s.yaml"))
    return collect_sensitive(Facts(secrets={("ns", "s"): secret}), (), Settings())


def _of_machine(**spec: Any) -> frozenset[str]:
    return collect_sensitive(Facts(), [_machine(spec)], Settings())


def test_every_value_of_a_secret_counts() -> None:
    assert _of_secret({"token": b"getter-token", "other": b"value-2"}) == {"getter-token", "value-2"}


def test_what_is_public_in_secrets_does_not_count() -> None:
    certificate = b"-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"
    public = {"ca.crt": certificate, "namespace": b"kube-system", "expiration": b"2099-01-01T00:00:00Z",
              "description": b"bootstrap token", "usage-bootstrap-signing": b"true", "x": b"true",
              "auth-extra-groups": b"system:bootstrappers:x"}  # fmt: skip
    assert _of_secret(public) == frozenset()


def test_boot_configuration_is_no_secret_as_a_whole() -> None:
    assert _of_secret({"cloud-config": b"#cloud-config\nhostname: x\n", "fetch-bootstrap-script": b"apt-get"}) == set()


def test_a_bootstrap_token_counts_in_one_piece_too() -> None:
    found = _of_secret({"token-id": b"abcdef", "token-secret": b"0123456789abcdef"}, "bootstrap.kubernetes.io/token")
    assert "abcdef.0123456789abcdef" in found


def test_registry_credentials_count_in_pieces() -> None:
    auth = b64encode(b"robot:pa55word").decode()
    document = {"auths": {"registry.example.com": {"username": "robot-1", "password": "geheim-1", "auth": auth}}}
    found = _of_secret({".dockerconfigjson": json.dumps(document).encode()})
    assert found == {"robot-1", "geheim-1", auth, "robot:pa55word", "robot", "pa55word"}


def test_tokens_and_keys_of_a_kubeconfig_count_and_nothing_else_of_it() -> None:
    kubeconfig = (
        "apiVersion: v1\nclusters:\n- cluster:\n    certificate-authority-data: Q0E=\n    server: https://a:6443\n"
        "users:\n- name: c\n  user:\n    token: abcdef.0123456789abcdef\n    client-key-data: S0VZ\n"
    )
    assert _of_secret({"kubeconfig": kubeconfig.encode()}) == {"abcdef.0123456789abcdef", "S0VZ", "KEY"}


def test_credentials_of_the_environment_count() -> None:
    facts = Facts(environment={"AWS_SECRET_ACCESS_KEY": "key/1", "OS_PASSWORD": "pass-1"})
    assert collect_sensitive(facts, (), Settings()) == {"key/1", "pass-1"}


@pytest.mark.parametrize(
    "key",
    ["password", "token", "clientSecret", "secretAccessKey", "accessKeyId", "applicationCredentialSecret",
     "serviceAccount", "kubeconfig", "PASSWORD", "hcloudToken"],
)  # fmt: skip
def test_inline_credentials_of_a_provider_count(key: str) -> None:
    assert _of_machine(cloudProviderSpec={key: "value-1", "region": "eu-1"}) == {"value-1"}
    assert _of_machine(CLOUDPROVIDERSPEC={key: {"value": "value-1"}}) == {"value-1"}


def test_of_a_service_account_the_key_counts_and_not_the_project() -> None:
    account = json.dumps({"type": "service_account", "project_id": "my-project", "private_key": "key-1"})
    encoded = b64encode(account.encode()).decode()
    assert _of_machine(cloudProviderSpec={"serviceAccount": encoded}) == {encoded, "key-1"}


def test_addresses_of_secrets_are_no_secrets() -> None:
    reference = {"secretKeyRef": {"namespace": "kube-system", "name": "cloud-credentials", "key": "token"}}
    assert _of_machine(cloudProviderSpec={"token": reference}) == frozenset()


def test_subscription_credentials_count() -> None:
    spec = {
        "rhelSubscriptionManagerPassword": "pass-1",
        "rhelActivationKey": "key-1",
        "rhsmOfflineToken": "token-1",
        "rhelOrganizationName": "org-1",
        "attachSubscription": True,
    }
    assert _of_machine(operatingSystemSpec=spec) == {"pass-1", "key-1", "token-1"}


def test_an_overwritten_cloud_config_counts_whole() -> None:
    assert _of_machine(overwriteCloudConfig="[Global]\npassword = x\n") == {"[Global]\npassword = x\n"}


def test_credentials_in_addresses_of_settings_count() -> None:
    settings = Settings(
        http_proxy="http://user:p%40ss@proxy:3128",
        registry_mirrors={"docker.io": ("https://robot:key@mirror", "https://open")},
    )
    assert collect_sensitive(Facts(), (), settings) == {
        "user:p%40ss", "user", "p%40ss", "p@ss", "robot:key", "robot", "key",
    }  # fmt: skip


def test_what_somebody_encrypted_counts_whole_and_between_the_actions_of_a_template() -> None:
    encrypted = ["echo {{ .KubeVersion }} some-secret\nid {% if x %}other-secret{% endif %}\n", "true"]
    found = collect_sensitive(Facts(), (), Settings(), encrypted)
    assert {encrypted[0], " some-secret\nid ", "other-secret"} <= found
    assert "true" not in found
