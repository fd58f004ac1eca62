"""``osm-gitops rekey``: other recipients, or new data keys, for files that are encrypted already."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from osm_gitops.cli.console import Progress, console
from osm_gitops.cli.run_options import AgeRecipients
from osm_gitops.report.visible import visible
from osm_gitops.targets.rekeying import RekeyedFile, rekeyed_files, write_rekeyed
from osm_gitops.targets.sealing import Sealing


def rekey(
    paths: Annotated[
        list[Path] | None, typer.Argument(metavar="[PATH]...", help="Files and folders; else the current folder.")
    ] = None,
    rotate: Annotated[
        bool,
        typer.Option(
            "--rotate",
            help="New data keys for every file, whether its recipients changed or not.",
            envvar="OSM_GITOPS_ROTATE",
        ),
    ] = False,
    age_recipients: AgeRecipients = None,
) -> int:
    """Bring encrypted files to the recipients that count now.

    Looks at every SOPS file below the paths. Files whose recipients are those of .sops.yaml, or of
    --age-recipient, stay as they are. Needs a private key that opens the others; where one cannot be
    opened, nothing is written. Where a recipient goes, the data key is made anew. Committing the result is yours.

    Examples:
      osm-gitops rekey                     # after a change of .sops.yaml
      osm-gitops rekey clusters/prod-eu    # one cluster only
      osm-gitops rekey --rotate clusters   # new data keys for all, after one came into wrong hands
    """
    sealing = Sealing(dict(os.environ), tuple(age_recipients or ()))
    files = rekeyed_files(paths or [Path()], sealing, rotated=rotate, advance=Progress("rekey", "files looked at"))
    write_rekeyed(files)
    for file in files:
        console.out(f"{visible(str(file.path))}{_difference(file)}\n")
    known = [visible(str(file.path)) for file in files if file.known]
    if known:
        console.say(
            "Who was removed may have kept the data keys of files that osm-gitops did not write. "
            f"New ones: sops rotate --in-place {known[0]}"
            + (f", and so on for {len(known)} files" if known[1:] else "")
        )
    if not files:
        console.say("Nothing to do: every encrypted file has the recipients that it should have.")
    return 0


def _difference(file: RekeyedFile) -> str:
    added = [f"+{name}" for name in file.after if name not in file.before]
    removed = [f"-{name}" for name in file.before if name not in file.after]
    return "".join(f" {name}" for name in (*added, *removed)) or " (new data key)"
