"""What someone probably meant."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Final

_HELM: Final = {
    "include": 'write {{ template "name" . }} instead',
    "tpl": "there is no substitute",
    "required": "test the value with `if` and stop with `fail`",
    "lookup": "there is no substitute",
}


def similar(name: str, known: Iterable[str]) -> str:
    """``; did you mean x?`` for the closest known name, or nothing."""
    lower = {each.lower(): each for each in sorted(known)}
    found = get_close_matches(name.lower(), lower, n=1, cutoff=0.7)
    return f"; did you mean {lower[found[0]]}?" if found else ""


def unknown_function(name: str, known: Iterable[str]) -> str:
    """A sentence on a function that Go templates do not have."""
    if name in _HELM:
        return f"function {name!r} is not defined: it is one of Helm's; {_HELM[name]}"
    return f"function {name!r} is not defined{similar(name, known)}"
