"""What server-side apply leaves on an object, so that its metadata alone tell whether it is still what was applied.

An applied object carries the digest of its desired text, and beside it one of the paths of all fields that the apply
owned. The API server takes a field from us as soon as another writer changes or removes it (Kubernetes, Server-Side
Apply, "Conflicts"), so while the owned paths are the same and nobody else owns content, the content is the same.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Final

from osm_gitops.kube.kinds import FIELD_MANAGER
from osm_gitops.model.live import FieldPath
from osm_gitops.model.objects import Json

STAMPER: Final = "osm-gitops-refresh"
"""Field manager of revision stamps, which are set on what others apply from git."""

DIGEST: Final = "osm-gitops.io/digest"
CONTENT: Final = frozenset({"f:data", "f:stringData", "f:spec", "f:type", "f:immutable"})


def applied_body(body: Mapping[str, Json], digest: bytes) -> dict[str, Json]:
    """``body`` as it is sent to the API server: with ``digest``, the SHA-256 of its desired text."""
    metadata = body["metadata"]
    annotations = {**(metadata.get("annotations") or {}), DIGEST: ""}
    sent = {**body, "metadata": {**metadata, "annotations": annotations}}
    annotations[DIGEST] = f"{digest.hex()}-{_digest_of(_leaves(_owned(sent)))}"
    return sent


def is_as_applied(metadata: Mapping[str, Json], digest: bytes) -> bool:
    """Whether an object with this live metadata is for certain what was last applied with ``digest``.

    False means no more than that its content has to be looked at.
    """
    told = (metadata.get("annotations") or {}).get(DIGEST, "")
    if not told.startswith(f"{digest.hex()}-"):
        return False
    if others_own_content(metadata):
        return False
    owned = [entry.get("fieldsV1") or {} for entry in metadata.get("managedFields") or () if is_our_apply(entry)]
    return bool(owned) and bool(told.endswith(f"-{_digest_of(_field_paths(owned[0]))}"))


def others_own_content(metadata: Mapping[str, Json]) -> bool:
    """Whether another writer owns content too, if only because it once wrote the same."""
    return any(
        not CONTENT.isdisjoint(entry.get("fieldsV1") or {})
        for entry in metadata.get("managedFields") or ()
        if not is_our_apply(entry)
    )


def adders(metadata: Mapping[str, Json]) -> tuple[str, ...]:
    """Who owns content that our apply does not: it stays beside what we apply, however often we do."""
    entries = metadata.get("managedFields") or ()
    ours = {path for entry in entries if is_our_apply(entry) for path in _content_paths(entry)}
    others = (entry for entry in entries if not is_our_apply(entry))
    return tuple(
        dict.fromkeys(str(each.get("manager")) for each in others if not ours.issuperset(_content_paths(each)))
    )


def without_others(metadata: Mapping[str, Json]) -> dict[str, Json]:
    """The metadata of a merge patch that leaves no owner but our apply, if nobody writes in between.

    The API server takes the ``managedFields`` that a client sends, as long as they are not empty.
    """
    ours = [entry for entry in metadata.get("managedFields") or () if is_our_apply(entry)]
    return {"uid": metadata["uid"], "resourceVersion": metadata["resourceVersion"], "managedFields": ours}


def owned_by_our_apply(metadata: Mapping[str, Json]) -> list[FieldPath]:
    """The paths of the fields that our applies own."""
    entries = (entry for entry in metadata.get("managedFields") or () if is_our_apply(entry))
    return sorted(tuple(path.split("\0")[1:]) for each in entries for path in _field_paths(each.get("fieldsV1") or {}))


def is_our_apply(entry: Mapping[str, Json]) -> bool:
    """Whether an entry of ``managedFields`` is that of our applies."""
    return entry.get("manager") == FIELD_MANAGER and entry.get("operation") == "Apply" and not entry.get("subresource")


def _content_paths(entry: Mapping[str, Json]) -> Iterator[str]:
    fields = entry.get("fieldsV1") or {}
    return _field_paths({key: inner for key, inner in fields.items() if key in CONTENT})


def _owned(body: Mapping[str, Json]) -> dict[str, Json]:
    """The part of a body that its applier owns: all but its identity."""
    metadata = {key: value for key, value in body["metadata"].items() if key not in {"name", "namespace"}}
    rest = {key: value for key, value in body.items() if key not in {"apiVersion", "kind", "metadata"}}
    return {**rest, "metadata": metadata}


def _leaves(value: Mapping[str, Json], path: str = "") -> Iterator[str]:
    """Paths of all leaves; a list is one, and so is an empty map."""
    for key, inner in value.items():
        if isinstance(inner, Mapping) and inner:
            yield from _leaves(inner, f"{path}\0{key}")
        else:
            yield f"{path}\0{key}"


def _field_paths(fields: Mapping[str, Json], path: str = "") -> Iterator[str]:
    """Paths of all leaves of a ``fieldsV1``."""
    for key, inner in fields.items():
        if key == ".":
            continue
        here = f"{path}\0{key.removeprefix('f:')}"
        if inner:
            yield from _field_paths(inner, here)
        else:
            yield here


def _digest_of(paths: Iterator[str]) -> str:
    return hashlib.sha256("\n".join(sorted(paths)).encode()).hexdigest()[:16]
