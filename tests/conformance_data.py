"""Where the conformance data lies: what OSM itself produced, beside the project's root."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

CONFORMANCE = Path(__file__).resolve().parent.parent.parent / "shared" / "conformance"


def case_names() -> list[str]:
    """Names of all whole cases; an empty folder is an error, not an empty test run."""
    names = sorted(path.stem for path in (CONFORMANCE / "cases").glob("*.json"))
    if not names:
        message = f"no conformance cases in {CONFORMANCE}: the folder shared/conformance must lie beside the project"
        raise FileNotFoundError(message)
    return names


def load_case(name: str) -> dict[str, Any]:
    """One whole case, as the data's README describes it."""
    case: dict[str, Any] = json.loads((CONFORMANCE / "cases" / f"{name}.json").read_text("utf-8"))
    return case


def template_lines() -> list[dict[str, Any]]:
    """All single templates with their expected output."""
    text = (CONFORMANCE / "templates.jsonl").read_text("utf-8")
    return [json.loads(line) for line in text.splitlines() if line]
