"""What all our JSON reports say alike; ``schema_words.py`` describes it."""

from __future__ import annotations

from osm_gitops.errors import Problem
from osm_gitops.model.objects import Json, ObjectRef


def object_json(ref: ObjectRef) -> dict[str, Json]:
    """An object's name."""
    return {"kind": ref.kind, "namespace": ref.namespace, "name": ref.name}


def problem_json(problem: Problem) -> dict[str, Json]:
    """A problem with its place and what to do about it."""
    return {
        "what": problem.what,
        "where": problem.where,
        "about": problem.about,
        "field": problem.field,
        "fix": problem.fix,
    }
