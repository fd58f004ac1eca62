"""Suppressions: an annotation ``ignore.osm-gitops.io/<id>: reason`` on a profile or a MachineDeployment."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from osm_gitops.gotemplate.hints import similar
from osm_gitops.lint.external import catalogue as checkers
from osm_gitops.lint.rules import catalogue as checks
from osm_gitops.lint.rules import rules
from osm_gitops.model.finding import Finding, Rule
from osm_gitops.model.inputs import Inputs
from osm_gitops.model.objects import Manifest

PREFIX: Final = "ignore.osm-gitops.io/"


def all_rules() -> tuple[Rule, ...]:
    """Every rule that a finding can have, but for the codes of families."""
    return (*rules.RULES, *checks.RULES, *checkers.RULES)


@dataclass(frozen=True, slots=True)
class Suppression:
    """One annotation: of which object, for which rule, why."""

    about: str
    id: str
    reason: str
    where: str

    def holds_for(self, finding: Finding) -> bool:
        """Whether the finding is about the object, or about nothing but it, and has the rule or one of its family."""
        named = finding.about == self.about or finding.about.startswith(f"{self.about}, ")
        only = bool(finding.seen_in) and all(pool.startswith(f"{self.about} of ") for pool in finding.seen_in)
        return (named or only) and self.id in {finding.id, finding.rule.family or finding.id}


@dataclass(slots=True)
class Suppressions:
    """All annotations of the sources."""

    found: dict[Suppression, None] = field(default_factory=dict)

    def read(self, inputs: Inputs) -> None:
        """Take those of the profiles and MachineDeployments of a source."""
        for profile in inputs.profiles.values():
            self._read(profile.manifest)
        for machine in inputs.machines:
            self._read(machine.manifest)

    def _read(self, manifest: Manifest) -> None:
        metadata = manifest.body.get("metadata")
        annotations = metadata.get("annotations") if isinstance(metadata, Mapping) else None
        for key, reason in (annotations or {}).items() if isinstance(annotations, Mapping) else ():
            if key.startswith(PREFIX):
                where = manifest.line_of(f"metadata.annotations.{key}")
                self.found[Suppression(str(manifest.ref), key.removeprefix(PREFIX), str(reason).strip(), where)] = None


def suppress(findings: Iterable[Finding], suppressions: Suppressions) -> Iterator[Finding]:
    """The findings, those that are suppressed with the reason, and what is wrong with suppressions."""
    by_id: dict[str, list[Suppression]] = {}
    for each in suppressions.found:
        by_id.setdefault(each.id, []).append(each)
    used = set()
    for finding in findings:
        candidates = [each for key in (finding.id, finding.rule.family) for each in by_id.get(key, ())]
        holding = next((each for each in candidates if each.reason and each.holds_for(finding)), None)
        if holding is None:
            yield finding
        else:
            used.add(holding)
            yield replace(finding, suppressed=holding.reason)
    for each in suppressions.found:
        yield from _wrong(each, used=each in used)


def _wrong(suppression: Suppression, *, used: bool) -> Iterator[Finding]:
    known = {rule.id for rule in all_rules()}
    if not suppression.reason:
        message, fix = f"the suppression of {suppression.id} gives no reason", "Write why as the annotation's value"
        yield Finding(rules.SUPPRESSION_REASON, message, suppression.where, suppression.about, fix=fix)
    elif not used and not any(suppression.id == id_ or suppression.id.startswith(f"{id_}-") for id_ in known):
        message = f"there is no rule {suppression.id}{similar(suppression.id, known)}"
        yield Finding(rules.SUPPRESSION_UNKNOWN, message, suppression.where, suppression.about)
    elif not used:
        message = f"nothing is found of {suppression.id} here, so nothing is suppressed"
        yield Finding(rules.SUPPRESSION_UNUSED, message, suppression.where, suppression.about, fix="Remove it")
