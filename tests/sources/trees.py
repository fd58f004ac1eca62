"""Small trees, as text."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from textwrap import dedent

from osm_gitops.errors import Code, Problem
from osm_gitops.model.inputs import Inputs
from osm_gitops.model.objects import ObjectRef
from osm_gitops.sops.keys import KeySearch
from osm_gitops.sources.tree import read_tree
from osm_gitops.sources.walk import Folder, in_no_git
from tests.faults import placed

PROFILE = """\
apiVersion: operatingsystemmanager.k8c.io/v1alpha1
kind: OperatingSystemProfile
metadata:
  name: osp-a
spec:
  osName: ubuntu
  osVersion: "24.04"
  version: v1.0.0
  supportedCloudProviders:
  - name: aws
  bootstrapConfig: {}
  provisioningConfig:
    files:
    - path: /a
      content:
        inline:
          data: x
"""
MACHINE = """\
apiVersion: cluster.k8s.io/v1alpha1
kind: MachineDeployment
metadata:
  name: pool
spec:
  template:
    spec:
      versions:
        kubelet: 1.34.2
      providerSpec:
        value:
          cloudProvider: aws
"""
PROFILE_REF = ObjectRef("OperatingSystemProfile", "kube-system", "osp-a")
MACHINE_REF = ObjectRef("MachineDeployment", "kube-system", "pool")


def read(
    root: Path,
    files: Mapping[str, str | bytes],
    *,
    in_git: bool = False,
    environment: Mapping[str, str] | None = None,
    keys: KeySearch | None = None,
) -> Inputs:
    """Write ``files`` below ``root`` and read them as the tree ``t``."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    folder = Folder(root, "t", (lambda found: found) if in_git else in_no_git)
    return read_tree(folder, management_namespace="kube-system", environment=environment or {}, keys=keys)


def problems(inputs: Inputs) -> list[Problem]:
    """Every problem of the inputs."""
    return [*sum(inputs.broken.values(), ()), *inputs.unreadable]


def found(inputs: Inputs) -> list[tuple[Code, str]]:
    """The code and the place of every problem of the inputs."""
    return placed(problems(inputs))


def manifest(text: str) -> str:
    return dedent(text).lstrip("\n")
