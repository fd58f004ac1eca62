"""Two clusters with pools of every kind of work, and what is left of them after a run that something happened to.

The pools: ``new`` has nothing, ``same`` needs nothing, ``changed`` has a new template, ``taken`` has what OSM wrote
(old, and immutable), ``gone`` is being deleted.
"""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from tests.apiserver.after_osm import REVISION, AfterOsm
from tests.apiserver.client import Object
from tests.apiserver.cluster import Cluster
from tests.apiserver.proxy import Proxy, proxied
from tests.cli.running import Ran, osm_gitops
from tests.cli.scenes import facts, pool, profile, write_tree

POOLS: Final = ("changed", "gone", "same", "taken", "new")
_SETTINGS: Final = "cloud-init-settings"
_SECRETS: Final = f"/api/v1/namespaces/{_SETTINGS}/secrets"
_TOKENS: Final = "/api/v1/namespaces/kube-system/secrets"
_MACHINES: Final = "/apis/cluster.k8s.io/v1alpha1/namespaces/kube-system/machinedeployments"
_OSM: Final = "/apis/operatingsystemmanager.k8c.io/v1alpha1/namespaces/kube-system"
_TOKEN_LABEL: Final = "machinedeployment.k8s.io/name"
_LEASES: Final = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
_SCRIPT: Final = "#!/bin/sh\necho {{ .KubeVersion }}\n"
# What the server writes, and what differs from run to run.
_VOLATILE: Final = {"uid", "resourceVersion", "creationTimestamp", "generation", "managedFields", "deletionTimestamp"}
_TOKEN: Final = re.compile(r"\b([a-z0-9]{6})\.([a-z0-9]{16})\b")


@dataclass(slots=True)
class Scene:
    """``doors`` are the proxies of management and worker cluster."""

    management: Cluster
    worker: Cluster
    doors: tuple[Proxy, Proxy]
    folder: Path
    osm: AfterOsm = field(init=False)

    def __post_init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self.osm = AfterOsm(self.management, self.worker)
        self.worker.namespace(_SETTINGS)
        for body in facts():
            self.worker.client().create(body)
        write_tree(self.folder / "tree", profile(script=_SCRIPT))

    def again(self) -> None:
        """Everything as at the beginning."""
        for door in self.doors:
            door.clear()
        self.management.restore()
        self.worker.restore()
        self._begin()

    def set_out(self) -> None:
        """The pools, some of them after a good run, and then what the next run has to do."""
        for name in ("changed", "gone", "same"):
            self.pool(name)
        ran = self.run()
        assert (ran.code, ran.err.count("error")) == (0, 0), ran.err
        self.change("changed", "1.35.0", "2")
        self.catch_up("changed")
        self.delete("gone")
        self.pool("taken")
        self.pool("new")
        for half in ("provisioning", "bootstrap"):
            self._osm_wrote("taken", half)
        for door in self.doors:
            door.clear()

    def pool(self, name: str, kubelet: str = "1.34.2") -> None:
        """A MachineDeployment, and its MachineSet as machine-controller makes it."""
        body = pool(name, annotations={REVISION: "1"}, kubelet=kubelet)
        body["spec"]["template"]["metadata"] = {"labels": {"pool": name}}
        self.osm.create(body, "kubectl")
        self.osm.machine_set(name)

    def change(self, name: str, kubelet: str, revision: str = "") -> None:
        """Another template, and with a revision the number that machine-controller gives it."""
        numbered = {"metadata": {"annotations": {REVISION: revision}}} if revision else {}
        self.merge(name, {"spec": {"template": {"spec": {"versions": {"kubelet": kubelet}}}}, **numbered})

    def catch_up(self, name: str) -> None:
        """machine-controller makes the MachineSet of the present template."""
        self.osm.objects["MachineDeployment", "kube-system", name] = self.worker.client().get(f"{_MACHINES}/{name}")
        self.osm.machine_set(name)

    def renumber(self, machine_set: str, revision: str) -> None:
        path = f"{_MACHINES.replace('machinedeployments', 'machinesets')}/{machine_set}"
        self.worker.client().merge(path, {"metadata": {"annotations": {REVISION: revision}}})

    def collect_machine_set(self, name: str) -> None:
        """What garbage collection does when its pool is gone."""
        self.worker.client().delete(f"{_MACHINES.replace('machinedeployments', 'machinesets')}/{name}")

    def merge(self, name: str, patch: Object) -> None:
        self.worker.client().merge(f"{_MACHINES}/{name}", patch)

    def delete(self, name: str) -> None:
        self.worker.client().delete(f"{_MACHINES}/{name}")

    def find(self, name: str) -> Object | None:
        items = self.worker.client().get(_MACHINES)["items"]
        return next((item for item in items if item["metadata"]["name"] == name), None)

    def _osm_wrote(self, name: str, half: str) -> None:
        metadata = {
            "name": f"{name}-kube-system-{half}-config",
            "namespace": _SETTINGS,
            "annotations": {"k8c.io/machine-deployment-revision": "0", "k8c.io/mdannotations-hash": "old"},
        }
        data = {"cloud-config": b64encode(b"#cloud-config\n# old\n").decode()}
        body = {"apiVersion": "v1", "kind": "Secret", "type": "Opaque", "immutable": True}
        self.osm.create({**body, "metadata": metadata, "data": data})

    @property
    def arguments(self) -> tuple[str, ...]:
        """A run through the proxies."""
        one, other = (str(door.cluster.kubeconfig(self.folder / f"{door.cluster.name}.yaml")) for door in self.doors)
        return (
            *("apply", "--yes", "--from", "cluster", "--profiles-from", str(self.folder / "tree"), "--to", "cluster"),
            *("--kubeconfig", one, "--worker-cluster-kubeconfig", other, "--settle", "0", "--lock-timeout", "0"),
        )

    def run(self, *more: str) -> Ran:
        """A run in this process."""
        return osm_gitops(*self.arguments, *more)

    def expire_lease(self) -> None:
        """What time does to the Lease of a run that was killed."""
        for lease in self.management.client().get(_LEASES)["items"]:
            self.management.client().delete(f"{_LEASES}/{lease['metadata']['name']}")

    def state(self) -> Mapping[str, Any]:
        """All that matters in both clusters, without what differs from one good run to the next."""
        listed = (
            (self.management, f"{_OSM}/operatingsystemprofiles"),
            (self.management, f"{_OSM}/operatingsystemconfigs"),
            (self.worker, _SECRETS),
            (self.worker, _MACHINES),
        )
        tokens = self.tokens()
        return {
            f"{path.rpartition('/')[2]}/{item['metadata']['name']}": _plain(item, tokens)
            for cluster, path in listed
            for item in cluster.client().get(path)["items"]
        } | {"tokens": sorted(tokens.values())}

    def tokens(self) -> Mapping[str, str]:
        """Bootstrap tokens, and the pool of each."""
        items = self.worker.client().get(f"{_TOKENS}?labelSelector={_TOKEN_LABEL}")["items"]
        return {
            f"{_text(item, 'token-id')}.{_text(item, 'token-secret')}": item["metadata"]["labels"][_TOKEN_LABEL]
            for item in items
        }


def _plain(item: Object, tokens: Mapping[str, str]) -> Object:
    metadata = {key: value for key, value in item["metadata"].items() if key not in _VOLATILE}
    if item["metadata"]["name"].endswith("-kubelet-bootstrap-config"):
        # The token is another each time: what counts is that it is the one of this pool that the API server takes.
        told = _TOKEN.sub(lambda found: f"token of {tokens.get(found[0])}", _text(item, "kubeconfig"))
        return {"metadata": {"labels": metadata["labels"]}, "kubeconfig": told}
    return {key: value for key, value in item.items() if key not in {"status", "metadata"}} | {"metadata": metadata}


def _text(secret: Object, key: str) -> str:
    return b64decode(secret["data"][key]).decode()


@contextmanager
def scenes(management: Cluster, worker: Cluster, folder: Path) -> Iterator[Scene]:
    """A scene whose proxies end with it."""
    with ExitStack() as stack:
        doors = []
        for cluster in (management, worker):
            place = folder / f"proxy of {cluster.name}"
            place.mkdir()
            doors.append(stack.enter_context(proxied(cluster, place)))
        yield Scene(management, worker, (doors[0], doors[1]), folder)
