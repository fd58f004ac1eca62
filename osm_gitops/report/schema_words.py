"""Building blocks of our JSON schemas. Keys may be added; their meaning changes only with the first number."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from osm_gitops.model.objects import Json
from osm_gitops.report.json_words import FORMAT_VERSION, HOME

COUNT: Final = {"type": "integer", "minimum": 0}


def head(name: str, title: str) -> dict[str, Json]:
    """The first keys of a schema, draft 2020-12. Its ``$id`` contains the ``formatVersion``."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"{HOME}/{name}/{FORMAT_VERSION}/{name}.schema.json",
        "title": f"{title} of osm-gitops, format {FORMAT_VERSION}",
    }


def format_version() -> dict[str, Json]:
    version = text("Version of this format; the meaning of a key changes only with the first number.")
    return version | {"pattern": f"^{FORMAT_VERSION.split('.', maxsplit=1)[0]}\\."}


def text(description: str) -> dict[str, Json]:
    return {"type": "string", "description": description}


def texts(description: str) -> dict[str, Json]:
    return {"type": "array", "items": {"type": "string"}, "description": description}


def ref(name: str, description: str) -> dict[str, Json]:
    """A reference to a definition of the schema."""
    return {"$ref": f"#/$defs/{name}", "description": description}


def listing(name: str, description: str) -> dict[str, Json]:
    """A list of objects of a definition."""
    return {"type": "array", "items": {"$ref": f"#/$defs/{name}"}, "description": description}


def record(description: str, **properties: Mapping[str, Json]) -> dict[str, Json]:
    """An object whose keys are all required; later minor versions may add others."""
    return {"description": description, "type": "object", "properties": properties, "required": list(properties)}


def optional_text(description: str) -> dict[str, Json]:
    """A text, or null."""
    return {"type": ["string", "null"], "description": description}


def optional_ref(name: str, description: str) -> dict[str, Json]:
    """A reference to a definition of the schema, or null."""
    return {"anyOf": [{"$ref": f"#/$defs/{name}"}, {"type": "null"}], "description": description}


def truth(description: str) -> dict[str, Json]:
    return {"type": "boolean", "description": description}


OBJECT: Final[dict[str, dict[str, Json]]] = {
    "kind": text("Its kind."),
    "namespace": text("Its namespace; empty for one without."),
    "name": text("Its name."),
}
PROBLEM: Final[dict[str, dict[str, Json]]] = {
    "code": text("The kind of problem, such as OG1103; see osm-gitops explain-code."),
    "message": text("What is wrong."),
    "where": text("A file with its line, a flag, or a variable."),
    "object": text("The object that has the problem."),
    "field": text("The field in that object."),
    "fix": text("What to do about it."),
}

PROBLEM_RECORD: Final = record("A problem. Texts that do not apply are empty.", **PROBLEM)
