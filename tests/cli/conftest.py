"""Nothing of the user's own git or environment reaches these tests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.apiserver.after_osm import after_osm, recorded_authority, with_machine_sets
from tests.apiserver.cluster import Cluster
from tests.cli.adopted import Adopted
from tests.git.repos import pin_git


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pin_git(monkeypatch)
    for name in os.environ:
        if name.startswith(("OSM_GITOPS_", "OS_", "AZURE_", "VSPHERE_", "GOOGLE_", "SOPS_")):
            monkeypatch.delenv(name)
    for name in ("HOME", "XDG_CONFIG_HOME"):  # where keys of this machine may lie
        monkeypatch.setenv(name, str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def adopted(management: Cluster, tmp_path: Path) -> Adopted:
    """A cluster that OSM has run on, in the single mode, with the MachineSets of its pools."""
    (tmp_path / "ca.pem").write_text(recorded_authority(), "utf-8")
    return Adopted(with_machine_sets(after_osm(management)), tmp_path)
