"""The recorded answers of Go's libraries (see vectors/README.md)."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from osm_gitops.gocompat.fault import GoError

_FOLDER = Path(__file__).parent / "vectors"


def differences(library: str, encode: Callable[[Any], str]) -> list[tuple[Any, str, str]]:
    """Every value that ``encode`` writes otherwise than the library: value, Go's text, ours."""
    lines = (_FOLDER / f"{library}.jsonl").read_text("utf-8").splitlines()
    assert len(lines) > 500
    found = []
    for line in lines:
        recorded = json.loads(line)
        wanted = recorded.get("text", "an error")
        try:
            written = encode(recorded["value"])
        except GoError:
            written = "an error"
        if written != wanted:
            found.append((recorded["value"], wanted, written))
    return found
