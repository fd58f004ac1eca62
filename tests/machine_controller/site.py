"""A cluster with machine-controller at work in it, and what happens to its pools."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic, sleep, time
from typing import Any, Final

from osm_gitops.commands.boot.lane.binaries import Binaries
from osm_gitops.commands.boot.lane.control_plane import kept
from tests.apiserver.after_osm import OSM, REVISION, AfterOsm
from tests.apiserver.client import Client, Object, Refused
from tests.apiserver.cluster import Cluster
from tests.apiserver.server import running
from tests.cli.running import osm_gitops
from tests.cli.scenes import facts, objects_of, pool, profile, user_data, write_tree

_MACHINES: Final = "/apis/cluster.k8s.io/v1alpha1/namespaces/kube-system"
_SETTINGS: Final = "cloud-init-settings"
_CLOUDS: Final = [{"name": "fake"}]
# It wants its own makers of user-data to be there, and asks none of them while others make it.
_PLUGINS: Final = ("amzn2", "centos", "flatcar", "rhel", "rockylinux", "ubuntu")
_BLANKS: Final = re.compile(r"^[ \t]+$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Instance:
    """A Machine that machine-controller made an instance for: when (seconds), of which template, with what."""

    machine: str
    uid: str
    pool: str
    kubelet: str
    at: float
    userdata: str


@dataclass(slots=True)
class Site:
    """``profiles``: since when (seconds) which script is what pools boot with. ``before``: when OSM was
    left (seconds) and the user-data that it had for Machines of a pool, which they may get until a run took it over."""

    cluster: Cluster
    folder: Path
    profiles: list[tuple[float, str]] = field(default_factory=list)
    before: dict[str, tuple[float, str]] = field(default_factory=dict)
    _rendered: dict[tuple[str, str], Mapping[tuple[str, str], Object]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.cluster.namespace(_SETTINGS)
        for body in facts():
            self.client.create(body)
        self.bump()

    @property
    def client(self) -> Client:
        return self.cluster.client()

    @property
    def arguments(self) -> tuple[str, ...]:
        """The command line of a run."""
        kubeconfig = str(self.cluster.kubeconfig(self.folder / "kubeconfig"))
        profiles = ("--profiles-from", str(self.folder / "tree"))
        return ("apply", "--yes", "--from", "cluster", *profiles, "--to", "cluster", "--kubeconfig", kubeconfig)

    def bump(self) -> None:
        """A new version of the profile."""
        number = len(self.profiles) + 1
        script = f"#!/bin/sh\n# profile {number}\necho {{{{ .KubeVersion }}}} {{{{ .SecretName }}}}\n"
        body = profile(script=script, version=f"v1.0.{number}", supportedCloudProviders=_CLOUDS)
        write_tree(self.folder / "tree", body)
        self.profiles.append((time(), script))

    def create(self, name: str, kubelet: str, **more: Any) -> None:
        """A pool as a person makes it; ``more`` goes into its spec."""
        body = _pool(name, kubelet)
        body["spec"] |= more
        self.client.create(body)

    def merge(self, name: str, patch: Object) -> None:
        self.client.merge(f"{_MACHINES}/machinedeployments/{name}", patch)

    def roll(self, name: str, kubelet: str) -> None:
        self.merge(name, {"spec": {"template": {"spec": {"versions": {"kubelet": kubelet}}}}})

    def scale(self, name: str, replicas: int) -> None:
        self.merge(name, {"spec": {"replicas": replicas}})

    def delete(self, name: str) -> None:
        """As kubectl does it: in the background."""
        options = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background"}
        self.client.text(f"{_MACHINES}/machinedeployments/{name}", "DELETE", options)

    def has(self, name: str) -> bool:
        return any(each["metadata"]["name"] == name for each in self.found("machinedeployments"))

    def collect_garbage(self) -> None:
        """What Kubernetes' controller manager does, of which there is none: objects go after their owners."""
        owners = {
            each["metadata"]["uid"] for kind in ("machinedeployments", "machinesets") for each in self.found(kind)
        }
        for kind in ("machinesets", "machines"):
            for each in self.found(kind):
                references = each["metadata"].get("ownerReferences") or ()
                if not any(reference["uid"] in owners for reference in references):
                    self._delete(f"{_MACHINES}/{kind}/{each['metadata']['name']}")

    def _delete(self, path: str) -> None:
        try:
            self.client.delete(path)
        except Refused as error:
            if error.status != 404:
                raise

    def found(self, kind: str) -> list[Object]:
        items: list[Object] = self.client.get(f"{_MACHINES}/{kind}")["items"]
        return items

    def leave_to_osm(self, name: str) -> None:
        """The immutable Secrets of OSM for a pool's present revision, with content that is its own."""
        found = self.client.get(f"{_MACHINES}/machinedeployments/{name}")
        text = f"#cloud-config\n# of OSM, for {name}\n"
        self.before[name] = (time(), text)
        for half in ("provisioning", "bootstrap"):
            marks = {"k8c.io/machine-deployment-revision": found["metadata"]["annotations"][REVISION]}
            metadata = {"name": f"{name}-kube-system-{half}-config", "namespace": _SETTINGS, "annotations": marks}
            body = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "immutable": True}
            AfterOsm(self.cluster, self.cluster).create({**body, "stringData": {"cloud-config": text}}, OSM)

    def spoil(self, name: str, kubelet: str) -> None:
        """Put the user-data of another template into a bootstrap Secret, whose revision stays."""
        path = f"/api/v1/namespaces/{_SETTINGS}/secrets/{name}-kube-system-bootstrap-config"
        text = self.wanted(Instance("<MACHINE_NAME>", "", name, kubelet, 0, ""), self.profiles[-1][1])
        self.client.merge(path, {"stringData": {"cloud-config": text}})

    def instances(self) -> list[Instance]:
        """All that were ever made."""
        found = (self.folder / "instances").iterdir()
        return [Instance(**json.loads(each.read_text("utf-8"))) for each in found if each.suffix != ".new"]

    def waiting(self) -> tuple[list[str], list[str]]:
        """Machines without an instance: those of their pool's revision, and those of an older one.

        The older ones never get any, with OSM neither: machine-controller removes them when the Machine of the new
        revision is a ready Node, and here are no Nodes.
        """
        have = {each.uid for each in self.instances()}
        sets = {each["metadata"]["uid"]: _revision(each) for each in self.found("machinesets")}
        pools = {each["metadata"]["name"]: _revision(each) for each in self.found("machinedeployments")}
        current: list[str] = []
        older: list[str] = []
        for metadata in (each["metadata"] for each in self.found("machines")):
            if metadata["uid"] not in have and not metadata.get("deletionTimestamp"):
                revision = sets.get(metadata["ownerReferences"][0]["uid"])
                is_older = revision != pools.get(metadata["labels"]["pool"])
                (older if is_older else current).append(metadata["name"])
        return current, older

    def wanted(self, instance: Instance, script: str) -> str:
        """The user-data of a Machine's own template with a profile, as `osm-gitops render` has it."""
        key = (script, instance.kubelet)
        if key not in self._rendered:
            pools = [_pool(name, instance.kubelet) for name in {each.pool for each in self.instances()}]
            body = profile(script=script, supportedCloudProviders=_CLOUDS)
            tree = write_tree(self.folder / f"rendered-{len(self._rendered)}", body, *pools)
            ran = osm_gitops("render", "--from", str(tree), "--to", "-")
            assert ran.code == 0, ran.err
            self._rendered[key] = objects_of(ran.out)
        text = user_data(self._rendered[key], f"{instance.pool}-kube-system-bootstrap-config")
        return _BLANKS.sub("", text.replace("<MACHINE_NAME>", instance.machine))


def _revision(body: Object) -> str:
    return str((body["metadata"].get("annotations") or {}).get(REVISION, ""))


def _pool(name: str, kubelet: str) -> Object:
    body = pool(name, kubelet=kubelet, cloudProvider="fake", cloudProviderSpec={"passValidation": True})
    labels = {"pool": name}
    body["spec"] |= {"replicas": 1, "selector": {"matchLabels": labels}}
    body["spec"]["template"]["metadata"] = {"labels": labels}
    return body


@contextmanager
def site(folder: Path, binaries: Binaries, controller: Path) -> Iterator[Site]:
    """A cluster of its own, with machine-controller started."""
    for name in ("server", "controller", "instances"):
        (folder / name).mkdir()
    for name in _PLUGINS:
        (folder / "controller" / f"machine-controller-userdata-{name}").symlink_to(shutil.which("false") or "")
    with running("real", folder / "server", binaries) as cluster:
        made = Site(cluster, folder)
        flags = (
            *("-kubeconfig", str(cluster.kubeconfig(folder / "controller.yaml")), "-use-external-bootstrap"),
            *("-enable-leader-election=false", "-node-csr-approver=false", "-worker-count=5"),
            *("-health-probe-address=127.0.0.1:0", "-metrics-address=127.0.0.1:0"),
        )
        command = ("env", f"FAKE_INSTANCES={folder / 'instances'}", str(controller), *flags)
        with kept(folder / "controller", {"machine-controller": command}) as process:
            yield made
            assert process.poll() is None, (folder / "controller" / "machine-controller.log").read_text("utf-8")[-4000:]


def until(reached: Any, seconds: float) -> bool:
    """Whether something came to be within some seconds."""
    end = monotonic() + seconds
    while monotonic() < end:
        if reached():
            return True
        sleep(0.2)
    return bool(reached())
