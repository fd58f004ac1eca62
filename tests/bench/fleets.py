"""Made-up fleets of any size over OSM's six released profiles."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from osm_gitops.yaml.emit import dump
from osm_gitops.yaml.kubernetes import load_documents
from tests.conformance_data import OUTSIDE, load_case

VERSION = "v1.11.2"
# Profile, operating system, provider: each profile with a provider that it supports.
PROFILES = (
    ("osp-ubuntu", "ubuntu", "hetzner"),
    ("osp-flatcar", "flatcar", "openstack"),
    ("osp-flatcar-cloud-init", "flatcar", "anexia"),
    ("osp-amzn2", "amzn2", "aws"),
    ("osp-rhel", "rhel", "azure"),
    ("osp-rockylinux", "rockylinux", "hetzner"),
)
CHANGE = ("--node-http-proxy", "http://proxy.example.com:3128")
"""A setting that changes every pool."""
_KUBELET = "v1.kubelet-config.machine-controller.kubermatic.io"


def machine(number: int, profile: tuple[str, str, str], *, distinct: bool) -> dict[str, Any]:
    """A MachineDeployment; ``distinct`` gives every field that a template reads a value of its own."""
    name, system, provider = profile
    annotations = {"k8c.io/operating-system-profile": name}
    spec: dict[str, Any] = {"provisioningUtility": "cloud-init"} if name.startswith("osp-flatcar-cloud-init") else {}
    keys = ["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHk3QkVuY2htYXJrS2V5T2ZUaGVUZXN0RmxlZXRBQUFB ops@example.com"]
    kubelet = "1.34.2"
    if distinct:
        annotations |= {
            f"{_KUBELET}/MaxPods": str(100 + number),
            f"{_KUBELET}/KubeReserved": f"cpu={number}m,memory={number}Mi",
            f"{_KUBELET}/SystemReserved": f"cpu={number}m",
            f"{_KUBELET}/EvictionHard": f"memory.available<{number}Mi",
            f"{_KUBELET}/ContainerLogMaxSize": f"{number}Mi",
            f"{_KUBELET}/ContainerLogMaxFiles": str(number),
            f"{_KUBELET}/ImageGCHighThresholdPercent": str(number),
            f"{_KUBELET}/ImageGCLowThresholdPercent": str(number),
        }
        keys.append(f"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{number:043d} user-{number}@example.com")
        kubelet = f"1.34.{number}"
    value = {
        "sshPublicKeys": keys,
        "cloudProvider": provider,
        "cloudProviderSpec": {"pool": f"pool-{number}"},
        "operatingSystem": system,
        "operatingSystemSpec": spec,
    }
    return {
        "apiVersion": "cluster.k8s.io/v1alpha1",
        "kind": "MachineDeployment",
        "metadata": {"name": f"pool-{number:05d}", "namespace": "kube-system", "annotations": annotations},
        "spec": {"template": {"spec": {"versions": {"kubelet": kubelet}, "providerSpec": {"value": value}}}},
    }


def write_fleet(folder: Path, count: int, *, distinct: bool, profiles: tuple[tuple[str, str, str], ...]) -> Path:
    """A tree with ``count`` MachineDeployments, a hundred a file, their profiles and their facts."""
    folder.mkdir(parents=True)
    write_facts(folder)
    write_profiles(folder, profiles)
    machines = [machine(number, profiles[number % len(profiles)], distinct=distinct) for number in range(count)]
    for start in range(0, count, 100):
        (folder / f"machines-{start:05d}.yaml").write_text(documents(machines[start : start + 100]))
    return folder


def read_fleet(folder: Path) -> list[Any]:
    """The objects of such a tree."""
    documents = (each for path in sorted(folder.iterdir()) for each in load_documents(path.read_bytes(), str(path)))
    return [body.value for document in documents for body in document.items or (document,)]


def documents(bodies: Iterable[dict[str, Any]]) -> str:
    """Objects as the documents of one file."""
    return "".join(f"---\n{dump(body)}" for body in bodies)


def write_facts(folder: Path) -> None:
    """The facts of a cluster."""
    facts = load_case("default-ubuntu-hetzner")["objects"]
    (folder / "facts.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": facts}))


def write_profiles(folder: Path, profiles: Iterable[tuple[str, str, str]] = PROFILES) -> None:
    """OSM's profiles, a file each."""
    for name, _, _ in profiles:
        (folder / f"{name}.yaml").write_bytes(profile_text(name))


def profile_text(name: str) -> bytes:
    """A profile as OSM released it."""
    return (OUTSIDE / "profiles" / VERSION / f"{name}.yaml").read_bytes()
