"""What is the same for every machine that has joined."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import yaml

from osm_gitops.commands.boot.lane.machine import Machine
from osm_gitops.commands.boot.lane.programs import CONTAINERD, KUBERNETES
from tests.apiserver.client import Object

MONITORS: Final = ("health-monitor@kubelet", "health-monitor@containerd")
"""Units of our profiles besides the kubelet and its runtime."""


def overlay_of(folder: Path, **body: object) -> str:
    """Write an overlay; its folder as an option takes it."""
    folder.mkdir(exist_ok=True)
    text = yaml.safe_dump({"apiVersion": "osm-gitops.io/v1alpha1", "kind": "Overlay", **body})
    (folder / "overlay.yaml").write_text(text, "utf-8")
    return str(folder)


def taints(node: Object) -> set[str]:
    """``key=value:Effect`` of each."""
    return {f"{each['key']}={each.get('value', '')}:{each['effect']}" for each in node["spec"].get("taints", [])}


def says_what_the_pool_says(node: Object, name: str, version: str = KUBERNETES, containerd: str = CONTAINERD) -> None:
    """Versions, addresses and names are those of the pool."""
    info = node["status"]["nodeInfo"]
    assert node["metadata"]["name"] == node["metadata"]["labels"]["kubernetes.io/hostname"] == name
    assert info["kubeletVersion"] == version
    assert info["containerRuntimeVersion"].startswith(f"containerd://{containerd}")
    addresses = {each["type"]: each["address"] for each in node["status"]["addresses"]}
    assert addresses == {"InternalIP": "10.77.0.2", "Hostname": name}
    assert "providerID" not in node["spec"]  # that is the cloud's own controller to write


def is_well(machine: Machine, monitors: Sequence[str] = MONITORS) -> None:
    """Also after the last unit: nothing has failed."""
    ends = ("running", "degraded")
    machine.until("an end of the boot", lambda: machine.run("systemctl", "is-system-running").stdout.strip() in ends)
    assert machine.run("systemctl", "--failed", "--plain", "--no-legend").stdout == ""
    for unit in ("containerd", "kubelet", *monitors):
        assert machine.says("systemctl", "is-active", unit) == "active"
