"""Names that are one slip away from a known one: a letter too many, too few, or wrong, or two that are swapped."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

_LETTERS: Final = "abcdefghijklmnopqrstuvwxyz_-."
_LONGEST: Final = 100


@lru_cache(maxsize=4_096)
def misspelled(name: str, known: frozenset[str]) -> str:
    """The known name that ``name`` is one slip away from, or an empty text. Digits and the first letter count: too many
    names differ in these alone."""
    if name in known or len(name) > _LONGEST:
        return ""
    found = (
        other
        for at in range(len(name) + 1)
        for other in (
            *(name[:at] + letter + name[at:] for letter in _LETTERS if at),
            *(name[:at] + letter + name[at + 1 :] for letter in _LETTERS if at and not name[at : at + 1].isdigit()),
            name[:at] + name[at + 1 :] if at and not name[at : at + 1].isdigit() else "",
            name[:at] + name[at + 1 : at + 2] + name[at : at + 1] + name[at + 2 :],
        )
        if other in known
    )
    return next(found, "")
