"""The desired state of a cluster: pools rendered by a worker, each with its own outcome."""

from __future__ import annotations

import gzip
from base64 import b64decode
from collections import Counter
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from osm_gitops.errors import Code, Problem
from osm_gitops.gotemplate.assembly import _GoText
from osm_gitops.gotemplate.engine import Engine
from osm_gitops.model.packed import PackedBody, text_of
from osm_gitops.model.plan import Plan, View
from osm_gitops.model.settings import Settings
from osm_gitops.pipeline.planning import excerpted
from osm_gitops.pipeline.pool_worker import ClusterRenderer
from osm_gitops.pipeline.rendered import RenderOptions
from osm_gitops.pipeline.rendering import render_cluster
from osm_gitops.plan.fingerprint import fingerprint
from osm_gitops.plan.guards import PlanOptions
from osm_gitops.render.user_data import longest_machine_name
from osm_gitops.report.excerpts import without_bodies
from osm_gitops.report.text import Style, format_plan
from osm_gitops.targets.file_encryption import NO_ENCRYPTION
from osm_gitops.targets.folder import FolderTarget, render_to
from osm_gitops.targets.target import plan_for
from osm_gitops.workers import messages
from osm_gitops.workers.messages import Encoded, Request
from osm_gitops.yaml.emit import dump
from tests.cli.scenes import file, pool, profile
from tests.faults import Expected
from tests.render.middle import inputs_of


def test_used_profiles_come_once_and_in_order(tmp_path: Path) -> None:
    inputs = inputs_of(
        tmp_path, profile("b"), profile("a"), profile("c"), pool("p", "b"), pool("q", "a"), pool("r", "b")
    )
    desired = render_cluster("c", inputs, Settings()).desired
    assert [each.ref.name for each in desired.objects if each.ref.kind == "OperatingSystemProfile"] == ["a", "b"]


@pytest.mark.parametrize("for_git", [True, False])
def test_bodies_for_a_cluster_are_kept_as_json_with_the_digest_of_their_yaml(tmp_path: Path, for_git: bool) -> None:
    inputs = inputs_of(tmp_path, profile("a"), pool("p", "a"))
    objects = render_cluster("c", inputs, Settings(), options=RenderOptions(for_git=for_git)).desired.objects
    bodies = {each.digest: each.body for each in objects if isinstance(each.body, PackedBody)}
    assert len(bodies) == 3
    for digest, body in bodies.items():
        assert body.text.startswith(b"{") is not for_git
        assert text_of(body) == dump(body).encode()
        assert digest == sha256(text_of(body)).digest()


def test_facts_of_pools_have_the_bytes_that_the_provider_counts(tmp_path: Path) -> None:
    plain = pool("plain", "a", cloudProvider="aws", kubelet="1.33.9")
    edge = pool("edge", "a", cloudProvider="edge")
    inputs = inputs_of(
        tmp_path,
        profile("a", supportedCloudProviders=[{"name": name} for name in ("aws", "edge")]),
        plain,
        edge,
        pool("lost", "missing"),
    )
    desired = render_cluster("c", inputs, Settings(), options=RenderOptions(measured=True)).desired
    facts = {ref.name: found for ref, found in desired.facts.items()}
    assert (facts["plain"].os, facts["plain"].provider, facts["plain"].kubelet) == ("ubuntu", "aws", "1.33.9")
    assert (facts["plain"].profile, facts["plain"].profile_version) == ("kube-system/a", "v1.0.0")
    bootstrap, provisioning = facts["plain"].sizes
    bodies = {each.ref.name: each.body for each in desired.objects}

    def user_data(half: str) -> bytes:
        return b64decode(bodies[f"plain-kube-system-{half}-config"]["data"]["cloud-config"])

    named = user_data("bootstrap").replace(b"<MACHINE_NAME>", longest_machine_name("plain").encode())
    assert (bootstrap.counted, bootstrap.limit) == ("gzip", 16 << 10)
    assert abs(bootstrap.size - len(gzip.compress(named, 6))) < 16
    assert provisioning.size == len(user_data("provisioning"))
    assert bootstrap.share == bootstrap.size / (16 << 10)
    assert [each.limit for each in facts["edge"].sizes] == [None, 1 << 20]
    assert facts["edge"].sizes[0].share == 0
    lost = facts["lost"]
    assert (lost.profile, lost.profile_version, lost.sizes) == ("kube-system/missing", "", ())
    assert render_cluster("c", inputs, Settings()).desired.facts == {}


def test_a_pool_is_rendered_once_whatever_looks_at_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: Counter[str] = Counter()

    def encode(request: Request) -> Encoded:
        asked[getattr(request.function, "name", repr(request.function))] += 1
        return messages.encode(request)

    monkeypatch.setattr("osm_gitops.workers.calls.encode", encode)
    inputs = inputs_of(tmp_path, profile("a"), pool("p", "a"), pool("q", "a"))
    folder = tmp_path / "target"
    render_to(folder, render_cluster("c", inputs, Settings()).desired, NO_ENCRYPTION)
    for path in folder.rglob("*-config.yaml"):  # every object differs
        path.write_text(path.read_text().replace("osm-gitops\n", "osm-gitops\n    more: label\n"))
    asked.clear()

    rendered = render_cluster("c", inputs, Settings())
    desired = rendered.desired
    plan = plan_for(FolderTarget(folder, NO_ENCRYPTION), desired, PlanOptions())
    found = excerpted(plan, [View(together=True), View()], rendered.secrets)
    assert format_plan(Plan((without_bodies(found),)), Style())
    assert fingerprint(plan)
    assert render_to(folder, desired, NO_ENCRYPTION).files_written

    assert len(plan.effective) == 6
    assert asked["render_pool"] == 2
    assert asked.keys() == {"ClusterRenderer", "render_pool", "secret_texts_of"}


def test_clusters_with_the_same_profiles_compile_them_once_and_share_no_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled = 0
    real = Engine.load

    def load(*args: Any) -> Any:
        nonlocal compiled
        compiled += 1
        return real(*args)

    monkeypatch.setattr(Engine, "load", load)
    inputs = inputs_of(tmp_path, profile("a", "#!/bin/sh\n# one of its own\necho {{ .KubeVersion }}\n"), pool("p", "a"))
    (machine,) = inputs.machines
    first = ClusterRenderer(inputs, Settings(pause_image="first.example.com/pause:1"))
    rendered = first.render(machine)
    once = compiled
    second = ClusterRenderer(inputs, Settings(pause_image="second.example.com/pause:1"))
    pages = first.counterfactuals.engine.texts.values()
    assert pages
    assert all(isinstance(page, _GoText) and page.memo is None for page in pages)
    again = second.render(machine)
    assert 0 < once == compiled
    assert [each.ref for each in again.objects] == [each.ref for each in rendered.objects]
    assert first.render(machine) == rendered


_KUBELET = """\
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
maxPods: {{ .MaxPods }}
evictionHard: {memory.available: 200Mi}
"""


def _warned(tmp_path: Path, configuration: str, *pools: dict[str, Any]) -> list[Problem]:
    files = [file("/etc/kubernetes/kubelet.yaml", configuration, 600)]
    inputs = inputs_of(tmp_path, profile("a", provisioningConfig={"files": files}), *pools)
    return list(render_cluster("c", inputs, Settings()).desired.warnings)


def test_a_field_that_the_kubelet_does_not_know_is_a_warning_once_for_all_pools(tmp_path: Path) -> None:
    pools = [
        pool(name, "a", annotations={"v1.kubelet-config.machine-controller.kubermatic.io/MaxPods": amount})
        for name, amount in (("p", "40"), ("q", "50"))
    ]
    told = _warned(tmp_path, f"{_KUBELET}memorySwap:\n  swapBehaviuor: NoSwap\n", *pools)
    assert told == [
        Expected(
            *(Code.KUBELET_FIELD_UNKNOWN, "OperatingSystemProfile-a.yaml:", "OperatingSystemProfile kube-system/a"),
            *("/etc/kubernetes/kubelet.yaml", "memorySwap.swapBehaviuor", "swapBehavior"),
        )
    ]


def test_a_field_is_known_from_a_version_of_the_kubelet_on(tmp_path: Path) -> None:
    newer = f"{_KUBELET}imagePullCredentialsVerificationPolicy: AlwaysVerify\n"
    told = _warned(tmp_path, newer, pool("old", "a", kubelet="1.31.2"), pool("new", "a", kubelet="1.34.2"))
    assert told == [Expected(Code.KUBELET_FIELD_UNKNOWN, "imagePullCredentialsVerificationPolicy", "1.31")]


def test_a_field_whose_name_the_profile_does_not_have_may_be_secret_and_is_not_named(tmp_path: Path) -> None:
    written = _KUBELET + '{{ printf "%s%s" "max" "Podz" }}: 1\n'
    (told,) = _warned(tmp_path, written, pool("p", "a"))
    assert told == Expected(Code.KUBELET_FIELD_UNKNOWN, "line 5", "osm-gitops validate")
    assert "maxPodz" not in told.sentence


def test_what_only_looks_like_a_kubelet_configuration_is_left_alone(tmp_path: Path) -> None:
    assert _warned(tmp_path, "kind: KubeProxyConfiguration\nnobodyKnows: 1\n", pool("p", "a")) == []
    script = f"#!/bin/sh\ncat >/etc/kubelet <<END\n{_KUBELET}nobodyKnows: 1\nEND\n"
    assert _warned(tmp_path, script, pool("p", "a")) == []
    assert _warned(tmp_path, _KUBELET.replace("evictionHard", "featureGates"), pool("p", "a")) == []
