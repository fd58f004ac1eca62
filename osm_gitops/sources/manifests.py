"""Kubernetes objects in the documents of a file: unpacked lists, names, default namespaces (design.md, "Terms" and
"Sources and targets of a command")."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from osm_gitops.errors import Code, Problem, closest
from osm_gitops.model.machine import DEFAULT_POOL_NAMESPACE
from osm_gitops.model.objects import MACHINE_API_VERSION, OSM_API_VERSION, Json, Manifest, ObjectRef, Origin
from osm_gitops.yaml.kubernetes import Document
from osm_gitops.yaml.lines import Lines

PROFILE: Final = "OperatingSystemProfile"
CUSTOM_PROFILE: Final = "CustomOperatingSystemProfile"
MACHINE: Final = "MachineDeployment"
KINDS: Final = frozenset(
    {
        (MACHINE_API_VERSION, MACHINE),
        (OSM_API_VERSION, PROFILE),
        (OSM_API_VERSION, CUSTOM_PROFILE),
        ("v1", "ConfigMap"),
        ("v1", "Secret"),
        ("v1", "ServiceAccount"),
        ("discovery.k8s.io/v1", "EndpointSlice"),
    }
)
"""Kinds that are read. Others are ignored."""

_GROUPS: Final = frozenset(version.partition("/")[0] for version in (MACHINE_API_VERSION, OSM_API_VERSION))
_NAMES: Final = frozenset(kind for _, kind in KINDS)
_NEIGHBOURS: Final = frozenset({"Cluster", "Machine", "MachineClass", "MachineSet", "OperatingSystemConfig"})
KKP_NAMESPACE: Final = "kubermatic"
_MAX_LISTS: Final = 20


@dataclass(frozen=True, slots=True)
class RawObject:
    """An unchecked object and its place; ``inside`` is its path in the document."""

    body: Mapping[str, Json]
    origin: Origin
    lines: Mapping[str, int]
    inside: tuple[str | int, ...] = ()

    @property
    def api_version(self) -> str:
        return _string(self.body.get("apiVersion"))

    @property
    def kind(self) -> str:
        return _string(self.body.get("kind"))

    @property
    def is_read(self) -> bool:
        return (self.api_version, self.kind) in KINDS

    @property
    def labels(self) -> Mapping[str, Json]:
        metadata = self.body.get("metadata")
        labels = metadata.get("labels") if isinstance(metadata, dict) else None
        return labels if isinstance(labels, dict) else {}


def raw_objects(document: Document, path: str) -> Iterator[RawObject]:
    """The objects of one document: itself, or those of a (nested) ``List``; none if it is not a mapping."""
    yield from _unpacked(document, path, ())


def _unpacked(document: Document, path: str, inside: tuple[str | int, ...]) -> Iterator[RawObject]:
    body = document.value
    if not isinstance(body, dict):
        return
    raw = RawObject(body, Origin(path, document.line), document.lines, inside)
    entries = body.get("items")
    if not raw.kind.endswith("List") or not isinstance(entries, list) or len(inside) == 2 * _MAX_LISTS:
        yield raw
        return
    inner = document.items or tuple(Document(entry, document.line, Lines("", 0)) for entry in entries)
    for index, entry in enumerate(inner):
        yield from _unpacked(_typed_entry(entry, raw), path, (*inside, "items", index))


def _typed_entry(entry: Document, of: RawObject) -> Document:
    """An entry of a typed list (``SecretList``), with the kind and version of the list as defaults."""
    kind = of.kind.removesuffix("List")
    if not kind or not isinstance(entry.value, dict) or "kind" in entry.value:
        return entry
    body = {"apiVersion": of.api_version, "kind": kind, **entry.value}
    return Document(body, entry.line, entry.lines, entry.items)


def misspelt(raw: RawObject) -> Problem | None:
    """A problem if an ignored object looks like a misspelt kind or version."""
    kind, version = raw.kind, raw.api_version
    if kind in _NAMES and not version:
        return _nameless(raw, "apiVersion", "is missing")
    if version.partition("/")[0] not in _GROUPS or kind in _NEIGHBOURS:
        return None
    if kind in _NAMES:
        return _nameless(raw, "apiVersion", f"is not a supported version of {kind}", "Write v1alpha1")
    near = closest(kind, _NAMES)
    return _nameless(raw, "kind", "is not known in this API group", f"Did you mean {near}?") if near else None


def identify(raw: RawObject, management_namespace: str) -> Manifest | Problem:
    """The object with its name and namespace, or a problem."""
    metadata = raw.body.get("metadata")
    if not isinstance(metadata, dict):
        return _nameless(raw, "metadata", "is missing" if metadata is None else "must be a mapping")
    name, namespace = metadata.get("name"), metadata.get("namespace")
    if not isinstance(name, str) or not name:
        wrong = "is missing" if name is None else "must be a non-empty string"
        return _nameless(raw, "metadata.name", wrong)
    if namespace is not None and not isinstance(namespace, str):
        return _nameless(raw, "metadata.namespace", "must be a string")
    body, kind = raw.body, raw.kind
    if kind == CUSTOM_PROFILE:
        # KKP stores them in one namespace of the seed, and copies them to the one that OSM reads (design.md, "Sources
        # and targets of a command").
        body, kind = {**body, "kind": PROFILE}, PROFILE
        namespace = None if namespace == KKP_NAMESPACE else namespace
    ref = ObjectRef(kind, namespace or _default_namespace(kind, management_namespace), name)
    return Manifest(ref, body, raw.origin, raw.lines)


def _default_namespace(kind: str, management_namespace: str) -> str:
    if kind == PROFILE:
        return management_namespace
    return DEFAULT_POOL_NAMESPACE if kind == MACHINE else "default"


def _nameless(raw: RawObject, field: str, what: str, fix: str = "") -> Problem:
    place = Manifest(ObjectRef(raw.kind, "", "?"), raw.body, raw.origin, raw.lines)
    return Problem(
        Code.OBJECT_NOT_IDENTIFIED, what, where=place.line_of(field), about=f"this {raw.kind}", field=field, fix=fix
    )


def _string(value: Json) -> str:
    return value if isinstance(value, str) else ""
