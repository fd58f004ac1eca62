"""The question before something is written: asked on a terminal, answered in advance by ``--yes``."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from osm_gitops.errors import Code, input_error

Yes = Annotated[
    bool,
    typer.Option(
        "--yes",
        "-y",
        help="Do not ask for confirmation. Required where stdin is not a terminal.",
        envvar="OSM_GITOPS_YES",
    ),
]


def require_answer(command: str, *, confirmed: bool, otherwise: str = "") -> None:
    """Refuse to run where nothing is ``confirmed`` in advance and nobody can be asked. Raises InputError.

    Only stdin decides: output may go through a pipe to a log. ``CI=true`` and the like are no confirmation.
    ``otherwise`` names another way than ``--yes``.
    """
    if confirmed or sys.stdin.isatty():
        return
    fix = "Add --yes to write without asking" + (f", or {otherwise}" if otherwise else "")
    raise input_error(Code.UNCODED, "stdin is not a terminal, so nobody can confirm", where=command, fix=fix)


def ask(question: str) -> bool:
    """Ask on stderr. ``y`` or ``yes`` on stdin confirms; anything else and the end of input do not."""
    return ask_for(f"{question} [y/N]").lower() in {"y", "yes"}


def ask_for(what: str) -> str:
    """Ask on stderr for a line of stdin; empty at the end of input."""
    try:
        sys.stderr.write(f"{what}: ")
        sys.stderr.flush()
        answer = sys.stdin.readline()
    except KeyboardInterrupt:
        sys.stderr.write("\n")
        raise
    if not answer.endswith("\n"):
        sys.stderr.write("\n")
    return answer.strip()
