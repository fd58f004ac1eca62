"""Asks the Go oracle (tests/oracle): requests in, answers out, both as JSON lines."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from osm_gitops.gocompat.text import normalise
from osm_gitops.gotemplate.values import IP, MetaDuration, Nil, Pointer, Struct

_BINARY = Path(__file__).parent.parent / ".tools" / "oracle"

Answer = Mapping[str, Any]
"""``{"output": …}`` or ``{"error": "…"}``."""


def ask(requests: Iterable[Mapping[str, Any]]) -> list[Answer]:
    """An answer to every request, in order."""
    if not _BINARY.exists():
        raise AssertionError(f"the Go oracle is not built at {_BINARY}; run `make test-all`")
    lines = [json.dumps(request) for request in requests]
    ran = subprocess.run([_BINARY], input="\n".join([*lines, ""]), capture_output=True, text=True, check=False)
    answers = [json.loads(line) for line in ran.stdout.split("\n") if line]
    if len(answers) < len(lines):
        raise AssertionError(f"the Go oracle died of {lines[len(answers)]}:\n{ran.stderr[:2000]}")
    return answers


def for_oracle(value: Any) -> Any:
    """Template data of osm_gitops as the oracle reads it."""
    match value:
        case str():
            return normalise(value)
        case Nil():
            return None
        case Pointer():
            return for_oracle(value.elem)
        case MetaDuration():
            return value.Duration.String()
        case IP():
            return value.text
        case Struct():
            return {name: for_oracle(getattr(value, name)) for name in value.field_names()}
        case dict():
            return {key: for_oracle(each) for key, each in value.items()}
        case list():
            return [for_oracle(each) for each in value]
    return value
