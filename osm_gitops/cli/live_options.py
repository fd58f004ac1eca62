"""Options of runs that write to clusters."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated

import typer

from osm_gitops.errors import Code, input_error
from osm_gitops.gocompat.duration import parse_duration
from osm_gitops.gocompat.fault import GoError
from osm_gitops.pipeline.options import LiveOptions
from osm_gitops.targets.cluster.write_options import WriteOptions

_PANEL = "How clusters are written"

Settle = Annotated[
    str,
    typer.Option(
        "--settle",
        metavar="DURATION",
        help="How long to wait for pools that machine-controller has not numbered yet; then they are left and named.",
        envvar="OSM_GITOPS_SETTLE",
        rich_help_panel=_PANEL,
    ),
]
LockTimeout = Annotated[
    str,
    typer.Option(
        "--lock-timeout",
        metavar="DURATION",
        help="How long to wait for another run on the same clusters.",
        envvar="OSM_GITOPS_LOCK_TIMEOUT",
        rich_help_panel=_PANEL,
    ),
]
Concurrency = Annotated[
    int,
    typer.Option(
        "--concurrency",
        metavar="N",
        min=1,
        max=64,
        help="Pools that are written at a time.",
        envvar="OSM_GITOPS_CONCURRENCY",
        rich_help_panel=_PANEL,
    ),
]
ForceConflicts = Annotated[
    bool,
    typer.Option(
        "--force-conflicts",
        help="Take over fields that other writers own.",
        envvar="OSM_GITOPS_FORCE_CONFLICTS",
        rich_help_panel=_PANEL,
    ),
]
Finalizers = Annotated[
    bool,
    typer.Option(
        "--finalizers/--no-finalizers",
        help="Hold MachineDeployments that are deleted until what was made for them is gone.",
        envvar="OSM_GITOPS_FINALIZERS",
        rich_help_panel=_PANEL,
    ),
]
Nudge = Annotated[
    bool,
    typer.Option(
        "--nudge/--no-nudge",
        help="Wake Machines that had to wait for their bootstrap Secret, by an annotation.",
        envvar="OSM_GITOPS_NUDGE",
        rich_help_panel=_PANEL,
    ),
]
BesideOsm = Annotated[
    bool,
    typer.Option(
        "--beside-osm",
        help="Write although Operating System Manager runs and writes the same objects.",
        envvar="OSM_GITOPS_BESIDE_OSM",
        rich_help_panel=_PANEL,
    ),
]
DEFAULT_SETTLE = "30s"
DEFAULT_LOCK_TIMEOUT = "90s"
DEFAULT_CONCURRENCY = 8


def live_options(settle: str, lock_timeout: str, write: WriteOptions, *, beside_osm: bool = False) -> LiveOptions:
    """How a run writes to clusters; raises InputError."""
    return LiveOptions(
        settle=_duration(settle, "--settle"),
        lock_timeout=_duration(lock_timeout, "--lock-timeout"),
        write=write,
        beside_osm=beside_osm,
    )


def _duration(text: str, flag: str) -> timedelta:
    """A length of time as Go writes it (``90s``, ``1m30s``); raises InputError."""
    try:
        nanoseconds = parse_duration(text)
    except GoError:
        nanoseconds = -1
    if nanoseconds < 0:
        raise input_error(
            Code.UNCODED, f'"{text}" is no length of time', where=flag, fix='Write for example "30s" or "2m"'
        )
    return timedelta(microseconds=nanoseconds / 1000)
