"""What an examination finds, a line each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum

from osm_gitops.errors import Code, Problem


class State(Enum):
    """``NOTE``: worth knowing, and nothing that the next run needs. ``FIX``: a run would fail or be
    refused, or somebody may read what they should not."""

    OK = "ok"
    NOTE = "note"
    FIX = "fix"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at. ``told`` need not be a problem: of what is fine it says what it is."""

    area: str
    state: State
    told: Problem


def ok(area: str, what: str) -> Finding:
    return Finding(area, State.OK, Problem(Code.UNCODED, what))


def note(area: str, what: str, how: str = "") -> Finding:
    return Finding(area, State.NOTE, Problem(Code.UNCODED, what, fix=how))


def fix(area: str, what: str, how: str = "") -> Finding:
    return Finding(area, State.FIX, Problem(Code.UNCODED, what, fix=how))


def found(area: str, problems: Iterable[Problem], state: State = State.FIX) -> Iterator[Finding]:
    """Problems as findings, each once."""
    return (Finding(area, state, problem) for problem in dict.fromkeys(problems))
