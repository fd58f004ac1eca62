"""The command line: one line per command, each in a module of its own."""

from __future__ import annotations

from typing import Annotated

import typer

from osm_gitops import __version__
from osm_gitops.cli.commands.apply import apply
from osm_gitops.cli.commands.plan import plan
from osm_gitops.cli.commands.render import render
from osm_gitops.cli.console import console

app = typer.Typer(
    name="osm-gitops",
    help="The boot configuration of Kubernetes worker nodes, kept in git.",
    epilog="Exit codes: 0 done, 1 failed, 2 changes (plan --detailed-exitcode), 130 interrupted.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        console.out(f"osm-gitops {__version__}\n")
        raise typer.Exit


@app.callback()
def options(
    _version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """The boot configuration of Kubernetes worker nodes, kept in git."""


app.command()(render)
app.command()(plan)
app.command()(apply)
