"""Check what this machine needs for runs.

Checks git, private keys, the fleet file, sources, targets, kubeconfigs and programs, and whether the
token for pull requests and the address of a webhook can be read. Prints a line for each: ok, note
(for information) or fix (a run would fail). Asks servers only if the fleet file says cluster:
whether a run can read what it needs, and may write. Changes nothing. Exits with 1 if there is
something to fix.

Examples:
  osm-gitops doctor                 # in a config repository
  osm-gitops doctor --output json   # for programs
  osm-gitops doctor --kubeconfig admin.conf --context prod
"""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Annotated

import typer

from osm_gitops import __version__
from osm_gitops.children import for_untrusted
from osm_gitops.cli.console import console
from osm_gitops.cli.options import Form, Untrusted
from osm_gitops.cli.run_options import ForgeTokenFile, NotifyUrlFile
from osm_gitops.commands.doctor.checks import Finding, State, note, ok
from osm_gitops.errors import Code
from osm_gitops.model.objects import Json
from osm_gitops.report.json_words import FORMAT_VERSION, problem_json
from osm_gitops.report.mask import Masker
from osm_gitops.report.schema_words import PROBLEM, format_version, head, listing, record, text, truth
from osm_gitops.report.visible import visible

_COLOURS = {State.OK: "32", State.NOTE: "33", State.FIX: "31"}


def doctor(
    fleet: Annotated[
        Path | None,
        typer.Option(
            "--fleet",
            metavar="FILE",
            help="Fleet file. Without it, osm-gitops.yaml in the current folder or a folder above.",
            envvar="OSM_GITOPS_FLEET",
        ),
    ] = None,
    recipients: Annotated[
        list[str] | None,
        typer.Option(
            "--age-recipient",
            metavar="AGE",
            help="Encrypt for this age recipient instead of those in .sops.yaml. May be repeated.",
            envvar="OSM_GITOPS_AGE_RECIPIENT",
        ),
    ] = None,
    kubeconfig: Annotated[
        str, typer.Option("--kubeconfig", metavar="FILE", help="Kubeconfig to check.", envvar="OSM_GITOPS_KUBECONFIG")
    ] = "",
    context: Annotated[
        str, typer.Option("--context", metavar="NAME", help="Context in that kubeconfig.", envvar="OSM_GITOPS_CONTEXT")
    ] = "",
    worker_kubeconfig: Annotated[
        str,
        typer.Option(
            "--worker-cluster-kubeconfig",
            metavar="FILE",
            help="Kubeconfig of a worker cluster to check.",
            envvar="OSM_GITOPS_WORKER_CLUSTER_KUBECONFIG",
        ),
    ] = "",
    worker_context: Annotated[
        str,
        typer.Option(
            "--worker-context", metavar="NAME", help="Context in that kubeconfig.", envvar="OSM_GITOPS_WORKER_CONTEXT"
        ),
    ] = "",
    strict: Annotated[
        bool, typer.Option("--strict", help="Treat warnings about sources as errors.", envvar="OSM_GITOPS_STRICT")
    ] = False,
    forge_token_file: ForgeTokenFile = None,
    notify_url_file: NotifyUrlFile = None,
    watch: Annotated[
        bool, typer.Option("--watch", help="Check the rights of apply --watch too.", envvar="OSM_GITOPS_WATCH")
    ] = False,
    untrusted: Untrusted = False,
    output: Annotated[
        Form, typer.Option("--output", "-o", help="Format of the findings.", envvar="OSM_GITOPS_OUTPUT")
    ] = Form.TEXT,
) -> int:
    # Imported here, as what it looks at is: no other command needs it.
    from osm_gitops.commands.doctor.checkup import Checkup, examine  # noqa: PLC0415
    from osm_gitops.commands.doctor.clusters import Connection  # noqa: PLC0415
    from osm_gitops.context_ref import ContextRef  # noqa: PLC0415

    connections = (
        Connection("management", ContextRef(kubeconfig, context)),
        Connection("worker", ContextRef(worker_kubeconfig, worker_context)),
    )
    checkup = Checkup(
        folder=Path.cwd(),
        environment=for_untrusted(os.environ) if untrusted else dict(os.environ),
        untrusted=untrusted,
        strict=strict,
        watch=watch,
        forge_token=forge_token_file,
        notify_url=notify_url_file,
        fleet=fleet,
        recipients=tuple(recipients or ()),
        connections=connections,
    )
    findings = _shown(chain(_here(), examine(checkup)), output)
    wrong = sum(finding.state is State.FIX for finding in findings)
    if wrong:
        console.say(f"{wrong} to fix.")
    return 1 if wrong else 0


def _shown(findings: Iterable[Finding], output: Form) -> list[Finding]:
    """Print the findings, as text each at once: a large source takes a while to read."""
    masked = []
    for finding in map(_masked, findings):
        masked.append(finding)
        if output is Form.TEXT:
            console.out(f"{_line(finding)}\n")
    if output is Form.JSON:
        console.out(_json(masked))
    return masked


def _here() -> Iterator[Finding]:
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
