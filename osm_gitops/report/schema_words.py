"""The words of our JSON schemas. Keys may be added to what they describe; a new first number means another meaning."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from osm_gitops.model.objects import Json
from osm_gitops.report.json_words import FORMAT_VERSION

COUNT: Final = {"type": "integer", "minimum": 0}


def head(name: str, title: str) -> dict[str, Json]:
    """The first keys of a schema, draft 2020-12. Its ``$id`` bears the ``formatVersion``."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"https://osm-gitops.io/{name}/{FORMAT_VERSION}/{name}.schema.json",
        "title": f"{title} of osm-gitops, format {FORMAT_VERSION}",
    }


def format_version() -> dict[str, Json]:
    """The key ``formatVersion``."""
    told = text("Version of this format; the meaning of a key changes only with the first number.")
    return told | {"pattern": f"^{FORMAT_VERSION.split('.', maxsplit=1)[0]}\\."}


def text(description: str) -> dict[str, Json]:
    """A text."""
    return {"type": "string", "description": description}


def texts(description: str) -> dict[str, Json]:
    """A list of texts."""
    return {"type": "array", "items": {"type": "string"}, "description": description}


def ref(name: str, description: str) -> dict[str, Json]:
    """A definition of the same schema."""
    return {"$ref": f"#/$defs/{name}", "description": description}


def listing(name: str, description: str) -> dict[str, Json]:
    """A list of what a definition describes."""
    return {"type": "array", "items": {"$ref": f"#/$defs/{name}"}, "description": description}


def record(description: str, **properties: Mapping[str, Json]) -> dict[str, Json]:
    """An object: all keys are always there; others may come with later minor versions."""
    return {"description": description, "type": "object", "properties": properties, "required": list(properties)}


def optional_text(description: str) -> dict[str, Json]:
    """A text, or null."""
    return {"type": ["string", "null"], "description": description}


def truth(description: str) -> dict[str, Json]:
    """True or false."""
    return {"type": "boolean", "description": description}


OBJECT: Final[dict[str, dict[str, Json]]] = {
    "kind": text("Its kind."),
    "namespace": text("Its namespace; empty for one without."),
    "name": text("Its name."),
}
PROBLEM: Final[dict[str, dict[str, Json]]] = {
    "code": text("The kind of problem, such as OG1103; see osm-gitops explain-code."),
    "message": text("What is wrong, as a sentence."),
    "where": text("A file with its line, a flag, or a variable."),
    "object": text("The object that it is about."),
    "field": text("The field in that object."),
    "fix": text("What to do about it, as a sentence."),
}

PROBLEM_RECORD: Final = record("One thing that is wrong. Texts that do not apply are empty.", **PROBLEM)
