"""Write clean manifests from a dump of a cluster.

Writes one file per object, NAMESPACE/NAME.yaml (facts: NAMESPACE/KIND-NAME.yaml), without the fields
that servers add: status, uid, resourceVersion, managedFields, revisions, kubectl's copy. Leaves out
objects that are being deleted, objects of other kinds, and objects made by osm-gitops. Encrypts
Secrets, and MachineDeployments with credentials, for the recipients of .sops.yaml or
--age-recipient; without recipients it does not write them.

Examples:
  osm-gitops import cluster-dump/machinedeployments.yaml --to pools/prod
  osm-gitops import - --to pools/prod   # behind kubectl get machinedeployment workers --output yaml |
  osm-gitops import cluster-dump        # to stdout
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from osm_gitops.bounded.files import LARGE, read_stream
from osm_gitops.cli.console import console
from osm_gitops.cli.options import option
from osm_gitops.cli.run_options import AgeRecipients
from osm_gitops.errors import Code, Problem, input_error
from osm_gitops.report.visible import visible

_STDIN = "-"
_STDOUT = "-"


def import_(
    paths: Annotated[
        list[str], typer.Argument(metavar="PATH...", help="Files and folders of YAML and JSON; - for stdin.")
    ],
    target: Annotated[str, option("--to", "Folder to write to; - for stdout.", metavar="DIR|-")] = _STDOUT,
    overwrite: Annotated[bool, option("--overwrite", "Overwrite existing files with other content.")] = False,
    age_recipients: AgeRecipients = None,
) -> int:
    from osm_gitops.commands.import_.importing import Import, import_objects, write_imported  # noqa: PLC0415 - slow
    from osm_gitops.config.spec import LIVE  # noqa: PLC0415 - slow
    from osm_gitops.model.settings import Settings  # noqa: PLC0415 - slow
    from osm_gitops.model.span import rfc3339  # noqa: PLC0415 - slow

    if target == LIVE:
        raise input_error(
            Code.INVALID_OPTION, "import writes files", where=f"--to {LIVE}", fix=f"A folder of this name is ./{LIVE}"
        )
    folder = None if target == _STDOUT else Path(target)
    now = rfc3339(datetime.now(UTC))
    wanted = Import(folder, Settings().namespace, now, tuple(age_recipients or ()), overwrite)
    unread: list[Problem] = []
    imported = import_objects(_texts(paths, unread), wanted)
    imported.problems[:0] = unread
    if folder is None:
        for content in imported.files.values():
            console.out(f"---\n{content.decode()}")
    for path in write_imported(imported, wanted):
        console.out(f"{visible(path.as_posix())}\n")
    for note in imported.notes:
        console.say(note)
    if not imported.files and not imported.problems:
        imported.problems.append(Problem(Code.NOTHING_TO_IMPORT, "no objects to import", where=", ".join(paths)))
    console.problems(imported.problems)
    return 1 if imported.problems else 0


def _texts(paths: Sequence[str], problems: list[Problem]) -> Iterator[tuple[bytes, str]]:
    """The files to import, each with its name."""
    from osm_gitops.sources.walk import Folder, walk  # noqa: PLC0415 - slow

    for path in paths:
        if path == _STDIN:
            try:
                yield read_stream(sys.stdin.buffer, LARGE), "stdin"
            except OSError as fault:
                raise input_error(Code.FILE_UNREADABLE, f"cannot be read: {fault.strerror}", where="stdin") from fault
            continue
        files = Folder(Path(path), path)
        found = walk(files)
        problems += found.problems
        for file, shown in found.files:
            try:
                text = files.read(file)
            except OSError as fault:
                problems.append(Problem(Code.FILE_UNREADABLE, f"cannot be read: {fault.strerror}", where=shown))
                continue
            if text is None:
                problems.append(
                    Problem(Code.FILE_TOO_LARGE, f"is larger than {LARGE >> 20} MiB", where=shown, fix="Split it")
                )
            else:
                yield text, os.fspath(shown)
