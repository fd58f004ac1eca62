"""What stops a template."""

from __future__ import annotations

from collections.abc import Iterable


class TemplateFault(Exception):
    """A template that does not parse or fails while it runs.

    ``message`` is a sentence without a final full stop, ``template`` the name of the
    template (a file's path or a key of ``templates``), ``line`` 1-based or 0. ``fix`` is what to
    do about it where that is more than a change of the template.
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
