"""The command line as a function: arguments in, exit code out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from osm_gitops.cli import gate


def run(arguments: Sequence[str]) -> int:
    """Run one command line; the exit code."""
    return gate.run(arguments, _command_line)


@cache
def _command_line() -> Callable[..., Any]:
    """The commands, made once: typer is imported here, as ``--version`` does without."""
    from typer.main import get_command  # noqa: PLC0415 - see above

    from osm_gitops.commands.app import app  # noqa: PLC0415 - imports typer

    return get_command(app).main
