"""What checks of known names and of texts have in common."""

from __future__ import annotations

import difflib
from collections.abc import Collection
from typing import Final

_LONGEST_NAME: Final = 80


def words(text: str) -> frozenset[str]:
    """The words of a table that is written as text."""
    return frozenset(text.split())


def closest_match(name: str, known: Collection[str]) -> str:
    """The known name that somebody will have meant by ``name``, or an empty text."""
    by_case = {each.lower(): each for each in known}
    if found := by_case.get(name.lower()):
        return found
    if len(name) > _LONGEST_NAME:  # comparing is slow, and nobody meant it
        return ""
    near = difflib.get_close_matches(name, sorted(known), n=1, cutoff=0.8)
    return near[0] if near else ""


def suggested_fix(name: str, known: Collection[str], otherwise: str) -> str:
    """The fix for an unknown name: the one that was meant, else ``otherwise``."""
    near = closest_match(name, known)
    return f"Write {near}" if near else otherwise


def line_of(text: str, position: int) -> int:
    """The line (from 1) of an index into the text."""
    return text.count("\n", 0, position) + 1


def line_with(text: str, *names: str) -> int:
    """The first line that has the last of ``names``, looked for behind the ones before; 1 where there is none."""
    position = 0
    for name in names:
        found = text.find(name, position)
        position = found if found >= 0 else position
    return line_of(text, position)
