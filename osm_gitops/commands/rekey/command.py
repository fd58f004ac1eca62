"""Re-encrypt files for the current recipients.

Checks every SOPS file below the paths. Files whose recipients are those of .sops.yaml, or of
--age-recipient, stay as they are. Needs a private key that opens the others; if one cannot be
opened, nothing is written. A file gets a new data key when a recipient is removed, and when no
local key can verify that osm-gitops made the old one. You commit the result.

Examples:
  osm-gitops rekey                     # after a change of .sops.yaml
  osm-gitops rekey clusters/prod-eu    # one cluster only
  osm-gitops rekey --rotate            # new data keys for all files that osm-gitops wrote
  osm-gitops rekey --include sources   # new data keys for files that sops wrote
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from osm_gitops.cli.console import Progress, console
from osm_gitops.cli.options import RefusedUntrusted, option, refuse_untrusted
from osm_gitops.cli.run_options import AgeRecipients
from osm_gitops.report.visible import visible

if TYPE_CHECKING:
    from osm_gitops.commands.rekey.rekeying import RekeyedFile


def rekey(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[PATH]...", help="Files and folders. Without them, the current folder."),
    ] = None,
    rotate: Annotated[bool, option("--rotate", "Make new data keys for every file that osm-gitops wrote.")] = False,
    include: Annotated[
        list[Path] | None,
        option(
            "--include",
            "Also make new data keys for SOPS files at or below this path that others wrote. May be repeated.",
            metavar="PATH",
        ),
    ] = None,
    age_recipients: AgeRecipients = None,
    untrusted: RefusedUntrusted = False,
) -> int:
    from osm_gitops.commands.rekey.rekeying import Rotation, rekeyed_files, write_rekeyed  # noqa: PLC0415 - slow
    from osm_gitops.targets.file_encryption import FileEncryption  # noqa: PLC0415 - slow

    if untrusted:
        refuse_untrusted("rekey")
    encryption = FileEncryption(dict(os.environ), tuple(age_recipients or ()))
    rotation = Rotation(rotate, tuple(include or ()))
    places = paths or ([] if include and not rotate else [Path()])
    found = rekeyed_files(places, encryption, rotation, advance=Progress("rekey", "files checked"))
    write_rekeyed(found.files)
    for file in found.files:
        console.out(f"{visible(str(file.path))}{_difference(file)}\n")
    known = [file.path for file in found.files if file.known]
    if known:
        console.say(
            "Removed recipients may know the data keys of files that osm-gitops did not write. "
            f"Make new ones with --include PATH: {_named(known)}"
        )
    if found.kept:
        console.say(
            "Files that osm-gitops did not write keep their data keys. "
            f"Make new ones with --include PATH: {_named(found.kept)}"
        )
    if found.unverified:
        console.say(
            "No local key can verify that osm-gitops made the data keys of these files; anyone who can push may know "
            f"them. Run osm-gitops rekey --rotate: {_named(found.unverified)}"
        )
    if not found.files:
        console.say("Nothing to do: every encrypted file has the right recipients.")
    return 0


def _named(paths: Sequence[Path]) -> str:
    from osm_gitops.targets.files import named_files  # noqa: PLC0415 - slow

    return visible(named_files(paths))


def _difference(file: RekeyedFile) -> str:
    added = [f"+{name}" for name in file.after if name not in file.before]
    removed = [f"-{name}" for name in file.before if name not in file.after]
    return "".join(f" {name}" for name in (*added, *removed)) or " (new data key)"
