"""What is the same for every machine that has joined."""

from __future__ import annotations

from pathlib import Path

import yaml

from tests.apiserver.client import Object
from tests.machines.machine import Machine
from tests.machines.programs import CONTAINERD, KUBERNETES


def overlay_of(folder: Path, **body: object) -> str:
    """Write an overlay; its folder as an option takes it."""
    folder.mkdir(exist_ok=True)
    text = yaml.safe_dump({"apiVersion": "osm-gitops.io/v1alpha1", "kind": "Overlay", **body})
    (folder / "overlay.yaml").write_text(text, "utf-8")
    return str(folder)


def taints(node: Object) -> set[str]:
    """``key=value:Effect`` of each."""
    return {f"{each['key']}={each.get('value', '')}:{each['effect']}" for each in node["spec"].get("taints", [])}


def says_what_the_pool_says(node: Object, name: str, version: str = KUBERNETES) -> None:
    """Versions, addresses and names are those of the pool."""
    info = node["status"]["nodeInfo"]
    assert node["metadata"]["name"] == node["metadata"]["labels"]["kubernetes.io/hostname"] == name
    assert info["kubeletVersion"] == version
    assert info["containerRuntimeVersion"].startswith(f"containerd://{CONTAINERD}")
    addresses = {each["type"]: each["address"] for each in node["status"]["addresses"]}
    assert addresses == {"InternalIP": "10.77.0.2", "Hostname": name}
    assert "providerID" not in node["spec"]  # that is the cloud's own controller to write


def is_well(machine: Machine) -> None:
    """Also after the last unit: nothing has failed."""
    machine.until("an end of the boot", lambda: "starting" not in machine.run("systemctl", "is-system-running").stdout)
    failed = machine.run("systemctl", "--failed", "--plain", "--no-legend").stdout
    assert machine.run("systemctl", "is-system-running").stdout.strip() == "running", failed
    for unit in ("containerd", "kubelet", "health-monitor@kubelet", "health-monitor@containerd"):
        assert machine.says("systemctl", "is-active", unit) == "active"
