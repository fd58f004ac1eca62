"""The JSON schemas of ``plan --output json`` and of the log."""

from __future__ import annotations

from typing import Final

from osm_gitops.model.desired import Side
from osm_gitops.model.objects import Json
from osm_gitops.model.plan import Action
from osm_gitops.model.promotion import Step
from osm_gitops.report.schema_words import (
    COUNT,
    OBJECT,
    PROBLEM_RECORD,
    format_version,
    head,
    listing,
    optional_ref,
    optional_text,
    record,
    ref,
    text,
    texts,
    truth,
)


def plan_schema() -> dict[str, Json]:
    """The JSON schema, draft 2020-12. Its ``$id`` contains the ``formatVersion``."""
    return {
        **head("plan", "Plan"),
        **record(
            "What apply would do. Contains no secret.",
            formatVersion=format_version(),
            hasChanges=truth("Whether apply would change anything."),
            summary=ref("summary", "Objects of all clusters, counted by action."),
            clusters=listing("cluster", "One plan for each cluster that could be planned, in the fleet's order."),
        ),
        "$defs": {
            "summary": record("Number of objects by action.", **{action.value: COUNT for action in Action}),
            "object": record("One Kubernetes object.", **OBJECT),
            "problem": PROBLEM_RECORD,
            "diff": record("A change inside an object: of a file, a unit, or a field.", **_DIFF),
            "change": record("What happens to one object.", **OBJECT, **_change()),
            "cluster": record("The plan of one cluster.", **_cluster()),
        },
    }


_DIFF: Final[dict[str, dict[str, Json]]] = {
    "name": text("What changes: a half and a path such as bootstrap /opt/bin/bootstrap, or a field."),
    "state": {"enum": ["changed", "new", "gone"], "description": "What happens to it."},
    "added": COUNT | {"description": "Lines that are added."},
    "removed": COUNT | {"description": "Lines that are removed."},
    "lines": texts("The unified diff, masked."),
    "instead": text("Why there is no diff and no number of lines; else empty."),
}


def _change() -> dict[str, Json]:
    return {
        "side": {"enum": [side.value for side in Side], "description": "The cluster that it belongs to."},
        "action": {"enum": [action.value for action in Action], "description": "What happens to it."},
        "reason": text("Why."),
        "pool": optional_ref("object", "Its MachineDeployment."),
        "upkeep": truth("Whether it is maintenance of tokens or finalizers, which does not affect machines."),
        "diffs": listing("diff", "What changes inside; for new and deleted objects only with --verbose."),
    }


def _cluster() -> dict[str, Json]:
    failed = record(
        "A pool that could not be rendered; its objects do not change.",
        pool={"$ref": "#/$defs/object"},
        problems=listing("problem", "All reasons."),
    )
    left = record(
        "A pool that apply skips for now.",
        pool={"$ref": "#/$defs/object"},
        code=text("Why, as a word for programs, such as paused or not-numbered."),
        reason=text("Why."),
        since=optional_text("Since when; null if no record of runs was read."),
        fix=text("The next step."),
    )
    promotion = record(
        "The revision of the shared inputs (profiles, overlays, defaults, settings) of a cluster in a wave.",
        wave=text("Its wave."),
        step={"enum": [step.value for step in Step], "description": "What the run does with the cluster."},
        commit=optional_text("Commit that it is rendered from; null if that is not known or not committed."),
        newest=text("The newest commit."),
        offered=optional_text("Commit that it waits for."),
        after=optional_text("The wave before."),
        since=optional_text("Since when the whole wave before has what is offered, RFC 3339; null if it lacks it."),
        until=optional_text("End of the time that they must have it, RFC 3339."),
        reasons=texts("Why it waits."),
    )
    pools = record(
        "Pools, counted.",
        **dict.fromkeys(("desired", "changed", "deleted", "failed"), COUNT),
    )
    return {
        "name": text("Name of the cluster."),
        "sources": texts("Where its objects were read, with the git revision if there is one."),
        "hosts": texts("The API servers to read and write; none for trees and git."),
        "summary": ref("summary", "Its objects, counted by action."),
        "pools": pools,
        "changes": listing("change", "Objects that change; unchanged ones are only counted."),
        "promotion": {"anyOf": [promotion, {"type": "null"}], "description": "Its wave; null if it is in none."},
        "layout": texts("Files to write besides the objects, such as kustomization.yaml."),
        "left": {"type": "array", "items": left, "description": "Pools that have to wait, such as paused ones."},
        "kept": listing("object", "Objects that stay: those of failed or skipped pools, and profiles of others."),
        "notDeleted": listing("object", "Objects that would be deleted without noDeletion."),
        "noDeletion": listing("problem", "Why this run deletes nothing."),
        "failed": {"type": "array", "items": failed, "description": "Pools that could not be rendered."},
        "warnings": listing("problem", "Warnings."),
        "refusals": listing("problem", "Why apply would refuse this cluster."),
    }


def log_schema() -> dict[str, Json]:
    """The schema of one line of stderr with ``--log-format json``."""
    parts = {
        "time": text("Time in UTC with milliseconds."),
        "level": {"enum": ["debug", "info", "warning", "error"], "description": "How much it matters."},
        "message": text("The message, as in text."),
        "cluster": text("The cluster that it belongs to."),
        "pool": text("The pool that it belongs to, as namespace/name."),
        "problem": ref("problem", "The error or warning."),
        "fields": {"type": "object", "description": "Other parts, such as pools, done and total."},
    }
    return {
        **head("log", "Log"),
        **record("One line of the log. Contains no secret.", **parts),
        "required": ["time", "level", "message"],
        "$defs": {"problem": PROBLEM_RECORD},
    }
