"""Parts that all JSON reports share; ``schema_words.py`` has their schemas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from osm_gitops.errors import Problem

if TYPE_CHECKING:
    from osm_gitops.model.objects import Json, ObjectRef

HOME: Final = "https://osm-gitops.io"
"""Where the documentation is, in the domain of our API group; schemas have their identifiers there."""
FORMAT_VERSION: Final = "2.1"
"""The ``formatVersion`` of all reports. Keys may be added with its second number; the meaning of a key changes only
with the first."""


def object_json(ref: ObjectRef) -> dict[str, Json]:
    """An object's identity."""
    return {"kind": ref.kind, "namespace": ref.namespace, "name": ref.name}


def problem_json(problem: Problem) -> dict[str, Json]:
    """A problem, with the same keys in all reports and in the JSON log."""
    return {
        "code": problem.code.value,
        "message": problem.what,
        "where": problem.where,
        "object": problem.about,
        "field": problem.field,
        "fix": problem.fix,
    }
