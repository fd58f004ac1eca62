"""A cluster that OSM has run on, as ``recording/`` has it, loaded into API servers of the tests.

``OSM_RECORDING`` names another folder with such a recording: ``make test-conformance`` takes OSM's own.

The recording has no MachineSets and Machines, which machine-controller makes: :meth:`AfterOsm.machine_set` and
:meth:`AfterOsm.machine` add what a test needs of them.
"""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode

from tests.apiserver.client import Object, path_of
from tests.apiserver.cluster import Cluster

OSM: Final = "osm-controller"
MACHINE_CONTROLLER: Final = "machine-controller"
REVISION: Final = "machinedeployment.clusters.k8s.io/revision"
HAS_INSTANCE: Final = "machine-delete-finalizer"
"""machine-controller sets it before it creates an instance, so a Machine without it waits."""

_RECORDING: Final = Path(os.environ.get("OSM_RECORDING", Path(__file__).parent / "recording"))
RECORDED: Final = _RECORDING / "after-osm.json"
"""A dump of the recorded cluster."""
_MACHINES: Final = "cluster.k8s.io/v1alpha1"
_SETTINGS: Final = "cloud-init-settings"
_MANAGEMENT_KINDS: Final = {"OperatingSystemProfile", "OperatingSystemConfig"}
# Whoever made an object owns its fields; OSM adds its finalizer to what a person made.
_OWNERS: Final = {"MachineDeployment": "kubectl-client-side-apply", "ConfigMap": "kubeadm"}


def recorded() -> list[Object]:
    """The objects of the recording, in its order: whatever is needed by another one comes before it."""
    objects: list[Object] = json.loads(RECORDED.read_text("utf-8"))["items"]
    return objects


def recorded_authority() -> str:
    """The CA of the recorded cluster's kubeconfig, which is in its OSCs: PEM text."""
    return (_RECORDING / "ca.pem").read_text("utf-8")


@dataclass(frozen=True, slots=True)
class AfterOsm:
    """What was loaded: ``objects`` as the API servers keep them, by kind, namespace and name."""

    management: Cluster
    worker: Cluster
    objects: dict[tuple[str, str, str], Object] = field(default_factory=dict, repr=False)

    def pools(self) -> tuple[str, ...]:
        """The names of the MachineDeployments, all in ``kube-system``."""
        return tuple(name for kind, _, name in self.objects if kind == "MachineDeployment")

    def create(self, body: Object, manager: str = OSM) -> Object:
        """Add an object as somebody else does it: by a plain create, so with an ``Update`` of that field manager."""
        cluster = self.management if body["kind"] in _MANAGEMENT_KINDS else self.worker
        path = f"{path_of(body, named=False)}?{urlencode({'fieldManager': manager})}"
        created: Object = json.loads(cluster.client().text(path, "POST", body))
        metadata = created["metadata"]
        self.objects[created["kind"], metadata.get("namespace", ""), metadata["name"]] = created
        return created

    def machine_set(
        self,
        pool: str,
        namespace: str = "kube-system",
        *,
        revision: str = "",
        template: Mapping[str, Any] | None = None,
    ) -> Object:
        """The MachineSet of a pool, of the pool's revision and template unless told, with the label of its hash."""
        owner = self.objects["MachineDeployment", namespace, pool]
        wanted = copy.deepcopy(dict(template or owner["spec"]["template"]))
        number = revision or owner["metadata"]["annotations"][REVISION]
        labels = wanted["metadata"]["labels"] | {"machine-template-hash": f"10000{number}"}
        wanted["metadata"] = wanted["metadata"] | {"labels": labels}
        body = {
            "apiVersion": _MACHINES,
            "kind": "MachineSet",
            "metadata": _owned_by(owner, f"{pool}-{number}", labels, annotations={REVISION: number}),
            "spec": {"replicas": 1, "selector": {"matchLabels": labels}, "template": wanted},
        }
        return self.create(body, MACHINE_CONTROLLER)

    def machine(self, machine_set: Object, name: str, *, waits: bool = False) -> Object:
        """A Machine of a MachineSet, with an instance or (``waits``) still without."""
        template = machine_set["spec"]["template"]
        finalizers = [] if waits else [HAS_INSTANCE, "machine-node-delete-finalizer"]
        body = {
            "apiVersion": _MACHINES,
            "kind": "Machine",
            "metadata": _owned_by(machine_set, name, template["metadata"]["labels"], finalizers=finalizers),
            "spec": template["spec"],
        }
        return self.create(body, MACHINE_CONTROLLER)


def after_osm(management: Cluster, worker: Cluster | None = None) -> AfterOsm:
    """Load the recording: into one cluster, or OSPs and OSCs into one and all else into the other."""
    loaded = AfterOsm(management, worker or management)
    loaded.worker.namespace(_SETTINGS)
    for body in recorded():
        loaded.create(_without_server_fields(body), _OWNERS.get(body["kind"], OSM))
    return loaded


def with_machine_sets(loaded: AfterOsm) -> AfterOsm:
    """Give every pool its MachineSet, so that machine-controller's gate is known to be open."""
    for pool in loaded.pools():
        loaded.machine_set(pool)
    return loaded


def _without_server_fields(body: Object) -> Object:
    metadata = {key: value for key, value in body["metadata"].items() if key != "generation"}
    return {key: value for key, value in body.items() if key != "status"} | {"metadata": metadata}


def _owned_by(owner: Object, name: str, labels: Mapping[str, str], **more: Any) -> Object:
    metadata = owner["metadata"]
    reference = {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": metadata["name"],
        "uid": metadata["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
    return {
        "name": name,
        "namespace": metadata["namespace"],
        "labels": dict(labels),
        "ownerReferences": [reference],
        **more,
    }
