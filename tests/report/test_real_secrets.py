"""Nothing that a cluster's Secrets hold shows in a report of what OSM made of them."""

from __future__ import annotations

from base64 import b64decode, b64encode
from typing import Any

import pytest

from osm_gitops.model.desired import Desired, DesiredObject, Side
from osm_gitops.model.inputs import Facts, SecretFact
from osm_gitops.model.machine import MachineDeployment
from osm_gitops.model.objects import Manifest, ObjectRef, Origin
from osm_gitops.model.plan import CurrentState, Plan
from osm_gitops.model.settings import Settings
from osm_gitops.plan.compare import make_cluster_plan
from osm_gitops.plan.guards import PlanOptions
from osm_gitops.plan.sensitive import collect_sensitive
from osm_gitops.report.json_report import plan_json
from osm_gitops.report.text import Style, format_plan
from tests.conformance_data import accepted, cases, load_case

_POOL = ObjectRef("MachineDeployment", "kube-system", "a")


def _facts(case: dict[str, Any]) -> Facts:
    secrets = {}
    for each in case["objects"]:
        if each["kind"] == "Secret":
            data = {key: b64decode(value) for key, value in each.get("data", {}).items()}
            data |= {key: value.encode() for key, value in each.get("stringData", {}).items()}
            key = (each["metadata"].get("namespace", "default"), each["metadata"]["name"])
            secrets[key] = SecretFact(*key, each.get("type", "Opaque"), data, {}, Origin("case"))
    return Facts(secrets=secrets)


def _machine(case: dict[str, Any]) -> list[MachineDeployment]:
    if "md" not in case:
        return []
    template = case["md"]["spec"]["template"]
    spec = template["spec"].get("providerSpec", {}).get("value")
    manifest = Manifest(_POOL, {}, Origin("case"), {})
    return [MachineDeployment("a", "kube-system", None, "", spec, template, deleting=False, manifest=manifest)]


def _object(each: dict[str, Any]) -> DesiredObject:
    ref = ObjectRef(each["kind"], each["namespace"], each["name"])
    body = {"kind": ref.kind, "metadata": {"name": ref.name, "namespace": ref.namespace}}
    if ref.kind == "Secret":
        body["data"] = {key: b64encode(text.encode()).decode() for key, text in each["data"].items()}
    else:
        body["spec"] = each["spec"]
    return DesiredObject(ref, Side.WORKER, body, _POOL)


@pytest.mark.parametrize("name", cases(accepted)[::8])  # every kind is among them; all take half a minute
def test_no_secret_of_a_cluster_shows(name: str) -> None:
    case = load_case(name)
    sensitive = collect_sensitive(_facts(case), _machine(case), Settings())
    objects = tuple(_object(each) for each in case["expected"]["objects"])
    desired = Desired("prod", objects, (_POOL,), sensitive=sensitive)
    plan = Plan((make_cluster_plan(desired, CurrentState(), PlanOptions()),))
    for report in (format_plan(plan, Style(verbose=True)), "".join(plan_json(plan, whole=True))):
        for value in sensitive:
            if len(value) >= 6 and "\n" not in value:
                assert value not in report
        assert "provisioning" in report
