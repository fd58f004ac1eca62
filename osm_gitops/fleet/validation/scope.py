"""What is judged: the clusters of a fleet as far as files tell of them, or files and folders that were named."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from osm_gitops.checks import rules
from osm_gitops.checks.templates import problem_finding
from osm_gitops.errors import InputError, OsmGitopsError, Problem
from osm_gitops.fleet.load import load_inputs, load_settings
from osm_gitops.fleet.spec import DEFAULT_CLUSTER, ClusterSpec, LiveRef, SourceSpec, TreeRef
from osm_gitops.model.finding import Finding
from osm_gitops.model.inputs import Inputs
from osm_gitops.model.objects import ObjectRef
from osm_gitops.model.settings import Settings
from osm_gitops.sops.search import KeySearch
from osm_gitops.sources.tree import with_profiles_of

_GIVE_FILES: Final = "Name files or folders of manifests to have them judged"


@dataclass(frozen=True, slots=True)
class Scope:
    """One cluster's objects. ``partial``: profiles may lie elsewhere, so that one that is not here is no mistake."""

    name: str
    inputs: Inputs
    settings: Settings
    partial: bool = False


def fleet_scopes(
    clusters: Iterable[ClusterSpec], environment: Mapping[str, str], findings: list[Finding]
) -> Iterator[Scope]:
    """Each cluster as its trees have it; what only a live cluster knows is passed over. Opens nothing encrypted."""
    for spec in clusters:
        about = f"cluster {spec.name}"
        trees = [part for part in spec.source.parts if isinstance(part, TreeRef)]
        if not trees:
            message = "its objects are in the cluster itself, which is not asked"
            findings.append(Finding(rules.PASSED_OVER, message, about=about, fix=_GIVE_FILES))
            continue
        findings += _live_parts(spec.source, about)
        scope = _read(_without_live(spec, trees[0]), environment, findings)
        if scope is not None:
            lacks_pools = isinstance(spec.source.machines, LiveRef)
            yield replace(scope, inputs=replace(scope.inputs, machines=())) if lacks_pools else scope


def _live_parts(source: SourceSpec, about: str) -> Iterator[Finding]:
    parts = (("MachineDeployments", source.machines), ("profiles", source.profiles))
    for name, part in parts:
        if isinstance(part, LiveRef):
            yield Finding(rules.PASSED_OVER, f"its {name} are in the cluster itself, which is not asked", about=about)


def _without_live(spec: ClusterSpec, tree: TreeRef) -> ClusterSpec:
    parts = (tree if isinstance(part, LiveRef) else part for part in spec.source.parts)
    return replace(spec, source=SourceSpec(*parts))


def _read(spec: ClusterSpec, environment: Mapping[str, str], findings: list[Finding]) -> Scope | None:
    try:
        settings = load_settings(spec)
    except InputError as failure:
        findings += (problem_finding(rules.SETTING, each, about=f"cluster {spec.name}") for each in failure.problems)
        return None
    try:
        inputs = load_inputs(spec, settings, environment, KeySearch(environment, without_keys=True))
    except OsmGitopsError as failure:
        found = (problem_finding(rules.UNREADABLE, each, about=f"cluster {spec.name}") for each in failure.problems)
        findings += found
        return None
    return Scope(spec.name, inputs, settings)


def path_scope(
    trees: Sequence[TreeRef], like: ClusterSpec, environment: Mapping[str, str], findings: list[Finding]
) -> Scope | None:
    """All that the trees hold as one cluster with the settings of ``like``; an object of two trees counts once."""
    whole: Scope | None = None
    for tree in trees:
        scope = _read(replace(like, name=DEFAULT_CLUSTER, source=SourceSpec(tree, tree, tree)), environment, findings)
        if scope is not None:
            whole = scope if whole is None else replace(whole, inputs=_both(whole.inputs, scope.inputs))
    return None if whole is None else replace(whole, partial=True)


def _both(first: Inputs, second: Inputs) -> Inputs:
    machines = {machine.ref: machine for machine in (*second.machines, *first.machines)}
    facts = replace(
        first.facts,
        secrets={**second.facts.secrets, **first.facts.secrets},
        config_maps={**second.facts.config_maps, **first.facts.config_maps},
        service_accounts={**second.facts.service_accounts, **first.facts.service_accounts},
        endpoint_slices=first.facts.endpoint_slices or second.facts.endpoint_slices,
    )
    joined = with_profiles_of(first, replace(second, profiles={**second.profiles, **first.profiles}))
    broken = {**second.broken, **first.broken}
    return replace(
        joined, machines=tuple(machines[ref] for ref in sorted(machines)), facts=facts, broken=_sorted(broken)
    )


def _sorted(found: Mapping[ObjectRef, tuple[Problem, ...]]) -> dict[ObjectRef, tuple[Problem, ...]]:
    return {ref: found[ref] for ref in sorted(found)}
