"""``osm-gitops import``: files of a config repository from what kubectl prints."""

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
from osm_gitops.cli.run_options import AgeRecipients
from osm_gitops.config.spec import LIVE
from osm_gitops.errors import Code, Problem, input_error
from osm_gitops.model.settings import Settings
from osm_gitops.model.span import rfc3339
from osm_gitops.report.visible import visible

_STDIN = "-"
_STDOUT = "-"


def import_(
    paths: Annotated[
        list[str], typer.Argument(metavar="PATH...", help="Files and folders of YAML and JSON; - for stdin.")
    ],
    target: Annotated[
        str,
        typer.Option("--to", metavar="DIR|-", help="Folder to write to; - for stdout.", envvar="OSM_GITOPS_TO"),
    ] = _STDOUT,
    overwrite: Annotated[
        bool,
        typer.Option(
            "--overwrite", help="Also write files that are there with other content.", envvar="OSM_GITOPS_OVERWRITE"
        ),
    ] = False,
    age_recipients: AgeRecipients = None,
) -> int:
    """Write clean manifests from a dump of a cluster.

    One file per object, NAMESPACE/NAME.yaml (of facts NAMESPACE/KIND-NAME.yaml), with what people wrote
    and without what servers added: status, uid, resourceVersion, managedFields, revisions, kubectl's copy.
    Objects that are being deleted, of other kinds, or made by osm-gitops are left out. Secrets, and
    MachineDeployments with credentials, are written encrypted for the recipients that .sops.yaml names
    for the file, or --age-recipient, or not at all.

    Examples:
      osm-gitops import cluster-dump/machinedeployments.yaml --to pools/prod
      osm-gitops import - --to pools/prod   # behind kubectl get machinedeployment workers --output yaml |
      osm-gitops import cluster-dump        # to stdout
    """
    # Imported here, as no other command needs it.
    from osm_gitops.commands.import_.importing import Import, import_objects, write_imported  # noqa: PLC0415

    if target == LIVE:
        raise input_error(
            Code.UNCODED, "import writes files", where=f"--to {LIVE}", fix=f"A folder of this name is ./{LIVE}"
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
        imported.problems.append(Problem(Code.UNCODED, "there is nothing to import", where=", ".join(paths)))
    console.problems(imported.problems)
    return 1 if imported.problems else 0


def _texts(paths: Sequence[str], problems: list[Problem]) -> Iterator[tuple[bytes, str]]:
    """What is to be imported, file by file."""
    from osm_gitops.sources.files import Folder  # noqa: PLC0415 - see above
    from osm_gitops.sources.walk import walk  # noqa: PLC0415 - see above

    for path in paths:
        if path == _STDIN:
            try:
                yield read_stream(sys.stdin.buffer, LARGE), "stdin"
            except OSError as fault:
                raise input_error(Code.UNCODED, f"cannot be read: {fault.strerror}", where="stdin") from fault
            continue
        files = Folder(Path(path), path)
        found = walk(files)
        problems += found.problems
        for file, shown in found.files:
            try:
                text = files.read(file)
            except OSError as fault:
                problems.append(Problem(Code.UNCODED, f"cannot be read: {fault.strerror}", where=shown))
                continue
            if text is None:
                problems.append(Problem(Code.UNCODED, f"is larger than {LARGE >> 20} MiB", where=shown, fix="Split it"))
            else:
                yield text, os.fspath(shown)
