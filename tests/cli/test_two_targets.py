"""A fleet whose clusters have folders of their own in one repository."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.cli.running import osm_gitops
from tests.demo_fleet import DEMO, DEMO_KEY

_FLEET = """
apiVersion: osm-gitops.io/v1alpha1
kind: Fleet
clusters:
- name: prod-eu
  from: {machineDeployments: prod-eu, profiles: osps}
  to: {git: {path: eu}}
- name: dev
  from: {machineDeployments: dev, profiles: osps}
  to: {git: {path: elsewhere/dev}}
"""


def test_both_are_committed_in_one_run_and_then_there_is_nothing_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("GIT_CONFIG_GLOBAL", "/dev/null"), ("GIT_CONFIG_NOSYSTEM", "1"), *DEMO_KEY.items()):
        monkeypatch.setenv(name, value)
    for who in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{who}_NAME", "tester")
        monkeypatch.setenv(f"GIT_{who}_EMAIL", "tester@example.com")
    subprocess.run(
        ["cp", "-r", *(DEMO / name for name in (".sops.yaml", "osps", "prod-eu", "dev")), tmp_path], check=True
    )
    (tmp_path / "osm-gitops.yaml").write_text(_FLEET)
    subprocess.run(["git", "init", "--quiet", tmp_path], check=True)
    monkeypatch.chdir(tmp_path)
    ran = osm_gitops("apply", "--yes")
    assert ran.code == 0, ran.err
    assert "prod-eu: committed" in ran.err
    assert "dev: committed" in ran.err
    assert (tmp_path / "eu/prod-eu/worker/kustomization.yaml").exists()
    assert (tmp_path / "elsewhere/dev/dev/worker/kustomization.yaml").exists()
    assert osm_gitops("plan", "--detailed-exitcode").code == 0
