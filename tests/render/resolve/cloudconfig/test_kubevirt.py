"""KubeVirt (osm-behaviour.md, "Cloud-config by provider")."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from osm_gitops.errors import Code
from tests.faults import placed
from tests.render.resolve.cloudconfig.helpers import facts, in_secret, problems, text

KUBECONFIG = "apiVersion: v1\nkind: Config\n"
ENCODED = base64.b64encode(KUBECONFIG.encode()).decode()
AS_BLOCK = """\
global:
    kubeconfig: |
        apiVersion: v1
        kind: Config
    namespace: kube-system
"""


def spec(kubeconfig: Any) -> dict[str, Any]:
    return {"auth": {"kubeconfig": kubeconfig}}


def test_an_inline_kubeconfig_is_decoded() -> None:
    assert text("kubevirt", spec({"value": ENCODED})) == AS_BLOCK
    assert text("kubevirt", spec(ENCODED[:8] + "\r\n" + ENCODED[8:])) == AS_BLOCK


def test_a_kubeconfig_without_a_last_line_end_is_clipped() -> None:
    encoded = base64.b64encode(KUBECONFIG.rstrip().encode()).decode()
    assert "    kubeconfig: |-\n        apiVersion: v1\n" in text("kubevirt", spec(encoded))


def test_no_kubeconfig_is_an_empty_text() -> None:
    values: list[dict[str, Any]] = [{}, {"auth": None}, {"auth": {}}, spec("")]
    for value in values:
        assert text("kubevirt", value) == 'global:\n    kubeconfig: ""\n    namespace: kube-system\n'


@pytest.mark.parametrize("stored", [KUBECONFIG, ENCODED])
def test_a_kubeconfig_from_elsewhere_may_be_encoded_or_not(stored: str) -> None:
    assert text("kubevirt", spec(in_secret("k")), facts({"k": stored.encode()})) == AS_BLOCK
    assert text("kubevirt", {}, facts(environment={"KUBEVIRT_KUBECONFIG": stored})) == AS_BLOCK


def test_an_inline_kubeconfig_wins_over_a_reference() -> None:
    assert text("kubevirt", spec({"value": ENCODED, **in_secret("k")}), facts({"k": b"other"})) == AS_BLOCK


def test_an_inline_kubeconfig_must_be_base64_and_is_not_shown() -> None:
    (problem,) = problems("kubevirt", spec({"value": "s3cret!"}))
    assert placed([problem]) == [(Code.CLOUD_SPEC_VALUE, ".auth.kubeconfig")]
    assert "s3cret" not in str(problem)


def test_the_namespace_comes_from_the_environment() -> None:
    made = text("kubevirt", spec(ENCODED), facts(environment={"POD_NAMESPACE": "mine"}))
    assert made.endswith("    namespace: mine\n")
    assert text("kubevirt", spec(ENCODED), facts(environment={"POD_NAMESPACE": ""})) == AS_BLOCK
