"""Server-side apply: how metadata shows that an object is unchanged, and how fields of OSM become ours.

An applied object has an annotation with two digests: of its desired text, and of the paths of all fields that the apply
owned. The API server removes our ownership of a field when another writer changes or removes it (Kubernetes,
Server-Side Apply, "Conflicts"). So as long as the owned paths are the same and no other manager owns content, the
content is unchanged.

Server-side apply removes a field that is no longer desired only if no other manager owns it. OSM uses plain creates and
updates, so its fields would stay forever. Its entries in ``managedFields``, entries that a plain write left under our
own name, and revision stamps are merged into the entry of our applies; the next apply then removes what is not desired.
"""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final

from osm_gitops.kube.kinds import FIELD_MANAGER
from osm_gitops.model.live import FieldPath
from osm_gitops.model.objects import Json
from osm_gitops.render.manifests import ANNOTATIONS_HASH, REVISION

STAMPER: Final = "osm-gitops-refresh"
"""Field manager of revision stamps on objects that others apply from git."""

DIGEST: Final = "osm-gitops.io/digest"
CONTENT: Final = frozenset({"f:data", "f:stringData", "f:spec", "f:type", "f:immutable"})


def applied_body(body: Mapping[str, Json], digest: bytes) -> dict[str, Json]:
    """``body`` with the annotation of digests. ``digest`` is the SHA-256 of its desired text."""
    metadata = body["metadata"]
    annotations = {**(metadata.get("annotations") or {}), DIGEST: ""}
    sent = {**body, "metadata": {**metadata, "annotations": annotations}}
    annotations[DIGEST] = f"{digest.hex()}-{_digest_of(_leaves(_owned(sent)))}"
    return sent


def is_as_applied(metadata: Mapping[str, Json], digest: bytes) -> bool:
    """Whether live metadata proves that an object is what was applied with ``digest``. If not, compare its content."""
    recorded = (metadata.get("annotations") or {}).get(DIGEST, "")
    if not recorded.startswith(f"{digest.hex()}-"):
        return False
    if others_own_content(metadata):
        return False
    owned = [entry.get("fieldsV1") or {} for entry in metadata.get("managedFields") or () if is_our_apply(entry)]
    return bool(owned) and bool(recorded.endswith(f"-{_digest_of(_field_paths(owned[0]))}"))


def others_own_content(metadata: Mapping[str, Json]) -> bool:
    """Whether another manager owns content too, even if it wrote the same values."""
    return any(
        not CONTENT.isdisjoint(entry.get("fieldsV1") or {})
        for entry in metadata.get("managedFields") or ()
        if not is_our_apply(entry)
    )


def additional_owners(metadata: Mapping[str, Json]) -> tuple[str, ...]:
    """Managers of content that our apply does not own. Our applies do not remove it."""
    entries = metadata.get("managedFields") or ()
    ours = {path for entry in entries if is_our_apply(entry) for path in _content_paths(entry)}
    others = (entry for entry in entries if not is_our_apply(entry))
    return tuple(
        dict.fromkeys(str(each.get("manager")) for each in others if not ours.issuperset(_content_paths(each)))
    )


def as_sole_owner(metadata: Mapping[str, Json]) -> dict[str, Json]:
    """Metadata of a merge patch that makes our apply the only owner, if the object has not changed since.

    The API server accepts ``managedFields`` from clients if they are not empty.
    """
    ours = [entry for entry in metadata.get("managedFields") or () if is_our_apply(entry)]
    return {"uid": metadata["uid"], "resourceVersion": metadata["resourceVersion"], "managedFields": ours}


def owned_by_our_apply(metadata: Mapping[str, Json]) -> list[FieldPath]:
    """Paths of the fields that our applies own."""
    entries = (entry for entry in metadata.get("managedFields") or () if is_our_apply(entry))
    return sorted(tuple(path.split("\0")[1:]) for each in entries for path in _field_paths(each.get("fieldsV1") or {}))


def is_our_apply(entry: Mapping[str, Json]) -> bool:
    """Whether an entry of ``managedFields`` belongs to our applies."""
    return entry.get("manager") == FIELD_MANAGER and entry.get("operation") == "Apply" and not entry.get("subresource")


def _content_paths(entry: Mapping[str, Json]) -> Iterator[str]:
    fields = entry.get("fieldsV1") or {}
    return _field_paths({key: inner for key, inner in fields.items() if key in CONTENT})


def _owned(body: Mapping[str, Json]) -> dict[str, Json]:
    """The part of a body that an apply owns: all but its identity."""
    metadata = {key: value for key, value in body["metadata"].items() if key not in {"name", "namespace"}}
    rest = {key: value for key, value in body.items() if key not in {"apiVersion", "kind", "metadata"}}
    return {**rest, "metadata": metadata}


def _leaves(value: Mapping[str, Json], path: str = "") -> Iterator[str]:
    """Paths of all leaves. Lists and empty maps are leaves."""
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


OSM_MANAGER: Final = "osm-controller"
OSM_MANAGERS: Final = frozenset({OSM_MANAGER, "osc-controller", "osp-controller", "operating-system-manager"})
"""Field managers of OSM. It sets none, so API servers use the name of its program: today ``osm-controller``, in early
releases one for each kind."""

_MARKS: Final = frozenset({f"f:{ANNOTATIONS_HASH}", f"f:{REVISION}"})
_CONTENT: Final = frozenset({"f:data", "f:spec"})


def taken_over(managed_fields: Sequence[Mapping[str, Json]]) -> list[Json] | None:
    """``managedFields`` with the fields of OSM and of our plain writes moved to our applies; ``None`` if there are
    none."""
    taken = [entry for entry in managed_fields if _is_taken(entry)]
    if not taken:
        return None
    ours = [entry for entry in managed_fields if is_our_apply(entry)]
    others = [entry for entry in managed_fields if entry not in taken and entry not in ours]
    fields: dict[str, Json] = {}
    for entry in (*ours, *taken):
        _add(fields, entry.get("fieldsV1") or {})
    first = (*ours, *taken)[0]
    return [{**first, "manager": FIELD_MANAGER, "operation": "Apply", "fieldsV1": fields}, *others]


def owning_all_content(managed_fields: Sequence[Mapping[str, Json]]) -> list[Json]:
    """``managedFields`` in which our applies own all content. Other fields keep their owners."""
    ours = next(entry for entry in managed_fields if is_our_apply(entry))
    fields = copy.deepcopy(ours["fieldsV1"])
    left = []
    for entry in (each for each in managed_fields if each is not ours):
        theirs = entry.get("fieldsV1") or {}
        _add(fields, {key: inner for key, inner in theirs.items() if key in CONTENT})
        rest = {key: inner for key, inner in theirs.items() if key not in CONTENT}
        left += [{**entry, "fieldsV1": rest}] if rest else []
    return [{**ours, "fieldsV1": fields}, *left]


def owning_everything(body: Mapping[str, Json]) -> list[Json]:
    """``managedFields`` in which our applies own all labels, annotations and content of an object without owners.

    Server-side apply would attribute such content to ``before-first-apply``, and refuse to change it.
    """
    metadata = {key: body["metadata"][key] for key in ("labels", "annotations") if body["metadata"].get(key)}
    content = {key: body[key] for key in sorted(each.removeprefix("f:") for each in CONTENT) if key in body}
    entry = {"manager": FIELD_MANAGER, "operation": "Apply", "apiVersion": body["apiVersion"], "fieldsType": "FieldsV1"}
    return [{**entry, "fieldsV1": _paths({**content, "metadata": metadata})}]


def released(managed_fields: Sequence[Mapping[str, Json]], marks: Collection[str]) -> list[Json]:
    """``managedFields`` in which OSM owns our fields. ``marks`` are the keys of labels and annotations to drop.

    The next server-side apply would attribute an object without owners to ``before-first-apply``.
    """
    ours = [entry for entry in managed_fields if entry.get("manager") in {FIELD_MANAGER, STAMPER}]
    theirs = [entry for entry in managed_fields if _is_update_of_osm(entry)]
    others = [entry for entry in managed_fields if entry not in ours and entry not in theirs]
    fields: dict[str, Json] = {}
    for entry in (*theirs, *ours):
        _add(fields, entry.get("fieldsV1") or {})
    metadata = fields.get("f:metadata") or {}
    for part in ("f:labels", "f:annotations"):
        left = {key: inner for key, inner in metadata.pop(part, {}).items() if key.removeprefix("f:") not in marks}
        if left.keys() - {"."}:
            metadata[part] = left
    if not metadata:
        fields.pop("f:metadata", None)
    if not fields:
        return others or [{}]  # makes the API server drop all entries
    first = (*theirs, *ours)[0]
    return [*others, {**first, "manager": OSM_MANAGER, "operation": "Update", "fieldsV1": fields}]


def owners(managed_fields: Sequence[Mapping[str, Json]]) -> str:
    """Names of the managers whose fields :func:`taken_over` takes over, for people."""
    return ", ".join(sorted({str(entry.get("manager")) for entry in managed_fields if _is_taken(entry)}))


def _is_taken(entry: Mapping[str, Json]) -> bool:
    if entry.get("subresource"):
        return False
    if entry.get("operation") != "Update":
        return entry.get("manager") == STAMPER  # the object was applied from git before
    return entry.get("manager") in {FIELD_MANAGER, *OSM_MANAGERS} or _wrote_as_osm(entry.get("fieldsV1") or {})


def _wrote_as_osm(fields: Mapping[str, Json]) -> bool:
    """Whether a manager wrote content and OSM's annotations: OSM under another name, or a restored backup."""
    annotations = (fields.get("f:metadata") or {}).get("f:annotations") or {}
    return not _CONTENT.isdisjoint(fields) and not _MARKS.isdisjoint(annotations)


def _is_update_of_osm(entry: Mapping[str, Json]) -> bool:
    is_update = entry.get("operation") == "Update" and not entry.get("subresource")
    return is_update and entry.get("manager") in OSM_MANAGERS


def _paths(value: Mapping[str, Json]) -> dict[str, Json]:
    """``value`` as a ``fieldsV1``: a list is owned as a owning_everything, and so is an empty map."""
    return {
        f"f:{key}": _paths(inner) if isinstance(inner, Mapping) and inner else {}
        for key, inner in value.items()
        if key != "metadata" or inner
    }


def _add(fields: dict[str, Json], more: Mapping[str, Json]) -> None:
    for key, inner in more.items():
        if key in fields:
            _add(fields[key], inner)
        else:
            fields[key] = copy.deepcopy(inner)
