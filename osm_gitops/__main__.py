"""The entry point of ``osm-gitops`` and ``python -m osm_gitops``."""

from __future__ import annotations

import gc
import io
import os
import signal
import sys
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, TextIO

from osm_gitops.cli import gate


def main() -> None:
    """Run the command line of this process, and exit with its code."""
    # A run allocates many objects and few cycles: fewer collections save a tenth of its time.
    gc.set_threshold(50_000, 20, 50)
    _open_closed_streams()
    _configure_stream(sys.stdout)
    _configure_stream(sys.stderr)
    # SIGTERM, which ends a pod or a job, does what Ctrl-C does: it cleans up, temporary clones included.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Run one command line; the exit code."""
    return gate.run(arguments, _command_line)


@cache
def _command_line() -> Callable[..., Any]:
    from osm_gitops.commands.app import parser  # noqa: PLC0415 - imports typer, which --version does without

    main: Callable[..., Any] = parser().main
    return main


def _open_closed_streams() -> None:
    """Open stdin, stdout and stderr if the parent closed them, so that no other file gets their numbers."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115 - until the process ends


def _configure_stream(stream: TextIO) -> None:
    """Write UTF-8 and bare line feeds to files and pipes on every system and locale; to a terminal what it can show."""
    if not isinstance(stream, io.TextIOWrapper):
        return
    if stream.isatty():
        stream.reconfigure(errors="replace")
    else:
        stream.reconfigure(encoding="utf-8", errors="surrogateescape", newline="\n")


if __name__ == "__main__":
    main()
