"""Everything that ``doctor`` looks at, one after the other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from osm_gitops.bounded.files import DOCUMENT, read_file
from osm_gitops.bounded.json_values import parse_json
from osm_gitops.commands.doctor.checks import (
    Finding,
    Keys,
    State,
    found,
    look_at_forge_token,
    look_at_git,
    look_at_keys,
    look_at_programs,
    look_at_webhook,
    note,
    ok,
)
from osm_gitops.commands.doctor.clusters import (
    Connection,
    look_at_kubeconfigs,
    look_at_seeds,
    look_at_source,
    look_at_targets,
)
from osm_gitops.config.fleet_file import FLEET_FILE, find_fleet_file, read_fleet
from osm_gitops.config.fleet_keys import SCHEMA_FILE, fleet_schema
from osm_gitops.config.spec import TargetSpec
from osm_gitops.context_ref import UNNAMED, ContextRef
from osm_gitops.errors import Code, InputError
from osm_gitops.pipeline.connections import Connections
from osm_gitops.pipeline.kkp import discover
from osm_gitops.sops.keys import KeySearch
from osm_gitops.sources.trust import TRUSTED, distrust

_NO_FLEET = f"there is no {FLEET_FILE} here or in a folder above, so commands need --from and --to"


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkup:
    """What to look at. ``environment`` is the process's, ``fleet`` the file that was named. ``untrusted``: nothing that
    the fleet file names is run, asked, or read outside of its tree. ``strict``: warnings of sources are to be fixed.
    ``watch``: runs are to watch clusters. ``forge_token`` and ``notify_url`` are the files that were named."""

    folder: Path
    environment: Mapping[str, str]
    fleet: Path | None = None
    recipients: tuple[str, ...] = ()
    connections: tuple[Connection, ...] = ()
    untrusted: bool = False
    strict: bool = False
    watch: bool = False
    forge_token: Path | None = None
    notify_url: Path | None = None

    def access(self, side: str) -> ContextRef:
        """What was named for a side, as flags name it to runs."""
        return next((each.access for each in self.connections if each.side == side), UNNAMED)


def examine(checkup: Checkup) -> Iterator[Finding]:
    """Look at everything, a line each, as it is found."""
    yield from look_at_git(checkup.folder)
    keys = Keys(KeySearch(checkup.environment), checkup.recipients, checkup.environment)
    yield from look_at_keys(keys)
    yield from _fleet(checkup, keys)
    if checkup.forge_token is not None:
        yield from look_at_forge_token(checkup.forge_token, checkup.environment)
    if not checkup.untrusted:
        yield from look_at_webhook(checkup.notify_url)
    yield from look_at_kubeconfigs(checkup.connections, checkup.environment)
    yield from look_at_programs(checkup.environment)


def _fleet(checkup: Checkup, keys: Keys) -> Iterator[Finding]:
    path = checkup.fleet or find_fleet_file(checkup.folder)
    if path is None:
        yield note("fleet", Code.NO_FLEET_FILE, _NO_FLEET, "osm-gitops init makes one")
        return
    shown = str(path.relative_to(checkup.folder)) if path.is_relative_to(checkup.folder) else str(path)
    trust = distrust(path.parent) if checkup.untrusted else TRUSTED
    try:
        trust.check(path, shown)
        fleet = read_fleet(path, shown)
    except InputError as failure:
        yield from found("fleet", failure.problems)
        return
    named = (*fleet.clusters, *(spec for each in fleet.kkp for spec in (each.template, *each.overrides.values())))
    asks = any(isinstance(spec.target, TargetSpec) and spec.target.pull_request is not None for spec in named)
    if asks and checkup.forge_token is None and not checkup.untrusted:
        yield from look_at_forge_token(None, checkup.environment)
    specs = tuple(replace(spec, trust=trust) for spec in fleet.clusters)
    if specs or not fleet.kkp:
        yield ok("fleet", f"{shown} names {len(specs)} cluster{'' if len(specs) == 1 else 's'}")
    if trust.allows(path.parent / SCHEMA_FILE):
        yield from _schema(path.parent / SCHEMA_FILE)
    management, worker = checkup.access("management"), checkup.access("worker")
    specs = tuple(
        replace(spec, management=management.over(spec.management), worker_access=worker.over(spec.worker_access))
        for spec in specs
    )
    with closing(Connections(checkup.environment)) as connections:
        user_clusters = discover(fleet, connections, management, trust)
        if fleet.kkp:
            yield from look_at_seeds(user_clusters, connections)
        specs += tuple(spec for spec in user_clusters.clusters if not spec.problems)
        for spec in specs:
            yield from look_at_source(spec, keys, connections, State.FIX if checkup.strict else State.NOTE)
        if checkup.untrusted:
            yield note("target", Code.TARGETS_NOT_CHECKED, "targets are not looked at in an untrusted run")
        else:
            yield from look_at_targets(specs, keys, connections, watch=checkup.watch)


def _schema(path: Path) -> Iterator[Finding]:
    """Whether the schema by which editors check the fleet file is of this release."""
    try:
        same = parse_json(read_file(path, DOCUMENT)) == fleet_schema()
    except FileNotFoundError:
        return
    except (OSError, ValueError):
        same = False
    if not same:
        what = f"{path} is not the schema of this release"
        yield note("fleet", Code.FLEET_SCHEMA_OUTDATED, what, f"Run osm-gitops schema fleet > {path}")
