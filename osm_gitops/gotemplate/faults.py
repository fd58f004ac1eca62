"""What stops a template, and the names that a message suggests instead of an unknown one."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Final


class TemplateFault(Exception):
    """A template that does not parse or fails while it runs.

    ``message`` is a sentence without a final full stop, ``template`` the name of the template (a file's path or a key
    of ``templates``), ``line`` 1-based or 0. ``fix`` is what to do about it where that is more than a change of the
    template.
    """

    def __init__(self, message: str, template: str = "", line: int = 0, *, fix: str = "") -> None:
        self.message = message
        self.template = template
        self.line = line
        self.fix = fix
        super().__init__(message)


class BoundExceeded(TemplateFault):
    """A template that would use more output, steps or depth than it may (design.md, "Success and refusal")."""


class StoppedItself(TemplateFault):
    """A template that says with ``fail`` that it is not for what it is rendered for; the message is its own."""


class Refused(TemplateFault):
    """A construct that is refused by name: time, chance, environment, network, addresses."""


class TemplateFaults(Exception):
    """All faults of one half (bootstrap or provisioning) of a profile, at least one."""

    def __init__(self, faults: Iterable[TemplateFault]) -> None:
        self.faults = tuple(faults)
        super().__init__("; ".join(each.message for each in self.faults))


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
