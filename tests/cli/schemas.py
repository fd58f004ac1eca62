"""Output for programs, compared with the JSON schema that is printed for it."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from jsonschema import Draft202012Validator

from osm_gitops.commands.schema import SCHEMAS, Described


def checked(name: str, text: str) -> dict[str, Any]:
    """A document that is valid by a schema, and has no key that the schema does not describe."""
    document: dict[str, Any] = json.loads(text)
    for validator in _validators(name):
        validator.validate(document)
    return document


@cache
def _validators(name: str) -> tuple[Draft202012Validator, ...]:
    schema = SCHEMAS[Described(name)]()
    return Draft202012Validator(schema), Draft202012Validator(_closed(schema))


def _closed(schema: Any) -> Any:
    """The schema with other keys forbidden: what users may not rely on, but tests do."""
    if isinstance(schema, list):
        return [_closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {key: _closed(value) for key, value in schema.items()}
    return closed | {"additionalProperties": False} if "required" in schema else closed
