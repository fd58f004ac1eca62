"""Operating System Manager's own objects in a cluster, as Kubermatic's installers write them."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, Final

from tests.apiserver.after_osm import recorded_authority
from tests.apiserver.client import Object, path_of
from tests.apiserver.cluster import Cluster

NAME: Final = "operating-system-manager"
PROGRAM: Final = "/usr/local/bin/osm-controller"
RECORDED_FLAGS: Final = ("-namespace", "kube-system", "-external-cloud-provider")
_KUBECONFIG: Final = "/etc/kubernetes/kubeconfig"
_IMAGE: Final = "quay.io/kubermatic/operating-system-manager:v1.11.2"


def osm(*args: str, namespace: str = "kube-system", **more: Any) -> Object:
    """The Deployment as KubeOne writes it; ``container`` and ``volumes`` are added, ``replicas`` and ``name`` said."""
    container = {"name": NAME, "image": _IMAGE, "command": [PROGRAM], "args": list(args), **more.get("container", {})}
    return _deployment(more.get("name", NAME), namespace, container, more)


def run_osm(cluster: Cluster, body: Object | None = None) -> None:
    """Create the Deployment, and say that all its replicas are ready, as a controller manager would."""
    created = cluster.client().create(body or osm())
    counts = dict.fromkeys(("replicas", "readyReplicas", "availableReplicas"), created["spec"]["replicas"])
    cluster.client().merge(f"{path_of(created)}/status", {"status": counts})


def lease_of_osm(
    renewed: datetime, holder: str = "operating-system-manager-0", namespace: str = "kube-system"
) -> Object:
    """The Lease that its controller holds while it runs."""
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": NAME, "namespace": namespace},
        "spec": {
            "holderIdentity": holder,
            "leaseDurationSeconds": 15,
            "renewTime": renewed.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        },
    }


def osm_in_kkp(*args: str, namespace: str = "cluster-de-test-01", **more: Any) -> Object:
    """The Deployment as KKP writes it: started by a program that probes the API server first."""
    inner = json.dumps({"command": PROGRAM, "args": list(args)}, separators=(",", ":"))
    container = {
        "name": NAME,
        "image": _IMAGE,
        "command": ["/http-prober-bin/http-prober"],
        "args": ["-endpoint", "https://apiserver/healthz", "-insecure", "-retries", "100", "-command", inner],
        **more.get("container", {}),
    }
    return _deployment(NAME, namespace, container, more)


def osm_webhook(namespace: str = "kube-system") -> Object:
    """The Deployment of the webhook, from the same image."""
    container = {"name": f"{NAME}-webhook", "image": _IMAGE, "command": ["/usr/local/bin/webhook"]}
    return _deployment(f"{NAME}-webhook", namespace, container, {})


def config_map(name: str, namespace: str, data: Mapping[str, str]) -> Object:
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": dict(data)}


def kubeconfig_with(authority: str) -> str:
    """A kubeconfig as OSM's pod has one; its CA is what machines are given."""
    cluster = {
        "server": "https://api.example.com:6443",
        "certificate-authority-data": b64encode(authority.encode()).decode(),
    }
    return json.dumps({"apiVersion": "v1", "kind": "Config", "clusters": [{"name": "c", "cluster": cluster}]})


def mounted(*volumes: tuple[str, str, Mapping[str, Any]]) -> tuple[list[Object], list[Object]]:
    """Volume mounts and volumes, each given as a path, a name and its source."""
    mounts = [{"name": name, "mountPath": path} for path, name, _ in volumes]
    return mounts, [{"name": name, **source} for _, name, source in volumes]


def webhooks(kind: str, name: str, hooks: Sequence[tuple[str, str, str]], **more: Any) -> Object:
    """A webhook configuration; ``hooks`` are paths, API groups and resources."""
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": kind,
        "metadata": {"name": name},
        "webhooks": [
            {
                "name": f"{resource}.{name}.example.com",
                "failurePolicy": more.get("policy", "Fail"),
                "sideEffects": "None",
                "admissionReviewVersions": ["v1"],
                "clientConfig": {"service": {"namespace": "kube-system", "name": f"{NAME}-webhook", "path": path}},
                "rules": [
                    {
                        "apiGroups": [group],
                        "apiVersions": ["v1alpha1"],
                        "operations": ["CREATE", "UPDATE"],
                        "resources": [resource],
                    }
                ],
            }
            for path, group, resource in hooks
        ],
    }


@contextmanager
def present(cluster: Cluster, body: Object) -> Iterator[None]:
    """Create an object, and remove it before anything else: a webhook would judge that too."""
    cluster.client().create(body)
    try:
        yield
    finally:
        cluster.client().delete(path_of(body))


def _deployment(name: str, namespace: str, container: Object, more: Mapping[str, Any]) -> Object:
    labels = {"app": name}
    pod = {"containers": [container], "volumes": more.get("volumes", [])}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": namespace, "labels": labels},
        "spec": {
            "replicas": more.get("replicas", 1),
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod},
        },
    }


def deploy_as_recorded(
    cluster: Cluster, *flags: str, container: Mapping[str, Any] | None = None, namespace: str = "kube-system"
) -> None:
    """OSM's Deployment as it ran when the cluster was recorded: the CA was that of its kubeconfig."""
    mounts, volumes = mounted((_KUBECONFIG, "kubeconfig", {"secret": {"secretName": "osm-kubeconfig"}}))
    body = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "osm-kubeconfig", "namespace": namespace},
        "stringData": {"kubeconfig": kubeconfig_with(recorded_authority())},
    }
    arguments = (*RECORDED_FLAGS, f"-namespace={namespace}", f"-kubeconfig={_KUBECONFIG}/kubeconfig", *flags)
    more = {"volumeMounts": mounts, **(container or {})}
    for each in (body, osm(*arguments, namespace=namespace, container=more, volumes=volumes)):
        cluster.client().create(each)
