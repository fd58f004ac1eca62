"""Output of ``validate``: findings as text, JSON with its schema, SARIF 2.1.0, JUnit XML, and GitHub annotations."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Any, Final
from urllib.parse import quote

from osm_gitops.errors import shortened
from osm_gitops.model.finding import Finding, Rule, Severity
from osm_gitops.model.objects import BUILT_IN, Json
from osm_gitops.report.finding_json import FINDING_RECORD, finding_json, place
from osm_gitops.report.json_words import FORMAT_VERSION, HOME
from osm_gitops.report.mask import Masker
from osm_gitops.report.schema_words import COUNT, format_version, head, listing, record
from osm_gitops.report.visible import visible

_SARIF: Final = "https://json.schemastore.org/sarif-2.1.0.json"
_COLOURS: Final = {Severity.ERROR: "31", Severity.WARNING: "33", Severity.NOTE: "36"}
_GITHUB: Final = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}
_HELP: Final = (
    "Run osm-gitops explain-code {0} for what it means and what to do. To suppress it for one object, annotate the "
    "object with ignore.osm-gitops.io/{0} and the reason as its value."
)
_NAMED: Final = 2
_IN_SARIF: Final = 10  # code scanning limits the size of files
# Characters that XML 1.0 cannot have, not even escaped.
_NO_XML: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
# Readers of XML make a blank of these in an attribute.
_WHITE_SPACE: Final = {ord(each): f"&#{ord(each)};" for each in "\n\r\t"}


@dataclass(frozen=True, slots=True)
class ValidationReport:
    """What is shown: masked findings, counts, and the version of the program.

    With ``strict`` warnings fail too. ``home`` is the checked file or folder, the place of findings without one.
    """

    findings: tuple[Finding, ...]
    counts: Mapping[str, int]
    version: str = ""
    color: bool = False
    strict: bool = False
    home: str = ""

    def fails(self, finding: Finding) -> bool:
        """Whether a finding makes the command fail."""
        least = Severity.WARNING if self.strict else Severity.ERROR
        return not finding.suppressed and finding.severity.weight >= least.weight

    @property
    def open(self) -> tuple[Finding, ...]:
        """The findings that are not suppressed."""
        return tuple(finding for finding in self.findings if not finding.suppressed)

    def number(self, severity: Severity) -> int:
        """The number of open findings with a severity."""
        return sum(finding.severity is severity for finding in self.open)

    @property
    def suppressed(self) -> int:
        return len(self.findings) - len(self.open)


def masked(findings: Iterable[Finding], masker: Masker) -> tuple[Finding, ...]:
    """The findings with every secret masked and long texts cut."""
    return tuple(
        replace(
            finding,
            message=shortened(masker.text(finding.message)),
            where=shortened(masker.text(finding.where)),
            about=shortened(masker.text(finding.about)),
            field=shortened(masker.text(finding.field)),
            fix=shortened(masker.text(finding.fix)),
            suppressed=shortened(masker.text(finding.suppressed)),
            others=tuple(shortened(masker.text(each)) for each in finding.others),
        )
        for finding in findings
    )


def findings_text(report: ValidationReport) -> str:
    """A paragraph for each finding, and a summary line."""
    return "".join(_paragraphs(report)) + _summary(report) + "\n"


def _paragraphs(report: ValidationReport) -> Iterator[str]:
    for finding in report.open:
        severity = finding.severity.value
        if report.color:
            severity = f"\x1b[{_COLOURS[finding.severity]}m{severity}\x1b[0m"
        head = f"{visible(finding.where)}: " if finding.where else ""
        code = f" [{finding.problem.value}]" if finding.problem else ""
        lines = [f"{head}{severity} {finding.id}: {visible(finding.message)}{code}"]
        of = ", ".join(part for part in (finding.about, finding.field) if part)
        lines += [f"  of {visible(of)}"] if of else []
        lines += [f"  also of {visible(_first(finding.others))}"] if finding.others else []
        lines += [f"  seen in {visible(_first(finding.seen_in))}"] if finding.seen_in else []
        lines += [f"  leads to {', '.join(finding.consequences)}"] if finding.consequences else []
        lines += [f"  {visible(finding.fix)}"] if finding.fix else []
        yield "\n".join(lines) + "\n\n"


def _first(names: Sequence[str]) -> str:
    more = f"; and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return "; ".join(names[:_NAMED]) + more


def _summary(report: ValidationReport) -> str:
    counts = report.counts
    checked = ", ".join(
        (
            _number(counts["profiles"], "profile"),
            _number(counts["pools"], "pool"),
            _number(counts["combinations"], "combination"),
        )
    )
    found = ", ".join(_number(report.number(severity), severity.value) for severity in Severity)
    suppressed = f", {report.suppressed} suppressed" if report.suppressed else ""
    refused = f" ({counts['refused']} of them refused by their profiles)" if counts["refused"] else ""
    return f"{found}{suppressed}. Checked: {checked}{refused}."


def _number(count: int, of: str) -> str:
    return f"{count:,} {of}" if count == 1 else f"{count:,} {of}s"


def findings_json(report: ValidationReport) -> str:
    """JSON with ``formatVersion``, whose first number rises if a key changes its meaning or is removed."""
    document = {
        "formatVersion": FORMAT_VERSION,
        "summary": {
            **{f"{severity.value}s": report.number(severity) for severity in Severity},
            "suppressed": report.suppressed,
            **report.counts,
        },
        "findings": [finding_json(finding) for finding in report.findings],
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def findings_schema() -> dict[str, Json]:
    """The JSON schema, draft 2020-12. Its ``$id`` contains the ``formatVersion``."""
    counted = {
        "errors": "Errors that are not suppressed.",
        "warnings": "Warnings that are not suppressed.",
        "notes": "Notes that are not suppressed.",
        "suppressed": "Findings that an annotation suppresses.",
        "profiles": "Profiles that were checked.",
        "pools": "MachineDeployments that were checked.",
        "combinations": "Combinations of provider, Kubernetes version and settings that were rendered.",
        "refused": "Combinations that a profile refuses.",
        "documents": "Different user-data documents that were checked.",
        "texts": "Different files in them that were checked.",
    }
    return {
        **head("findings", "Findings"),
        **record(
            "The findings of validate. Contains no secret.",
            formatVersion=format_version(),
            summary=record("Counts.", **{key: COUNT | {"description": text} for key, text in counted.items()}),
            findings=listing("finding", "All findings, suppressed ones too."),
        ),
        "$defs": {"finding": FINDING_RECORD},
    }


def findings_sarif(report: ValidationReport) -> str:
    """SARIF 2.1.0 for code scanning: one run, one result per finding."""
    rules = list(dict.fromkeys(finding.rule for finding in report.findings))
    driver = {
        "name": "osm-gitops",
        "version": report.version,
        "informationUri": HOME,
        "rules": [_sarif_rule(rule) for rule in rules],
    }
    index = {rule: number for number, rule in enumerate(rules)}
    results = [_sarif_result(finding, index[finding.rule], report.home) for finding in report.findings]
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    return json.dumps({"$schema": _SARIF, "version": "2.1.0", "runs": [run]}, indent=2, ensure_ascii=False) + "\n"


def _sarif_rule(rule: Rule) -> dict[str, Any]:
    return {
        "id": rule.id,
        "shortDescription": {"text": rule.meaning},
        "fullDescription": {"text": f"{rule.meaning[:1].upper()}{rule.meaning[1:]}."},
        "help": {"text": _HELP.format(rule.family or rule.id)},
        "helpUri": f"{HOME}/reference/lint-rules/#{rule.family or rule.id}",
        "defaultConfiguration": {"level": rule.severity.value},
    }


def _sarif_result(finding: Finding, index: int, home: str) -> dict[str, Any]:
    path, line = place(finding)
    path = path or home
    result: dict[str, Any] = {
        "ruleId": finding.id,
        "ruleIndex": index,
        "level": finding.severity.value,
        "message": {"text": _sentences(finding)},
    }
    if path:
        region = {"startLine": line or 1}
        result["locations"] = [{"physicalLocation": {"artifactLocation": {"uri": quote(path)}, "region": region}}]
    if finding.suppressed:
        result["suppressions"] = [{"kind": "inSource", "justification": finding.suppressed}]
    if finding.seen_in:
        result["properties"] = {"seenIn": list(finding.seen_in[:_IN_SARIF]), "seenInCount": len(finding.seen_in)}
    return result


def _sentences(finding: Finding) -> str:
    of = f" ({', '.join(part for part in (finding.about, finding.field) if part)})" if finding.about else ""
    fix = f" {finding.fix}." if finding.fix and not finding.fix.endswith((".", "?")) else f" {finding.fix}"
    return f"{finding.message}{of}.{fix}".rstrip()


def findings_junit(report: ValidationReport) -> str:
    """JUnit XML: a test case for each finding. It fails if the command fails for it, and is skipped if it is
    suppressed."""
    cases = [_case(finding, fails=report.fails(finding)) for finding in report.findings]
    cases = cases or ['  <testcase name="nothing found"/>\n']
    failures = sum(map(report.fails, report.findings))
    head = (
        f'<testsuite name="osm-gitops validate" tests="{len(cases)}" failures="{failures}" errors="0"'
        f' skipped="{report.suppressed}">'
    )
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{head}\n{"".join(cases)}</testsuite>\n'


def _case(finding: Finding, *, fails: bool) -> str:
    path, line = place(finding)
    of = finding.about or path or "osm-gitops"
    where = f" file={_attribute(path)}" + (f' line="{line}"' if line else "") if path else ""
    head = f"  <testcase classname={_attribute(of)} name={_attribute(f'{finding.id} {finding.where}'.strip())}{where}>"
    text = escape(_NO_XML.sub("", _sentences(finding)))
    if finding.suppressed:
        inner = f"<skipped message={_attribute(finding.suppressed)}/>"
    elif fails:
        inner = f"<failure type={_attribute(finding.id)} message={_attribute(finding.message)}>{text}</failure>"
    else:
        inner = f"<system-out>{text}</system-out>"
    return f"{head}\n    {inner}\n  </testcase>\n"


def _attribute(text: str) -> str:
    return f'"{escape(_NO_XML.sub("", text)).translate(_WHITE_SPACE)}"'


def findings_github(report: ValidationReport) -> str:
    """Workflow commands, from which GitHub shows each finding at its line of the pull request."""
    return "".join(f"{_command(finding)}\n" for finding in report.open)


def _command(finding: Finding) -> str:
    path, line = place(finding)
    text = _sentences(finding)
    if path.startswith(BUILT_IN):  # not a file of the repository, so the place goes into the text
        path, line, text = "", 0, f"{finding.where}: {text}"
    values = {"file": path, "line": str(line) if line else "", "title": finding.id}
    properties = ",".join(f"{key}={_property(value)}" for key, value in values.items() if value)
    return f"::{_GITHUB[finding.severity]} {properties}::{_data(text)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
