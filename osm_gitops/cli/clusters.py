"""The clusters of a run, from flags or the fleet file (design.md, "Sources and targets of a command", "Fleet file")."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

from osm_gitops.cli.console import console
from osm_gitops.cli.options import Request
from osm_gitops.config.fleet_file import FLEET_FILE, find_fleet_file, read_fleet
from osm_gitops.config.overlay_files import overlay_ref
from osm_gitops.config.setting_names import SETTINGS_BY_FLAG, Kind
from osm_gitops.config.shards import Shard
from osm_gitops.config.spec import (
    DEFAULT_CLUSTER,
    LIVE,
    ClusterSpec,
    Fleet,
    LiveRef,
    LiveTarget,
    SourceSpec,
    TargetSpec,
    TreeRef,
    source_ref,
)
from osm_gitops.config.waves import wave_of
from osm_gitops.errors import Code, InputError, Problem, input_error, some
from osm_gitops.model.objects import BUILT_IN
from osm_gitops.model.overlay import OverlayRef
from osm_gitops.pipeline.connections import check_live_targets
from osm_gitops.pipeline.kkp import Discovery, discover, folders_without_cluster, why_not_written
from osm_gitops.pipeline.options import RunOptions
from osm_gitops.report.visible import many
from osm_gitops.sources.trust import TRUSTED, Trust, distrust
from osm_gitops.targets.files import owned_path

_NAMED: Final = 20


def clusters_of(request: Request, *, needs_target: bool, waves: RunOptions | None = None) -> tuple[ClusterSpec, ...]:
    """The clusters that a command works on. Raises InputError if flags and fleet file do not name them.

    With ``waves`` (the options of the run) each cluster of a wave has the profiles, overlays and settings that its wave
    gets, otherwise the newest.
    """
    if request.source is not None:
        promote = " ".join(request.promote)
        flags = {"--changed-since": request.changed_since, "--shard": request.shard, "--promote": promote}
        for flag, value in flags.items():
            if value:
                raise input_error(
                    Code.OPTIONS_CONFLICT,
                    "a run without a fleet file works on one cluster",
                    where=f"{flag} {value}",
                    fix=f"Leave out --from, or {flag}",
                )
        specs: tuple[ClusterSpec, ...] = (_from_flags(request, request.source, needs_target=needs_target),)
    else:
        specs = _from_fleet(request, needs_target=needs_target, waves=waves)
    if request.source is None and not request.untrusted:
        check_live_targets(specs, request.connections)
    for flag in () if any(spec.is_live or (waves and _asks(spec)) for spec in specs) else request.connection_flags:
        console.say(f"{flag} is ignored: a run from trees to git does not use it")
    return specs


def _asks(spec: ClusterSpec) -> bool:
    """Whether its wave asks if clusters of the wave before are healthy, whatever their targets are."""
    return spec.wave is not None and spec.wave.after is not None and spec.wave.after.healthy


def pinned(request: Request) -> Request:
    """The request with the commit of ``--changed-since``, which does not move with the branch. Raises InputError."""
    if not request.changed_since or request.source is not None:
        return request
    from osm_gitops.pipeline.changed import commit_of  # noqa: PLC0415 - slow

    path = _fleet_file(request)
    fleet = TreeRef(path, shown_path(path, request))
    return replace(request, changed_since=commit_of(fleet, request.changed_since, trust_of(request)))


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
        specs = _from_fleet(replace(request, target=LIVE), needs_target=False)
    specs = tuple(replace(spec, target=LiveTarget()) for spec in specs)
    check_live_targets(specs, request.connections)
    return specs


def compared_clusters(request: Request, options: RunOptions) -> tuple[ClusterSpec, ...]:
    """The clusters of a command that compares live clusters with what they should have, whatever their target is.
    Without a fleet file and a source, the cluster that flags name or that kubectl uses. Raises InputError."""
    if not names_clusters(request):
        request = replace(request, source=LIVE)
    specs = clusters_of(replace(request, target=LIVE), needs_target=False)
    if not any(spec.wave is not None for spec in specs):
        return specs
    # What a cluster of a wave should have depends on what its own target had.
    in_waves = _from_fleet(request, needs_target=False, waves=options)
    return tuple(replace(spec, target=LiveTarget()) for spec in in_waves)


def clusters_at(request: Request, revision: str, now: Sequence[ClusterSpec] | None = None) -> tuple[ClusterSpec, ...]:
    """The clusters that a command works on, as the repository has them at a revision.

    ``now`` are those of a run that may not have all of the fleet: of others only those are found that left the fleet.
    """
    from osm_gitops.pipeline.against import fleet_at, spec_at  # noqa: PLC0415 - slow

    if request.source is not None:
        spec = _from_flags(request, request.source, needs_target=False)
        home = home_of(request, revision)
        return (_with_overlays(spec_at(replace(spec, overlays=()), revision, home), request, revision, home),)
    path = home_of(request, revision)
    trust = trust_of(request)
    fleet = fleet_at(path, shown_path(path, request), revision, trust)
    found = (*(replace(spec, trust=trust) for spec in fleet.clusters), *_discovered(fleet, request, trust).clusters)
    shard, others = _shard_of(request), set() if now is None else _others(request, trust, now)
    chosen = [
        spec
        for spec in found
        if _is_chosen(spec, request.clusters) and spec.name not in others and (shard is None or shard.has(spec.name))
    ]
    without_overlays = replace(request, overlays=())
    return tuple(
        _with_overlays(spec_at(_with_flags(spec, without_overlays), revision, path), request, revision, path)
        for spec in chosen
    )


def _others(request: Request, trust: Trust, specs: Sequence[ClusterSpec]) -> set[str]:
    """The clusters of the fleet that a run does not work on."""
    fleet = fleet_of(request)
    present = {spec.name for spec in (*fleet.clusters, *_discovered(fleet, request, trust).clusters)}
    return present - {spec.name for spec in specs}


def _with_overlays(spec: ClusterSpec, request: Request, revision: str, home: Path) -> ClusterSpec:
    """A cluster at a revision, with the overlays of flags as they are at that revision."""
    from osm_gitops.pipeline.against import given_at  # noqa: PLC0415 - slow

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


def fleet_of(request: Request) -> Fleet:
    """The entries of the fleet file, without a look for the clusters of seeds. Raises InputError."""
    path = _fleet_file(request)
    return read_fleet(path, shown_path(path, request))


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


def _from_fleet(request: Request, *, needs_target: bool, waves: RunOptions | None = None) -> tuple[ClusterSpec, ...]:
    path = _fleet_file(request)
    shown = shown_path(path, request)
    trust = trust_of(request)
    trust.check(path, shown)
    file = TreeRef(path, shown)
    fleet = read_fleet(path, shown)
    user_clusters = _discovered(fleet, request, trust)
    discovered = (
        spec if spec.is_seed else replace(spec, wave=wave_of(spec.name, fleet.waves)) for spec in user_clusters.clusters
    )
    found = (*(replace(spec, trust=trust) for spec in fleet.clusters), *discovered)
    found = tuple(replace(spec, fleet_file=file) for spec in found)
    names = [*(spec.name for spec in found if not spec.is_seed), *user_clusters.left_out]
    known = some(names, _NAMED)
    globs = (*request.clusters, *request.promote)
    unknown = [glob for glob in globs if not any(fnmatchcase(name, glob) for name in names)]
    if unknown and not any(spec.is_seed for spec in found):  # it may be a cluster of a seed that cannot be read
        raise InputError(
            Problem(Code.CLUSTER_NOT_FOUND, f'the fleet has no cluster "{glob}"', where=shown, fix=f"It has {known}")
            for glob in unknown
        )
    _say_left_out(user_clusters.left_out, request)
    if needs_target and fleet.kkp and not any(spec.is_seed for spec in found):
        targets = [_with_flags(entry.template, request).target for entry in fleet.kkp]
        console.problems(folders_without_cluster(targets, names), label="Warning")
    shard = _shard_of(request)
    chosen = tuple(
        spec for spec in found if _is_chosen(spec, request.clusters) and (shard is None or shard.has(spec.name))
    )
    specs = tuple(_with_flags(spec, request) for spec in chosen)
    if request.writes:
        unwritten = {spec.name: why for spec in specs if (why := why_not_written(spec))}
        _say_left_out(unwritten, request)
        chosen, specs = (tuple(each for each in group if each.name not in unwritten) for group in (chosen, specs))
    changed = _changed(chosen, specs, file, request) if request.changed_since else specs
    if request.promote:
        _check_promoted(request, fleet, chosen)
    if waves is not None and any(spec.wave is not None for spec in chosen):
        promoted = _in_waves(Fleet(found, waves=fleet.waves), specs, request, waves)
        # What waits has changed before the revision of --changed-since, and may be due now.
        kept = {spec.name for spec in changed}
        changed = tuple(each for each in promoted if each.name in kept or _moves(each))
    if request.changed_since:
        read = sum(_is_read_from_servers(spec) for spec in changed)
        uncertain = f", {read} of them because git does not know what servers have" if read else ""
        console.say(f"{len(changed)} of {many(len(specs), 'cluster')} changed since {request.changed_since}{uncertain}")
    specs = changed
    lacking = [spec.name for spec in specs if spec.target is None and not spec.problems]
    if needs_target and lacking:
        raise input_error(
            Code.NO_TARGET,
            f"cluster {', '.join(lacking)} has no target",
            where=shown,
            fix="Add to: {git: {path: …}} or to: cluster, or pass --to",
        )
    return specs


def _is_read_from_servers(spec: ClusterSpec) -> bool:
    """Whether its inputs are in a live cluster, or on a seed: then it always counts as changed."""
    return spec.kkp is not None or any(isinstance(part, LiveRef) for part in spec.source.parts)


def _shard_of(request: Request) -> Shard | None:
    return Shard.parse(request.shard, f"--shard {request.shard}") if request.shard else None


def _check_promoted(request: Request, fleet: Fleet, chosen: Sequence[ClusterSpec]) -> None:
    """Raise InputError if ``--promote`` has no effect in this run."""
    idle = [glob for glob in request.promote if not any(fnmatchcase(spec.name, glob) for spec in chosen)]
    if not fleet.waves:
        what, fix = "the fleet file has no waves, so no cluster waits", "Leave it out"
    elif idle and not request.shard and not any(spec.is_seed for spec in chosen):
        what = f"{', '.join(idle)} is not among the clusters of this run"
        fix = "Select it with --cluster as well, or leave out --cluster"
    else:
        return
    raise input_error(Code.OPTIONS_CONFLICT, what, where="--promote", fix=fix)


def _discovered(fleet: Fleet, request: Request, trust: Trust) -> Discovery:
    """The user clusters of the seeds of a fleet file. Seeds are not asked for clusters that the file names itself,
    unless these may wait for others in waves."""
    named = {spec.name for spec in fleet.clusters}
    if request.clusters and named.issuperset(request.clusters) and not fleet.waves:
        return Discovery((), {})
    if fleet.kkp and request.worker.is_named:
        what = "the fleet file has user clusters of KKP, each of which is one cluster"
        raise input_error(Code.OPTIONS_CONFLICT, what, where="--worker-cluster-kubeconfig", fix="Leave it out")
    seeds = {entry.seed for entry in fleet.kkp}
    if len({request.management.over(seed) for seed in seeds}) < len(seeds):
        what = f"the fleet file has {len(seeds)} seeds, and this flag would make one of them"
        fix = "Leave it out, or give each seed a fleet file of its own"
        flag = "--kubeconfig" if request.management.kubeconfig else "--context"
        raise input_error(Code.OPTIONS_CONFLICT, what, where=flag, fix=fix)
    return discover(fleet, request.connections, request.management, trust, allow_empty=request.allow_empty)


def _say_left_out(clusters: Mapping[str, str], request: Request) -> None:
    """Say once in a run why nothing is done for clusters."""
    for name, why in clusters.items():
        if any(fnmatchcase(name, glob) for glob in request.clusters or ("*",)) and name not in request.left_out:
            request.left_out[name] = why
            console.say(f"{name}: left out: {why}", cluster=name)


def _changed(
    entries: Sequence[ClusterSpec], specs: tuple[ClusterSpec, ...], fleet: TreeRef, request: Request
) -> tuple[ClusterSpec, ...]:
    """The clusters whose inputs differ from the revision of ``--changed-since``."""
    from osm_gitops.pipeline.changed import changed_clusters  # noqa: PLC0415 - slow

    return changed_clusters(entries, specs, fleet, request.changed_since, trust_of(request))


def _in_waves(
    fleet: Fleet, specs: tuple[ClusterSpec, ...], request: Request, options: RunOptions
) -> tuple[ClusterSpec, ...]:
    """The clusters with the shared inputs that their waves get. ``fleet`` has all clusters, also discovered ones."""
    from osm_gitops.pipeline.promotion import PromotionScope, complete_history, promoted_clusters  # noqa: PLC0415 - slow

    if request.clone is not None:
        complete_history(request.clone, request.token)
    globs = request.promote
    promoted = frozenset(each.name for each in fleet.clusters if globs and _is_chosen(each, globs))
    return promoted_clusters(fleet, specs, PromotionScope(lambda spec: _with_flags(spec, request), promoted), options)


def _moves(spec: ClusterSpec) -> bool:
    """Whether the run gives a cluster other shared inputs than it has."""
    return spec.promotion is not None and spec.promotion.moves


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
        management=spec.management if spec.kkp is not None else request.management.over(spec.management),
        worker_access=request.worker.over(spec.worker_access),
        overlays=(*spec.overlays, *overlays_of(request)),
    )


def one_name(request: Request, default: str) -> str:
    """The cluster's name in a run without a fleet file. Raises InputError for several names, and for a glob."""
    if len(request.clusters) > 1 or any(sign in name for name in request.clusters for sign in "*?["):
        what = f"without a fleet file a run works on one cluster, not on {', '.join(request.clusters)}"
        raise input_error(Code.SEVERAL_CLUSTERS, what, where="--cluster", fix="Give one name")
    return next(iter(request.clusters), default)


def _is_chosen(spec: ClusterSpec, globs: Sequence[str]) -> bool:
    """Whether globs select a cluster. A seed that cannot be read may have any; an untrusted run reads none."""
    seed = spec.is_seed and not spec.trust.untrusted
    return not globs or seed or any(fnmatchcase(spec.name, glob) for glob in globs)


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
