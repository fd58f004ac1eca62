"""All that is in a cluster, and how it is removed where no controller helps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from tests.apiserver.client import Client, Object, Refused

_DISCOVERY = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
_METADATA = "application/json;g=meta.k8s.io;v=v1;as=PartialObjectMetadataList"
ATTEMPTS = 5000  # of a millisecond each, at the least
# The server's own books: of the groups it serves, and of the addresses of Services.
_BOOKS = {"apiservices", "ipaddresses", "servicecidrs"}
# Kinds that neither we nor our tests write: to look for them after each test would take a tenth of all tests' time.
_UNTOUCHED = {
    *("controllerrevisions", "daemonsets", "podtemplates", "replicasets", "replicationcontrollers", "statefulsets"),
    *("endpoints", "horizontalpodautoscalers", "ingressclasses", "ingresses", "networkpolicies", "services"),
    *("csidrivers", "csinodes", "csistoragecapacities", "persistentvolumeclaims", "persistentvolumes"),
    *("storageclasses", "volumeattachments", "volumeattributesclasses"),
    *("certificatesigningrequests", "flowschemas", "limitranges", "poddisruptionbudgets", "priorityclasses"),
    *("prioritylevelconfigurations", "resourcequotas", "runtimeclasses"),
    *("deviceclasses", "resourceclaims", "resourceclaimtemplates", "resourceslices"),
}


@dataclass(frozen=True, slots=True)
class Found:
    """An object: ``resource`` is its kind's plural."""

    resource: str
    path: str
    uid: str
    is_held: bool
    """By a finalizer."""

    @property
    def holds_others(self) -> bool:
        return self.resource in {"namespaces", "customresourcedefinitions"}


def everything(client: Client) -> Iterator[Found]:
    """All objects of kinds that can be listed and deleted, and that somebody here writes."""
    for folder, each in _resources(client):
        plural = each["resource"]
        for metadata in (found["metadata"] for found in items(client, f"{folder}/{plural}") or ()):
            namespace = f"/namespaces/{metadata['namespace']}" if each["scope"] == "Namespaced" else ""
            path = f"{folder}{namespace}/{plural}/{metadata['name']}"
            yield Found(plural, path, metadata["uid"], bool(metadata.get("finalizers")))


def _resources(client: Client) -> Iterator[tuple[str, Object]]:
    for root in ("/api", "/apis"):
        for group in client.get(root, Accept=_DISCOVERY)["items"]:
            version = group["versions"][0]
            folder = "/".join(filter(None, (root, group["metadata"].get("name"), version["version"])))
            for each in version["resources"]:
                if {"list", "delete"} <= set(each["verbs"]) and each["resource"] not in _BOOKS | _UNTOUCHED:
                    yield folder, each


def items(client: Client, collection: str) -> list[Object] | None:
    """The objects of a collection, with their metadata alone; None where the server knows no such collection."""
    for _ in range(ATTEMPTS):
        try:
            found: list[Object] = client.get(collection, Accept=_METADATA)["items"] or []  # null when there is none
        except Refused as refused:
            if refused.status == 404:
                return None
            if refused.status != 429:  # a kind that came a moment ago
                raise
        else:
            return found
    raise AssertionError(f"{collection} is not served")


def remove(client: Client, found: Iterable[Found]) -> None:
    """Remove objects, whoever wants to hold them."""
    # What is in a namespace, or of a kind, goes first: it would stay behind, out of reach.
    for each in sorted(found, key=lambda each: each.holds_others):
        if each.is_held and not each.holds_others:
            with _unless_gone():
                client.merge(each.path, {"metadata": {"finalizers": None}})
        with _unless_gone():
            client.delete(each.path)
        if each.resource == "namespaces":  # nobody else says that it is empty
            with _unless_gone():
                client.replace(f"{each.path}/finalize", _emptied(each.path.rpartition("/")[2]))
        if each.resource == "customresourcedefinitions":
            client.wait(each.path, lambda found: found is None)


def _emptied(namespace: str) -> Object:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}, "spec": {"finalizers": []}}


@contextmanager
def _unless_gone() -> Iterator[None]:
    try:
        yield
    except Refused as refused:
        if refused.status != 404:
            raise
