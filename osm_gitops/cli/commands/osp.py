"""``osm-gitops osp``: the profiles at hand."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from osm_gitops.cli.console import console
from osm_gitops.cli.help import CommandLine
from osm_gitops.errors import input_error
from osm_gitops.fleet.profiles import convert_file

_STDIN = "-"

osp = CommandLine(name="osp", no_args_is_help=True, rich_markup_mode=None)


@osp.callback()
def options() -> None:
    """List, show and convert OperatingSystemProfiles.

    Examples:
      osm-gitops osp convert osps/osp-mine.yaml > osps/osp-mine.jinja.yaml
      osm-gitops osp convert --help
    """


@osp.command()
def convert(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A file of manifests, YAML or JSON; - for stdin.")],
) -> int:
    """Print a file of profiles with its Go templates as Jinja2.

    Machines boot from the same bytes: the files that the profile renders to do not change. Comments,
    layout and everything that is no template stay as they are; a profile that is Jinja2 already does
    too. What should be looked at by hand is said on stderr.

    Examples:
      osm-gitops osp convert osps/osp-mine.yaml > osps/osp-mine.jinja.yaml
      osm-gitops osp convert - > osp-mine.yaml  # behind kubectl get osp osp-mine --output yaml |
    """
    name = "stdin" if str(file) == _STDIN else str(file)
    done = convert_file(_read(file), name, "kube-system")
    console.out(done.text)
    for ref in done.already:
        console.say(f"{ref} is Jinja2 already and stays as it is.")
    console.problems(done.warnings, label="Warning")
    return 0


def _read(file: Path) -> bytes:
    if str(file) == _STDIN:
        return sys.stdin.buffer.read()
    if file.is_dir():
        raise input_error("is a folder", where=str(file), fix="Name a file of manifests")
    return file.read_bytes()
