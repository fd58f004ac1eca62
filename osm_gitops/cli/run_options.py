"""From a command's options to what a run takes."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer

from osm_gitops.cli.console import Progress, console
from osm_gitops.cli.options import Request
from osm_gitops.errors import Code, Problem
from osm_gitops.model.plan import Plan
from osm_gitops.pipeline.options import GitOptions, RunOptions
from osm_gitops.plan.compare import PlanOptions
from osm_gitops.plan.guards import Limits, parse_max_delete
from osm_gitops.report.outline import many
from osm_gitops.sops.search import KeySearch

_GUARDS = "Guards"

AllowEmpty = Annotated[
    bool,
    typer.Option(
        "--allow-empty",
        help="Let an empty source delete everything.",
        envvar="OSM_GITOPS_ALLOW_EMPTY",
        rich_help_panel=_GUARDS,
    ),
]
MaxDelete = Annotated[
    str,
    typer.Option(
        "--max-delete",
        metavar="N|P%",
        help="Most pools of a cluster that may go.",
        envvar="OSM_GITOPS_MAX_DELETE",
        rich_help_panel=_GUARDS,
    ),
]
MaxChangedPools = Annotated[
    int | None,
    typer.Option(
        "--max-changed-pools",
        metavar="N",
        min=0,
        help="Most pools of a cluster that may change.",
        envvar="OSM_GITOPS_MAX_CHANGED_POOLS",
        rich_help_panel=_GUARDS,
    ),
]
Strict = Annotated[
    bool,
    typer.Option(
        "--strict",
        help="Fail for warnings too; apply writes nothing then.",
        envvar="OSM_GITOPS_STRICT",
        rich_help_panel=_GUARDS,
    ),
]
RequireClean = Annotated[
    bool,
    typer.Option(
        "--require-clean",
        help="Refuse where something that is read from git is not committed.",
        envvar="OSM_GITOPS_REQUIRE_CLEAN",
        rich_help_panel=_GUARDS,
    ),
]
PlaintextSecrets = Annotated[
    bool,
    typer.Option(
        "--dangerously-plaintext-secrets",
        help="Write Secrets into git in plain text: tokens and passwords stay in its history for ever.",
        envvar="OSM_GITOPS_DANGEROUSLY_PLAINTEXT_SECRETS",
        rich_help_panel=_GUARDS,
    ),
]
AgeRecipients = Annotated[
    list[str] | None,
    typer.Option(
        "--age-recipient",
        metavar="AGE",
        help="Encrypt secrets for this age recipient, whatever .sops.yaml says; may be given several times.",
        envvar="OSM_GITOPS_AGE_RECIPIENT",
    ),
]
DEFAULT_MAX_DELETE = "50%"


def forbidden_warnings(plan: Plan) -> tuple[Problem, ...]:
    """What ``--strict`` makes of the warnings of a plan: one error a cluster, for the plan shows them already. What is
    not committed does not count: ``--require-clean`` refuses that."""
    counts = {each.cluster: len(set(each.warnings) - set(each.uncommitted)) for each in plan.clusters}
    return tuple(
        Problem(
            Code.UNCODED,
            f"the plan has {many(count, 'warning')}, and --strict allows none",
            about=f"cluster {cluster}",
            fix="Do what they say, or run without --strict",
        )
        for cluster, count in counts.items()
        if count
    )


def limits(max_delete: str, max_changed_pools: int | None, *, allow_empty: bool, require_clean: bool) -> Limits:
    """The guards of a plan as the options set them; raises InputError."""
    return Limits(
        allow_empty=allow_empty,
        max_delete=parse_max_delete(max_delete),
        max_changed_pools=max_changed_pools,
        require_clean=require_clean,
    )


def run_options(
    request: Request,
    limits: Limits,
    age_recipients: list[str] | None,
    *,
    plaintext_secrets: bool = False,
    git: GitOptions | None = None,
    without_keys: bool = False,
) -> RunOptions:
    """What a run takes; the process's environment is read here and nowhere else.

    ``without_keys`` is for reports only: encrypted sources are read with stand-ins for their values.
    """
    console.verbose = request.verbose
    environment = request.environment
    return RunOptions(
        environment=environment,
        keys=KeySearch(environment, without_keys=without_keys),
        note=console.note,
        tell=console.say,
        advance=Progress,
        only=request.only,
        plan=PlanOptions(limits=limits),
        plaintext_secrets=plaintext_secrets,
        age_recipients=tuple(age_recipients or ()),
        connections=request.connections,
        git=replace(git or GitOptions(), token=request.token, clone=request.clone),
    )
