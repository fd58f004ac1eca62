"""What ``doctor`` prints: its findings as text or JSON, and the schema of the JSON."""

from __future__ import annotations

import json
import platform
import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace

from osm_gitops import __version__
from osm_gitops.cli.console import console
from osm_gitops.cli.options import Form
from osm_gitops.commands.doctor.checks import Finding, State, note, ok
from osm_gitops.errors import Code
from osm_gitops.model.objects import Json
from osm_gitops.report.json_words import FORMAT_VERSION, problem_json
from osm_gitops.report.mask import Masker
from osm_gitops.report.schema_words import PROBLEM, format_version, head, listing, record, text, truth
from osm_gitops.report.visible import visible

_COLOURS = {State.OK: "32", State.NOTE: "33", State.FIX: "31"}


def show(findings: Iterable[Finding], output: Form) -> list[Finding]:
    """Print the findings, as text each at once: a large source takes a while to read."""
    masked = []
    for finding in map(_masked, findings):
        masked.append(finding)
        if output is Form.TEXT:
            console.out(f"{_line(finding)}\n")
    if output is Form.JSON:
        console.out(_json(masked))
    return masked


def program_and_terminal() -> Iterator[Finding]:
    """The program and the terminal."""
    yield ok("osm-gitops", f"version {__version__}, Python {platform.python_version()}, {sys.platform}")
    encoding = (sys.stdout.encoding or "utf-8").lower()
    if encoding.replace("-", "") != "utf8":
        what = f"it shows {encoding}, so that signs it lacks appear as ?"
        yield note("terminal", Code.TERMINAL_ENCODING, what, "Set it to UTF-8")
    else:
        colours = "with colours" if console.colours() else "without colours"
        yield ok("terminal", f"UTF-8, {colours}")


def _masked(finding: Finding) -> Finding:
    """The second line of defence: no secret is in a finding in the first place."""
    return replace(finding, told=Masker().problem(finding.told))


def _line(finding: Finding) -> str:
    state = f"{finding.state.value:<4}"
    if console.colours():
        state = f"\x1b[{_COLOURS[finding.state]}m{state}\x1b[0m"
    told = finding.told.sentence if finding.state is State.OK else str(finding.told)
    return f"{state}  {visible(f'{finding.area}: {told}')}"


def _json(findings: list[Finding]) -> str:
    report = {
        "formatVersion": FORMAT_VERSION,
        "healthy": all(finding.state is not State.FIX for finding in findings),
        "findings": [
            {"area": finding.area, "state": finding.state.value, **problem_json(finding.told)} for finding in findings
        ],
    }
    return json.dumps(report, indent=2, ensure_ascii=False) + "\n"


def checkup_schema() -> dict[str, Json]:
    """The schema; draft 2020-12. Its ``$id`` bears the ``formatVersion``."""
    return {
        **head("checkup", "Checkup"),
        **record(
            "What doctor found. No secret is in it.",
            formatVersion=format_version(),
            healthy=truth("Whether there is nothing to fix."),
            findings=listing("finding", "Everything that was checked, in its order."),
        ),
        "$defs": {
            "finding": record(
                "One thing that was checked. Texts that do not apply are empty.",
                area=text("What it belongs to, such as git or sops."),
                state={
                    "enum": [state.value for state in State],
                    "description": "fix: a run would fail or a secret may leak; note: worth knowing; ok: in order.",
                },
                **PROBLEM,
            )
        },
    }
