"""Findings in JSON: the same form in every command, with its schema."""

from __future__ import annotations

from typing import Final

from osm_gitops.model.finding import Finding, Severity
from osm_gitops.model.objects import Json
from osm_gitops.report.schema_words import COUNT, PROBLEM, record, text, texts


def place(finding: Finding) -> tuple[str, int]:
    """The file of a finding, as code hosts name it, and its line, or 0."""
    where = finding.where.removeprefix("./")
    path, _, line = where.rpartition(":")
    return (path, int(line)) if path and line.isdecimal() else (where, 0)


def finding_json(finding: Finding) -> dict[str, Json]:
    """A finding as :data:`FINDING_RECORD` describes it."""
    path, line = place(finding)
    return {
        "code": finding.code,
        "message": finding.message,
        "where": finding.where,
        "object": finding.about,
        "field": finding.field,
        "fix": finding.fix,
        "id": finding.id,
        "severity": finding.severity.value,
        "file": path,
        "line": line,
        "seenIn": list(finding.seen_in),
        "suppressed": finding.suppressed,
        "others": list(finding.others),
        "consequences": list(finding.consequences),
    }


FINDING_RECORD: Final = record(
    "One finding. Texts that do not apply are empty.",
    **PROBLEM | {"code": text("The code of its error, such as OG2101, or else the id.")},
    id=text("The id of the rule, by which it can be suppressed."),
    severity={"enum": [severity.value for severity in Severity], "description": "How much it matters."},
    file=text("The file of where."),
    line=COUNT | {"description": "The line in the file; 0 if it is not known."},
    seenIn=texts("Pools and combinations that have it, by what they share; empty if it does not depend on them."),
    suppressed=text("The reason that an annotation gives for ignoring it; empty if there is none."),
    others=texts("Further objects that have it, such as files that include the same part."),
    consequences=texts("Rules whose findings follow from it and are left out."),
)
"""The JSON schema of a finding."""
