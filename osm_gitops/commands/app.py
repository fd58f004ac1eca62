"""The commands, found in this folder. A module is imported when its command runs: help and completion stay quick."""

from __future__ import annotations

import os
from contextlib import nullcontext
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from typer.core import TyperCommand

from osm_gitops import __version__
from osm_gitops.cli.completion import VARIABLE, without_rich
from osm_gitops.cli.console import console
from osm_gitops.cli.help import CommandLine, HelpfulGroup


def _modules() -> dict[str, Path]:
    """The module of each command: ``NAME.py``, or ``command.py`` in a folder."""
    here = Path(__file__)
    files = {path.stem: path for path in here.parent.glob("*.py") if path.stem not in {"__init__", here.stem}}
    folders = {path.parent.name: path for path in here.parent.glob("*/command.py")}
    # import.py could not be imported: a name that Python reserves has an underscore at its end.
    return {name.rstrip("_").replace("_", "-"): path for name, path in sorted((files | folders).items())}


def _first_line(path: Path) -> str:
    """The first line of a command's help page, which is the docstring of its module."""
    with path.open(encoding="utf-8") as module:
        return module.readline().strip().strip('"')


COMMANDS: Final = _modules()


@cache
def load_command(name: str) -> Any:
    """Import a command with its options. Its module has a function, or a typer, of its name."""
    path = COMMANDS[name]
    parts = path.relative_to(Path(__file__).parent).with_suffix("").parts
    module = import_module(".".join(("osm_gitops.commands", *parts)))
    found = getattr(module, parts[0])
    if isinstance(found, typer.Typer):
        return typer.main.get_command(found)
    alone = CommandLine(add_completion=False, rich_markup_mode=None)
    alone.command(name, help=module.__doc__)(found)
    return typer.main.get_command(alone)


class _LazyGroup(HelpfulGroup):
    """All commands; only the one that is called, or whose options are completed, is loaded."""

    def __init__(self, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self.commands = {name: TyperCommand(name, help=_first_line(path)) for name, path in COMMANDS.items()}

    def main(self, *arguments: Any, **more: Any) -> Any:
        """Run a command line, or complete one."""
        with without_rich() if VARIABLE in os.environ else nullcontext():
            return super().main(*arguments, **more)

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


def parser() -> Any:
    """The whole command line."""
    return typer.main.get_command(app)
