"""Running the command line in this process, as the entry point would."""

from __future__ import annotations

import contextlib
import io
from dataclasses import dataclass

from osm_gitops.cli.gate import run


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
