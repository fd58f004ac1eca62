"""Suppress findings by annotations ``ignore.osm-gitops.io/<id>: reason`` on a profile or a MachineDeployment."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from osm_gitops.errors import did_you_mean
from osm_gitops.lint.rules import rules
from osm_gitops.model.finding import Finding
from osm_gitops.model.inputs import Inputs
from osm_gitops.model.objects import Manifest

PREFIX: Final = "ignore.osm-gitops.io/"


@dataclass(frozen=True, slots=True)
class Suppression:
    """One annotation: the object, the rule, and the reason."""

    about: str
    id: str
    reason: str
    where: str

    def holds_for(self, finding: Finding) -> bool:
        """Whether the finding is on this object, or only on its pools, and has the rule or one of its family."""
        return self.id in {finding.id, finding.rule.family or finding.id} and self._is_on(finding)

    def names_consequence(self, finding: Finding) -> bool:
        """Whether it is for something that follows from the finding."""
        return self.id in finding.consequences and self._is_on(finding)

    def _is_on(self, finding: Finding) -> bool:
        named = finding.about == self.about or finding.about.startswith(f"{self.about}, ")
        return named or (
            bool(finding.seen_in) and all(pool.startswith(f"{self.about} of ") for pool in finding.seen_in)
        )


@dataclass(slots=True)
class Suppressions:
    """The suppressions of all sources."""

    found: dict[Suppression, None] = field(default_factory=dict)

    def read(self, inputs: Inputs) -> None:
        """Add those of the profiles and MachineDeployments of a source."""
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
    """The findings, with the reason if suppressed, and the findings on wrong suppressions."""
    by_id: dict[str, list[Suppression]] = {}
    for each in suppressions.found:
        by_id.setdefault(each.id, []).append(each)
    used: set[Suppression] = set()
    for finding in findings:
        used.update(
            each for id_ in finding.consequences for each in by_id.get(id_, ()) if each.names_consequence(finding)
        )
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
    from osm_gitops.commands.validate.linter import all_rules  # noqa: PLC0415 - slow, and few profiles suppress anything

    known = {rule.id for rule in all_rules()}
    if not suppression.reason:
        message, fix = f"the suppression of {suppression.id} gives no reason", "Write why as the annotation's value"
        yield Finding(rules.SUPPRESSION_REASON, message, suppression.where, suppression.about, fix=fix)
    elif not used and not any(suppression.id == id_ or suppression.id.startswith(f"{id_}-") for id_ in known):
        message = f"rule {suppression.id} does not exist"
        fix = did_you_mean(suppression.id, known, "List all rules with osm-gitops explain-code --list")
        yield Finding(rules.SUPPRESSION_UNKNOWN, message, suppression.where, suppression.about, fix=fix)
    elif not used:
        message = f"there is no finding of {suppression.id} to suppress"
        yield Finding(rules.SUPPRESSION_UNUSED, message, suppression.where, suppression.about, fix="Remove it")
