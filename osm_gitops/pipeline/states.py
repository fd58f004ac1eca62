"""The desired state of each cluster of a run. An unreadable cluster stops no other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from osm_gitops.config.spec import ClusterSpec, LiveRef, LiveTarget, TreeRef
from osm_gitops.errors import Code, InputError, OsmGitopsError, Problem
from osm_gitops.gotemplate.compiled import Compiled
from osm_gitops.model.desired import PAUSED, Left
from osm_gitops.model.inputs import Inputs
from osm_gitops.model.live import Gate
from osm_gitops.model.machine import is_chosen
from osm_gitops.model.objects import ObjectRef
from osm_gitops.model.profile import BUILT_IN_ANNOTATION
from osm_gitops.model.settings import Settings
from osm_gitops.pipeline.inputs import Origin, deciding_rules, in_git
from osm_gitops.pipeline.live_profiles import written_profiles
from osm_gitops.pipeline.load import SourceReader, gather_inputs, known_origins, load_settings
from osm_gitops.pipeline.options import RunOptions
from osm_gitops.pipeline.rendered import RenderOptions, prepare
from osm_gitops.pipeline.rendering import Rendered, Taken, kept, render_cluster
from osm_gitops.render.resolve.named_facts import named_profiles
from osm_gitops.sources.manifests import PROFILE


def desired_states(
    clusters: Sequence[ClusterSpec],
    options: RunOptions,
    problems: list[Problem],
    *,
    into_git: bool = False,
    taken: Taken = kept,
) -> Iterator[tuple[ClusterSpec, Rendered]]:
    """The desired state of each cluster. Unreadable clusters add their problems. ``into_git``: for comparison with git,
    where some pools are skipped (:func:`_left`). The objects of each pool are given to ``taken`` once it is
    rendered."""
    prepare()
    for spec in clusters:
        try:
            settings = load_settings(spec, options.memo)
        except InputError as failure:  # it already names a flag or a place in the fleet file
            problems.extend(failure.problems)
            continue
        try:
            reader = SourceReader(spec, settings, options.environment, options.keys, options.connections, options.memo)
            rules = _rules(spec, options) if into_git else ()
            inputs = gather_inputs(reader, rules=rules).build()
            for note in inputs.notes:
                options.note(note)
            problems.extend(unusable(inputs))
            left = _left(spec, inputs, options) if into_git else {}
            rendered = desired_state(spec, inputs, settings, options, taken)
            yield spec, replace(rendered, desired=replace(rendered.desired, left=left))
        except OsmGitopsError as failure:
            problems.extend(problem.at(about=f"cluster {spec.name}") for problem in failure.problems)


def _rules(spec: ClusterSpec, options: RunOptions) -> tuple[Origin, ...]:
    """The ``.sops.yaml`` of the target if it is in git: it has the recipients."""
    return in_git(known_origins(deciding_rules(spec, options), spec.trust, options.memo))


def desired_state(
    spec: ClusterSpec, inputs: Inputs, settings: Settings, options: RunOptions, taken: Taken = kept
) -> Rendered:
    """Render a cluster. If profiles are read from the cluster, the result has only built-in profiles that the cluster
    lacks or has from osm-gitops: others belong to their creators."""
    advance = options.advance(spec.name, "pools rendered")
    for_git = not isinstance(spec.target, LiveTarget)
    compiled = _compiled(inputs, settings, options)
    wanted = RenderOptions(options.only, for_git=for_git, measured=options.facts, compiled=compiled)
    rendered = render_cluster(spec.name, inputs, settings, advance, wanted, taken)
    desired = rendered.desired
    if spec.promotion is not None:
        warnings = (*desired.warnings, *spec.promotion.warnings)
        desired = replace(desired, promotion=spec.promotion, warnings=warnings)
    if not isinstance(spec.source.profiles, LiveRef):
        return replace(rendered, desired=desired)
    written = {ObjectRef(PROFILE, *key) for key in written_profiles(inputs, from_cluster=True)}
    others = {
        each.manifest.ref
        for each in inputs.profiles.values()
        if BUILT_IN_ANNOTATION not in (each.manifest.body["metadata"].get("annotations") or {})
    }
    objects = tuple(each for each in desired.objects if each.ref.kind != PROFILE or each.ref in written)
    return replace(rendered, desired=replace(desired, objects=objects, foreign=frozenset(others - written)))


def _compiled(inputs: Inputs, settings: Settings, options: RunOptions) -> Compiled:
    """What is known of the profiles that this run renders."""
    if options.compiled is None:
        return {}
    machines = (machine for machine in inputs.machines if is_chosen(machine.name, options.only))
    named = sorted(named_profiles(machines, settings.namespace) & inputs.profiles.keys())
    return options.compiled.of([inputs.profiles[key] for key in named], settings, inputs.sensitive)


def _left(spec: ClusterSpec, inputs: Inputs, options: RunOptions) -> Mapping[ObjectRef, Left]:
    """Skipped pools, whose files in git are kept: paused ones, and live ones whose MachineSet of the current revision
    has another template. machine-controller creates machines from that MachineSet, with the objects of its revision, so
    these must not be replaced by objects of another template.

    Takes a list request for live MachineDeployments. Raises ClusterError."""
    if isinstance(spec.source.machines, TreeRef):
        specs = ((machine.ref, machine.manifest.body.get("spec")) for machine in inputs.machines)
        return {ref: PAUSED for ref, body in specs if isinstance(body, Mapping) and body.get("paused") is True}
    from osm_gitops.targets.cluster.pools import read_gates  # noqa: PLC0415 - not needed for runs from trees to git

    pools = read_gates(options.connections.worker(spec), inputs.machines)
    held = {Gate.PAUSED, Gate.WAITING}
    return {ref: pool.left for ref, pool in pools.items() if pool.left and pool.revision and pool.gate in held}


def check_only(only: Sequence[str], pools: Sequence[ObjectRef], problems: list[Problem]) -> None:
    """Add a problem for each glob that matches none of ``pools``, those of all clusters."""
    if not problems:
        unmatched = (glob for glob in only if not any(is_chosen(pool.name, [glob]) for pool in pools))
        problems.extend(
            Problem(Code.NO_POOL_MATCHES, f'no pool has a name that matches "{glob}"', where="--only")
            for glob in unmatched
        )


def unusable(inputs: Inputs) -> Iterator[Problem]:
    """Problems without a pool: unreadable documents and broken profiles."""
    yield from inputs.unreadable
    for ref, broken in inputs.broken.items():
        if ref.kind == "OperatingSystemProfile":
            yield from broken
