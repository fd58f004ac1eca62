"""The command line: one line per command, each in a module of its own."""

from __future__ import annotations

from typing import Annotated

import typer

from osm_gitops import __version__
from osm_gitops.cli.commands.apply import apply
from osm_gitops.cli.commands.doctor import doctor
from osm_gitops.cli.commands.explain import explain
from osm_gitops.cli.commands.import_ import import_
from osm_gitops.cli.commands.init import init
from osm_gitops.cli.commands.install import install
from osm_gitops.cli.commands.osp import osp
from osm_gitops.cli.commands.plan import plan
from osm_gitops.cli.commands.refresh import refresh
from osm_gitops.cli.commands.rekey import rekey
from osm_gitops.cli.commands.render import render
from osm_gitops.cli.commands.schema import schema
from osm_gitops.cli.commands.status import status
from osm_gitops.cli.commands.uninstall import uninstall
from osm_gitops.cli.commands.validate import validate
from osm_gitops.cli.console import console
from osm_gitops.cli.help import CommandLine

app = CommandLine(
    name="osm-gitops",
    epilog="Exit codes: 0 done, 1 failed, 2 changes (plan --detailed-exitcode), 130 interrupted.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
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
    """The boot configuration of Kubernetes worker nodes, kept in git.

    Reads MachineDeployments, OperatingSystemProfiles and facts, renders what Operating System
    Manager would render, and keeps the result in git. Commands take clusters from the fleet file
    osm-gitops.yaml in this folder or above it, or from --from and --to.

    Examples:
      osm-gitops init nodes                    # a config repository to start with
      osm-gitops plan                          # what would change in the fleet, inside the boot files
      osm-gitops apply                         # commit it, after asking
      osm-gitops plan --only 'gpu-*' --verbose # some pools, with all they consist of
      osm-gitops plan --help                   # all options of a command
    """


app.command()(init)
app.command("import")(import_)
app.command()(doctor)
app.command()(render)
app.command()(plan)
app.command()(explain)
app.command()(apply)
app.command()(validate)
app.command()(install)
app.command()(uninstall)
app.command()(refresh)
app.command()(status)
app.command()(rekey)
app.add_typer(osp)
app.command()(schema)
