"""SARIF of validate, as the SARIF SDK's validator judges it with its own rules and with GitHub's."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import osm_gitops
from tests.cli.scenes import file, pool, profile, write_fleet, write_tree
from tests.judges.sarif import NAME, runs_here
from tests.real_tools import real_tool

pytestmark = [
    pytest.mark.oracle,
    pytest.mark.skipif(not runs_here(), reason="the validator exists for Linux on x86-64 only"),
]


def _verdict(log: Path) -> list[dict[str, Any]]:
    """What the validator has to say about a log."""
    out = log.with_suffix(".verdict")
    command = [str(real_tool(NAME)), "validate", str(log), "--output", str(out), "--rule-kind", "Sarif;Ghas"]
    environment = {**os.environ, "DOTNET_SYSTEM_GLOBALIZATION_INVARIANT": "1"}
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=120)
    assert out.exists(), ran.stdout + ran.stderr
    (run,) = json.loads(out.read_text("utf-8-sig"))["runs"]
    return [each for each in run.get("results", ()) if each.get("level", "warning") in {"warning", "error"}]


def _judged(folder: Path, arguments: Sequence[str]) -> set[str]:
    """Validate, have the SARIF judged, and return the ids of its rules."""
    log = folder / "findings.sarif"
    log.write_text(osm_gitops("validate", *arguments, "--output", "sarif").out, "utf-8")
    assert [(each["ruleId"], each["message"]) for each in _verdict(log)] == []
    return {each["ruleId"] for each in json.loads(log.read_text("utf-8"))["runs"][0]["results"]}


def test_findings_of_all_kinds_are_valid_sarif(tmp_path: Path) -> None:
    body = profile(script="#!/bin/bash\nif true\necho $x\n")
    body["spec"]["provisioningConfig"]["files"] += [file("/etc/open", "password: hunter2hunter2\n")]
    body["spec"]["provisioningConfig"]["templates"] = {"lost": "text\n"}
    body["metadata"]["annotations"] = {"ignore.osm-gitops.io/unused-template": "it is for later"}
    write_tree(tmp_path / "tree", body, pool(), profile("osp-b", script="{{ .Nothing }}"), pool("b", profile="osp-b"))
    found = _judged(tmp_path, ["tree"])
    assert {"unused-template", "unknown-field"} <= found
    assert any(each.startswith("shellcheck-") for each in found)


def test_findings_without_a_line_are_valid_sarif(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert "nothing-to-judge" in _judged(tmp_path, ["empty"])
    write_fleet(tmp_path, "clusters:\n- {name: eu, from: tree, settings: {clusterDNS: nonsense}}\n")
    write_tree(tmp_path / "tree", profile(), pool())
    assert "setting" in _judged(tmp_path, [])


def test_the_validator_can_tell(tmp_path: Path) -> None:
    log = tmp_path / "wrong.sarif"
    log.write_text(json.dumps({"version": "2.1.0", "runs": [{"results": [{"ruleId": "a"}]}]}), "utf-8")
    assert _verdict(log)
