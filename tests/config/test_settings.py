"""Settings parsed as OSM parses its flags (osm-behaviour.md, "Flags")."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import timedelta
from pathlib import PurePosixPath
from typing import Any

import pytest

from osm_gitops.config.setting_names import PASSED_OVER, SETTINGS, SETTINGS_BY_FLAG, SETTINGS_BY_KEY, Kind
from osm_gitops.config.settings import RawSetting, parse_settings
from osm_gitops.errors import Code, InputError, Problem
from osm_gitops.model.settings import Settings
from tests.conformance_data import DATA, cases, load_case
from tests.faults import Expected, placed

CERTIFICATE = (DATA / "ca.pem").read_text("utf-8")
FILES = {"/ca.pem": CERTIFICATE, "/empty.pem": "", "/key.pem": CERTIFICATE.replace("CERTIFICATE", "PRIVATE KEY")}


def read_file(path: str) -> str:
    if path not in FILES:
        raise FileNotFoundError(2, "No such file or directory", path)
    return FILES[path]


def parse(**given: Any) -> Settings:
    return parse_named({name.replace("_", "-"): value for name, value in given.items()})


def parse_named(given: Mapping[str, Any]) -> Settings:
    return parse_settings([RawSetting(name, value, f"flag --{name}") for name, value in given.items()], read_file)


def problem(**given: Any) -> Problem:
    with pytest.raises(InputError) as error:
        parse(**given)
    (only,) = error.value.problems
    return only


def test_nothing_given_is_what_osm_defaults_to() -> None:
    assert parse() == Settings()
    assert parse().cluster_dns == ("10.10.10.10",)
    assert parse().feature_gates == {"RotateKubeletServerCertificate": True}
    assert parse().no_proxy == ".svc,.cluster.local,localhost,127.0.0.1"


@pytest.mark.parametrize("name", cases())
def test_the_flags_of_every_conformance_case_are_understood(name: str) -> None:
    flags = load_case(name)["flags"]
    raw = [RawSetting(flag, value, f"flag --{flag}") for flag, value in flags.items()]
    settings = parse_settings(raw, lambda path: (DATA / PurePosixPath(path).name).read_text("utf-8"))
    assert settings.namespace == flags["namespace"]
    assert settings.external_cloud_provider == (flags["external-cloud-provider"] == "true")


def test_dns_addresses_are_trimmed_and_spelled_canonically() -> None:
    settings = parse(cluster_dns="10.96.0.10,\u00a0FD00:10:96::A ,::ffff:10.0.0.1")
    assert settings.cluster_dns == ("10.96.0.10", "fd00:10:96::a", "10.0.0.1")


@pytest.mark.parametrize("text", ["", "10.0.0.1,", "10.0.0.01", "10.0.0.0/8", "fe80::1%eth0", "dns.example.com"])
def test_anything_but_an_address_is_no_dns_address(text: str) -> None:
    assert problem(cluster_dns=text) == Expected(Code.INVALID_VALUE, "flag --cluster-dns: ")


def test_a_file_may_list_dns_addresses() -> None:
    assert parse(cluster_dns=["10.0.0.1", "10.0.0.2"]).cluster_dns == ("10.0.0.1", "10.0.0.2")


def test_feature_gates_keep_an_explicit_false_and_the_last_of_equal_names() -> None:
    settings = parse(node_kubelet_feature_gates="RotateKubeletServerCertificate=false,Beta=t,Alpha=0,Beta=F")
    assert settings.feature_gates == {"RotateKubeletServerCertificate": False, "Beta": False, "Alpha": False}


def test_certificate_rotation_is_added_to_other_gates() -> None:
    assert parse(node_kubelet_feature_gates="A=1").feature_gates == {"A": True, "RotateKubeletServerCertificate": True}


@pytest.mark.parametrize("text", ["", "A", "A=", "A=yes", "A=true=x", "A=true,", "A= true", "A=true,,B=true"])
def test_a_malformed_feature_gate_is_refused(text: str) -> None:
    assert problem(node_kubelet_feature_gates=text) == Expected(Code.INVALID_VALUE)


def test_a_file_may_map_feature_gates() -> None:
    assert parse(node_kubelet_feature_gates={"A": False}).feature_gates["A"] is False
    assert parse(node_kubelet_feature_gates={}).feature_gates == {"RotateKubeletServerCertificate": True}
    assert problem(node_kubelet_feature_gates={"A": "yes"}) == Expected(Code.WRONG_TYPE)


def test_insecure_registries_lose_blanks_and_empty_entries() -> None:
    settings = parse(node_insecure_registries="10.0.0.1:5000, insecure.example.com ,, b")
    assert settings.insecure_registries == ("10.0.0.1:5000", "insecure.example.com", "b")


def test_mirrors_of_both_flags_are_merged_the_repeatable_ones_first() -> None:
    settings = parse(
        node_registry_mirrors="mirror.example.com, quay.io=http://q.example.com/path ,gcr.io=g.example.com,httpbin.org",
        node_containerd_registry_mirrors=["quay.io=https://a.example.com", "*=https://all", "quay.io=b", "=", "x=y=z"],
    )
    assert settings.registry_mirrors == {
        "quay.io": ("https://a.example.com", "b", "http://q.example.com/path"),
        "*": ("https://all",),
        "": ("",),
        "x": ("y=z",),
        "docker.io": ("https://mirror.example.com", "httpbin.org"),
        "gcr.io": ("https://g.example.com",),
    }


@pytest.mark.parametrize(
    ("item", "registry", "endpoint"),
    [
        ("a_b=c", "docker.io", "https://a_b=c"),
        ("quay.io=", "quay.io", "https://"),
        ("host:5000/path", "docker.io", "https://host:5000/path"),
        ("http", "docker.io", "http"),
        ("HTTP://x", "docker.io", "https://HTTP://x"),
    ],
)
def test_a_mirror_without_a_plain_registry_name_belongs_to_docker_io(item: str, registry: str, endpoint: str) -> None:
    assert parse(node_registry_mirrors=item).registry_mirrors == {registry: (endpoint,)}


def test_a_mirror_must_be_a_url_and_its_password_is_not_shown() -> None:
    assert problem(node_registry_mirrors="quay.io=a b") == Expected(Code.INVALID_VALUE, "https://a")
    shown = str(problem(node_registry_mirrors="https://user:s3cret%zz@host"))
    assert "s3cret" not in shown
    assert "user" not in shown


def test_a_containerd_mirror_needs_an_equals_sign() -> None:
    assert problem(node_containerd_registry_mirrors=["quay.io"]) == Expected(
        Code.INVALID_VALUE, "quay.io", "=", "registry=url"
    )


@pytest.mark.parametrize(
    "value",
    [
        ["quay.io=https://a", "quay.io=https://b", "gcr.io=https://c"],
        {"quay.io": ["https://a", "https://b"], "gcr.io": "https://c"},
        "quay.io=https://a\nquay.io=https://b\ngcr.io=https://c",
    ],
)
def test_containerd_mirrors_may_be_a_list_a_map_or_lines(value: Any) -> None:
    assert parse(node_containerd_registry_mirrors=value).registry_mirrors == {
        "quay.io": ("https://a", "https://b"),
        "gcr.io": ("https://c",),
    }


@pytest.mark.parametrize(("text", "expected"), [("", None), ("a/b", ("a", "b")), ("/", ("", "")), ("a/", ("a", ""))])
def test_secrets_and_service_accounts_are_named_with_their_namespace(
    text: str, expected: tuple[str, str] | None
) -> None:
    assert parse(node_registry_credentials_secret=text).registry_credentials_secret == expected
    assert parse(bootstrap_token_service_account_name=text).bootstrap_token_service_account == expected


@pytest.mark.parametrize("text", ["a", "a/b/c", "//"])
def test_a_name_without_exactly_one_slash_is_refused(text: str) -> None:
    assert problem(node_registry_credentials_secret=text) == Expected(Code.INVALID_VALUE, text, "namespace/name")
    assert problem(bootstrap_token_service_account_name=text) == Expected(Code.INVALID_VALUE, "ServiceAccount")


def test_ca_bundles_hold_the_text_of_their_file() -> None:
    settings = parse(kubernetes_ca_bundle="/ca.pem", host_ca_bundle="")
    assert (settings.kubernetes_ca_bundle, settings.host_ca_bundle) == (CERTIFICATE, "")


@pytest.mark.parametrize(
    ("path", "fault"),
    [
        ("/missing.pem", Expected(Code.FILE_UNREADABLE, "/missing.pem")),
        ("/empty.pem", Expected(Code.INVALID_VALUE, "/empty.pem")),
        ("/key.pem", Expected(Code.INVALID_VALUE, "/key.pem")),
    ],
)
def test_a_ca_bundle_without_a_certificate_is_refused(path: str, fault: Expected) -> None:
    assert problem(kubernetes_ca_bundle=path) == fault
    assert problem(host_ca_bundle=path) == fault


def test_the_name_of_a_file_starts_at_the_folder_of_what_named_it() -> None:
    seen: list[str] = []

    def reading(path: str) -> str:
        seen.append(path)
        return CERTIFICATE

    parse_settings([RawSetting("kubernetes-ca-bundle", "ca/k.pem", "file", base="/fleet")], reading)
    parse_settings([RawSetting("host-ca-bundle", "/abs.pem", "file", base="/fleet")], reading)
    assert seen == ["/fleet/ca/k.pem", "/abs.pem"]


def test_booleans_are_spelled_as_go_spells_them() -> None:
    for text in ("1", "t", "T", "TRUE", "true", "True"):
        assert parse(external_cloud_provider=text).external_cloud_provider is True
    assert parse(external_cloud_provider=False, immutable_secrets=True).immutable_secrets is True
    assert problem(external_cloud_provider="yes") == Expected(Code.INVALID_VALUE, "yes")


def test_texts_are_taken_as_they_are() -> None:
    settings = parse(pause_image=" p:1 ", initial_taints="a=b:NoSchedule", node_http_proxy="http://p", node_no_proxy="")
    assert settings.pause_image == " p:1 "
    assert settings.initial_taints == "a=b:NoSchedule"
    assert settings.http_proxy == "http://p"
    assert settings.no_proxy == ""
    assert parse(node_no_proxy=[".svc", "10.0.0.0/8"]).no_proxy == ".svc,10.0.0.0/8"


def test_only_containerd_is_a_container_runtime() -> None:
    assert parse(container_runtime="containerd").container_runtime == "containerd"
    assert problem(container_runtime="docker") == Expected(Code.INVALID_VALUE, "docker")


def test_the_namespace_cannot_be_empty() -> None:
    assert problem(namespace="") == Expected(Code.INVALID_VALUE)


def test_bounds_of_templates_are_whole_numbers_from_one_on() -> None:
    settings = parse(max_output_bytes=2097152, max_loop_steps="5", max_template_depth=1)
    assert (settings.max_output_bytes, settings.max_loop_steps, settings.max_template_depth) == (2097152, 5, 1)
    for value in (0, -1, "many", "1.5", ""):
        assert problem(max_loop_steps=value) == Expected(Code.INVALID_VALUE, "flag --max-loop-steps: ")
    assert problem(max_loop_steps=True) == Expected(Code.WRONG_TYPE, "1")


def test_lengths_of_time_are_written_as_in_go() -> None:
    settings = parse(token_life="36h", interval="1h30m")
    assert (settings.token_life, settings.interval) == (timedelta(hours=36), timedelta(minutes=90))
    for value in ("", "1d", "24", "-1h", "0s", "1ms", "soon"):
        assert problem(token_life=value) == Expected(Code.INVALID_VALUE, "24h", "90m")
    assert problem(interval=30) == Expected(Code.WRONG_TYPE, "24h", "90m")


def test_tokens_outlive_the_time_between_two_runs_and_a_boot() -> None:
    assert parse(token_life="90m").token_life == timedelta(minutes=90)
    assert parse(interval="11h45m").interval == timedelta(minutes=705)
    short = problem(token_life="1h")
    assert short == Expected(Code.TOKEN_LIFE_TOO_SHORT, "flag --token-life: ", "30 min", "1 h 30 min")
    assert problem(interval="12h") == Expected(Code.TOKEN_LIFE_TOO_SHORT, "flag --interval: ", "24 h")


@pytest.mark.parametrize(
    ("name", "value", "fault"),
    [
        ("pause_image", 1, Expected(Code.WRONG_TYPE)),
        ("pause_image", ["p"], Expected(Code.WRONG_TYPE)),
        ("cluster_dns", 10.5, Expected(Code.WRONG_TYPE)),
        ("cluster_dns", [10], Expected(Code.WRONG_TYPE)),
        ("external_cloud_provider", 1, Expected(Code.WRONG_TYPE)),
        ("node_containerd_registry_mirrors", 1, Expected(Code.WRONG_TYPE, "registry=url")),
        ("node_containerd_registry_mirrors", {"a": [1]}, Expected(Code.WRONG_TYPE, "registry=url")),
        ("kubernetes_ca_bundle", {}, Expected(Code.WRONG_TYPE)),
    ],
)
def test_a_value_of_the_wrong_type_is_refused(name: str, value: Any, fault: Expected) -> None:
    assert problem(**{name: value}) == fault


def test_all_problems_come_at_once_each_with_its_place() -> None:
    with pytest.raises(InputError) as error:
        parse(namespace="", cluster_dns="x", node_registry_mirrors="a b")
    assert placed(error.value.problems) == [
        (Code.INVALID_VALUE, "flag --namespace"),
        (Code.INVALID_VALUE, "flag --cluster-dns"),
        (Code.INVALID_VALUE, "flag --node-registry-mirrors"),
    ]


def test_every_setting_can_be_parsed_and_has_names_of_its_own() -> None:
    samples = {
        Kind.TEXT: "a/b",
        Kind.TEXTS: "10.0.0.1",
        Kind.BOOLEAN: True,
        Kind.GATES: "A=true",
        Kind.MIRRORS: ["a=b"],
        Kind.FILE: "/ca.pem",
        Kind.COUNT: 7,
        Kind.DURATION: "7h",
    }
    for setting in SETTINGS:
        value = "containerd" if setting.flag == "container-runtime" else samples[setting.kind]
        default = Settings() == parse_named({setting.flag: value})
        assert default == (setting.flag == "container-runtime"), setting.flag
        assert re.sub("-", "", setting.flag) == setting.key.lower()
        assert setting.help.endswith(".")
    assert len(SETTINGS_BY_FLAG) == len(SETTINGS_BY_KEY) == len(SETTINGS)
    assert not SETTINGS_BY_FLAG.keys() & PASSED_OVER.keys()
    assert SETTINGS_BY_FLAG["cluster-dns"].environment == "OSM_GITOPS_CLUSTER_DNS"
