"""The table of commands. A command's module is imported when it is called, so that help and completion are quick."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Annotated, Any, Final

import typer
from typer.core import TyperCommand

from osm_gitops import __version__
from osm_gitops.cli.console import console
from osm_gitops.cli.help import CommandLine, HelpfulGroup

COMMANDS: Final = {
    "init": ("init.command", "Scaffold a config repository."),
    "import": ("import_", "Write clean manifests from a dump of a cluster."),
    "doctor": ("doctor.command", "Check what this machine needs for runs."),
    "render": ("render", "Write the desired manifests, without a comparison."),
    "plan": ("plan", "Show what apply would do."),
    "explain": ("explain.command", "Show where the boot configuration of a pool comes from."),
    "apply": ("apply", "Write the desired state: commit it, or apply it to clusters."),
    "validate": ("validate.command", "Check profiles and pools, and what they render to."),
    "install": ("install.command", "Print the manifests that a cluster needs for runs."),
    "uninstall": ("uninstall.command", "Give a cluster back to Operating System Manager."),
    "refresh": ("refresh", "Maintain in clusters what cannot be in git."),
    "status": ("status.command", "Show the state of each pool and any blockers."),
    "rekey": ("rekey", "Re-encrypt files for the current recipients."),
    "explain-code": ("explain_code", "Explain the codes of messages."),
    "schema": ("schema", "Print the JSON schema of a file or of a report."),
    "osp": ("osp.command", "List, show, compare and convert OperatingSystemProfiles."),
}
"""Name → module below ``osm_gitops.commands``, and the first line of the command's page."""


@cache
def load_command(name: str) -> Any:
    """The command with its options, or the group of commands. Its module has a function, or a typer, of its name."""
    module = COMMANDS[name][0]
    found = getattr(import_module(f"osm_gitops.commands.{module}"), module.removesuffix(".command"))
    if isinstance(found, typer.Typer):
        return typer.main.get_command(found)
    alone = CommandLine(add_completion=False, rich_markup_mode=None)
    alone.command(name)(found)
    return typer.main.get_command(alone)


class _LazyGroup(HelpfulGroup):
    """The commands of the table; only the one that is called, or whose options are completed, is loaded."""

    def __init__(self, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self.commands = {name: TyperCommand(name, help=short) for name, (_, short) in COMMANDS.items()}

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        name, command, rest = super().resolve_command(ctx, args)
        return name, load_command(name) if name and command else command, rest


app = CommandLine(
    cls=_LazyGroup,
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
