from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from osm_gitops.errors import Code
from osm_gitops.model.inputs import Facts
from osm_gitops.model.settings import Settings
from osm_gitops.render.resolve.cluster_info import base_kubeconfig, certificate_authority
from tests.faults import Expected, refused
from tests.render.resolve.facts import facts

BUNDLE = Settings(kubernetes_ca_bundle="BUNDLE\n")


def _cluster_info(*clusters: str) -> str:
    return "".join(["apiVersion: v1\nkind: Config\nclusters:\n", *clusters])


ONE = "- name: ''\n  cluster: {server: 'https://foo:6443', certificate-authority-data: Q0E=}\n"
TWO = "- name: other\n  cluster: {server: 'https://bar:6443'}\n"


def _slice(*endpoints: dict[str, Any], ports: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    return {"endpoints": list(endpoints), "ports": [{"name": "https", "port": 6443}] if ports is None else ports}


def _ready(*addresses: str) -> dict[str, Any]:
    return {"addresses": list(addresses), "conditions": {"ready": True}}


def _server(*slices: dict[str, Any]) -> str:
    return base_kubeconfig(BUNDLE, facts(endpoint_slices=slices)).server


def test_the_only_cluster_is_renamed_and_the_token_added() -> None:
    base = base_kubeconfig(Settings(), facts(cluster_info=_cluster_info(ONE)))
    assert base.server == "https://foo:6443"
    assert base.with_token("abcdef.0123456789abcdef") == (
        "apiVersion: v1\nclusters:\n- cluster:\n    certificate-authority-data: Q0E=\n    server: https://foo:6443\n"
        "  name: c\ncontexts:\n- context:\n    cluster: c\n    user: c\n  name: c\ncurrent-context: c\nkind: Config\n"
        "users:\n- name: c\n  user:\n    token: abcdef.0123456789abcdef\n"
    )


@pytest.mark.parametrize(
    ("token", "written"),
    [
        ("245678.2456789245678924", '"245678.2456789245678924"'),
        ("a45678.2456789245678924", "a45678.2456789245678924"),
        ("24567e.2456789245678924", "24567e.2456789245678924"),
        ("24567b.2456789245678924", "24567b.2456789245678924"),
        ("245678.24567892456789e4", '"245678.24567892456789e4"'),
        ("two\nlines", "|-\n      two\n      lines"),
    ],
)
def test_a_token_that_looks_like_a_number_is_quoted(token: str, written: str) -> None:
    base = base_kubeconfig(Settings(), facts(cluster_info=_cluster_info(ONE)))
    assert base.with_token(token).endswith(f"    token: {written}\n")


def test_a_token_that_yaml_cannot_hold_is_refused_without_its_value() -> None:
    base = base_kubeconfig(Settings(), facts(cluster_info=_cluster_info(ONE)))
    with refused(Code.BOOTSTRAP_KUBECONFIG_INVALID) as refusal:
        base.with_token("hunter2\x7f")
    assert "hunter2" not in str(refusal.value)


def test_all_keys_of_the_cluster_survive_sorted_and_defaults_vanish() -> None:
    info = """
clusters:
- name: x
  cluster:
    tls-server-name: t
    server: https://foo
    proxy-url: http://p
    insecure-skip-tls-verify: true
    disable-compression: false
    certificate-authority: /ca.crt
    unknown: 1
    extensions:
    - {name: z, extension: {b: 1, a: [x]}}
    - {name: a, extension: {}}
preferences: {colors: true}
extensions: []
users: null
current-context: x
"""
    assert base_kubeconfig(Settings(), facts(cluster_info=info)).text == (
        "apiVersion: v1\nclusters:\n- cluster:\n    certificate-authority: /ca.crt\n    extensions:\n"
        "    - extension: {}\n      name: a\n    - extension:\n        a:\n        - x\n        b: 1\n      name: z\n"
        "    insecure-skip-tls-verify: true\n    proxy-url: http://p\n    server: https://foo\n    tls-server-name: t\n"
        "  name: c\ncontexts:\n- context:\n    cluster: c\n    user: c\n  name: c\ncurrent-context: c\nkind: Config\n"
        "preferences:\n  colors: true\n"
    )


def test_the_server_can_be_overridden() -> None:
    settings = Settings(override_bootstrap_kubelet_apiserver="https://10.1.2.3:7443")
    base = base_kubeconfig(settings, facts(cluster_info=_cluster_info(ONE)))
    assert base.server == "https://10.1.2.3:7443"
    assert "server: https://10.1.2.3:7443\n" in base.text
    assert "foo" not in base.text


@pytest.mark.parametrize("clusters", [(), (ONE, TWO)])
def test_other_than_one_cluster_is_refused(clusters: tuple[str, ...]) -> None:
    found = facts(cluster_info=_cluster_info(*clusters), endpoint_slices=(_slice(_ready("1.2.3.4")),))
    with refused(Expected(Code.CLUSTER_INFO_INVALID, len(clusters))):
        base_kubeconfig(BUNDLE, found)


@pytest.mark.parametrize(
    "info",
    [
        None,
        "{",
        "a: 1\na: 2",
        "kind: Pod",
        "apiVersion: v2",
        "[]",
        "clusters: {}",
        "clusters: [x]",
        "clusters: [{name: 1}]",
        "clusters: [{name: a}, {name: a}]",
        "clusters: [{cluster: {server: 5}}]",
        "clusters: [{cluster: {certificate-authority-data: '*'}}]",
        "clusters: [{cluster: {insecure-skip-tls-verify: 'true'}}]",
        "users: 5",
        "contexts: 5",
        "current-context: 5",
        "preferences: 5",
    ],
)
def test_a_cluster_info_that_cannot_be_read_gives_way_to_the_endpoints(info: str | None) -> None:
    base = base_kubeconfig(BUNDLE, facts(cluster_info=info, endpoint_slices=(_slice(_ready("192.0.2.1")),)))
    assert base.server == "https://192.0.2.1:6443"
    assert "    certificate-authority-data: QlVORExFCg==\n    server: https://192.0.2.1:6443\n  name: c\n" in base.text


def test_a_cluster_info_that_may_be_in_an_unreadable_file_does_not_give_way() -> None:
    found = replace(facts(endpoint_slices=(_slice(_ready("192.0.2.1")),)), incomplete=True)
    with refused(Expected(Code.FACT_MAY_BE_UNREAD, "ConfigMap", "kube-public/cluster-info")):
        base_kubeconfig(BUNDLE, found)
    read = replace(facts(cluster_info=_cluster_info(ONE)), incomplete=True)
    assert base_kubeconfig(BUNDLE, read).server == "https://foo:6443"


@pytest.mark.parametrize(
    ("address", "host"), [("192.0.2.1", "192.0.2.1"), ("FD00::0:1", "[fd00::1]"), ("::ffff:1.2.3.4", "1.2.3.4")]
)
def test_addresses_are_canonical_and_ipv6_has_brackets(address: str, host: str) -> None:
    assert _server(_slice(_ready(address))) == f"https://{host}:6443"


def test_the_first_ready_endpoint_with_an_ip_counts() -> None:
    endpoints = (
        {"addresses": ["10.0.0.1"], "conditions": {"ready": False}},
        {"addresses": ["10.0.0.2"], "conditions": {}},
        {"addresses": ["10.0.0.3"]},
        _ready(),
        _ready("a.name", "10.0.0.4"),
        _ready("10.0.0.5", "10.0.0.6"),
    )
    no_port = _slice(_ready("10.0.0.9"), ports=[{"name": "http", "port": 80}, {"name": "https"}])
    assert _server(no_port, _slice(*endpoints), _slice(_ready("10.0.0.7"))) == "https://10.0.0.5:6443"


def test_the_first_https_port_with_a_number_counts() -> None:
    ports: list[dict[str, Any]] = [
        {"name": "https", "port": None},
        {"name": "https", "port": 1},
        {"name": "https", "port": 2},
    ]
    assert _server(_slice(_ready("10.0.0.1"), ports=ports)) == "https://10.0.0.1:1"


@pytest.mark.parametrize(
    ("found", "fault"),
    [
        (facts(), Expected(Code.API_SERVER_UNKNOWN)),
        (facts(endpoint_slices=(_slice(),)), Expected(Code.API_SERVER_UNKNOWN, "EndpointSlice", "ready")),
        (facts(endpoint_slices=({"endpoints": 5, "ports": "x"},)), Expected(Code.API_SERVER_UNKNOWN, "ready")),
        (facts(cluster_info="{"), Expected(Code.API_SERVER_UNKNOWN)),
    ],
)
def test_without_any_server_the_reason_is_told(found: Facts, fault: Expected) -> None:
    with refused(fault):
        base_kubeconfig(BUNDLE, found)


def test_the_ca_bundle_of_the_settings_comes_first() -> None:
    found = facts(cluster_info=_cluster_info(ONE))
    assert certificate_authority(BUNDLE, found) == "BUNDLE\n"
    assert certificate_authority(Settings(), found) == "CA"


def test_a_ca_that_is_a_file_in_cluster_info_is_empty() -> None:
    info = _cluster_info("- name: x\n  cluster: {certificate-authority: /ca.crt}\n")
    assert certificate_authority(Settings(), facts(cluster_info=info)) == ""


@pytest.mark.parametrize(
    ("info", "code"),
    [
        (None, Code.CLUSTER_CA_MISSING),
        ("{", Code.CLUSTER_CA_MISSING),
        (_cluster_info(ONE, TWO), Code.CLUSTER_INFO_INVALID),
    ],
)
def test_without_a_ca_there_is_a_problem(info: str | None, code: Code) -> None:
    with refused(code):
        certificate_authority(Settings(), facts(cluster_info=info))
