"""The clusters of a run, from flags or the fleet file (design.md, "Sources and targets of a command", "Fleet file")."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path

from osm_gitops.cli.console import console
from osm_gitops.cli.options import Request
from osm_gitops.config.fleet_file import FLEET_FILE, find_fleet_file, read_fleet
from osm_gitops.config.overlay_files import overlay_ref
from osm_gitops.config.setting_names import SETTINGS_BY_FLAG, Kind
from osm_gitops.config.spec import (
    DEFAULT_CLUSTER,
    LIVE,
    ClusterSpec,
    LiveTarget,
    SourceSpec,
    TargetSpec,
    TreeRef,
    source_ref,
)
from osm_gitops.errors import Code, InputError, Problem, input_error
from osm_gitops.model.objects import BUILT_IN
from osm_gitops.model.overlay import OverlayRef
from osm_gitops.pipeline.against import fleet_at, given_at, spec_at
from osm_gitops.pipeline.connections import check_live_targets
from osm_gitops.sources.trust import TRUSTED, Trust, distrust
from osm_gitops.targets.files import owned_path


def clusters_of(request: Request, *, needs_target: bool) -> tuple[ClusterSpec, ...]:
    """The clusters that a command works on. Raises InputError if flags and fleet file do not name them."""
    if request.source is not None:
        specs: tuple[ClusterSpec, ...] = (_from_flags(request, request.source, needs_target=needs_target),)
    else:
        specs = _from_fleet(request, needs_target=needs_target)
    if request.source is None and not request.untrusted:
        check_live_targets(specs, request.connections)
    for flag in () if any(spec.is_live for spec in specs) else request.connection_flags:
        console.say(f"{flag} is ignored: a run from trees to git does not use it")
    return specs


def names_clusters(request: Request) -> bool:
    """Whether there is a source, or a fleet file."""
    return not (request.source is None and request.fleet is None and find_fleet_file(request.base.absolute()) is None)


def one_cluster(request: Request) -> ClusterSpec | None:
    """The only cluster that a command works on; ``None`` without a source and a fleet file."""
    if not names_clusters(request):
        return None
    specs = clusters_of(request, needs_target=False)
    if len(specs) > 1:
        names = ", ".join(spec.name for spec in specs)
        raise input_error(
            Code.SEVERAL_CLUSTERS, "the fleet has several clusters", fix=f"Choose one with --cluster: {names}"
        )
    return specs[0]


def live_clusters_of(request: Request) -> tuple[ClusterSpec, ...]:
    """The clusters of a command that works on live clusters, whatever their target is: those of the fleet, or without
    one the cluster that flags name or that kubectl uses. Raises InputError."""
    if request.fleet is None and request.clone is None and find_fleet_file(request.base.absolute()) is None:
        specs: tuple[ClusterSpec, ...] = (_from_flags(request, LIVE, needs_target=False),)
    else:
        specs = _from_fleet(request, needs_target=False)
    specs = tuple(replace(spec, target=LiveTarget()) for spec in specs)
    check_live_targets(specs, request.connections)
    return specs


def clusters_at(request: Request, revision: str) -> tuple[ClusterSpec, ...]:
    """The clusters that a command works on, as the repository has them at a revision."""
    if request.source is not None:
        spec = _from_flags(request, request.source, needs_target=False)
        home = home_of(request, revision)
        return (_with_overlays(spec_at(replace(spec, overlays=()), revision, home), request, revision, home),)
    path = home_of(request, revision)
    trust = trust_of(request)
    found = tuple(replace(spec, trust=trust) for spec in fleet_at(path, shown_path(path, request), revision, trust))
    chosen = [spec for spec in found if _is_chosen(spec.name, request.clusters)]
    without_overlays = replace(request, overlays=())
    return tuple(
        _with_overlays(spec_at(_with_flags(spec, without_overlays), revision, path), request, revision, path)
        for spec in chosen
    )


def _with_overlays(spec: ClusterSpec, request: Request, revision: str, home: Path) -> ClusterSpec:
    """A cluster at a revision, with the overlays of flags as they are at that revision."""
    return replace(spec, overlays=(*spec.overlays, *given_at(overlays_of(request), revision, home, spec.trust)))


def home_of(request: Request, revision: str) -> Path:
    """The fleet file or the tree of a command, whose repository has the revision."""
    if request.source is None:
        return _fleet_file(request)
    spec = _from_flags(request, request.source, needs_target=False)
    home = next((part.path for part in spec.source.parts if isinstance(part, TreeRef)), None)
    if home is None:
        raise input_error(
            Code.OPTIONS_CONFLICT, "a cluster has no revisions", where=f"--against {revision}", fix="Name a tree in git"
        )
    return home


def trust_of(request: Request, paths: Iterable[Path] = ()) -> Trust:
    """What a run may read: everything, or for an untrusted tree only its files and what flags and ``paths`` name."""
    if not request.untrusted:
        return TRUSTED
    named = [request.source, request.profiles_from, request.target, *request.overlays]
    refs = (source_ref(request.base, text) for text in named if text and not text.startswith(BUILT_IN))
    given = [*paths, *(ref.path for ref in refs if isinstance(ref, TreeRef))]
    settings = (each for each in request.settings.values() if SETTINGS_BY_FLAG[each.name].kind is Kind.FILE)
    given += [Path(each.base, str(each.value)) for each in settings if each.value]
    if request.clone is None and request.source is None and names_clusters(request):
        return distrust(_fleet_file(request).parent, given)
    if request.clone or not given:
        return distrust(request.base, given)
    return distrust(given[0], given[1:])  # the tree of a run without a fleet file is the first that is named


def _from_flags(request: Request, source: str, *, needs_target: bool) -> ClusterSpec:
    if needs_target and request.target is None:
        fix = f"Name the folder of the desired state, or {LIVE}; or write {FLEET_FILE}"
        raise input_error(Code.MISSING_ARGUMENT, "--from also needs --to", fix=fix)
    name = one_name(request, DEFAULT_CLUSTER)
    owned_path(name)  # refuses what cannot be a folder
    whole = source_ref(request.base, source)
    profiles = source_ref(request.base, request.profiles_from) if request.profiles_from is not None else whole
    return ClusterSpec(
        name,
        SourceSpec(whole, profiles, whole),
        tuple(request.settings.values()),
        _given_target(request),
        request.management,
        request.worker,
        overlays=overlays_of(request),
        trust=trust_of(request),
    )


def overlays_of(request: Request) -> tuple[OverlayRef, ...]:
    return tuple(overlay_ref(request.base, text) for text in request.overlays)


def _from_fleet(request: Request, *, needs_target: bool) -> tuple[ClusterSpec, ...]:
    path = _fleet_file(request)
    shown = shown_path(path, request)
    trust = trust_of(request)
    trust.check(path, shown)
    file = TreeRef(path, shown)
    found = tuple(replace(spec, trust=trust, fleet_file=file) for spec in read_fleet(path, shown))
    known = ", ".join(spec.name for spec in found)
    unknown = [glob for glob in request.clusters if not any(fnmatchcase(spec.name, glob) for spec in found)]
    if unknown:
        raise InputError(
            Problem(Code.CLUSTER_NOT_FOUND, f'the fleet has no cluster "{glob}"', where=shown, fix=f"It has {known}")
            for glob in unknown
        )
    specs = tuple(_with_flags(spec, request) for spec in found if _is_chosen(spec.name, request.clusters))
    lacking = [spec.name for spec in specs if spec.target is None]
    if needs_target and lacking:
        raise input_error(
            Code.NO_TARGET,
            f"cluster {', '.join(lacking)} has no target",
            where=shown,
            fix="Add to: {git: {path: …}} or to: cluster, or pass --to",
        )
    return specs


def _with_flags(spec: ClusterSpec, request: Request) -> ClusterSpec:
    """A cluster of the fleet file with the flags and environment variables, which take precedence."""
    settings = {setting.name: setting for setting in spec.settings} | dict(request.settings)
    source = spec.source
    if request.profiles_from is not None:
        source = replace(source, profiles=source_ref(request.base, request.profiles_from))
    target = _given_target(request) or spec.target
    return replace(
        spec,
        settings=tuple(settings.values()),
        source=source,
        target=target,
        management=request.management.over(spec.management),
        worker_access=request.worker.over(spec.worker_access),
        overlays=(*spec.overlays, *overlays_of(request)),
    )


def one_name(request: Request, default: str) -> str:
    """The cluster's name in a run without a fleet file. Raises InputError for several names, and for a glob."""
    if len(request.clusters) > 1 or any(sign in name for name in request.clusters for sign in "*?["):
        what = f"without a fleet file a run works on one cluster, not on {', '.join(request.clusters)}"
        raise input_error(Code.SEVERAL_CLUSTERS, what, where="--cluster", fix="Give one name")
    return next(iter(request.clusters), default)


def _is_chosen(name: str, globs: Sequence[str]) -> bool:
    return not globs or any(fnmatchcase(name, glob) for glob in globs)


def _given_target(request: Request) -> TargetSpec | LiveTarget | None:
    if request.target is None:
        return None
    return LiveTarget() if request.target == LIVE else TargetSpec(request.base / request.target, request.target)


def _fleet_file(request: Request) -> Path:
    if request.fleet is not None:
        return request.base / request.fleet
    # Folders above a clone do not belong to it.
    here = request.clone is not None
    path = find_fleet_file(request.base.absolute(), above=not here)
    if path is None:
        raise input_error(
            Code.NO_SOURCE,
            f"no --from, and no fleet file {FLEET_FILE} in this folder{'' if here else ' or above it'}",
            where=request.clone.shown if request.clone else "",
            fix="Name a tree of manifests or cluster with --from, and a folder or cluster with --to",
        )
    return path


def shown_path(path: Path, request: Request) -> str:
    """A path as messages and findings name it: relative to the folder of the run if it is below."""
    here = request.base.absolute()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)
