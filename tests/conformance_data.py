"""What OSM itself produced: data of this repository, and data outside of it that hold OSM's own released profiles.

The repository has every case whose profile was written for this project, and all single templates. The other cases,
OSM's profiles and a cluster on which OSM has run lie in ``../shared/conformance``, and only tests that are marked
``conformance`` read them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest

DATA: Final = Path(__file__).resolve().parent / "conformance" / "data"
OUTSIDE: Final = Path(__file__).resolve().parent.parent.parent / "shared" / "conformance"


def _names(folder: Path) -> list[str]:
    return sorted(path.stem for path in (folder / "cases").glob("*.json"))


@cache
def case_names() -> tuple[str, ...]:
    """Names of the whole cases in the repository."""
    return tuple(_names(DATA))


@cache
def outside_names() -> tuple[str, ...]:
    """Names of the whole cases that lie outside; none where the data are not at hand."""
    return tuple(name for name in _names(OUTSIDE) if name not in case_names())


def cases(wanted: Callable[[dict[str, Any]], bool] = lambda _: True) -> list[pytest.ParameterSet]:
    """The names of all cases that are ``wanted``, as parameters of a test; those outside are marked."""
    return [
        *(pytest.param(name) for name in case_names() if wanted(load_case(name))),
        *(pytest.param(name, marks=pytest.mark.conformance) for name in outside_names() if wanted(load_case(name))),
    ]


def accepted(case: dict[str, Any]) -> bool:
    """Whether OSM made objects of a case."""
    return "objects" in case["expected"]


def load_case(name: str) -> dict[str, Any]:
    """One whole case, as the data's README describes it."""
    folder = DATA if name in case_names() else OUTSIDE
    case: dict[str, Any] = json.loads((folder / "cases" / f"{name}.json").read_text("utf-8"))
    return case


def released_profiles(pattern: str = "*/*.yaml") -> list[Path]:
    """Files of OSM's released profiles (``VERSION/NAME.yaml``), which lie outside; none where they are not at hand."""
    return sorted((OUTSIDE / "profiles").glob(pattern))


def outside(values: Iterable[Any]) -> list[pytest.ParameterSet]:
    """Parameters of a test that come from outside."""
    return [pytest.param(value, marks=pytest.mark.conformance) for value in values]


def template_lines() -> list[dict[str, Any]]:
    """All single templates with their expected output."""
    text = (DATA / "templates.jsonl").read_text("utf-8")
    return [json.loads(line) for line in text.splitlines() if line]
