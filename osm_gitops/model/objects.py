"""Identity and origin of Kubernetes objects, and additions of API servers, controllers and kubectl."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

OSM_API_VERSION = "operatingsystemmanager.k8c.io/v1alpha1"
MACHINE_API_VERSION = "cluster.k8s.io/v1alpha1"
CLOUD_INIT_NAMESPACE = "cloud-init-settings"

BUILT_IN: Final = "builtin:"
OPERATING_SYSTEMS: Final = ("flatcar", "rhel", "ubuntu", "amzn2", "rockylinux")
"""Those that a profile may be for, as OSM's CRD names them (osm-behaviour.md, "OperatingSystemProfile")."""
"""Prefix of names and places of built-in profiles and overlays, which are not files of the user."""

# JSON data: dict, list, str, int, float, bool, None. For mypy it is Any.
Json = Any


def value_at(value: Json, path: Iterable[str]) -> Json:
    """The value at ``path`` in nested maps, or ``None``."""
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def texts_in(value: Json) -> Iterator[str]:
    """All texts in a value, without keys."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from texts_in(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from texts_in(inner)


@dataclass(frozen=True, slots=True, order=True)
class ObjectRef:
    """Kind, namespace (empty for cluster-scoped objects) and name of an object."""

    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.namespaced_name}" if self.namespace else f"{self.kind} {self.name}"

    @property
    def namespaced_name(self) -> str:
        """``NAMESPACE/NAME``."""
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True, order=True)
class Origin:
    """The place of an object: a file, as shown to the user, and its first line (1-based)."""

    path: str
    line: int = 0

    def __str__(self) -> str:
        return f"{self.path}:{self.line}" if self.line else self.path

    def line_below(self, line: int) -> str:
        """``file:line`` of a line (1-based) of the text whose first line is here."""
        return f"{self.path}:{self.line + line - 1}"


@dataclass(frozen=True, slots=True, order=True)
class ComposedOrigin(Origin):
    """The place of a text whose lines come from several places: ``lines`` has ``file:line`` of each line."""

    lines: tuple[str, ...] = ()

    def line_below(self, line: int) -> str:
        return self.lines[min(line, len(self.lines)) - 1]


@dataclass(frozen=True, slots=True)
class Manifest:
    """One Kubernetes object as read, with its origin.

    ``lines`` maps field paths (``spec.version``, ``spec.bootstrapConfig.files[0].path``) to 1-based lines in
    ``origin.path``; empty if unknown. ``sealed``: some of its texts were encrypted. ``elsewhere`` are fields from other
    files, by path, and by ``PATH|`` for texts with a known first line.
    """

    ref: ObjectRef
    body: Mapping[str, Json]
    origin: Origin
    lines: Mapping[str, int]
    sealed: bool = False
    elsewhere: Mapping[str, Origin] = field(default_factory=dict)

    def line_of(self, field: str) -> str:
        """``file:line`` of ``field``, or of its nearest parent that has a line."""
        path = field
        while path:
            if path in self.elsewhere:
                return str(self.elsewhere[path])
            if path in self.lines:
                return f"{self.origin.path}:{self.lines[path]}"
            cut = max(path.rfind("."), path.rfind("["))
            path = path[:cut] if cut > 0 else ""
        return str(self.origin)

    def place_of(self, field: str) -> Origin | None:
        """The place of exactly this field (or of a text's first line, ``PATH|``), if known."""
        if field in self.elsewhere:
            return self.elsewhere[field]
        return Origin(self.origin.path, self.lines[field]) if field in self.lines else None

    def line_in(self, field: str, line: int) -> str:
        """``file:line`` of a line (1-based) of the text at ``field``, or of the field if the text has no lines."""
        text = f"{field}|"
        if line and text in self.elsewhere:
            return self.elsewhere[text].line_below(line)
        start = None if field in self.elsewhere else self.lines.get(text)
        return f"{self.origin.path}:{start + line - 1}" if line and start else self.line_of(field)


LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
SERVER_METADATA: Final = frozenset(
    {"creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "finalizers", "generation",
     "managedFields", "ownerReferences", "resourceVersion", "selfLink", "uid"}
)  # fmt: skip
"""Keys of ``metadata`` that have a meaning only in one cluster."""

# Of machine-controller, for MachineDeployments and MachineSets (revision, revision-history, desired-replicas,
# max-replicas), and of the deployment controller.
_CONTROLLERS: Final = ("machinedeployment.clusters.k8s.io/", "deployment.kubernetes.io/")


def is_server_annotation(key: str) -> bool:
    """Whether a controller or kubectl writes annotations with this key."""
    return key == LAST_APPLIED or key.startswith(_CONTROLLERS)


def authored_annotations(annotations: Mapping[str, Json] | None) -> dict[str, Json] | None:
    """Annotations without server-side ones; ``None`` if no other is left."""
    return {key: value for key, value in (annotations or {}).items() if not is_server_annotation(key)} or None


def server_annotations(annotations: Mapping[str, Json] | None) -> dict[str, Json]:
    """Only the server-side annotations."""
    return {key: value for key, value in (annotations or {}).items() if is_server_annotation(key)}


def authored(manifest: Manifest) -> dict[str, Json]:
    """An object without server-side metadata and status."""
    metadata = manifest.body.get("metadata") or {}
    kept: dict[str, Json] = {"name": manifest.ref.name, "namespace": manifest.ref.namespace}
    annotations = authored_annotations(metadata.get("annotations"))
    if annotations:
        kept["annotations"] = annotations
    if metadata.get("labels"):
        kept["labels"] = metadata["labels"]
    rest = {key: value for key, value in manifest.body.items() if key not in {"metadata", "status"}}
    return {key: _without_stamps(value) for key, value in rest.items()} | {"kind": manifest.ref.kind, "metadata": kept}


def _without_stamps(value: Json) -> Json:
    """A value without ``metadata.creationTimestamp: null``, which Go writes into embedded templates."""
    if not isinstance(value, Mapping):
        return value
    found = {key: _without_stamps(each) for key, each in value.items()}
    metadata = found.get("metadata")
    if isinstance(metadata, dict) and metadata.get("creationTimestamp", "") is None:
        left = {key: each for key, each in metadata.items() if key != "creationTimestamp"}
        return {**found, "metadata": left} if left else {key: each for key, each in found.items() if key != "metadata"}
    return found
