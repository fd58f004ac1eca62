"""docs/explanation/dependencies.md has a row for each dependency of pyproject.toml, and no other."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
_ROW = re.compile(r"^\| `([a-z0-9-]+)` \|", re.MULTILINE)


def _names(requirements: list[Any]) -> list[str]:
    return sorted(found[0] for each in requirements if (found := re.match(r"[\w.-]+", each)))


def _rows(heading: str) -> list[str]:
    text = (ROOT / "docs" / "explanation" / "dependencies.md").read_text("utf-8")
    return sorted(_ROW.findall(text.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]))


def test_each_dependency_has_a_row() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    extras = project["project"]["optional-dependencies"].values()
    groups = project["dependency-groups"].values()
    assert _rows("At run time") == _names(project["project"]["dependencies"])
    assert _rows("Extras") == _names([each for extra in extras for each in extra])
    assert _rows("For development") == _names([each for group in groups for each in group])
