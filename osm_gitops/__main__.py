"""The entry point of ``osm-gitops`` and ``python -m osm_gitops``."""

from __future__ import annotations

import gc
import io
import os
import signal
import sys
from pathlib import Path
from typing import TextIO

from osm_gitops.commands.entry import run


def main() -> None:
    """Run the command line of this process, and exit with its code."""
    # A run makes much and keeps little of it in cycles: looking for those less often saves a tenth of its time.
    gc.set_threshold(50_000, 20, 50)
    _open_what_is_closed()
    _same_bytes_everywhere(sys.stdout)
    _same_bytes_everywhere(sys.stderr)
    # Who ends a pod or a job gets what Ctrl-C gets: nothing half-done is left, and no clone with its files.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    sys.exit(run(sys.argv[1:]))


def _open_what_is_closed() -> None:
    """A program may be started without stdin, stdout or stderr: no file that is opened later may take their places."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115 - until the process ends


def _same_bytes_everywhere(stream: TextIO) -> None:
    """Files and pipes get UTF-8 and bare line feeds, whatever system and locale; a terminal what it can show."""
    if not isinstance(stream, io.TextIOWrapper):
        return
    if stream.isatty():
        stream.reconfigure(errors="replace")
    else:
        stream.reconfigure(encoding="utf-8", errors="surrogateescape", newline="\n")


if __name__ == "__main__":
    main()
