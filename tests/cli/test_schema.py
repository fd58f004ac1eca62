"""``osm-gitops schema``, and that the plans that are really printed are as it says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from osm_gitops.commands.schema import Described
from osm_gitops.report.json_words import FORMAT_VERSION
from tests.cli.running import command_group, osm_gitops
from tests.cli.scenes import pool, profile, secret, write_tree
from tests.cli.schemas import checked
from tests.tools.write_reference import commands_of, options_of

_RENDER = ("render", "--from", "tree", "--to", "state", "--cluster", "a")
_PLAN = ("plan", "--from", "tree", "--to", "state", "--cluster", "a", "--output", "json")


@pytest.mark.parametrize("what", [each.value for each in Described])
def test_a_schema_is_printed_with_its_version(what: str) -> None:
    ran = osm_gitops("schema", what)
    assert (ran.code, ran.err) == (0, "")
    schema = json.loads(ran.out)
    Draft202012Validator.check_schema(schema)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    version = "v1alpha1" if what in {"fleet", "overlay"} else FORMAT_VERSION
    assert f"/{version}/" in schema["$id"]


def test_another_schema_is_refused() -> None:
    ran = osm_gitops("schema", "token")
    assert (ran.code, ran.out) == (1, "")
    assert f"'token' is not one of {', '.join(repr(each.value) for each in Described)}" in ran.err


def test_every_command_that_prints_json_has_a_schema() -> None:
    of = {
        "plan": "plan",
        "refresh": "plan",
        "explain": "explanation",
        "validate": "findings",
        "status": "status",
        "rollout": "rollout",
        "report": "report",
        "boot": "boot",
        "doctor": "checkup",
        "osp list": "profiles",
        "osp diff": "profile-diff",
    }
    printing = {
        name
        for name, command in commands_of(command_group()).items()
        for option in options_of(command)
        if "--output" in option.opts and "json" in option.type.choices
    }
    assert printing == {*of, "osp show"}  # which prints a Kubernetes object
    assert set(of.values()) <= {each.value for each in Described}


def _plan(*more: str) -> dict[str, Any]:
    plan: dict[str, Any] = json.loads(osm_gitops(*_PLAN, *more).out)
    return plan


def _plans(tmp_path: Path) -> list[dict[str, Any]]:
    """A first plan, one with every action, failure, warning and refusal, and one narrowed."""
    tree = tmp_path / "tree"
    write_tree(tree, profile(), pool("a"), pool("b"), pool("c"))
    plans = [_plan("--verbose")]
    osm_gitops(*_RENDER, "--immutable-secrets")
    worker = tmp_path / "state" / "a" / "worker"
    (worker / "kustomization.yaml").write_text("resources: []\n", "utf-8")
    plans.append(_plan("--immutable-secrets"))
    script = profile()["spec"]["bootstrapConfig"]["files"]
    more = {**script[0], "path": "/opt/more"}
    write_tree(
        tree,
        profile("osp-a", version="v2.0.0", bootstrapConfig={"files": [*script, more], "units": []}),
        profile("osp-b", script="{{ .Nothing }}"),
        pool("a", kubelet="1.35.0"),
        pool("b", profile="osp-b"),
    )
    (tree / "MachineDeployment-c.yaml").unlink()
    (worker / "secrets" / "own.yaml").write_text(json.dumps(secret("own", "default", {"a": "b"})), "utf-8")
    plans.append(_plan("--verbose", "--max-changed-pools", "0", "--immutable-secrets"))
    (tree / "broken.yaml").write_text("kind: Secret\n  x: [", "utf-8")
    plans.append(_plan("--only", "a"))
    return plans


def test_real_plans_are_valid_and_have_no_key_that_the_schema_does_not_tell(tmp_path: Path) -> None:
    plans = _plans(tmp_path)
    clusters = [cluster for plan in plans for cluster in plan["clusters"]]
    changes = [change for cluster in clusters for change in cluster["changes"]]
    assert {change["action"] for change in changes} == {"create", "update", "replace", "delete"}
    assert {diff["state"] for change in changes for diff in change["diffs"]} == {"changed", "new", "gone"}
    lists = ("changes", "layout", "kept", "notDeleted", "noDeletion", "failed", "warnings", "refusals", "sources")
    assert [key for key in lists if not any(cluster[key] for cluster in clusters)] == []
    for plan in plans:
        checked("plan", json.dumps(plan))
