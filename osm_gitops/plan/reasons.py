"""Why an object changes, in a few words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from osm_gitops.errors import some
from osm_gitops.model.objects import Json
from osm_gitops.model.plan import TextChange
from osm_gitops.model.profile import BUILT_IN_ANNOTATION
from osm_gitops.render.manifests import ANNOTATIONS_HASH, PROFILE_VERSION, REVISION, TEMPLATE_DIGEST

_NAMED_TEXTS = 3


def why_changed(before: Mapping[str, Json], after: Mapping[str, Json], texts: Sequence[TextChange]) -> str:
    """Causes shown by annotations, then the names of ``texts`` that differ, without values."""
    old, new = _annotations(before), _annotations(after)
    causes = list(_causes(old, new))
    changes = [change for change in texts if change.name != "metadata"]
    if changes:
        causes.append(_inside(changes))
    elif not causes:
        causes.append(f"only metadata: {', '.join(_changed_metadata(before, after))}")
    return "; ".join(causes)


def _causes(old: Mapping[str, str], new: Mapping[str, str]) -> Iterator[str]:
    if old.get(PROFILE_VERSION) != new.get(PROFILE_VERSION):
        yield f"profile version {old.get(PROFILE_VERSION, 'unknown')} → {new.get(PROFILE_VERSION, 'unknown')}"
    if old.get(BUILT_IN_ANNOTATION) != new.get(BUILT_IN_ANNOTATION):
        yield f"built-in profile {old.get(BUILT_IN_ANNOTATION, 'none')} → {new.get(BUILT_IN_ANNOTATION, 'none')}"
    if old.get(REVISION) != new.get(REVISION):
        yield f"MachineDeployment revision {_shown(old.get(REVISION))} → {_shown(new.get(REVISION))}"
    if old.get(ANNOTATIONS_HASH) != new.get(ANNOTATIONS_HASH):
        yield "MachineDeployment annotations changed"
    if TEMPLATE_DIGEST in old and old[TEMPLATE_DIGEST] != new.get(TEMPLATE_DIGEST):
        yield "MachineDeployment template changed"


def _shown(value: str | None) -> str:
    return "not set" if value is None else value or '""'


def _inside(changes: list[TextChange]) -> str:
    groups = (
        ("new", [change.name for change in changes if change.before is None]),
        ("gone", [change.name for change in changes if change.after is None]),
        ("changed", [change.name for change in changes if change.before is not None and change.after is not None]),
    )
    return ", ".join(f"{verb}: {some(names, _NAMED_TEXTS)}" for verb, names in groups if names)


def _changed_metadata(before: Mapping[str, Json], after: Mapping[str, Json]) -> list[str]:
    old, new = before.get("metadata") or {}, after.get("metadata") or {}
    changed = []
    for field in ("name", "namespace", "labels", "annotations"):
        ours, theirs = old.get(field) or {}, new.get(field) or {}
        if isinstance(ours, Mapping) and isinstance(theirs, Mapping):
            changed += [key for key in sorted({*ours, *theirs}) if ours.get(key) != theirs.get(key)]
        elif ours != theirs:
            changed.append(field)
    return changed or sorted(key for key in {*old, *new} if old.get(key) != new.get(key))


def _annotations(body: Mapping[str, Json]) -> Mapping[str, str]:
    metadata = body.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, Mapping) else None
    return annotations if isinstance(annotations, Mapping) else {}
