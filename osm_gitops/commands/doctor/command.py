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

import os
from itertools import chain
from pathlib import Path
from typing import Annotated

import typer

from osm_gitops.cli.console import console
from osm_gitops.cli.options import Form, Untrusted
from osm_gitops.cli.run_options import ForgeTokenFile, NotifyUrlFile


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
    from osm_gitops.children import for_untrusted  # noqa: PLC0415 - slow
    from osm_gitops.commands.doctor.checks import State  # noqa: PLC0415 - slow
    from osm_gitops.commands.doctor.checkup import Checkup, examine  # noqa: PLC0415 - slow
    from osm_gitops.commands.doctor.clusters import Connection  # noqa: PLC0415 - slow
    from osm_gitops.commands.doctor.report import program_and_terminal, show  # noqa: PLC0415 - slow
    from osm_gitops.context_ref import ContextRef  # noqa: PLC0415 - slow

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
    findings = show(chain(program_and_terminal(), examine(checkup)), output)
    wrong = sum(finding.state is State.FIX for finding in findings)
    if wrong:
        console.say(f"{wrong} to fix.")
    return 1 if wrong else 0
