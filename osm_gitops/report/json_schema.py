"""The JSON schema of ``plan --output json``. Keys may be added; a new first number means another meaning."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from osm_gitops.model.desired import Side
from osm_gitops.model.objects import Json
from osm_gitops.model.plan import Action
from osm_gitops.report.json_report import FORMAT_VERSION

_COUNT: Final = {"type": "integer", "minimum": 0}


def plan_schema() -> dict[str, Json]:
    """The schema; draft 2020-12. Its ``$id`` bears the ``formatVersion``."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"https://osm-gitops.io/plan/{FORMAT_VERSION}/plan.schema.json",
        "title": f"Plan of osm-gitops, format {FORMAT_VERSION}",
        **_object(
            "What apply would do. No secret is in it.",
            formatVersion=_text("Version of this format; the meaning of a key changes only with the first number.")
            | {"pattern": f"^{FORMAT_VERSION.split('.', maxsplit=1)[0]}\\."},
            hasChanges={"type": "boolean", "description": "Whether apply would change anything."},
            summary=_ref("summary", "Objects of all clusters, counted by what happens to them."),
            clusters=_list("cluster", "One plan for each cluster that could be planned, in the fleet's order."),
        ),
        "$defs": {
            "summary": _object("How many objects meet each action.", **{action.value: _COUNT for action in Action}),
            "object": _object("One Kubernetes object.", **_OBJECT),
            "problem": _object("One thing that is wrong. Texts that do not apply are empty.", **_PROBLEM),
            "diff": _object("A change inside an object: of a file, a unit, or a field.", **_DIFF),
            "change": _object("What happens to one object.", **_OBJECT, **_change()),
            "cluster": _object("The plan of one cluster.", **_cluster()),
        },
    }


def _text(description: str) -> dict[str, Json]:
    return {"type": "string", "description": description}


def _ref(name: str, description: str) -> dict[str, Json]:
    return {"$ref": f"#/$defs/{name}", "description": description}


def _list(name: str, description: str) -> dict[str, Json]:
    return {"type": "array", "items": {"$ref": f"#/$defs/{name}"}, "description": description}


def _object(description: str, **properties: Mapping[str, Json]) -> dict[str, Json]:
    """All keys are always there; others may come with later minor versions."""
    return {"description": description, "type": "object", "properties": properties, "required": list(properties)}


_OBJECT: Final[dict[str, dict[str, Json]]] = {
    "kind": _text("Its kind."),
    "namespace": _text("Its namespace; empty for one without."),
    "name": _text("Its name."),
}
_PROBLEM: Final[dict[str, dict[str, Json]]] = {
    "what": _text("What is wrong, as a sentence."),
    "where": _text("A file with its line, a flag, or a variable."),
    "about": _text("The object that it is about."),
    "field": _text("The field in that object."),
    "fix": _text("What to do about it, as a sentence."),
}
_DIFF: Final[dict[str, dict[str, Json]]] = {
    "name": _text("What changes: a half and a path such as bootstrap /opt/bin/bootstrap, or a field."),
    "state": {"enum": ["changed", "new", "gone"], "description": "What happens to it."},
    "added": _COUNT | {"description": "Lines that are added."},
    "removed": _COUNT | {"description": "Lines that are removed."},
    "lines": {"type": "array", "items": {"type": "string"}, "description": "The unified diff, masked."},
}


def _change() -> dict[str, Json]:
    pool = {"anyOf": [{"$ref": "#/$defs/object"}, {"type": "null"}], "description": "The MachineDeployment it is of."}
    return {
        "side": {"enum": [side.value for side in Side], "description": "The cluster that it belongs to."},
        "action": {"enum": [action.value for action in Action], "description": "What happens to it."},
        "reason": _text("Why, as a sentence."),
        "pool": pool,
        "upkeep": {
            "type": "boolean",
            "description": "Tokens and finalizers: apply keeps them, machines see no change.",
        },
        "diffs": _list("diff", "What changes inside; for new and deleted objects only with --verbose."),
    }


def _cluster() -> dict[str, Json]:
    failed = _object(
        "A pool that could not be rendered; its objects stay as they are.",
        pool={"$ref": "#/$defs/object"},
        problems=_list("problem", "All reasons."),
    )
    left = _object(
        "A pool of a live cluster that apply passes over for now.",
        pool={"$ref": "#/$defs/object"},
        reason=_text("Why."),
    )
    pools = _object(
        "Pools, counted.",
        **dict.fromkeys(("desired", "changed", "deleted", "failed"), _COUNT),
    )
    return {
        "name": _text("Name of the cluster."),
        "sources": {
            "type": "array",
            "items": {"type": "string"},
            "description": "Where its objects were read, each with its git revision where it has one.",
        },
        "hosts": {
            "type": "array",
            "items": {"type": "string"},
            "description": "The API servers that were read or would be written; none for trees and git.",
        },
        "summary": _ref("summary", "Its objects, counted by what happens to them."),
        "pools": pools,
        "changes": _list("change", "Objects to which something happens; unchanged ones are only counted."),
        "layout": {
            "type": "array",
            "items": {"type": "string"},
            "description": "Files beside the objects that are written, such as kustomization.yaml.",
        },
        "left": {"type": "array", "items": left, "description": "Pools that have to wait, such as paused ones."},
        "kept": _list("object", "Objects of pools that failed or were left out; they stay as they are."),
        "notDeleted": _list("object", "Objects that would go if noDeletion did not forbid it."),
        "noDeletion": _list("problem", "Why this run deletes nothing."),
        "failed": {"type": "array", "items": failed, "description": "Pools that could not be rendered."},
        "warnings": _list("problem", "What will hurt, though it can be done."),
        "refusals": _list("problem", "Why apply would refuse this cluster."),
    }
