"""All objects of a pool, and what it costs to render many."""

from __future__ import annotations

from pathlib import Path

import pytest

from osm_gitops.errors import Code, InputError
from osm_gitops.model.settings import Settings
from osm_gitops.render.resolve.cluster_info import resolve_cluster
from osm_gitops.render.resolve.pools import resolve_pool
from tests.cli.scenes import pool, profile, secret
from tests.faults import refused
from tests.render.middle import inputs_of, rendered, renderer, resolved

_LABEL = {"machinedeployment.k8s.io/name": "kube-system-workers"}
_TOKEN = {"token-id": "abcdef", "token-secret": "0123456789abcdef", "expiration": "2099-01-01T00:00:00Z"}


def test_a_pool_has_a_configuration_and_two_secrets(tmp_path: Path) -> None:
    assert list(rendered(inputs_of(tmp_path, profile(), pool()))) == [
        "workers-kube-system-config",
        "workers-kube-system-provisioning-config",
        "workers-kube-system-bootstrap-config",
    ]


def test_an_edge_pool_has_its_script_first(tmp_path: Path) -> None:
    body = profile(supportedCloudProviders=[{"name": "edge"}])
    objects = rendered(inputs_of(tmp_path, body, pool(cloudProvider="edge")))
    assert next(iter(objects)) == "edge-provider-script-workers-kube-system"


def test_rendering_twice_gives_the_same(tmp_path: Path) -> None:
    inputs = inputs_of(tmp_path, profile(), pool())
    renders, found = renderer(inputs), resolved(inputs)
    assert renders.render(found) == renders.render(found) == renderer(inputs).render(found)


def test_pools_do_not_see_each_others_data(tmp_path: Path) -> None:
    script = "{{ $d := dict }}{{ $_ := set $d .KubeVersion true }}{{ $d | toJson }}"
    inputs = inputs_of(tmp_path, profile(script=script), pool(), pool("b", kubelet="1.35.1"))
    cluster = resolve_cluster(Settings(), inputs.facts)
    renders = renderer(inputs)
    texts = [
        renders.config(resolve_pool(machine, inputs, cluster)).bootstrap.files[0].content for machine in inputs.machines
    ]
    assert sorted(texts) == ['{"v1.34.2":true}', '{"v1.35.1":true}']


def test_a_profile_that_cannot_be_compiled_fails_each_of_its_pools_alike(tmp_path: Path) -> None:
    inputs = inputs_of(tmp_path, profile(script="{{ if }}"), pool("a"), pool("b"))
    cluster, renders = resolve_cluster(Settings(), inputs.facts), renderer(inputs)
    told = []
    for machine in inputs.machines:
        with pytest.raises(InputError) as failure:
            renders.render(resolve_pool(machine, inputs, cluster))
        told.append(failure.value.problems)
    assert told[0] == told[1]


def test_both_halves_tell_their_faults_together(tmp_path: Path) -> None:
    body = profile(script="{{ .A }}")
    body["spec"]["provisioningConfig"]["files"][0]["content"]["inline"]["data"] = "{{ .B }}"
    with pytest.raises(InputError) as failure:
        rendered(inputs_of(tmp_path, body, pool()))
    assert [problem.about.rsplit(", ", 1)[1] for problem in failure.value.problems] == [
        "/opt/bin/bootstrap",
        "/opt/bin/setup",
    ]


def test_the_kubeconfig_is_printed_with_the_token_of_the_source(tmp_path: Path) -> None:
    body = profile(script="{{ .BootstrapKubeconfig }}")
    token = secret(
        "bootstrap-token-abcdef",
        "kube-system",
        _TOKEN,
        type="bootstrap.kubernetes.io/token",
        metadata={"labels": _LABEL},
    )
    inputs = inputs_of(tmp_path, body, pool(), token)
    assert "token: abcdef.0123456789abcdef" in renderer(inputs).config(resolved(inputs)).bootstrap.files[0].content


@pytest.mark.parametrize("place", ["file", "template", "runtime file", "runtime template"])
def test_the_kubeconfig_without_a_token_is_refused_wherever_it_is_printed(place: str, tmp_path: Path) -> None:
    text = "{{ .BootstrapKubeconfig }}"
    inline = {"path": "/x", "content": {"inline": {"data": text}}}
    half = {
        "file": {"files": [inline]},
        "template": {"templates": {"t": text}},
        "runtime file": {"supportedContainerRuntimes": [{"name": "containerd", "files": [inline]}]},
        "runtime template": {
            "supportedContainerRuntimes": [{"name": "containerd", "files": [], "templates": {"t": text}}]
        },
    }[place]
    with refused(Code.BOOTSTRAP_TOKEN_MISSING):
        rendered(inputs_of(tmp_path, profile(provisioningConfig=half), pool()))


def test_naming_the_kubeconfigs_secret_needs_no_token(tmp_path: Path) -> None:
    inputs = inputs_of(tmp_path, profile(script="{{ .BootstrapKubeconfigSecretName }}"), pool())
    script = renderer(inputs).config(resolved(inputs)).bootstrap.files[0].content
    assert script == "kube-system-workers-kubelet-bootstrap-config"
