"""Running the command line in this process, as the entry point would."""

from __future__ import annotations

import contextlib
import io
from dataclasses import dataclass
from typing import Any

from osm_gitops.__main__ import run
from osm_gitops.commands.app import COMMANDS, load_command, parser


@dataclass(frozen=True, slots=True)
class Ran:
    """How a command line ended."""

    code: int
    out: str
    err: str


def osm_gitops(*arguments: str) -> Ran:
    """Run ``osm-gitops`` with these arguments."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run(arguments)
    return Ran(code, out.getvalue(), err.getvalue())


def command_group() -> Any:
    """The parser of the command line with every command loaded."""
    group: Any = parser()
    group.commands = {name: load_command(name) for name in COMMANDS}
    return group
