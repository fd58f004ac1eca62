"""What Operating System Manager was told is read from its Deployment, wherever its arguments lead."""

from __future__ import annotations

import os
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest

from osm_gitops.commands.init.osm_settings import OsmSettings, read_osm_settings
from osm_gitops.context_ref import ContextRef
from osm_gitops.errors import InputError
from osm_gitops.kube.api import Api, connect
from osm_gitops.sources.osm_deployment import Pod, PodText, find_osm
from tests.apiserver.after_osm import recorded_authority
from tests.apiserver.cluster import Cluster
from tests.apiserver.osm_deployment import config_map, kubeconfig_with, mounted, osm, osm_in_kkp, osm_webhook
from tests.cli.scenes import secret


@pytest.fixture
def api(management: Cluster, tmp_path: Path) -> Api:
    return connect(ContextRef(str(management.kubeconfig(tmp_path / "kubeconfig"))), os.environ)


def _read(api: Api, **bundles: PodText) -> OsmSettings:
    (deployment,) = find_osm(api)
    pod = Pod(api, deployment.namespace, deployment.pod, deployment.container)
    return read_osm_settings(pod, deployment, {name.replace("_", "-"): text for name, text in bundles.items()})


def _values(settings: OsmSettings) -> dict[str, Any]:
    return {each.flag: each.value for each in settings.settings}


def _refusal(api: Api) -> str:
    with pytest.raises(InputError) as refused:
        _read(api)
    return str(refused.value)


def test_flags_are_read_as_go_reads_them(management: Cluster, api: Api) -> None:
    arguments = (
        *("-namespace", "kube-system", "--cluster-dns=10.96.0.10", "-external-cloud-provider", "-leader-elect=false"),
        *("-node-containerd-registry-mirrors=docker.io=https://a", "-pause-image", "pause:1", "-pause-image=pause:2"),
        *("-node-containerd-registry-mirrors", "quay.io=https://b"),
    )
    for body in (osm(*arguments), osm_webhook()):
        management.client().create(body)
    settings = _read(api)
    assert _values(settings) == {
        "namespace": "kube-system",
        "cluster-dns": "10.96.0.10",
        "external-cloud-provider": True,
        "node-containerd-registry-mirrors": ["docker.io=https://a", "quay.io=https://b"],
        "pause-image": "pause:2",
    }
    assert [note.split(":")[0] for note in settings.notes] == ["-leader-elect is ignored"]


def test_the_program_that_kkp_puts_before_it_is_seen_through(management: Cluster, api: Api) -> None:
    management.namespace("cluster-de-test-01")
    management.client().create(osm_in_kkp("-namespace", "kube-system", "-cluster-dns", "169.254.20.10"))
    assert _values(_read(api)) == {"namespace": "kube-system", "cluster-dns": "169.254.20.10"}


def test_variables_come_from_all_places_that_a_pod_has_them_from(management: Cluster, api: Api) -> None:
    environment: list[dict[str, Any]] = [
        {"name": "DNS", "value": "10.0.0.$(LAST)"},
        {"name": "LAST", "value": "7"},
        {"name": "DNS", "value": "10.0.0.$(LAST)"},
        {"name": "PAUSE", "valueFrom": {"configMapKeyRef": {"name": "words", "key": "pause"}}},
        {"name": "PROXY", "valueFrom": {"secretKeyRef": {"name": "proxy", "key": "url"}}},
        {"name": "WHERE", "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}}},
        {"name": "OS_PASSWORD", "valueFrom": {"secretKeyRef": {"name": "proxy", "key": "password"}}},
        {"name": "GONE", "valueFrom": {"secretKeyRef": {"name": "gone", "key": "x", "optional": True}}},
    ]
    container = {"env": environment, "envFrom": [{"configMapRef": {"name": "words"}, "prefix": "W_"}]}
    arguments = (
        *("-cluster-dns=$(DNS)", "-pause-image=$(PAUSE)", "-node-http-proxy=$(PROXY)", "-namespace=$(WHERE)"),
        *("-initial-taints=$$(DNS)$(GONE)$(W_pause)",),
    )
    for body in (
        config_map("words", "kube-system", {"pause": "pause:3"}),
        secret("proxy", "kube-system", {"url": "http://proxy:3128", "password": "pa55word"}),
        osm(*arguments, container=container),
    ):
        management.client().create(body)
    settings = _read(api)
    assert _values(settings) == {
        "cluster-dns": "10.0.0.7",
        "pause-image": "pause:3",
        "node-http-proxy": "http://proxy:3128",
        "namespace": "kube-system",
        "initial-taints": "$(DNS)$(GONE)pause:3",
    }
    assert {each.flag for each in settings.settings if each.secret} == {"node-http-proxy"}
    origins = {each.flag: each.origins for each in settings.settings}
    assert origins["pause-image"] == (
        "flag -pause-image",
        "variable PAUSE",
        "key pause of ConfigMap kube-system/words",
    )
    assert settings.credentials == ("OS_PASSWORD",)
    assert "pa55word" not in repr(settings)


def test_files_are_read_through_the_volumes_of_the_pod(management: Cluster, api: Api) -> None:
    authority = recorded_authority()
    mounts, volumes = mounted(
        ("/etc/ca", "ca", {"configMap": {"name": "ca", "items": [{"key": "bundle", "path": "deep/ca.pem"}]}}),
        ("/etc/kube", "kube", {"projected": {"sources": [{"secret": {"name": "kube"}}]}}),
    )
    mounts.append({"name": "hosts", "mountPath": "/etc/ssl/hosts.pem", "subPath": "hosts.pem"})
    volumes.append({"name": "hosts", "secret": {"secretName": "hosts"}})
    for body in (
        config_map("ca", "kube-system", {"bundle": authority}),
        secret("kube", "kube-system", {"kubeconfig": kubeconfig_with(authority)}),
        secret("hosts", "kube-system", {"hosts.pem": f"# hosts\n{authority}"}),
        osm(
            *("-kubernetes-ca-bundle=/etc/ca/deep/ca.pem", "-host-ca-bundle", "/etc/ssl/hosts.pem"),
            *("-kubeconfig=/etc/kube/kubeconfig",),
            container={"volumeMounts": mounts},
            volumes=volumes,
        ),
    ):
        management.client().create(body)
    settings = _read(api)
    assert {each.flag: each.content for each in settings.settings} == {
        "kubernetes-ca-bundle": authority,
        "host-ca-bundle": f"# hosts\n{authority}",
    }
    assert settings.kubeconfigs["kubeconfig"].value == kubeconfig_with(authority)


def test_a_file_that_only_nodes_have_is_named_with_the_way_to_give_it(management: Cluster, api: Api) -> None:
    mounts, volumes = mounted(("/etc/ssl", "ssl", {"hostPath": {"path": "/etc/ssl"}}))
    body = osm("-host-ca-bundle=/etc/ssl/ca.pem", container={"volumeMounts": mounts}, volumes=volumes)
    management.client().create(body)
    text = _refusal(api)
    assert "Deployment kube-system/operating-system-manager: flag -host-ca-bundle" in text
    assert "pass it with --host-ca-bundle FILE" in text
    given = _read(api, host_ca_bundle=PodText(recorded_authority(), ("a file",)))
    assert [each.content for each in given.settings] == [recorded_authority()]


@pytest.mark.parametrize(
    ("arguments", "where"),
    [
        (("-namespace=a", "", "-cluster-dns=10.0.0.1"), "argument 2 after -namespace is an empty argument"),
        (("", "-namespace=a"), "argument 1 is an empty argument"),
        (("-external-cloud-provider", "true", "-namespace=a"), "argument 2 after -external-cloud-provider"),
        (("-external-cloud-provider=maybe",), "-external-cloud-provider is neither true nor false"),
        (("-namespace",), "-namespace is the last argument and has no value"),
    ],
)
def test_arguments_that_gos_parser_would_end_at_without_a_word_are_refused(
    management: Cluster, api: Api, arguments: tuple[str, ...], where: str
) -> None:
    management.client().create(osm(*arguments))
    assert where in _refusal(api)


def test_no_value_of_a_secret_is_in_a_refusal(management: Cluster, api: Api) -> None:
    variable = {"name": "DNS", "valueFrom": {"secretKeyRef": {"name": "words", "key": "dns"}}}
    for body in (
        secret("words", "kube-system", {"dns": "hunter2-hunter2"}),
        osm("-cluster-dns=$(DNS)", container={"env": [variable]}),
    ):
        management.client().create(body)
    assert "hunter2" not in _refusal(api)


def test_a_pod_that_could_not_start_is_told_of(management: Cluster, api: Api) -> None:
    variable = {"name": "DNS", "valueFrom": {"secretKeyRef": {"name": "words", "key": "dns"}}}
    management.client().create(osm("-cluster-dns=$(DNS)", container={"env": [variable]}))
    assert "Secret kube-system/words: does not exist" in _refusal(api)


def test_a_shell_that_starts_it_is_not_guessed_at(management: Cluster, api: Api) -> None:
    management.client().create(osm(container={"command": ["sh", "-c", "exec osm-controller $FLAGS"]}))
    assert "the container starts sh, which is not recognised as osm-controller" in _refusal(api)


def test_bytes_that_are_no_text_survive(management: Cluster, api: Api) -> None:
    authority = recorded_authority().encode()
    mounts, volumes = mounted(("/ca", "ca", {"secret": {"secretName": "ca"}}))
    body = secret("ca", "kube-system", {}) | {"data": {"ca.pem": b64encode(b"\xff\n" + authority).decode()}}
    for each in (body, osm("-host-ca-bundle=/ca/ca.pem", container={"volumeMounts": mounts}, volumes=volumes)):
        management.client().create(each)
    (setting,) = _read(api).settings
    assert (setting.content or "").encode("utf-8", "surrogateescape") == b"\xff\n" + authority
