"""Findings of ``validate`` about profiles, pools and rendered files."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

from osm_gitops.errors import Code


class Severity(Enum):
    """``ERROR``: a node would not boot, or rendering fails. ``WARNING``: it may not. ``NOTE``: worth knowing."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"

    @property
    def weight(self) -> int:
        """3 for an error, 2 for a warning, 1 for a note."""
        return _WEIGHTS[self]


_WEIGHTS = {Severity.ERROR: 3, Severity.WARNING: 2, Severity.NOTE: 1}


@dataclass(frozen=True, slots=True)
class Rule:
    """A lint rule. ``id`` is in kebab-case; ``meaning`` is a sentence for the list of rules.

    :meth:`code` creates rules of a family, such as shellcheck's codes: ``shellcheck`` → ``shellcheck-SC2086``.
    ``family`` is the id of the original rule.
    """

    id: str
    severity: Severity
    meaning: str
    family: str = ""

    def code(self, code: str, severity: Severity | None = None) -> Rule:
        """The rule of one code of this family."""
        return Rule(f"{self.id}-{code}", severity or self.severity, self.meaning, self.id)


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a rule found.

    ``message`` is a sentence without a final full stop, ``fix`` the next step. ``where`` is ``file:line`` in a source,
    ``about`` the object, ``field`` a path inside of it. ``problem`` is the code of a problem that became a finding.
    ``seen_in`` are the pools, or combinations of provider, Kubernetes version and settings, with this finding; empty if
    it does not depend on them. ``suppressed`` is the reason in an annotation that suppresses it. ``others`` are further
    objects with the same mistake, ``consequences`` the ids of rules whose findings follow from this one. Findings of a
    rule about one object with the same ``group`` are one mistake, told by the one with the highest ``rank``.
    """

    rule: Rule
    message: str
    where: str = ""
    about: str = ""
    field: str = ""
    fix: str = ""
    seen_in: tuple[str, ...] = ()
    suppressed: str = ""
    problem: Code | None = None
    others: tuple[str, ...] = ()
    consequences: tuple[str, ...] = ()
    group: str = ""
    rank: int = 0

    @property
    def id(self) -> str:
        return self.rule.id

    @property
    def code(self) -> str:
        """The stable identifier: the code of the problem, else the id of the rule."""
        return self.problem.value if self.problem else self.id

    @property
    def severity(self) -> Severity:
        return self.rule.severity

    def at(self, *, where: str = "", about: str = "", seen_in: tuple[str, ...] = ()) -> Finding:
        """This finding, with empty places filled in."""
        return replace(self, where=self.where or where, about=self.about or about, seen_in=self.seen_in or seen_in)
