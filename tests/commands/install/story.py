"""All that a run can come to meet in a cluster, one after the other, told by somebody who may do everything."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tests.apiserver.after_osm import REVISION, AfterOsm
from tests.apiserver.client import Object, Refused
from tests.cli.running import Ran, osm_gitops

MACHINES = "/apis/cluster.k8s.io/v1alpha1/namespaces/kube-system/machinedeployments"


@dataclass(frozen=True, slots=True)
class Story:
    """A cluster that OSM has run on, and a user who takes over from it. ``namespace`` is the management namespace."""

    osm: AfterOsm
    folder: Path
    user: str
    settings: tuple[str, ...]
    namespace: str = "kube-system"

    @property
    def profiles(self) -> str:
        """The path of the profiles."""
        return f"/apis/operatingsystemmanager.k8c.io/v1alpha1/namespaces/{self.namespace}/operatingsystemprofiles"

    def run(self, command: str, *more: str) -> Ran:
        where = ["--from", "cluster", "--to", "cluster"] if command in {"plan", "apply"} else []
        return osm_gitops(command, *where, *self.connection(), *self.settings, *more)

    def connection(self) -> tuple[str, ...]:
        """The flags that lead to the clusters as the user."""
        where = ("--kubeconfig", str(self.osm.management.kubeconfig(self.folder / "management", self.user)))
        if self.osm.worker is self.osm.management:
            return where
        return (
            *where,
            "--worker-cluster-kubeconfig",
            str(self.osm.worker.kubeconfig(self.folder / "worker", self.user)),
        )

    def apply(self, *more: str, command: str = "apply") -> Ran:
        """A run that nobody else's Lease holds up, not even that of an earlier one that could not give it back."""
        with suppress(Refused):  # there is none at first
            leases = f"/apis/coordination.k8s.io/v1/namespaces/{self.namespace}/leases"
            self.osm.management.client().delete(f"{leases}/osm-gitops")
        yes = ("--yes",) if command == "apply" else ()
        return self.run(command, *yes, "--settle", "0s", *more)

    def change(self, pool: str, change: Object) -> Object:
        """Change a MachineDeployment, and do what machine-controller does about it."""
        found = self.osm.worker.client().merge(f"{MACHINES}/{pool}", change)
        self.osm.objects["MachineDeployment", "kube-system", pool] = found
        return found


@dataclass(frozen=True, slots=True)
class Scene:
    """What happens before a run, what that says, how it ``ends``, and the settings that it has more."""

    happens: Callable[[Story], object]
    said: str
    ends: int = 0
    settings: tuple[str, ...] = ()


def nothing(_: Story) -> None:
    """OSM was here, and has gone."""


def rolled(story: Story) -> None:
    """A new template, and a Machine that has to wait for its configuration."""
    template = {"spec": {"versions": {"kubelet": "1.36.1"}}}
    story.change("pool-00000", {"spec": {"template": template}, "metadata": {"annotations": {REVISION: "2"}}})
    story.osm.machine(story.osm.machine_set("pool-00000"), "waiting", waits=True)


def renumbered(story: Story) -> None:
    """The same template again, with another number, and a Machine that waits for that."""
    story.change("pool-00001", {"metadata": {"annotations": {REVISION: "7"}}})
    story.osm.machine(story.osm.machine_set("pool-00001"), "late", waits=True)


def added(story: Story) -> None:
    """A new pool that nobody has seen."""
    found = story.osm.worker.client().get(f"{MACHINES}/pool-00001")
    metadata = {"name": "newcomer", "namespace": "kube-system", "annotations": found["metadata"]["annotations"]}
    story.osm.create({key: found[key] for key in ("apiVersion", "kind", "spec")} | {"metadata": metadata}, "kubectl")
    story.osm.machine_set("newcomer")


def removed(story: Story) -> None:
    """A pool on its way out."""
    story.osm.worker.client().delete(f"{MACHINES}/pool-00002")


def vanished(story: Story) -> None:
    """A pool that is gone, and nobody was asked to clean up."""
    client = story.osm.worker.client()
    client.merge(f"{MACHINES}/newcomer", {"metadata": {"finalizers": None}})
    client.delete(f"{MACHINES}/newcomer")


def broken(story: Story) -> None:
    """A pool that cannot be rendered."""
    profile = {"k8c.io/operating-system-profile": "osp-none"}
    story.change("pool-00003", {"metadata": {"annotations": profile}})


def mended(story: Story) -> None:
    profile = {"k8c.io/operating-system-profile": "osp-rockylinux"}
    story.change("pool-00003", {"metadata": {"annotations": profile}})


def without_profile(story: Story) -> None:
    """A profile of OSM's that somebody took away: the built-in one of the same name is at hand."""
    story.osm.management.client().delete(f"{story.profiles}/osp-rockylinux")


def outdated(story: Story) -> None:
    """A built-in profile of another version, as another release of osm-gitops wrote it."""
    client = story.osm.management.client()
    found = client.get(f"{story.profiles}/osp-rockylinux")
    metadata = {key: found["metadata"][key] for key in ("name", "namespace", "labels")}
    metadata["annotations"] = {"osm-gitops.io/built-in": "v1.9.0"}
    spec = found["spec"] | {"osVersion": "8", "version": "v1.9.0"}
    client.apply(
        {key: found[key] for key in ("apiVersion", "kind")} | {"metadata": metadata, "spec": spec}, "osm-gitops"
    )


def without_cluster_info(story: Story) -> None:
    """Nobody says where the API server is but its own EndpointSlice."""
    story.osm.worker.client().delete("/api/v1/namespaces/kube-public/configmaps/cluster-info")
    story.osm.worker.client().create(
        {
            "apiVersion": "discovery.k8s.io/v1",
            "kind": "EndpointSlice",
            "metadata": {
                "name": "kubernetes",
                "namespace": "default",
                "labels": {"kubernetes.io/service-name": "kubernetes"},
            },
            "addressType": "IPv4",
            "ports": [{"name": "https", "port": 6443}],
            "endpoints": [{"addresses": ["10.0.0.1"], "conditions": {"ready": True}}],
        }
    )


def with_two_tokens(story: Story) -> None:
    """A pool with a second bootstrap token: only a person can tell which one is right."""
    client = story.osm.worker.client()
    label = "machinedeployment.k8s.io/name=kube-system-pool-00004"
    (token,) = client.get(f"/api/v1/namespaces/kube-system/secrets?labelSelector={label}")["items"]
    metadata = {"name": "bootstrap-token-zzzzzz", "namespace": "kube-system", "labels": token["metadata"]["labels"]}
    data = token["data"] | {"token-id": b64encode(b"zzzzzz").decode()}
    client.create({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": token["type"], "data": data})


def with_webhooks(story: Story) -> None:
    """OSM's webhooks, which nobody answers any more."""
    hook: Object = {
        "name": "osm.example.com",
        "clientConfig": {"service": {"name": "operating-system-manager-webhook"}},
        "rules": [{"apiGroups": ["example.com"], "apiVersions": ["v1"], "operations": ["*"], "resources": ["words"]}],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    places = {
        each.name: (each, space)
        for each, space in ((story.osm.worker, "kube-system"), (story.osm.management, story.namespace))
    }
    for cluster, namespace in places.values():
        hook["clientConfig"]["service"]["namespace"] = namespace
        for kind in ("Validating", "Mutating"):
            body = {"kind": f"{kind}WebhookConfiguration", "metadata": {"name": "osm"}, "webhooks": [hook]}
            cluster.client().create({"apiVersion": "admissionregistration.k8s.io/v1", **body})


SCENES = (
    Scene(nothing, "5 pools written"),  # what OSM made is taken over, and its tokens are over
    Scene(rolled, "1 pool written"),
    Scene(added, "1 pool written"),
    Scene(removed, "1 pool written"),
    Scene(broken, 'OperatingSystemProfile "osp-none" not found', 1),
    Scene(mended, "", settings=("--token-life", "1000h")),  # so that tokens have to be extended
    Scene(without_cluster_info, "5 pools written"),
)
PROFILE_SCENES = (
    Scene(without_profile, "objects of no pool written"),
    Scene(outdated, "objects of no pool written"),
)
