"""Sets of default profiles in temporary folders: what a test changes without touching what is shipped."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

SOURCE: Final = """\
apiVersion: operatingsystemmanager.k8c.io/v1alpha1
kind: OperatingSystemProfile
metadata:
  name: osp-a
  annotations:
    osm-gitops.io/template: jinja2/v1
spec:
  osName: ubuntu
  osVersion: "24.04"
  supportedCloudProviders:
  - name: hetzner
  bootstrapConfig:
    files:
    - path: /opt/bin/bootstrap
      content:
        inline:
          data: |
            {% include "greet.sh" %}
  provisioningConfig:
    files:
    - path: /opt/bin/setup
      content:
        inline:
          data: |
            {% include "name.sh" %}
"""


def write_set(folder: Path, sources: Mapping[str, str], parts: Mapping[str, str], version: str = "v2.0.0") -> Path:
    """A version of the set below ``folder``: sources by name, parts by name."""
    for path, text in {
        **{f"{name}.yaml": text for name, text in sources.items()},
        **{f"parts/{name}": text for name, text in parts.items()},
    }.items():
        file = folder / version / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
    return folder
