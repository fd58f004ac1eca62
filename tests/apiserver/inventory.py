"""All that is in a cluster, and how it is removed where no controller helps."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.request import Request, urlopen

from tests.apiserver.client import Client, Object, Refused

_DISCOVERY = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
_METADATA = "application/json;g=meta.k8s.io;v=v1;as=PartialObjectMetadataList"
ATTEMPTS = 5000  # of a millisecond each, at the least
# The server's own books: of the groups it serves, and of the addresses of Services.
_BOOKS = {"apiservices", "ipaddresses", "servicecidrs"}
# What etcd's keys call kinds that they do not call by their plural.
_IN_STORE = {"minions": "nodes", "controllers": "replicationcontrollers", "ingress": "ingresses"}
_KEYS = b"/registry/"


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


@dataclass(frozen=True, slots=True)
class Store:
    """The etcd of a cluster at a revision: ``url`` is its address for JSON.

    After each test its keys tell in one request which kinds have new objects. To list all kinds instead took an eighth
    of all tests' time.
    """

    url: str
    revision: int

    @classmethod
    def now(cls, url: str) -> Store:
        return cls(url, int(_ask_store(url, limit=1)["header"]["revision"]))

    def new_kinds(self) -> set[str]:
        """Plurals of kinds that have objects which were created since, and other words of their keys."""
        found = _ask_store(self.url, min_create_revision=self.revision + 1).get("kvs", [])
        words = {word for each in found for word in b64decode(each["key"]).decode().split("/")}
        return words | {_IN_STORE[word] for word in words & _IN_STORE.keys()}


def _ask_store(url: str, **query: int) -> Object:
    keys = {"key": b64encode(_KEYS).decode(), "range_end": b64encode(_KEYS[:-1] + b"0").decode(), "keys_only": True}
    with urlopen(Request(f"{url}/v3/kv/range", json.dumps(keys | query).encode())) as response:
        answer: Object = json.load(response)
    return answer


def everything(client: Client, kinds: Collection[str] | None = None) -> Iterator[Found]:
    """All objects of kinds that can be listed and deleted, or of those with these plurals."""
    for folder, each in _resources(client):
        plural = each["resource"]
        if kinds is not None and plural not in kinds:
            continue
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
                if {"list", "delete"} <= set(each["verbs"]) and each["resource"] not in _BOOKS:
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
